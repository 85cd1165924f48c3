"""Exercise 14.5, a probe with random labels: how much of an accuracy the probe has learned by heart."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.chapter_14_probe import (
    ACCURACY,
    BY_HAND,
    draw_words,
    probe_accuracy,
    scores,
    share,
)
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, on


def of_probes(measure: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return `measure` of the two accuracies, for the true labels and for the random ones."""

    def answer(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
        true = probe_accuracy(vectors, labels, new_vectors, new_labels)
        control = probe_accuracy(vectors, random_labels[words], new_vectors, random_labels[new_words])
        return measure(true, control)

    return answer


selectivity = of_probes(lambda true, control: true - control)


def one_probe(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The probe of the true labels, judged by both."""
    said = scores(vectors, labels, new_vectors).argmax(1)
    return share(said, new_labels) - share(said, random_labels[new_words])


def one_control_probe(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The probe of random labels, judged by both."""
    said = scores(vectors, random_labels[words], new_vectors).argmax(1)
    return share(said, new_labels) - share(said, random_labels[new_words])


def judged_by_true_labels(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The probe of random labels, judged by the true ones."""
    true = probe_accuracy(vectors, labels, new_vectors, new_labels)
    return true - probe_accuracy(vectors, random_labels[words], new_vectors, new_labels)


def labels_for_words(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The random label looked up by the true label."""
    true = probe_accuracy(vectors, labels, new_vectors, new_labels)
    return true - probe_accuracy(vectors, random_labels[labels], new_vectors, random_labels[new_labels])


def by_places(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Random labels dealt out to examples in their order."""
    here, there = (random_labels[torch.arange(len(each)) % len(random_labels)] for each in (words, new_words))
    true = probe_accuracy(vectors, labels, new_vectors, new_labels)
    return true - probe_accuracy(vectors, here, new_vectors, there)


def on_what_was_fitted(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """Both probes judged on the examples that they were fitted to."""
    return selectivity(vectors, words, labels, vectors, words, labels, random_labels)


def control_on_what_was_fitted(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The probe of random labels judged on what it was fitted to."""
    true = probe_accuracy(vectors, labels, new_vectors, new_labels)
    return true - probe_accuracy(vectors, random_labels[words], vectors, random_labels[words])


def renamed(case: Case) -> Case:
    """Let the true labels be the random ones with the names of the classes moved on by one."""
    random_labels, words, new_words = (case[name] for name in ("random_labels", "words", "new_words"))
    moved = (random_labels + 1) % (1 + case["labels"].max())
    return case | {"labels": moved[words], "new_labels": moved[new_words]}


DIFFERENCE = "accuracy for the true labels less accuracy for the random ones"
RENAMED = "the difference is right, and 0 where true labels are the random ones under other names"

PLAIN = Task(
    function="selectivity",
    parameters=("vectors", "words", "labels", "new_vectors", "new_words", "new_labels", "random_labels"),
    returns="accuracy for the true labels less accuracy for the random ones, both on new examples, shape ()",
    cases=draw_words,
    examples=(BY_HAND, BY_HAND | {"new_labels": torch.tensor([1, 1, 1])}),
    reference=selectivity,
    properties=(
        Property(DIFFERENCE, 3, both(equals(selectivity), inputs_unchanged)),
        Property(RENAMED, 1, both(equals(selectivity), on(renamed, equals(selectivity)))),
    ),
    misconceptions=(
        Misconception(
            "one probe",
            "a single probe, fitted to the true labels, is judged by both; the random labels get a probe of their own, "
            "fitted to `random_labels[words]`",
            one_probe,
            breaks=RENAMED,
        ),
        Misconception(
            "one probe, of random labels",
            "a single probe, fitted to the random labels, is judged by both; the true labels get a probe of their own",
            one_control_probe,
            breaks=RENAMED,
        ),
        Misconception(
            "judged by the true labels",
            "the probe of the random labels is judged by the true ones; what it was taught is `random_labels`, so "
            "judge it by `random_labels[new_words]`",
            judged_by_true_labels,
            breaks=RENAMED,
        ),
        Misconception(
            "the wrong way round",
            "this is the accuracy for random labels less that for true ones; a probe that says something has more for "
            "the true ones, and its selectivity is above 0",
            of_probes(lambda true, control: control - true),
            breaks=DIFFERENCE,
        ),
        Misconception(
            "without a sign",
            "this is the absolute difference; where random labels are read better than true ones it is below 0",
            of_probes(lambda true, control: (true - control).abs()),
            breaks=DIFFERENCE,
        ),
        Misconception(
            "a ratio",
            "this divides the accuracies; subtract them",
            of_probes(lambda true, control: true / control),
            breaks=RENAMED,
        ),
        Misconception(
            "accuracy alone",
            "this is the accuracy for the true labels; take off what the probe reaches for the random ones",
            of_probes(lambda true, control: true),
            breaks=RENAMED,
        ),
        Misconception(
            "the control alone",
            "this is the accuracy for the random labels; it is to be taken off the accuracy for the true ones",
            of_probes(lambda true, control: control),
            breaks=RENAMED,
        ),
        Misconception(
            "looked up by label",
            "the random labels are looked up by the true labels, which renames the classes and makes nothing random; "
            "they belong to words: `random_labels[words]`",
            labels_for_words,
            breaks=DIFFERENCE,
        ),
        Misconception(
            "dealt out by place",
            "the random labels are dealt out to the examples in their order; they belong to words, so that a word has "
            "the same one wherever it stands: `random_labels[words]`",
            by_places,
            breaks=DIFFERENCE,
        ),
        Misconception(
            "judged on what was fitted",
            "both probes are judged by the examples that they were fitted to; judge them by the new ones",
            on_what_was_fitted,
            breaks=DIFFERENCE,
        ),
        Misconception(
            "control judged on what was fitted",
            "the probe of the random labels is judged by the examples that it was fitted to; judge it by the new ones, "
            "as the other",
            control_on_what_was_fitted,
            breaks=DIFFERENCE,
        ),
    ),
)

SELECTIVITY = Exercise(
    id="14.5",
    title="A probe with random labels",
    difficulty=3,
    minutes=35,
    tasks=(ACCURACY, PLAIN),
    hints=(
        "What does the probe see while it is fitted, and what only when it is judged? And if labels mean nothing, but "
        "a word has the same one each time, what could a probe still learn?",
        "Give each class a column of its own, 1 for the examples of that class and 0 for the others. Fit as in 07.5, "
        "apply the map to new vectors, and take the class with the greatest score. Then do all of it once more with "
        "labels that are looked up by word, in both sets.",
        "`torch.nn.functional.one_hot(labels).float()` are the targets, `torch.linalg.pinv(vectors) @ targets` is the "
        "map, and `argmax(dim=1)` the verdict. The labels of the second probe are `random_labels[words]` and "
        "`random_labels[new_words]`.",
    ),
)
