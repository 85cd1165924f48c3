"""06.1: vectors cut into heads, and heads joined again."""

import torch

from course_lib.exercises.chapter_06._heads import four_sizes, merge, split
from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, not_moved_by
from course_lib.grading.exercise import Case, Exercise, Property, Task


def counting(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Count through a tensor from a random start: every number shows where it came from."""
    (start,) = sizes(generator, 9)
    return torch.arange(start, start + torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw vectors that can be cut into heads."""
    batch, heads, time, d_head = four_sizes(generator)
    return {"vectors": counting(generator, batch, time, heads * d_head), "heads": heads}


def draw_heads(generator: torch.Generator) -> Case:
    """Draw the outputs of the heads."""
    return {"vectors": counting(generator, *four_sizes(generator))}


def other_last_position(case: Case) -> Case:
    """Put other numbers at the last position: the positions are the last but one axis of both exercises."""
    vectors = case["vectors"].clone()
    vectors[..., -1, :] = -1 - vectors[..., -1, :]
    return case | {"vectors": vectors}


POSITION = "the vector at one position has no influence on another"
LAST = "other numbers at the last position"
VALUES = both(both(equals(), inputs_unchanged), gradients_equal())

SPLIT_MISTAKES = """
view => the vector at one position has no influence on another
- return rearrange(vectors, "batch time (heads d_head) -> batch heads time d_head", heads=heads)
+ batch, time, width = vectors.shape
+ return vectors.reshape(batch, heads, time, width // heads)
`view(batch, heads, time, d_head)` has the right shape and the wrong numbers: it moves none, it cuts the row of all
numbers elsewhere, so that the first head gets whole vectors of the first positions and the last head those of the last;
cut the last axis in two, `view(batch, time, heads, d_head)`, then exchange heads and time

heads as the fast axis => head i has the i-th d_head numbers of every vector
+ return rearrange(vectors, "batch time (d_head heads) -> batch heads time d_head", heads=heads)
this gives the numbers to the heads in turn, the first to the first head, the second to the second, as "(d_head heads)"
says; a head has adjacent numbers, "(heads d_head)": the axis of the heads stands in front

axis not moved => head i has the i-th d_head numbers of every vector
+ return rearrange(vectors, "batch time (heads d_head) -> batch time heads d_head", heads=heads)
this is (batch, time, heads, d_head), cut right and left there: heads and time are still to be exchanged,
`transpose(1, 2)`

heads for width => head i has the i-th d_head numbers of every vector
+ return rearrange(vectors, "batch time (heads d_head) -> batch heads time d_head", d_head=heads)
this makes d_head heads of the width `heads`, the two numbers exchanged; so does `torch.split(vectors, heads, -1)`,
whose number is the *width* of a part (`torch.chunk` takes how many)

heads in front of the batch => head i has the i-th d_head numbers of every vector
+ return rearrange(vectors, "batch time (heads d_head) -> heads batch time d_head", heads=heads)
this is (heads, batch, time, d_head); the batch is the first axis, the heads the second: `torch.stack(..., dim=1)`

time and width exchanged => head i has the i-th d_head numbers of every vector
+ return rearrange(vectors, "batch time (heads d_head) -> batch heads d_head time", heads=heads)
this is (batch, heads, d_head, time): the last two axes are the wrong way round

time and width exchanged, then view => the vector at one position has no influence on another
+ batch, time, width = vectors.shape
+ return vectors.mT.reshape(batch, heads, time, width // heads)
this exchanges time and width first and then cuts by `view` or `reshape`: every head has its own numbers, but those of
different positions are mixed

the sequence cut => head i has the i-th d_head numbers of every vector
+ return vectors.unflatten(1, (heads, -1))
this cuts the *time* into parts, as if each head read other words: every head reads the whole sequence, and of each
vector a part; it is the last axis that is cut

everything to everybody => head i has the i-th d_head numbers of every vector
+ return vectors[:, None].repeat(1, heads, 1, 1)
this gives each head the whole vector: in `vectors` the heads stand side by side already, and each has d_head numbers of
its own

no way back => head i has the i-th d_head numbers of every vector
+ return rearrange(vectors.detach(), "batch time (heads d_head) -> batch heads time d_head", heads=heads)
the numbers are right, but no gradient flows back through them: somewhere the graph is cut, as by `.detach()`, `.data`,
`torch.tensor(...)` or numpy

heads in front of the batch, then reshape => head i has the i-th d_head numbers of every vector
- return rearrange(vectors, "batch time (heads d_head) -> batch heads time d_head", heads=heads)
+ pieces = torch.cat(vectors.chunk(heads, dim=2))
+ return pieces.reshape(len(vectors), heads, vectors.shape[1], -1)
this puts the heads one behind the other along the batch and then reshapes, so that examples and heads are mixed;
`torch.stack(..., dim=1)` puts the heads behind the batch

every axis of length 1 dropped => head i has the i-th d_head numbers of every vector
+ return rearrange(vectors, "batch time (heads d_head) -> batch heads time d_head", heads=heads).squeeze()
`squeeze()` without an axis removes every axis of length 1, also the batch, the heads or the time; the answer always has
four axes
"""

MERGE_MISTAKES = """
reshape alone => the vector at one position has no influence on another
- return rearrange(vectors, "batch heads time d_head -> batch time (heads d_head)")
+ batch, heads, time, d_head = vectors.shape
+ return vectors.reshape(batch, time, heads * d_head)
`reshape(batch, time, heads * d_head)` has the right shape and the wrong numbers: the heads are still in front of the
time, so that one vector is filled with one head's numbers at several positions; exchange heads and time
first, `transpose(1, 2)`

view behind transpose => the heads stand side by side, the first head first
+ return vectors.transpose(1, 2).view(vectors.shape[0], vectors.shape[2], -1)
after `transpose` the numbers are in memory as before, and `view` cannot join axes that are not adjacent there;
`reshape` copies where it must, and so does `.contiguous()` before `view`

heads as the fast axis => the heads stand side by side, the first head first
+ return rearrange(vectors, "batch heads time d_head -> batch time (d_head heads)")
this takes one number from each head in turn, (batch, time, d_head, heads) joined; the heads are to stand side by side,
(batch, time, heads, d_head) joined

one behind the other => the heads stand side by side, the first head first
+ return vectors.flatten(1, 2)
this puts the heads one behind the other along time, (batch, heads * time, d_head); they are to stand side by side along
the last axis

time and heads joined => the heads stand side by side, the first head first
+ return vectors.transpose(1, 2).flatten(1, 2)
this exchanges heads and time, which is right, and then joins these two; the axes to join are the last two, `flatten(2)`

time and width joined => the heads stand side by side, the first head first
+ return vectors.flatten(2)
this joins time and width, (batch, heads, time * d_head); it is the heads that stand side by side, so exchange heads and
time first

not merged => the heads stand side by side, the first head first
+ return vectors.transpose(1, 2)
the heads are in the right position and still an axis of their own, (batch, time, heads, d_head); join the last two
axes: `flatten(2)` or `reshape`

every axis of length 1 dropped => the heads stand side by side, the first head first
+ return vectors.transpose(1, 2).flatten(2).squeeze()
`squeeze()` without an axis removes every axis of length 1, also the batch or the time; the answer always has three axes

summed => the heads stand side by side, the first head first
+ return vectors.sum(dim=1)
this adds the heads up, and d_head numbers are left; side by side they keep all of them

averaged => the heads stand side by side, the first head first
+ return vectors.mean(dim=1)
this averages the heads, and d_head numbers are left; side by side they keep all of them

the batch joined => the heads stand side by side, the first head first
+ return torch.cat(tuple(vectors), dim=-1)
this joins the examples of the batch: `torch.cat(tuple(vectors), -1)` takes a tensor apart along its first axis; the
heads are axis 1, `vectors.unbind(1)`

no way back => the heads stand side by side, the first head first
+ return rearrange(vectors.detach(), "batch heads time d_head -> batch time (heads d_head)")
the numbers are right, but no gradient flows back through them: somewhere the graph is cut, as by `.detach()`, `.data`,
`torch.tensor(...)` or numpy

every axis of length 1 dropped from each head => the heads stand side by side, the first head first
- return rearrange(vectors, "batch heads time d_head -> batch time (heads d_head)")
+ return torch.cat([head.squeeze() for head in vectors.split(1, dim=1)], dim=-1)
`squeeze()` without an axis removes every axis of length 1, also the batch, the time or the width; `squeeze(1)` removes
that of the head alone

time in front of the batch => the heads stand side by side, the first head first
+ batch, heads, time, d_head = vectors.shape
+ return vectors.permute(2, 0, 1, 3).reshape(batch, time, heads * d_head)
this puts the time in front of the batch and then reshapes, so that examples and positions are mixed; the batch stays
the first axis: `permute(0, 2, 1, 3)`

heads and width exchanged => the vector at one position has no influence on another
- return rearrange(vectors, "batch heads time d_head -> batch time (heads d_head)")
+ return vectors.transpose(1, 3).reshape(len(vectors), vectors.shape[2], -1)
this exchanges heads and width, `transpose(1, 3)`; exchange heads and time, `transpose(1, 2)`, so that the heads stand
directly before the width when the two are joined
"""

EXERCISE = Exercise(
    title="Split and merge",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="split_heads",
            parameters=("vectors", "heads"),
            returns="the vectors of each head, shape (batch, heads, time, d_head)",
            cases=draw_vectors,
            examples=({"vectors": torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]), "heads": 2},),
            edges=(
                {"vectors": torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]), "heads": 1},  # one head, one position
                {"vectors": torch.tensor([[[1.0, 2.0]]]), "heads": 2},  # heads one wide
            ),
            reference=split,
            properties=(
                Property(POSITION, 1, not_moved_by(other_last_position, LAST, lambda heads: heads[:, :, :-1])),
                Property("head i has the i-th d_head numbers of every vector", 2, VALUES),
            ),
            mistakes=SPLIT_MISTAKES,
        ),
        Task(
            function="merge_heads",
            parameters=("vectors",),
            returns="the heads side by side, shape (batch, time, heads * d_head)",
            cases=draw_heads,
            examples=(
                {"vectors": torch.tensor([[[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]])},
                {"vectors": torch.tensor([[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]])},
            ),
            edges=(
                {"vectors": torch.tensor([[[[1.0]]], [[[2.0]]]])},  # one head, one position, one wide
                {"vectors": torch.tensor([[[[1.0]], [[2.0]]]])},  # heads one wide, one position
            ),
            reference=merge,
            properties=(
                Property(POSITION, 1, not_moved_by(other_last_position, LAST, lambda merged: merged[:, :-1])),
                Property("the heads stand side by side, the first head first", 2, VALUES),
            ),
            mistakes=MERGE_MISTAKES,
        ),
    ),
    hints=(
        "Number the entries of two vectors of width four, 1 to 8, and write down by hand what each of two heads is to "
        "get. Does cutting the row 1 to 8 elsewhere give that?",
        "Two steps, and their order matters. To split: cut the last axis in two, the heads in front; then move the "
        "axis of the heads in front of the time. To merge: the same two steps backwards.",
        "`vectors.reshape(batch, time, heads, -1)` cuts the last axis, `transpose(1, 2)` exchanges heads and time, "
        "`flatten(2)` joins the last two of four axes. In einops the pattern reads `batch time (heads d_head)` on the "
        "one side.",
    ),
)
