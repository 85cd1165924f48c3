"""Of exercise 12.5: the classifier, which answers with the class whose mean is nearest."""

import torch
from torch.nn.functional import one_hot

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, on


def class_means(features, labels):
    """The classes that were seen, and the mean of each."""
    classes, number = labels.unique(return_inverse=True)
    belongs = one_hot(number, len(classes)).to(features.dtype)  # (examples, classes)
    return classes, belongs.T @ features / belongs.sum(0)[:, None]


def distances(questions, means):
    """Squared, shape (questions, classes)."""
    return (questions[:, None] - means).square().sum(-1)


def nearest_mean(features, labels, questions):
    """The class whose mean is nearest."""
    classes, means = class_means(features, labels)
    return classes[distances(questions, means).argmin(1)]


def draw_examples(generator: torch.Generator) -> Case:
    """Draw examples of up to four classes and questions about them, none of which lies between two means."""
    while True:
        examples, d, questions = (
            least + size for least, size in zip((3, 0, 3), sizes(generator, 9, 3, 7), strict=True)
        )
        case = {
            "features": normal(generator, examples, d) + 1,
            "labels": torch.randint(4, (examples,), generator=generator),
            "questions": 1.5 * normal(generator, questions, d) + 1,
        }
        gaps = distances(case["questions"], class_means(case["features"], case["labels"])[1]).sort(1).values.diff()
        if gaps.numel() and bool((gaps > 1e-3).all()):
            return case


def renumbered(case: Case) -> torch.Tensor:
    """Labels without a gap."""
    return case["labels"].unique(return_inverse=True)[1]


def all_seen(case: Case) -> Case:
    """Let every class from 0 on be seen."""
    return case | {"labels": renumbered(case)}


def some_not_seen(case: Case) -> Case:
    """Let class 0, and others between, have no example."""
    return case | {"labels": 2 * renumbered(case) + 1}


def every_mean(features, labels, empty):
    """The mean of every class up to the greatest, as `empty(sums, counts)` divides."""
    belongs = one_hot(labels).to(features.dtype)
    return empty(belongs.T @ features, belongs.sum(0)[:, None])


def by(distance, means=class_means):
    """Return the classifier with another distance or other means."""

    def answer(features, labels, questions):
        classes, middle = means(features, labels)
        return classes[distance(questions, middle).argmin(1)]

    return answer


def sums(features, labels):
    """The sum of each class in place of its mean."""
    classes, number = labels.unique(return_inverse=True)
    return classes, one_hot(number).to(features.dtype).T @ features


def first_of_each(features, labels):
    """The first example of each class."""
    classes = labels.unique()
    return classes, torch.stack([features[labels == each][0] for each in classes])


SEEN, NOT_SEEN = "the class with the nearest mean", "a class without an example is never the answer"

NEAREST_MEAN = Task(
    function="nearest_mean",
    parameters=("features", "labels", "questions"),
    returns="the label of the nearest class mean for each question, shape (questions,)",
    cases=draw_examples,
    examples=(
        {
            "features": torch.tensor([[0.0], [10.0], [4.0]]),
            "labels": torch.tensor([1, 3, 1]),
            "questions": torch.tensor([[5.0], [7.0]]),
        },
    ),
    reference=nearest_mean,
    properties=(
        Property(SEEN, 2, both(on(all_seen, equals(nearest_mean)), inputs_unchanged)),
        Property(NOT_SEEN, 1, on(some_not_seen, equals(nearest_mean))),
    ),
    misconceptions=(
        Misconception(
            "a mean of zeros for nothing",
            "a class without an example has the mean 0 here, and is the answer for every question near 0; it has no "
            "mean at all: compare with those of the seen classes",
            lambda features, labels, questions: distances(
                questions, every_mean(features, labels, lambda total, number: total / number.clamp(min=1))
            ).argmin(1),
            breaks=NOT_SEEN,
        ),
        Misconception(
            "nothing divided by nothing",
            "a class without an example has nan for its mean, and `argmin` takes nan for the least: it is the answer "
            "to every question; compare with the means of the seen classes",
            lambda features, labels, questions: distances(
                questions, every_mean(features, labels, lambda total, number: total / number)
            ).argmin(1),
            breaks=NOT_SEEN,
        ),
        Misconception(
            "counted, not named",
            "this tells which of the *seen* classes it is, counted from 0; asked is its label: look it up in "
            "`labels.unique()`",
            lambda features, labels, questions: distances(questions, class_means(features, labels)[1]).argmin(1),
            breaks=NOT_SEEN,
        ),
        Misconception(
            "the farthest",
            "this takes the class whose mean is farthest away",
            by(lambda questions, means: -distances(questions, means)),
            breaks=SEEN,
        ),
        Misconception(
            "sums for means",
            "this compares with the sum of each class; the more examples there are, the farther off it lies: divide by "
            "their number",
            by(distances, sums),
            breaks=SEEN,
        ),
        Misconception(
            "the nearest example",
            "this answers with the label of the nearest *example*; asked is the nearest class *mean*",
            lambda features, labels, questions: labels[distances(questions, features).argmin(1)],
            breaks=SEEN,
        ),
        Misconception(
            "the first of each class",
            "this compares with the first example of each class; take the mean of all of them",
            by(distances, first_of_each),
            breaks=SEEN,
        ),
        Misconception(
            "dot product",
            "this takes the greatest dot product with a mean, which a long mean wins from afar; asked is the least "
            "distance",
            by(lambda questions, means: -questions @ means.T),
            breaks=SEEN,
        ),
        Misconception(
            "the angle",
            "this takes the mean in the most similar direction, however far it is; asked is the least distance",
            by(lambda questions, means: -torch.cosine_similarity(questions[:, None], means, -1)),
            breaks=SEEN,
        ),
        Misconception(
            "differences that cancel",
            "this adds the differences up before it squares them or takes the absolute value, and those above zero and "
            "those below cancel: square each one first",
            by(lambda questions, means: (questions[:, None] - means).sum(-1).abs()),
            breaks=SEEN,
        ),
        Misconception(
            "absolute differences",
            "this adds up the absolute differences, the way along the streets; asked is the straight one: square them",
            by(lambda questions, means: (questions[:, None] - means).abs().sum(-1)),
            breaks=SEEN,
        ),
        Misconception(
            "the distance itself",
            "this is how far the nearest mean is; asked is whose it is: `argmin`, not `amin`",
            lambda features, labels, questions: distances(questions, class_means(features, labels)[1]).amin(1),
            breaks=SEEN,
        ),
    ),
)
