"""Exercises that ask what a function does, which an answer is to find out by trying it, and not by reading its code."""

import zlib

import pytest
import torch

from course_lib.grading.call import in_process
from course_lib.grading.catalogue import catalogue
from course_lib.grading.engine import judge_task, plan_for
from course_lib.grading.exercise import Given

COURSE = catalogue()
ASKED = [
    ("03.3", "is_equivariant"),
    ("03.4", "inputs_that_matter"),
    ("08.5", "gradient_is_right"),
    ("09.3", "hides_the_future"),
    ("09.3", "reads_the_source"),
    ("09.3", "ignores_the_padding"),
    ("10.2", "ignores_padding"),
]
by_task = pytest.mark.parametrize(("id", "function"), ASKED)


def found(id, function):
    exercise = COURSE.find(id)
    return exercise, next(task for task in exercise.tasks if task.function == function)


def earned(id, function, answer, seed=0):
    exercise, task = found(id, function)
    return judge_task(exercise, task, in_process(answer, task, exercise.forbidden), seed).earned


def fingerprint(function):
    """All that the code of a function holds: names, constants, and the code of the functions inside it."""

    def walk(code):
        constants = tuple(walk(each) if hasattr(each, "co_consts") else repr(each) for each in code.co_consts)
        return code.co_names, code.co_varnames, constants, code.co_code

    return zlib.crc32(repr(walk(function.__code__)).encode())


@by_task
def test_all_functions_that_are_handed_over_have_one_code(id, function):
    task = found(id, function)[1]
    for seed in range(3):
        asked = plan_for(task, seed).round.questions
        given = {each for question in asked for each in question.arguments.values() if isinstance(each, Given)}
        assert len(given) > 5 and len({fingerprint(each.made()) for each in given}) == 1


# ---------------------------------------------------------------- what once earned full marks


@by_task
def test_a_table_of_code_earns_nothing(id, function):
    """It was learned from what the reference says under one seed, and is tried under another."""
    task = found(id, function)[1]
    plan, table = plan_for(task, 1), {}

    def code(arguments):
        return tuple(
            fingerprint(each.made() if isinstance(each, Given) else each) for each in arguments if callable(each)
        )

    for question in plan.round.questions:
        expected = task.reference(**question.arguments)
        table.setdefault(code(question.arguments.values()), []).append(expected)

    def answer(**arguments):
        known = table.get(code(arguments.values()), [torch.tensor(False)])
        if "position" in arguments:
            return next((each for each in known if len(each) == len(arguments["inputs"])), known[0])
        return torch.stack(known).float().mean() > 0.5

    assert earned(id, function, answer) == 0


def equivariant_by_words(layer, inputs):
    words = set(layer.__code__.co_names)
    return bool(words & {"softmax", "mean", "tanh"}) and "cat" not in words


def field_by_words(layer, inputs, position):
    words, times = set(layer.__code__.co_names), torch.arange(len(inputs))
    if "avg_pool1d" in words:
        return (times - position).abs() <= (2 if "tanh" in words else 1)
    if "flip" in words:
        return times == len(inputs) - 1 - position
    if "softmax" in words:
        return times >= 0
    if "cumsum" in words and words & {"arange", "stack"}:
        return times <= position
    return times == position


def test_the_words_of_the_code_earn_nothing():
    assert earned("03.3", "is_equivariant", equivariant_by_words) == 0
    assert earned("03.4", "inputs_that_matter", field_by_words) == 0
