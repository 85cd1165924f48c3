"""What particular exercises promise: slips of newcomers are named, examples are readable, sentences are true."""

import pytest
import torch

from course_lib.grading.call import in_process
from course_lib.grading.catalogue import catalogue
from course_lib.grading.checks import Phase
from course_lib.grading.engine import draw_cases, judge_task
from course_lib.grading.exercise import Reply
from course_lib.grading.wording import sentence


def told(exercise, function, seed=0):
    """Return the sentence on every property, or None where it holds."""
    (task,) = exercise.tasks
    result = judge_task(exercise, task, in_process(function, task, exercise.forbidden), seed)
    return {each.property.name: sentence(each.problem, task) if each.problem else None for each in result.verdicts}


def test_the_jacobian_is_the_derivative_of_the_softmax():
    weights = torch.tensor([0.1, 0.2, 0.7], dtype=torch.float64)
    by_autograd = torch.autograd.functional.jacobian(lambda scores: scores.softmax(-1), weights.log())
    torch.testing.assert_close(catalogue().find("00.3").tasks[0].reference(weights=weights), by_autograd)


def test_without_tanh_the_query_has_no_influence():
    """The sentence that names this mistake says so."""
    task = catalogue().find("02.2").tasks[0]
    no_tanh = next(wrong for wrong in task.mistakes if wrong.name == "no tanh")
    case = draw_cases(task, 3)[-1]
    other = case | {"query": case["query"] + torch.randn_like(case["query"])}
    torch.testing.assert_close(no_tanh.implementation(**case), no_tanh.implementation(**other))


# ---------------------------------------------------------------- slips of newcomers, in their own words


def softmax_without_keepdim(scores, temperature):
    scaled = scores / temperature
    grown = torch.exp(scaled - torch.max(scaled, dim=-1, keepdim=True)[0])
    return grown / grown.sum(dim=-1)


def softmax_without_keepdim_at_all(scores, temperature):
    scaled = scores / temperature
    grown = torch.exp(scaled - scaled.max(dim=-1).values)
    return grown / grown.sum(-1)


def softmax_cooled_after_exp(scores, temperature):
    grown = torch.exp(scores - scores.amax(-1, keepdim=True)) / temperature
    return grown / grown.sum(-1, keepdim=True)


def softmax_cooled_at_the_end(scores, temperature):
    grown = torch.exp(scores - scores.amax(-1, keepdim=True))
    return grown / grown.sum(-1, keepdim=True) / temperature


def query_without_axis(query, keys, query_weight, key_weight, score_weight):
    hidden = torch.tanh(keys @ key_weight.T + query @ query_weight.T)
    return torch.softmax((hidden * score_weight).sum(-1), dim=-1)


def weights_as_they_are(query, keys, query_weight, key_weight, score_weight):
    hidden = torch.tanh((query @ query_weight).unsqueeze(1) + keys @ key_weight)
    return torch.softmax(hidden @ score_weight, dim=1)


def narrow_one_hot(scores, index, reward, baseline):
    chosen = torch.nn.functional.one_hot(index).float()
    return (chosen - torch.softmax(scores, dim=1)) * (reward - baseline).unsqueeze(1)


@pytest.mark.parametrize(
    ("number", "function", "said"),
    [
        ("00.2", softmax_without_keepdim, "`keepdim=True` leaves (..., 1)"),
        ("00.2", softmax_without_keepdim_at_all, "`keepdim=True` leaves (..., 1)"),
        ("00.2", softmax_cooled_after_exp, "cancels; it divides the scores, before exp"),
        ("00.2", softmax_cooled_at_the_end, "a row then sums to 1 / temperature"),
        (
            "00.3",
            lambda weights: torch.diag_embed(weights) - torch.outer(weights, weights),
            "any leading axes must work",
        ),
        ("00.3", lambda weights: weights.diag() - weights[:, None] * weights[None, :], "any leading axes must work"),
        (
            "00.3",
            lambda weights: weights.diag_embed() - weights[..., None] @ weights[..., None].T,
            "leading axes must work",
        ),
        (
            "00.3",
            lambda weights: weights[..., None] * weights[..., None, :] + weights.diag_embed(),
            "they are subtracted",
        ),
        ("02.2", query_without_axis, "makes it (batch, 1, d_hidden)"),
        ("02.2", weights_as_they_are, "`query @ query_weight.T`"),
        ("02.5", narrow_one_hot, "`num_classes=scores.shape[1]`"),
    ],
)
def test_a_slip_is_named_also_where_torch_stops_at_the_shapes(number, function, said):
    exercise = catalogue().find(number)
    task = exercise.tasks[0]
    for seed in range(5):
        named = judge_task(exercise, task, in_process(function, task, exercise.forbidden), seed).mistake
        assert named is not None and said in named.sentence


def test_large_scores_are_drawn_so_that_a_report_shows_them_exactly():
    """Scores that look alike must have weights that are alike."""
    exercise = catalogue().find("00.2")
    unguarded = next(each for each in exercise.tasks[0].mistakes if each.name == "no guard against overflow")
    problem = next(text for name, text in told(exercise, unguarded.implementation).items() if "10,000" in name)
    assert problem.startswith(
        "scores = [10000.0, 10001.0], temperature = 1.0: got [nan, nan], expected [0.2689, 0.7311]"
    )


def test_only_the_empty_row_is_judged_for_zeros():
    def masked_mean(values, mask):
        return (values * mask[..., None]).sum(1) / 2  # wrong, but nothing comes of nothing

    problems = told(catalogue().find("00.4"), masked_mean)
    assert problems["a row with nothing to count gives zeros"] is None
    assert problems["the mean of what counts"] is not None


def test_the_gradient_of_the_expected_reward_is_unbiased_for_the_estimate_and_for_no_scaled_one():
    (task,) = catalogue().find("02.5").tasks
    check = next(each.check for each in task.properties if each.name.startswith("unbiased"))
    for factor, found in ((1.0, False), (1.01, True)):
        phase = Phase(check, draw_cases(task, 0)[-1])
        values = [factor * task.reference(**each.arguments) for each in phase.questions]
        replies = [Reply(each.arguments, value, value) for each, value in zip(phase.questions, values, strict=True)]
        assert (phase.verdict(replies) is not None) == found
