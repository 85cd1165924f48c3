"""Functions that torch writes in Python, made to refuse whoever calls them, by whatever name."""

from functools import cache
from types import CodeType, FunctionType

import torch


def sentence(operator: str, said: str) -> str:
    """Say that a forbidden operator was used: `said` is what people call it."""
    return f"{said} ({operator}) was used: here it is to be written by hand"


def in_python(path: str) -> FunctionType | None:
    """Return the function at a path such as "torch.nn.functional.unfold"; None where this torch has no such function.

    >>> in_python("aten::_softmax") is None
    True
    """
    found = torch
    for name in path.split(".")[1:]:
        found = getattr(found, name, None)
    return None if found is torch else found


def refuse(function: FunctionType, message: str) -> CodeType:
    """Have `function` raise RuntimeError with this message from now on; return the code that it had.

    The function stays the same object, so that no name that it has anywhere leads to another. It must be one that is
    not made inside of another function.
    """
    before = function.__code__
    function.__code__ = _refusal(message)
    return before


@cache
def _refusal(message: str) -> CodeType:
    made: dict[str, FunctionType] = {}
    exec(f"def refuse(*arguments, **options):\n    raise RuntimeError({message!r})", made)
    return made["refuse"].__code__
