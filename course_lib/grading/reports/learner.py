"""The words in which a result reaches the learner: one line for each property, and below a failure what was seen."""

import os
import re
import sys
import textwrap

from course_lib.grading.engine import RANDOM_CASES, TaskResult
from course_lib.grading.exercise import Exercise
from course_lib.grading.problem import Problem
from course_lib.grading.reports import as_code, evidence
from course_lib.grading.wording import finding, in_short, sentence, shorten

WIDTH = 88
INDENT = " " * 9
LONGEST_PROBLEM = 300  # at most four lines


def render(exercise: Exercise, results: list[TaskResult], place: str = "", hint: str = "course hint {}") -> str:
    """Return the report on one exercise; `place` says where the answer was read, `hint` how to ask for one."""
    lines = [beside(f"{exercise.id}  {exercise.title}", shorten(place, len(place)))]
    for result in results:
        prefix = f"{result.task.function}: " if len(exercise.tasks) > 1 else ""
        lines += _task_lines(result, prefix)
    if earned(results) < total(results):
        lines[-1] = beside(lines[-1], f"hint: {hint.format(exercise.id)}")
    if not all(map(unwritten, results)):
        lines += wrapped(f"checked on {_cases(results)}", "")
    return "\n".join(lines)


def line(exercise: Exercise, results: list[TaskResult]) -> str:
    """Return what one exercise comes to, in one line."""
    wrong = "to do" if all(map(unwritten, results)) else "FAIL"
    mark = "ok" if earned(results) == total(results) else wrong
    return beside(f"  {mark:<7}{exercise.id}  {exercise.title}", f"{earned(results)}/{total(results)}")


def code(results: list[TaskResult]) -> str:
    """Return the first case that fails as Python to paste below the answer; empty where there is none."""
    return next((found for result in results if (found := code_of(result))), "")


def code_of(result: TaskResult) -> str:
    """Return the first case on which a function fails as Python to paste; empty where there is none."""
    problem = shown_problem(result)
    return as_code.code(problem, result.task) if problem else ""


def shown_problem(result: TaskResult) -> Problem | None:
    """Return the first problem that is about a call: the one whose numbers are shown."""
    problems = (verdict.problem for verdict in result.verdicts if verdict.problem)
    return next((each for each in problems if evidence.arguments(each)), None)


def unwritten(result: TaskResult) -> bool:
    """Tell whether nobody has begun to write the function: of its properties there is nothing to say."""
    return all(each.problem is not None and each.problem.kind in ("unwritten", "later") for each in result.verdicts)


def diagnosis(result: TaskResult) -> list[str]:
    """Return what a known mistake is to be told, and the one behind it."""
    found = [result.mistake.sentence] if result.mistake else [result.observed] * bool(result.observed)
    return found + ([f"behind it, a second one: {result.second_mistake.sentence}"] if result.second_mistake else [])


def told_beside(problem: Problem, shown: Problem | None, result: TaskResult) -> str:
    """Return the sentence about a problem; arguments whose numbers stand there already are not told again."""
    if shown is None or not evidence.same(problem.case, shown.case):
        return sentence(problem, result.task)
    after = f"the same, then {problem.after}: " if problem.after else ""
    return f"{after}{finding(problem, result.task)}"


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
    report = re.sub(r"^  ok  ", f"  {green}ok{plain}  ", report, flags=re.MULTILINE)
    return re.sub(r"^  FAIL", f"  {red}FAIL{plain}", report, flags=re.MULTILINE)


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
                "second_mistake": result.second_mistake.sentence if result.second_mistake else None,
                "observed": result.observed or None,
                "code": code_of(result),
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
    if unwritten(result):
        return [
            beside(f"  {'to do':<7}{result.task.function}", f"0/{result.task.points}"),
            *wrapped(finding(result.verdicts[0].problem, result.task)),
        ]
    lines, said, shown = [], "", shown_problem(result)
    for told in diagnosis(result):
        lines += wrapped(f"{prefix}{told}", INDENT[:2])
    for verdict in result.verdicts:
        kind = verdict.problem.kind if verdict.problem else None
        mark = {None: "ok", "later": "later"}.get(kind, "FAIL")  # what waits for the values is no fault of its own
        points = f"{verdict.earned}/{verdict.property.points}"
        found = finding(verdict.problem, result.task) if verdict.problem else said
        again = " (as above)" if verdict.problem and found == said else ""
        lines.append(beside(f"  {mark:<7}{prefix}{verdict.property.name}{again}", points))
        if found == said:  # what ails every property, such as a wrong shape, is said once
            continue
        if verdict.problem is shown:
            after = f"after {shown.after}: " if shown.after else ""
            lines += wrapped(shorten(f"{after}{in_short(shown, result.task)}", LONGEST_PROBLEM))
            lines += [f"{INDENT}  {line}" for line in evidence.text(shown)]
        else:
            lines += wrapped(shorten(told_beside(verdict.problem, shown, result), LONGEST_PROBLEM))
        said = found
    return lines


def wrapped(text: str, indent: str = INDENT) -> list[str]:
    """Return the lines of a text that stands below a verdict, or with another indent above it."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def beside(left: str, right: str) -> str:
    """Put `right` at the right edge of the line, or of the next line where it does not fit."""
    room = WIDTH - len(left) - len(right)
    return f"{left}{' ' * room}{right}".rstrip() if room >= 2 else f"{left}\n{right:>{WIDTH}}"


def _cases(results: list[TaskResult]) -> str:
    examples = sum(len(result.task.examples) for result in results)
    fixed = "the example of the statement" if examples == 1 else f"{examples} fixed examples"
    edges = sum(len(result.task.edges) for result in results)
    chosen = f", {edges} edge case{'s' if edges > 1 else ''}" if edges else ""
    random = f"{RANDOM_CASES} fresh random cases"
    return f"{fixed}{chosen} and {random}{' for each function' if len(results) > 1 else ''}, smallest first"
