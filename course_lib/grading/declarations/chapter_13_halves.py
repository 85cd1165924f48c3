"""Second part of exercise 13.1: attention to one half of the keys and to the other, put together."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, of_output, on

NEVER = -torch.inf


def rescaled_totals(maximum, total, other_maximum, other_total):
    """The maximum of both halves, and both sums measured from it."""
    new = torch.maximum(maximum, other_maximum)
    return new, total * (maximum - new).exp(), other_total * (other_maximum - new).exp()


def by(mix: Callable[..., torch.Tensor]) -> Callable[..., tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Return the answer whose output is mix(output, other_output, one, other); the last two are rescaled sums."""

    def answer(maximum, total, output, other_maximum, other_total, other_output):
        new, one, other = rescaled_totals(maximum, total, other_maximum, other_total)
        return new, one + other, mix(output, other_output, one[:, None], other[:, None])

    return answer


def by_weight(weight: Callable[..., torch.Tensor]) -> Callable:
    """Return the answer in which the first output weighs weight(its maximum, total, and those of the other)."""

    def answer(maximum, total, output, other_maximum, other_total, other_output):
        new, one, other = rescaled_totals(maximum, total, other_maximum, other_total)
        share = weight(maximum, total, other_maximum, other_total)[:, None]
        return new, one + other, share * output + (1 - share) * other_output

    return answer


merge_halves = by(lambda output, other_output, one, other: (one * output + other * other_output) / (one + other))


def weighed_by_maxima(maximum, total, output, other_maximum, other_total, other_output):
    """The sums are in the divisor and not in the weights."""
    new, one, other = rescaled_totals(maximum, total, other_maximum, other_total)
    weighed = (maximum - new).exp()[:, None] * output + (other_maximum - new).exp()[:, None] * other_output
    return new, one + other, weighed / (one + other)[:, None]


def by_logarithms(maximum, total, output, other_maximum, other_total, other_output):
    """Weights by the softmax of maximum + ln(sum)."""
    new = torch.maximum(maximum, other_maximum)
    logarithms = torch.stack([maximum + total.log(), other_maximum + other_total.log()], -1)  # (batch, 2)
    share = logarithms.softmax(-1)[:, :1]  # (batch, 1)
    both_totals = (logarithms.logsumexp(-1) - new).exp()
    return new, both_totals, share * output + (1 - share) * other_output


def with_totals(totals: Callable) -> Callable:
    """Return the answer that goes on with the sums totals(maximum, total, other_maximum, other_total)."""

    def answer(maximum, total, output, other_maximum, other_total, other_output):
        one, other = totals(maximum, total, other_maximum, other_total)
        new = torch.maximum(maximum, other_maximum)
        mixed = one[:, None] * output + other[:, None] * other_output
        return new, one + other, mixed / (one + other)[:, None]

    return answer


def from_the_other(maximum, total, other_maximum, other_total):
    """Both sums measured from the other half's maximum."""
    return total * (maximum - other_maximum).exp(), other_total


def put_right_at_the_end(maximum, total, output, other_maximum, other_total, other_output):
    """Both measured from the other half's maximum, and the sum brought to the new one afterwards."""
    one, other = from_the_other(maximum, total, other_maximum, other_total)
    new = torch.maximum(maximum, other_maximum)
    mixed = (one[:, None] * output + other[:, None] * other_output) / (one + other)[:, None]
    return new, (one + other) * (other_maximum - new).exp(), mixed


def bare(maximum, total, output, other_maximum, other_total, other_output):
    """Exponentials of the maxima as they are."""
    one, other = total * maximum.exp(), other_total * other_maximum.exp()
    new = torch.maximum(maximum, other_maximum)
    mixed = (one[:, None] * output + other[:, None] * other_output) / (one + other)[:, None]
    return new, (one + other) / new.exp(), mixed


def without_an_axis(maximum, total, output, other_maximum, other_total, other_output):
    """Sums along the batch meet the entries of the values."""
    new, one, other = rescaled_totals(maximum, total, other_maximum, other_total)
    return new, one + other, (one * output + other * other_output) / (one + other)


# ---------------------------------------------------------------- cases


def draw_halves(generator: torch.Generator) -> Case:
    """Draw what two halves of the keys gave."""
    batch, d_value = sizes(generator, 4, 5)
    case = {}
    for name, keys in zip(("", "other_"), sizes(generator, 4, 4), strict=True):
        scores, values = 2 * normal(generator, batch, keys), normal(generator, batch, keys, d_value)
        maximum = scores.amax(-1)
        total = (scores - maximum[:, None]).exp().sum(-1)
        output = (scores.softmax(-1)[..., None] * values).sum(1)
        case |= {f"{name}maximum": maximum, f"{name}total": total, f"{name}output": output}
    return case


def moved_by(steps: float) -> Callable[[Case], Case]:
    """Return the change that moves both maxima, in steps that are exact so far away."""
    return lambda case: case | {name: (16 * case[name]).round() / 16 + steps for name in ("maximum", "other_maximum")}


def empty(which: str, full: str) -> Callable[[Case], Case]:
    """Return the change after which one half has seen no key, and the other one has."""

    def change(case: Case) -> Case:
        maximum, total, output = (f"{which}{name}" for name in ("maximum", "total", "output"))
        return case | {
            maximum: torch.full_like(case[maximum], NEVER),
            total: torch.zeros_like(case[total]),
            output: torch.zeros_like(case[output]),
            f"{full}maximum": case[f"{full}maximum"].clamp(min=-99),
            f"{full}total": case[f"{full}total"].clamp(min=1),
        }

    return change


SUMMARY = "maximum and sum of both halves together"
OUTPUT = "the output is the average over all keys"
STABLE = "maxima around 10,000, and around -10,000"
EMPTY = "a half that has seen no key changes nothing"

ALL = both(*(of_output(number, equals(merge_halves)) for number in (1, 2)))

MERGE = Task(
    function="merge_halves",
    parameters=("maximum", "total", "output", "other_maximum", "other_total", "other_output"),
    returns="maximum and sum of both halves, of shape (batch,), and their output, of shape (batch, d_value)",
    outputs=("maximum", "total", "output"),
    cases=draw_halves,
    examples=(
        {
            "maximum": torch.tensor([0.6931]),
            "total": torch.tensor([1.5]),
            "output": torch.tensor([[4.0]]),
            "other_maximum": torch.tensor([0.0]),
            "other_total": torch.tensor([1.0]),
            "other_output": torch.tensor([[8.0]]),
        },
        {
            "maximum": torch.tensor([2.0, NEVER]),
            "total": torch.tensor([1.0, 0.0]),
            "output": torch.tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]),
            "other_maximum": torch.tensor([2.0, 1.0]),
            "other_total": torch.tensor([3.0, 2.0]),
            "other_output": torch.tensor([[5.0, 4.0, 3.0], [7.0, 6.0, 5.0]]),
        },
    ),
    reference=merge_halves,
    properties=(
        Property(
            SUMMARY,
            1,
            both(both(*(of_output(number, equals(merge_halves)) for number in (0, 1))), inputs_unchanged),
        ),
        Property(OUTPUT, 1, of_output(2, equals(merge_halves))),
        Property(STABLE, 1, both(on(moved_by(1e4), ALL), on(moved_by(-1e4), ALL))),
        Property(EMPTY, 1, both(on(empty("", "other_"), ALL), on(empty("other_", ""), ALL))),
    ),
    misconceptions=(
        Misconception(
            "mean of both outputs",
            "this is the plain mean of both outputs: a half weighs as much as its exponentials, measured from one and "
            "the same maximum",
            by(lambda output, other_output, one, other: (output + other_output) / 2),
            breaks=OUTPUT,
        ),
        Misconception(
            "weighed by sums as they came",
            "the outputs are weighed by the sums as they came, measured from two different maxima; rescale both to the "
            "new one first",
            by_weight(lambda maximum, total, other_maximum, other_total: total / (total + other_total)),
            breaks=OUTPUT,
        ),
        Misconception(
            "sums as they came",
            "both sums are used as they came, measured from two different maxima; multiply each by exp(its maximum - "
            "new maximum) first",
            with_totals(lambda maximum, total, other_maximum, other_total: (total, other_total)),
            breaks=SUMMARY,
        ),
        Misconception(
            "only one sum rescaled",
            "the other half's sum is not rescaled: where the first half has the greater maximum, the other's sum "
            "shrinks",
            with_totals(
                lambda maximum, total, other_maximum, other_total: (
                    total * (maximum - torch.maximum(maximum, other_maximum)).exp(),
                    other_total,
                )
            ),
            breaks=SUMMARY,
        ),
        Misconception(
            "measured from the other maximum",
            "both sums are measured from the other half's maximum, and the greater of the two is returned: sum and "
            "maximum do not belong together",
            with_totals(from_the_other),
            breaks=SUMMARY,
        ),
        Misconception(
            "measured from the other maximum, then put right",
            "both sums are measured from the other half's maximum and brought to the new one afterwards: if the other "
            "half is empty that is infinite; measure from the greater of the two at once",
            put_right_at_the_end,
            breaks=EMPTY,
        ),
        Misconception(
            "weighed by the maxima alone",
            "the outputs are weighed by the exponentials of the maxima alone, as though each half had one key: the "
            "sums belong in the weights",
            by_weight(
                lambda maximum, total, other_maximum, other_total: torch.stack([maximum, other_maximum], -1).softmax(
                    -1
                )[:, 0]
            ),
            breaks=OUTPUT,
        ),
        Misconception(
            "weighed by the maxima, divided by the sums",
            "the outputs are weighed by the exponentials of the maxima alone, and then divided by the sum of both: "
            "each was divided by its own sum before, which has to be multiplied in again",
            weighed_by_maxima,
            breaks=OUTPUT,
        ),
        Misconception(
            "by logarithms of the sums",
            "this goes by way of maximum + ln(sum): a number near 10,000 is rounded to a thousandth in float32, and "
            "exp makes an error of a thousandth of that; take the new maximum off first",
            by_logarithms,
            breaks=STABLE,
        ),
        Misconception(
            "outputs not divided",
            "the outputs are multiplied by their sums and never divided by the sum of both",
            by(lambda output, other_output, one, other: one * output + other * other_output),
            breaks=OUTPUT,
        ),
        Misconception(
            "outputs divided once more",
            "the outputs were averages already, divided by their own sums: multiply each by its sum again before both "
            "are added",
            by(lambda output, other_output, one, other: (output + other_output) / (one + other)),
            breaks=OUTPUT,
        ),
        Misconception(
            "weights exchanged",
            "each output is weighed by the sum of the other half",
            by(lambda output, other_output, one, other: (other * output + one * other_output) / (one + other)),
            breaks=OUTPUT,
        ),
        Misconception(
            "maxima added",
            "the maximum of both halves is the greater of the two maxima, not their sum",
            lambda **named: (named["maximum"] + named["other_maximum"], *merge_halves(**named)[1:]),
            breaks=SUMMARY,
        ),
        Misconception(
            "exponentials without a maximum",
            "this takes exponentials of the maxima as they are: at 10,000 they are infinite, at -10,000 they are 0; "
            "take the new maximum off first",
            bare,
            breaks=STABLE,
        ),
        Misconception(
            "axis missing",
            "sums of shape (batch,) meet outputs of shape (batch, d_value) at the wrong axis: `[:, None]` gives them "
            "one for the entries",
            without_an_axis,
            breaks=OUTPUT,
        ),
        Misconception(
            "output changed in place",
            "this multiplies the caller's own output in place; make a new one",
            lambda maximum, total, output, other_maximum, other_total, other_output: (
                (each := rescaled_totals(maximum, total, other_maximum, other_total))[0],
                each[1] + each[2],
                output.mul_(each[1][:, None]).add_(each[2][:, None] * other_output).div_((each[1] + each[2])[:, None]),
            ),
            breaks=SUMMARY,
        ),
    ),
)
