"""Functions that torch writes in Python, made to refuse whoever calls them, by whatever name."""

from collections.abc import Callable
from functools import cache
from types import CodeType

import torch


def sentence(operator: str, said: str) -> str:
    """Say that a forbidden operator was used: `said` is what people call it."""
    return f"{said} ({operator}) was used: here it is to be written by hand"


def in_python(path: str) -> Callable | None:
    """Return the function at a path such as "torch.nn.functional.unfold"; None where this torch has no such function.

    >>> in_python("aten::_softmax") is None
    True
    """
    found = torch
    for name in path.split(".")[1:]:
        found = getattr(found, name, None)
    return None if found is torch else found


def refuse(function: Callable, message: str) -> CodeType:
    """Have `function` raise RuntimeError with this message from now on; return the code that it had.

    The function stays the same object, so that no name that it has anywhere leads to another.
    """
    before = function.__code__
    function.__code__ = _refusal(message, before.co_freevars)
    return before


@cache
def _refusal(message: str, free: tuple[str, ...]) -> CodeType:
    """Return the code; it names the variables around the function, which Python asks of code that takes a place."""
    made: dict[str, Callable] = {}
    exec(f"def refuse(*arguments, **options):\n    raise RuntimeError({message!r})", made)
    return made["refuse"].__code__.replace(co_freevars=free)
