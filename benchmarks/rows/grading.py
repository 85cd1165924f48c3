"""Grading right answers, one process: a class that answers 05.1, and every exercise of the course.

The work is shared between this process and the workers in their sandboxes, so the clock adds up the time of all of
them. The worker is started before the first turn; a run starts it once.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tqdm import tqdm

from benchmarks.measuring import Candidate, Measured, Spread, interleave, summarise
from benchmarks.results import Goal, Row
from course_lib.grading.catalogue import catalogue
from course_lib.grading.grade_command import grade
from course_lib.grading.grader import Settings, grade_submission
from course_lib.grading.sandbox import probe
from course_lib.grading.sandbox.limits import Limits

TITLE = "Grading"
STUDENTS = 60  # in the class; it is graded five times
TURNS, ANSWERS = 3, 2  # for each exercise, and answers in a turn: the clock of processes ticks a hundred times a second
SHOWN = 10
BOUND = 0.040  # seconds an answer: 1,500 a minute


def rows() -> Iterator[Row]:
    """Measure the class, then every exercise."""
    with tempfile.TemporaryDirectory() as place:
        yield _class(Path(place))
    with tempfile.TemporaryDirectory() as place:
        yield _every_exercise(Path(place))


def whole_tree() -> float:
    """Return the seconds of processor time of this process and of all below it, living or finished."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents, seconds = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
            seconds[int(folder.name)] = sum(map(int, fields[11:15])) / ticks
    found = {os.getpid()}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return sum(seconds[each] for each in found)


def _write(folder: Path, chapter: str, name: str) -> Path:
    path = folder / name
    path.write_text("\n\n".join(catalogue().answers(chapter).sources({})), encoding="utf-8")
    return path


def _class(place: Path) -> Row:
    folder = place / "class"
    folder.mkdir()
    for student in range(STUDENTS):
        _write(folder, "05", f"student_{student:03}.py")
    times = iter(range(1000))

    def turn() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            grade(folder, place / f"grades_{next(times)}", jobs=1, seed=1, only=("05.1",))

    title = f"`course grade`, {STUDENTS} right answers to 05.1"
    measured = summarise(interleave([Candidate("the class", turn)], seconds=0.1, clock=whole_tree, title=title))
    each = measured[0].seconds.median / STUDENTS
    notes = [f"{1000 * each:.0f} ms an answer, {60 / each:,.0f} answers a minute on one core."]
    return Row(title, measured, False, [Goal("answers a minute", 60 / each, 1500, True)], notes)


def _every_exercise(place: Path) -> Row:
    settings = {id: Settings(1, (id,), Limits(), probe.strongest()) for id in catalogue().ids}
    files = {chapter: str(_write(place, chapter, f"chapter_{chapter}.py")) for chapter in catalogue().chapters}
    measured = []
    for id in tqdm(catalogue().ids, desc="right answers to every exercise", leave=False):

        def turn(id: str = id) -> None:
            for _ in range(ANSWERS):
                record = grade_submission("student", (files[id[:2]],), settings[id])
                if record.earned != record.points:
                    raise RuntimeError(f"the worked answer to {id} earned {record.earned} of {record.points}")

        turn()
        times = [Candidate(id, turn).turn(whole_tree) / ANSWERS for _ in range(TURNS)]
        measured.append(Measured(id, Spread.of(times), Spread(1.0, 1.0, 1.0)))
    measured.sort(key=lambda each: -each.seconds.median)
    typical = median(each.seconds.median for each in measured)
    goals = [
        Goal("milliseconds, median of all exercises", 1000 * typical, 40),
        Goal(f"milliseconds, the slowest exercise ({measured[0].name})", 1000 * measured[0].seconds.median, 40),
    ]
    over = sum(each.seconds.median > BOUND for each in measured)
    notes = [f"Median of all {len(measured)} exercises: {1000 * typical:.0f} ms; {over} take more than 40 ms."]
    return Row(f"A right answer to each exercise; the {SHOWN} slowest", measured[:SHOWN], False, goals, notes)
