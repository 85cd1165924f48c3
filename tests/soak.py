"""What must hold on every seed, tried on fresh ones for as long as you like: `make soak MINUTES=60`.

Each seed is printed before it is tried. In this process every known mistake is judged, and every right answer, and
those of strangers (`grading/from_outside`); through the sandboxed worker go, of each chapter, the untouched stubs, the
worked answers and three files of mistakes. Reported are right answers that lose a point, mistakes that lose none or are
not named, and anything that is no verdict at all.
"""

import argparse
import os
import sys
import time
import traceback
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")

from rich.console import Console
from rich.progress import Progress

from course_lib.authoring import exercise_rules as rules
from course_lib.grading.catalogue import catalogue
from course_lib.grading.engine import fresh_seed, judge_task
from course_lib.grading.exercise import Task
from course_lib.grading.mistakes import patched
from course_lib.grading.notebook_file import Cell
from course_lib.grading.sandbox import fork_server, probe
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.session import SandboxedSession
from tests.grading import test_from_outside as from_outside

COURSE = catalogue()
LIMITS = Limits(wall=120.0)  # for a whole chapter, on a machine that does other things too
FILES = ("stub", "worked answer", "first mistake", "second mistake", "third mistake")


def main() -> int:
    """Try fresh seeds until the time is over; return 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, action="append", help="try this seed only; may be given more than once")
    parser.add_argument("--worker-only", action="store_true", help="leave out what is judged in this process")
    chosen = parser.parse_args()
    until, found, tried, tier = time.monotonic() + 60 * chosen.minutes, 0, 0, probe.strongest(unsafe=True)
    print(f"sandbox: {tier}; {chosen.minutes:g} minutes", flush=True)
    for seed in _seeds(chosen.seed, until):
        print(f"seed {seed}", flush=True)
        with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
            for chapter in progress.track(COURSE.chapters, description=f"seed {seed}"):
                for sentence in _of_chapter(chapter, seed, tier, chosen.worker_only):
                    print(f"  seed {seed}: {sentence}", flush=True)
                    found += 1
        tried += 1
    print(f"{tried} seeds tried, {found} faults found")
    return 1 if found else 0


def _seeds(named: list[int] | None, until: float) -> Iterator[int]:
    yield from named or []
    while not named and time.monotonic() < until:
        yield fresh_seed()


def _of_chapter(chapter: str, seed: int, tier: str, worker_only: bool) -> Iterator[str]:
    if not worker_only:
        for exercise in COURSE.exercises(chapter):
            try:
                for rule in (rules.right_answers_pass, rules.mistakes_fail_and_are_named):
                    yield from (
                        f"{exercise.id}: {sentence}" for sentence in rule(COURSE, exercise, range(seed, seed + 1))
                    )
            except Exception as error:
                yield f"{exercise.id}: {_told(error)}"
        for strangers in from_outside.CHAPTERS:
            if strangers.endswith(chapter):
                judged = from_outside.judged(strangers, seed)
                yield from (f"{strangers}: {name} earns what it should not" for name, fits, _ in judged if not fits)
    for number, file in enumerate(FILES):
        try:
            yield from _through_the_worker(chapter, number, seed, tier)
        except Exception as error:
            yield f"chapter {chapter}, {file}: {_told(error)}"


def _through_the_worker(chapter: str, number: int, seed: int, tier: str) -> Iterator[str]:
    tasks = [(exercise, task) for exercise in COURSE.exercises(chapter) for task in exercise.tasks]
    sources = {task.function: _source(chapter, task, number) for _, task in tasks}
    cells = [
        Cell(f"code cell {place}", source) for place, source in enumerate(COURSE.answers(chapter).sources(sources))
    ]
    session = SandboxedSession(fork_server.for_tier(tier), f"{chapter}.ipynb", cells, list(sources), LIMITS)
    with session:
        for exercise, task in tasks:
            if sources[task.function] is None:
                continue  # fewer mistakes than that are edits of the worked answer
            earned = judge_task(exercise, task, session.answerer(exercise, task), seed).earned
            if (earned == task.points) != (number == 1):
                yield f"{exercise.id} {task.function}, {FILES[number]}: {earned} of {task.points} points"
    yield from (f"chapter {chapter}, {FILES[number]}: {ending}" for ending in session.endings)


def _source(chapter: str, task: Task, number: int) -> str | None:
    """Return the cell of a task in one of the files; None where it is the worked answer for want of a mistake."""
    worked = COURSE.answers(chapter).source(task.function)
    if number == 0:
        return f"def {task.function}(*arguments, **named):\n    raise NotImplementedError"
    if number == 1:
        return worked
    patches = [mistake for mistake in task.mistakes if mistake.before]
    return patched(worked, patches[number - 2].before, patches[number - 2].after) if number - 2 < len(patches) else None


def _told(error: Exception) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"


if __name__ == "__main__":
    sys.exit(main())
