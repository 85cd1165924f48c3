"""06.3: what the heads add to the output, one by one."""

from collections.abc import Callable

import torch

from course_lib.exercises.chapter_06._heads import four_sizes
from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, inputs_unchanged, not_moved_by
from course_lib.grading.exercise import Case, Exercise, Property, Task


def contributions(vectors, output_weight):
    """Each head times its own block of columns, (heads, d_head, d_model)."""
    return vectors @ output_weight.mT.unflatten(0, (vectors.shape[1], -1))


def draw_outputs(generator: torch.Generator) -> Case:
    """Draw the outputs of the heads, and a weight, which in half of the cases is square."""
    batch, heads, time, d_head = four_sizes(generator)
    d_model = heads * d_head if torch.rand((), generator=generator) < 0.5 else sizes(generator, 5)[0]
    return {
        "vectors": normal(generator, batch, heads, time, d_head),
        "output_weight": normal(generator, d_model, heads * d_head),
    }


def other_head(head: int) -> Callable[[Case], Case]:
    """Return a change that gives one head another output."""

    def change(case: Case) -> Case:
        vectors = case["vectors"].clone()
        vectors[:, head] = 1 - vectors[:, head]
        return case | {"vectors": vectors}

    return change


def adds_up(case: Case):
    """The sum over the heads is the output."""
    reply = yield case
    return difference(case, reply.value.sum(1), reply.expected.sum(1), where="the sum over the heads")


MISTAKES = """
the sum => the contribution of each head
- return einsum(vectors, columns, "batch heads time d_head, heads d_head d -> batch heads time d")
+ return merge_heads(vectors) @ output_weight.T
this is the sum of all contributions, (batch, time, d_model); return that of each head

a running sum => no head has an influence on the contribution of another
+ return (vectors @ columns).cumsum(dim=1)
this adds up as it goes: head i gets the contributions of all heads before it too; return that of each head

equal parts of the sum => no head has an influence on the contribution of another
+ return (merge_heads(vectors) @ output_weight.T / heads)[:, None].repeat(1, heads, 1, 1)
this gives each head an equal part of the output: the sum is right, but the parts say nothing about what one head does

all of it for everyone => no head has an influence on the contribution of another
+ return (merge_heads(vectors) @ output_weight.T)[:, None].repeat(1, heads, 1, 1)
this gives each head the whole output; a head is multiplied by d_head columns of the weight and no others

averaged => the sum over the heads is the output of `to_output` without its bias
+ return vectors @ columns / heads
this divides by the number of heads: contributions add up, they are not averaged

weight not transposed => the contribution of each head
+ d_head = vectors.shape[-1]
+ rows = torch.stack([output_weight[head * d_head : (head + 1) * d_head] for head in range(heads)])
+ return vectors @ rows
this cuts the weight into blocks of *rows*; torch stores it (out, in), (d_model, heads * d_head), so a head is
multiplied by columns, and the product is with the transpose; where d_model equals heads * d_head there is no error

weight reshaped => the contribution of each head
- columns = rearrange(output_weight, "d_model (heads d_head) -> heads d_head d_model", heads=heads)
+ columns = output_weight.reshape(heads, -1, len(output_weight))
`reshape(heads, d_head, d_model)` has the right shape and the wrong numbers: it moves none; transpose first, or cut the
columns, `output_weight[:, i * d_head : (i + 1) * d_head]`

weight reshaped, then turned => the contribution of each head
+ columns = output_weight.reshape(heads, len(output_weight), -1).mT
`reshape(heads, d_model, d_head)` has the right shape and the wrong numbers: the rows of the weight run over all heads;
cut the last axis in two, (d_model, heads, d_head), then move the heads in front

columns in turn => the contribution of each head
+ columns = rearrange(output_weight, "d_model (d_head heads) -> heads d_head d_model", heads=heads)
this gives the columns to the heads in turn; merged heads stand side by side, so head i belongs to the i-th block of
d_head columns

the first columns for all => the sum over the heads is the output of `to_output` without its bias
- return einsum(vectors, columns, "batch heads time d_head, heads d_head d -> batch heads time d")
+ return vectors @ columns[0]
every head was multiplied by the same columns, the first ones; those of head i go from i * d_head to (i + 1) * d_head

heads behind the time => the contribution of each head
+ return einsum(vectors, columns, "batch heads time d_head, heads d_head d -> batch time heads d")
these are the right numbers as (batch, time, heads, d_model); the heads stand before the time

heads in front of the batch => the contribution of each head
+ return einsum(vectors, columns, "batch heads time d_head, heads d_head d -> heads batch time d")
these are the right numbers as (heads, batch, time, d_model); the batch is the first axis: `torch.stack(..., dim=1)`

merged by reshape => the contribution of each head
+ alone = torch.eye(heads)[:, None, :, None, None] * vectors  # (head that is left, batch, heads, time, d_head)
+ merged = alone.reshape(heads, len(vectors), vectors.shape[2], -1)
+ return (merged @ output_weight.T).transpose(0, 1)
all other heads were set to zero, which is right, and then the heads were merged by `reshape` alone, which mixes
positions: exchange heads and time first, as in 06.1

width of narrow heads => the contribution of each head
- columns = rearrange(output_weight, "d_model (heads d_head) -> heads d_head d_model", heads=heads)
- return einsum(vectors, columns, "batch heads time d_head, heads d_head d -> batch heads time d")
+ d_head = len(output_weight) // heads
+ columns = torch.stack([output_weight[:, head * d_head : (head + 1) * d_head].T for head in range(heads)])
+ return vectors @ columns
this takes d_model // heads for the width of a head, which holds for narrow heads alone; d_head is the last size of
`vectors`

heads set to zero for good => the contribution of each head
- return einsum(vectors, columns, "batch heads time d_head, heads d_head d -> batch heads time d")
+ terms = vectors @ columns
+ return terms * (torch.arange(heads) == 0)[:, None, None]
only the first head contributes here: where the others are set to zero to compute it, they stay zero unless each head
begins with a new copy
"""

EXERCISE = Exercise(
    title="A sum of heads",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="head_contributions",
            parameters=("vectors", "output_weight"),
            returns="the contribution of each head to the output, shape (batch, heads, time, d_model)",
            cases=draw_outputs,
            examples=(
                {
                    "vectors": torch.tensor([[[[2.0]], [[3.0]]]]),
                    "output_weight": torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 5.0]]),
                },
            ),
            edges=(
                {
                    "vectors": torch.tensor([[[[2.0]]], [[[3.0]]]]),
                    "output_weight": torch.tensor([[4.0]]),
                },  # one of everything
                {
                    "vectors": torch.tensor([[[[2.0]], [[-1.0]]]]),
                    "output_weight": torch.tensor([[4.0, 3.0]]),
                },  # one example, heads and output one wide
            ),
            reference=contributions,
            properties=(
                Property("the sum over the heads is the output of `to_output` without its bias", 2, adds_up),
                Property(
                    "no head has an influence on the contribution of another",
                    2,
                    both(
                        not_moved_by(other_head(-1), "other vectors in the last head", lambda answer: answer[:, :-1]),
                        not_moved_by(other_head(0), "other vectors in the first head", lambda answer: answer[:, 1:]),
                    ),
                ),
                Property("the contribution of each head", 2, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "A matrix times heads that stand side by side: which columns of the matrix multiply the numbers of head 1?",
        "Cut the columns of `output_weight` into blocks of d_head, one for each head, and multiply every head by "
        "its own. The sum over the heads must then be the merged vectors times the whole weight: compare.",
        "For head i, `vectors[:, i] @ output_weight[:, i * d_head : (i + 1) * d_head].T`, (batch, time, d_model); or "
        "all at once, with the weight as `d_model (heads d_head)` and one `einsum` in which `heads` stays.",
    ),
)
