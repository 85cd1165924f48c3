"""Exercises of chapter 00, shapes and the soft argmax."""

import math
from functools import partial

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_00_puzzles import PUZZLES
from course_lib.grading.declarations.drawing import normal, shares, sizes, uniform
from course_lib.grading.declarations.operators import SOFTMAX as EVERY_SOFTMAX
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, difference, equals, inputs_unchanged, not_moved_by, on, sums_to
from course_lib.grading.wording import describe_case

# ---------------------------------------------------------------- 00.2 a stable softmax


def softmax(scores, temperature):
    """Softmax of the scores at a temperature, by torch."""
    return torch.softmax(scores / temperature, dim=-1)


def draw_scores(generator: torch.Generator) -> Case:
    """Draw scores with one to three axes, and a temperature."""
    axes = int(torch.randint(1, 4, (), generator=generator))
    scores = normal(generator, *sizes(generator, *[4] * axes, least=2))
    return {"scores": scores, "temperature": uniform(generator, 0.3, 3.0)}


def far_from_zero(case: Case) -> Case:
    """Move the rows by 10,000, one up and the next down, which leaves the shares inside a row as they are.

    Whole scores and a temperature that is a power of two: a report can show them exactly, and they divide exactly, in
    whatever order it is done.
    """
    scores = case["scores"].round()
    rows = scores.view(-1, scores.shape[-1])
    rows[0::2] += 1e4
    rows[1::2] -= 1e4
    return {"scores": scores, "temperature": 2.0 ** round(math.log2(case["temperature"]))}


def softmax_in_place(scores, temperature):
    """Softmax that overwrites its scores."""
    scores -= scores.amax(-1, keepdim=True)
    scores /= temperature
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def softmax_by_overall_maximum(scores, temperature):
    """Softmax guarded by one maximum for all rows."""
    grown = ((scores - scores.max()) / temperature).exp()
    return grown / grown.sum(-1, keepdim=True)


def softmax_unguarded(scores, temperature):
    """Softmax without a guard against overflow."""
    grown = (scores / temperature).exp()
    return grown / grown.sum(-1, keepdim=True)


def softmax_with_axis_lost(scores, temperature, guarded, in_maximum, in_sum):
    """Softmax without `keepdim=True` in the maximum or in the sum."""
    maximum = scores.amax(-1, keepdim=not in_maximum) if guarded else 0
    grown = ((scores - maximum) / temperature).exp()
    return grown / grown.sum(-1, keepdim=not in_sum)


def softmax_over_first_axis(scores, temperature):
    """Softmax over the columns."""
    grown = ((scores - scores.amax(0)) / temperature).exp()
    return grown / grown.sum(0)


def softmax_at(temperature, scores):
    """Softmax at a temperature other than the one asked for."""
    return softmax_unguarded(scores - scores.amax(-1, keepdim=True), temperature)


SOFTMAX = Exercise(
    id="00.2",
    title="A stable softmax",
    difficulty=2,
    minutes=20,
    forbidden=EVERY_SOFTMAX,
    tasks=(
        Task(
            function="softmax",
            parameters=("scores", "temperature"),
            returns="the shares along the last axis, shape (..., n)",
            cases=draw_scores,
            examples=(
                {"scores": torch.tensor([0.0, 3.0]).log1p(), "temperature": 1.0},
                {"scores": torch.tensor([[0.0, 1.0], [3.0, 0.0]]), "temperature": 0.5},
            ),
            reference=softmax,
            properties=(
                Property("rows sum to one", 1, sums_to(1, softmax)),
                Property("shares follow exp(score / temperature)", 3, equals(softmax)),
                # Near 1e4 / 0.25 the last place of a logsumexp, one of the right ways, is worth 0.004.
                Property("scores of 10,000 stay finite", 2, on(far_from_zero, equals(softmax, tolerance=2e-3))),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "no guard against overflow",
                    "this is exp without taking the row's maximum off first: exp(10000) is infinite, exp(-10000) is 0",
                    softmax_unguarded,
                    breaks="scores of 10,000 stay finite",
                ),
                Misconception(
                    "one maximum for all rows",
                    "this takes the maximum of the whole tensor off: in a row far below it all exp are 0; 0 / 0 is nan",
                    softmax_by_overall_maximum,
                    breaks="scores of 10,000 stay finite",
                ),
                Misconception(
                    "first axis",
                    "this is a softmax over the first axis: the columns sum to one, not the rows",
                    softmax_over_first_axis,
                    breaks="rows sum to one",
                ),
                Misconception(
                    "multiplied by the temperature",
                    "this multiplies by the temperature: hot must come out flat, and here it comes out sharp",
                    lambda scores, temperature: softmax_at(1 / temperature, scores),
                    breaks="shares follow exp(score / temperature)",
                ),
                Misconception(
                    "temperature forgotten",
                    "this is the softmax at temperature 1: the temperature is missing, or it divides the exponentials, "
                    "above and below the line, and cancels; it divides the scores, before exp",
                    lambda scores, temperature: softmax_at(1.0, scores),
                    breaks="shares follow exp(score / temperature)",
                ),
                Misconception(
                    "temperature at the end",
                    "this divides the shares by the temperature: a row then sums to 1 / temperature; it divides the "
                    "scores, before exp",
                    lambda scores, temperature: softmax_at(1.0, scores) / temperature,
                    breaks="rows sum to one",
                ),
                *(
                    Misconception(
                        f"axis lost in the {where}",
                        f"the {where} of (..., n) along the last axis has one axis less, and is then not matched row "
                        "by row; `keepdim=True` leaves (..., 1), which belongs to its row",
                        partial(softmax_with_axis_lost, guarded=guarded, in_maximum=in_maximum, in_sum=in_sum),
                        breaks="shares follow exp(score / temperature)",
                    )
                    for where, guarded, in_maximum, in_sum in (
                        ("maximum", True, True, False),
                        ("sum", True, False, True),
                        ("maximum and the sum", True, True, True),
                        ("sum, without a guard", False, False, True),
                    )
                ),
                Misconception(
                    "scores overwritten",
                    "this subtracts and divides in place (`-=`, `/=`), and the caller's scores are gone",
                    softmax_in_place,
                    breaks="inputs unchanged",
                ),
            ),
        ),
    ),
    hints=(
        "Which numbers overflow? What can be added to all scores of a row without changing its shares?",
        "Divide by the temperature, take each row's own maximum off (keep the axis, so that it broadcasts), "
        "exponentiate, and divide by the row's sum.",
        "`shifted = (scores - scores.amax(dim=-1, keepdim=True)) / temperature`, then `shifted.exp()` over its sum "
        "along the last axis, again with `keepdim=True`.",
    ),
)

# ---------------------------------------------------------------- 00.3 the Jacobian of the softmax


def products(weights):
    """Every product p_i p_j."""
    return weights[..., :, None] * weights[..., None, :]


def softmax_jacobian(weights):
    """diag(p) minus p times its transpose."""
    return torch.diag_embed(weights) - products(weights)


def draw_weights(generator: torch.Generator) -> Case:
    """Draw shares with one to three axes."""
    axes = int(torch.randint(1, 4, (), generator=generator))
    return {"weights": shares(generator, *sizes(generator, *[4] * axes, least=2))}


EACH_BY_EACH = "the derivative of each weight by each score"
ONE_VECTOR_ONLY = (
    lambda weights: weights.diag() - weights.outer(weights),
    lambda weights: weights.diag() - products(weights),
    lambda weights: weights.diag() - weights[:, None] * weights[None],
    lambda weights: torch.diag_embed(weights) - weights[:, None] * weights[None],
)

JACOBIAN = Exercise(
    id="00.3",
    title="The Jacobian of the softmax",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="softmax_jacobian",
            parameters=("weights",),
            returns="the derivative of each weight by each score, shape (..., n, n)",
            cases=draw_weights,
            examples=({"weights": torch.tensor([0.25, 0.75])}, {"weights": torch.tensor([[0.5, 0.5], [0.2, 0.8]])}),
            reference=softmax_jacobian,
            properties=(
                Property("rows sum to zero", 1, sums_to(0, softmax_jacobian)),
                Property(EACH_BY_EACH, 3, both(equals(softmax_jacobian), inputs_unchanged)),
            ),
            misconceptions=(
                Misconception(
                    "only the diagonal",
                    "this has p (1 - p) on the diagonal and 0 elsewhere, as if one score moved only its own weight; "
                    "the others must give way",
                    lambda weights: torch.diag_embed(weights * (1 - weights)),
                    breaks="rows sum to zero",
                ),
                Misconception(
                    "a vector",
                    "this is p (1 - p), the derivative of a sigmoid: one number a weight, where each weight depends on "
                    "all n scores",
                    lambda weights: weights * (1 - weights),
                    breaks=EACH_BY_EACH,
                ),
                Misconception(
                    "sign turned",
                    "this is the negative: raising a score must raise its own weight",
                    lambda weights: -softmax_jacobian(weights),
                    breaks=EACH_BY_EACH,
                ),
                Misconception(
                    "no product",
                    "this is diag(p) alone: the term - p_i p_j, by which the weights compete, is missing",
                    lambda weights: torch.diag_embed(weights),
                    breaks="rows sum to zero",
                ),
                Misconception(
                    "added for subtracted",
                    "this adds the products p_i p_j; they are subtracted: what one weight gains, the others lose",
                    lambda weights: torch.diag_embed(weights) + products(weights),
                    breaks="rows sum to zero",
                ),
                *(
                    Misconception(
                        f"one vector only ({number})",
                        "this is right for one vector of n weights, as `torch.outer`, `torch.diag`, `.T` and "
                        "`[:, None]` are; any leading axes must work, (..., n): use `torch.diag_embed`, and new axes "
                        "counted from the end, `[..., :, None]`",
                        implementation,
                        breaks=EACH_BY_EACH,
                    )
                    for number, implementation in enumerate(ONE_VECTOR_ONLY, start=1)
                ),
                Misconception(
                    "identity for diag(p)",
                    "this has 1 on the diagonal before the product is taken off; p belongs there",
                    lambda weights: torch.eye(weights.shape[-1]) - products(weights),
                    breaks="rows sum to zero",
                ),
            ),
        ),
    ),
    hints=(
        "If one score rises, what happens to its own weight, and what to the others, so that they still sum to one?",
        "Build two tensors of shape (..., n, n): one with the weights on the diagonal, one with every product "
        "p_i p_j. Take the second from the first.",
        "`torch.diag_embed(weights)` is the first; for the second give the weights a new last axis and a new last but "
        "one axis, `weights[..., :, None] * weights[..., None, :]`.",
    ),
)

# ---------------------------------------------------------------- 00.4 masked mean


def masked_mean(values, mask):
    """Sum of what counts over how many count, zeros for none."""
    counts = mask[..., None].to(values.dtype)
    return (values * counts).sum(1) / counts.sum(1).clamp(min=1)


def draw_masked(generator: torch.Generator) -> Case:
    """Draw values and a mask with both True and False in every row."""
    batch, time, d = sizes(generator, 4, 5, 3, least=2)
    mask = torch.rand(batch, time, generator=generator) < 0.5
    mask[:, 0], mask[:, 1] = True, False  # so that in every row something counts and something does not
    return {"values": normal(generator, batch, time, d), "mask": mask}


def other_padding(case: Case) -> Case:
    """Add 100 to everything that is masked out."""
    return case | {"values": case["values"] + 100 * ~case["mask"][..., None]}


def nothing_in_row_0(case: Case) -> Case:
    """Mask the whole first row out."""
    return case | {"mask": case["mask"] & (torch.arange(len(case["mask"])) > 0)[:, None]}


def zeros_for_nothing(call: Call, case: Case) -> str | None:
    """Empty the first row and look at that row alone: the mean of the others is another property."""
    emptied = nothing_in_row_0(case)
    answer, expected = answer_like(masked_mean, call, emptied)
    found = difference(answer[0], expected[0])
    return f"{describe_case(emptied)}: for row 0, in which nothing counts, {found}" if found else None


def masked_mean_in_place(values, mask):
    """Masked mean that overwrites its values."""
    values[~mask] = 0
    return values.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


MASKED_MEAN = Exercise(
    id="00.4",
    title="A masked mean",
    difficulty=2,
    minutes=15,
    tasks=(
        Task(
            function="masked_mean",
            parameters=("values", "mask"),
            returns="the mean over the times that count, shape (batch, d)",
            cases=draw_masked,
            examples=(
                {"values": torch.tensor([[[2.0], [4.0], [9.0]]]), "mask": torch.tensor([[True, True, False]])},
                {
                    "values": torch.tensor([[[1.0], [5.0]], [[3.0], [8.0]]]),
                    "mask": torch.tensor([[True, False], [False, True]]),
                },
            ),
            reference=masked_mean,
            properties=(
                Property("the mean of what counts", 3, equals(masked_mean)),
                Property(
                    "what is masked out has no influence",
                    2,
                    not_moved_by(other_padding, "100 added where mask is False", masked_mean, lambda answer: answer),
                ),
                Property("a row with nothing to count gives zeros", 2, zeros_for_nothing),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "divided by the length",
                    "this divides by the whole length, padding included; divide by how many count",
                    lambda values, mask: (values * mask[..., None]).mean(1),
                    breaks="the mean of what counts",
                ),
                Misconception(
                    "mask ignored",
                    "this is the plain mean over time: the mask was not used",
                    lambda values, mask: values.mean(1),
                    breaks="what is masked out has no influence",
                ),
                Misconception(
                    "mask turned round",
                    "this is the mean of what is masked out: True means that a value counts",
                    lambda values, mask: masked_mean(values, ~mask),
                    breaks="what is masked out has no influence",
                ),
                Misconception(
                    "zero divided by zero",
                    "this divides by the count even where it is 0, and 0 / 0 is nan",
                    lambda values, mask: (values * mask[..., None]).sum(1) / mask.sum(1, keepdim=True),
                    breaks="a row with nothing to count gives zeros",
                ),
                Misconception(
                    "values overwritten",
                    "this writes zeros into the caller's own tensor (`values[~mask] = 0`)",
                    masked_mean_in_place,
                    breaks="inputs unchanged",
                ),
            ),
        ),
    ),
    hints=(
        "A mean is a sum divided by a count. Which of the two does the mask change? Both.",
        "Give the mask a last axis so that it broadcasts over d, multiply, sum over time, and divide by the number of "
        "True in each row. What should the divisor be when that number is 0?",
        "`counts = mask.sum(dim=1, keepdim=True).clamp(min=1)`: with nothing to count, 0 / 1 gives the zeros wanted.",
    ),
)

EXERCISES = (PUZZLES, SOFTMAX, JACOBIAN, MASKED_MEAN)
