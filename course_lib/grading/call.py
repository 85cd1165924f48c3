"""The seam: questions go out, answers come back, and only tensors pass between.

The engine never holds a learner's function. What answers is exchangeable: here a function in the same process
(`in_process`), in a grader a worker at the other end of a pipe (`grading.session`).
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from course_lib.grading.causes import forbidden_operator
from course_lib.grading.operators_used import functions_refused, operators_used
from course_lib.grading.problem import Problem
from course_lib.grading.sandbox.worker import frames
from course_lib.grading.sandbox.worker.attempt import Given, Unfinished, Value, at_most, attempt

if TYPE_CHECKING:
    from course_lib.grading.exercise import Case, Task


@dataclass(frozen=True, eq=False)
class Answer:
    """What came of one call: a value, or the problem because of which there is none; which inputs were changed.

    Gradients are there where they were asked for: one for each argument of floating point, by name, and for each
    parameter of a module, by its name after "state.".
    """

    value: Value | None = None
    problem: Problem | None = None
    changed: tuple[str, ...] = ()
    gradients: Mapping[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Asked:
    """One question as it goes out: with a cotangent, which weighs the entries of the output, gradients are wanted."""

    arguments: "Case"
    cotangent: torch.Tensor | None = None


@dataclass(frozen=True, eq=False)
class Round:
    """All that one task asks at once, and the frame that puts it to a worker, which many submissions are sent."""

    task: "Task"
    questions: tuple[Asked, ...]

    @cached_property
    def frame(self) -> bytes:
        """The questions as a worker reads them."""
        told, tensors = [], {}
        for number, question in enumerate(self.questions):
            plain, functions = {}, {}
            for name, each in question.arguments.items():
                if isinstance(each, torch.Tensor):
                    tensors[f"{number}.argument.{name}"] = each
                elif self.task.constructor is not None and name == "state":
                    tensors |= {f"{number}.state.{key}": parameter for key, parameter in each.items()}
                elif isinstance(each, Given):
                    functions[name] = [each.title, each.source]
                else:
                    plain[name] = each
            if question.cotangent is not None:
                tensors[f"{number}.cotangent"] = question.cotangent
            told.append({"order": list(question.arguments), "plain": plain, "functions": functions})
        head = {"function": self.task.function, "constructor": self.task.constructor, "questions": told}
        return frames.pack(head, tensors)


# One answer for each question of a round, in order.
Answerer = Callable[[Round], list[Answer]]


def missing(problem: Problem) -> Answerer:
    """Answer every question with `problem`: there is no function to ask."""
    return lambda asked: [Answer(problem=problem)] * len(asked.questions)


def in_process(function: Callable, task: "Task", forbidden: Mapping[str, str] = MappingProxyType({})) -> Answerer:
    """Answer by calling `function`, the learner's version of `task`, on copies of the arguments.

    `forbidden` maps operators of the dispatcher to the names that people use; an answer that used one is a problem,
    not a value. A class is made and called; a function is called, also where the task asks for a class: a wrong answer
    of an exercise may be a function.
    """
    return lambda asked: [ask(function, task, question, forbidden) for question in asked.questions]


def patient(function: Callable, task: "Task", forbidden: Mapping[str, str], seconds: float) -> Answerer:
    """Answer as `in_process` does; a call that does not end in time is interrupted, and no other question is put."""

    def answer(asked: Round) -> list[Answer]:
        answers: list[Answer] = []
        for question in asked.questions:
            if answers and answers[-1].problem and answers[-1].problem.kind == "time":
                answers.append(answers[-1])
            else:
                answers.append(ask_in_time(function, task, question, forbidden, seconds))
        return answers

    return answer


def ask_in_time(
    function: Callable, task: "Task", question: Asked, forbidden: Mapping[str, str], seconds: float
) -> Answer:
    """Return the answer of `function` in this process to one question; a call that takes too long is interrupted."""
    try:
        with at_most(seconds):
            return ask(function, task, question, forbidden)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an answer may raise what is no Exception
        kind = "unfinished" if isinstance(error, Unfinished) else "raised"
        fault = {"kind": kind, "error": type(error).__name__, "message": str(error), "line": None, "text": ""}
        return Answer(problem=no_value(fault, question.arguments))


def ask(function: Callable, task: "Task", question: Asked, forbidden: Mapping[str, str]) -> Answer:
    """Return the answer of `function` in this process to one question; see `in_process`."""
    constructor = task.constructor if isinstance(function, type) else None
    arguments = question.arguments
    copies = {name: each.clone() if isinstance(each, torch.Tensor) else each for name, each in arguments.items()}
    with functions_refused(forbidden), operators_used(forbidden) if forbidden else nullcontext(set()) as used:
        tried = attempt(function, copies, constructor, question.cotangent)
    if tried.fault:
        return Answer(problem=no_value(tried.fault, arguments))
    if caught := sorted(used.intersection(forbidden)):
        own = " and ".join(f"{forbidden[operator]} ({operator})" for operator in caught)
        return Answer(problem=Problem("forbidden", got=own))
    return fitting(tried.value, copies, tried.gradients, task, arguments)


def fitting(
    value: Value, after: Mapping[str, Any], gradients: Mapping[str, torch.Tensor], task: "Task", arguments: "Case"
) -> Answer:
    """Return the answer of a call that came to its end: `value`, and the arguments as they were `after` it."""
    if isinstance(value, torch.Tensor) == bool(task.outputs) or (task.outputs and len(value) != len(task.outputs)):
        got = "one tensor" if isinstance(value, torch.Tensor) else f"a tuple of {len(value)} tensors"
        return Answer(problem=Problem("outputs", arguments, got=got))
    given = {name: each for name, each in arguments.items() if isinstance(each, torch.Tensor)}
    changed = tuple(name for name, each in given.items() if not _same(after[name], each))
    return Answer(value=value, changed=changed, gradients=gradients)


FAULTS = {  # what `worker.attempt` calls the ways in which a call gives no value, and what the gradebook calls them
    "unwritten": "unwritten",
    "signature": "signature",
    "parameters": "parameters",
    "value": "no value",
    "layout": "layout",
    "no gradient": "no gradient",
    "unfinished": "time",
    "unsteady": "unsteady",
    "raised": "crash",
}


def no_value(fault: Mapping[str, Any], arguments: "Case") -> Problem:
    """Return the problem of a call that gave no value; `fault` is what `worker.attempt` tells of it.

    In a worker the dispatcher itself refuses what is forbidden: here that is told as it is told of other answers.
    """
    if operator := forbidden_operator(str(fault.get("message", ""))):
        return Problem("forbidden", got=operator)
    return Problem(FAULTS[fault["kind"]], arguments, fault=fault)


def placed(answer: Answer, place: str) -> Answer:
    """Return an answer that failed outside of its own cell with the `place` in words, or without its line for ""."""
    fault = {**answer.problem.fault, "file": place}
    return replace(answer, problem=replace(answer.problem, fault=fault if place else {**fault, "line": None}))


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one, other)
