"""`course check`, `course hint` and `course progress`: a learner's way into the grading from a shell.

Each is told a `Place`: which exercises there are, and where the learner works.
"""

import json
import re
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from typing import Protocol

import typer

from course_lib.grading import diary
from course_lib.grading.call import missing
from course_lib.grading.catalogue import Catalogue
from course_lib.grading.engine import TaskResult, fresh_seed, judge_task
from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.helpers import helpers
from course_lib.grading.notebook_file import Cell, Submission, read_cells
from course_lib.grading.problem import Problem
from course_lib.grading.reports import learner
from course_lib.grading.sandbox.conversation import WorkerStopped
from course_lib.grading.sandbox.fork_server import CannotStart, ForkServer, first_that_starts
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.tiers import TIERS
from course_lib.grading.session import InProcessSession, SandboxedSession, Session
from course_lib.project import CourseError

LIMITS = Limits()
SHELL = "course hint {}", "course hint {} {}"  # how to ask for the next hint, and for one of a number


@dataclass(frozen=True)
class Place:
    """Where a learner works: the exercises, and the folder of their own notebooks."""

    catalogue: Catalogue
    own: Path


class Whole(Protocol):
    """What a chapter says of all its parts together."""

    right: bool

    def render(self) -> str:
        """Return the report that a learner reads."""

    def as_dictionary(self) -> dict:
        """Return what was found, fit for JSON."""


def check(
    place: Place,
    targets: list[str],
    seed: int | None = None,
    started: ForkServer | None = None,
    as_json: bool = False,
    every: bool = False,
    show: bool = False,
) -> int:
    """Check chapters ("02"), exercises ("02.3") or files, print a report, and return the exit code.

    The file is run by workers of `started`, or in this process where there is none. Of several exercises each has its
    line, and the first that was written and fails its details, or with `every` all of them; with `show`, the case that
    fails is printed as code. Exit codes: 0, all right; 1, some check failed. Raises CourseError (exit code 2) for an
    unknown target, a file that cannot be read, a function that is missing, or, where more than one exercise was asked
    for, a cell that is not Python; what is there is then reported first. With `as_json`, one JSON object a target is
    all that is printed, and what is wrong stands in it as "error".
    """
    codes = []
    for number, target in enumerate(targets):
        checking = partial(_Check, place, target, seed, started)
        if as_json:
            codes.append(_in_json({"target": target}, lambda said, checking=checking: _check_in_json(checking(), said)))
            continue
        try:
            codes.append(_report(checking(), every, show))
        except CourseError as error:
            if number == len(targets) - 1:
                raise
            typer.echo(str(error), err=True)
            codes.append(2)
        typer.echo("\n" * (number < len(targets) - 1), nl=False)
    return max(codes)


def _report(checking: "_Check", every: bool, show: bool) -> int:
    """Print the report on one target, and return its exit code."""
    target, failed = checking.target, []
    in_lines = len(checking.asked) > 1 and not every
    for exercise, results in checking.judged():
        if learner.earned(results) < learner.total(results):
            failed.append((exercise, results))
        told = learner.line(exercise, results) if in_lines else learner.render(exercise, results, str(checking.path))
        typer.echo(learner.coloured(told) + ("" if in_lines else "\n"))
    # What somebody has written and got wrong is more urgent than what is still to be written.
    written = [each for each in failed if not all(map(learner.unwritten, each[1]))]
    first = next(iter(written + failed), None)
    if in_lines and first:
        typer.echo("\n" + learner.coloured(learner.render(*first, str(checking.path))) + "\n")
    if first and (code := learner.code(first[1])):
        told = f"the case of {first[0].id} that fails, to paste below your answer:\n\n{code}\n"
        typer.echo(told if show else "the case that fails, as code to paste: add --show")
    if whole := checking.whole():
        typer.echo(learner.coloured(whole.render()) + "\n")
    typer.echo(learner.closing(checking.results, checking.seed, f"course check {target}", checking.whole_right))
    if left_out := checking.left_out():
        typer.echo(f"left out, and not needed for {target}: {left_out}")
    return checking.code


def hint(
    place: Place, exercise: str, number: int | None = None, as_json: bool = False, call: tuple[str, str] = SHELL
) -> int:
    """Print the next hint, or the one of this number, and return 0; after the last hint, the last one again.

    `call` is how the next hint is asked for, and how one of a number. Raises CourseError for an exercise or a hint that
    there is not; with `as_json`, as for `check`.
    """
    if as_json:
        return _in_json({"exercise": exercise}, lambda said: said.update(_hint(place, exercise, number)))
    found = _hint(place, exercise, number)
    said = f"hint {found['number']} of {found['hints']} for {found['exercise']}: {found['hint']}"
    for paragraph in said.splitlines():  # a notebook breaks a long line within a word
        typer.echo(textwrap.fill(paragraph, get_terminal_size().columns, break_on_hyphens=False))
    if found["number"] < found["hints"]:
        known = found["number"] < found["hints_seen"]
        typer.echo(f"the next says more: {call[known].format(found['exercise'], found['number'] + 1)}")
    return 0


def show_progress(place: Place, as_json: bool = False) -> int:
    """Print the points, the hints and the day of the last check of every exercise, and what to do next; return 0."""
    own = {path.name[:2] for path in place.own.glob("[0-9][0-9]_*.ipynb")}
    overview = diary.overview(place.catalogue, diary.read(place.own), own)
    if as_json:
        return _in_json({}, lambda said: said.update(overview))
    diary.show(overview)
    return 0


def _in_json(said: dict, complete: Callable[[dict], int | None]) -> int:
    """Print `said`, which `complete` fills, as JSON; return the exit code that it gives (none: 0), 2 at an error."""
    try:
        code = complete(said) or 0
    except CourseError as error:
        said["error"], code = str(error), 2
    typer.echo(json.dumps(said, indent=1))
    return code


# ---------------------------------------------------------------- course check


class _Check:
    """One run of `course check`: what is asked of which file, and the results as they come."""

    def __init__(self, place: Place, target: str, seed: int | None, started: ForkServer | None):
        self._place, self.target, self._started = place, target, started
        self.asked, self.path = _find(place, target)
        self._cells = read_cells(self.path)
        self.asked = self.asked or _asked_by(place.catalogue, self.path, self._cells)
        self.seed = fresh_seed() if seed is None else seed
        self.results: list[TaskResult] = []
        self.whole_right = True
        self._absent: list[str] = []

    def judged(self) -> Iterator[tuple[Exercise, list[TaskResult]]]:
        """Yield each exercise and its results; raises CourseError, before the first, where no answer is to be found."""
        functions = [task.function for exercise in self.asked for task in exercise.tasks]
        earned = {}
        with _Sessions(self.path, self._cells, functions, self._started) as sessions:
            self._submission = sessions.submission(self.asked[0])
            if not self._submission.defined.intersection(functions):
                raise CourseError(self._submission.why_missing(*functions))
            for exercise in self.asked:
                results = [self._judge(sessions, exercise, task) for task in exercise.tasks]
                self.results += results
                earned[exercise.id] = learner.earned(results)
                yield exercise, results
        own = self._place.own
        if self.path.resolve().is_relative_to(own.resolve()):
            noted = diary.read(own)
            for exercise_id, points in earned.items():
                noted.note_check(exercise_id, points)
            diary.write(own, noted)

    def whole(self) -> Whole | None:
        """Return what a chapter finds of all parts together, where all of it is asked for and it looks at that."""
        chapter, check_whole = self.asked[0].id[:2], None
        if self.asked == self._place.catalogue.exercises(chapter):
            check_whole = self._place.catalogue.check_whole(chapter)
        if check_whole is None:
            return None

        def open_sessions(path: Path, cells: list[Cell], functions: list[str]) -> _Sessions:
            return _Sessions(path, cells, functions, self._started)

        folder = self.path.parent if Path(self.target).is_file() else self._place.own
        whole = check_whole(folder, open_sessions, self.seed)
        self.whole_right = whole.right
        return whole

    def left_out(self) -> str:
        """Say which cells are no Python where the exercise can do without them; raises CourseError where it cannot."""
        if self._absent:
            raise CourseError(self._submission.why_missing(*self._absent))
        sentence = "; ".join(stop.sentence for stop in self._submission.broken)
        if sentence and not _is_exercise(self.target):
            raise CourseError(f"{self.path}: {sentence}")
        return f"{self.path}: {sentence}" if sentence else ""

    @property
    def code(self) -> int:
        """The exit code: 0, all right, and the whole of chapter 15 where it is asked for; 1, some check failed."""
        return 0 if self.whole_right and learner.earned(self.results) == learner.total(self.results) else 1

    def _judge(self, sessions: "_Sessions", exercise: Exercise, task: Task) -> TaskResult:
        self._submission = sessions.submission(exercise)
        if task.function in self._submission.defined:
            answer = sessions.latest.answerer(exercise, task)
        else:
            self._absent.append(task.function)
            answer = missing(Problem("missing", note=self._submission.why_missing(task.function)))
        return judge_task(exercise, task, answer, self.seed, search=True)


class _Sessions:
    """Sessions for one file, one after the other: what hangs must not use up the time of what is asked next."""

    def __init__(self, path: Path, cells: list[Cell], functions: list[str], started: ForkServer | None):
        self._path, self._cells, self._functions = path, cells, functions
        self._modules = dict(helpers(path, cells, path.parent.glob("*.py")).values())
        self._fork_server = first_that_starts(started) if started else None
        self.latest: Session | None = None
        self._half_time = 0.0

    def __enter__(self) -> "_Sessions":
        return self

    def __exit__(self, kind: type | None = None, *error) -> None:
        # After Ctrl-C there is nobody to say good-bye to: the fork_server was told as well, and ends its workers.
        if isinstance(self.latest, SandboxedSession) and kind is not KeyboardInterrupt:
            self.latest.__exit__()

    def submission(self, exercise: Exercise) -> Submission:
        """Return what the file defines, in a session that has time enough for one more function of `exercise`."""
        if self._fork_server is None:
            self.latest = self.latest or InProcessSession(str(self._path), self._cells, LIMITS, self._modules)
        elif time.monotonic() > self._half_time:
            self.__exit__()
            path, cells = str(self._path), self._cells
            self.latest = SandboxedSession(
                self._fork_server, path, cells, self._functions, LIMITS, modules=self._modules
            )
            self._half_time = time.monotonic() + LIMITS.wall / 2
        try:
            return self.latest.submission(exercise)
        except CannotStart:  # this lock does not close here
            self._fork_server, self._half_time = _weaker(self._fork_server), 0.0
            return self.submission(exercise)
        except WorkerStopped as error:
            raise CourseError(f"{self._path}: while its cells ran, {error}") from error


def _weaker(fork_server: ForkServer) -> ForkServer:
    for tier in TIERS[TIERS.index(fork_server.tier) + 1 :]:
        return first_that_starts(ForkServer(tier))
    raise CourseError("no process can be started here in which your answers could run")


def _check_in_json(checking: _Check, said: dict) -> int:
    said |= {"file": str(checking.path), "seed": checking.seed, "earned": 0, "points": 0, "exercises": []}
    for exercise, results in checking.judged():
        said["exercises"].append(learner.as_dictionary(exercise, results))
    said |= {"earned": learner.earned(checking.results), "points": learner.total(checking.results)}
    if whole := checking.whole():
        said["whole"] = whole.as_dictionary()
    said["left_out"] = checking.left_out()
    return checking.code


# ---------------------------------------------------------------- what is asked, and of which file


def _find(place: Place, target: str) -> tuple[tuple[Exercise, ...], Path]:
    """Return the exercises that `target` names (none: whatever the file answers) and the file to read."""
    if _is_exercise(target):
        exercise = place.catalogue.find(target)
        return (exercise,), _own_notebook(place, exercise.id[:2])
    if re.fullmatch(r"\d{1,2}", target):
        chapter = target.zfill(2)
        return place.catalogue.exercises(chapter), _own_notebook(place, chapter)
    path = Path(target)
    if not path.is_file():
        ways = "write a chapter (02), an exercise (02.3), or the path of a notebook"
        raise CourseError(f"{target!r} is no exercise and no file: {ways}")
    chapter = path.name[:2] if re.match(r"\d\d_", path.name) else None
    return place.catalogue.exercises(chapter) if chapter in place.catalogue.chapters else (), path


def _is_exercise(target: str) -> bool:
    return re.fullmatch(r"\d{1,2}\.\d+", target) is not None


def _own_notebook(place: Place, chapter: str) -> Path:
    """Return the learner's copy of a chapter's exercises."""
    # What Jupyter duplicates has a longer name than the copy that the learner was given.
    own = sorted(place.own.glob(f"{chapter}_*.ipynb"), key=lambda path: len(path.name))
    if not own:
        first = f"`course start {chapter}` puts one there, or name the file to check"
        raise CourseError(f"there is no notebook of chapter {chapter} in {place.own}: {first}")
    path, here = own[0], Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _asked_by(catalogue: Catalogue, path: Path, cells: list[Cell]) -> tuple[Exercise, ...]:
    """Return the exercises of which the file defines a function."""
    found = [each for each in catalogue if any(_written(task, cells) for task in each.tasks)]
    if not found and not any(cell.source.strip() for cell in cells):
        raise CourseError(f"{path} holds no code: the answers go into a copy of the exercises, see `course start`")
    if not found:
        raise CourseError(f"{path} does not define a function that any exercise asks for")
    return tuple(found)


def _written(task: Task, cells: list[Cell]) -> bool:
    return any(cell.defines(task.function) for cell in cells)


# ---------------------------------------------------------------- course hint


def _hint(place: Place, exercise: str, number: int | None) -> dict:
    """Return one hint, after noting that it is seen; raises CourseError for an exercise or hint that there is not."""
    found = place.catalogue.find(exercise)
    noted = diary.read(place.own)
    last = len(found.hints)
    number = min(noted.hints.get(found.id, 0) + 1, last) if number is None else number
    if not 1 <= number <= last:
        raise CourseError(f"exercise {found.id} has hints 1 to {last}, not {number}")
    noted.note_hint(found.id, number)
    diary.write(place.own, noted)
    seen, text = noted.hints[found.id], found.hints[number - 1]
    return {"exercise": found.id, "number": number, "hints": last, "hints_seen": seen, "hint": text}
