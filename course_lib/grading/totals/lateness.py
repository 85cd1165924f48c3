"""How late a submission was, and what that costs."""

import csv
import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from course_lib.grading.students import student_of
from course_lib.grading.totals.settings import LateRule
from course_lib.project import CourseError

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Deduction:
    """How many points are taken off, and why, in a sentence."""

    points: float
    sentence: str


def deduction(earned: int, late_by: timedelta, rule: LateRule | None) -> Deduction | None:
    """Return what lateness costs a submission that earned so many points; None where it was in time.

    >>> deduction(10, timedelta(days=1, hours=3), LateRule(0.1, grace_minutes=15)).sentence
    '1 d 3 h late, which is 2 days begun: 20 % of 10 points are taken off, 2 points'
    """
    if late_by <= timedelta(0):
        return None
    late = f"{_duration(late_by)} late"
    if rule is None:
        return Deduction(0, f"{late}, which costs nothing: there is no [late]")
    over = late_by - timedelta(minutes=rule.grace_minutes)
    if over <= timedelta(0):
        return Deduction(0, f"{late}, within the grace of {rule.grace_minutes:g} minutes: nothing is taken off")
    days = math.ceil(over / DAY)
    begun = f"which is {days} day{'s' * (days > 1)} begun"
    if rule.at_most_days is not None and days > rule.at_most_days:
        return Deduction(
            earned, f"{late}, {begun}: later than {rule.at_most_days} days, all {earned} points are taken off"
        )
    share = min(1.0, rule.per_day * days)
    points = round(share * earned, 2)
    in_all = f"{points:g} point{'s' * (points != 1)}"
    return Deduction(points, f"{late}, {begun}: {100 * share:g} % of {earned} points are taken off, {in_all}")


def read_times(path: Path, due: datetime | None) -> dict[str, datetime]:
    """Return when each student handed in, from a table with the columns submission and time.

    Raises CourseError, with the line, for a time that is none, or that cannot be compared with `due`.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            rows, columns = list(table), table.fieldnames or []
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"{path} is no table in UTF-8: {error}") from error
    if missing := {"submission", "time"} - set(columns):
        raise CourseError(f"{path} has no column {sorted(missing)[0]!r}: expected submission,time in the first line")
    times: dict[str, datetime] = {}
    for line, row in enumerate(rows, start=2):
        student = student_of(row["submission"] or "")
        if student in times:
            raise CourseError(f"{path}, line {line}: there is a time of {student!r} already")
        times[student] = _time(row["time"] or "", due, f"{path}, line {line}")
    return times


def _time(text: str, due: datetime | None, where: str) -> datetime:
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise CourseError(f"{where}: the time is {text!r}, expected one such as 2026-11-03T08:15:00+01:00") from error
    if due is not None and (time.tzinfo is None) != (due.tzinfo is None):
        which, other = ("the time", "`due`") if time.tzinfo is None else ("`due`", "the time")
        raise CourseError(
            f"{where}: {which} has no offset from UTC and {other} has one, such as +01:00: write both alike"
        )
    return time


def _duration(span: timedelta) -> str:
    """Return a time in its two largest units.

    >>> _duration(timedelta(days=1, hours=3, minutes=5)), _duration(timedelta(minutes=12))
    ('1 d 3 h', '12 min')
    """
    seconds = math.ceil(span.total_seconds())
    units = (("d", seconds // 86400), ("h", seconds // 3600 % 24), ("min", seconds // 60 % 60), ("s", seconds % 60))
    first = next(n for n, (_, amount) in enumerate(units) if amount)
    return " ".join(f"{amount} {unit}" for unit, amount in units[first : first + 2] if amount)
