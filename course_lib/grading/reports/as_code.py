"""A case as Python that can be pasted below an answer: its arguments, the calls, and what is expected."""

import math
from collections.abc import Collection
from typing import Any

import numpy
import torch

from course_lib.grading.exercise import Task
from course_lib.grading.problem import Problem
from course_lib.grading.reports.evidence import arguments, comparison, nested, same
from course_lib.grading.sandbox.worker.attempt import Given


def code(problem: Problem, task: Task) -> str:
    """Return Python to paste below an answer: the arguments, the calls that were made, and what was expected.

    Empty where the problem is not about a call.
    """
    if not arguments(problem):
        return ""
    first, *others = problem.asked or (problem.case,)
    graded = problem.cotangent is not None
    written = ["import torch", "", *assignments(first, graded=graded), *_call(task, first)]
    if graded:
        output = "got[0]" if task.outputs else "got"
        written += [f"weight = {literal(problem.cotangent)}  # what each entry of the output counts"]
        written += [f"({output} * weight).sum().backward()", f"print({_graded(problem, task)}.grad)"]
    for number, case in enumerate(others, start=2):
        changed = {name: case[name] for name in case if not same(case[name], first[name])}
        written += ["", f"# call {number} of this property{f': {problem.after}' if problem.after else ''}"]
        written += [*assignments(changed, f"_{number}"), *_call(task, case, changed, f"_{number}")]
    if compared := comparison(problem):
        written += ["", f"# what is expected{f', {problem.where}' if problem.where else ''}"]
        written += [f"expected = {literal(compared[1].value)}", "print(expected)"]
    return "\n".join(written)


def assignments(case: dict[str, Any], suffix: str = "", graded: bool = False) -> list[str]:
    """Return a line for each argument; with `graded`, gradients of the tensors are wanted.

    >>> assignments({"weights": torch.tensor([0.25, 0.75]), "width": 2})
    ['weights = torch.tensor([0.25, 0.75])', 'width = 2']
    """
    written = []
    for name, value in case.items():
        line = f"{name}{suffix} = {literal(value)}"
        if graded and torch.is_tensor(value) and value.is_floating_point():
            line += ".requires_grad_()"
        written.append(line + (f"  # {value.title}" if isinstance(value, Given) else ""))
    return written


def _call(task: Task, case: dict[str, Any], changed: Collection[str] = (), suffix: str = "") -> list[str]:
    """Return the lines of one call; the arguments in `changed` have the suffix behind their names."""

    def written(names) -> str:
        return ", ".join(f"{name}={name}{suffix if name in changed else ''}" for name in names)

    got = f"got{suffix}"
    if task.constructor is None:
        return [f"{got} = {task.function}({written(case)})", f"print({got})"]
    made = [f"module{suffix} = {task.function}({written(task.constructor)})"]
    made += [f"module{suffix}.load_state_dict(state{suffix if 'state' in changed else ''})"]
    return [*made, f"{got} = module{suffix}({written(task.parameters)})", f"print({got})"]


def _graded(problem: Problem, task: Task) -> str:
    """Return the tensor, in the code, whose gradient a problem is about."""
    name = problem.where.rpartition(" ")[2]
    return name if name in problem.case or task.constructor is None else f"module.{name}"


def literal(value: Any) -> str:
    """Return Python that makes a value again.

    >>> literal(torch.tensor([[0.1, 2.0], [1.0, 1e-5]]))
    'torch.tensor([[0.1, 2.0], [1.0, 1e-05]])'
    >>> literal(torch.zeros(0, 3))
    'torch.empty(0, 3)'
    >>> literal(torch.tensor([1.0, -torch.inf]))
    'torch.tensor([1.0, -torch.inf])'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {literal(each)}" for name, each in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))})"
    if isinstance(value, Given):
        return f"({value.source})"
    if not torch.is_tensor(value):
        return _entry(value, repr(value))
    kind = "" if value.dtype in (torch.float32, torch.int64, torch.bool) else f", dtype={value.dtype}"
    if not value.numel():
        return f"torch.empty({', '.join(map(str, value.shape))}{kind})"
    # The shortest number that is the same in float32: 0.1, and not 0.10000000149011612.
    text = {torch.float32: lambda entry: str(numpy.float32(entry))}.get(value.dtype, repr)
    entries = [_entry(each, text(each)) for each in value.detach().flatten().tolist()]
    return f"torch.tensor({' '.join(line.strip() for line in nested(entries, value.shape))}{kind})"


def _entry(value: Any, text: str) -> str:
    """Return the text of a plain value; what is no finite number has no name in Python without an import."""
    if isinstance(value, float) and not math.isfinite(value):
        return text.replace("inf", "torch.inf").replace("nan", "torch.nan")
    return text
