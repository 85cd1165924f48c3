"""The first part of exercise 10.4: confidence and accuracy, bin by bin."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, of_output, on

Curve = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
Indices = Callable[[torch.Tensor, int], torch.Tensor]


def closed_above(confidences: torch.Tensor, bins: int) -> torch.Tensor:
    """Return the bin of every confidence, where a bin has its upper edge and not its lower one."""
    return (confidences * bins).ceil().long() - 1


def binned(confidences: torch.Tensor, right: torch.Tensor, bins: int, indices: Indices = closed_above) -> Curve:
    """Mean confidence, accuracy and share of each bin, zeros for an empty one."""
    in_bin = (indices(confidences, bins)[:, None] == torch.arange(bins)).to(confidences.dtype)  # (example, bin)
    counts = in_bin.sum(0)
    confidence = (in_bin * confidences[:, None]).sum(0) / counts.clamp(min=1)
    accuracy = (in_bin * right[:, None]).sum(0) / counts.clamp(min=1)
    return confidence, accuracy, counts / len(confidences)


def chosen(probabilities: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Confidence of the chosen class, and whether it is right."""
    return probabilities.amax(1), probabilities.argmax(1) == labels


def reliability_curve(probabilities, labels, bins):
    """Confidence and accuracy of the chosen class, by bins."""
    return binned(*chosen(probabilities, labels), bins)


def draw_predictions(generator: torch.Generator) -> Case:
    """Draw probabilities whose greatest one is well inside a bin, and labels that agree with it more often than not."""
    classes, bins, examples = (least + size for least, size in zip((1, 0, 2), sizes(generator, 3, 7, 12), strict=True))
    probabilities, labels = torch.zeros(examples, classes), torch.zeros(examples, dtype=torch.long)
    for row in range(examples):
        greatest = 0.0
        while greatest < 1 / classes + 0.03:
            [number] = sizes(generator, bins)
            greatest = (number - uniform(generator, 0.2, 0.8)) / bins
        others = (1 - greatest) * normal(generator, classes - 1).softmax(0)
        if others.max() > greatest - 0.02:
            others = torch.full((classes - 1,), (1 - greatest) / (classes - 1))
        [winner, label] = sizes(generator, classes, classes)
        probabilities[row] = torch.cat([others[: winner - 1], torch.tensor([greatest]), others[winner - 1 :]])
        labels[row] = (winner if uniform(generator, 0, 1) < 0.5 else label) - 1
    return {"probabilities": probabilities, "labels": labels, "bins": bins}


def on_the_edges(case: Case) -> Case:
    """Put confidences on the edges of four bins, which are exact in binary, and between them."""
    greatest = torch.tensor([0.5, 0.625, 0.75, 0.875, 1.0])
    probabilities = torch.stack([greatest, (1 - greatest) / 2, (1 - greatest) / 2], 1)
    labels = torch.tensor([0, 1, 0, 2, 1])
    turned = case["labels"][:1] % 3  # another class wins in another case
    return {"probabilities": probabilities.roll(int(turned), dims=1), "labels": (labels + turned) % 3, "bins": 4}


def by(indices: Indices) -> Callable[..., Curve]:
    """Return the curve over other bins."""
    return lambda probabilities, labels, bins: binned(*chosen(probabilities, labels), bins, indices)


def of(look: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]) -> Callable[..., Curve]:
    """Return the curve of other confidences, or of another idea of what is right."""
    return lambda probabilities, labels, bins: binned(*look(probabilities, labels), bins)


def by_rank(confidences: torch.Tensor, bins: int) -> torch.Tensor:
    """As many examples in each bin."""
    return confidences.argsort(stable=True).argsort(stable=True) * bins // len(confidences)


def from_least_to_greatest(confidences: torch.Tensor, bins: int) -> torch.Tensor:
    """Bins over the range of the confidences."""
    least, greatest = confidences.min(), confidences.max()
    return ((confidences - least) / (greatest - least) * bins).long().clamp(max=bins - 1)


def of_label(probabilities: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The probability of the class that is true."""
    return probabilities.gather(1, labels[:, None])[:, 0], probabilities.argmax(1) == labels


def of_class_one(probabilities: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The probability of class 1, and whether that is true."""
    return probabilities[:, 1], labels == 1


def nan_where_empty(curve: Callable[..., Curve]) -> Callable[..., Curve]:
    """Return the curve with 0 / 0 in an empty bin."""

    def answer(probabilities, labels, bins):
        confidence, accuracy, share = curve(probabilities, labels, bins)
        confidence, accuracy = (torch.where(share > 0, each, torch.nan) for each in (confidence, accuracy))
        return confidence, accuracy, share

    return answer


# Wrong in the curve and in the error that is made of it: a name, a sentence, and how the bins or the numbers are made.
LEFT_CLOSED = (
    "a bin holds its upper edge and not its lower one; this does it the other way round, as rounding down does: "
    "round `confidence * bins` *up*, and take 1 off"
)
OTHER_BINS = (
    (
        "lower edges, 1 in the last bin",
        LEFT_CLOSED,
        lambda confidences, bins: (confidences * bins).floor().long().clamp(max=bins - 1),
    ),
    (
        "lower edges, 1 in no bin",
        f"{LEFT_CLOSED}; and a confidence of 1 falls out of all bins",
        lambda confidences, bins: (confidences * bins).floor().long(),
    ),
    (
        "no edges",
        "this leaves out what lies on an edge (`>` and `<`); a bin holds its upper edge",
        lambda confidences, bins: torch.where(
            (confidences * bins).frac() == 0, -1, (confidences * bins).floor().long()
        ),
    ),
)
OTHER_NUMBERS = (
    (
        "confidence in the label",
        "this takes the probability of the class that is true; the confidence is that of the class which is *chosen*, "
        "right or wrong",
        of_label,
    ),
    (
        "class 1 only",
        "this takes the probability of class 1 and asks how often class 1 is true; the confidence is that of the class "
        "which is chosen, and it is right where that class is true",
        of_class_one,
    ),
    (
        "errors for hits",
        "this counts errors; the accuracy counts the examples that are right",
        lambda probabilities, labels: (probabilities.amax(1), probabilities.argmax(1) != labels),
    ),
)

NAN = "an empty bin divides 0 by 0, which is nan; it is to have zeros"
CONFIDENCE, ACCURACY, SHARE = "the mean confidence of each bin", "the accuracy of each bin", "the share of each bin"
EDGES = "a bin has its upper edge, and not its lower one"

RELIABILITY = Task(
    function="reliability_curve",
    parameters=("probabilities", "labels", "bins"),
    returns="mean confidence, accuracy and share of each bin, each of shape (bins,)",
    cases=draw_predictions,
    examples=(
        {
            "probabilities": torch.tensor([[0.1, 0.9], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]),
            "labels": torch.tensor([1, 1, 1, 0]),
            "bins": 4,
        },
        {
            "probabilities": torch.tensor([[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]),
            "labels": torch.tensor([1, 2]),
            "bins": 2,
        },
    ),
    reference=reliability_curve,
    properties=(
        Property(CONFIDENCE, 1, both(of_output(0, equals(reliability_curve)), inputs_unchanged)),
        Property(ACCURACY, 1, of_output(1, equals(reliability_curve))),
        Property(SHARE, 1, of_output(2, equals(reliability_curve))),
        Property(
            EDGES,
            1,
            on(
                on_the_edges,
                both(of_output(2, equals(reliability_curve)), of_output(0, equals(reliability_curve))),
            ),
        ),
    ),
    misconceptions=(
        *(Misconception(name, sentence, by(indices), breaks=EDGES) for name, sentence, indices in OTHER_BINS),
        *(
            Misconception(name, sentence, of(look), breaks=ACCURACY if "errors" in name else CONFIDENCE)
            for name, sentence, look in OTHER_NUMBERS
        ),
        Misconception(
            "the probability of the rest",
            "this takes the smallest probability; the confidence is the greatest one of a row",
            of(lambda probabilities, labels: (probabilities.amin(1), probabilities.argmax(1) == labels)),
            breaks=CONFIDENCE,
        ),
        Misconception(
            "nan for an empty bin",
            NAN,
            nan_where_empty(reliability_curve),
            breaks=CONFIDENCE,
        ),
        *(
            Misconception(f"{name}, and nan", f"{NAN}; and {sentence}", nan_where_empty(by(indices)), breaks=CONFIDENCE)
            for name, sentence, indices in OTHER_BINS
        ),
        Misconception(
            "the middle of a bin",
            "this puts the middle of the bin for its confidence; take the mean of the confidences that fell into it",
            lambda probabilities, labels, bins: (
                (torch.arange(bins) + 0.5) / bins * (reliability_curve(probabilities, labels, bins)[2] > 0),
                *reliability_curve(probabilities, labels, bins)[1:],
            ),
            breaks=CONFIDENCE,
        ),
        Misconception(
            "the middle of every bin",
            "this puts the middle of the bin for its confidence, also where the bin is empty; take the mean of the "
            "confidences that fell into it",
            lambda probabilities, labels, bins: (
                (torch.arange(bins) + 0.5) / bins,
                *reliability_curve(probabilities, labels, bins)[1:],
            ),
            breaks=CONFIDENCE,
        ),
        Misconception(
            "divided by all examples",
            "this divides the sums of a bin by the number of all examples; divide by how many fell into the bin",
            lambda probabilities, labels, bins: tuple(
                each * reliability_curve(probabilities, labels, bins)[2] if i < 2 else each
                for i, each in enumerate(reliability_curve(probabilities, labels, bins))
            ),
            breaks=ACCURACY,
        ),
        Misconception(
            "right in this bin, of all that is right",
            "this tells which share of the right answers fell into the bin; asked is which share of the bin is right",
            lambda probabilities, labels, bins: (
                (curve := reliability_curve(probabilities, labels, bins))[0],
                curve[1] * curve[2] / (curve[1] * curve[2]).sum().clamp(min=1e-9),
                curve[2],
            ),
            breaks=ACCURACY,
        ),
        Misconception(
            "counts for shares",
            "this counts the examples of each bin; divide by the number of all examples",
            lambda probabilities, labels, bins: (
                (curve := reliability_curve(probabilities, labels, bins))[0],
                curve[1],
                curve[2] * len(labels),
            ),
            breaks=SHARE,
        ),
        Misconception(
            "accuracy before confidence",
            "accuracy and confidence have changed places: the confidence comes first",
            lambda probabilities, labels, bins: (
                (curve := reliability_curve(probabilities, labels, bins))[1],
                curve[0],
                curve[2],
            ),
            breaks=CONFIDENCE,
        ),
        Misconception(
            "as many in each bin",
            "this gives every bin the same number of examples; the bins here are of the same width, from 0 to 1",
            by(by_rank),
            breaks=SHARE,
        ),
        *(
            Misconception(
                f"bins from one half, {said}",
                "this cuts the range from one half to 1 into bins, as the chapter did for two classes; here they go "
                "from 0 to 1",
                by(indices),
                breaks=SHARE,
            )
            for said, indices in (
                ("rounded up", lambda confidences, bins: ((confidences - 0.5) * 2 * bins).ceil().long() - 1),
                (
                    "rounded down",
                    lambda confidences, bins: ((confidences - 0.5) * 2 * bins).long().clamp(max=bins - 1),
                ),
            )
        ),
        Misconception(
            "bins over the range",
            "this cuts the range from the least to the greatest confidence into bins; they go from 0 to 1",
            by(from_least_to_greatest),
            breaks=SHARE,
        ),
        Misconception(
            "one bin on",
            "every bin is one further than it should be: the confidences from 0 to 1 / bins belong to bin 0",
            by(lambda confidences, bins: closed_above(confidences, bins) + 1),
            breaks=SHARE,
        ),
        Misconception(
            "rounded to the nearest edge",
            "this rounds to the nearest edge, so that the bins begin in the middle; round up, and take 1 off",
            by(lambda confidences, bins: (confidences * bins).round().long()),
            breaks=SHARE,
        ),
    ),
    outputs=("confidence", "accuracy", "share"),
)
