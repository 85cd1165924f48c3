"""00.2: a softmax that does not overflow."""

import math

import torch

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.exercises.operators import SOFTMAX
from course_lib.grading.checks import equals, inputs_unchanged, on, sums_to
from course_lib.grading.exercise import Case, Exercise, Property, Task


def softmax(scores, temperature):
    """Softmax of the scores at a temperature, by torch."""
    return torch.softmax(scores / temperature, dim=-1)


def draw_scores(generator: torch.Generator) -> Case:
    """Draw scores with one to three axes, and a temperature."""
    axes = int(torch.randint(1, 4, (), generator=generator))
    scores = normal(generator, *sizes(generator, *[4] * axes, least=2))
    return {"scores": scores, "temperature": uniform(generator, 0.3, 3.0)}


def far_from_zero(case: Case) -> Case:
    """Move the rows by 10,000, one up and the next down, which leaves the weights inside a row as they are.

    Whole scores and a temperature that is a power of two: a report can show them exactly, and they divide exactly, in
    whatever order it is done.
    """
    scores = case["scores"].round()
    rows = scores.view(-1, scores.shape[-1])
    rows[0::2] += 1e4
    rows[1::2] -= 1e4
    return {"scores": scores, "temperature": 2.0 ** round(math.log2(case["temperature"]))}


MISTAKES = """
no guard against overflow => scores of 10,000 stay finite
- exponentials = ((scores - largest) / temperature).exp()
+ exponentials = (scores / temperature).exp()
this is exp without subtracting the row's maximum first: exp(10000) is infinite, exp(-10000) is 0

one maximum for all rows => scores of 10,000 stay finite
- largest = scores.amax(dim=-1, keepdim=True)
+ largest = scores.max()
this subtracts the maximum of the whole tensor: in a row far below it all exp are 0; 0 / 0 is nan

first axis => rows sum to one
- largest = scores.amax(dim=-1, keepdim=True)
- exponentials = ((scores - largest) / temperature).exp()
- return exponentials / exponentials.sum(dim=-1, keepdim=True)
+ exponentials = ((scores - scores.amax(dim=0)) / temperature).exp()
+ return exponentials / exponentials.sum(dim=0)
this is a softmax over the first axis: the columns sum to one, not the rows

second axis => rows sum to one
- largest = scores.amax(dim=-1, keepdim=True)
- exponentials = ((scores - largest) / temperature).exp()
- return exponentials / exponentials.sum(dim=-1, keepdim=True)
+ exponentials = ((scores - scores.amax(dim=1, keepdim=True)) / temperature).exp()
+ return exponentials / exponentials.sum(dim=1, keepdim=True)
this is a softmax over the second axis (`dim=1`), which is the last one only of a matrix; the last axis is `dim=-1`,
however many there are

second axis where there are two => rows sum to one
+ axis = min(1, scores.dim() - 1)
+ exponentials = ((scores - scores.amax(dim=axis, keepdim=True)) / temperature).exp()
+ return exponentials / exponentials.sum(dim=axis, keepdim=True)

multiplied by the temperature => weights follow exp(score / temperature)
- exponentials = ((scores - largest) / temperature).exp()
+ exponentials = ((scores - largest) * temperature).exp()
this multiplies by the temperature: hot must come out flat, and here it comes out sharp

temperature forgotten => weights follow exp(score / temperature)
+ exponentials = (scores - largest).exp()
this is the softmax at temperature 1: the temperature is missing, or it divides the exponentials, in numerator and
denominator, and cancels; it divides the scores, before exp

temperature at the end => rows sum to one
- exponentials = ((scores - largest) / temperature).exp()
- return exponentials / exponentials.sum(dim=-1, keepdim=True)
+ exponentials = (scores - largest).exp()
+ return exponentials / exponentials.sum(dim=-1, keepdim=True) / temperature
this divides the weights by the temperature: a row then sums to 1 / temperature; it divides the scores, before exp

axis lost in the maximum => weights follow exp(score / temperature)
- largest = scores.amax(dim=-1, keepdim=True)
+ largest = scores.amax(dim=-1)
a maximum or sum of (..., n) along the last axis has one axis less, and is then not matched row by row; `keepdim=True`
leaves (..., 1), which belongs to its row

axis lost in the sum => weights follow exp(score / temperature)
- return exponentials / exponentials.sum(dim=-1, keepdim=True)
+ return exponentials / exponentials.sum(dim=-1)

axis lost in the maximum and the sum => weights follow exp(score / temperature)
- largest = scores.amax(dim=-1, keepdim=True)
- exponentials = ((scores - largest) / temperature).exp()
- return exponentials / exponentials.sum(dim=-1, keepdim=True)
+ exponentials = ((scores - scores.amax(dim=-1)) / temperature).exp()
+ return exponentials / exponentials.sum(dim=-1)

axis lost in the sum, without a guard => weights follow exp(score / temperature)
+ exponentials = (scores / temperature).exp()
+ return exponentials / exponentials.sum(dim=-1)

scores overwritten => inputs unchanged
- exponentials = ((scores - largest) / temperature).exp()
+ scores -= largest
+ scores /= temperature
+ exponentials = scores.exp()
this computes in place, as `-=` and `/=` do, and the caller's scores are gone

mean subtracted => rows sum to one
- largest = scores.amax(dim=-1, keepdim=True)
+ largest = scores.mean(dim=-1, keepdim=True)
this subtracts the mean of the row, and the exp of a score far above the mean is still infinite; subtract the largest
score

largest size subtracted => scores of 10,000 stay finite
+ largest = scores.abs().amax(dim=-1, keepdim=True)
this subtracts the largest absolute value: in a row far below zero all exp are then 0, and 0 / 0 is nan; subtract the
largest score, with its sign

temperature missing in the sum => rows sum to one
- return exponentials / exponentials.sum(dim=-1, keepdim=True)
+ return exponentials / (scores - largest).exp().sum(dim=-1, keepdim=True)
the sum below the line is made without the temperature: rows sum to one only where it is 1; divide by the sum of the
very numbers that stand above the line

scores cut off => scores of 10,000 stay finite
- largest = scores.amax(dim=-1, keepdim=True)
- exponentials = ((scores - largest) / temperature).exp()
+ exponentials = (scores / temperature).clamp(-80, 80).exp()
this cuts off large scores, so that all scores above the bound get the same weight; subtract the largest score of each
row, which changes no weight
"""

EXERCISE = Exercise(
    title="A stable softmax",
    difficulty=2,
    minutes=20,
    forbidden=SOFTMAX,
    tasks=(
        Task(
            function="softmax",
            parameters=("scores", "temperature"),
            returns="the weights along the last axis, shape (..., n)",
            cases=draw_scores,
            examples=(
                {"scores": torch.tensor([0.0, 3.0]).log1p(), "temperature": 1.0},
                {"scores": torch.tensor([[0.0, 1.0], [3.0, 0.0]]), "temperature": 0.5},
            ),
            edges=(
                {"scores": torch.tensor([[1.0], [2.0]]), "temperature": 0.5},  # a single score has all the weight
                {"scores": torch.tensor([[2.0, 2.0]]), "temperature": 2.0},  # one row, equal scores
                {"scores": torch.tensor([[0.0, 256.0], [256.0, 0.0]]), "temperature": 1.0},  # exp(256) is infinite
                {"scores": torch.tensor([[0.0, 1.0], [200.0, 201.0]]), "temperature": 1.0},  # rows far from each other
                # Three axes: the last one is not the second.
                {"scores": torch.tensor([[[0.0, 1.0], [3.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]]), "temperature": 1.0},
            ),
            reference=softmax,
            properties=(
                Property("rows sum to one", 1, sums_to(1)),
                Property("weights follow exp(score / temperature)", 3, equals()),
                # Near 1e4 / 0.25 the last digit of a logsumexp, one of the right ways, is worth 0.004.
                Property("scores of 10,000 stay finite", 2, on(far_from_zero, equals(tolerance=2e-3))),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Which numbers overflow? What can be added to all scores of a row without changing its weights?",
        "Divide by the temperature, subtract each row's own maximum (keep the axis, so that it broadcasts), "
        "exponentiate, and divide by the row's sum.",
        "`shifted = (scores - scores.amax(dim=-1, keepdim=True)) / temperature`, then `shifted.exp()` over its sum "
        "along the last axis, again with `keepdim=True`.",
    ),
)
