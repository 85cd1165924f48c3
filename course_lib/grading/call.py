"""The seam: judges ask questions, something behind them answers, and only tensors pass between.

A judge holds a `Call` and never the function. What answers is exchangeable: here a function in the same process
(`in_process`), in a grader a worker at the other end of a pipe (`grading.isolated`).
"""

import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.grading.isolation.inside.attempt import Value, attempt
from course_lib.grading.wording import describe_case, shorten

if TYPE_CHECKING:
    from course_lib.grading.exercise import Task

PARAMETER = re.compile(r"[^\s,]+ \([^)]*\)")  # as `inside.attempt` lists them: "to_key.bias (2,), to_key.weight (2, 4)"


@dataclass(frozen=True)
class Answer:
    """What came of one call: a value, or a sentence on why there is none; which inputs were changed in place.

    Gradients are there where they were asked for: one for each argument of floating point, by name, and for each
    parameter of a module, by its name after "state.".
    """

    value: Value | None = None
    problem: str = ""
    changed: tuple[str, ...] = ()
    gradients: Mapping[str, torch.Tensor] = field(default_factory=dict)


# Given the arguments by name and, where gradients are wanted, the cotangent: what the entries of the output weigh.
Answerer = Callable[[dict[str, Any], torch.Tensor | None], Answer]


class NoAnswer(Exception):
    """A call gave nothing that could be judged; the message says why, in one sentence."""


class Call:
    """A function as its judges see it: `call(arguments)` gives a tensor (or a tuple of them) or raises NoAnswer.

    A question, which is one dictionary of arguments by name, is put once, however many judges want to know; and once
    to the reference.
    """

    def __init__(self, answer: Answerer, seed: int = 0):
        self._answer, self._seed = answer, seed
        # By the identity of the question, which stands beside its answer and so stays alive.
        self._answers: dict[int, tuple[dict[str, Any], Answer]] = {}
        self._with_gradients: dict[int, tuple[dict[str, Any], Answer]] = {}
        self._expected: dict[tuple[int, int], tuple[dict[str, Any], Value]] = {}

    def __call__(self, arguments: dict[str, Any]) -> Value:
        """Return what the function gives for these arguments."""
        return self.ask(arguments).value

    def changed(self, arguments: dict[str, Any]) -> tuple[str, ...]:
        """Return the names of the arguments that the function changes in place."""
        return self.ask(arguments).changed

    def expected(self, reference: Callable[..., Value], arguments: dict[str, Any]) -> Value:
        """Return what `reference` gives for these arguments."""
        key = id(reference), id(arguments)
        if key not in self._expected:
            self._expected[key] = (arguments, reference(**arguments))
        return self._expected[key][1]

    def gradients(self, arguments: dict[str, Any], output: torch.Tensor) -> tuple[torch.Tensor, Mapping]:
        """Return a random cotangent, of the shape of `output`, and the gradients of the answer weighted by it.

        The function is not told the cotangent, so a gradient cannot be right by chance.
        """
        generator = torch.Generator().manual_seed(self._seed)
        cotangent = torch.randn(output.shape, generator=generator, dtype=output.dtype)
        if id(arguments) not in self._with_gradients:
            self._with_gradients[id(arguments)] = (arguments, self._answer(arguments, cotangent))
        answer = self._with_gradients[id(arguments)][1]
        if answer.value is None:
            raise NoAnswer(answer.problem)
        return cotangent, answer.gradients

    def ask(self, arguments: dict[str, Any]) -> Answer:
        """Return the answer to one question; raises NoAnswer where none came."""
        if id(arguments) not in self._answers:
            self._answers[id(arguments)] = (arguments, self._answer(arguments, None))
        answer = self._answers[id(arguments)][1]
        if answer.value is None:
            raise NoAnswer(answer.problem)
        return answer

    def ask_again(self, arguments: dict[str, Any]) -> Answer:
        """Put a question once more, to see whether the answer is the same."""
        return self._answer(arguments, None)

    @property
    def record(self) -> list[tuple[dict[str, Any], Answer]]:
        """Every question that was put, and its answer."""
        return list(self._answers.values())


def missing(sentence: str) -> Answerer:
    """Answer every question with `sentence`: there is no function to ask."""
    return lambda arguments, cotangent: Answer(problem=sentence)


class _OperatorsUsed(TorchDispatchMode):
    """Note the name of every operator that reaches torch's dispatcher.

    It notes and does not raise: an answer could catch an exception, but it cannot undo a note.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from importing its compiler, a matter of seconds, when a mode is entered for the first time."""
        return False

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.add(operator.name().partition(".")[0])  # without the overload, as the worker's dispatcher has it
        return operator(*args, **(kwargs or {}))


def in_process(function: Callable, task: "Task", forbidden: Mapping[str, str] = MappingProxyType({})) -> Answerer:
    """Answer by calling `function`, the learner's version of `task`, on copies of the arguments.

    `forbidden` maps operators of the dispatcher to the names that people use; an answer that used one is a problem,
    not a value. A class is made and called; a function is called, also where the task asks for a class: the wrong
    answers of a declaration are functions.
    """
    constructor = task.constructor if isinstance(function, type) else None

    def answer(arguments: dict[str, Any], cotangent: torch.Tensor | None) -> Answer:
        copies = {name: each.clone() if isinstance(each, torch.Tensor) else each for name, each in arguments.items()}
        with _OperatorsUsed() if forbidden else nullcontext() as used:
            came = attempt(function, copies, constructor, cotangent)
        if came.fault:
            return Answer(problem=explain(came.fault, task, arguments))
        if used and (caught := used.names.intersection(forbidden)):
            own = " and ".join(f"{forbidden[operator]} ({operator})" for operator in sorted(caught))
            return Answer(problem=f"{task.function} used {own}: here it is to be written by hand")
        return fitting(came.value, copies, came.gradients, task, arguments)

    return answer


def fitting(
    value: Value, after: dict[str, Any], gradients: Mapping[str, torch.Tensor], task: "Task", arguments: dict[str, Any]
) -> Answer:
    """Return the answer of a call that came to its end: `value`, and the arguments as they were `after` it."""
    if isinstance(value, torch.Tensor) == bool(task.outputs) or (task.outputs and len(value) != len(task.outputs)):
        came = "one tensor" if isinstance(value, torch.Tensor) else f"a tuple of {len(value)} tensors"
        due = f"a tuple ({', '.join(task.outputs)})" if task.outputs else "a tensor"
        return Answer(problem=f"{describe_case(arguments)}: came {came}, expected {due}: {task.returns}")
    given = {name: each for name, each in arguments.items() if isinstance(each, torch.Tensor)}
    changed = tuple(name for name, each in given.items() if not _same(after[name], each))
    return Answer(value=value, changed=changed, gradients=gradients)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one, other)


def explain(fault: Mapping[str, Any], task: "Task", arguments: dict[str, Any]) -> str:
    """Say in one sentence why a call gave no tensor; `fault` is what `inside.attempt` tells of it."""
    kind, name = fault["kind"], task.function
    if kind == "unwritten":
        return f"not written yet: write {task.signature}, which returns {task.returns}"
    if kind == "signature":
        return f"expected the signature {task.signature}, came {name}{shorten(fault['came'], 160)}"
    case = describe_case(arguments)
    if kind == "parameters":
        came, due = PARAMETER.findall(fault["came"]), PARAMETER.findall(fault["expected"])
        lacking = ", ".join(each for each in due if each not in came) or "none of its parameters"
        spare = ", ".join(each for each in came if each not in due)
        sentence = f"{case}: {name} lacks {shorten(lacking, 240)}"
        return sentence + (f", and has {shorten(spare, 240)}, which it should not" if spare else "")
    if kind == "value":
        came = "nothing (is `return` missing?)" if fault["came"] == "None" else f"a {shorten(fault['came'], 60)}"
        due = f"a tuple ({', '.join(task.outputs)})" if task.outputs else "a tensor"
        return f"{case}: came {came}, expected {due}: {task.returns}"
    if kind == "layout":
        return f"{case}: came a {shorten(fault['came'], 60)}, expected an ordinary one on the cpu"
    if kind == "no gradient":
        return f"{case}: the answer has no gradient (detached, or made without its inputs)"
    where = f" in line {fault['line']} (`{shorten(fault['text'], 60)}`)" if fault["line"] else ""
    if kind == "unfinished":
        return f"{case}: {name} did not end in time{', still' + where if where else ''}"
    return f"{case}: {name} stopped with {shorten(fault['error'] + where + ': ' + fault['message'], 240)}"
