"""`check(function)` as a learner calls it in a notebook, for every worked answer, printing included."""

import contextlib
import io
import time
from collections.abc import Iterator
from statistics import median

from tqdm import tqdm

from benchmarks.measuring import Candidate, Measured, Spread
from benchmarks.results import Goal, Row
from course_lib.grading import check
from course_lib.grading.catalogue import catalogue
from course_lib.grading.notebook_file import read_cells
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.session import InProcessSession

TITLE = "Checking in a notebook"
TURNS, SHOWN = 9, 10


def rows() -> Iterator[Row]:
    """Measure every function and show the slowest."""
    measured = []
    for chapter in tqdm(catalogue().chapters, desc="`check` of every worked answer", leave=False):
        answers = InProcessSession(chapter, read_cells(catalogue().page(chapter)), Limits()).names
        for exercise in catalogue().exercises(chapter):
            for task in exercise.tasks:
                candidate = Candidate("check", _checking(answers[task.function]))
                times = [candidate.turn(time.process_time) for _ in range(TURNS + 1)][1:]
                measured.append(Measured(f"{exercise.id} {task.function}", Spread.of(times), Spread(1.0, 1.0, 1.0)))
    measured.sort(key=lambda each: -each.seconds.median)
    typical = 1000 * median(each.seconds.median for each in measured)
    slowest = 1000 * measured[0].seconds.median
    goals = [
        Goal("milliseconds, median of all functions", typical, 10),
        Goal("milliseconds, the slowest function", slowest, 50),
    ]
    notes = [f"Median of all {len(measured)} functions: {typical:.1f} ms."]
    yield Row(f"`check(function)`; the {SHOWN} slowest", measured[:SHOWN], False, goals, notes)


def _checking(function):
    def call() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            check(function)

    return call
