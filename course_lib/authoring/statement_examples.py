"""The examples of a statement as code: what goes in as tensors, and what has to come out.

They are written from the declaration of an exercise, which is what `check` tries, so that no digit is typed twice.
"""

import re
import subprocess
import sys
from functools import cache

import torch

from course_lib.grading.exercise import Case, Exercise, Task
from course_lib.grading.reports.as_code import assignments, literal
from course_lib.grading.reports.evidence import same
from course_lib.grading.sandbox.worker.attempt import Given, Value

WIDTH = 74  # characters of a line, as of all code that the book shows
DECIMALS = 4  # of what comes out: enough to recognise it
MOST_LINES = 24  # of one cell
LONGEST_FUNCTION = 150  # characters


def example_of_answer(exercise: Exercise, answer: str) -> str:
    """Return the cell with the examples of the task that a cell answers; see `example_cell`."""
    written = re.findall(r"^(?:def|class) (\w+)", answer, re.MULTILINE)
    return next((example_cell(exercise, task) for task in exercise.tasks if task.function in written), "")


def example_cell(exercise: Exercise, task: Task) -> str:
    """Return the cell with the examples of one task, or "" where it would show nothing new or nothing that is read.

    Of several examples the first is shown, and more while there is room. Nothing new: the task before has the same
    ones. Not read: a function among the arguments needs more than a line or two.
    """
    place = exercise.tasks.index(task)
    before = exercise.tasks[place - 1] if place else None
    if before and same(before.examples[0], task.examples[0]) and same(_expected(before), _expected(task)):
        return ""
    cell = ""
    for number, case in enumerate(task.examples, start=1):
        if any(isinstance(value, Given) and len(value.source) > LONGEST_FUNCTION for value in case.values()):
            break
        name = "Example" if len(task.examples) == 1 else f"Example {number}"
        longer = cell + ("\n" if cell else "") + _formatted(_one(task, case, name))
        if cell and longer.count("\n") > MOST_LINES:
            break
        cell = longer
    return cell.rstrip("\n")


def _one(task: Task, case: Case, name: str) -> str:
    inside = "; `state` are the parameters of the module" if task.constructor else ""
    outputs = f": {' and '.join(task.outputs)}" if task.outputs else ""
    written = [f"# {name}: what goes in{inside}"]
    for argument, value in case.items():
        written += [f"# {value.title}"] if isinstance(value, Given) else []
        written += [line.partition("  #")[0] for line in assignments({argument: value})]
    expected = literal(_rounded(task.reference(**case)))
    return "\n".join([*written, "", f"# what has to come out{outputs}", f"expected = {expected}"])


def _expected(task: Task) -> Value:
    return task.reference(**task.examples[0])


def _rounded(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    if torch.is_tensor(value) and value.dtype == torch.bool and not value.shape:
        return value.item()
    if torch.is_tensor(value):
        return value.detach().double().round(decimals=DECIMALS).float() + 0.0 if value.is_floating_point() else value
    return round(value, DECIMALS) if isinstance(value, float) else value


@cache
def _formatted(source: str) -> str:
    """Return the code in lines that can be read, a row of a matrix in each where they are long."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", str(WIDTH), "-"]
    return subprocess.run(command, input=source + "\n", capture_output=True, text=True, check=True).stdout
