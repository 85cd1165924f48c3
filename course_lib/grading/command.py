"""`course check` and `course hint`: the way into the grading from a shell."""

import re
from pathlib import Path

import typer

from course_lib.grading import report
from course_lib.grading.call import Answerer, in_process, missing
from course_lib.grading.declarations import chapters, exercises, find_exercise
from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.judging import fresh_seed, judge_task
from course_lib.grading.submission import Submission, read
from course_lib.project import CourseError, find_chapter, root


def check(target: str, seed: int | None = None) -> int:
    """Check a chapter ("02"), an exercise ("02.3") or a file, print a report, and return the exit code.

    0: all right; 1: some check failed. Raises CourseError (exit code 2) for an unknown target, a file that cannot be
    read, a function that is missing, or, where more than one exercise was asked for, a cell that is not Python; what
    is there is then reported first.
    """
    asked, path = _find(target)
    submission = read(path)
    asked = asked or _asked_by(submission)
    seed = fresh_seed() if seed is None else seed
    everything, absent = [], []
    for exercise in asked:
        results = []
        for task in exercise.tasks:
            absent += [task.function] if task.function not in submission.names else []
            results.append(judge_task(exercise, task, _answerer(submission, exercise, task), seed))
        typer.echo(report.coloured(report.render(exercise, results, str(submission.path))) + "\n")
        everything += results
    typer.echo(report.closing(everything, seed, f"course check {target}"))
    if absent:
        raise CourseError(submission.why_missing(*absent))
    if submission.broken:
        sentence = f"{submission.path}: {'; '.join(stop.sentence for stop in submission.broken)}"
        if not _is_exercise(target):
            raise CourseError(sentence)
        typer.echo(f"left out, and not needed for {target}: {sentence}")
    return 0 if report.earned(everything) == report.total(everything) else 1


def hint(exercise: str, number: int = 1) -> None:
    """Print one hint and say how to get the next; raises CourseError for an exercise or hint that there is not."""
    found = find_exercise(exercise)
    exercise, hints = found.id, found.hints
    if not 1 <= number <= len(hints):
        raise CourseError(f"exercise {exercise} has hints 1 to {len(hints)}, not {number}")
    typer.echo(f"hint {number} of {len(hints)} for {exercise}: {hints[number - 1]}")
    if number < len(hints):
        typer.echo(f"the next says more: course hint {exercise} {number + 1}")


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


def _own_notebook(chapter: str) -> Path:
    """Return the learner's copy of a chapter's exercises, or the untouched page where there is no copy."""
    own = sorted((root() / "my_exercises").glob(f"{chapter}_*.ipynb"))
    path = own[0] if own else find_chapter(root() / "exercises", chapter, ".ipynb")
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _asked_by(submission: Submission) -> tuple[Exercise, ...]:
    """Return the exercises of which the file defines a function."""
    everything = [exercise for chapter in chapters() for exercise in exercises(chapter)]
    found = [each for each in everything if any(task.function in submission.names for task in each.tasks)]
    if not found:
        raise CourseError(f"{submission.why_missing('a function that any exercise asks for')}")
    return tuple(found)


def _answerer(submission: Submission, exercise: Exercise, task: Task) -> Answerer:
    if task.function not in submission.names:
        return missing(f"not found: {submission.why_missing(task.function)}")
    return in_process(submission.names[task.function], task, exercise.forbidden)
