"""Grading all again after an exercise was mended, and which marks that changed.

The gradebook is copied first. Then every submission counts as not yet graded, so that `--resume` goes on where a power
cut came, and in the end the gradebook is compared with the copy.
"""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from course_lib.files import write_atomically
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.judgements import in_words
from course_lib.grading.records import UNGRADED, Finding, Record
from course_lib.grading.spreadsheet import cell
from course_lib.grading.wording import shorten

COPY = "compared_with"  # the fact that names the copy, as long as the marks are not compared
CHANGED = "changed.csv"
SHOWN = 10  # submissions
COLUMNS = (
    *("submission", "exercise", "function", "property"),
    *("points_before", "points_after", "total_before", "total_after", "remark"),
)


@dataclass(frozen=True)
class Change:
    """What is not as it was: the points of a property, or, without a property, the whole submission; None: no mark."""

    submission: str
    exercise: str
    function: str
    property: str
    before: int | None
    after: int | None
    total_before: int | None
    total_after: int | None
    remark: str


def unfinished(gradebook: Gradebook) -> bool:
    """Tell whether all was to be graded again and the marks are not compared yet."""
    return COPY in gradebook.facts


def begin(gradebook: Gradebook, facts: Mapping[str, str]) -> None:
    """Have all graded again; `facts` are those about this machine and edition. Raises CourseError without a copy."""
    kept = gradebook.facts.get(COPY) or gradebook.copy("before").name
    gradebook.begin_anew({**facts, COPY: kept})
    typer.echo(f"all is graded again; the gradebook as it was is kept in {gradebook.path.with_name(kept)}")


def finish(gradebook: Gradebook) -> None:
    """Compare with the copy, where one is waiting for that; print what changed and write it to `CHANGED`."""
    name = gradebook.facts.get(COPY)
    if name is None:
        return
    copy, path = gradebook.path.with_name(name), gradebook.path.with_name(CHANGED)
    after = gradebook.records()
    if copy.exists():
        with Gradebook.open(copy) as earlier:
            found = changes(earlier.records(), after)
        _write(found, path)
        _show(found, len(after), path)
    else:
        typer.echo(f"what changed is not known, since {copy} is gone", err=True)
    if not any(record.status == UNGRADED for record in after):  # those are tried again, and compared again
        gradebook.forget_fact(COPY)


def changes(before: list[Record], after: list[Record]) -> list[Change]:
    """Return what changed, submission by submission."""
    earlier, later = ({each.submission: each for each in records} for records in (before, after))
    found = []
    for name in sorted(earlier.keys() | later.keys()):
        if name not in later:
            found.append(_whole(name, earlier[name].earned, None, "no longer there"))
        elif name not in earlier:
            found.append(_whole(name, None, later[name].earned, "handed in since"))
        else:
            found += _of_submission(earlier[name], later[name])
    return found


def _of_submission(before: Record, after: Record) -> list[Change]:
    anew = "handed in anew" if before.digest != after.digest else ""
    if UNGRADED in (before.status, after.status):
        if before.status == after.status:
            return []
        when = "before" if before.status == UNGRADED else "now"
        return [
            _whole(after.submission, before.earned, after.earned, ", ".join(filter(None, [f"not graded {when}", anew])))
        ]
    pairs: dict[tuple, list[Finding | None]] = {}
    for number, record in enumerate((before, after)):
        for finding in record.findings:
            pairs.setdefault((finding.exercise, finding.function, finding.property), [None, None])[number] = finding
    return [
        Change(
            after.submission,
            *place,
            old.earned if old else None,
            new.earned if new else None,
            before.earned,
            after.earned,
            ", ".join(filter(None, [_remark(old, new), anew])),
        )
        for place, (old, new) in pairs.items()
        if old is None or new is None or _marks(old) != _marks(new)
    ]


def _marks(finding: Finding) -> tuple[int | None, ...]:
    return finding.earned, finding.points, finding.machine


def _remark(old: Finding | None, new: Finding | None) -> str:
    if old is None or new is None:
        return "a new property" if old is None else "this property is gone"
    points = f"it had {old.points} points and now has {new.points}" if old.points != new.points else ""
    return ", ".join(filter(None, [points, in_words(new)]))


def _whole(submission: str, before: int | None, after: int | None, remark: str) -> Change:
    return Change(submission, "", "", "", before, after, before, after, remark)


def _write(found: list[Change], path: Path) -> None:
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(COLUMNS)
    for each in found:
        values = vars(each).values()
        table.writerow("" if value is None else cell(value) if isinstance(value, str) else value for value in values)
    write_atomically(path, text.getvalue())


def _show(found: list[Change], submissions: int, path: Path) -> None:
    """Print the submissions of which a mark changed, and what did."""
    by_submission: dict[str, list[Change]] = {}
    for each in found:
        by_submission.setdefault(each.submission, []).append(each)
    typer.echo(f"\nmarks that changed: those of {len(by_submission)} of {submissions} submissions; all are in {path}")
    for name, own in list(by_submission.items())[:SHOWN]:
        typer.echo(
            f"  {shorten(name, 60)}: {_points(own[0].total_before)} to {_points(own[0].total_after)} points in all"
        )
        for each in own:
            remark = f" ({shorten(each.remark, 120)})" if each.remark else ""
            place = f"{each.exercise} {each.property}: {_points(each.before)} to {_points(each.after)}"
            typer.echo(f"    {place if each.property else 'the submission'}{remark}")
    if len(by_submission) > SHOWN:
        typer.echo(f"  ... and {len(by_submission) - SHOWN} more")


def _points(points: int | None) -> str:
    return "none" if points is None else str(points)
