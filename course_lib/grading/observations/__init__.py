"""What can be said of a wrong answer that makes no known mistake: facts that hold on every question that was put."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import torch

from course_lib.grading.exercise import Task
from course_lib.grading.observations.changed_arguments import other_questions
from course_lib.grading.observations.numbers import related, rounded
from course_lib.grading.observations.places import LEAST, entries, inputs
from course_lib.grading.observations.seen import Seen
from course_lib.grading.observations.shapes import misshapen
from course_lib.grading.sandbox.worker.attempt import Value

# A question that was put: its arguments, what came (None: no value), what was expected, and which inputs were changed.
Told = tuple[dict[str, Any], Value | None, Value, tuple[str, ...]]
# One for which gradients were asked as well: its arguments, the gradients that came, by name, and those expected.
Graded = tuple[dict[str, Any], Mapping[str, torch.Tensor], Mapping[str, torch.Tensor]]


def observe(task: Task, told: list[Told], graded: list[Graded]) -> str:
    """Return one sentence that is true of all these answers and says what is wrong with them; "" for none."""
    for output in range(len(task.outputs) or 1):
        seen = [Seen(arguments, _part(got, output), _part(expected, output)) for arguments, got, expected, _ in told]
        if not all(each.right for each in seen):
            of = f"`{task.outputs[output]}`: " if task.outputs else ""
            found = next(_observations(seen, _reference(task, output)), "")
            return f"{of}{found}" if found else ""
    changed = dict.fromkeys(chain.from_iterable(names for *_, names in told))
    if changed:
        names = " and ".join(f"`{name}`" for name in changed)
        return f"the function writes into {names}, its caller's own: make a new tensor, or work on a copy"
    return _of_gradients(graded)


def _of_gradients(graded: list[Graded]) -> str:
    """Return what can be said of gradients that are wrong where all values are right."""
    for name in graded[0][2] if graded else ():
        seen = [Seen(arguments, got[name], expected[name]) for arguments, got, expected in graded if name in got]
        wrong = [each for each in seen if not each.right]
        fit = all((each.got.shape, each.got.dtype) == (each.expected.shape, each.expected.dtype) for each in wrong)
        if len(wrong) >= LEAST and fit:
            found = next(chain(related(seen), inputs(seen), entries(wrong)), "")
            if found == "each number is 0":
                found = "it is 0: the way to it is cut, as `detach`, `.data` or `no_grad` cut it"
            return f"the numbers are right, but not the gradient for `{name}`: {found}" if found else ""
    return ""


def _observations(seen: list[Seen], reference: Callable[[dict[str, Any]], torch.Tensor]) -> Iterator[str]:
    wrong = [each for each in seen if not each.right]
    given = [each for each in wrong if each.got is not None]
    fit = all((each.got.shape, each.got.dtype) == (each.expected.shape, each.expected.dtype) for each in given)
    if len(given) == len(wrong) and fit:
        yield from rounded(wrong)
    if len(given) == len(wrong) >= LEAST:
        if fit:
            yield from related(seen)
            yield from other_questions(seen, reference)
            yield from inputs(seen)
            yield from entries(wrong)
        else:
            yield from misshapen(seen)
            yield from inputs(seen)
    elif len(wrong) >= LEAST:
        yield from inputs(seen)


def _part(value: Value | None, output: int) -> torch.Tensor | None:
    return value[output] if isinstance(value, tuple) else value


def _reference(task: Task, output: int) -> Callable[[dict[str, Any]], torch.Tensor]:
    return lambda arguments: _part(task.reference(**arguments), output)
