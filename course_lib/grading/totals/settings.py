"""The file that says what a course is made of, such as course.toml."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from course_lib.grading.nearest import did_you_mean
from course_lib.project import CourseError


@dataclass(frozen=True)
class Assignment:
    """One assignment: the folder of its grades, when it was due, its weight, and the table of the times."""

    name: str
    grades: Path
    due: datetime | None = None
    weight: float = 1.0
    submitted: Path | None = None


@dataclass(frozen=True)
class LateRule:
    """What lateness costs: a share of the points for each day begun after the grace; later than `at_most_days`, all."""

    per_day: float
    grace_minutes: float = 0
    at_most_days: int | None = None


@dataclass(frozen=True)
class Course:
    """The assignments, what lateness costs, if it does, and how many of the lowest are dropped."""

    assignments: tuple[Assignment, ...]
    late: LateRule | None = None
    drop_lowest: int = 0


@dataclass(frozen=True)
class Key:
    """What a key may hold: a test, the words for it, and whether it must be there."""

    fits: Callable[[Any], bool]
    words: str
    required: bool = False


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


DROP = Key(lambda value: _whole(value) and value >= 0, "a whole number, 0 or more")
COURSE = {
    "assignment": Key(
        lambda value: isinstance(value, list) and value != [], "tables that begin with [[assignment]]", True
    ),
    "late": Key(lambda value: isinstance(value, dict), "a table that begins with [late]"),
    "drop_lowest": DROP,
}
ASSIGNMENT = {
    "name": Key(_text, "a name", True),
    "grades": Key(_text, "the folder that `course grade --out` wrote", True),
    "due": Key(lambda value: isinstance(value, datetime), "date and time, such as 2026-11-02T23:59:00+01:00"),
    "weight": Key(lambda value: _number(value) and 0 < value < float("inf"), "a number above 0"),
    "submitted": Key(_text, "a CSV file with the columns submission and time"),
}
LATE = {
    "per_day": Key(lambda value: _number(value) and 0 <= value <= 1, "a share from 0 to 1, such as 0.1", True),
    "grace_minutes": Key(lambda value: _number(value) and 0 <= value < float("inf"), "minutes, 0 or more"),
    "at_most_days": Key(lambda value: _whole(value) and value >= 0, "a whole number of days, 0 or more"),
    # What stands at the end of the file belongs, for TOML, to the table above it; there is one thing it can mean.
    "drop_lowest": DROP,
}


def read_course(path: Path) -> Course:
    """Read the file; paths in it are relative to its folder. Raises CourseError that names file and key."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{path} is not TOML: {str(error).splitlines()[0]}") from error
    _check(told, COURSE, f"{path}")
    late = told.get("late", {})
    if late:
        _check(late, LATE, f"{path}, [late]")
    if "drop_lowest" in told and "drop_lowest" in late:
        raise CourseError(f"{path}: `drop_lowest` is there twice")
    assignments = tuple(_assignment(each, n, path) for n, each in enumerate(told["assignment"], start=1))
    names = [each.name for each in assignments]
    if twice := [name for name in names if names.count(name) > 1]:
        raise CourseError(f"{path}: two assignments have the `name` {twice[0]!r}")
    drop = told.get("drop_lowest", late.pop("drop_lowest", 0))
    if drop >= len(assignments):
        raise CourseError(f"{path}: `drop_lowest` is {drop}, and there are {len(assignments)} assignments")
    return Course(assignments, LateRule(**late) if late else None, drop)


def _assignment(told: Any, number: int, path: Path) -> Assignment:
    name = f"{path}, assignment {number}"
    if not isinstance(told, dict):
        raise CourseError(f"{name}: expected a table that begins with [[assignment]]")
    _check(told, ASSIGNMENT, name)
    own = {key: path.parent / told[key] for key in ("grades", "submitted") if key in told}
    return Assignment(**told | own)


def _check(told: dict, keys: dict[str, Key], where: str) -> None:
    """Raise CourseError for a key that is unknown or missing, or that holds what it may not."""
    for key, value in told.items():
        if key not in keys:
            raise CourseError(f"{where}: there is no key `{key}`{did_you_mean(key, keys)}")
        if not keys[key].fits(value):
            shown = value.isoformat() if hasattr(value, "isoformat") else repr(value)
            raise CourseError(f"{where}: `{key}` is {shown}, expected {keys[key].words}")
    for key, each in keys.items():
        if each.required and key not in told:
            raise CourseError(f"{where}: `{key}` is missing: {each.words}")
