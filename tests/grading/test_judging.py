"""A failure is shown on the smallest case that can be found, and the search for it changes no verdict."""

import dataclasses

import pytest
import torch

from course_lib.grading import judging
from course_lib.grading.call import Answer, in_process, missing
from course_lib.grading.declarations import chapters, exercises, find_exercise
from course_lib.grading.exercise import Exercise, Property, Task
from course_lib.grading.judges import equals
from course_lib.grading.judging import TRIED, draw_cases, judge_task

EVERY_MISCONCEPTION = [
    pytest.param(exercise, task, misconception, id=f"{exercise.id}-{task.function}-{misconception.name}")
    for chapter in chapters()
    for exercise in exercises(chapter)
    for task in exercise.tasks
    for misconception in task.misconceptions
]


def double(numbers):
    """Twice each number."""
    return 2 * numbers


def draw(generator):
    """Draw up to sixty numbers."""
    return {"numbers": torch.randn(int(torch.randint(1, 61, (), generator=generator)), generator=generator)}


DOUBLE = Task(
    function="double",
    parameters=("numbers",),
    returns="twice each number",
    cases=draw,
    examples=({"numbers": torch.ones(8)},),
    reference=double,
    properties=(Property("doubled", 1, equals(double)), Property("doubled again", 1, equals(double))),
    misconceptions=(),
)
DOUBLING = Exercise(id="99.1", title="Double", difficulty=1, minutes=1, tasks=(DOUBLE,), hints=("twice",))


def wrong_from(size):
    """Return an answer that is wrong for `size` numbers or more."""
    return lambda numbers: 2 * numbers + (len(numbers) >= size)


def judged(answer, seed=0, search=True, task=DOUBLE):
    """Return the result and the number of questions that were put."""
    asked, answering = [], in_process(answer, task)

    def counted(arguments, cotangent):
        asked.append(arguments)
        return answering(arguments, cotangent)

    return judge_task(DOUBLING, task, counted, seed, search=search), len(asked)


def shown(result):
    """Return how many numbers the case of the first failing property holds."""
    problem = next(verdict.problem for verdict in result.verdicts if verdict.problem)
    case = problem.partition(": ")[0]
    return case.count(",") + 1 if "[" in case else int(case.partition("(")[2].partition(",")[0])


@pytest.mark.parametrize("size", [3, 7, 12, 25])
def test_the_smallest_case_that_fails_is_shown(size):
    for seed in range(5):
        assert size <= shown(judged(wrong_from(size), seed)[0]) <= size + 2  # not every size is drawn


def test_without_the_search_it_is_the_smallest_of_the_cases_drawn():
    found = [shown(judged(wrong_from(12), seed, search=False)[0]) for seed in range(5)]
    assert min(found) >= 12 and max(found) > 14


def test_the_search_repeats_with_its_seed():
    results = [judged(wrong_from(12), 3)[0] for _ in range(2)]
    assert results[0] == results[1]
    assert judged(wrong_from(12), 4)[0] != results[0]


@pytest.mark.parametrize(("exercise", "task", "misconception"), EVERY_MISCONCEPTION)
def test_verdicts_and_names_are_the_same_with_and_without_the_search(exercise, task, misconception):
    for seed in range(2):
        answer = in_process(misconception.implementation, task, exercise.forbidden)
        plain, searched = (judge_task(exercise, task, answer, seed, search=search) for search in (False, True))
        assert [each.earned for each in plain.verdicts] == [each.earned for each in searched.verdicts]
        assert plain.misconception is searched.misconception
        for one, other in zip(plain.verdicts, searched.verdicts, strict=True):
            assert bool(one.problem) == bool(other.problem)
            waiting = "counts once the values are right"
            assert (one.problem == waiting) == (other.problem == waiting)


def test_right_answers_are_asked_no_more_than_without_it():
    assert judged(double)[1] == judged(double, search=False)[1]


def test_few_more_questions_are_put_where_nothing_smaller_fails():
    greatest = max(len(case["numbers"]) for case in draw_cases(DOUBLE, 0))
    more = judged(wrong_from(greatest), 0)[1] - judged(wrong_from(greatest), 0, search=False)[1]
    assert more == TRIED  # both properties fail, and ask about the same cases


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(missing("not found"), id="missing"),
        pytest.param(in_process(lambda values: values, DOUBLE), id="signature"),
        pytest.param(lambda arguments, cotangent: Answer(problem=f"{len(arguments)}: stopped"), id="stopped"),
    ],
)
def test_what_is_never_answered_is_not_asked_again(answer):
    questions = []

    def counted(arguments, cotangent):
        questions.append(arguments)
        return answer(arguments, cotangent)

    for seed in range(5):
        plain, number = judge_task(DOUBLING, DOUBLE, counted, seed), len(questions)
        questions.clear()
        assert judge_task(DOUBLING, DOUBLE, counted, seed, search=True) == plain and len(questions) == number
        questions.clear()


def test_an_answer_that_takes_its_time_is_not_asked_on_and_on(monkeypatch):
    monkeypatch.setattr(judging, "PATIENCE", 0.0)
    assert judged(wrong_from(12)) == judged(wrong_from(12), search=False)


def test_a_stop_on_the_way_keeps_the_sentence_and_the_verdict():
    """A worker that is gone repeats how it ended: that is no finding about a smaller case."""
    right, asked = in_process(double, DOUBLE), []

    def answer(arguments, cotangent):
        asked.append(arguments)
        stopped = len(arguments["numbers"]) >= 12 or any(len(each["numbers"]) >= 12 for each in asked)
        return Answer(problem="numbers of shape (12,): double was stopped") if stopped else right(arguments, cotangent)

    result = judge_task(DOUBLING, DOUBLE, answer, 0, search=True)
    assert [each.problem for each in result.verdicts] == ["numbers of shape (12,): double was stopped"] * 2


def test_one_thread_computes_and_the_others_are_given_back():
    threads, seen = torch.get_num_threads(), []
    try:
        torch.set_num_threads(3)
        judged(lambda numbers: seen.append(torch.get_num_threads()) or 2 * numbers)
        assert set(seen) == {1} and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)


def test_a_property_that_counts_only_with_right_values_is_searched_by_itself():
    def attend(weights, values):
        answer = (weights[..., None] * values).sum(1)
        if values.numel() > 8:
            values.zero_()
        return answer

    exercise = find_exercise("02.3")
    task = exercise.tasks[0]
    sizes = []
    for search in (False, True):
        result = judge_task(exercise, task, in_process(attend, task), 1, search=search)
        (problem,) = [each.problem for each in result.verdicts if each.problem]
        assert "held other numbers" in problem
        sizes.append(problem)
    assert sizes[0] != sizes[1]


def test_tasks_whose_cases_hold_other_things_than_tensors_are_searched_too():
    task = dataclasses.replace(
        DOUBLE,
        cases=lambda generator: DOUBLE.cases(generator) | {"factor": 2, "state": {"weight": torch.ones(3)}},
        examples=(),
        reference=lambda numbers, factor, state: factor * numbers,
        properties=(Property("multiplied", 1, equals(lambda numbers, factor, state: factor * numbers)),),
    )
    result, _ = judged(lambda numbers, factor, state: factor * numbers + (len(numbers) >= 12), task=task)
    assert result.verdicts[0].problem.startswith("numbers of shape (12,), factor = 2, parameters of our own: 12 of 12")
