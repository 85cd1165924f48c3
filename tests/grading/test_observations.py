"""What is said of a wrong answer that makes no declared mistake: it is true of every question that was put."""

import math

import pytest
import torch
from torch.nn import functional

from course_lib.grading.call import in_process
from course_lib.grading.catalogue import catalogue
from course_lib.grading.engine import judge_task

COURSE = catalogue()
REMEMBERED = {}


def observed(function):
    exercise, task = COURSE.find_task(function.__name__)
    torch.manual_seed(0)
    result = judge_task(exercise, task, in_process(function, task, exercise.forbidden), 0)
    assert result.earned < task.points
    assert not (result.mistake and result.observed)  # a known mistake says more
    return result.observed or f"known: {result.mistake.name if result.mistake else ''}"


def attend_with(change):
    def attend(weights, values):
        return change(torch.einsum("bl,blv->bv", weights, values), weights, values)

    return attend


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda right, weights, values: right.square(), "each number is the square of the one that is expected"),
        (lambda right, weights, values: right.relu(), "each number below zero became 0"),
        (lambda right, weights, values: right * 0, "each number is 0"),
        (lambda right, weights, values: right + 1.5, "each number is too large by 1.5"),
        (
            lambda right, weights, values: right / values.shape[2] ** 0.5,
            "each number is divided by the root of the length of the last axis of `values`",
        ),
        (
            lambda right, weights, values: right.cumsum(0),
            "along axis 0 the numbers that are expected are added up one after the other, a running sum",
        ),
        (
            lambda right, weights, values: right[:1].expand_as(right),
            "along axis 0 the numbers that are expected are replaced by the first of them",
        ),
        (
            lambda right, weights, values: torch.einsum("bl,blv->bv", weights, values.abs()),
            "this is the answer with `values` taken without its signs",
        ),
        (
            lambda right, weights, values: torch.einsum("l,blv->bv", weights[0], values),
            "this is the answer with `weights` taken from the first example for all",
        ),
        (
            lambda right, weights, values: right + (values.shape[1] > 2),
            "of what was tried, it is wrong wherever the last axis of `weights` is longer than 2, "
            "and all else is right",
        ),
        (lambda right, weights, values: right + torch.rand(()), "two calls with the same arguments give two answers"),
        (lambda right, weights, values: right.double(), "but of the kind float64, where float32 is expected"),
        (lambda right, weights, values: right.mT, "but the axes are in another order: `permute(1, 0)` would mend it"),
        (lambda right, weights, values: right[..., None], "only the shape is not (an axis of size one is left over)"),
        (lambda right, weights, values: right.sum(1), "the last axis of what is expected was added up"),
        (lambda right, weights, values: torch.cat([right, right]), "along axis 0 more comes than is expected"),
        (
            lambda right, weights, values: torch.where(torch.arange(len(right))[:, None] > 0, math.nan, right),
            "it is wrong wherever axis 0 of `weights` is longer than 1",
        ),
        (lambda right, weights, values: torch.where(right > 0.3, math.nan, right), "what differs is nan: 0 / 0"),
    ],
)
def test_what_became_of_the_numbers_is_told(change, said):
    assert said in observed(attend_with(change))


def test_a_function_that_writes_into_its_arguments_is_told_so():
    def map_to_rows(feature_map):
        rows = feature_map.flatten(2).mT.clone()
        feature_map.mul_(2)
        return rows

    assert "the function writes into `feature_map`" in observed(map_to_rows)


def test_a_gradient_that_is_cut_or_wrong_is_told_by_the_argument():
    def teacher_forcing_loss(logits, targets):
        losses = functional.cross_entropy(logits.mT, targets, reduction="none").sum(1)
        return losses.detach() + 0 * logits.sum()

    def doubled(logits, targets):
        losses = functional.cross_entropy(logits.mT, targets, reduction="none").sum(1)
        return 2 * losses - losses.detach()

    assert "the gradient for `logits`: it is 0: the way to it is cut" in observed(teacher_forcing_loss)
    doubled.__name__ = "teacher_forcing_loss"
    assert "the gradient for `logits`: each number is 2 times the one that is expected" in observed(doubled)


def test_gradients_that_pile_up_from_call_to_call_are_an_error():
    def hard_attention_gradient(scores, index, reward, baseline):
        scores.requires_grad_()
        chosen = scores.log_softmax(1).gather(1, index[:, None])[:, 0]
        (chosen * (reward - baseline)).sum().backward()
        return scores.grad.clone()

    exercise, task = COURSE.find_task("hard_attention_gradient")
    result = judge_task(exercise, task, in_process(hard_attention_gradient, task, exercise.forbidden), 0)
    assert result.earned == 0 and {each.problem.kind for each in result.verdicts} == {"unsteady", "later"}


def test_truth_values_are_wrong_one_way():
    def window_mask(query, key, window):
        return COURSE.find_task("window_mask")[1].reference(query=query, key=key, window=window).tril(-1)

    said = observed(window_mask)
    assert said == "it says False where True is expected, and is never wrong the other way"


def test_whole_numbers_that_float32_has_rounded_are_told():
    def costs_of_writing(prompt, new, d_model):
        read = torch.arange(prompt, prompt + new, dtype=torch.float32)
        asked = torch.tensor([prompt, *[1] * (new - 1)], dtype=torch.float32)
        costs = [(4 * each * d_model**2 + 2 * each * read * d_model).sum() for each in (asked, read)]
        return costs[0].long(), costs[1].long()

    assert "the first seven digits are right, and no more" in observed(costs_of_writing)


def test_nothing_is_said_where_nothing_holds_on_every_question():
    def attend(weights, values):
        right = torch.einsum("bl,blv->bv", weights, values)
        return right + 0.1 * torch.sin(100 * right + weights.sum())

    assert observed(attend) == "known: "


def test_a_report_shows_what_was_observed_above_the_properties(capsys):
    from course_lib.grading import check

    attend = attend_with(lambda right, weights, values: right.square())
    check(attend)
    assert capsys.readouterr().out.splitlines()[1] == "  each number is the square of the one that is expected"


def test_a_truth_value_may_leave_gradients_behind():
    """A right answer that calls `backward` is called twice, and both answers are plain truth values."""

    def gradient_is_right(function, gradient, inputs):
        ahead = inputs.double().detach().requires_grad_()
        function(ahead).backward()
        inputs.requires_grad_()
        inputs.grad = torch.zeros_like(inputs)
        return bool((ahead.grad - gradient(inputs.double())).abs().max() <= 1e-6)

    exercise, task = COURSE.find_task("gradient_is_right")
    result = judge_task(exercise, task, in_process(gradient_is_right, task, exercise.forbidden), 0)
    kinds = {each.problem.kind for each in result.verdicts if each.problem}
    assert result.earned and not kinds & {"crash", "unsteady"}
