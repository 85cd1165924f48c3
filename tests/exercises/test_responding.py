"""What is said without a look at the numbers earns nothing: a constant has locality, and rows that sum to one."""

import pytest
import torch
from torch.nn.functional import one_hot

from course_lib.exercises.responding import SAME
from course_lib.grading.call import in_process
from course_lib.grading.catalogue import catalogue
from course_lib.grading.engine import judge_task

COURSE = catalogue()


def first_location(query, keys, **parameters):
    return one_hot(torch.zeros(keys.shape[:2], dtype=torch.long)[:, 0], keys.shape[1]).float()


def first_visible_key(query, key, value, mask):
    weights = torch.zeros(*query.shape[:-1], key.shape[-2])
    weights = one_hot(mask.expand_as(weights).float().argmax(-1), key.shape[-2]).float()
    return weights @ value, weights


def first_score(scores):
    return one_hot(torch.zeros(scores.shape[:-1], dtype=torch.long), scores.shape[-1]).to(scores.dtype)


def first_value(query, key, value, lengths):
    first = value[:, :1].expand(*query.shape[:-1], value.shape[-1])
    return first * (lengths > 0).view(-1, 1, 1).float()


@pytest.mark.parametrize(
    ("id", "answer"),
    [("02.2", first_location), ("05.1", first_visible_key), ("05.2", first_score), ("05.3", first_value)],
)
def test_what_does_not_respond_to_its_inputs_earns_nothing(id, answer):
    exercise = COURSE.find(id)
    (task,) = exercise.tasks
    for seed in range(2):
        result = judge_task(exercise, task, in_process(answer, task, exercise.forbidden), seed)
        assert result.earned == 0
        assert any(each.problem and each.problem.note == SAME for each in result.verdicts)


def test_points_for_a_part_are_kept():
    """Of mistakes that are wrong in one respect."""
    kept = {
        "02.2": {"no tanh": 3, "query forgotten": 3, "softmax forgotten": 2},
        "05.1": {"mask ignored": 1, "no scale": 4, "-1e9 put in": 7},
        "05.2": {"no mask": 1, "the present hidden, by -1e9": 4, "a score of 0 hidden": 4},
        "05.3": {"mask after the softmax": 2, "no scale": 5},
    }
    for id, points in kept.items():
        exercise = COURSE.find(id)
        (task,) = exercise.tasks
        for mistake in task.mistakes:
            if mistake.name in points:
                answer = in_process(mistake.implementation, task, exercise.forbidden)
                assert judge_task(exercise, task, answer, 0).earned == points[mistake.name], (id, mistake.name)
