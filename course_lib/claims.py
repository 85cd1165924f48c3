"""Stated claims: a chapter says what must hold, and stops when it does not."""

import json
import os
from pathlib import Path


class BrokenClaim(AssertionError):
    """What a chapter states does not hold in this run."""


def claim(name: str, value: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
    """State that the measured `value` keeps to its bound; print one line, raise BrokenClaim when it does not.

    >>> claim("exact match on fresh scenes", 0.9912, at_least=0.95)
    claim    exact match on fresh scenes: 0.991 (at least 0.95)
    >>> claim("exact match on fresh scenes", 0.31, at_least=0.95)
    Traceback (most recent call last):
    course_lib.claims.BrokenClaim: claim "exact match on fresh scenes" does not hold: 0.31 is not at least 0.95
    """
    _state("claim", name, value, at_least, at_most)


def control(name: str, value: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
    """State that the version which must fail does fail: the same line and the same error as `claim`.

    >>> control("uniform attention", 0.28, at_most=0.50)
    control  uniform attention: 0.28 (at most 0.5)
    """
    _state("control", name, value, at_least, at_most)


def _state(kind: str, name: str, value: float, at_least: float | None, at_most: float | None) -> None:
    value = float(value)
    if (at_least is None) == (at_most is None):
        raise ValueError(f'{kind} "{name}" needs exactly one bound: at_least or at_most')
    # A comparison with NaN is False, so a value that could not be computed never holds.
    holds = value >= at_least if at_least is not None else value <= at_most
    bound = f"at least {at_least:g}" if at_least is not None else f"at most {at_most:g}"
    _record(kind=kind, name=name, value=value, at_least=at_least, at_most=at_most, holds=holds)
    if not holds:
        raise BrokenClaim(f'{kind} "{name}" does not hold: {value:.3g} is not {bound}')
    print(f"{kind:8} {name}: {value:.3g} ({bound})")


def _record(**statement) -> None:
    """Append the statement to the file that `course claims` collects, when it runs us."""
    if path := os.environ.get("COURSE_CLAIMS_FILE"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(statement) + "\n")
