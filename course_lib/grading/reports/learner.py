"""The words in which a result reaches the learner: one line for each property, and below a failure what was seen."""

import os
import sys
import textwrap

from course_lib.grading.engine import RANDOM_CASES, TaskResult
from course_lib.grading.exercise import Exercise
from course_lib.grading.wording import finding, sentence, shorten

WIDTH = 88
INDENT = " " * 9
LONGEST_PROBLEM = 300  # at most four lines


def render(exercise: Exercise, results: list[TaskResult], place: str = "") -> str:
    """Return the report on one exercise; `place` says where the answer was read."""
    lines = [beside(f"{exercise.id}  {exercise.title}", shorten(place, len(place)))]
    for result in results:
        prefix = f"{result.task.function}: " if len(exercise.tasks) > 1 else ""
        lines += _task_lines(result, prefix)
    if earned(results) < total(results):
        lines[-1] = beside(lines[-1], f"hint: course hint {exercise.id}")
    lines.append(f"checked on {_cases(results)}")
    return "\n".join(lines)


def closing(results: list[TaskResult], seed: int, command: str, whole: bool = True) -> str:
    """Return the last line: the points, and how to see the same again; `whole` is False where a chapter's
    look at all parts together fails.

    >>> closing([], 81723, "course check 02.2")
    '0/0    all right    same cases again: course check 02.2 --seed 81723'
    """
    points = f"{earned(results)}/{total(results)}"
    right = "all right    same cases again" if whole and earned(results) == total(results) else "repeat with"
    return f"{points}    {right}: {shorten(command, len(command))} --seed {seed}"


def earned(results: list[TaskResult]) -> int:
    """Return the points that were earned."""
    return sum(result.earned for result in results)


def total(results: list[TaskResult]) -> int:
    """Return the points that can be earned."""
    return sum(result.task.points for result in results)


def coloured(report: str) -> str:
    """Paint the verdicts green and red on a terminal, unless NO_COLOR is set; else return the text as it is."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return report
    green, red, plain = "\033[32m", "\033[31m", "\033[0m"
    return report.replace("\n  ok  ", f"\n  {green}ok{plain}  ").replace("\n  FAIL", f"\n  {red}FAIL{plain}")


def as_dictionary(exercise: Exercise, results: list[TaskResult]) -> dict:
    """Return what `render` puts into words, fit for JSON."""
    return {
        "exercise": exercise.id,
        "title": exercise.title,
        "earned": earned(results),
        "points": total(results),
        "functions": [
            {
                "function": result.task.function,
                "signature": result.task.signature,
                "earned": result.earned,
                "points": result.task.points,
                "mistake": result.mistake.sentence if result.mistake else None,
                "properties": [
                    {
                        "property": verdict.property.name,
                        "earned": verdict.earned,
                        "points": verdict.property.points,
                        "kind": verdict.problem.kind if verdict.problem else None,
                        "problem": sentence(verdict.problem, result.task) if verdict.problem else None,
                    }
                    for verdict in result.verdicts
                ],
            }
            for result in results
        ],
    }


def _task_lines(result: TaskResult, prefix: str) -> list[str]:
    lines, said = [], ""
    broken = [verdict.property.name for verdict in result.verdicts if verdict.problem]
    named = result.mistake
    under = named.breaks if named and named.breaks in broken else "".join(broken[:1])
    for verdict in result.verdicts:
        kind = verdict.problem.kind if verdict.problem else None
        mark = {None: "ok", "later": "later"}.get(kind, "FAIL")  # what waits for the values is no fault of its own
        points = f"{verdict.earned}/{verdict.property.points}"
        found = finding(verdict.problem, result.task) if verdict.problem else said
        again = " (as above)" if verdict.problem and found == said else ""
        lines.append(beside(f"  {mark:<7}{prefix}{verdict.property.name}{again}", points))
        if found != said:  # what ails every property, such as a wrong shape, is said once
            lines += wrapped(shorten(sentence(verdict.problem, result.task), LONGEST_PROBLEM))
            said = found
        if named and verdict.property.name == under:
            lines += wrapped(named.sentence)
    return lines


def wrapped(text: str) -> list[str]:
    """Return the lines of a text that stands below a verdict."""
    return textwrap.wrap(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)


def beside(left: str, right: str) -> str:
    """Put `right` at the right edge of the line, or of the next line where it does not fit."""
    room = WIDTH - len(left) - len(right)
    return f"{left}{' ' * room}{right}".rstrip() if room >= 2 else f"{left}\n{right:>{WIDTH}}"


def _cases(results: list[TaskResult]) -> str:
    examples = sum(len(result.task.examples) for result in results)
    fixed = "the example of the statement" if examples == 1 else f"{examples} fixed examples"
    random = f"{RANDOM_CASES} fresh random cases"
    return f"{fixed} and {random}{' for each function' if len(results) > 1 else ''}, smallest first"
