"""00.4: a mean over what counts."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import difference, equals, inputs_unchanged, not_moved_by
from course_lib.grading.exercise import Case, Exercise, Property, Task


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


def zeros_for_nothing(case: Case):
    """Empty the first row and look at that row alone: the mean of the others is another property."""
    emptied = case | {"mask": case["mask"].clone()}
    emptied["mask"][0] = False
    reply = yield emptied
    return difference(emptied, reply.value[0], reply.expected[0], where="row 0, in which nothing counts")


MISTAKES = """
divided by the length => the mean of what counts
- return total / count
+ return total / values.shape[1]
this divides by the whole length, padding included; divide by how many count

mask ignored => what is masked out has no influence
+ return values.mean(dim=1)
this is the plain mean over time: the mask was not used

mask turned round => what is masked out has no influence
- total = (values * mask[:, :, None]).sum(dim=1)
+ mask = ~mask
+ total = (values * mask[:, :, None]).sum(dim=1)
this is the mean of what is masked out: True means that a value counts

zero divided by zero => a row with nothing to count gives zeros
- count = mask.sum(dim=1, keepdim=True).clamp(min=1)
+ count = mask.sum(dim=1, keepdim=True)
this divides by the count even where it is 0, and 0 / 0 is nan

values overwritten => inputs unchanged
- total = (values * mask[:, :, None]).sum(dim=1)
+ values[~mask] = 0
+ total = values.sum(dim=1)
this writes zeros into the caller's own tensor (`values[~mask] = 0`)

count plus one => the mean of what counts
- count = mask.sum(dim=1, keepdim=True).clamp(min=1)
+ count = mask.sum(dim=1, keepdim=True) + 1
this adds 1 to every count, which makes every mean too small; only a count of 0 needs another divisor

count over the batch => the mean of what counts
+ count = mask.sum().clamp(min=1)
this counts what is True in the whole batch; every row has a count of its own

values that are not 0 counted => the mean of what counts
+ count = (values * mask[:, :, None] != 0).sum(dim=1).clamp(min=1)
this counts the values that are not 0; a value of 0 counts as well where the mask is True

as many from the start => what is masked out has no influence
- total = (values * mask[:, :, None]).sum(dim=1)
+ first = torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)
+ total = (values * first[:, :, None]).sum(dim=1)
this counts the True of a row and takes as many positions from its start; the positions that count may stand anywhere

whole numbers only => the mean of what counts
- return total / count
+ return total // count
`//` cuts off the fraction of the mean; divide with `/`

padding taken off the sum => the mean of what counts
- total = (values * mask[:, :, None]).sum(dim=1)
+ total = values.sum(dim=1) - (values * ~mask[:, :, None]).sum(dim=1)
this adds up everything and takes the padding off again; where the padding is large, float32 keeps nothing of the values
beside it: leave it out before the sum
"""

EXERCISE = Exercise(
    title="A masked mean",
    difficulty=2,
    minutes=15,
    tasks=(
        Task(
            function="masked_mean",
            parameters=("values", "mask"),
            returns="the mean over the positions that count, shape (batch, d)",
            cases=draw_masked,
            examples=(
                {"values": torch.tensor([[[2.0], [4.0], [9.0]]]), "mask": torch.tensor([[True, True, False]])},
                {
                    "values": torch.tensor([[[1.0], [5.0]], [[3.0], [8.0]]]),
                    "mask": torch.tensor([[True, False], [False, True]]),
                },
            ),
            edges=(
                {"values": torch.tensor([[[2.0]], [[3.0]]]), "mask": torch.tensor([[True], [False]])},  # one step
                {
                    "values": torch.tensor([[[2.0], [4.0]]]),
                    "mask": torch.tensor([[False, True]]),
                },  # one row, the first hidden
                {
                    "values": torch.tensor([[[1e4], [3.0]], [[1.0], [2.0]]]),
                    "mask": torch.tensor([[False, False], [True, True]]),
                },  # none, all
                # A value of 0 counts like any other.
                {"values": torch.tensor([[[0.0], [4.0], [9.0]]]), "mask": torch.tensor([[True, True, False]])},
                {
                    "values": torch.tensor([[[0.0, 4.0], [6.0, 0.0], [1e30, -1e30]]]),
                    "mask": torch.tensor([[True, True, False]]),
                },  # zeros that count, and what is hidden far away
            ),
            reference=masked_mean,
            properties=(
                Property("the mean of what counts", 3, equals()),
                Property(
                    "what is masked out has no influence",
                    2,
                    not_moved_by(other_padding, "100 added where mask is False", lambda answer: answer),
                ),
                Property("a row with nothing to count gives zeros", 2, zeros_for_nothing),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "A mean is a sum divided by a count. Which of the two does the mask change? Both.",
        "Give the mask a last axis so that it broadcasts over d, multiply, sum over time, and divide by the number of "
        "True in each row. What should the divisor be when that number is 0?",
        "`counts = mask.sum(dim=1, keepdim=True).clamp(min=1)`: with nothing to count, 0 / 1 gives the zeros wanted.",
    ),
)
