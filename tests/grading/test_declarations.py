"""Every declaration keeps its promises: wrong answers lose the right points and are named, nothing goes unverified."""

import pytest
import torch

from course_lib.grading.call import Call, in_process
from course_lib.grading.declarations import chapters, exercises, find_exercise
from course_lib.grading.judges import equals, sums_to
from course_lib.grading.judging import draw_cases, judge_task
from course_lib.grading.rehearsal import fingerprint
from course_lib.project import CourseError

EXERCISES = [exercise for chapter in chapters() for exercise in exercises(chapter)]
TASKS = [(exercise, task) for exercise in EXERCISES for task in exercise.tasks]
MISCONCEPTIONS = [(exercise, task, wrong) for exercise, task in TASKS for wrong in task.misconceptions]

each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=[exercise.id for exercise in EXERCISES])
each_task = pytest.mark.parametrize(("exercise", "task"), TASKS, ids=[task.function for _, task in TASKS])
each_misconception = pytest.mark.parametrize(
    ("exercise", "task", "wrong"), MISCONCEPTIONS, ids=[f"{task.function}: {m.name}" for _, task, m in MISCONCEPTIONS]
)


def broken(result) -> set[str]:
    return {verdict.property.name for verdict in result.verdicts if verdict.problem}


@each_misconception
def test_a_misconception_loses_its_property_and_is_named(exercise, task, wrong):
    for seed in range(5):
        result = judge_task(exercise, task, in_process(wrong.implementation, task, exercise.forbidden), seed)
        assert wrong.breaks in broken(result)
        assert result.misconception is wrong
        assert result.earned < task.points


@each_task
def test_every_property_is_broken_by_some_misconception(exercise, task):
    assert {each.name for each in task.properties} == {wrong.breaks for wrong in task.misconceptions}


@each_task
def test_on_the_stub_every_property_fails_by_name_and_says_what_to_write(exercise, task):
    def stub(**arguments):
        raise NotImplementedError

    result = judge_task(exercise, task, in_process(stub, task, exercise.forbidden), 0)
    assert broken(result) == {each.name for each in task.properties}
    assert result.earned == 0 and result.misconception is None
    for verdict in result.verdicts:
        if not verdict.property.only_when_right:
            assert task.signature in verdict.problem and task.returns in verdict.problem


@each_task
def test_the_reference_is_right_and_leaves_cases_alone(exercise, task):
    for seed in range(5):
        result = judge_task(exercise, task, in_process(task.reference, task), seed)
        assert result.earned == task.points, broken(result)


@each_task
def test_an_example_is_a_case_of_the_declared_parameters(exercise, task):
    drawn = draw_cases(task, 0)[0]
    for example in task.examples:
        made_of = () if task.constructor is None else (*task.constructor, "state")
        assert tuple(example) == (*made_of, *task.parameters) == tuple(drawn)
        for name, value in example.items():
            assert type(value) is type(drawn[name])
            if isinstance(value, torch.Tensor):
                assert value.dtype == drawn[name].dtype
        answer = task.reference(**example)
        for each in answer if task.outputs else (answer,):
            assert each.isfinite().all()


@each_task
def test_cases_are_small_first_and_repeat_with_the_seed(exercise, task):
    def numbers(case):
        return sum(value.numel() for value in case.values() if isinstance(value, torch.Tensor))

    first, again, other = draw_cases(task, 7), draw_cases(task, 7), draw_cases(task, 8)
    assert [numbers(case) for case in first] == sorted(numbers(case) for case in first)
    assert len(first) == 10 + len(task.examples)

    def same(some, others):
        return [fingerprint(case, None) for case in some] == [fingerprint(case, None) for case in others]

    assert same(first, again) and not same(first, other)


@each_exercise
def test_an_exercise_is_complete(exercise):
    assert exercise.difficulty in (1, 2, 3, 4) and exercise.minutes > 0
    assert len(exercise.hints) >= 3 and all(exercise.hints)
    wrong = sum(len(task.misconceptions) for task in exercise.tasks)
    assert wrong >= 3 and all(task.misconceptions for task in exercise.tasks)
    assert exercise.points == sum(each.points for task in exercise.tasks for each in task.properties) > 0


def test_names_are_unique():
    functions = [task.function for _, task in TASKS]
    assert len(set(functions)) == len(functions)
    assert [exercise.id for exercise in EXERCISES] == [
        *("00.1", "00.2", "00.3", "00.4"),
        *("01.1", "01.2", "01.3", "01.4", "01.5"),
        *("02.1", "02.2", "02.3", "02.4", "02.5"),
        *("03.1", "03.2", "03.3", "03.4", "03.5"),
        *("04.1", "04.2", "04.3", "04.4", "04.5"),
        *("05.1", "05.2", "05.3", "05.4", "05.5"),
        *("06.1", "06.2", "06.3", "06.4", "06.5"),
        *("07.1", "07.2", "07.3", "07.4", "07.5", "07.6"),
        *("08.1", "08.2", "08.3", "08.4", "08.5"),
        *("09.1", "09.2", "09.3", "09.4", "09.5"),
        *("10.1", "10.2", "10.3", "10.4"),
        *("11.1", "11.2", "11.3", "11.4", "11.5"),
        *("12.1", "12.2", "12.3", "12.4", "12.5"),
        *("13.1", "13.2", "13.3", "13.4", "13.5"),
        *("14.1", "14.2", "14.3", "14.4", "14.5"),
        *("15.1", "15.2", "15.3", "15.4"),
    ]


def test_an_exercise_is_found_by_its_number_or_refused_in_one_sentence():
    assert find_exercise("02.3").tasks[0].function == "attend"
    assert find_exercise("2.3").tasks[0].function == "attend"
    for unknown, names in (("02.9", "02.1"), ("99.1", "00"), ("2.9", "02.1"), ("attend", "02.3")):
        with pytest.raises(CourseError, match=names):
            find_exercise(unknown)


def test_the_jacobian_is_the_derivative_of_the_softmax():
    weights = torch.tensor([0.1, 0.2, 0.7], dtype=torch.float64)
    by_autograd = torch.autograd.functional.jacobian(lambda scores: scores.softmax(-1), weights.log())
    torch.testing.assert_close(find_exercise("00.3").tasks[0].reference(weights=weights), by_autograd)


def test_without_tanh_the_query_has_no_influence():
    """The sentence that names this misconception says so."""
    task = find_exercise("02.2").tasks[0]
    no_tanh = next(wrong for wrong in task.misconceptions if wrong.name == "no tanh")
    case = draw_cases(task, 3)[-1]
    other = case | {"query": case["query"] + torch.randn_like(case["query"])}
    torch.testing.assert_close(no_tanh.implementation(**case), no_tanh.implementation(**other))


def test_a_question_is_put_once():
    asked = []
    task = find_exercise("02.4").tasks[0]

    def answer(weights):
        asked.append(weights)
        return task.reference(weights)

    call, case = Call(in_process(answer, task)), task.examples[0]
    assert torch.equal(call(case), call(case)) and call.changed(case) == ()
    assert len(asked) == 1


def test_the_reference_is_computed_once_for_each_case():
    task, seen = find_exercise("00.3").tasks[0], []

    def reference(weights):
        seen.append(weights)
        return task.reference(weights)

    case = task.examples[1]
    call = Call(in_process(task.reference, task))
    assert equals(reference)(call, case) is None and sums_to(0, reference)(call, case) is None
    assert len(seen) == 1


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
    exercise = find_exercise(number)
    task = exercise.tasks[0]
    for seed in range(5):
        named = judge_task(exercise, task, in_process(function, task, exercise.forbidden), seed).misconception
        assert named is not None and said in named.sentence


def test_large_scores_are_drawn_so_that_a_report_shows_them_exactly():
    """Scores that look alike must have shares that are alike."""
    exercise = find_exercise("00.2")
    task = exercise.tasks[0]
    unguarded = next(wrong.implementation for wrong in task.misconceptions if wrong.name == "no guard against overflow")
    result = judge_task(exercise, task, in_process(unguarded, task, exercise.forbidden), 0)
    problem = next(verdict.problem for verdict in result.verdicts if "10,000" in verdict.property.name)
    assert problem.startswith(
        "scores = [10000.0, 10001.0], temperature = 1.0: came [nan, nan], expected [0.2689, 0.7311]"
    )


def test_only_the_empty_row_is_judged_for_zeros():
    def masked_mean(values, mask):
        return (values * mask[..., None]).sum(1) / 2  # wrong, but nothing comes of nothing

    exercise = find_exercise("00.4")
    result = judge_task(exercise, exercise.tasks[0], in_process(masked_mean, exercise.tasks[0]), 0)
    problems = {verdict.property.name: verdict.problem for verdict in result.verdicts}
    assert problems["a row with nothing to count gives zeros"] is None
    assert problems["the mean of what counts"] is not None


def test_the_gradient_of_the_expected_reward_is_unbiased_for_the_estimate_and_for_no_scaled_one():
    task = find_exercise("02.5").tasks[0]
    judge = next(each.judge for each in task.properties if each.name.startswith("unbiased"))
    case = draw_cases(task, 0)[-1]
    assert judge(Call(in_process(task.reference, task)), case) is None
    assert "came" in judge(Call(in_process(lambda **named: 1.01 * task.reference(**named), task)), case)
