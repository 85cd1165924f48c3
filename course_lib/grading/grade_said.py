"""What `course grade` says while it works and when it is done."""

import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from course_lib.grading import platform_tables
from course_lib.grading.catalogue import Catalogue
from course_lib.grading.collect import Found
from course_lib.grading.grader import Settings
from course_lib.grading.matching import Class, late
from course_lib.grading.records import GRADED, STOPPED, UNGRADED, UNREADABLE, Record
from course_lib.grading.reports.eye import TITLES, Look
from course_lib.grading.sandbox import tiers
from course_lib.grading.wording import shorten

URGENT = (UNGRADED, STOPPED, UNREADABLE, GRADED)  # what a person should look at first
ROWS_SHOWN, NAMES_SHOWN = 20, 10
BANDS = (0, 20, 40, 60, 80, 100)  # percent; full points stand alone
LOOKS_SHOWN = 5
LONGEST_BAR = 40


def list_names(what: str, names: list[str]) -> None:
    """Say what is true of these names, where there are any."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    if names:
        typer.echo(f"{what}: {', '.join(map(printable, names[:NAMES_SHOWN]))}{more}")


def introduce(course: Catalogue, folder: Path, found: list[Found], settings: Settings) -> None:
    """Print what will be graded, and how."""
    points = sum(course.find(id).points for id in settings.exercises)
    lock = "none (--unsafe)" if settings.tier == tiers.PROCESS else settings.tier
    typer.echo(f"submissions: {len(found)} in {folder}")
    typer.echo(f"exercises: {', '.join(settings.exercises)} ({points} points)")
    typer.echo(f"sandbox: {lock}; limit: {settings.limits.wall:g} s a submission; seed: {settings.seed}")


def ways_on(path: Path) -> str:
    """Return where that is which is graded, and how to go on."""
    return f"what is graded is kept in {path}, and the same command with --resume goes on from there"


def progress_bar() -> Progress:
    """Return a progress bar, which shows only where a person is there to see it."""
    columns = TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def summarise(records: list[Record]) -> None:
    """Print the submissions that a person should look at first, and how the class did."""
    console = Console(highlight=False)
    urgent = sorted(records, key=lambda record: (URGENT.index(record.status), record.earned or 0, record.submission))
    table = Table(box=None, pad_edge=False)
    table.add_column("submission", no_wrap=True, overflow="ellipsis", max_width=console.width // 2)
    table.add_column("points", no_wrap=True, justify="right")
    table.add_column("status")
    for record in urgent[:ROWS_SHOWN]:
        status = f"{record.status}: {shorten(printable(record.reason), 120)}" if record.reason else record.status
        points = "-" if record.earned is None else f"{record.earned}/{record.points}"
        table.add_row(Text(printable(record.submission)), points, Text(status))
    console.print(table)
    if len(urgent) > ROWS_SHOWN:
        typer.echo(f"... and {len(urgent) - ROWS_SHOWN} more")
    marked = [record for record in records if record.status != UNGRADED]
    if marked:
        typer.echo("\n" + _distribution([record.earned for record in marked], marked[0].points))


def compare(graded: Class, formats: Sequence[str]) -> None:
    """Print who came late, and where roster and submissions do not agree."""
    list_names("late, says the platform", [record.submission for record in graded.records if late(record)])
    if graded.roster:
        people = len(graded.roster.people)
        typer.echo(f"roster: {people} people, {people - len(graded.missing)} with a submission")
        list_names("without a submission", [person.name for person in graded.missing])
        for submission, why in graded.unmatched.items():
            typer.echo(f"not entered for anybody: {printable(submission)}: {printable(why)}")
    for sentence in platform_tables.warnings(graded, list(formats)):
        typer.echo(sentence)


def for_the_eye(seen: list[Look], out: Path) -> None:
    """Print the first of what a teacher should look at, with the commands for it."""
    if not seen:
        return
    kinds = Counter(each.kind for each in seen)
    counted = (f"{title}: {kinds[kind]}" for kind, title in TITLES.items() if kind in kinds)
    typer.echo("\n".join(["\nThese need your eye.", *counted]))
    for each in seen[:LOOKS_SHOWN]:
        about = f"{printable(shorten(each.submission, 60))}{each.exercise and f', {each.exercise}'}"
        typer.echo("\n".join([f"  {about}: {shorten(each.sentence, 400)}", *(f"    {line}" for line in each.commands)]))
    if len(seen) > LOOKS_SHOWN:
        typer.echo(f"  ... and {len(seen) - LOOKS_SHOWN} more, on the page that `course report {out}` writes")
    typer.echo("")


def _distribution(earned: list[int], points: int) -> str:
    """Return mean and median, and how many submissions are in each band of the points.

    >>> print(_distribution([0, 5, 6, 10, 10], 10))
    mean 6.2 of 10, median 6, over 5 submissions
      0 to  19 %    1  #
     20 to  39 %    0
     40 to  59 %    1  #
     60 to  79 %    1  #
     80 to  99 %    0
           100 %    2  ##
    """
    counts = [0] * len(BANDS)
    for each in earned:
        counts[max(number for number, least in enumerate(BANDS) if 100 * each >= least * points)] += 1
    scale = max(1.0, max(counts) / LONGEST_BAR)
    names = [f"{low:>3} to {high - 1:>3} %" for low, high in zip(BANDS, BANDS[1:], strict=False)] + ["       100 %"]
    lines = [
        f"{name} {count:>4}  {'#' * round(count / scale)}".rstrip() for name, count in zip(names, counts, strict=True)
    ]
    summary = f"mean {statistics.mean(earned):.1f} of {points}, median {statistics.median(earned):g}"
    return "\n".join([f"{summary}, over {len(earned)} submissions", *lines])


def printable(text: str) -> str:
    r"""Spell out what a terminal would obey rather than show; a student chose the name.

    >>> print(printable("ann\x1b[2J"))
    ann\x1b[2J
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
