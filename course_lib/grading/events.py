"""What a teacher should see of a submission, noted while it is graded."""

import re
from collections.abc import Iterable
from pathlib import Path

from course_lib.grading.engine import TaskResult
from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.notebook_file import Cell, Submission
from course_lib.grading.records import ENDLESS, REFUSED, RESCUE, Event
from course_lib.grading.sandbox.worker.cells import NOT_HERE
from course_lib.grading.session import SandboxedSession
from course_lib.grading.wording import finding, shorten

MOST, LONGEST = 20, 300  # events of one submission, characters of each
DEFINITION = re.compile(r"^def (\w+)\(([^()]*)\)", re.MULTILINE)


def of_session(session: SandboxedSession, path: Path) -> list[Event]:
    """Return what a file tried that is refused, and which of its cells did not come to an end."""
    tried = [f"it tried to {each}" for each in session.tried]
    tried += [stop.sentence for stop in session.stops if NOT_HERE in stop.sentence]
    endless = [stop.sentence for stop in session.stops if stop.error == "Unfinished"]
    return [_event(REFUSED, "", each, path) for each in tried] + [_event(ENDLESS, "", each, path) for each in endless]


def of_task(
    exercise: Exercise, result: TaskResult, submission: Submission, cells: list[Cell], path: Path
) -> list[Event]:
    """Return what to say of a function that has no points for want of a name, which a small edit may bring back."""
    sentence = "" if result.earned else _rescue(result, submission, cells)
    return [_event(RESCUE, exercise.id, sentence, path)] if sentence else []


def bounded(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return each event once, and of very many the first."""
    return tuple(dict.fromkeys(events))[:MOST]


def _rescue(result: TaskResult, submission: Submission, cells: list[Cell]) -> str:
    """Say what keeps a function from its points, where that is a name; nothing where it is something else."""
    task = result.task
    if task.function not in submission.defined:
        perhaps = "" if submission.lost(task.function) else same_parameters(task, cells)
        said = submission.why_missing(task.function)
        if perhaps and "perhaps" not in said:
            said += f" (perhaps {perhaps}, which takes the same arguments, is meant for {task.function})"
        return said if perhaps or "perhaps" in said or submission.lost(task.function) else ""
    for verdict in result.verdicts:
        if verdict.problem and verdict.problem.fault.get("error") == "NameError":
            return finding(verdict.problem, task)
    return ""


def same_parameters(task: Task, cells: list[Cell]) -> str:
    """Return the function that takes the arguments of the task under another name; nothing where there is not just one.

    >>> from course_lib.grading.catalogue import catalogue
    >>> task = catalogue().find("02.3").tasks[0]
    >>> same_parameters(task, [Cell("code cell 1", "def weighted_sum(weights: Tensor, values):\\n    return values")])
    'weighted_sum'
    """
    found = {
        name
        for cell in cells
        for name, parameters in DEFINITION.findall(cell.source)
        if tuple(re.split(r"[:=]", each)[0].strip() for each in parameters.split(",")) == task.parameters
    }
    return found.pop() if len(found) == 1 and task.constructor is None else ""


def _event(kind: str, exercise: str, sentence: str, path: Path) -> Event:
    return Event(kind, exercise, shorten(sentence, LONGEST), str(path))
