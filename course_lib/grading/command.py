"""`course check`, `course hint` and `course progress`: a learner's way into the grading from a shell."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from course_lib.grading import progress, report
from course_lib.grading.call import missing
from course_lib.grading.declarations import chapters, exercises, find_exercise
from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.isolation.conversation import Ended
from course_lib.grading.isolation.limits import Limits
from course_lib.grading.isolation.sandbox import TIERS
from course_lib.grading.isolation.zygote import CannotStart, Zygote, first_that_starts
from course_lib.grading.judging import TaskResult, fresh_seed, judge_task
from course_lib.grading.session import Here, Isolated, Session
from course_lib.grading.submission import Cell, Submission, read_cells
from course_lib.project import CourseError, find_chapter, root

LIMITS = Limits()


def check(target: str, seed: int | None = None, started: Zygote | None = None, as_json: bool = False) -> int:
    """Check a chapter ("02"), an exercise ("02.3") or a file, print a report, and return the exit code.

    The file is run by workers of `started`, or in this process where there is none. Exit codes: 0, all right; 1, some
    check failed. Raises CourseError (exit code 2) for an unknown target, a file that cannot be read, a function that is
    missing, or, where more than one exercise was asked for, a cell that is not Python; what is there is then reported
    first. With `as_json`, one JSON object is all that is printed, and what is wrong stands in it as "error".
    """
    if as_json:
        return _in_json({"target": target}, lambda said: _check_in_json(_Check(target, seed, started), said))
    checking = _Check(target, seed, started)
    for exercise, results in checking.judged():
        typer.echo(report.coloured(report.render(exercise, results, str(checking.path))) + "\n")
    if whole := checking.whole():
        typer.echo(report.coloured(report.render_whole(whole)) + "\n")
    typer.echo(report.closing(checking.results, checking.seed, f"course check {target}", checking.whole_right))
    if left_out := checking.left_out():
        typer.echo(f"left out, and not needed for {target}: {left_out}")
    return checking.code


def hint(exercise: str, number: int | None = None, as_json: bool = False) -> int:
    """Print the next hint, or the one of this number, and return 0; after the last hint, the last one again.

    Raises CourseError for an exercise or a hint that there is not; with `as_json`, as for `check`.
    """
    if as_json:
        return _in_json({"exercise": exercise}, lambda said: said.update(_hint(exercise, number)))
    found = _hint(exercise, number)
    typer.echo(f"hint {found['number']} of {found['hints']} for {found['exercise']}: {found['hint']}")
    if found["number"] < found["hints"]:
        again = f" {found['number'] + 1}" if found["number"] < found["hints_seen"] else ""
        typer.echo(f"the next says more: course hint {found['exercise']}{again}")
    return 0


def show_progress(as_json: bool = False) -> int:
    """Print the points, the hints and the day of the last check of every exercise, and what to do next; return 0."""
    own = {path.name[:2] for path in _own_folder().glob("[0-9][0-9]_*.ipynb")}
    overview = progress.overview(progress.read(_own_folder()), own)
    if as_json:
        return _in_json({}, lambda said: said.update(overview))
    progress.show(overview)
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

    def __init__(self, target: str, seed: int | None, started: Zygote | None):
        self._target, self._started = target, started
        self.asked, self.path = _find(target)
        self._cells = read_cells(self.path)
        self.asked = self.asked or _asked_by(self.path, self._cells)
        self.seed = fresh_seed() if seed is None else seed
        self.results: list[TaskResult] = []
        self.whole_right = True
        self._absent: list[str] = []

    def judged(self) -> Iterator[tuple[Exercise, list[TaskResult]]]:
        """Yield each exercise and its results; raises CourseError, before the first, where no answer is to be found."""
        functions = [task.function for exercise in self.asked for task in exercise.tasks]
        earned = {}
        with _Sessions(self.path, self._cells, functions, self.seed, self._started) as sessions:
            self._submission = sessions.submission(self.asked[0])
            if not self._submission.defined.intersection(functions):
                raise CourseError(self._submission.why_missing(*functions))
            for exercise in self.asked:
                results = [self._judge(sessions, exercise, task) for task in exercise.tasks]
                self.results += results
                earned[exercise.id] = report.earned(results)
                yield exercise, results
        if self.path.resolve().is_relative_to(_own_folder().resolve()):
            noted = progress.read(_own_folder())
            for exercise_id, points in earned.items():
                noted.note_check(exercise_id, points)
            progress.write(_own_folder(), noted)

    def whole(self) -> dict | None:
        """Return what is found of the model that the learner's parts make, where all of chapter 15 is asked for."""
        if [exercise.id[:2] for exercise in self.asked] != ["15"] * len(exercises("15")):
            return None
        from course_lib.grading import capstone  # slow to import, and wanted here only

        def open_sessions(path: Path, cells: list[Cell], functions: list[str]) -> _Sessions:
            return _Sessions(path, cells, functions, self.seed, self._started)

        folder = self.path.parent if Path(self._target).is_file() else _own_folder()
        whole = capstone.check_folder(folder, open_sessions, self.seed)
        self.whole_right = whole.right
        return whole.as_dictionary()

    def left_out(self) -> str:
        """Say which cells are no Python where the exercise can do without them; raises CourseError where it cannot."""
        if self._absent:
            raise CourseError(self._submission.why_missing(*self._absent))
        sentence = "; ".join(stop.sentence for stop in self._submission.broken)
        if sentence and not _is_exercise(self._target):
            raise CourseError(f"{self.path}: {sentence}")
        return f"{self.path}: {sentence}" if sentence else ""

    @property
    def code(self) -> int:
        """The exit code: 0, all right, and the whole of chapter 15 where it is asked for; 1, some check failed."""
        return 0 if self.whole_right and report.earned(self.results) == report.total(self.results) else 1

    def _judge(self, sessions: "_Sessions", exercise: Exercise, task: Task) -> TaskResult:
        self._submission = sessions.submission(exercise)
        if task.function in self._submission.defined:
            answer = sessions.latest.answerer(exercise, task)
        else:
            self._absent.append(task.function)
            answer = missing(f"not found: {self._submission.why_missing(task.function)}")
        return judge_task(exercise, task, answer, self.seed, search=True)


class _Sessions:
    """Sessions for one file, one after the other: what hangs must not use up the time of what is asked next."""

    def __init__(self, path: Path, cells: list[Cell], functions: list[str], seed: int, started: Zygote | None):
        self._path, self._cells, self._functions, self._seed = path, cells, functions, seed
        self._zygote = first_that_starts(started) if started else None
        self.latest: Session | None = None
        self._half_time = 0.0

    def __enter__(self) -> "_Sessions":
        return self

    def __exit__(self, kind: type | None = None, *error) -> None:
        # After Ctrl-C there is nobody to say good-bye to: the zygote was told as well, and ends its workers.
        if isinstance(self.latest, Isolated) and kind is not KeyboardInterrupt:
            self.latest.__exit__()

    def submission(self, exercise: Exercise) -> Submission:
        """Return what the file defines, in a session that has time enough for one more function of `exercise`."""
        if self._zygote is None:
            self.latest = self.latest or Here(str(self._path), self._cells)
        elif time.monotonic() > self._half_time:
            self.__exit__()
            path, cells = str(self._path), self._cells
            self.latest = Isolated(self._zygote, path, cells, self._functions, LIMITS, self._seed)
            self._half_time = time.monotonic() + LIMITS.wall / 2
        try:
            return self.latest.submission(exercise)
        except CannotStart:  # this lock does not close here
            self._zygote, self._half_time = _weaker(self._zygote), 0.0
            return self.submission(exercise)
        except Ended as error:
            raise CourseError(f"{self._path}: while its cells ran, {error}") from error


def _weaker(zygote: Zygote) -> Zygote:
    for tier in TIERS[TIERS.index(zygote.tier) + 1 :]:
        return first_that_starts(Zygote(tier))
    raise CourseError("no process can be started here in which your answers could run")


def _check_in_json(checking: _Check, said: dict) -> int:
    said |= {"file": str(checking.path), "seed": checking.seed, "earned": 0, "points": 0, "exercises": []}
    for exercise, results in checking.judged():
        said["exercises"].append(report.as_dictionary(exercise, results))
    said |= {"earned": report.earned(checking.results), "points": report.total(checking.results)}
    if whole := checking.whole():
        said["whole"] = whole
    said["left_out"] = checking.left_out()
    return checking.code


# ---------------------------------------------------------------- what is asked, and of which file


def _find(target: str) -> tuple[tuple[Exercise, ...], Path]:
    """Return the exercises that `target` names (none: whatever the file answers) and the file to read."""
    if _is_exercise(target):
        exercise = find_exercise(target)
        return (exercise,), _own_notebook(exercise.id[:2])
    if re.fullmatch(r"\d{1,2}", target):
        chapter = target.zfill(2)
        return exercises(chapter), _own_notebook(chapter)
    path = Path(target)
    if not path.is_file():
        ways = "write a chapter (02), an exercise (02.3), or the path of a notebook"
        raise CourseError(f"{target!r} is no exercise and no file: {ways}")
    chapter = path.name[:2] if re.match(r"\d\d_", path.name) else None
    return exercises(chapter) if chapter else (), path


def _is_exercise(target: str) -> bool:
    return re.fullmatch(r"\d{1,2}\.\d+", target) is not None


def _own_folder() -> Path:
    """Return where `course start` puts the learner's copies; it need not be there."""
    return root() / "my_exercises"


def _own_notebook(chapter: str) -> Path:
    """Return the learner's copy of a chapter's exercises, or the untouched page where there is no copy."""
    # What Jupyter duplicates has a longer name than the copy that the learner was given.
    own = sorted(_own_folder().glob(f"{chapter}_*.ipynb"), key=lambda path: len(path.name))
    path = own[0] if own else find_chapter(root() / "exercises", chapter, ".ipynb")
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _asked_by(path: Path, cells: list[Cell]) -> tuple[Exercise, ...]:
    """Return the exercises of which the file defines a function."""
    everything = [exercise for chapter in chapters() for exercise in exercises(chapter)]
    found = [each for each in everything if any(_written(task, cells) for task in each.tasks)]
    if not found:
        raise CourseError(f"{path} does not define a function that any exercise asks for")
    return tuple(found)


def _written(task: Task, cells: list[Cell]) -> bool:
    return any(cell.defines(task.function) for cell in cells)


# ---------------------------------------------------------------- course hint


def _hint(exercise: str, number: int | None) -> dict:
    """Return one hint, after noting that it is seen; raises CourseError for an exercise or hint that there is not."""
    found = find_exercise(exercise)
    noted = progress.read(_own_folder())
    last = len(found.hints)
    number = min(noted.hints.get(found.id, 0) + 1, last) if number is None else number
    if not 1 <= number <= last:
        raise CourseError(f"exercise {found.id} has hints 1 to {last}, not {number}")
    noted.note_hint(found.id, number)
    progress.write(_own_folder(), noted)
    seen, text = noted.hints[found.id], found.hints[number - 1]
    return {"exercise": found.id, "number": number, "hints": last, "hints_seen": seen, "hint": text}
