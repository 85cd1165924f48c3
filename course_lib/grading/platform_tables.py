"""The tables that Moodle and Canvas import: the rows of the roster as they came, with the points in one column.

Moodle's importer wants `Identifier`, `Grade` and `Last modified (grade)`, passes over a row without a grade, and takes
feedback from the table as well
(https://github.com/moodle/moodle/blob/MOODLE_405_STABLE/mod/assign/feedback/offline/importgradeslib.php).
Canvas's wants `Student`, `ID` and `Section` in this order, knows an assignment by its name with its number, "Attention
(678)", and leaves those alone that are not in the table
(https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb).
"""

import re
from collections import Counter
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading import downloads
from course_lib.grading.downloads import CANVAS, MOODLE
from course_lib.grading.matching import Class
from course_lib.grading.records import Record
from course_lib.grading.roster import PARTICIPANT, Person, Roster
from course_lib.grading.spreadsheet import cell, table
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

WORKSHEET = (
    *("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade"),
    *("Grade can be changed", "Last modified (submission)", "Last modified (grade)"),
)
STUDENT = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POSSIBLE = "    Points Possible"
ASSIGNMENT = re.compile(r".+ \(\d+\)")  # "Attention (678)"


def write_moodle(graded: Class, path: Path) -> None:
    """Write Moodle's grading worksheet: the roster's own, or one that is made of the participants' numbers."""
    roster = graded.roster
    if roster and roster.of_moodle:
        column = roster.headers.index("Grade")
        rows = [roster.headers, *(_filled(roster, person, column, record) for person, record in graded.rows if person)]
    else:
        rows = [WORKSHEET]
        for person, record in _told_apart(graded, MOODLE):
            if person or not roster:
                number = _number(record, MOODLE)
                identifier = f"{PARTICIPANT}{number}" if number else ""
                email = _known(roster, person, "email")
                points = "" if record is None else record.points
                rows.append([identifier, _name(person, record), email, "", _grade(record), points, "Yes", "-", "-"])
    write_atomically(path, table(rows))


def write_canvas(graded: Class, path: Path) -> None:
    """Write Canvas's gradebook with one assignment; raises CourseError as `assignment_column` does."""
    roster = graded.roster
    header = assignment_column(roster, graded.assignment) or _title(graded.records)
    points = max((record.points for record in graded.records), default=0)
    if roster and roster.of_canvas:
        student = range(roster.headers.index("Section") + 1)
        column = roster.headers.index(header) if header in roster.headers else None
        kept = [*student, *([] if column is None else [column])]
        possible = [roster.possible[each] for each in student] if roster.possible else _possible(len(student))
        known = roster.possible[column] if roster.possible and column is not None else ""
        rows = [[*(roster.headers[each] for each in student), header], [*possible, known or points]]
        for person, record in graded.rows:
            if person:
                cells = _filled(roster, person, column, record)
                rows.append([*(cells[each] for each in kept), *([_grade(record)] if column is None else [])])
    else:
        rows = [[*STUDENT, header], [*_possible(len(STUDENT)), points]]
        for person, record in _told_apart(graded, CANVAS):
            if person or not roster:
                who = [_known(roster, person, what) for what in ("other", "login")]
                rows.append([_name(person, record), _number(record, CANVAS), *who, "", _grade(record)])
    write_atomically(path, table(rows))


def _told_apart(graded: Class, platform: str) -> list[tuple[Person | None, Record | None]]:
    """Return the rows, without those whose number another row has as well: the platform would keep one of the two."""
    numbers = Counter(_number(record, platform) for _, record in graded.rows)
    return [row for row in graded.rows if numbers[_number(row[1], platform)] == 1 or not _number(row[1], platform)]


def assignment_column(roster: Roster | None, assignment: str) -> str:
    """Return the header of the column that takes the points; nothing where the teacher's tables name none.

    `assignment` is a name, a number, or both. Raises CourseError where Canvas's gradebook has several and none is
    named, or not this one.

    >>> from course_lib.grading.roster import parse
    >>> assignment_column(parse("Student,ID,Section,Attention (678),Masks (9)\\nA,1,x,,"), "678")
    'Attention (678)'
    """
    there = [each for each in roster.headers if ASSIGNMENT.fullmatch(each)] if roster and roster.of_canvas else []
    if not assignment:
        if len(there) > 1:
            raise CourseError(f"the roster has several assignments: name one with --assignment ({', '.join(there)})")
        return there[0] if there else ""
    found = [each for each in there if assignment in (each, each.rpartition(" (")[0], each.rpartition(" (")[2][:-1])]
    if there and len(found) != 1:
        raise CourseError(f"the roster has no one assignment {assignment!r} (assignments: {', '.join(there)})")
    return found[0] if found else assignment


def warnings(graded: Class, formats: list[str]) -> list[str]:
    """Return a sentence on whatever a platform would pass over or take for something else."""
    roster, said = graded.roster, []
    points = max((record.points for record in graded.records), default=0)
    if "moodle" in formats and not (roster and roster.of_moodle):
        entered = [record for person, record in graded.rows if record and (person or not roster)]
        unknown = sum(not _number(record, MOODLE) for record in entered)
        if unknown:
            why = "name its grading worksheet with --roster, for the participants' numbers"
            said.append(f"Moodle will pass over {unknown} of {len(entered)} grades: {why}")
    for platform in (each for each in (MOODLE, CANVAS) if each.lower() in formats):
        kept = _told_apart(graded, platform)
        doubled = [row[1].submission for row in graded.rows if row not in kept]
        if doubled and not roster:
            said.append(f"not entered for {platform}, since they have one number: {shorten(', '.join(doubled), 240)}")
    if "moodle" in formats and roster and roster.of_moodle and "Maximum Grade" in roster.headers:
        column = roster.headers.index("Maximum Grade")
        said += _other_maximum("Moodle", {person.cells[column] for person in roster.people}, points)
    if "canvas" in formats and roster and roster.of_canvas and roster.possible:
        header = assignment_column(roster, graded.assignment)
        said += _other_maximum("Canvas", {roster.possible[roster.headers.index(header)]} if header else set(), points)
    return said


def identity_cells(roster: Roster, person: Person | None) -> list[str]:
    """Return what says who somebody is, fit for a spreadsheet; empty for nobody."""
    cells = _filled(roster, person, None, None) if person else [""] * len(roster.headers)
    return [cells[column] for column in roster.identity]


def _filled(roster: Roster, person: Person, column: int | None, record: Record | None) -> list[str]:
    """Return the cells of a person as the roster has them, with the points where there are some.

    People can choose their names, and these identify nobody; all else has to come back as it is.
    """
    names = {roster.columns[what] for what in ("name", "first", "last") if what in roster.columns}
    cells = [cell(text) if place in names else text for place, text in enumerate(person.cells)]
    if column is not None and _grade(record):
        cells[column] = _grade(record)
    return cells


def _other_maximum(platform: str, theirs: set[str], points: int) -> list[str]:
    numbers = {float(each.replace(",", ".")) for each in theirs if re.fullmatch(r"\d+([.,]\d+)?", each.strip())}
    other = sorted(numbers - {points})
    said = f"{platform} has {other[0]:g} points for this assignment and the exercises {points}" if other else ""
    return [f"{said}: change it there before you import the grades"] if said else []


def _grade(record: Record | None) -> str:
    return "" if record is None or record.earned is None else str(record.earned)


def _number(record: Record | None, platform: str) -> str:
    download = downloads.read(record.submission) if record else None
    return download.number if download and download.platform == platform else ""


def _name(person: Person | None, record: Record | None) -> str:
    if person:
        return cell(person.name)
    return cell(downloads.read(record.submission).name or record.submission)


def _known(roster: Roster | None, person: Person | None, what: str) -> str:
    return person.cells[roster.columns[what]] if person and what in roster.columns else ""


def _possible(columns: int) -> list[str]:
    return [POSSIBLE, *[""] * (columns - 1)]


def _title(records: list[Record]) -> str:
    """Return a name for an assignment that Canvas does not know yet.

    >>> from course_lib.grading.records import Finding
    >>> _title([Record("a", "", "graded", "", (Finding("02.1", "f", "p", 1, 1),))])
    'Exercises 02'
    """
    return f"Exercises {' '.join(sorted({finding.exercise[:2] for record in records for finding in record.findings}))}"
