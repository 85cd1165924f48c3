"""Exercise 10.4, calibration: the reliability curve, the error that is read from it, and a temperature."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.chapter_10_reliability import (
    OTHER_BINS,
    OTHER_NUMBERS,
    RELIABILITY,
    by,
    by_rank,
    chosen,
    draw_predictions,
    of,
    on_the_edges,
    reliability_curve,
)
from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, on

# ---------------------------------------------------------------- the expected calibration error


def expected(curve: Callable[..., tuple[torch.Tensor, ...]]) -> Callable[..., torch.Tensor]:
    """Return the error that is read from a curve."""

    def error(probabilities, labels, bins):
        confidence, accuracy, share = curve(probabilities, labels, bins)
        return (share * (accuracy - confidence).abs()).sum()

    return error


calibration_error = expected(reliability_curve)


def from_curve(make: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return what `make(gap, share)` makes of the bins: accuracy less confidence, and the share."""

    def error(probabilities, labels, bins):
        confidence, accuracy, share = reliability_curve(probabilities, labels, bins)
        return make(accuracy - confidence, share)

    return error


def too_bold_and_too_timid(case: Case) -> Case:
    """Make predictions whose gaps cancel: of 0.6 all are right, of 0.9 a half."""
    greatest = torch.tensor([0.6, 0.6, 0.9, 0.9, 0.6, 0.6, 0.9, 0.9])
    winner = torch.tensor([0, 1, 0, 1, 1, 0, 0, 1])
    if case["labels"][0] == 0:
        winner = 1 - winner
    probabilities = torch.where(winner[:, None] == torch.arange(2), greatest[:, None], 1 - greatest[:, None])
    wrong = torch.tensor([0, 0, 1, 0, 0, 0, 0, 1])
    return {"probabilities": probabilities, "labels": (winner + wrong) % 2, "bins": 5 + len(case["labels"]) % 3}


ERROR, CANCEL = "the gaps of the bins, weighted by their shares", "too bold here does not make up for too timid there"
EDGES = "a bin has its upper edge, and not its lower one"

ERROR_OF_CURVE = Task(
    function="calibration_error",
    parameters=("probabilities", "labels", "bins"),
    returns="the expected calibration error, a tensor of shape ()",
    cases=draw_predictions,
    examples=RELIABILITY.examples,
    reference=calibration_error,
    properties=(
        Property(ERROR, 2, both(equals(calibration_error), inputs_unchanged)),
        Property(CANCEL, 1, on(too_bold_and_too_timid, equals(calibration_error))),
        Property(EDGES, 1, on(on_the_edges, equals(calibration_error))),
    ),
    misconceptions=(
        Misconception(
            "absolute value of the whole",
            "this takes the absolute value of the sum, or uses no bins at all: gaps above and below cancel; take the "
            "absolute value in each bin",
            from_curve(lambda gap, share: (gap * share).sum().abs()),
            breaks=CANCEL,
        ),
        Misconception(
            "no absolute value",
            "no absolute value is taken, and gaps above and below cancel",
            from_curve(lambda gap, share: (gap * share).sum()),
            breaks=CANCEL,
        ),
        Misconception(
            "no absolute value, turned round",
            "no absolute value is taken, and gaps above and below cancel",
            from_curve(lambda gap, share: -(gap * share).sum()),
            breaks=CANCEL,
        ),
        Misconception(
            "bins weigh the same",
            "this is the mean over all bins, empty ones included; a bin weighs as much as the share of the examples "
            "that fell into it",
            from_curve(lambda gap, share: gap.abs().mean()),
            breaks=ERROR,
        ),
        Misconception(
            "bins that are not empty weigh the same",
            "this is the mean over the bins that are not empty; a bin weighs as much as the share of the examples that "
            "fell into it",
            from_curve(lambda gap, share: gap.abs().sum() / (share > 0).sum()),
            breaks=ERROR,
        ),
        Misconception(
            "a sum without weights",
            "this adds the gaps up without weights; each is weighted by the share of the examples in its bin",
            from_curve(lambda gap, share: gap.abs().sum()),
            breaks=ERROR,
        ),
        Misconception(
            "weighted by counts",
            "this weights the gaps by counts; divide by the number of all examples",
            lambda probabilities, labels, bins: calibration_error(probabilities, labels, bins) * len(labels),
            breaks=ERROR,
        ),
        Misconception(
            "the greatest gap",
            "this is the greatest gap (the maximum calibration error); the expected one is their average",
            from_curve(lambda gap, share: gap.abs().max()),
            breaks=ERROR,
        ),
        Misconception(
            "squares",
            "this squares the gaps; the absolute value is asked for",
            from_curve(lambda gap, share: (gap.square() * share).sum()),
            breaks=ERROR,
        ),
        Misconception(
            "root of the squares",
            "this is the root of the mean square; the mean of the absolute gaps is asked for",
            from_curve(lambda gap, share: (gap.square() * share).sum().sqrt()),
            breaks=ERROR,
        ),
        Misconception(
            "example by example",
            "this takes the absolute value for each example, which is right or wrong and never 0.8 right; average "
            "over a bin first, then take the absolute value",
            lambda probabilities, labels, bins: (
                (probabilities.amax(1) - chosen(probabilities, labels)[1].float()).abs().mean()
            ),
            breaks=ERROR,
        ),
        Misconception(
            "the middle of a bin",
            "this puts the middle of a bin for its confidence; take the mean of the confidences that fell into it",
            expected(
                lambda probabilities, labels, bins: (
                    (torch.arange(bins) + 0.5) / bins,
                    *reliability_curve(probabilities, labels, bins)[1:],
                )
            ),
            breaks=ERROR,
        ),
        Misconception(
            "as many in each bin",
            "this gives every bin the same number of examples; the bins here are of the same width, from 0 to 1",
            expected(by(by_rank)),
            breaks=ERROR,
        ),
        Misconception(
            "nan",
            "an empty bin divides 0 by 0, and one nan makes the whole sum nan; an empty bin is to weigh nothing",
            from_curve(lambda gap, share: (gap.abs() * share * torch.where(share > 0, 1, torch.nan)).sum()),
            breaks=ERROR,
        ),
        Misconception(
            "the accuracy",
            "this is the accuracy; asked is how far confidence and accuracy are apart",
            lambda probabilities, labels, bins: chosen(probabilities, labels)[1].float().mean(),
            breaks=ERROR,
        ),
        *(Misconception(name, sentence, expected(by(indices)), breaks=EDGES) for name, sentence, indices in OTHER_BINS),
        *(Misconception(name, sentence, expected(of(look)), breaks=ERROR) for name, sentence, look in OTHER_NUMBERS),
    ),
)

# ---------------------------------------------------------------- a temperature


def losses(scores: torch.Tensor, labels: torch.Tensor, temperatures: torch.Tensor) -> torch.Tensor:
    """The mean loss at each temperature (candidate,)."""
    logarithms = (scores / temperatures[:, None, None]).log_softmax(-1)  # (candidate, example, classes)
    return -logarithms[:, torch.arange(len(labels)), labels].mean(1)


def best_temperature(scores, labels, temperatures):
    """The one of least loss."""
    return temperatures[losses(scores, labels, temperatures).argmin()]


def draw_scores(generator: torch.Generator) -> Case:
    """Draw scores, labels that they predict now and then, and temperatures of which one is clearly best."""
    while True:
        examples, classes, candidates = sizes(generator, 9, 3, 4)
        scores = uniform(generator, 1, 4) * normal(generator, examples, classes + 1)
        labels = torch.randint(classes + 1, (examples,), generator=generator)
        labels = torch.where(torch.rand(examples, generator=generator) < 0.6, scores.argmax(1), labels)
        temperatures = (1.2 * normal(generator, candidates + 2)).exp()
        least = losses(scores, labels, temperatures).sort().values
        if least[1] - least[0] > 1e-3:
            return {"scores": scores, "labels": labels, "temperatures": temperatures}


def one_far_wrong(case: Case) -> Case:
    """Make the scores great, and the first example wrong by so much that its label keeps no probability in float32."""
    scores = 10 * case["scores"]
    scores[0, case["labels"][0]] -= 200 * float(case["temperatures"].max())
    temperatures = case["temperatures"].sort().values
    return case | {"scores": scores, "temperatures": torch.cat([temperatures[:1] / 2, temperatures])}


def least(measure: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the temperature with the least `measure(probabilities (example, classes), labels)`."""

    def choose(scores, labels, temperatures):
        values = torch.stack([measure((scores / each).softmax(1), labels) for each in temperatures])
        return temperatures[values.argmin()]

    return choose


def of_labels(probabilities: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The probabilities of what is true."""
    return probabilities[torch.arange(len(labels)), labels]


BEST, FAR = "the temperature of least loss", "also where a label keeps no probability that float32 can hold"

TEMPERATURE = Task(
    function="best_temperature",
    parameters=("scores", "labels", "temperatures"),
    returns="the one of `temperatures` with the least mean loss, a tensor of shape ()",
    cases=draw_scores,
    examples=(
        {
            "scores": torch.tensor([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]]),
            "labels": torch.tensor([0, 0, 1, 0]),
            "temperatures": torch.tensor([0.5, 1.0, 2.0, 8.0]),
        },
    ),
    reference=best_temperature,
    properties=(
        Property(BEST, 1, both(equals(best_temperature), inputs_unchanged)),
        Property(FAR, 1, on(one_far_wrong, equals(best_temperature))),
    ),
    misconceptions=(
        Misconception(
            "multiplied",
            "this multiplies the scores by the temperature; they are divided by it",
            lambda scores, labels, temperatures: temperatures[losses(scores, labels, 1 / temperatures).argmin()],
            breaks=BEST,
        ),
        Misconception(
            "logarithm of a softmax",
            "this takes the logarithm of a probability that float32 rounds to 0, and every temperature has an infinite "
            "loss; `log_softmax` takes both steps at once",
            least(lambda probabilities, labels: -of_labels(probabilities, labels).log().mean()),
            breaks=FAR,
        ),
        Misconception(
            "the greatest loss",
            "this is the temperature of the greatest loss: the sign is missing in front of the logarithm, or `argmax` "
            "stands for `argmin`",
            lambda scores, labels, temperatures: temperatures[losses(scores, labels, temperatures).argmax()],
            breaks=BEST,
        ),
        Misconception(
            "the index",
            "this is the index of the best temperature; return the temperature",
            lambda scores, labels, temperatures: losses(scores, labels, temperatures).argmin(),
            breaks=BEST,
        ),
        Misconception(
            "the least loss",
            "this is the least loss; return the temperature that has it",
            lambda scores, labels, temperatures: losses(scores, labels, temperatures).min(),
            breaks=BEST,
        ),
        Misconception(
            "probabilities without a logarithm",
            "this maximises the mean probability of the labels, or gives probabilities to `cross_entropy`, which takes "
            "a softmax of its own; the loss is the mean of minus the *logarithm* of the probability, taken once",
            least(lambda probabilities, labels: -of_labels(probabilities, labels).mean()),
            breaks=BEST,
        ),
        Misconception(
            "the chosen class",
            "this takes the loss of the class that the classifier chooses; take that of the label",
            least(lambda probabilities, labels: -probabilities.amax(1).log().mean()),
            breaks=BEST,
        ),
        Misconception(
            "accuracy",
            "this looks for the greatest accuracy; a temperature never changes which score is greatest, so that all "
            "are alike and the first is returned",
            lambda scores, labels, temperatures: temperatures[0],
            breaks=BEST,
        ),
    ),
)

CALIBRATION = Exercise(
    id="10.4",
    title="Calibration",
    difficulty=2,
    minutes=35,
    tasks=(RELIABILITY, ERROR_OF_CURVE, TEMPERATURE),
    hints=(
        "Which of the numbers of a row is the confidence, and when was the classifier right? In which bin is a "
        "confidence of 1, and which bin is next to it on the edge?",
        "Take maximum and argmax of each row. Multiply the confidence by the number of bins, round up, take 1 off: "
        "that is its bin. For each bin that is not empty, average the confidences and the hits. For the error, weight "
        "the absolute gap of each bin by its share. For the temperature, compute the mean loss at each candidate.",
        "`torch.ceil` rounds up, `.long()` makes whole numbers of it, and `fallen == number` tells what "
        "fell into one bin. The error sums the shares times `.abs()` of the gaps. Of the divided scores take "
        "`.log_softmax(dim=1)`; `[torch.arange(len(labels)), labels]` picks the entry of the label in each row.",
    ),
)
