"""`course total`: from the gradebooks of several assignments to one table of the course."""

import csv
import io
from pathlib import Path

import typer

from course_lib.files import write_atomically
from course_lib.grading.grade_command import GRADEBOOK
from course_lib.grading.grade_said import printable
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.nearest import nearest
from course_lib.grading.reports import templates
from course_lib.grading.spreadsheet import cell
from course_lib.grading.totals.lateness import read_times
from course_lib.grading.totals.settings import Assignment, Course, read_course
from course_lib.grading.totals.totals import Graded, Row, by_student, rows
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

TABLE, PAGE = "totals.csv", "totals.html"
ALIKE = 0.85  # of two names, from which on they may be one
NAMES_SHOWN = 10


def total(settings: Path, out: Path) -> int:
    """Write the table and the page of a course into `out`, say what to look at, and return 0.

    Raises CourseError for settings, times or grades that cannot be read; nothing is written then.
    """
    course = read_course(settings)
    graded = [_graded(each, settings) for each in course.assignments]
    table = rows(course, graded)
    try:
        write_atomically(out / TABLE, as_table(course, table))
        write_atomically(out / PAGE, as_page(course, graded, table))
    except OSError as error:
        raise CourseError(f"{out} cannot be written: {(error.strerror or str(error)).lower()}") from error
    for notice in notices(graded, table):
        typer.echo(notice)
    typer.echo(f"{len(table)} students, {len(graded)} assignments; written: {out / TABLE}, {out / PAGE}")
    return 0


def _graded(assignment: Assignment, settings: Path) -> Graded:
    """Return an assignment with its records and times; raises CourseError."""
    path = assignment.grades / GRADEBOOK
    if not path.is_file():
        where = f"{settings}: `grades` of {assignment.name!r} is {assignment.grades}"
        raise CourseError(f"{where}, and there is no {GRADEBOOK}: expected the folder that `course grade --out` wrote")
    with Gradebook.open(path) as gradebook:
        records = by_student(assignment, gradebook.records())
    times = {} if assignment.submitted is None else read_times(assignment.submitted, assignment.due)
    return Graded(assignment, records, times)


def as_table(course: Course, table: list[Row]) -> str:
    """Return the table as CSV; assignments that have a due time have a column for what is taken off."""
    text = io.StringIO(newline="")
    written = csv.writer(text)
    columns = []
    for each in course.assignments:
        columns += [cell(each.name), *([cell(f"{each.name}, taken off")] if each.due else [])]
    written.writerow(["student", *columns, "points", "max_points", "share", "remarks"])
    for row in table:
        values: list = []
        for assignment, entry in zip(course.assignments, row.entries, strict=True):
            values.append("" if entry.counted is None else f"{entry.counted:g}")
            values += [f"{entry.late.points:g}" if entry.late else "0"] if assignment.due else []
        share = "" if row.share is None else f"{row.share:.4f}"
        written.writerow(
            [cell(row.student), *values, f"{row.counted:g}", row.points, share, cell("; ".join(row.remarks))]
        )
    return text.getvalue()


def as_page(course: Course, graded: list[Graded], table: list[Row]) -> str:
    """Return the page, which asks nobody for anything."""
    environment = templates.environment()
    environment.filters["shorten"] = shorten
    shares = [row.share for row in table if row.share is not None]
    mean = sum(shares) / len(shares) if shares else None
    return environment.get_template("totals.html").render(course=course, graded=graded, rows=table, mean=mean)


def notices(graded: list[Graded], table: list[Row]) -> list[str]:
    """Say what a teacher may not have meant: due times without times, times of nobody, one student under two names."""
    said = []
    for each in graded:
        name = each.assignment.name
        if each.assignment.due and each.assignment.submitted is None:
            said.append(f"{name}: `due` is there and `submitted` is not, so nobody is late")
        if each.assignment.submitted and not each.assignment.due:
            said.append(f"{name}: `submitted` is there and `due` is not, so nobody is late")
        for student in [student for student in each.times if student not in each.records][:NAMES_SHOWN]:
            near = nearest(student, each.records, ALIKE)
            meant = f" (did you mean {printable(near)}?)" if near else ""
            said.append(f"{name}: there is a time of {printable(student)}, and nothing of theirs is graded{meant}")
    return said + _perhaps_one(table)


def _perhaps_one(table: list[Row]) -> list[str]:
    """Return pairs of names that are alike, of which no assignment has both."""
    there = {row.student: {n for n, entry in enumerate(row.entries) if entry.handed_in} for row in table}
    partial = [student for student, own in there.items() if len(own) < len(table[0].entries)]
    pairs = set()
    for student in partial:
        near = nearest(
            student, [each for each in partial if each != student and not there[each] & there[student]], ALIKE
        )
        if near:
            pairs.add(tuple(sorted((student, near))))
    return [
        f"perhaps one student under two names: {printable(one)} and {printable(other)}"
        for one, other in sorted(pairs)[:NAMES_SHOWN]
    ]
