"""The tables of all grades, for a spreadsheet and for programs, with the people of the roster where there is one."""

import json
from collections import Counter
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.judgements import by_hand, for_programs
from course_lib.grading.matching import Class, late
from course_lib.grading.platform_tables import identity_cells
from course_lib.grading.records import Record
from course_lib.grading.roster import Person
from course_lib.grading.spreadsheet import cell, table

LATE, MISSING, IN_DOUBT = "late", "no submission", "in doubt"  # the last: several could be that of this person


def write_csv(graded: Class, path: Path) -> None:
    """Write a row for each of the roster, and for each submission that is nobody's there: points, and how it went."""
    roster = graded.roster
    identity = roster.identity if roster else []
    exercises = list(dict.fromkeys(finding.exercise for record in graded.records for finding in record.findings))
    # "exercise_02.3", since a spreadsheet makes the number 2.3 of "02.3".
    columns = [
        "submission",
        "score",
        "max_score",
        "status",
        "reason",
        "late",
        *(f"exercise_{each}" for each in exercises),
    ]
    judged = any(record.judgements for record in graded.records)
    columns += ["by_hand"] * judged
    rows = [[*(roster.headers[each] for each in identity), *columns]]
    for person, record in graded.rows:
        who = identity_cells(roster, person) if roster else []
        if record is None:
            rows.append([*who, "", "", "", _without(graded, person), "", "", *[""] * (len(exercises) + judged)])
            continue
        points = Counter()
        for finding in record.findings:
            points[finding.exercise] += finding.earned
        known = record.earned is not None  # an empty cell is no mark, and 0 would be one
        score = (record.earned, record.points) if known else ("", "")
        row = [cell(record.submission), *score, record.status, cell(record.reason), LATE if late(record) else ""]
        row += [points[each] if known else "" for each in exercises]
        rows.append([*who, *row, *[cell(by_hand(record))] * judged])
    write_atomically(path, table(rows))


def write_jsonl(graded: Class, path: Path) -> None:
    """Write the same rows as JSON, one a line, with the verdict on every property."""
    write_atomically(path, "".join(json.dumps(_line(graded, *row)) + "\n" for row in graded.rows))


def _line(graded: Class, person: Person | None, record: Record | None) -> dict:
    """Return the line of somebody: of the roster, where there is one, and with a submission, where there is one."""
    roster = graded.roster
    who = {roster.headers[each]: person.cells[each] for each in roster.identity} if roster and person else None
    line = {"person": who} if roster else {}
    if record is None:
        return line | {
            "submission": None,
            "score": None,
            "max_score": None,
            "status": _without(graded, person),
            "tests": [],
        }
    return line | {
        "submission": record.submission,
        "digest": record.digest,
        "score": record.earned,
        "max_score": None if record.earned is None else record.points,
        "status": record.status,
        "reason": record.reason,
        "late": late(record),
        "tests": [
            {
                "exercise": finding.exercise,
                "function": finding.function,
                "name": finding.property,
                "score": finding.earned,
                "max_score": finding.points,
                "kind": finding.kind,
                "output": finding.problem,
                "mistake": finding.mistake,
                "explanation": finding.explanation,
                **for_programs(finding),
            }
            for finding in record.findings
        ],
        **({"by_hand": by_hand(record)} if record.judgements else {}),
    }


def _without(graded: Class, person: Person) -> str:
    return MISSING if person in graded.missing else IN_DOUBT
