"""What a learner has done: the points of the last and the best check, the hints seen; kept in one small file.

The file lies beside the learner's notebooks, in a folder that git does not look at.
"""

import contextlib
import itertools
import json
import sys
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.catalogue import Catalogue
from course_lib.grading.exercise import Exercise

FILE, SET_ASIDE = ".progress.json", ".progress.unreadable.json"


@dataclass(frozen=True)
class Checked:
    """The last check of an exercise: its points, the most points that any check gave, the day ("2026-07-17")."""

    earned: int
    best: int
    day: str


@dataclass
class Progress:
    """The checks, and the number of the furthest hint seen, by exercise ("02.3")."""

    checks: dict[str, Checked] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)

    def note_check(self, exercise: str, earned: int) -> None:
        """Note the points that a check gives today."""
        best = max(earned, self.checks[exercise].best if exercise in self.checks else 0)
        self.checks[exercise] = Checked(earned, best, date.today().isoformat())

    def note_hint(self, exercise: str, number: int) -> None:
        """Note that a hint is seen; hints count from 1."""
        self.hints[exercise] = max(number, self.hints.get(exercise, 0))


def read(folder: Path) -> Progress:
    """Return what is known; a file that is no record of progress is set aside, and standard error says so."""
    path = folder / FILE
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Progress()
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        said = f"{path} cannot be read, so your progress begins anew"
        with contextlib.suppress(OSError):
            path.replace(folder / SET_ASIDE)
            said += f"; what was there is now called {SET_ASIDE}"
        print(said, file=sys.stderr)
        return Progress()


def write(folder: Path, progress: Progress) -> None:
    """Replace the file in one step; where that cannot be done, standard error says so, and the work goes on."""
    try:
        write_atomically(folder / FILE, json.dumps(asdict(progress), indent=1, sort_keys=True))
    except OSError as error:
        print(f"{folder / FILE} cannot be written, so this is not noted: {error.strerror}", file=sys.stderr)


def _parsed(text: str) -> Progress:
    """Return what a file says; raises an exception of some kind where it is no record of progress."""
    found = json.loads(text)
    checks = {exercise: Checked(**each) for exercise, each in found["checks"].items()}
    numbers = [*found["hints"].values(), *(number for each in checks.values() for number in (each.earned, each.best))]
    if any(type(number) is not int for number in numbers):
        raise ValueError("points and hints are whole numbers")
    for each in checks.values():
        date.fromisoformat(each.day)
    return Progress(checks, found["hints"])


# ---------------------------------------------------------------- what there is to see


def overview(catalogue: Catalogue, progress: Progress, own: set[str]) -> dict:
    """Return the progress in all exercises, fit for JSON; `own` are the chapters of which the learner has a copy."""
    rows = [_row(each, progress) for each in catalogue]
    return {
        "exercises": rows,
        "earned": sum(row["earned"] or 0 for row in rows),
        "best": sum(row["best"] or 0 for row in rows),
        "points": sum(row["points"] for row in rows),
        "next": _next(rows, own),
    }


def _row(exercise: Exercise, progress: Progress) -> dict:
    checked = progress.checks.get(exercise.id)
    return {
        "exercise": exercise.id,
        "title": exercise.title,
        "earned": checked.earned if checked else None,
        "best": checked.best if checked else None,
        "points": exercise.points,
        "hints_seen": progress.hints.get(exercise.id, 0),
        "hints": len(exercise.hints),
        "checked": checked.day if checked else None,
    }


def _next(rows: list[dict], own: set[str]) -> str:
    """Say what to do next: the first exercise left in the chapters that were begun, or else the chapter after them."""
    left = [row for row in rows if row["earned"] != row["points"]]
    begun = [row for row in left if row["exercise"][:2] in own]
    if not left:
        return "nothing is left, all exercises have all their points"
    if not begun:
        after = [row for row in left if row["exercise"][:2] > max(own, default="")]
        chapter = (after or left)[0]["exercise"][:2]
        return f"begin chapter {chapter} with: course start {chapter}"
    first, number = begun[0], begun[0]["exercise"]
    if first["earned"] is None:
        return f"write {number} ({first['title']}), then: course check {number}"
    if first["hints_seen"] < first["hints"]:
        return f"mend {number} ({first['title']}); for help: course hint {number}"
    return f"mend {number} ({first['title']}), then: course check {number}"


def show(overview: dict) -> None:
    """Print the overview as a table, as wide as the terminal, and in colour only on one."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("exercise")
    for name in ("points", "best", "hints"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("last check", no_wrap=True)
    for chapter, found in itertools.groupby(overview["exercises"], lambda row: row["exercise"][:2]):
        rows = list(found)
        earned, best, points = (sum(row[name] or 0 for row in rows) for name in ("earned", "best", "points"))
        table.add_row("", f"chapter {chapter}", f"{earned}/{points}", str(best), style="bold")
        for row in rows:
            table.add_row(*_cells(row), style="green" if row["earned"] == row["points"] else None)
        table.add_row()
    table.add_row("", "total", f"{overview['earned']}/{overview['points']}", str(overview["best"]), style="bold")
    Console(highlight=False).print(table)
    print(f"\nnext: {overview['next']}")


def _cells(row: dict) -> list[str]:
    """Return one row as text, with a dash for what is not known yet."""
    earned, best = ("-" if row[name] is None else str(row[name]) for name in ("earned", "best"))
    points, hints = f"{earned}/{row['points']}", f"{row['hints_seen']}/{row['hints']}"
    return [row["exercise"], row["title"], points, best, hints, row["checked"] or "-"]
