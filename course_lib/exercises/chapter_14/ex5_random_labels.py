"""14.5: the accuracy of a linear probe, and its selectivity against a control task."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task

MARGIN = 0.01  # by so much, at least, the greatest logit stands above the next: far above rounding
PROBED = ("vectors", "labels", "new_vectors", "new_labels")


def logits(vectors, labels, new_vectors):
    """What the linear map with the least squared error gives new vectors, (new, classes)."""
    return new_vectors @ (torch.linalg.pinv(vectors) @ torch.nn.functional.one_hot(labels).float())


def probe_accuracy(vectors, labels, new_vectors, new_labels):
    """The fraction of new vectors whose greatest logit is that of their class."""
    return (logits(vectors, labels, new_vectors).argmax(1) == new_labels).float().mean()


def selectivity(vectors, words, labels, new_vectors, new_words, new_labels, random_labels):
    """The accuracy for the true labels less that for the random ones."""
    control = probe_accuracy(vectors, random_labels[words], new_vectors, random_labels[new_words])
    return probe_accuracy(vectors, labels, new_vectors, new_labels) - control


def is_plain(vectors: torch.Tensor, labels: torch.Tensor, classes: int) -> bool:
    """Tell whether every class has an example, and the vectors are far from repeating each other."""
    every = len(labels.unique()) == classes
    return every and float(torch.linalg.svdvals(vectors)[-1]) > 0.3


def stands_out(vectors: torch.Tensor, labels: torch.Tensor, new_vectors: torch.Tensor) -> torch.Tensor:
    """Tell for each new vector whether its greatest logit stands above the next."""
    top = logits(vectors, labels, new_vectors).topk(2, dim=1).values
    return top[:, 0] - top[:, 1] > MARGIN


def draw_words(generator: torch.Generator) -> Case:
    """Draw words in contexts, with true labels that are mostly the word's own, and random ones for each word.

    All that would hang by a rounding error is drawn anew.
    """
    while True:
        d, classes, more, samples, new = sizes(generator, 4, 3, 3, 8, 10, least=2)
        samples, vocab_size, new = samples + 3 * d, classes + more, new + d
        random_labels = torch.randint(classes, (vocab_size,), generator=generator)
        own = torch.randint(classes, (vocab_size,), generator=generator)
        words = torch.randint(vocab_size, (samples + new,), generator=generator)
        elsewhere = torch.rand(samples + new, generator=generator) < 0.35
        other = torch.randint(classes, (samples + new,), generator=generator)
        labels = torch.where(elsewhere, other, own[words])
        towards, meaning = normal(generator, classes, d), normal(generator, vocab_size, d)
        vectors = 1.5 * towards[labels] + meaning[words] + 0.5 * normal(generator, samples + new, d)
        fitted, control = labels[:samples], random_labels[words[:samples]]
        if not (is_plain(vectors[:samples], fitted, classes) and is_plain(vectors[:samples], control, classes)):
            continue
        keep = stands_out(vectors[:samples], fitted, vectors[samples:])
        keep &= stands_out(vectors[:samples], control, vectors[samples:])
        if keep.any():
            return {
                "vectors": vectors[:samples],
                "words": words[:samples],
                "labels": fitted,
                "new_vectors": vectors[samples:][keep],
                "new_words": words[samples:][keep],
                "new_labels": labels[samples:][keep],
                "random_labels": random_labels,
            }


def draw_labelled(generator: torch.Generator) -> Case:
    """Draw the same without words."""
    case = draw_words(generator)
    return {name: case[name] for name in PROBED}


def one_new(case: Case) -> Case:
    """Keep one new example."""
    return case | {name: case[name][:1] for name in ("new_vectors", "new_labels")}


def all_right(case: Case) -> Case:
    """Let the true labels of new examples be what the probe predicts."""
    return case | {"new_labels": logits(*(case[name] for name in PROBED[:3])).argmax(1)}


def all_wrong(case: Case) -> Case:
    """Let the true labels of new examples be other than what the probe predicts."""
    return case | {"new_labels": (all_right(case)["new_labels"] + 1) % (1 + case["labels"].max())}


def renamed(case: Case) -> Case:
    """Let the true labels be the random ones with the names of the classes moved on by one."""
    moved = (case["random_labels"] + 1) % (1 + case["labels"].max())
    return case | {"labels": moved[case["words"]], "new_labels": moved[case["new_words"]]}


BY_HAND = {
    "vectors": torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
    "words": torch.tensor([0, 1]),
    "labels": torch.tensor([0, 1]),
    "new_vectors": torch.tensor([[2.0, 1.0], [1.0, 3.0], [3.0, 1.0]]),
    "new_words": torch.tensor([0, 1, 1]),
    "new_labels": torch.tensor([0, 1, 0]),
    "random_labels": torch.tensor([1, 0]),
}

NEW = {"new_vectors": torch.tensor([[2.0, 1.0]])}

ACCURACY_MISTAKES = """
judged on what it was fitted to => it is judged by the new examples alone, also where there is one
- predicted = (new_vectors @ fitted).argmax(dim=1)
+ new_vectors, new_labels = vectors, labels
+ predicted = (new_vectors @ fitted).argmax(dim=1)
the probe is judged by the examples that it was fitted to; judge it by the new ones, which it has not seen

judged on all examples => it is judged by the new examples alone, also where there is one
+ new_vectors, new_labels = torch.cat([vectors, new_vectors]), torch.cat([labels, new_labels])
+ predicted = (new_vectors @ fitted).argmax(dim=1)
the examples that the probe was fitted to are counted too; judge it by the new ones alone

fitted to the new examples => it is not told the labels that it is judged by
- targets = torch.nn.functional.one_hot(labels).float()
+ vectors, labels = new_vectors, new_labels
+ targets = torch.nn.functional.one_hot(labels).float()
the probe is fitted to the new examples themselves; fit it to `vectors` and `labels`

fitted to all examples => it is not told the labels that it is judged by
+ vectors, labels = torch.cat([vectors, new_vectors]), torch.cat([labels, new_labels])
+ targets = torch.nn.functional.one_hot(labels).float()
the probe is fitted to the new examples as well, and so is told what it is asked; fit it to `vectors` and `labels` alone

the two sets exchanged => it is judged by the new examples alone, also where there is one
+ vectors, labels, new_vectors, new_labels = new_vectors, new_labels, vectors, labels
+ targets = torch.nn.functional.one_hot(labels).float()
the probe is fitted to the new examples and judged by the others; it is the other way round

numbers of classes as targets => the accuracy on new examples
- targets = torch.nn.functional.one_hot(labels).float()
- fitted = torch.linalg.pinv(vectors) @ targets
- predicted = (new_vectors @ fitted).argmax(dim=1)
+ fitted = torch.linalg.pinv(vectors) @ labels.float()
+ predicted = (new_vectors @ fitted).round()
the target is the number of the class, so that class 1 lies between 0 and 2; give every class a column of its own
(`one_hot`), and take the greatest logit

no inverse => the accuracy on new examples
- fitted = torch.linalg.pinv(vectors) @ targets
+ fitted = vectors.T @ targets
this multiplies by the transpose of the vectors where the (pseudo-)inverse belongs: those are sums over the examples of
a class, not the map with the least squared error

the nearest mean => the accuracy on new examples
- fitted = torch.linalg.pinv(vectors) @ targets
- predicted = (new_vectors @ fitted).argmax(dim=1)
+ means = torch.stack([vectors[labels == each].mean(dim=0) for each in labels.unique()])
+ predicted = torch.cdist(new_vectors, means).argmin(dim=1)
this takes the class whose mean is nearest, which is another classifier; fit the map with the least squared error

with a bias => the accuracy on new examples
+ vectors, new_vectors = (torch.cat([each, torch.ones(len(each), 1)], dim=1) for each in (vectors, new_vectors))
+ fitted = torch.linalg.pinv(vectors) @ targets
+ predicted = (new_vectors @ fitted).argmax(dim=1)
a bias is fitted as well, a column of ones or the means taken off before; the map asked for has none, as in exercise
07.5

centred, without a bias => the accuracy on new examples
+ vectors, new_vectors = vectors - vectors.mean(dim=0), new_vectors - vectors.mean(dim=0)
+ fitted = torch.linalg.pinv(vectors) @ targets
+ predicted = (new_vectors @ fitted).argmax(dim=1)
the mean of the vectors is taken off before the map is fitted, which makes it another one; fit it to the vectors as they
are

a penalty => the accuracy on new examples
- fitted = torch.linalg.pinv(vectors) @ targets
- predicted = (new_vectors @ fitted).argmax(dim=1)
+ penalty = torch.eye(vectors.shape[1])
+ fitted = torch.linalg.solve(vectors.T @ vectors + penalty, vectors.T @ targets)
+ predicted = (new_vectors @ fitted).argmax(dim=1)
a penalty is added to the squared error (ridge regression, weight decay), which makes the map smaller and another one;
asked is the map with the least squared error

a count => the accuracy on new examples
- return (predicted == new_labels).float().mean()
+ return (predicted == new_labels).float().sum()
this counts the examples that are right; the accuracy is this number over the number of examples

the fraction that is wrong => it is judged by the new examples alone, also where there is one
+ return (predicted != new_labels).float().mean()
this is the error rate, the fraction of examples that are wrong; asked is the accuracy

the greatest along the examples => the accuracy on new examples
- predicted = (new_vectors @ fitted).argmax(dim=1)
- return (predicted == new_labels).float().mean()
+ predicted = (new_vectors @ fitted).argmax(dim=0)
+ return (torch.arange(len(predicted)) == new_labels[predicted]).float().mean()
`argmax` runs along the examples and finds one for each class; let it run along the classes, `dim=1`

each by itself => the accuracy on new examples
- return (predicted == new_labels).float().mean()
+ return (predicted == new_labels).float()
this tells for every example whether it is right; take the mean

numbers of classes as targets, kept within them => the accuracy on new examples
- targets = torch.nn.functional.one_hot(labels).float()
- fitted = torch.linalg.pinv(vectors) @ targets
- predicted = (new_vectors @ fitted).argmax(dim=1)
+ fitted = torch.linalg.pinv(vectors) @ labels.float()
+ predicted = (new_vectors @ fitted).round().clamp(0, labels.max())
the target is the number of the class, so that class 1 lies between 0 and 2; give every class a column of its own
(`one_hot`), and take the greatest logit
"""

SELECTIVITY_MISTAKES = """
one probe => the difference is right, and 0 where true labels are the random ones under other names
- control = probe_accuracy(vectors, random_labels[words], new_vectors, random_labels[new_words])
+ control = probe_accuracy(vectors, labels, new_vectors, random_labels[new_words])
a single probe, fitted to the true labels, is judged by both; the control task gets a probe of its own, fitted to
`random_labels[words]`

one probe, of random labels => the difference is right, and 0 where true labels are the random ones under other names
- true = probe_accuracy(vectors, labels, new_vectors, new_labels)
+ true = probe_accuracy(vectors, random_labels[words], new_vectors, new_labels)
a single probe, fitted to the random labels, is judged by both; the true labels get a probe of their own

judged by the true labels => the difference is right, and 0 where true labels are the random ones under other names
- control = probe_accuracy(vectors, random_labels[words], new_vectors, random_labels[new_words])
+ control = probe_accuracy(vectors, random_labels[words], new_vectors, new_labels)
the probe of the random labels is judged by the true ones; what it was taught is `random_labels`, so judge it by
`random_labels[new_words]`

the wrong way round => accuracy for the true labels less accuracy for the random ones
- return true - control
+ return control - true
this is the accuracy for random labels less that for true ones; a selective probe has more for the true ones,
and its selectivity is above 0

without a sign => accuracy for the true labels less accuracy for the random ones
+ return (true - control).abs()
this is the absolute difference; where random labels are read better than true ones it is below 0

a ratio => the difference is right, and 0 where true labels are the random ones under other names
+ return true / control
this divides the accuracies; subtract them

accuracy alone => the difference is right, and 0 where true labels are the random ones under other names
+ return true
this is the accuracy for the true labels; take off the accuracy in the control task, for the random ones

the control alone => the difference is right, and 0 where true labels are the random ones under other names
+ return control
this is the accuracy in the control task, for the random labels; take it off the accuracy for the true ones

looked up by label => accuracy for the true labels less accuracy for the random ones
- control = probe_accuracy(vectors, random_labels[words], new_vectors, random_labels[new_words])
+ control = probe_accuracy(vectors, random_labels[labels], new_vectors, random_labels[new_labels])
the random labels are looked up by the true labels, which renames the classes and makes nothing random; they belong to
words: `random_labels[words]`

dealt out by position => accuracy for the true labels less accuracy for the random ones
+ here, there = (random_labels[torch.arange(len(each)) % len(random_labels)] for each in (words, new_words))
+ control = probe_accuracy(vectors, here, new_vectors, there)
the random labels are dealt out to the examples in their order; they belong to words, so that a word has the same one
wherever it stands: `random_labels[words]`

judged on what was fitted => accuracy for the true labels less accuracy for the random ones
- true = probe_accuracy(vectors, labels, new_vectors, new_labels)
+ new_vectors, new_words, new_labels = vectors, words, labels
+ true = probe_accuracy(vectors, labels, new_vectors, new_labels)
both probes are judged by the examples that they were fitted to; judge them by the new ones

control judged on what was fitted => accuracy for the true labels less accuracy for the random ones
- control = probe_accuracy(vectors, random_labels[words], new_vectors, random_labels[new_words])
+ control = probe_accuracy(vectors, random_labels[words], vectors, random_labels[words])
the probe of the random labels is judged by the examples that it was fitted to; judge it by the new ones, as the other

looked up by label for fitting => accuracy for the true labels less accuracy for the random ones
- control = probe_accuracy(vectors, random_labels[words], new_vectors, random_labels[new_words])
+ shuffled = random_labels[labels % len(random_labels)]
+ control = probe_accuracy(vectors, shuffled, new_vectors, random_labels[new_words])
the probe of the control task is fitted to random labels that were looked up by the true labels; they belong to words,
in fitting as in judging: `random_labels[words]`

never below zero => accuracy for the true labels less accuracy for the random ones
- return true - control
+ return (true - control).clamp(min=0)
this makes 0 of a selectivity below 0; a probe may be better at the random labels, and the answer is then negative
"""

EXERCISE = Exercise(
    title="A linear probe and its control task",
    difficulty=3,
    minutes=35,
    tasks=(
        Task(
            function="probe_accuracy",
            parameters=PROBED,
            returns="the accuracy of the probe on new examples, shape ()",
            cases=draw_labelled,
            examples=(
                {name: BY_HAND[name] for name in PROBED},
                {
                    "vectors": torch.tensor([[0.0, 1.0], [0.0, 2.0], [3.0, 0.0], [3.0, 0.0]]),
                    "labels": torch.tensor([0, 1, 1, 1]),
                    "new_vectors": torch.tensor([[2.0, 0.0], [2.0, 1.0]]),
                    "new_labels": torch.tensor([1, 0]),
                },
            ),
            edges=(
                {  # one feature, one class, one new example
                    "vectors": torch.tensor([[1.0], [2.0]]),
                    "labels": torch.tensor([0, 0]),
                    "new_vectors": torch.tensor([[3.0]]),
                    "new_labels": torch.tensor([0]),
                },
                {  # small vectors, beside which a penalty is large; they lean towards each other
                    "vectors": torch.tensor([[1.0, 0.0], [1.0, 1.0]]) / 64,
                    "labels": torch.tensor([0, 1]),
                    "new_vectors": torch.tensor([[1.0, 0.25], [1.0, 0.75]]) / 64,
                    "new_labels": torch.tensor([0, 1]),
                },
                {  # the new examples have no example of the last class
                    "vectors": torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
                    "labels": torch.tensor([2, 0, 1]),
                    "new_vectors": torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.5]]),
                    "new_labels": torch.tensor([0, 0]),
                },
            ),
            reference=probe_accuracy,
            properties=(
                Property("the accuracy on new examples", 2, both(equals(), inputs_unchanged)),
                Property(
                    "it is judged by the new examples alone, also where there is one",
                    1,
                    both(on(one_new, equals()), on(lambda case: one_new(all_wrong(case)), equals())),
                ),
                Property(
                    "it is not told the labels that it is judged by",
                    1,
                    both(on(all_wrong, equals()), on(all_right, equals())),
                ),
            ),
            mistakes=ACCURACY_MISTAKES,
        ),
        Task(
            function="selectivity",
            parameters=("vectors", "words", "labels", "new_vectors", "new_words", "new_labels", "random_labels"),
            returns="accuracy for the true labels less accuracy for the random ones, both on new examples, shape ()",
            cases=draw_words,
            examples=(BY_HAND, BY_HAND | {"new_labels": torch.tensor([1, 1, 1])}),
            edges=(
                # One new example: the answer is 1, -1 or 0.
                BY_HAND | NEW | {"new_words": torch.tensor([1]), "new_labels": torch.tensor([0])},
                BY_HAND | NEW | {"new_words": torch.tensor([0]), "new_labels": torch.tensor([1])},
                # A word that stands nowhere has a label, too.
                BY_HAND | {"words": torch.tensor([2, 0]), "random_labels": torch.tensor([0, 1, 1])},
            ),
            reference=selectivity,
            properties=(
                Property(
                    "accuracy for the true labels less accuracy for the random ones",
                    3,
                    both(equals(), inputs_unchanged),
                ),
                Property(
                    "the difference is right, and 0 where true labels are the random ones under other names",
                    1,
                    both(equals(), on(renamed, equals())),
                ),
            ),
            mistakes=SELECTIVITY_MISTAKES,
        ),
    ),
    hints=(
        "What does the probe see while it is fitted, and what only when it is judged? And in the control task, where "
        "labels mean nothing but a word has the same one each time: what can a probe still learn?",
        "Give each class a column of its own, 1 for the examples of that class and 0 for the others. Fit as in 07.5, "
        "apply the map to new vectors, and take the class with the greatest logit. Then do all of it once more with "
        "labels that are looked up by word, in both sets.",
        "`torch.nn.functional.one_hot(labels).float()` are the targets, `torch.linalg.pinv(vectors) @ targets` is the "
        "map, and `argmax(dim=1)` the prediction. The labels of the control task are `random_labels[words]` and "
        "`random_labels[new_words]`.",
    ),
)
