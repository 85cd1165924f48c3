"""`check(function)`: the way into the grading from a notebook."""

from collections.abc import Callable

from course_lib.grading.call import in_process
from course_lib.grading.catalogue import OWN, catalogue
from course_lib.grading.engine import fresh_seed, judge_task
from course_lib.grading.reports import learner


def check(function: Callable, package: str = OWN) -> None:
    """Check the answer to an exercise and print what was found.

    The exercise is found by the name of `function`, in the catalogue `package`. Fixed examples and fresh random cases
    are checked, as they are by `course check`.
    """
    name = getattr(function, "__name__", None)
    found = catalogue(package).find_task(name) if name and callable(function) else None
    if found is None:
        print(f"No exercise asks for {name or repr(function)}: give check the function that the statement names.")
        return
    exercise, task = found
    seed = fresh_seed()
    results = [judge_task(exercise, task, in_process(function, task, exercise.forbidden), seed, search=True)]
    text = learner.render(exercise, results)
    print(learner.coloured(f"{text}\n{learner.closing(results, seed, f'course check {exercise.id}')}"))
