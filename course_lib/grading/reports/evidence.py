"""What a failing check shows: the numbers of one failing call, what came beside what was expected, the case as code."""

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from course_lib.grading.checks import SHOWN_WHOLE, differs
from course_lib.grading.exercise import Task
from course_lib.grading.problem import Problem
from course_lib.grading.sandbox.worker.attempt import Given
from course_lib.grading.wording import DIGITS, describe, shorten

SHOWN, WIDEST, LONGEST = 32, 76, 30  # numbers of a tensor, characters of a line, lines in all
# Kinds of problems that come with the tensors that were compared.
COMPARED = ("value", "gradient")
# Kinds for which the arguments say nothing: what is wrong is wrong whatever they are.
WITHOUT_A_CASE = ("unwritten", "missing", "signature", "stopped", "forbidden", "later")


@dataclass(frozen=True, eq=False)
class Shown:
    """One line of numbers, or several: a name, and a tensor or anything else; `wrong` marks entries that differ."""

    name: str
    value: Any
    wrong: torch.Tensor | None = None
    digits: int = DIGITS


def arguments(problem: Problem) -> list[Shown]:
    """Return the arguments of the failing call; none where the problem is not about a call."""
    if problem.case is None or problem.kind in WITHOUT_A_CASE:
        return []
    # A property that asks about one changed case is shown that one; where it compares several, the one that was drawn.
    case = problem.asked[0] if len(problem.asked) == 1 else problem.case
    shown = [Shown(name, value) for name, value in case.items() if not isinstance(value, dict)]
    return shown + [Shown(name, value) for name, value in case.get("state", {}).items()]  # parameters of a module


def comparison(problem: Problem) -> list[Shown]:
    """Return what came and what was expected, the entries that differ marked; none where no tensors were compared."""
    got, expected = problem.whole or (problem.got, problem.expected)
    if problem.kind not in COMPARED or not torch.is_tensor(got) or not torch.is_tensor(expected):
        return []
    wrong = differs(got, expected) if got.shape == expected.shape else None
    if wrong is not None and not wrong.any():  # a property with no room for rounding
        wrong = got != expected
    digits = DIGITS
    if wrong is not None:  # what differs must not look alike
        pairs = list(zip(got[wrong].tolist(), expected[wrong].tolist(), strict=True))
        enough = (each for each in (DIGITS, 6) if all(number(a, each) != number(b, each) for a, b in pairs))
        digits = next(enough, 9)  # nine tell any two numbers of float32 apart
    return [Shown("got", got, wrong, digits), Shown("expected", expected, wrong, digits)]


def text(problem: Problem) -> list[str]:
    """Return the numbers of a failing call as lines of text; an entry that differs has a star behind it."""
    for most in (SHOWN, SHOWN_WHOLE):
        written = _one_below_the_other(arguments(problem), most) + _side_by_side(comparison(problem), most)
        if len(written) <= LONGEST:
            break
    return written


def _one_below_the_other(rows: list[Shown], most: int) -> list[str]:
    width = max((len(each.name) for each in rows), default=0)
    return [
        f"{each.name if place == 0 else '':<{width}}  {line}"
        for each in rows
        for place, line in enumerate(lines(each, most, WIDEST - width - 2))
    ]


def _side_by_side(rows: list[Shown], most: int) -> list[str]:
    """Return what came and what was expected beside each other, where there is room."""
    columns = [[each.name, *lines(each, most)] for each in rows]
    widths = [max(map(len, column)) for column in columns]
    if not rows or len(columns[0]) != len(columns[1]) or len(columns[0]) < 3 or sum(widths) + 4 > WIDEST:
        return _one_below_the_other(rows, most)
    return [f"{got:<{widths[0]}}    {expected}" for got, expected in zip(*columns, strict=True)]


def lines(shown: Shown, most: int = SHOWN, room: int = WIDEST) -> list[str]:
    """Return a value as lines: a tensor of at most so many numbers as nested brackets, a larger one by its shape.

    No line is longer than `room`: a tensor whose rows are longer is named by its shape as well.

    >>> lines(Shown("got", torch.tensor([[1.0, 10.5], [0.25, 3.0]]), torch.tensor([[False, True], [False, False]])))
    ['[[ 1.0 , 10.5*],', ' [0.25 ,  3.0 ]]']
    >>> lines(Shown("mask", torch.ones(5, 8, 9)))
    ['of shape (5, 8, 9)']
    """
    value = shown.value
    if isinstance(value, Given):
        return [shorten(value.title, room)]
    if not torch.is_tensor(value):
        return [shorten(describe(value), room)]
    if not 0 < value.numel() <= most:
        return [f"of shape {tuple(value.shape)}"]
    cells = [number(each, shown.digits) for each in value.flatten().tolist()]
    if shown.wrong is not None and shown.wrong.any():
        marks = shown.wrong.flatten().tolist()
        cells = [cell + ("*" if mark else " ") for cell, mark in zip(cells, marks, strict=True)]
    width = max(map(len, cells))
    nested = list(_nested([cell.rjust(width) for cell in cells], value.shape))
    return nested if max(map(len, nested)) <= room else [f"of shape {tuple(value.shape)}"]


def number(entry: float | int | bool, digits: int = DIGITS) -> str:
    """Return one entry of a tensor as text, with as few digits as a reader needs.

    >>> number(0.123456), number(10_001.0), number(2.5e30), number(7), number(True)
    ('0.1235', '10001.0', '2.5e+30', '7', 'True')
    """
    if isinstance(entry, float) and 1e6 <= abs(entry) < math.inf:
        return f"{entry:.{digits}g}"
    return describe(entry, digits)


def _nested(cells: list[str], shape: torch.Size) -> Iterator[str]:
    """Yield the lines of nested brackets, a line for each row along the last axis."""
    if not shape:
        yield cells[0].strip()
    elif len(shape) == 1:
        yield f"[{', '.join(cells)}]"
    else:
        size = len(cells) // shape[0]
        for number in range(shape[0]):
            inner = list(_nested(cells[number * size : (number + 1) * size], shape[1:]))
            inner[-1] += "]" if number == shape[0] - 1 else ","
            for place, line in enumerate(inner):
                yield ("[" if number == place == 0 else " ") + line


# ---------------------------------------------------------------- the case as code


def code(problem: Problem, task: Task) -> str:
    """Return Python to paste below an answer: the arguments, the calls that were made, and what was expected.

    Empty where the problem is not about a call.
    """
    if not arguments(problem):
        return ""
    first, *others = problem.asked or (problem.case,)
    graded = problem.cotangent is not None
    written = ["import torch", "", *_assignments(first, graded=graded), *_call(task, first)]
    if graded:
        output = "got[0]" if task.outputs else "got"
        written += [f"weight = {_literal(problem.cotangent)}  # what each entry of the output counts"]
        written += [f"({output} * weight).sum().backward()", f"print({_graded(problem, task)}.grad)"]
    for number, case in enumerate(others, start=2):
        changed = {name: case[name] for name in case if not same(case[name], first[name])}
        written += ["", f"# call {number} of this property{f': {problem.after}' if problem.after else ''}"]
        written += [*_assignments(changed, f"_{number}"), *_call(task, case, changed, f"_{number}")]
    if compared := comparison(problem):
        written += ["", f"# what is expected{f', {problem.where}' if problem.where else ''}"]
        written += [f"expected = {_literal(compared[1].value)}", "print(expected)"]
    source = "\n".join(written)
    infinite = sorted(set(re.findall(r"(?<![\w\"'])(inf|nan)\b", source)))
    return (f"from math import {', '.join(infinite)}\n\n" if infinite else "") + source


def _assignments(case: dict[str, Any], suffix: str = "", graded: bool = False) -> list[str]:
    written = []
    for name, value in case.items():
        line = f"{name}{suffix} = {_literal(value)}"
        if graded and torch.is_tensor(value) and value.is_floating_point():
            line += ".requires_grad_()"
        written.append(line + (f"  # {value.title}" if isinstance(value, Given) else ""))
    return written


def _call(task: Task, case: dict[str, Any], changed: Collection[str] = (), suffix: str = "") -> list[str]:
    """Return the lines of one call; the arguments in `changed` have the suffix behind their names."""

    def written(names) -> str:
        return ", ".join(f"{name}={name}{suffix if name in changed else ''}" for name in names)

    got = f"got{suffix}"
    if task.constructor is None:
        return [f"{got} = {task.function}({written(case)})", f"print({got})"]
    made = [f"module{suffix} = {task.function}({written(task.constructor)})"]
    made += [f"module{suffix}.load_state_dict(state{suffix if 'state' in changed else ''})"]
    return [*made, f"{got} = module{suffix}({written(task.parameters)})", f"print({got})"]


def _graded(problem: Problem, task: Task) -> str:
    """Return the tensor, in the code, whose gradient a problem is about."""
    name = problem.where.rpartition(" ")[2]
    return name if name in problem.case or task.constructor is None else f"module.{name}"


def _literal(value: Any) -> str:
    """Return Python that makes a value again.

    >>> _literal(torch.tensor([[0.1, 2.0], [1.0, 1e-5]]))
    'torch.tensor([[0.1, 2.0], [1.0, 1e-05]])'
    >>> _literal(torch.zeros(0, 3))
    'torch.empty(0, 3)'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {_literal(each)}" for name, each in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    if isinstance(value, Given):
        return f"({value.source})"
    if not torch.is_tensor(value):
        return repr(value)
    kind = "" if value.dtype in (torch.float32, torch.int64, torch.bool) else f", dtype={value.dtype}"
    if not value.numel():
        return f"torch.empty({', '.join(map(str, value.shape))}{kind})"
    entries = value.detach().flatten().tolist()
    # The shortest number that is the same in float32: 0.1, and not 0.10000000149011612.
    entries = [str(numpy.float32(each)) if value.dtype == torch.float32 else repr(each) for each in entries]
    return f"torch.tensor({' '.join(line.strip() for line in _nested(entries, value.shape))}{kind})"


def same(one: Any, other: Any) -> bool:
    """Tell whether two cases, or two arguments, are the same to the last bit."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return torch.equal(one, other) if torch.is_tensor(one) and torch.is_tensor(other) else one is other or one == other
