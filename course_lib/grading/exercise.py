"""The form of an exercise: what is asked for, what is verified, and how people go wrong."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from course_lib.grading.problem import Problem
from course_lib.grading.sandbox.worker.attempt import Given, Value

__all__ = ["Case", "Check", "Exercise", "Given", "Mistake", "Property", "Question", "Reply", "Task"]

# Arguments by name: tensors, plain numbers and functions that are `Given` by their source, so that a case can travel to
# another process; and for a module "state", its parameters by name.
Case = dict[str, Any]
Reference = Callable[..., Value]


@dataclass(frozen=True, eq=False)
class Question:
    """One call that a check wants to be made: its arguments, and whether it wants the gradients as well.

    With `output`, the check looks at that tensor of the tuple only, counted from 0, and the others may be of any shape.
    `expected` is what the reference says, where a check knows it: nobody has to compute it then.
    """

    arguments: Case
    gradients: bool = False
    output: int | None = None
    expected: Value | None = None


@dataclass(frozen=True, eq=False)
class Reply:
    """What came of one question, beside what the reference says to it.

    The engine has held `value` to the shapes and the kinds of numbers of `expected` before a check sees it. `changed`
    names the arguments that the call changed in place. Gradients, by the name of the argument or, for a parameter of a
    module, "state.name", are there where the question asked for them, of the output's entries weighed by `cotangent`.
    """

    arguments: Case
    value: Value
    expected: Value
    changed: tuple[str, ...] = ()
    gradients: Mapping[str, torch.Tensor] = field(default_factory=dict)
    expected_gradients: Mapping[str, torch.Tensor] = field(default_factory=dict)
    cotangent: torch.Tensor | None = None

    @property
    def of_reference(self) -> "Reply":
        """The reply to the same question if the reference were the answer."""
        return replace(self, value=self.expected, changed=(), gradients=self.expected_gradients)


# A check has two phases with one `yield` between them: it yields its questions about a case (arguments, or a
# `Question`, or a list of either), is sent the replies (one, or a list), and returns the problem it found, or None.
Check = Callable[[Case], Generator[Any, Any, Problem | None]]


@dataclass(frozen=True, eq=False)
class Property:
    """One thing that is true of every right answer, and its points.

    With `only_when_right` the points count only where every other property of the task holds.
    """

    name: str
    points: int
    check: Check
    only_when_right: bool = False


@dataclass(frozen=True, eq=False)
class Mistake:
    """One way in which people go wrong: what to tell them, and the property that must fail.

    It is a function or class, or a patch of the worked answer: the lines `before` became the lines `after`. `make`
    returns the wrong answer; ask for `implementation`. For a patch, `make_with` returns the answer that makes another
    mistake as well; it raises ValueError where the two do not go together.
    """

    name: str
    breaks: str
    sentence: str
    make: Callable[[], Callable]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    make_with: Callable[["Mistake"], Callable] | None = None

    @cached_property
    def implementation(self) -> Callable:
        """The wrong answer itself, made when it is wanted for the first time."""
        return self.make()


@dataclass(frozen=True, eq=False)
class Task:
    """One function to write; `cases` draws one random case, `examples` are the fixed ones of the statement.

    `edges` are fixed cases that chance hardly ever draws: sizes of one, ties, numbers on a border or at an extreme.
    `mistakes` are a text in the form that `grading.mistakes` reads; the catalogue puts what it reads in its place. With
    `constructor`, the task is a class of `nn.Module`: a case then holds the arguments that make it, its parameters
    under "state", and the arguments of `forward`; the reference is a function of all of these. A question without
    "state" is about a new module, with the parameters that it drew itself. With `outputs`, a tuple is to be returned,
    and these are the names of its tensors.
    """

    function: str
    parameters: tuple[str, ...]
    returns: str
    cases: Callable[[torch.Generator], Case]
    examples: tuple[Case, ...]
    reference: Reference
    properties: tuple[Property, ...]
    mistakes: str | tuple[Mistake, ...]
    constructor: tuple[str, ...] | None = None
    outputs: tuple[str, ...] = ()
    edges: tuple[Case, ...] = ()

    @property
    def signature(self) -> str:
        """The call as a learner writes it, such as `attend(weights, values)` or `Attention(d_model)(inputs)`."""
        made = "" if self.constructor is None else f"({', '.join(self.constructor)})"
        return f"{self.function}{made}({', '.join(self.parameters)})"

    @property
    def points(self) -> int:
        """The points of all properties."""
        return sum(each.points for each in self.properties)


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise: `difficulty` from 1 to 4; hints from a nudge to a plan to nearly the line.

    `forbidden` are operators that an answer must do without: torch's dispatcher calls one "aten::_softmax", where
    people say "torch.softmax". `id`, such as "05.2", comes from the place of its module: the catalogue puts it in.
    """

    title: str
    difficulty: int
    minutes: int
    tasks: tuple[Task, ...]
    hints: tuple[str, ...]
    forbidden: Mapping[str, str] = field(default_factory=dict)
    id: str = ""

    @property
    def points(self) -> int:
        """The points of all tasks."""
        return sum(task.points for task in self.tasks)
