"""What a failing check shows: numbers that can be read, and code that repeats the failure when it is pasted."""

import contextlib
import io

import pytest
import torch

from course_lib.grading.call import Answer, in_process
from course_lib.grading.catalogue import catalogue
from course_lib.grading.checks import difference
from course_lib.grading.engine import judge_task
from course_lib.grading.problem import Problem
from course_lib.grading.reports import as_code, evidence, learner, learner_html

COURSE = catalogue()
TASKS = [pytest.param(exercise, task, id=task.function) for exercise in COURSE for task in exercise.tasks]


def shown(exercise, task, mistake):
    result = judge_task(exercise, task, in_process(mistake.implementation, task, exercise.forbidden), 0)
    return result, learner.shown_problem(result)


@pytest.mark.parametrize(("exercise", "task"), TASKS)
def test_a_failure_is_repeated_by_pasting_its_code(exercise, task):
    repeated = 0
    for mistake in task.mistakes:
        if repeated == 3 or (task.constructor is not None and not isinstance(mistake.implementation, type)):
            continue
        _, problem = shown(exercise, task, mistake)
        if problem is None or problem.kind not in evidence.COMPARED or not evidence.comparison(problem):
            continue
        names = {task.function: mistake.implementation}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(as_code.code(problem, task), names)
        assert printed.getvalue()
        if problem.kind == "value" and not problem.where and not task.outputs and len(problem.asked) == 1:
            whole = problem.whole or (problem.got, problem.expected)
            for name, tensor in zip(("got", "expected"), whole, strict=True):
                found = torch.as_tensor(names[name])
                if found.shape == tensor.shape:  # a check may look at a part of the answer
                    torch.testing.assert_close(found, tensor, equal_nan=True, check_dtype=name == "expected")
        repeated += 1


@pytest.mark.parametrize(("exercise", "task"), TASKS)
def test_every_report_has_its_numbers_within_the_width_of_a_terminal(exercise, task):
    for mistake in task.mistakes[:4]:
        result, problem = shown(exercise, task, mistake)
        room = learner.WIDTH - len(learner.INDENT) - 2
        assert all(len(line) <= room for line in (evidence.text(problem) if problem else []))
        html = learner_html.report(exercise, [result], "0/1")
        assert html.count("<details") == html.count("</details>") >= len(task.properties)


def test_entries_that_differ_are_marked_and_never_look_alike():
    expected = torch.tensor([[0.5, 2.0], [0.25, 4.0]])
    problem = difference({"n": 1}, expected + torch.tensor([[0.0, 2e-5], [0.0, 0.0]]), expected, tolerance=0)
    assert evidence.text(problem) == [
        "n  1",
        "got                       expected",
        "[[    0.5 , 2.00002*],    [[ 0.5 ,  2.0*],",
        " [   0.25 ,     4.0 ]]     [0.25 ,  4.0 ]]",
    ]


def test_a_large_tensor_is_named_by_its_shape_and_stands_in_the_code():
    numbers = torch.arange(60.0)
    (task,) = COURSE.find("02.4").tasks
    problem = Problem("sum", {"weights": numbers.view(2, 5, 6)}, got=numbers, expected=1)
    assert evidence.text(problem) == ["weights  of shape (2, 5, 6)"]
    assert "59.0" in as_code.code(problem, task)


def test_infinite_numbers_can_be_pasted():
    (task,) = COURSE.find("02.4").tasks
    weights = torch.tensor([[[float("inf"), float("nan"), 1e30]]])
    names = {"coverage_penalty": lambda weights: weights}
    exec(as_code.code(Problem("sum", {"weights": weights}, got=weights, expected=1), task), names)
    torch.testing.assert_close(names["got"], weights, equal_nan=True)


def test_a_learner_s_text_is_escaped_in_html():
    exercise, task = COURSE.find_task("attend")
    problem = Problem("missing", note="<script>alert(1)</script>")
    result = judge_task(exercise, task, lambda asked: [Answer(problem=problem)] * len(asked.questions), 0)
    html = learner_html.report(exercise, [result], "<b>", printed="<i>")
    assert "<script>" not in html and "<b>" not in html and "<i>" not in html
