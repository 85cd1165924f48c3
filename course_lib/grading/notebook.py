"""`check(function)`: the way into the grading from a notebook."""

from collections.abc import Callable

from course_lib.grading import report
from course_lib.grading.call import in_process
from course_lib.grading.declarations import chapters, exercises
from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.judging import fresh_seed, judge_task


def check(function: Callable) -> None:
    """Check the answer to an exercise and print what was found.

    The exercise is found by the name of `function`. Fixed examples and fresh random cases are checked, as they are by
    `course check`.
    """
    name = getattr(function, "__name__", None)
    found = find_task(name) if callable(function) else None
    if found is None:
        print(f"No exercise asks for {name or repr(function)}: give check the function that the statement names.")
        return
    exercise, task = found
    seed = fresh_seed()
    results = [judge_task(exercise, task, in_process(function, task, exercise.forbidden), seed, search=True)]
    text = report.render(exercise, results)
    print(report.coloured(f"{text}\n{report.closing(results, seed, f'course check {exercise.id}')}"))


def find_task(function: str | None) -> tuple[Exercise, Task] | None:
    """Return the exercise and the task that ask for a function of this name."""
    for chapter in chapters():
        for exercise in exercises(chapter):
            for task in exercise.tasks:
                if task.function == function:
                    return exercise, task
    return None
