"""10.1: one vector made of the tokens that are present, by their mean or their maximum."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, gradients_equal, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def absent(present: torch.Tensor) -> torch.Tensor:
    """Give the opposite of a mask an axis for the features."""
    return ~present[..., None]


def mean_pooling(vectors, present):
    """Sum of what is present over how much it is, zeros for nothing."""
    return vectors.masked_fill(absent(present), 0).sum(1) / present.sum(1, keepdim=True).clamp(min=1)


def max_pooling(vectors, present):
    """The greatest of what is present, feature by feature, zeros for nothing."""
    greatest = vectors.masked_fill(absent(present), -torch.inf).amax(1)
    return greatest.masked_fill(~present.any(1, keepdim=True), 0)


def draw_padded(generator: torch.Generator) -> Case:
    """Draw vectors, of which in every row something is present, and in the first not all; some of these are zero."""
    batch, time, d_model = sizes(generator, 4, 5, 5)
    time += 1
    vectors, present = 2 * normal(generator, batch, time, d_model), torch.zeros(batch, time, dtype=torch.bool)
    for row in range(batch):
        order, [count] = torch.randperm(time, generator=generator), sizes(generator, time - (row == 0))
        present[row, order[:count]] = True
        if count > 1:
            vectors[row, order[0]] = 0
    return {"vectors": vectors, "present": present}


def infinite_padding(case: Case) -> Case:
    """Make every other feature of what is absent infinite, the others minus infinite."""
    signs = torch.where(torch.arange(case["vectors"].shape[2]) % 2 == 0, torch.inf, -torch.inf)
    return case | {"vectors": torch.where(absent(case["present"]), signs, case["vectors"])}


def with_an_empty_row(case: Case) -> Case:
    """Add a row without a token to the others, which carry a gradient however a batch is put together."""
    vectors, present = case["vectors"], case["present"]
    nothing = torch.zeros_like(present[:1])
    return {"vectors": torch.cat([vectors[:1], vectors]), "present": torch.cat([nothing, present])}


def all_below_zero(case: Case) -> Case:
    """Take all below zero, and let all be present."""
    return {"vectors": -case["vectors"].abs() - 0.1, "present": torch.ones_like(case["present"])}


def far_below_zero(case: Case) -> Case:
    """Take what is present so far below zero that no number which people write down is below it."""
    vectors = 1e12 * (-case["vectors"].abs() - 0.1)
    return case | {"vectors": torch.where(absent(case["present"]), case["vectors"], vectors)}


def zeros_for_nothing(case: Case):
    """Empty the first row and look at that row alone: the pooling of the others is another property."""
    reply = yield case | {"present": case["present"] & (torch.arange(len(case["present"])) > 0)[:, None]}
    where = "row 0, in which nothing is present"
    return difference(reply.arguments, reply.value[0], reply.expected[0], where=where)


ABSENT = Property("what is absent has no influence, even if it is infinite", 1, on(infinite_padding, equals()))
EMPTY = Property("a row without a token gives zeros", 1, zeros_for_nothing)
GRADIENTS = Property(
    "gradients, also where a row is empty", 1, both(gradients_equal(), on(with_an_empty_row, gradients_equal()))
)

EXAMPLES = (
    {
        "vectors": torch.tensor([[[-1.0, -4.0], [-3.0, -2.0], [7.0, 7.0]]]),
        "present": torch.tensor([[True, True, False]]),
    },
    {
        "vectors": torch.tensor([[[9.0], [-2.0], [0.0]], [[5.0], [5.0], [5.0]]]),
        "present": torch.tensor([[False, True, True], [False, False, False]]),
    },
)

MEAN_MISTAKES = """
mask ignored => the mean of the vectors that are present
- return kept.sum(dim=1) / counts
+ return vectors.mean(dim=1)
this is the plain mean over time: `present` was not used

0 times infinity => what is absent has no influence, even if it is infinite
- kept = vectors.masked_fill(~present[..., None], 0.0)
+ kept = vectors * present[..., None]
this multiplies by the mask, and 0 times infinity is nan: what is absent must be replaced, by `masked_fill` or
`torch.where`, not multiplied

0 times infinity, mended => what is absent has no influence, even if it is infinite
- kept = vectors.masked_fill(~present[..., None], 0.0)
- counts = present.sum(dim=1, keepdim=True).clamp(min=1)
- return kept.sum(dim=1) / counts
+ kept = vectors * present[..., None]
+ return (kept.sum(dim=1) / present.sum(dim=1, keepdim=True)).nan_to_num(0.0)
this multiplies by the mask, 0 times infinity is nan, and `nan_to_num` makes 0 of the mean in which it stands; what is
absent must be replaced, by `masked_fill` or `torch.where`, not multiplied

one mean for the batch => the mean of the vectors that are present
- return kept.sum(dim=1) / counts
+ return vectors[present].mean(dim=0)
`vectors[present]` puts the tokens of all sequences into one row, and they are pooled together; every sequence is pooled
by itself

no keepdim => the mean of the vectors that are present
- counts = present.sum(dim=1, keepdim=True).clamp(min=1)
+ counts = present.sum(dim=1).clamp(min=1)
the counts have the shape (batch,) here and are laid along the features; `keepdim=True` leaves (batch, 1), one count for
each row

no keepdim and 0 / 0 => the mean of the vectors that are present
+ counts = present.sum(dim=1)

no keepdim, by a product => the mean of the vectors that are present
- kept = vectors.masked_fill(~present[..., None], 0.0)
- counts = present.sum(dim=1, keepdim=True).clamp(min=1)
+ kept = vectors * present[..., None]
+ counts = present.sum(dim=1).clamp(min=1)

no keepdim, by a product and 0 / 0 => the mean of the vectors that are present
+ kept = vectors * present[..., None]
+ counts = present.sum(dim=1)

divided by the length => the mean of the vectors that are present
- return kept.sum(dim=1) / counts
+ return kept.mean(dim=1)
this divides by the whole length, padding included; divide by how many are present

zero divided by zero => a row without a token gives zeros
- counts = present.sum(dim=1, keepdim=True).clamp(min=1)
+ counts = present.sum(dim=1, keepdim=True)
this divides by the count even where it is 0, and 0 / 0 is nan

counted over the batch => the mean of the vectors that are present
+ counts = present.sum().clamp(min=1)
this divides by how many are present in the whole batch; every sequence has a count of its own

vectors of zeros not counted => the mean of the vectors that are present
+ counts = (present & (vectors != 0).any(dim=-1)).sum(dim=1, keepdim=True).clamp(min=1)
this leaves vectors of zeros out of the count, as if they were padding; `present` says what counts, and a vector of
zeros that is present pulls the mean towards zero

a sum => the mean of the vectors that are present
+ counts = 1
this is the sum: it grows with the length of the sequence; divide by how many are present

divided by the length, by a product => the mean of the vectors that are present
- kept = vectors.masked_fill(~present[..., None], 0.0)
- counts = present.sum(dim=1, keepdim=True).clamp(min=1)
+ kept = vectors * present[..., None]
+ counts = present.shape[1]
this divides by the whole length, padding included; divide by how many are present

zero divided by zero, by a product => a row without a token gives zeros
+ kept = vectors * present[..., None]
+ counts = present.sum(dim=1, keepdim=True)
this divides by the count even where it is 0, and 0 / 0 is nan

counted over the batch, by a product => the mean of the vectors that are present
+ kept = vectors * present[..., None]
+ counts = present.sum().clamp(min=1)
this divides by how many are present in the whole batch; every sequence has a count of its own

vectors of zeros not counted, by a product => the mean of the vectors that are present
+ kept = vectors * present[..., None]
+ counts = (present & (vectors != 0).any(dim=-1)).sum(dim=1, keepdim=True).clamp(min=1)
this leaves vectors of zeros out of the count, as if they were padding; `present` says what counts, and a vector of
zeros that is present pulls the mean towards zero

a sum, by a product => the mean of the vectors that are present
+ kept = vectors * present[..., None]
+ counts = 1
this is the sum: it grows with the length of the sequence; divide by how many are present

mask turned round => the mean of the vectors that are present
+ kept = vectors.masked_fill(present[..., None], 0.0)
+ counts = (~present).sum(dim=1, keepdim=True).clamp(min=1)
this pools what is absent: `present` is True where a token stands

the first ones => the mean of the vectors that are present
- kept = vectors.masked_fill(~present[..., None], 0.0)
+ present = torch.arange(present.shape[1]) < present.sum(dim=1, keepdim=True)
+ kept = vectors.masked_fill(~present[..., None], 0.0)
this takes as many vectors from the left as are present; padding may stand anywhere, and the mask says where: select
with `present` itself

along the features => the mean of the vectors that are present
- return kept.sum(dim=1) / counts
+ return vectors.mean(dim=-1)
this is the mean of each vector by itself, along its features; to pool is to go along `time`, axis 1

vectors overwritten => the mean of the vectors that are present
- kept = vectors.masked_fill(~present[..., None], 0.0)
+ kept = vectors.masked_fill_(~present[..., None], 0.0)
this writes zeros into the caller's own tensor (`vectors[~present] = 0`); `masked_fill` makes a new one

gradient lost => gradients, also where a row is empty
+ kept = vectors.detach().masked_fill(~present[..., None], 0.0)
the numbers are right and the gradient is not: a tensor was cut out of the graph (`.detach()`, `.item()`)

vectors overwritten, out of the graph => the mean of the vectors that are present
- kept = vectors.masked_fill(~present[..., None], 0.0)
+ with torch.no_grad():
+     vectors[~present] = 0.0
+ kept = vectors
this writes zeros into the caller's own tensor, which others still read; make a new tensor
"""

MAX_MISTAKES = """
mask ignored => of each feature the greatest among what is present
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return vectors.amax(dim=1)
this is the plain maximum over time: `present` was not used

zeros compete, filled in => features below zero, however far
- kept = vectors.masked_fill(~present[..., None], -torch.inf)
- greatest = kept.amax(dim=1)
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return vectors.masked_fill(~present[..., None], 0.0).amax(dim=1)
padding was made zero, and where all that is present lies below zero, the padding wins the maximum; fill with
`-torch.inf`, which loses to everything

zeros compete, by a product => features below zero, however far
+ return (vectors * present[..., None]).amax(dim=1)

started from zero => features below zero, however far
- greatest = kept.amax(dim=1)
+ greatest = kept.amax(dim=1).clamp(min=0.0)
this begins with zero as the greatest so far, or cuts off below zero: no answer can be negative then; begin with
`-torch.inf`

minus infinity for nothing => a row without a token gives zeros
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return greatest
a row without a token keeps the filling, minus infinity, and every logit made of it is lost; give zeros where `present`
has no True

minus infinity, times nothing => a row without a token gives zeros
+ return greatest * present.any(dim=1, keepdim=True)
a row without a token is multiplied by 0 behind the maximum, and 0 times minus infinity is nan; replace it, by
`masked_fill` or `torch.where`

minus infinity added => what is absent has no influence, even if it is infinite
- kept = vectors.masked_fill(~present[..., None], -torch.inf)
+ kept = vectors + torch.zeros(present.shape).masked_fill(~present, -torch.inf)[..., None]
this adds minus infinity to what is absent, and where that is infinite itself, the sum is nan; replace it, by
`masked_fill` or `torch.where`

the lowest number for nothing => a row without a token gives zeros
- kept = vectors.masked_fill(~present[..., None], -torch.inf)
- greatest = kept.amax(dim=1)
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return vectors.masked_fill(~present[..., None], torch.finfo(torch.float32).min).amax(dim=1)
a row without a token keeps the filling, the lowest number that float32 has; give zeros where `present` has no True

filled with -10 => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -10.0).amax(dim=1)
this fills padding with a finite number, and a feature may lie below it: padding wins then, and a row without a token
gives that number; minus infinity loses to everything, and an empty row needs care of its own

filled with -100 => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -100.0).amax(dim=1)

filled with -1000 => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1000.0).amax(dim=1)

filled with -10000 => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e4).amax(dim=1)

filled with -100000 => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e5).amax(dim=1)

filled with -1e+06 => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e6).amax(dim=1)

filled with -1e+08 => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e8).amax(dim=1)

filled with -1e+09 => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e9).amax(dim=1)

filled with -1e+10 => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e10).amax(dim=1)

filled with -10, zeros for nothing => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -10.0).amax(dim=1) * present.any(dim=1, keepdim=True)
this fills padding with a finite number, and a feature may lie below it: padding wins then; minus infinity loses to
everything

filled with -100, zeros for nothing => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -100.0).amax(dim=1) * present.any(dim=1, keepdim=True)

filled with -1000, zeros for nothing => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1000.0).amax(dim=1) * present.any(dim=1, keepdim=True)

filled with -10000, zeros for nothing => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e4).amax(dim=1) * present.any(dim=1, keepdim=True)

filled with -100000, zeros for nothing => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e5).amax(dim=1) * present.any(dim=1, keepdim=True)

filled with -1e+06, zeros for nothing => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e6).amax(dim=1) * present.any(dim=1, keepdim=True)

filled with -1e+08, zeros for nothing => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e8).amax(dim=1) * present.any(dim=1, keepdim=True)

filled with -1e+09, zeros for nothing => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e9).amax(dim=1) * present.any(dim=1, keepdim=True)

filled with -1e+10, zeros for nothing => features below zero, however far
+ return vectors.masked_fill(~present[..., None], -1e10).amax(dim=1) * present.any(dim=1, keepdim=True)

lowered by 10000 => what is absent has no influence, even if it is infinite
+ return (vectors - 1e4 * ~present[..., None]).amax(dim=1)
this takes a great number off what is absent, and what is absent may be greater still: replace it, by `masked_fill` or
`torch.where`

lowered by 1e+06 => what is absent has no influence, even if it is infinite
+ return (vectors - 1e6 * ~present[..., None]).amax(dim=1)

lowered by 1e+09 => what is absent has no influence, even if it is infinite
+ return (vectors - 1e9 * ~present[..., None]).amax(dim=1)

mask turned round => of each feature the greatest among what is present
- kept = vectors.masked_fill(~present[..., None], -torch.inf)
+ present = ~present
+ kept = vectors.masked_fill(~present[..., None], -torch.inf)
this pools what is absent: `present` is True where a token stands

one maximum for the batch => of each feature the greatest among what is present
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return vectors[present].amax(dim=0)
`vectors[present]` puts the tokens of all sequences into one row, and they are pooled together; every sequence is pooled
by itself

one vector chosen => of each feature the greatest among what is present
- greatest = kept.amax(dim=1)
+ chosen = vectors.norm(dim=-1).masked_fill(~present, -1.0).argmax(dim=1)
+ greatest = vectors[torch.arange(len(vectors)), chosen]
this picks one vector as a whole, the one of the largest norm; the maximum is taken of each feature by itself, and its
entries may come from different tokens

farthest from zero => of each feature the greatest among what is present
- kept = vectors.masked_fill(~present[..., None], -torch.inf)
- greatest = kept.amax(dim=1)
+ kept = vectors.masked_fill(~present[..., None], 0.0)
+ greatest = kept.gather(1, kept.abs().argmax(dim=1, keepdim=True))[:, 0]
this takes the number farthest from zero; -3 is not greater than 1

the least => of each feature the greatest among what is present
+ kept = vectors.masked_fill(~present[..., None], torch.inf)
+ greatest = kept.amin(dim=1)
this is the minimum

a mean => of each feature the greatest among what is present
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return mean_pooling(vectors, present)
this is the mean again; the maximum is asked for

where it stands => of each feature the greatest among what is present
+ return kept.argmax(dim=1)
this tells at which position the greatest number stands; asked is the number: `.values`, not `.indices`

the first ones => of each feature the greatest among what is present
- kept = vectors.masked_fill(~present[..., None], -torch.inf)
+ present = torch.arange(present.shape[1]) < present.sum(dim=1, keepdim=True)
+ kept = vectors.masked_fill(~present[..., None], -torch.inf)
this takes as many vectors from the left as are present; padding may stand anywhere, and the mask says where: select
with `present` itself

along the features => of each feature the greatest among what is present
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return vectors.amax(dim=-1)
this is the maximum of each vector by itself, along its features; to pool is to go along `time`, axis 1

vectors overwritten => of each feature the greatest among what is present
- kept = vectors.masked_fill(~present[..., None], -torch.inf)
+ kept = vectors.masked_fill_(~present[..., None], -torch.inf)
this writes into the caller's own tensor (`vectors[~present] = ...`); `masked_fill` makes a new one

gradient lost => gradients, also where a row is empty
+ kept = vectors.detach().masked_fill(~present[..., None], -torch.inf)
the numbers are right and the gradient is not: a tensor was cut out of the graph (`.detach()`, `.item()`)

one vector chosen, by its sum => of each feature the greatest among what is present
- greatest = kept.amax(dim=1)
+ filled = vectors.masked_fill(~present[..., None], 0.0)
+ greatest = filled[torch.arange(len(filled)), filled.sum(dim=-1).masked_fill(~present, -torch.inf).argmax(dim=1)]
this picks one vector as a whole, the one of the largest sum; the maximum is taken of each feature by itself, and its
entries may come from different tokens

lowered by 1e+30, zeros for nothing => what is absent has no influence, even if it is infinite
- kept = vectors.masked_fill(~present[..., None], -torch.inf)
- greatest = kept.amax(dim=1)
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return (vectors - 1e30 * ~present[..., None]).amax(dim=1) * present.any(dim=1, keepdim=True)
this takes a great number off what is absent, and what is absent may be infinite; replace it, by `masked_fill` or
`torch.where`

lowered by 1e+09, zeros for nothing => what is absent has no influence, even if it is infinite
+ return (vectors - 1e9 * ~present[..., None]).amax(dim=1) * present.any(dim=1, keepdim=True)

low numbers taken for nothing => features below zero, however far
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return greatest.masked_fill(greatest < -1e4, 0.0)
this takes a low maximum for a row without a token, and features may lie so low; ask `present` whether a row has one

zeros where all the batch is empty => a row without a token gives zeros
- return greatest.masked_fill(~present.any(dim=1, keepdim=True), 0.0)
+ return greatest.masked_fill(~present.any(), 0.0)
this asks whether the whole batch has a token; a single row without one keeps the filling, minus infinity: ask each row
by itself, `present.any(dim=1, keepdim=True)`
"""

EXERCISE = Exercise(
    title="Masked pooling",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="mean_pooling",
            parameters=("vectors", "present"),
            returns="the mean of the vectors that are present, shape (batch, d_model)",
            cases=draw_padded,
            examples=EXAMPLES,
            edges=(
                # One position, two sequences.
                {"vectors": torch.tensor([[[3.0, -1.0]], [[2.0, 5.0]]]), "present": torch.tensor([[True], [True]])},
                # Vectors of zeros that are present, more than the others.
                {
                    "vectors": torch.tensor([[[0.0], [6.0], [0.0], [9.0]]]),
                    "present": torch.tensor([[True, True, True, False]]),
                },
                # One position, which is empty in one of two sequences.
                {"vectors": torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]), "present": torch.tensor([[True], [False]])},
            ),
            reference=mean_pooling,
            properties=(
                Property("the mean of the vectors that are present", 2, both(equals(), inputs_unchanged)),
                ABSENT,
                EMPTY,
                GRADIENTS,
            ),
            mistakes=MEAN_MISTAKES,
        ),
        Task(
            function="max_pooling",
            parameters=("vectors", "present"),
            returns="of each feature the greatest number among the vectors that are present, shape (batch, d_model)",
            cases=draw_padded,
            examples=EXAMPLES,
            edges=(
                # One position, two sequences.
                {"vectors": torch.tensor([[[3.0, -1.0]], [[2.0, 5.0]]]), "present": torch.tensor([[True], [True]])},
                # A zero is the greatest of what is present, in front of which padding is greater.
                {"vectors": torch.tensor([[[9.0], [-6.0], [0.0]]]), "present": torch.tensor([[False, True, True]])},
                # One position, which is empty in one of two sequences.
                {"vectors": torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]), "present": torch.tensor([[True], [False]])},
                # So low that 1 less is the same number: padding that is filled with that shares the gradient.
                {"vectors": torch.tensor([[[-1e10], [5.0]]]), "present": torch.tensor([[True, False]])},
            ),
            reference=max_pooling,
            properties=(
                Property("of each feature the greatest among what is present", 1, both(equals(), inputs_unchanged)),
                Property(
                    "features below zero, however far",
                    1,
                    both(on(all_below_zero, equals()), on(far_below_zero, equals())),
                ),
                ABSENT,
                EMPTY,
                GRADIENTS,
            ),
            mistakes=MAX_MISTAKES,
        ),
    ),
    hints=(
        "What must padding be replaced by so that a sum does not feel it, and by what so that a maximum does not? What "
        "is left then in a row in which everything was replaced?",
        "Give the mask an axis for the features, and replace what is absent in a new tensor: by 0 for the mean, by "
        "minus infinity for the maximum. For the mean divide by the number of tokens, or by 1 where there is none; "
        "behind the maximum replace the rows that have no token.",
        "`vectors.masked_fill(~present[..., None], ...)` replaces, for both. The divisor is "
        "`present.sum(dim=1, keepdim=True)`, kept from 0 by `clamp`; the rows that have a token are "
        "`present.any(dim=1, keepdim=True)`.",
    ),
)
