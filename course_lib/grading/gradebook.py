"""The gradebook: all that is known of a run, in one SQLite file, which a kill at any moment leaves whole.

SQLite's own defaults do that: a rollback journal beside the file while a transaction is open, and one file afterwards,
which can be sent to a colleague or lie on a network disk. A transaction costs less than a millisecond.
"""

import contextlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

from course_lib.files import complete_or_absent
from course_lib.grading.gradebook_tables import TABLES, check_version, copy
from course_lib.grading.judgements import judged
from course_lib.grading.records import Event, Finding, Judgement, Record
from course_lib.project import CourseError

ELSEWHERE = ("findings", "events", "judgements", "judgement", "machine")  # fields that are no column of their table
PATIENCE = 60  # seconds to wait for another program that reads or writes the file


class Gradebook:
    """An open gradebook; use it in a `with` statement, or close it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Gradebook.create(Path(folder) / "gradebook.sqlite", {"seed": "7"}) as gradebook:
    ...         gradebook.add(Record("ann.py", "e3b0", "graded", "", (Finding("02.3", "attend", "right", 2, 2),)))
    ...         gradebook.facts, [record.earned for record in gradebook.records()]
    ({'seed': '7'}, [2])
    """

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self.path, self._connection = path, connection

    @classmethod
    def create(cls, path: Path, facts: Mapping[str, str]) -> "Gradebook":
        """Make an empty gradebook with what is true of the whole run; raises CourseError where a file is already,
        or none can be written.

        It appears under its name when it is complete, never half made.
        """
        if path.exists():
            raise CourseError(f"{path} exists already")
        rows = [(storable(name), storable(value)) for name, value in facts.items()]
        try:
            with (
                complete_or_absent(path) as part,
                contextlib.closing(sqlite3.connect(part)) as connection,
                connection,
            ):
                connection.executescript(TABLES)
                connection.executemany("INSERT INTO facts VALUES (?, ?)", rows)
        except (OSError, sqlite3.Error) as error:
            raise CourseError(f"{path} cannot be written: {error}") from error
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> "Gradebook":
        """Open a gradebook, and bring it to this version; raises CourseError for a file that is none."""
        if not path.is_file():
            raise CourseError(f"there is no gradebook {path}")
        try:
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=PATIENCE)
        except sqlite3.Error as error:
            raise CourseError(f"{path} cannot be read as a gradebook: {error}") from error
        gradebook = cls(path, connection)
        try:
            check_version(path, connection)
            connection.execute("PRAGMA foreign_keys = ON")
        except (CourseError, sqlite3.Error) as error:
            gradebook.close()
            if isinstance(error, CourseError):
                raise
            raise CourseError(f"{path} cannot be read as a gradebook: {error}") from error
        return gradebook

    def __enter__(self) -> "Gradebook":
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was added is on the disk since `add` returned."""
        self._connection.close()

    @property
    def facts(self) -> dict[str, str]:
        """What is true of the whole run: seed, exercises, limits, versions."""
        return dict(self._connection.execute("SELECT name, value FROM facts"))

    def note(self, name: str, value: str) -> None:
        """Keep a fact, in place of an earlier one of the same name."""
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (storable(name), storable(value)))

    def add(self, record: Record) -> None:
        """Keep a record, in place of an earlier one of the same submission."""
        name = storable(record.submission)
        with self._connection:  # one transaction
            self._delete(name)
            self._insert("submissions", [_row(record)])
            self._insert("findings", _numbered(name, record.findings))
            self._insert("events", _numbered(name, record.events))

    def drop(self, submission: str) -> None:
        """Forget a submission."""
        with self._connection:
            self._delete(storable(submission))

    def digests(self) -> dict[str, str]:
        """Return the digest of every submission, by its name."""
        return dict(self._connection.execute("SELECT submission, digest FROM submissions ORDER BY submission"))

    def with_status(self, status: str) -> set[str]:
        """Return the names of the submissions of which this became."""
        rows = self._connection.execute("SELECT submission FROM submissions WHERE status = ?", [status])
        return {submission for (submission,) in rows}

    def records(self) -> list[Record]:
        """Return all records as they count, judgements by hand included, sorted by the name of the submission."""
        with self._connection:
            self._connection.execute("BEGIN")  # all tables as they are at one moment, also while a run goes on
            findings = self._by_submission(Finding, "findings", "number")
            events = self._by_submission(Event, "events", "number")
            by_hand = self._judgements()
            rows = self._connection.execute(
                "SELECT submission, digest, status, reason, source, output, seconds"
                " FROM submissions ORDER BY submission"
            ).fetchall()
        records = (Record(*row[:4], tuple(findings[row[0]]), *row[4:], tuple(events[row[0]])) for row in rows)
        return [judged(record, by_hand.get(record.submission, ())) for record in records]

    def judge(self, submission: str, judgement: Judgement) -> None:
        """Keep what a person decided, in place of what they decided there before."""
        with self._connection:
            self._insert("judgements", [_row(judgement) | {"submission": storable(submission)}])

    def withdraw(self, submission: str, place: tuple[str, str, str]) -> None:
        """Forget what a person decided about one place of a submission."""
        where = "submission = ? AND exercise = ? AND function = ? AND property = ?"
        with self._connection:
            self._connection.execute(f"DELETE FROM judgements WHERE {where}", [storable(submission), *place])

    def judgements(self) -> dict[str, list[Judgement]]:
        """Return what persons decided, by submission, also of submissions that are no longer there."""
        return dict(self._judgements())

    def begin_anew(self, facts: Mapping[str, str]) -> None:
        """Have every submission count as not yet graded, and set these facts; nothing else changes."""
        with self._connection:
            self._connection.execute("UPDATE submissions SET digest = ''")
            self._insert("facts", [{"name": storable(name), "value": storable(facts[name])} for name in facts])

    def forget_fact(self, name: str) -> None:
        """Forget one fact about the run."""
        with self._connection:
            self._connection.execute("DELETE FROM facts WHERE name = ?", [name])

    def copy(self, name: str) -> Path:
        """Copy the gradebook to a file beside it, whose name has `name` in it, and return that; raises CourseError."""
        return copy(self.path, self._connection, name)

    def _judgements(self) -> dict[str, list[Judgement]]:
        return self._by_submission(Judgement, "judgements", "exercise, function, property")

    def _by_submission(self, kind: type, table: str, order: str) -> dict[str, list]:
        """Return what a table holds of each submission."""
        found = defaultdict(list)
        columns = ", ".join(f'"{each.name}"' for each in fields(kind) if each.name not in ELSEWHERE)
        query = f"SELECT submission, {columns} FROM {table} ORDER BY submission, {order}"
        for submission, *values in self._connection.execute(query):
            found[submission].append(kind(*values))
        return found

    def _delete(self, submission: str) -> None:
        self._connection.execute("DELETE FROM submissions WHERE submission = ?", [submission])

    def _insert(self, table: str, rows: list[dict]) -> None:
        for row in rows[:1]:
            columns = ", ".join(f'"{each}"' for each in row)
            values = ", ".join(f":{each}" for each in row)
            self._connection.executemany(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({values})", rows)


def storable(text: str) -> str:
    r"""Spell out what SQLite cannot hold (half of a surrogate pair) or its readers cut off at (NUL).

    >>> print(storable("na\u00efve \0 \ud800"))
    naïve \x00 \ud800
    """
    return text.replace("\0", r"\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def _row(values: Record | Finding | Event | Judgement) -> dict[str, str | int | float | None]:
    """Return the fields by name, as far as they are columns."""
    fields = {name: value for name, value in vars(values).items() if name not in ELSEWHERE}
    return {name: storable(value) if isinstance(value, str) else value for name, value in fields.items()}


def _numbered(submission: str, rows: Iterable[Finding | Event]) -> list[dict]:
    return [_row(each) | {"submission": submission, "number": number} for number, each in enumerate(rows)]
