"""Knowing beforehand what the judges will ask: they ask the reference first, and all is then asked at once.

A question that goes to a worker by itself costs two switches from process to process; the same seed asks every
submission the same questions.
"""

from collections import OrderedDict
from typing import Any

import torch

from course_lib.grading.call import Answer, Call, NoAnswer
from course_lib.grading.exercise import Task
from course_lib.grading.isolation.inside import frames
from course_lib.grading.isolation.inside.attempt import Given
from course_lib.grading.judging import draw_cases

Question = tuple[dict[str, Any], torch.Tensor | None]  # the arguments, and a cotangent where gradients are wanted
KEPT = 64  # rehearsals of as many tasks

_rehearsed: OrderedDict[tuple[int, int], tuple[Task, list, bytes]] = OrderedDict()


def rehearse(task: Task, seed: int) -> tuple[list[Question], bytes]:
    """Return the questions that the judges of `task` put to a right answer, and the frame that asks them all."""
    key = id(task), seed
    if key not in _rehearsed:
        questions = _questions(task, seed)
        _rehearsed[key] = (task, questions, ask(task, questions))  # the task too, so that its id stays its own
        if len(_rehearsed) > KEPT:
            _rehearsed.popitem(last=False)
    _, questions, frame = _rehearsed[key]
    return questions, frame


def ask(task: Task, questions: list[Question]) -> bytes:
    """Return the frame that puts `questions` to a worker."""
    told, tensors = [], {}
    for number, (arguments, cotangent) in enumerate(questions):
        plain, functions = {}, {}
        for name, each in arguments.items():
            if isinstance(each, torch.Tensor):
                tensors[f"{number}.argument.{name}"] = each
            elif task.constructor is not None and name == "state":
                tensors |= {f"{number}.state.{key}": parameter for key, parameter in each.items()}
            elif isinstance(each, Given):
                functions[name] = [each.title, each.source]
            else:
                plain[name] = each
        if cotangent is not None:
            tensors[f"{number}.cotangent"] = cotangent
        told.append({"order": list(arguments), "plain": plain, "functions": functions})
    return frames.pack({"function": task.function, "constructor": task.constructor, "questions": told}, tensors)


def fingerprint(arguments: dict[str, Any], cotangent: torch.Tensor | None) -> tuple:
    """Return what two equal questions have in common."""
    return tuple((name, _content(each)) for name, each in arguments.items()), _content(cotangent)


def _content(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((name, _content(each)) for name, each in value.items())
    if not isinstance(value, torch.Tensor):
        return value
    return value.dtype, value.shape, value.detach().numpy().tobytes()


def _questions(task: Task, seed: int) -> list[Question]:
    asked: dict[tuple, Question] = {}

    def answer(arguments: dict[str, Any], cotangent: torch.Tensor | None) -> Answer:
        asked[fingerprint(arguments, cotangent)] = (arguments, cotangent)
        return Answer(task.reference(**arguments))

    call = Call(answer, seed)
    for case in draw_cases(task, seed):
        for each in task.properties:
            try:
                each.judge(call, case)
            except NoAnswer:
                continue
    return list(asked.values())
