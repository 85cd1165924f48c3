"""What a failing check shows: the numbers of one failing call, and what came beside what was expected."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.grading.checks import SHOWN_WHOLE, differs
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
    written = list(nested([cell.rjust(width) for cell in cells], value.shape))
    return written if max(map(len, written)) <= room else [f"of shape {tuple(value.shape)}"]


def number(entry: float | int | bool, digits: int = DIGITS) -> str:
    """Return one entry of a tensor as text, with as few digits as a reader needs.

    >>> number(0.123456), number(10_001.0), number(2.5e30), number(7), number(True)
    ('0.1235', '10001.0', '2.5e+30', '7', 'True')
    """
    if isinstance(entry, float) and 1e6 <= abs(entry) < math.inf:
        return f"{entry:.{digits}g}"
    return describe(entry, digits)


def nested(cells: list[str], shape: torch.Size) -> Iterator[str]:
    """Yield the lines of nested brackets, a line for each row along the last axis."""
    if not shape:
        yield cells[0].strip()
    elif len(shape) == 1:
        yield f"[{', '.join(cells)}]"
    else:
        size = len(cells) // shape[0]
        for number in range(shape[0]):
            inner = list(nested(cells[number * size : (number + 1) * size], shape[1:]))
            inner[-1] += "]" if number == shape[0] - 1 else ","
            for place, line in enumerate(inner):
                yield ("[" if number == place == 0 else " ") + line


def same(one: Any, other: Any) -> bool:
    """Tell whether two cases, or two arguments, are the same to the last bit."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return torch.equal(one, other) if torch.is_tensor(one) and torch.is_tensor(other) else one is other or one == other
