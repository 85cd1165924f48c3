"""Exercise 13.1, online softmax: a running maximum and a running sum, and two halves that are put together."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_13_halves import MERGE
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import Judge, both, difference, equals, inputs_unchanged, of_output, on
from course_lib.grading.wording import describe_case

NEVER = -torch.inf


def newly(maximum, scores):
    """The greatest of all so far."""
    return torch.maximum(maximum, scores.amax(-1))


def above(scores, maximum):
    """The sum of the exponentials of scores, each less the maximum of its row."""
    return (scores - maximum[:, None]).exp().sum(-1)


def by(
    kept: Callable[..., torch.Tensor],
    added: Callable[..., torch.Tensor],
    greatest: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = newly,
) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """Return the answer kept(total, maximum, new) + added(scores, maximum, new)."""

    def answer(maximum, total, scores):
        new = greatest(maximum, scores)
        return new, kept(total, maximum, new) + added(scores, maximum, new)

    return answer


def rescaled(total, maximum, new):
    """The sum as it is, measured from the new maximum."""
    return total * (maximum - new).exp()


def from_the_new(scores, maximum, new):
    """The piece measured from the new maximum."""
    return above(scores, new)


add_piece = by(rescaled, from_the_new)


def then(change: Callable) -> Callable:
    """Return the right answer of which change(maximum, total) makes something else."""
    return lambda **named: change(*add_piece(**named))


# ---------------------------------------------------------------- cases


def draw_piece(generator: torch.Generator) -> Case:
    """Draw a piece of scores, some of them hidden, for rows of which some have seen nothing yet."""
    batch, piece, before = sizes(generator, 4, 5, 4)
    seen, scores = 2 * normal(generator, batch, before), 2 * normal(generator, batch, piece)
    scores[torch.rand(batch, piece, generator=generator) < 0.2] = NEVER
    scores[:, 0] = torch.where(scores.amax(-1) == NEVER, 0.5, scores[:, 0])
    maximum = seen.amax(-1)
    total, fresh = above(seen, maximum), torch.rand(batch, generator=generator) < 0.3
    return {"maximum": maximum.where(~fresh, NEVER), "total": total.where(~fresh, 0.0), "scores": scores}


def moved_by(steps: float) -> Callable[[Case], Case]:
    """Return the change that moves all scores, those that were seen too."""
    return lambda case: case | {name: _steps(case[name]) + steps for name in ("maximum", "scores")}


def _steps(scores: torch.Tensor) -> torch.Tensor:
    return (16 * scores).round() / 16  # exact, also ten thousand away


def hidden_piece(case: Case) -> Case:
    """Hide the whole piece, from rows that have seen something."""
    maximum = case["maximum"].where(case["maximum"] != NEVER, 0.25)
    total = case["total"].where(case["total"] != 0, 1.0)
    return {"maximum": maximum, "total": total, "scores": torch.full_like(case["scores"], NEVER)}


def piece_by_piece(call: Call, case: Case) -> str | None:
    """Each column of the scores as a piece of its own, after what was seen: the same as all at once."""
    expected, asked = call.expected(add_piece, case), case
    if (case["scores"][:, 0] == NEVER).any():
        return None  # a row that has seen nothing may have no maximum after the first column
    for column in case["scores"].split(1, dim=1):
        asked = asked | {"scores": column}
        if found := BOTH(call, asked):
            return found
        asked = asked | dict(zip(("maximum", "total"), call(asked), strict=True))
    for name, due in zip(("maximum", "total"), expected, strict=True):
        if found := difference(asked[name], due):
            return f"{describe_case(case)}, one score after the other: {name} {found}"
    return None


MAXIMUM = "the maximum is the greatest score so far"
TOTAL = "the sum is measured from the new maximum"
STABLE = "scores around 10,000, and around -10,000"
HIDDEN = "a piece that is hidden as a whole changes nothing"
CHAIN = "one score after the other gives what all at once give"

BOTH: Judge = both(of_output(0, equals(add_piece)), of_output(1, equals(add_piece)))

PIECE = Task(
    function="add_piece",
    parameters=("maximum", "total", "scores"),
    returns="the maximum and the sum of all scores so far, both of shape (batch,)",
    outputs=("maximum", "total"),
    cases=draw_piece,
    examples=(
        {
            "maximum": torch.tensor([1.3863]),
            "total": torch.tensor([1.25]),
            "scores": torch.tensor([[2.0794, 0.6931]]),
        },
        {
            "maximum": torch.tensor([NEVER, 3.0]),
            "total": torch.tensor([0.0, 2.0]),
            "scores": torch.tensor([[0.6931, 0.0], [NEVER, 3.0]]),
        },
    ),
    reference=add_piece,
    properties=(
        Property(MAXIMUM, 1, both(of_output(0, equals(add_piece)), inputs_unchanged)),
        Property(TOTAL, 1, of_output(1, equals(add_piece))),
        Property(STABLE, 1, both(on(moved_by(1e4), BOTH), on(moved_by(-1e4), BOTH))),
        Property(HIDDEN, 1, on(hidden_piece, BOTH)),
        Property(CHAIN, 1, piece_by_piece),
    ),
    misconceptions=(
        Misconception(
            "sum not rescaled",
            "the old sum was measured from the old maximum and is added as it is; multiply it by exp(old maximum - new "
            "maximum) first",
            by(lambda total, maximum, new: total, from_the_new),
            breaks=TOTAL,
        ),
        Misconception(
            "rescaled the wrong way round",
            "this multiplies the old sum by exp(new maximum - old maximum); the maximum has grown, so the sum measured "
            "from it shrinks: exp(old - new), never above 1",
            by(lambda total, maximum, new: total * (new - maximum).exp(), from_the_new),
            breaks=TOTAL,
        ),
        Misconception(
            "piece measured from its own maximum",
            "the exponentials of the piece are measured from the maximum of the piece alone; where the old maximum was "
            "greater they come out too large: measure them from the new maximum",
            by(rescaled, lambda scores, maximum, new: above(scores, scores.amax(-1))),
            breaks=TOTAL,
        ),
        Misconception(
            "piece measured from its own maximum, then put right",
            "this measures the piece from its own maximum and rescales afterwards; where all of the piece is hidden "
            "that is -inf less -inf, which is nan: take the new maximum off at once",
            by(
                rescaled,
                lambda scores, maximum, new: above(scores, scores.amax(-1)) * (scores.amax(-1) - new).exp(),
            ),
            breaks=HIDDEN,
        ),
        Misconception(
            "piece measured from the old maximum",
            "the exponentials of the piece are measured from the old maximum, which knows nothing of the piece: they "
            "can be of any size, and infinite where nothing was seen before",
            by(rescaled, lambda scores, maximum, new: above(scores, maximum)),
            breaks=TOTAL,
        ),
        Misconception(
            "piece alone",
            "this is the maximum and the sum of the piece alone; what was seen before belongs to both",
            by(
                lambda total, maximum, new: torch.zeros_like(total),
                from_the_new,
                lambda maximum, scores: scores.amax(-1),
            ),
            breaks=CHAIN,
        ),
        Misconception(
            "maximum of the piece",
            "the new maximum is that of the piece alone; where the old one was greater it has to stay",
            by(rescaled, from_the_new, lambda maximum, scores: scores.amax(-1)),
            breaks=MAXIMUM,
        ),
        Misconception(
            "old maximum kept",
            "the maximum stays at what it was before the piece; it grows where the piece has a greater score",
            by(rescaled, from_the_new, lambda maximum, scores: maximum),
            breaks=MAXIMUM,
        ),
        Misconception(
            "one maximum for all rows",
            "this takes one maximum for all rows of the batch: each row has its own (`amax(-1)`)",
            by(
                rescaled,
                from_the_new,
                lambda maximum, scores: torch.maximum(maximum, scores.amax()).amax().expand_as(maximum),
            ),
            breaks=MAXIMUM,
        ),
        Misconception(
            "one maximum for the whole piece",
            "this takes the greatest score of the piece for all rows (`scores.max()`): each row has its own, "
            "`scores.amax(dim=-1)`",
            by(rescaled, from_the_new, lambda maximum, scores: torch.maximum(maximum, scores.amax())),
            breaks=MAXIMUM,
        ),
        Misconception(
            "maximum along the batch",
            "this takes the maximum along the batch, `amax(0)`; the scores of one row stand along the last axis",
            by(rescaled, from_the_new, lambda maximum, scores: torch.maximum(maximum, scores.amax(0))),
            breaks=MAXIMUM,
        ),
        Misconception(
            "exponentials without a maximum",
            "this takes exponentials of the scores as they are and divides afterwards: at 10,000 they are infinite, at "
            "-10,000 all are 0; take the maximum off before exp",
            by(
                lambda total, maximum, new: total * maximum.exp() / new.exp(),
                lambda scores, maximum, new: scores.exp().sum(-1) / new.exp(),
            ),
            breaks=STABLE,
        ),
        Misconception(
            "exponentials of the scores",
            "the sum is to hold exp(score - maximum), not exp(score): the old one holds the first",
            by(lambda total, maximum, new: total, lambda scores, maximum, new: scores.exp().sum(-1)),
            breaks=TOTAL,
        ),
        Misconception(
            "logarithm of the sum",
            "this returns maximum + ln(sum) in place of the sum; asked is the sum of exp(score - maximum)",
            then(lambda maximum, total: (maximum, maximum + total.log())),
            breaks=TOTAL,
        ),
        Misconception(
            "by the logarithm of the sum",
            "this goes by way of `logsumexp` of the scores as they are: a number near 10,000 is rounded to a "
            "thousandth in float32, and exp makes an error of a thousandth of that; take the new maximum off first",
            lambda maximum, total, scores: (
                (new := newly(maximum, scores)),
                (torch.cat([(maximum + total.log())[:, None], scores], 1).logsumexp(1) - new).exp(),
            ),
            breaks=STABLE,
        ),
        Misconception(
            "mean of the piece",
            "the exponentials of the piece are averaged; the denominator of a softmax is their sum",
            by(rescaled, lambda scores, maximum, new: above(scores, new) / scores.shape[-1]),
            breaks=TOTAL,
        ),
        Misconception(
            "the two exchanged",
            "this returns (sum, maximum); the maximum comes first",
            then(lambda maximum, total: (total, maximum)),
            breaks=MAXIMUM,
        ),
        Misconception(
            "sum changed in place",
            "`total *= ...` changes the caller's own sum; `total * ...` makes a new one",
            lambda maximum, total, scores: (
                (new := newly(maximum, scores)),
                total.mul_((maximum - new).exp()).add_(above(scores, new)),
            ),
            breaks=MAXIMUM,
        ),
        Misconception(
            "maximum and sum changed in place",
            "both answers are right, and the caller's own maximum and sum were changed on the way; make new tensors",
            lambda maximum, total, scores: (
                (answer := add_piece(maximum, total, scores)),
                maximum.copy_(answer[0]),
                total.copy_(answer[1]),
            )[1:],
            breaks=MAXIMUM,
        ),
        Misconception(
            "scores changed in place",
            "`scores -= ...` changes the caller's own scores; `scores - ...` makes new ones",
            lambda maximum, total, scores: (
                (new := newly(maximum, scores)),
                rescaled(total, maximum, new) + scores.sub_(new[:, None]).exp().sum(-1),
            ),
            breaks=MAXIMUM,
        ),
    ),
)

ONLINE = Exercise(
    id="13.1",
    title="Online softmax",
    difficulty=2,
    minutes=30,
    tasks=(PIECE, MERGE),
    hints=(
        "The sum holds exponentials measured from a maximum. If the maximum grows, what has to be done to a sum that "
        "was measured from the old one, so that nothing has to be read again?",
        "First the new maximum. Then the old sum times the exponential of old maximum minus new maximum (a factor of "
        "at most 1; 0 where nothing was seen), then the exponentials of the piece, measured from the new one. Two "
        "halves: rescale both sums so, and let each half weigh by its rescaled sum.",
        "`torch.maximum(maximum, scores.amax(dim=-1))` is the new maximum, and `scores - new[:, None]` what goes into "
        "exp. For halves, "
        "`total * torch.exp(maximum - new)` is how much the first weighs, and the other alike; both are divided by "
        "their sum, and `[:, None]` gives them an axis for the entries of the values.",
    ),
)
