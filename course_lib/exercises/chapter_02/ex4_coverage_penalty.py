"""02.4: a penalty for locations that receive too little attention, or too much."""

import torch

from course_lib.exercises.drawing import probabilities, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def coverage_penalty(weights):
    """Squared gap between 1 and the attention that a location receives in all, summed over locations."""
    return (1 - weights.sum(1)).square().sum(1)


def draw_weights_over_time(generator: torch.Generator) -> Case:
    """Draw weights that sum to one, for each time."""
    return {"weights": probabilities(generator, *sizes(generator, 4, 5, 5, least=2))}


def evenly_covered(case: Case) -> Case:
    """Scale the weights of each location so that they sum to one over time."""
    weights = case["weights"] + 0.1  # a location that is never read could not be scaled
    return {"weights": weights / weights.sum(1, keepdim=True)}


MISTAKES = """
axes exchanged => the sum of squared gaps
- received = weights.sum(dim=1)
+ received = weights.sum(dim=2)
this sums over the locations first, where the weights always sum to one; sum over time first

squared too early => zero when all is read exactly once
- received = weights.sum(dim=1)
- return (1 - received).square().sum(dim=1)
+ return (1 - weights).square().sum(dim=(1, 2))
this squares 1 - weight at every time; first sum over time, then take it from 1 and square

not squared => the sum of squared gaps
- return (1 - received).square().sum(dim=1)
+ return (1 - received).sum(dim=1)
this adds the gaps without squaring them: too much here makes up for too little there

mean for sum => the sum of squared gaps
+ return (1 - received).square().mean(dim=1)
this is the mean over the locations; the penalty is their sum

summed over the batch => the sum of squared gaps
+ return (1 - received).square().sum()
this is one number for the whole batch; each picture has its own penalty

absolute gaps => the sum of squared gaps
+ return (1 - received).abs().sum(dim=1)
this adds the absolute gaps; the formula squares each gap

only too little => the sum of squared gaps
+ return (1 - received).relu().square().sum(dim=1)
this adds the gaps of locations that receive too little; a location that receives more than one has a gap too

only too much => the sum of squared gaps
+ return (received - 1).relu().square().sum(dim=1)
this adds the gaps of locations that receive too much; a location that receives less than one has a gap too

an even share for one => zero when all is read exactly once
- return (1 - received).square().sum(dim=1)
+ return (weights.shape[1] / weights.shape[2] - received).square().sum(dim=1)
this compares with an even share, the number of words over the number of locations; the formula compares with 1

the square of the sum => the sum of squared gaps
- return (1 - received).square().sum(dim=1)
+ return (1 - received).sum(dim=1).square()
this squares the sum of the gaps, in which too much here makes up for too little there; square each gap, then sum
"""

EXERCISE = Exercise(
    title="Coverage penalty",
    difficulty=2,
    minutes=15,
    tasks=(
        Task(
            function="coverage_penalty",
            parameters=("weights",),
            returns="one penalty for each picture, shape (batch,)",
            cases=draw_weights_over_time,
            examples=(
                {"weights": torch.tensor([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]])},
                {"weights": torch.tensor([[[0.9, 0.1], [0.3, 0.7]], [[0.5, 0.5], [0.5, 0.5]]])},
            ),
            edges=(
                {"weights": torch.tensor([[[1.0]], [[1.0]]])},  # one word, one location: 0 exactly
                {"weights": torch.tensor([[[0.0, 1.0]]])},  # one picture, one word
                {"weights": torch.tensor([[[1.0], [1.0]], [[1.0], [1.0]]])},  # one location, looked at twice
            ),
            reference=coverage_penalty,
            properties=(
                Property("zero when all is read exactly once", 2, on(evenly_covered, equals())),
                Property("the sum of squared gaps", 3, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "How much attention has one location received over the whole sentence? Which axis is that sum over?",
        "Sum over time, take the result from 1, square, and sum over the locations; the batch stays.",
        "`gaps = 1 - weights.sum(dim=1)`, shape (batch, location); then the squares of `gaps`, summed over dim=1.",
    ),
)
