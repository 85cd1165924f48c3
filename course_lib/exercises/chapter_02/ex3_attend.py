"""02.3: the weighted sum of the values."""

import torch

from course_lib.data import image_example
from course_lib.exercises.drawing import normal, probabilities, sizes
from course_lib.grading.checks import equals, in_convex_hull, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def attend(weights, values):
    """Sum of the values, each times its weight."""
    return (weights[:, None] @ values)[:, 0]


def draw_weights_and_values(generator: torch.Generator) -> Case:
    """Draw weights that sum to one, and values."""
    batch, location, d_value = sizes(generator, 4, 5, 4, least=2)
    return {"weights": probabilities(generator, batch, location), "values": normal(generator, batch, location, d_value)}


def one_hot(case: Case) -> Case:
    """Put all weight on the location that has most."""
    return case | {"weights": (case["weights"] == case["weights"].amax(1, keepdim=True)).float()}


def values_near_ten(case: Case) -> Case:
    """Move the values away from zero, so that an average which does not sum to one leaves their hull."""
    return case | {"values": case["values"] + 10}


MISTAKES = """
mean for sum => the context lies between the values
- return einsum(weights, values, "batch location, batch location d_value -> batch d_value")
+ return (weights[..., None] * values).mean(dim=1)
this divides by the number of locations after weighting; the weights already sum to one

the best location only => the sum of the weighted values
+ best = (weights == weights.amax(dim=1, keepdim=True)).float()
+ return einsum(best, values, "batch location, batch location d_value -> batch d_value")
this returns the value of the greatest weight and drops the rest; every value counts, by its weight

a second softmax => one-hot weights return the exact value
+ return einsum(weights.softmax(dim=1), values, "batch location, batch location d_value -> batch d_value")
this takes the softmax of the weights, which come from a softmax already: it flattens them

weights ignored => one-hot weights return the exact value
+ return values.mean(dim=1)
this is the plain mean of the values: the weights were not used

not summed => the sum of the weighted values
+ return weights[..., None] * values
these are the weighted values before they are summed over the locations

summed over the features => the sum of the weighted values
+ return (weights[..., None] * values).sum(dim=-1)
this sums over the features; the axis that goes away is that of the locations, `dim=1`

every weight row with every picture => the sum of the weighted values
+ return weights @ values
this multiplies the weights of every picture with the values of every other; each picture has weights of its own

values overwritten => inputs unchanged
+ return values.mul_(weights[..., None]).sum(dim=1)
this multiplies the caller's values in place (`values *= ...`)

every axis of length 1 dropped => the sum of the weighted values
+ return (weights[:, None] @ values).squeeze()
`squeeze()` without an axis removes every axis of length 1, also the batch or the features; the context always has two
axes, (batch, d_value)

values reshaped => the sum of the weighted values
+ return (values.reshape(len(values), values.shape[2], -1) @ weights[..., None])[..., 0]
`reshape` gives the values the shape (batch, d_value, location) and moves no number, so that features of several
locations are mixed; exchange the last two axes
"""

EXERCISE = Exercise(
    title="Attend",
    difficulty=1,
    minutes=10,
    tasks=(
        Task(
            function="attend",
            parameters=("weights", "values"),
            returns="the context, shape (batch, d_value)",
            cases=draw_weights_and_values,
            examples=(
                {
                    "weights": torch.tensor([[0.25, 0.75], [0.9, 0.1]]),
                    "values": torch.tensor([[[0.0], [4.0]], [[10.0], [20.0]]]),
                },
                {
                    "weights": torch.softmax(image_example.FEATURES @ image_example.QUERY, 0).unsqueeze(0),
                    "values": image_example.FEATURES.unsqueeze(0),
                },
            ),
            edges=(
                {
                    "weights": torch.tensor([[1.0], [1.0]]),
                    "values": torch.tensor([[[2.0]], [[5.0]]]),
                },  # one location, one feature
                {
                    "weights": torch.tensor([[0.0, 1.0]]),
                    "values": torch.tensor([[[2.0], [5.0]]]),
                },  # one picture, a weight of 0
                {
                    "weights": torch.tensor([[0.09375, *[0.0625] * 14, 0.03125]]),
                    "values": torch.arange(16.0).view(1, 16, 1),
                },  # a map of 4 by 4: many locations, and all of them count
            ),
            reference=attend,
            properties=(
                Property("one-hot weights return the exact value", 2, on(one_hot, equals(tolerance=0))),
                Property("the context lies between the values", 1, on(values_near_ten, in_convex_hull("values"))),
                Property("the sum of the weighted values", 2, equals()),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "If one weight is 1 and the others 0, what must the answer be? Which axis disappears?",
        "Give the weights a last axis, so that each multiplies the whole value of its location, and sum over the "
        "locations.",
        "`(weights[..., None] * values).sum(dim=1)`, or an einsum that sums over `location` and keeps `batch`.",
    ),
)
