"""The people of a class, as a teacher's table has them: Moodle's grading worksheet, Canvas's gradebook, or any CSV.

Moodle's worksheet has `Identifier` ("Participant 1234567"), `Full name`, `Email address` and `Grade`
(https://github.com/moodle/moodle/blob/MOODLE_405_STABLE/mod/assign/feedback/offline/importgradeslib.php). Canvas's
gradebook begins with `Student`, `ID`, `SIS User ID`, `SIS Login ID`, `Section`, then has a column for each assignment,
and a line of the `Points Possible` (https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_exporter.rb).
"""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.wording import shorten
from course_lib.project import CourseError

LARGEST = 1 << 24  # bytes
# How the columns are called, without spaces and in lower case. Of several that are there, the first of a list counts.
HEADERS = {
    "id": ("identifier", "id", "studentid", "userid", "participant", "participantid"),
    "name": ("fullname", "student", "name", "studentname"),
    "first": ("firstname", "givenname", "forename"),
    "last": ("lastname", "surname", "familyname"),
    "email": ("emailaddress", "email", "mail"),
    "login": ("sisloginid", "loginid", "login", "username"),
    "other": ("sisuserid", "idnumber", "matriculationnumber", "studentnumber"),
}
PARTICIPANT = "Participant "  # before the number, in Moodle's worksheet
TEST_STUDENT = "Student, Test"  # whom Canvas adds to each course


@dataclass(frozen=True)
class Person:
    """Somebody of the class: the cells of the line, and what of it says who it is."""

    cells: tuple[str, ...]
    name: str
    number: str  # of the participant (Moodle), the user (Canvas) or whatever the table numbers people by
    keys: frozenset[str]  # number, login and email, in lower case
    names: frozenset[str]  # the name as it may stand in that of a file


@dataclass(frozen=True)
class Roster:
    """The table of a class: its columns by their headers, its people in their order."""

    headers: tuple[str, ...]
    people: tuple[Person, ...]
    columns: dict[str, int]  # what a column is, as in HEADERS, and where
    possible: tuple[str, ...] = ()  # Canvas's line of the points possible

    @property
    def identity(self) -> list[int]:
        """The columns that say who somebody is, in the order of the table."""
        return sorted(self.columns.values())

    @property
    def of_moodle(self) -> bool:
        """Whether this is Moodle's grading worksheet."""
        return {"Identifier", "Grade", "Last modified (grade)"} <= set(self.headers)

    @property
    def of_canvas(self) -> bool:
        """Whether this is Canvas's gradebook."""
        return self.headers[:2] == ("Student", "ID") and "Section" in self.headers


def read_roster(path: Path) -> str:
    """Return the text of a teacher's table; raises CourseError for a file that is none."""
    try:
        if path.stat().st_size > LARGEST:
            raise CourseError(f"{path} is no roster: it has more than {LARGEST >> 20} MB")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise CourseError(f"{path} is no text in UTF-8: save it as CSV in UTF-8") from error
    try:
        parse(text)
    except CourseError as error:
        raise CourseError(f"{path} {error}") from error
    return text


def parse(text: str) -> Roster:
    """Return the people of a table in CSV; raises CourseError, a sentence without its subject, where it is none.

    >>> roster = parse("name;email\\nAda Lovelace;ada@example.org\\n")
    >>> roster.people[0].name, roster.people[0].cells
    ('Ada Lovelace', ('Ada Lovelace', 'ada@example.org'))
    """
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True))
    except csv.Error as error:
        raise CourseError(f"cannot be read as CSV: {shorten(str(error), 120)}") from error
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    headers = tuple(rows[0]) if rows else ()
    columns = _columns(headers)
    if not columns.keys() & {"id", "name", "email", "login", "last", "other"}:
        raise CourseError("has no column that says who somebody is: expected one of name, id, email or login")
    people, possible = [], ()
    for number, row in enumerate(rows[1:], start=2):
        if len(row) > len(headers):
            raise CourseError(f"has more cells in row {number} than in its first")
        cells = (*row, *[""] * (len(headers) - len(row)))
        person = _person(cells, columns)
        if cells[0].strip() == "Points Possible":
            possible = cells
        elif (person.keys or person.names) and person.name != TEST_STUDENT:
            people.append(person)
    if not people:
        raise CourseError("names nobody")
    return Roster(headers, tuple(people), columns, possible)


def names_of(name: str) -> frozenset[str]:
    """Return how a name may stand in that of a file: its words run together, from each of them on.

    >>> sorted(names_of("Lovelace, Ada"))
    ['adalovelace', 'lovelaceada']
    """
    plain = unicodedata.normalize("NFKD", name.casefold())
    words = re.findall(r"[^\W_]+", "".join(each for each in plain if not unicodedata.combining(each)))
    return frozenset("".join(words[start:] + words[:start]) for start in range(len(words)))


def _person(cells: tuple[str, ...], columns: dict[str, int]) -> Person:
    known = {what: cells[column].strip() for what, column in columns.items()}
    name = known.get("name") or " ".join(filter(None, [known.get("first"), known.get("last")]))
    number = known.get("id", "").removeprefix(PARTICIPANT)
    keys = frozenset(each.casefold() for each in (number, *map(known.get, ("email", "login", "other"))) if each)
    return Person(cells, name or known.get("email") or known.get("login") or number, number, keys, names_of(name))


def _columns(headers: Iterable[str]) -> dict[str, int]:
    plain = [re.sub(r"[\W_]", "", header.casefold()) for header in headers]
    found = {what: next((each for each in called if each in plain), None) for what, called in HEADERS.items()}
    return {what: plain.index(called) for what, called in found.items() if called is not None}


def _delimiter(text: str) -> str:
    """Return what stands between the cells: some countries' spreadsheets write a semicolon, and some people a tab."""
    header = text.lstrip().partition("\n")[0]
    return max(",;\t", key=header.count)
