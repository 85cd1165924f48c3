"""The first half of exercise 14.5: a probe that is judged by examples it was not fitted to."""

import torch

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, on

# ---------------------------------------------------------------- accuracy


def one_hot(labels):
    """A row for each label, with 1 at its class."""
    return torch.nn.functional.one_hot(labels).float()


def scores(vectors, labels, new_vectors):
    """What the linear map with the least squared error gives new vectors, (new, classes)."""
    return new_vectors @ (torch.linalg.pinv(vectors) @ one_hot(labels))


def share(said, labels):
    """How many are right, of all."""
    return (said == labels).float().mean()


def probe_accuracy(vectors, labels, new_vectors, new_labels):
    """The share of new vectors whose greatest score is that of their class."""
    return share(scores(vectors, labels, new_vectors).argmax(1), new_labels)


def with_bias(vectors, labels, new_vectors, new_labels):
    """A column of ones beside the vectors."""
    vectors, new_vectors = (torch.cat([each, torch.ones(len(each), 1)], 1) for each in (vectors, new_vectors))
    return probe_accuracy(vectors, labels, new_vectors, new_labels)


def of_class_numbers(vectors, labels, new_vectors, new_labels):
    """The number of the class as a target, and predictions rounded."""
    said = new_vectors @ (torch.linalg.pinv(vectors) @ labels.float())
    return share(said.round(), new_labels)


def everything(vectors, labels, new_vectors, new_labels):
    """Fitted to new examples as well."""
    return probe_accuracy(torch.cat([vectors, new_vectors]), torch.cat([labels, new_labels]), new_vectors, new_labels)


def on_both(vectors, labels, new_vectors, new_labels):
    """Judged on all examples."""
    return probe_accuracy(vectors, labels, torch.cat([vectors, new_vectors]), torch.cat([labels, new_labels]))


def no_inverse(vectors, labels, new_vectors, new_labels):
    """The transpose for the inverse: sums of the vectors of each class."""
    return share((new_vectors @ (vectors.T @ one_hot(labels))).argmax(1), new_labels)


def nearest_mean(vectors, labels, new_vectors, new_labels):
    """The class whose mean is nearest."""
    means = torch.stack([vectors[labels == each].mean(0) for each in labels.unique()])
    return share(torch.cdist(new_vectors, means).argmin(1), new_labels)


def along_the_examples(vectors, labels, new_vectors, new_labels):
    """For each class the example that scores most."""
    winners = scores(vectors, labels, new_vectors).argmax(0)
    return share(torch.arange(len(winners)), new_labels[winners])


# ---------------------------------------------------------------- cases

MARGIN = 0.01  # by so much, at least, the greatest score stands above the next: far above rounding


def is_plain(vectors: torch.Tensor, labels: torch.Tensor, classes: int) -> bool:
    """Tell whether every class has an example, and the vectors are far from repeating each other."""
    every = len(labels.unique()) == classes
    return every and float(torch.linalg.svdvals(vectors)[-1]) > 0.3


def stands_out(vectors: torch.Tensor, labels: torch.Tensor, new_vectors: torch.Tensor) -> torch.Tensor:
    """Tell for each new vector whether its greatest score stands above the next."""
    top = scores(vectors, labels, new_vectors).topk(2, dim=1).values
    return top[:, 0] - top[:, 1] > MARGIN


def draw_words(generator: torch.Generator) -> Case:
    """Draw words in contexts, with true labels that are mostly the word's own, and random ones for each word.

    All that would hang by a rounding error is drawn anew.
    """
    while True:
        d, classes, more, samples, new = sizes(generator, 4, 3, 3, 8, 10, least=2)
        samples, vocabulary, new = samples + 3 * d, classes + more, new + d
        random_labels = torch.randint(classes, (vocabulary,), generator=generator)
        own = torch.randint(classes, (vocabulary,), generator=generator)
        words = torch.randint(vocabulary, (samples + new,), generator=generator)
        elsewhere = torch.rand(samples + new, generator=generator) < 0.35
        other = torch.randint(classes, (samples + new,), generator=generator)
        labels = torch.where(elsewhere, other, own[words])
        towards, meaning = normal(generator, classes, d), normal(generator, vocabulary, d)
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


PROBED = ("vectors", "labels", "new_vectors", "new_labels")


def draw_labelled(generator: torch.Generator) -> Case:
    """Draw the same without words."""
    case = draw_words(generator)
    return {name: case[name] for name in PROBED}


def one_new(case: Case) -> Case:
    """Keep one new example."""
    return case | {name: case[name][:1] for name in ("new_vectors", "new_labels")}


def said_by_the_probe(case: Case) -> torch.Tensor:
    """What the probe says of new examples."""
    return scores(*(case[name] for name in PROBED[:3])).argmax(1)


def all_right(case: Case) -> Case:
    """Let the true labels of new examples be what the probe says."""
    return case | {"new_labels": said_by_the_probe(case)}


def one_wrong(case: Case) -> Case:
    """Keep one new example, of which the probe is wrong."""
    return one_new(all_wrong(case))


def all_wrong(case: Case) -> Case:
    """Let the true labels of new examples be other than what the probe says."""
    return case | {"new_labels": (said_by_the_probe(case) + 1) % (1 + case["labels"].max())}


BY_HAND = {
    "vectors": torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
    "words": torch.tensor([0, 1]),
    "labels": torch.tensor([0, 1]),
    "new_vectors": torch.tensor([[2.0, 1.0], [1.0, 3.0], [3.0, 1.0]]),
    "new_words": torch.tensor([0, 1, 1]),
    "new_labels": torch.tensor([0, 1, 0]),
    "random_labels": torch.tensor([1, 0]),
}

SHARE = "the share of new examples that the probe gets right"
NEW = "it is judged by the new examples alone, also where there is one"
TOLD = "it is not told the labels that it is judged by"

BIASED = (
    "a bias is fitted as well, a column of ones or the means taken off before; the map asked for has none, as in "
    "exercise 07.5"
)

ACCURACY = Task(
    function="probe_accuracy",
    parameters=PROBED,
    returns="the share of new examples that the probe gets right, shape ()",
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
    reference=probe_accuracy,
    properties=(
        Property(SHARE, 2, both(equals(probe_accuracy), inputs_unchanged)),
        Property(NEW, 1, both(on(one_new, equals(probe_accuracy)), on(one_wrong, equals(probe_accuracy)))),
        Property(TOLD, 1, both(on(all_wrong, equals(probe_accuracy)), on(all_right, equals(probe_accuracy)))),
    ),
    misconceptions=(
        Misconception(
            "judged on what it was fitted to",
            "the probe is judged by the examples that it was fitted to; judge it by the new ones, which it has not "
            "seen",
            lambda vectors, labels, new_vectors, new_labels: probe_accuracy(vectors, labels, vectors, labels),
            breaks=NEW,
        ),
        Misconception(
            "judged on all examples",
            "the examples that the probe was fitted to are counted too; judge it by the new ones alone",
            on_both,
            breaks=NEW,
        ),
        Misconception(
            "fitted to the new examples",
            "the probe is fitted to the new examples themselves; fit it to `vectors` and `labels`",
            lambda vectors, labels, new_vectors, new_labels: probe_accuracy(
                new_vectors, new_labels, new_vectors, new_labels
            ),
            breaks=TOLD,
        ),
        Misconception(
            "fitted to all examples",
            "the probe is fitted to the new examples as well, and so is told what it is asked; fit it to `vectors` and "
            "`labels` alone",
            everything,
            breaks=TOLD,
        ),
        Misconception(
            "the two sets exchanged",
            "the probe is fitted to the new examples and judged by the others; it is the other way round",
            lambda vectors, labels, new_vectors, new_labels: probe_accuracy(new_vectors, new_labels, vectors, labels),
            breaks=NEW,
        ),
        Misconception(
            "numbers of classes as targets",
            "the target is the number of the class, so that class 1 lies between 0 and 2; give every class a column of "
            "its own (`one_hot`), and take the greatest score",
            of_class_numbers,
            breaks=SHARE,
        ),
        Misconception(
            "no inverse",
            "this multiplies by the transpose of the vectors where the (pseudo-)inverse belongs: those are sums over "
            "the examples of a class, not the map with the least squared error",
            no_inverse,
            breaks=SHARE,
        ),
        Misconception(
            "the nearest mean",
            "this takes the class whose mean is nearest, which is another classifier; fit the map with the least "
            "squared error",
            nearest_mean,
            breaks=SHARE,
        ),
        Misconception("with a bias", BIASED, with_bias, breaks=SHARE),
        Misconception(
            "a count",
            "this counts the examples that are right; divide by how many there are",
            lambda vectors, labels, new_vectors, new_labels: (
                len(new_labels) * probe_accuracy(vectors, labels, new_vectors, new_labels)
            ),
            breaks=SHARE,
        ),
        Misconception(
            "the share that is wrong",
            "this is the share of examples that are wrong; asked is the share that is right",
            lambda vectors, labels, new_vectors, new_labels: (
                1 - probe_accuracy(vectors, labels, new_vectors, new_labels)
            ),
            breaks=NEW,
        ),
        Misconception(
            "the greatest along the examples",
            "`argmax` runs along the examples and finds one for each class; let it run along the classes, `dim=1`",
            along_the_examples,
            breaks=SHARE,
        ),
        Misconception(
            "each by itself",
            "this says of every example whether it is right; take the mean",
            lambda vectors, labels, new_vectors, new_labels: (
                scores(vectors, labels, new_vectors).argmax(1) == new_labels
            ).float(),
            breaks=SHARE,
        ),
    ),
)
