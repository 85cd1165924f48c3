"""The seam: judges ask questions, something behind them answers, and only tensors pass between.

A judge holds a `Call` and never the function. What answers is exchangeable: here a function in the same process, in an
isolated grader a worker at the other end of a pipe.
"""

import inspect
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.grading.wording import describe_case, shorten

if TYPE_CHECKING:
    from course_lib.grading.exercise import Task


@dataclass(frozen=True)
class Answer:
    """What came of one call: a tensor, or a sentence on why there is none; and which inputs were changed in place."""

    value: torch.Tensor | None = None
    problem: str = ""
    changed: tuple[str, ...] = ()


Answerer = Callable[[dict[str, Any]], Answer]


class NoAnswer(Exception):
    """A call gave no tensor that could be judged; the message says why, in one sentence."""


class Call:
    """A function as its judges see it: `call(arguments)` gives a tensor or raises NoAnswer.

    A question, which is one dictionary of arguments by name, is put once, however many judges want to know; and once
    to the reference.
    """

    def __init__(self, answer: Answerer):
        self._answer = answer
        # By the identity of the question, which stands beside its answer and so stays alive.
        self._answers: dict[int, tuple[dict[str, Any], Answer]] = {}
        self._expected: dict[tuple[int, int], tuple[dict[str, Any], torch.Tensor]] = {}

    def __call__(self, arguments: dict[str, Any]) -> torch.Tensor:
        """Return the tensor that the function gives for these arguments."""
        return self.ask(arguments).value

    def changed(self, arguments: dict[str, Any]) -> tuple[str, ...]:
        """Return the names of the arguments that the function changes in place."""
        return self.ask(arguments).changed

    def expected(self, reference: Callable[..., torch.Tensor], arguments: dict[str, Any]) -> torch.Tensor:
        """Return the tensor that `reference` gives for these arguments."""
        key = id(reference), id(arguments)
        if key not in self._expected:
            self._expected[key] = (arguments, reference(**arguments))
        return self._expected[key][1]

    def ask(self, arguments: dict[str, Any]) -> Answer:
        """Return the answer to one question; raises NoAnswer where no tensor came."""
        if id(arguments) not in self._answers:
            self._answers[id(arguments)] = (arguments, self._answer(arguments))
        answer = self._answers[id(arguments)][1]
        if answer.value is None:
            raise NoAnswer(answer.problem)
        return answer

    @property
    def record(self) -> list[tuple[dict[str, Any], Answer]]:
        """Every question that was put, and its answer."""
        return list(self._answers.values())


def missing(sentence: str) -> Answerer:
    """Answer every question with `sentence`: there is no function to ask."""
    return lambda arguments: Answer(problem=sentence)


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
        self.names.add(operator.name())
        return operator(*args, **(kwargs or {}))


def in_process(function: Callable, task: "Task", forbidden: Mapping[str, str] = MappingProxyType({})) -> Answerer:
    """Answer by calling `function`, the learner's version of `task`, on copies of the arguments.

    `forbidden` maps operators of the dispatcher to the names that people use; an answer that used one is a problem,
    not a value.
    """

    def answer(arguments: dict[str, Any]) -> Answer:
        copies = {name: each.clone() if isinstance(each, torch.Tensor) else each for name, each in arguments.items()}
        try:
            with _OperatorsUsed() if forbidden else nullcontext() as used:
                value = function(**copies)
        except (Exception, SystemExit) as error:
            return Answer(problem=_explain(error, function, task, arguments))
        if used and (caught := used.names.intersection(forbidden)):
            own = " and ".join(f"{forbidden[operator]} ({operator})" for operator in sorted(caught))
            return Answer(problem=f"{task.function} used {own}: here it is to be written by hand")
        if not isinstance(value, torch.Tensor):
            came = "nothing (is `return` missing?)" if value is None else f"a {type(value).__name__}"
            return Answer(problem=f"{describe_case(arguments)}: came {came}, expected a tensor: {task.returns}")
        if value.layout != torch.strided or value.device.type != "cpu":
            kind = f"a {value.layout} tensor on {value.device}"
            return Answer(problem=f"{describe_case(arguments)}: came {kind}, expected an ordinary one on the cpu")
        changed = tuple(name for name, each in arguments.items() if not _same(copies[name], each))
        return Answer(value=value.detach(), changed=changed)

    return answer


def _same(one: Any, other: Any) -> bool:
    return not isinstance(other, torch.Tensor) or (one.dtype == other.dtype and torch.equal(one, other))


def _explain(error: BaseException, function: Callable, task: "Task", arguments: dict[str, Any]) -> str:
    """Say in one sentence why a call ended in `error`."""
    if isinstance(error, NotImplementedError) and not str(error):
        return f"not written yet: write {task.signature}, which returns {task.returns}"
    if isinstance(error, TypeError) and callable(function) and not _accepts(function, task.parameters):
        return f"expected the signature {task.signature}, came {task.function}{inspect.signature(function)}"
    # The last line of the learner's own file is where they will look.
    own_file = function.__code__.co_filename if inspect.isfunction(function) else None
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own_file]
    where = f" in line {lines[-1].lineno} (`{shorten(lines[-1].line or '', 60)}`)" if lines else ""
    what = shorten(f"{type(error).__name__}{where}: {error}", 240)
    return f"{describe_case(arguments)}: {task.function} stopped with {what}"


def _accepts(function: Callable, parameters: tuple[str, ...]) -> bool:
    try:
        inspect.signature(function).bind(**dict.fromkeys(parameters))
    except TypeError:
        return False
    except ValueError:  # a function written in C may tell nobody what it takes
        return True
    return True
