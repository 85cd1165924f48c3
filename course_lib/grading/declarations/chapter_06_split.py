"""Exercise 06.1, split and merge, and what the other exercises of the chapter share with it."""

import torch

from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, gradients_equal, inputs_unchanged, not_moved_by


def split(vectors, heads):
    """Cut vectors (batch, time, heads * d_head) into (batch, heads, time, d_head)."""
    batch, time, width = vectors.shape
    return vectors.reshape(batch, time, heads, width // heads).transpose(1, 2)


def merge(vectors):
    """Put the heads of (batch, heads, time, d_head) side by side, (batch, time, heads * d_head)."""
    return vectors.transpose(1, 2).flatten(2)


def split_by_view(vectors, heads):
    """Give the numbers another shape, in the order in which they lie."""
    batch, time, width = vectors.shape
    return vectors.reshape(batch, heads, time, width // heads)


def merge_by_view(vectors):
    """Give the numbers another shape, in the order in which they lie."""
    batch, heads, time, d_head = vectors.shape
    return vectors.reshape(batch, time, heads * d_head)


def split_by_turns(vectors, heads):
    """Deal the numbers of each vector out to the heads in turn."""
    batch, time, width = vectors.shape
    return vectors.reshape(batch, time, width // heads, heads).permute(0, 3, 1, 2)


def merge_by_turns(vectors):
    """Take a number from each head in turn."""
    return vectors.permute(0, 2, 3, 1).flatten(2)


# ---------------------------------------------------------------- cases


def four_sizes(generator: torch.Generator) -> list[int]:
    """Draw four sizes from 1 to 5, all different; or, in one case of three, all the same, 2 or 3.

    Where all are the same, an axis that was taken for another goes unnoticed by torch, and the numbers tell.
    """
    if torch.rand((), generator=generator) < 1 / 3:
        return sizes(generator, 3, least=2) * 4
    return (torch.randperm(5, generator=generator)[:4] + 1).tolist()


def counting(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Count through a tensor from a random start: every number shows where it came from."""
    (start,) = sizes(generator, 9)
    return torch.arange(start, start + torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw vectors that can be cut into heads."""
    batch, heads, time, d_head = four_sizes(generator)
    return {"vectors": counting(generator, batch, time, heads * d_head), "heads": heads}


def draw_heads(generator: torch.Generator) -> Case:
    """Draw what every head found."""
    return {"vectors": counting(generator, *four_sizes(generator))}


def other_last_time(case: Case) -> Case:
    """Put other numbers at the last time, which is the last but one axis of both exercises."""
    vectors = case["vectors"].clone()
    vectors[..., -1, :] = -1 - vectors[..., -1, :]
    return case | {"vectors": vectors}


LAST = "other numbers at the last time"
SPLIT_TIME = "what stands at one time has no influence on another"
SPLIT_VALUES = "head i has the i-th stretch of d_head numbers of every vector"
MERGE_VALUES = "the heads stand side by side, the first head first"

SPLIT_AND_MERGE = Exercise(
    id="06.1",
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
            reference=split,
            properties=(
                Property(SPLIT_TIME, 1, not_moved_by(other_last_time, LAST, split, lambda heads: heads[:, :, :-1])),
                Property(SPLIT_VALUES, 2, both(both(equals(split), inputs_unchanged), gradients_equal(split))),
            ),
            misconceptions=(
                Misconception(
                    "view",
                    "`view(batch, heads, time, d_head)` has the right shape and the wrong numbers: it moves none, it "
                    "cuts the row of all numbers elsewhere, so that the first head gets whole vectors of the first "
                    "times and the last head those of the last; cut the last axis in two, `view(batch, time, heads, "
                    "d_head)`, then exchange heads and time",
                    split_by_view,
                    breaks=SPLIT_TIME,
                ),
                Misconception(
                    "heads as the fast axis",
                    "this deals the numbers out in turn, the first to the first head, the second to the second, as "
                    '"(d_head heads)" says; a head is a stretch of numbers side by side, "(heads d_head)": '
                    "the axis of the heads stands in front",
                    split_by_turns,
                    breaks=SPLIT_VALUES,
                ),
                Misconception(
                    "axis not moved",
                    "this is (batch, time, heads, d_head), cut right and left there: heads and time are still to be "
                    "exchanged, `transpose(1, 2)`",
                    lambda vectors, heads: split(vectors, heads).transpose(1, 2),
                    breaks=SPLIT_VALUES,
                ),
                Misconception(
                    "heads for width",
                    "this makes d_head heads of the width `heads`, the two numbers exchanged; so does "
                    "`torch.split(vectors, heads, -1)`, whose number is the *width* of a piece (`torch.chunk` takes "
                    "how many)",
                    lambda vectors, heads: split(vectors, vectors.shape[2] // heads),
                    breaks=SPLIT_VALUES,
                ),
                Misconception(
                    "heads in front of the batch",
                    "this is (heads, batch, time, d_head); the batch is the first axis, the heads the second: "
                    "`torch.stack(..., dim=1)`",
                    lambda vectors, heads: split(vectors, heads).transpose(0, 1),
                    breaks=SPLIT_VALUES,
                ),
                Misconception(
                    "time and width exchanged",
                    "this is (batch, heads, d_head, time): the last two axes are the wrong way round",
                    lambda vectors, heads: split(vectors, heads).mT,
                    breaks=SPLIT_VALUES,
                ),
                Misconception(
                    "time and width exchanged, then view",
                    "this exchanges time and width first and then cuts by `view` or `reshape`: every head has its own "
                    "numbers, but those of different times are mixed",
                    lambda vectors, heads: split_by_view(vectors.mT.reshape(vectors.shape), heads),
                    breaks=SPLIT_TIME,
                ),
                Misconception(
                    "the sequence cut",
                    "this cuts the *time* into pieces, as if each head saw other words: every head sees the whole "
                    "sequence, and of each vector a part; it is the last axis that is cut",
                    lambda vectors, heads: vectors.unflatten(1, (heads, -1)),
                    breaks=SPLIT_VALUES,
                ),
                Misconception(
                    "everything to everybody",
                    "this gives each head the whole vector: in `vectors` the heads stand side by side already, and "
                    "each has d_head numbers of its own",
                    lambda vectors, heads: vectors[:, None].repeat(1, heads, 1, 1),
                    breaks=SPLIT_VALUES,
                ),
                Misconception(
                    "no way back",
                    "the numbers are right, but no gradient flows back through them: somewhere the graph is cut, as "
                    "by `.detach()`, `.data`, `torch.tensor(...)` or numpy",
                    lambda vectors, heads: split(vectors, heads).detach(),
                    breaks=SPLIT_VALUES,
                ),
            ),
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
            reference=merge,
            properties=(
                Property(SPLIT_TIME, 1, not_moved_by(other_last_time, LAST, merge, lambda merged: merged[:, :-1])),
                Property(MERGE_VALUES, 2, both(both(equals(merge), inputs_unchanged), gradients_equal(merge))),
            ),
            misconceptions=(
                Misconception(
                    "reshape alone",
                    "`reshape(batch, time, heads * d_head)` has the right shape and the wrong numbers: the heads are "
                    "still in front of the time, so that one vector is filled with one head's numbers at several "
                    "times; exchange heads and time first, `transpose(1, 2)`",
                    merge_by_view,
                    breaks=SPLIT_TIME,
                ),
                Misconception(
                    "view behind transpose",
                    "behind `transpose` the numbers lie in memory as before, and `view` cannot join axes that do not "
                    "lie side by side; `reshape` copies where it must, `.contiguous()` before `view` does too",
                    lambda vectors: vectors.transpose(1, 2).view(vectors.shape[0], vectors.shape[2], -1),
                    breaks=MERGE_VALUES,
                ),
                Misconception(
                    "heads as the fast axis",
                    "this takes one number from each head in turn, (batch, time, d_head, heads) joined; the heads are "
                    "to stand side by side, (batch, time, heads, d_head) joined",
                    merge_by_turns,
                    breaks=MERGE_VALUES,
                ),
                Misconception(
                    "one behind the other",
                    "this puts the heads one behind the other along time, (batch, heads * time, d_head); they are to "
                    "stand side by side along the last axis",
                    lambda vectors: vectors.flatten(1, 2),
                    breaks=MERGE_VALUES,
                ),
                Misconception(
                    "time and heads joined",
                    "this exchanges heads and time, which is right, and then joins these two; the axes to join are the "
                    "last two, `flatten(2)`",
                    lambda vectors: vectors.transpose(1, 2).flatten(1, 2),
                    breaks=MERGE_VALUES,
                ),
                Misconception(
                    "time and width joined",
                    "this joins time and width, (batch, heads, time * d_head); it is the heads that stand side by "
                    "side, so exchange heads and time first",
                    lambda vectors: vectors.flatten(2),
                    breaks=MERGE_VALUES,
                ),
                Misconception(
                    "not merged",
                    "the heads are in the right place and still an axis of their own, (batch, time, heads, d_head); "
                    "join the last two axes: `flatten(2)` or `reshape`",
                    lambda vectors: vectors.transpose(1, 2),
                    breaks=MERGE_VALUES,
                ),
                Misconception(
                    "summed",
                    "this adds the heads up, and d_head numbers are left; side by side they keep all of them",
                    lambda vectors: vectors.sum(1),
                    breaks=MERGE_VALUES,
                ),
                Misconception(
                    "averaged",
                    "this averages the heads, and d_head numbers are left; side by side they keep all of them",
                    lambda vectors: vectors.mean(1),
                    breaks=MERGE_VALUES,
                ),
                Misconception(
                    "the batch joined",
                    "this joins the examples of the batch: `torch.cat(tuple(vectors), -1)` takes a tensor apart along "
                    "its first axis; the heads are axis 1, `vectors.unbind(1)`",
                    lambda vectors: torch.cat(tuple(vectors), -1),
                    breaks=MERGE_VALUES,
                ),
                Misconception(
                    "no way back",
                    "the numbers are right, but no gradient flows back through them: somewhere the graph is cut, as "
                    "by `.detach()`, `.data`, `torch.tensor(...)` or numpy",
                    lambda vectors: merge(vectors).detach(),
                    breaks=MERGE_VALUES,
                ),
            ),
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
