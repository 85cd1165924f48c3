"""The words for what was found: values, cases and problems, each short enough for one line of a report."""

import re
from typing import TYPE_CHECKING, Any

import torch

from course_lib.grading.causes import cause
from course_lib.grading.checks import SHOWN_WHOLE
from course_lib.grading.problem import Problem
from course_lib.grading.sandbox.worker.attempt import Given

if TYPE_CHECKING:
    from course_lib.grading.exercise import Task

DIGITS = 4  # significant ones, where they are enough
# As `worker.attempt` lists them: "to_key.bias (2,), to_key.weight (2, 4)"
PARAMETER = re.compile(r"[^\s,()]{1,200} \([^()]{0,100}\)")
LATER = "counts once the values are right"


def sentence(problem: Problem, task: "Task") -> str:
    """Return the whole sentence: on which inputs, and what was found there."""
    found = finding(problem, task)
    inputs = describe_case(problem.case) if problem.case is not None and problem.kind not in NOT_ABOUT_A_CASE else ""
    if problem.after:
        inputs += f", then {problem.after}"
    return f"{inputs}: {found}" if inputs else found


# What is wrong whatever the inputs are.
NOT_ABOUT_A_CASE = ("unwritten", "signature", "missing", "stopped", "forbidden", "later")


def finding(problem: Problem, task: "Task") -> str:
    """Return what was found, without the inputs: where two problems read alike, it need be said only once."""
    said = _no_value(problem, task) if problem.fault else _WORDS[problem.kind](problem, task)
    where = f"{problem.where}: " if problem.where and problem.kind not in _PLACED else ""
    note = f"{'; ' if said else ''}{problem.note}" if problem.note and problem.kind not in _NOTED else ""
    return f"{where}{said}{note}"


def in_short(problem: Problem, task: "Task") -> str:
    """Return what was found, where the numbers of the call stand below: how many entries differ, and not which."""
    got = problem.whole[0] if problem.whole else problem.got
    if problem.kind not in ("value", "gradient") or not isinstance(got, torch.Tensor):
        return finding(problem, task)
    where, note = f"{problem.where}: " if problem.where else "", f"; {problem.note}" if problem.note else ""
    count = f"{problem.differ[0]} of {problem.differ[1]} entries differ" if problem.differ else "got other numbers"
    return f"{where}{count}{note}"


def _value(problem: Problem, task: "Task") -> str:
    """Say what came and what was expected, in so many digits that both do not look the same."""
    if problem.got is None and problem.expected is None:
        return ""
    entry = (
        f"{problem.differ[0]} of {problem.differ[1]} entries differ; at {list(problem.at)} " if problem.differ else ""
    )
    for digits in (DIGITS, 6, 9):  # nine tell any two numbers of float32 apart
        got, expected = _shown(problem.got, digits), _shown(problem.expected, digits)
        if got != expected:
            break
    return f"{entry}got {got}" + (f", expected {expected}" if problem.expected is not None else "")


def _moved(problem: Problem, task: "Task") -> str:
    return f"{problem.where or 'the answer'} moved by {problem.got:.2g}, expected {_shown(problem.expected, DIGITS)}"


def _shape(problem: Problem, task: "Task") -> str:
    of = f"{problem.where} of " if problem.where else ""
    cause = shape_cause(tuple(problem.got.shape), tuple(problem.expected.shape))
    said = f"got {of}{describe_kind(problem.got)}, expected {describe_kind(problem.expected)}"
    return f"{said}: {cause}" if cause else said


def shape_cause(got: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """Return how one shape may have become another, where that can be told; else nothing.

    >>> shape_cause((4,), (1, 4))
    'an axis of size one is missing, as after a bare `squeeze()`, which drops every such axis'
    >>> shape_cause((3, 2), (2, 3))
    'the axes are there, in another order'
    """
    if [size for size in got if size != 1] == [size for size in expected if size != 1]:
        if len(got) < len(expected):
            return "an axis of size one is missing, as after a bare `squeeze()`, which drops every such axis"
        if len(got) > len(expected):
            return "an axis of size one is too many, as `keepdim=True` or `unsqueeze` leave it"
    if len(got) == len(expected):
        return "the axes are there, in another order" if sorted(got) == sorted(expected) else ""
    sizes = list(expected)
    if all(size in sizes and not sizes.remove(size) for size in got):
        return f"the axis of size {sizes[0]} is missing: was it summed or averaged away?" if len(sizes) == 1 else ""
    return ""


def _numbers(problem: Problem, task: "Task") -> str:
    got, expected = (str(each.dtype).removeprefix("torch.") for each in (problem.got, problem.expected))
    of = f"{problem.where} in " if problem.where else ""
    given = {each.dtype for each in (problem.case or {}).values() if torch.is_tensor(each) and each.is_floating_point()}
    source = ", the kind of the arguments" if given == {problem.expected.dtype} else ""
    return f"got {of}numbers of {got}, expected {expected}{source}"


def _sum(problem: Problem, task: "Task") -> str:
    return f"a row {describe(problem.got)} sums to {describe(problem.got.sum().item())}, expected {problem.expected:g}"


def _range(problem: Problem, task: "Task") -> str:
    low, high = (describe(each) for each in problem.expected)
    return f"got {describe(problem.got)}, but all {problem.where} there lie between {low} and {high}"


_WORDS = {
    "value": _value,
    "gradient": _value,
    "sum": _sum,
    "range": _range,
    "moved": _moved,
    "shape": _shape,
    "numbers": _numbers,
    "changed": lambda problem, task: (
        f"after the call {' and '.join(f'`{name}`' for name in problem.got)} held other numbers than before"
    ),
    "outputs": lambda problem, task: f"got {problem.got}, expected {_expected_kind(task)}: {task.returns}",
    "idle": lambda problem, task: "the answer is one number over and over, whatever the input",
    "unsteady": lambda problem, task: "two calls with these arguments gave two different answers",
    "later": lambda problem, task: LATER,
    "missing": lambda problem, task: f"not found: {problem.note}",
    "stopped": lambda problem, task: problem.note,
    "forbidden": lambda problem, task: f"{task.function} used {problem.got}: here it is to be written by hand",
    "incomparable": lambda problem, task: f"the answer cannot be compared ({shorten(problem.note, 120)})",
}
_NOTED = ("missing", "stopped", "incomparable")  # their note is the sentence
_PLACED = ("range", "moved", "shape", "numbers")  # their sentence says where


def _no_value(problem: Problem, task: "Task") -> str:
    """Say why a call gave no tensor; `problem.fault` is what `worker.attempt` tells of it."""
    fault, name = problem.fault, task.function
    if problem.kind == "unwritten":
        return f"not written yet: write {task.signature}, which returns {task.returns}"
    if problem.kind == "signature":
        return f"expected the signature {task.signature}, got {name}{shorten(fault['got'], 160)}"
    if problem.kind == "parameters":
        got, expected = PARAMETER.findall(fault["got"]), PARAMETER.findall(fault["expected"])
        lacking = ", ".join(each for each in expected if each not in got)
        spare = ", ".join(each for each in got if each not in expected)
        wrong = [f"lacks {shorten(lacking, 240)}"] * bool(lacking)
        wrong += [f"has parameters that nobody asked for: {shorten(spare, 240)}"] * bool(spare)
        return f"{name} {', and '.join(wrong)}"
    if problem.kind == "no value":
        got = shorten(fault["got"], 60)
        if got == "None":
            got = "nothing (is `return` missing?)"
        elif not got.startswith("None"):  # which may stand inside a tuple
            got = f"an {got}" if got.startswith(("int", "ndarray")) else f"a {got}"
        return f"got {got}, expected {_expected_kind(task)}: {task.returns}"
    if problem.kind == "layout":
        return f"got a {shorten(fault['got'], 60)}, expected an ordinary one on the cpu"
    if problem.kind == "no gradient":
        return "the answer has no gradient (detached, or made without its inputs)"
    if problem.kind == "unsteady":
        return (
            "a second call with the very same tensors gives other numbers: `backward` adds to the gradients that the "
            "first call left in them; work on a copy, or use torch.autograd.grad"
        )
    place = f" of {shorten(fault['file'], 60)}" if fault.get("file") else ""  # not the answer's own
    where = f" in line {fault['line']}{place} (`{shorten(fault['text'], 60)}`)" if fault["line"] else ""
    if problem.kind == "time":
        used = f": {shorten(fault['message'], 60)}" if fault["message"] else ""
        return f"{name} did not end in time{', still' + where if where else ''}{used}"
    if found := cause(fault["error"], fault["message"]):
        return f"{name} stopped{where}: {shorten(found, 240)}"
    return f"{name} stopped with {shorten(fault['error'] + where + ': ' + fault['message'], 480)}"


def _expected_kind(task: "Task") -> str:
    return f"a tuple ({', '.join(task.outputs)})" if task.outputs else "a tensor"


def _shown(value: Any, digits: int) -> str:
    return value if isinstance(value, str) else describe(value, digits)


def describe(value: Any, digits: int = DIGITS) -> str:
    """Return a small tensor as its numbers, a larger one as its shape, anything else as Python writes it.

    >>> describe(torch.tensor([[0.25, 0.75]]))
    '[[0.25, 0.75]]'
    >>> describe(torch.tensor([10_000.0, 10_001.0]))
    '[10000.0, 10001.0]'
    >>> describe(torch.zeros(2, 3, 4))
    'of shape (2, 3, 4)'
    """
    if isinstance(value, torch.Tensor):
        small = value.numel() <= SHOWN_WHOLE
        return str(_rounded(value.tolist(), digits)) if small else f"of shape {tuple(value.shape)}"
    return repr(_rounded(value, digits))


def describe_case(arguments: dict[str, Any]) -> str:
    """Return the arguments of one call: their numbers where there are few in all, else their shapes.

    A few whole numbers, such as lengths, are shown also beside large tensors.

    >>> describe_case({"scores": torch.zeros(2), "temperature": 0.5})
    'scores = [0.0, 0.0], temperature = 0.5'
    >>> describe_case({"query": torch.zeros(2, 4), "keys": torch.zeros(2, 3, 4)})
    '`query` of shape (2, 4), `keys` of shape (2, 3, 4)'
    >>> describe_case({"layer": Given("a sum over time", "lambda each: each.cumsum(0)")})
    'layer = a sum over time'
    """
    small = sum(each.numel() for each in arguments.values() if isinstance(each, torch.Tensor)) <= SHOWN_WHOLE
    return ", ".join(
        "parameters of our own"
        if isinstance(value, dict)  # the state of a module
        else f"{name} = {value.title}"
        if isinstance(value, Given)
        else f"{name} = {describe(value)}"
        if small or not isinstance(value, torch.Tensor) or _few_integers(value)
        else f"`{name}` of shape {tuple(value.shape)}"  # "value of shape" could be a word and no argument
        for name, value in arguments.items()
    )


def _few_integers(value: torch.Tensor) -> bool:
    return not value.is_floating_point() and value.dtype != torch.bool and value.numel() <= SHOWN_WHOLE


def describe_kind(value: torch.Tensor) -> str:
    """Return shape and kind of numbers.

    >>> describe_kind(torch.zeros(2, 3))
    'shape (2, 3) of float32'
    """
    return f"shape {tuple(value.shape)} of {str(value.dtype).removeprefix('torch.')}"


def shorten(text: str, length: int) -> str:
    """Cut `text` to `length` characters, on one line, and take the place of what cannot be shown.

    A terminal obeys control characters, and some characters turn the order of the others round: text that a stranger
    wrote must not carry them into a report.

    >>> shorten("a long  sentence", 8)
    'a long …'
    >>> shorten("red \x1b[31m", 20)
    'red �[31m'
    """
    text = " ".join(text[: 20 * length].split())
    text = "".join(character if character.isprintable() else "�" for character in text)
    return text if len(text) <= length else text[: length - 1] + "…"


def _rounded(value: Any, digits: int) -> Any:
    """Round floats to so many significant digits and rounding noise to 0, inside nested lists too.

    What stands before the point is always kept: 10000 and 10001 are not the same score.
    """
    if isinstance(value, list):
        return [_rounded(each, digits) for each in value]
    if not isinstance(value, float):
        return value
    return round(float(f"{value:.{digits}g}"), digits + 2) if abs(value) < 10 else round(value, digits - 1)
