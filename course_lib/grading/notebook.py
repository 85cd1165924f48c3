"""`check(function)`, `hint("02.1")` and `progress()`: the way into the grading from a notebook."""

import contextlib
import importlib
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.grading import diary
from course_lib.grading.call import Answer, Round, patient, placed
from course_lib.grading.catalogue import OWN, catalogue
from course_lib.grading.engine import TaskResult, fresh_seed, judge_task
from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.nearest import ALIKE, nearest
from course_lib.grading.reports import learner, learner_html
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.worker.attempt import at_most, attempt
from course_lib.grading.slow_imports import slow_imports
from course_lib.grading.wording import shorten
from course_lib.project import OWN_FOLDER, own_folder

PRINTED = 800  # characters of what an answer prints
_EARNED: dict[str, dict[str, int]] = {}  # the points of what was checked in this notebook: exercise, then function


@dataclass(frozen=True)
class Report:
    """What a check found: HTML in Jupyter, text elsewhere."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}


def check(function: Callable, package: str = OWN) -> None:
    """Check the answer to an exercise and show what was found.

    The exercise is found by the name of `function`, or of the variable that holds a lambda, a `partial` or a module, in
    the catalogue `package`. Fixed examples, edge cases and fresh
    random cases are checked, as they are by `course check`; the points are noted beside a learner's own notebook.
    """
    name = getattr(function, "__name__", None)
    names = sys._getframe(1).f_globals  # of the notebook
    called = [name, *_names_of(function, names)]
    known = (catalogue(package).find_task(each) for each in called if each)
    found = next(filter(None, known), None) if callable(function) else None
    if found is None:
        meant = nearest(str(name), _asked_for(package), ALIKE)
        instead = f"did you mean {meant}?" if meant else "give check the function that the statement names."
        print(f"No exercise asks for {shorten(str(name or repr(function)), 60)}: {instead}")
        return
    exercise, task = found
    seed = fresh_seed()
    try:
        for module in slow_imports(_cells(names)):
            importlib.import_module(module)
        ask = patient(function, task, exercise.forbidden, Limits().step)

        def answer(asked: Round) -> list[Answer]:
            return [_placed(each) for each in ask(asked)]

        results = [judge_task(exercise, task, answer, seed, search=True)]
        printed = _printed(function, task, results[0])
    except KeyboardInterrupt:  # the way out of a long computation; frames of the grader would say nothing
        print(f"Interrupted: {task.function} was not checked.")
        return
    _note(exercise, task, results[0].earned)
    closing = learner.closing(results, seed, f"course check {exercise.id}")
    text = learner.render(exercise, results, hint='hint("{}")') + "\n"
    if printed:
        text += f"on the case above, {task.function} printed: {shorten(printed, PRINTED)}\n"
    _show(Report(text + closing, learner_html.report(exercise, results, closing, printed)))


def hint(exercise: str, number: int | None = None, package: str = OWN) -> None:
    """Print the next hint for an exercise such as "02.1", or the one of this number, counted from 1."""
    from course_lib.grading import command

    call = 'hint("{}")', 'hint("{}", {})'
    command.hint(command.Place(catalogue(package), own_folder()), exercise, number, call=call)


def progress(package: str = OWN) -> None:
    """Show the points, the hints and the day of the last check of every exercise."""
    from course_lib.grading import command

    command.show_progress(command.Place(catalogue(package), own_folder()))


def _placed(answer: Answer) -> Answer:
    """Return the answer; where it failed in another cell or file, with the number that Jupyter shows, or its name."""
    file = answer.problem.fault.get("file") if answer.problem else ""
    if not file:
        return answer
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    cell = shell.compile.format_code_name(file) if shell else None
    return placed(answer, f"cell {cell[1]}" if cell else Path(file).name)


def _names_of(value: Any, names: dict[str, Any]) -> list[str]:
    """Return the variables that hold a value: what has no name of its own was given one by the cell that calls."""
    return [name for name, each in list(names.items()) if each is value]


def _cells(names: dict[str, Any]) -> list[str]:
    """Return the texts of the cells that ran: Jupyter keeps them as `In`, unless a learner uses this name otherwise."""
    ran = names.get("In")
    return [each for each in ran if isinstance(each, str)] if isinstance(ran, list) else []


def _asked_for(package: str) -> list[str]:
    return [task.function for exercise in catalogue(package) for task in exercise.tasks]


def _show(report: Report) -> None:
    """Display a report in Jupyter, print it elsewhere."""
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    if shell and getattr(shell, "kernel", None):
        sys.modules["IPython"].display.display(report)
    else:
        print(learner.coloured(report.text))


def _note(exercise: Exercise, task: Task, earned: int) -> None:
    """Note the points of an exercise, as far as its functions were checked in this notebook, which is a learner's."""
    points = _EARNED.setdefault(exercise.id, {})
    points[task.function] = earned
    if Path.cwd().name == OWN_FOLDER:
        noted = diary.read(Path.cwd())
        noted.note_check(exercise.id, sum(points.values()))
        diary.write(Path.cwd(), noted)


def _printed(function: Callable, task: Task, result: TaskResult) -> str:
    """Return what an answer prints on the case that is shown; it is asked once more for that."""
    problem = learner.shown_problem(result)
    if problem is None or problem.kind == "time":
        return ""
    case = (problem.asked or (problem.case,))[0]
    constructor = task.constructor if isinstance(function, type) else None
    heard = io.StringIO()
    copies = {name: each.clone() if hasattr(each, "clone") else each for name, each in case.items()}
    try:
        with at_most(Limits().step), contextlib.redirect_stdout(heard):
            attempt(function, copies, constructor)
    except KeyboardInterrupt:
        raise
    except BaseException:  # the report has told of it
        pass
    printed = heard.getvalue()[:PRINTED]
    return "".join(each if each.isprintable() or each == "\n" else "\ufffd" for each in printed)
