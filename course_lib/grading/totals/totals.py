"""From the records of several assignments to a row for each student: what counts, is taken off, is dropped."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from course_lib.grading.records import Record
from course_lib.grading.students import student_of
from course_lib.grading.totals.lateness import Deduction, deduction
from course_lib.grading.totals.settings import Assignment, Course
from course_lib.project import CourseError


@dataclass(frozen=True)
class Graded:
    """An assignment with the record of each student who handed in, and the times, as far as they are known."""

    assignment: Assignment
    records: Mapping[str, Record]
    times: Mapping[str, datetime]

    @property
    def points(self) -> int:
        """The points that could be earned; 0 where nothing is graded."""
        return max((record.points for record in self.records.values()), default=0)


@dataclass(frozen=True)
class Entry:
    """What one student has in one assignment; `earned` is None where there is no mark yet."""

    points: int
    earned: int | None
    handed_in: bool
    late: Deduction | None = None
    dropped: bool = False
    unknown_time: bool = False

    @property
    def counted(self) -> float | None:
        """The points after what lateness takes off."""
        return None if self.earned is None else round(self.earned - (self.late.points if self.late else 0), 2)

    @property
    def share(self) -> float:
        """The share of the points; only where there is a mark."""
        return self.counted / self.points

    @property
    def counts(self) -> bool:
        """Whether it is part of the total."""
        return self.earned is not None and not self.dropped


@dataclass(frozen=True)
class Row:
    """One student: an entry for each assignment, in order, and the share of the whole, None without any mark."""

    student: str
    entries: tuple[Entry, ...]
    share: float | None
    remarks: tuple[str, ...]

    @property
    def counted(self) -> float:
        """The sum of the points that count."""
        return round(sum(each.counted for each in self.entries if each.counts), 2)

    @property
    def points(self) -> int:
        """The sum of the points that could be earned where something counts."""
        return sum(each.points for each in self.entries if each.counts)


def by_student(assignment: Assignment, records: list[Record]) -> dict[str, Record]:
    """Return the records by student; raises CourseError where a student has two."""
    found: dict[str, Record] = {}
    for record in records:
        student = student_of(record.submission)
        if student in found:
            both = f"{found[student].submission!r} and {record.submission!r}"
            ways = "grade only one of them, or give one another name"
            raise CourseError(f"{assignment.name}: {both} are both of {student!r}: {ways}")
        found[student] = record
    return found


def rows(course: Course, graded: list[Graded]) -> list[Row]:
    """Return a row for each student of any assignment, by name."""
    students = sorted({student for each in graded for student in each.records})
    return [_row(student, course, graded) for student in students]


def _row(student: str, course: Course, graded: list[Graded]) -> Row:
    entries = _without_lowest([_entry(student, each, course) for each in graded], course.drop_lowest)
    weights = [each.weight for each in course.assignments]
    counting = [(weight, entry.share) for weight, entry in zip(weights, entries, strict=True) if entry.counts]
    whole = sum(weight for weight, _ in counting)
    share = sum(weight * share for weight, share in counting) / whole if whole else None
    told = [
        f"{assignment.name}: {sentence}"
        for assignment, entry in zip(course.assignments, entries, strict=True)
        for sentence in _remarks(entry)
    ]
    return Row(student, tuple(entries), share, tuple(told))


def _entry(student: str, graded: Graded, course: Course) -> Entry:
    record, due = graded.records.get(student), graded.assignment.due
    if record is None:
        return Entry(graded.points, 0 if graded.points else None, False)
    if record.earned is None:
        return Entry(graded.points, None, True)
    time = graded.times.get(student)
    late = deduction(record.earned, time - due, course.late) if time is not None and due is not None else None
    unknown = due is not None and graded.assignment.submitted is not None and time is None
    return Entry(record.points, record.earned, True, late, unknown_time=unknown)


def _without_lowest(entries: list[Entry], count: int) -> list[Entry]:
    """Mark the entries with the lowest shares as dropped, of equal ones the first, and leave at least one to count."""
    marked = [number for number, entry in enumerate(entries) if entry.earned is not None]
    lowest = sorted(marked, key=lambda number: entries[number].share)[: min(count, len(marked) - 1)] if marked else []
    return [replace(entry, dropped=number in lowest) for number, entry in enumerate(entries)]


def _remarks(entry: Entry) -> list[str]:
    """Say in a sentence each whatever makes the entry other than the points that were earned."""
    told = []
    if not entry.handed_in:
        told.append("not handed in, 0 points" if entry.earned is not None else "not handed in")
    elif entry.earned is None:
        told.append("not graded yet, and left out of the total")
    if entry.late:
        told.append(entry.late.sentence)
    if entry.unknown_time:
        told.append("the time is not known, and nothing is taken off")
    if entry.dropped:
        told.append(f"dropped, as the lowest share ({100 * entry.share:.0f} %)")
    return told
