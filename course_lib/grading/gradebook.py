"""The gradebook: all that is known of a run, in one SQLite file, which a kill at any moment leaves whole.

SQLite's own defaults do that: a rollback journal beside the file while a transaction is open, and one file afterwards,
which can be sent to a colleague or lie on a network disk. A transaction costs less than a millisecond.
"""

import contextlib
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from course_lib.files import complete_or_absent
from course_lib.grading.records import Finding, Record
from course_lib.project import CourseError

APPLICATION = 0x41545447  # stands in the header of the file, and tells it from other SQLite files
VERSION = 3
FINDING = tuple(each.name for each in fields(Finding))  # its columns, in order
PATIENCE = 60  # seconds to wait for another program that reads or writes the file

TABLES = f"""
PRAGMA journal_mode = OFF;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE submissions (
    submission TEXT PRIMARY KEY, digest TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
    source TEXT NOT NULL, output TEXT NOT NULL, seconds REAL NOT NULL
);
CREATE TABLE findings (
    submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE, number INTEGER NOT NULL,
    exercise TEXT NOT NULL, function TEXT NOT NULL, property TEXT NOT NULL, earned INTEGER NOT NULL,
    points INTEGER NOT NULL, kind TEXT NOT NULL, problem TEXT NOT NULL, mistake TEXT NOT NULL,
    explanation TEXT NOT NULL,
    PRIMARY KEY (submission, number)
);
"""


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
        """Open a gradebook; raises CourseError for a file that is none, or one of another version."""
        if not path.is_file():
            raise CourseError(f"there is no gradebook {path}")
        try:
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=PATIENCE)
            application, version = (
                connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            )
            connection.execute("PRAGMA foreign_keys = ON")
        except sqlite3.DatabaseError as error:
            raise CourseError(f"{path} cannot be read as a gradebook: {error}") from error
        if (application, version) != (APPLICATION, VERSION):
            connection.close()
            found = f"of version {version}, expected {VERSION}" if application == APPLICATION else "no gradebook"
            raise CourseError(f"{path} is {found}")
        return cls(path, connection)

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
        own = ":submission, :digest, :status, :reason, :source, :output, :seconds"
        columns = ("submission", "number", *FINDING)
        of_finding = ", ".join(f":{column}" for column in columns)
        findings = [
            _row(finding) | {"submission": storable(record.submission), "number": number}
            for number, finding in enumerate(record.findings)
        ]
        with self._connection:  # one transaction
            self._delete(record.submission)
            self._connection.execute(f"INSERT INTO submissions VALUES ({own})", _row(record))
            self._connection.executemany(f"INSERT INTO findings VALUES ({of_finding})", findings)

    def drop(self, submission: str) -> None:
        """Forget a submission."""
        with self._connection:
            self._delete(submission)

    def digests(self) -> dict[str, str]:
        """Return the digest of every submission, by its name."""
        return dict(self._connection.execute("SELECT submission, digest FROM submissions ORDER BY submission"))

    def with_status(self, status: str) -> set[str]:
        """Return the names of the submissions of which this became."""
        rows = self._connection.execute("SELECT submission FROM submissions WHERE status = ?", [status])
        return {submission for (submission,) in rows}

    def records(self) -> list[Record]:
        """Return all records, sorted by the name of the submission."""
        findings = defaultdict(list)
        with self._connection:
            self._connection.execute("BEGIN")  # both tables as they are at one moment, also while a run goes on
            for submission, *finding in self._connection.execute(
                f"SELECT submission, {', '.join(FINDING)} FROM findings ORDER BY submission, number"
            ):
                findings[submission].append(Finding(*finding))
            rows = self._connection.execute(
                "SELECT submission, digest, status, reason, source, output, seconds"
                " FROM submissions ORDER BY submission"
            ).fetchall()
        return [Record(*row[:4], tuple(findings[row[0]]), *row[4:]) for row in rows]

    def _delete(self, submission: str) -> None:
        self._connection.execute("DELETE FROM submissions WHERE submission = ?", [storable(submission)])


def storable(text: str) -> str:
    r"""Spell out what SQLite cannot hold (half of a surrogate pair) or its readers cut off at (NUL).

    >>> print(storable("na\u00efve \0 \ud800"))
    naïve \x00 \ud800
    """
    return text.replace("\0", r"\x00").encode("utf-8", "backslashreplace").decode("utf-8")


def _row(values: Record | Finding) -> dict[str, str | int | float]:
    """Return the fields by name, without the tuple of findings, which has a table of its own."""
    fields = {name: value for name, value in vars(values).items() if name != "findings"}
    return {name: storable(value) if isinstance(value, str) else value for name, value in fields.items()}
