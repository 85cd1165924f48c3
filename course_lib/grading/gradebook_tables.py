"""The tables of a gradebook, and how a gradebook of an earlier edition gets them."""

import contextlib
import sqlite3
from pathlib import Path

import typer

from course_lib.files import complete_or_absent
from course_lib.project import CourseError

APPLICATION = 0x41545447  # stands in the header of the file, and tells it from other SQLite files
VERSION = 4

OF_A_PERSON = """
CREATE TABLE judgements (
    submission TEXT NOT NULL, exercise TEXT NOT NULL, function TEXT NOT NULL, property TEXT NOT NULL,
    points INTEGER, comment TEXT NOT NULL, "by" TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (submission, exercise, function, property)
);
"""  # It refers to no other table: what a person decided outlives a new grading, and a submission that is gone.
EVENTS = """
CREATE TABLE events (
    submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE, number INTEGER NOT NULL,
    kind TEXT NOT NULL, exercise TEXT NOT NULL, sentence TEXT NOT NULL, file TEXT NOT NULL,
    PRIMARY KEY (submission, number)
);
"""
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
{OF_A_PERSON}{EVENTS}"""
STEPS = {  # from each version to the next
    2: """
ALTER TABLE findings ADD COLUMN explanation TEXT NOT NULL DEFAULT '';
INSERT OR IGNORE INTO facts VALUES ('catalogue', 'course_lib.exercises');
""",
    3: OF_A_PERSON + EVENTS,
}


def check_version(path: Path, connection: sqlite3.Connection) -> None:
    """Make an open file a gradebook of this version, after a copy beside it where it is of an earlier one.

    Raises CourseError for a file that is no gradebook, and for a version from which no step leads here.
    """
    application, version = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    if application != APPLICATION:
        raise CourseError(f"{path} is no gradebook")
    if version > VERSION:
        known = f"this edition of the course knows {VERSION}"
        raise CourseError(f"{path} is of version {version}, and {known}: use the newer edition that wrote it")
    if version < min(STEPS):
        raise CourseError(
            f"{path} is of version {version}, too old to be read: grade once more, with another folder as --out"
        )
    if version < VERSION:
        _upgrade(path, connection, version)


def copy(path: Path, connection: sqlite3.Connection, name: str) -> Path:
    """Copy an open gradebook to a file beside it, under a name with the next free number; raises CourseError."""
    number = 1
    while (beside := path.with_name(f"{path.stem}_{name}_{number}{path.suffix}")).exists():
        number += 1
    try:
        with complete_or_absent(beside) as part, contextlib.closing(sqlite3.connect(part)) as other:
            connection.backup(other)
    except (OSError, sqlite3.Error) as error:
        raise CourseError(f"{path} cannot be copied to {beside}: {error}; nothing was changed") from error
    return beside


def _upgrade(path: Path, connection: sqlite3.Connection, version: int) -> None:
    """Go the steps from `version` to this one, all or none."""
    beside = copy(path, connection, f"version_{version}")
    steps = "".join(STEPS[each] for each in range(version, VERSION))
    try:
        connection.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {VERSION}; COMMIT;")
    except sqlite3.Error as error:
        connection.rollback()
        raise CourseError(
            f"{path} cannot be brought from version {version} to {VERSION}: {error}; it is as it was"
        ) from error
    typer.echo(f"{path} was of version {version} and now is of {VERSION}; as it was, it is kept in {beside}", err=True)
