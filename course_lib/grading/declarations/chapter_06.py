"""Exercises of chapter 06, many heads."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_06_groups import GROUPED
from course_lib.grading.declarations.chapter_06_multi_head import MULTI_HEAD
from course_lib.grading.declarations.chapter_06_parameters import PARAMETERS
from course_lib.grading.declarations.chapter_06_split import SPLIT_AND_MERGE, four_sizes, merge, merge_by_view
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, difference, equals, inputs_unchanged, not_moved_by
from course_lib.grading.wording import describe_case

# ---------------------------------------------------------------- 06.3 a sum of heads


def columns(output_weight, heads):
    """The stretch of columns that each head meets, (heads, d_head, d_model)."""
    return output_weight.mT.unflatten(0, (heads, -1))


def by_columns(columns: Callable) -> Callable:
    """Return contributions in which head i is multiplied by columns(output_weight, heads)[i]."""
    return lambda vectors, output_weight: vectors @ columns(output_weight, vectors.shape[1])


contributions = by_columns(columns)


def of_all_heads(vectors, output_weight):
    """The output without its bias, (batch, time, d_model)."""
    return merge(vectors) @ output_weight.mT


def rows_cut(output_weight, heads):
    """Stretches of rows of the weight as it is stored, which have the width of what comes in."""
    d_head = output_weight.shape[1] // heads
    return torch.stack([output_weight[i * d_head : (i + 1) * d_head] for i in range(heads)])


def reshaped(output_weight, heads):
    """The numbers of the weight in another shape."""
    return output_weight.reshape(heads, -1, len(output_weight))


def reshaped_and_turned(output_weight, heads):
    """The numbers of the weight in another shape, the last two axes exchanged."""
    return output_weight.reshape(heads, len(output_weight), -1).mT


def columns_in_turn(output_weight, heads):
    """Columns dealt out to the heads in turn."""
    return output_weight.unflatten(1, (-1, heads)).permute(2, 1, 0)


def first_columns(output_weight, heads):
    """The first columns for every head."""
    return columns(output_weight, heads)[:1]


def all_but_one_zero(vectors, output_weight, merge):
    """Every head by itself: all others set to zero, merged, multiplied."""
    found = []
    for head in range(vectors.shape[1]):
        alone = torch.zeros_like(vectors)
        alone[:, head] = vectors[:, head]
        found.append(merge(alone) @ output_weight.mT)
    return torch.stack(found, 1)


def draw_found(generator: torch.Generator) -> Case:
    """Draw what the heads found, and a weight, which in half of the cases is square."""
    batch, heads, time, d_head = four_sizes(generator)
    d_model = heads * d_head if torch.rand((), generator=generator) < 0.5 else sizes(generator, 5)[0]
    return {
        "vectors": normal(generator, batch, heads, time, d_head),
        "output_weight": normal(generator, d_model, heads * d_head),
    }


def other_head(head: int) -> Callable[[Case], Case]:
    """Return a change that lets one head find something else."""

    def change(case: Case) -> Case:
        vectors = case["vectors"].clone()
        vectors[:, head] = 1 - vectors[:, head]
        return case | {"vectors": vectors}

    return change


def adds_up(call: Call, case: Case) -> str | None:
    """The sum over the heads is the output."""
    answer, expected = answer_like(contributions, call, case)
    found = difference(answer.sum(1), expected.sum(1))
    return f"{describe_case(case)}, summed over the heads: {found}" if found else None


ADDS_UP = "the sum over the heads is the output of `to_output` without its bias"
ALONE = "no head has a part in the contribution of another"
EACH = "the contribution of each head"

SUM_OF_HEADS = Exercise(
    id="06.3",
    title="A sum of heads",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="head_contributions",
            parameters=("vectors", "output_weight"),
            returns="what each head adds to the output, shape (batch, heads, time, d_model)",
            cases=draw_found,
            examples=(
                {
                    "vectors": torch.tensor([[[[2.0]], [[3.0]]]]),
                    "output_weight": torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 5.0]]),
                },
            ),
            reference=contributions,
            properties=(
                Property(ADDS_UP, 2, adds_up),
                Property(
                    ALONE,
                    2,
                    both(
                        not_moved_by(
                            other_head(-1), "other vectors in the last head", contributions, lambda found: found[:, :-1]
                        ),
                        not_moved_by(
                            other_head(0), "other vectors in the first head", contributions, lambda found: found[:, 1:]
                        ),
                    ),
                ),
                Property(EACH, 2, both(equals(contributions), inputs_unchanged)),
            ),
            misconceptions=(
                Misconception(
                    "the sum",
                    "this is the sum of all contributions, (batch, time, d_model); asked for is each head's own",
                    of_all_heads,
                    breaks=EACH,
                ),
                Misconception(
                    "a running sum",
                    "this adds up as it goes: head i is given the contributions of all heads before it too; asked for "
                    "is each head's own",
                    lambda vectors, output_weight: contributions(vectors, output_weight).cumsum(1),
                    breaks=ALONE,
                ),
                Misconception(
                    "equal parts of the sum",
                    "this gives each head an equal part of the output: it sums to the right thing, and says nothing "
                    "about what one head does",
                    lambda vectors, output_weight: (
                        of_all_heads(vectors, output_weight)[:, None] / vectors.shape[1]
                    ).repeat(1, vectors.shape[1], 1, 1),
                    breaks=ALONE,
                ),
                Misconception(
                    "all of it for everyone",
                    "this gives each head the whole output; a head meets d_head columns of the weight and no others",
                    lambda vectors, output_weight: of_all_heads(vectors, output_weight)[:, None].repeat(
                        1, vectors.shape[1], 1, 1
                    ),
                    breaks=ALONE,
                ),
                Misconception(
                    "averaged",
                    "this divides by the number of heads: contributions add up, they are not averaged",
                    lambda vectors, output_weight: contributions(vectors, output_weight) / vectors.shape[1],
                    breaks=ADDS_UP,
                ),
                Misconception(
                    "weight not transposed",
                    "this cuts the weight into stretches of *rows*; torch stores it (out, in), (d_model, heads * "
                    "d_head), so that what a head meets are columns, and the product is with the transpose; where "
                    "d_model equals heads * d_head nobody complains",
                    by_columns(rows_cut),
                    breaks=EACH,
                ),
                Misconception(
                    "weight reshaped",
                    "`reshape(heads, d_head, d_model)` has the right shape and the wrong numbers: it moves none; "
                    "transpose first, or cut the columns, `output_weight[:, i * d_head : (i + 1) * d_head]`",
                    by_columns(reshaped),
                    breaks=EACH,
                ),
                Misconception(
                    "weight reshaped, then turned",
                    "`reshape(heads, d_model, d_head)` has the right shape and the wrong numbers: the rows of the "
                    "weight run over all heads; cut the last axis in two, (d_model, heads, d_head), then move the "
                    "heads in front",
                    by_columns(reshaped_and_turned),
                    breaks=EACH,
                ),
                Misconception(
                    "columns in turn",
                    "this deals the columns out to the heads in turn; merged heads stand side by side, so head i meets "
                    "the i-th stretch of d_head columns",
                    by_columns(columns_in_turn),
                    breaks=EACH,
                ),
                Misconception(
                    "the first columns for all",
                    "every head was multiplied by the same columns, the first ones; head i meets those from i * d_head "
                    "to (i + 1) * d_head",
                    by_columns(first_columns),
                    breaks=ADDS_UP,
                ),
                Misconception(
                    "heads behind the time",
                    "these are the right numbers as (batch, time, heads, d_model); the heads stand before the time",
                    lambda vectors, output_weight: contributions(vectors, output_weight).transpose(1, 2),
                    breaks=EACH,
                ),
                Misconception(
                    "heads in front of the batch",
                    "these are the right numbers as (heads, batch, time, d_model); the batch is the first axis: "
                    "`torch.stack(..., dim=1)`",
                    lambda vectors, output_weight: contributions(vectors, output_weight).transpose(0, 1),
                    breaks=EACH,
                ),
                Misconception(
                    "merged by reshape",
                    "each head was left alone with zeros, which is right, and then merged by `reshape` alone, which "
                    "mixes times: exchange heads and time first, as in 06.1",
                    lambda vectors, output_weight: all_but_one_zero(vectors, output_weight, merge_by_view),
                    breaks=EACH,
                ),
            ),
        ),
    ),
    hints=(
        "A matrix times heads that stand side by side: which columns of the matrix ever meet the numbers of head 1?",
        "Cut the columns of `output_weight` into stretches of d_head, one for each head, and multiply every head by "
        "its own. The sum over the heads must then be the merged vectors times the whole weight: compare.",
        "For head i, `vectors[:, i] @ output_weight[:, i * d_head : (i + 1) * d_head].T`, (batch, time, d_model); or "
        "all at once, with the weight as `d_model (heads d_head)` and one `einsum` in which `heads` stays.",
    ),
)

EXERCISES = (SPLIT_AND_MERGE, MULTI_HEAD, SUM_OF_HEADS, PARAMETERS, GROUPED)
