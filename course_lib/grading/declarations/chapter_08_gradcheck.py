"""Exercise 08.5: a gradient by central differences, and the check that it makes of a gradient written by hand."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_08_gradient import (
    CUBES,
    GRADIENT,
    WAVES,
    central,
    entry_by_entry,
    numerical_gradient,
)
from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import Judge
from course_lib.grading.wording import describe_case, describe_kind

NORM = Given(
    "layer norm, weighed and summed",
    "lambda inputs: (torch.linspace(1, 2, inputs.numel(), dtype=inputs.dtype).reshape(inputs.shape).square()"
    " * (inputs - inputs.mean())"
    " / (inputs.var(correction=0) + 0.1).sqrt()).sum()",
)
CUBES_RIGHT = Given("three times the squares", "lambda inputs: 3 * inputs ** 2")
CUBES_PLAIN = Given("the squares", "lambda inputs: inputs ** 2")
CUBES_GREATER = Given("3.0006 times the squares", "lambda inputs: 3.0006 * inputs ** 2")
CUBES_SIGNED = Given("three times the squares, with the sign of the input", "lambda inputs: 3 * inputs * inputs.abs()")
CUBES_LAST, CUBES_FIRST, CUBES_NEARLY = (
    Given(
        f"three times the squares, {said}",
        f"lambda inputs: 3 * inputs ** 2 + torch.tensor([{first}] + [0.0] * (inputs.numel() - 2) + [{last}], "
        "dtype=inputs.dtype).reshape(inputs.shape)",
    )
    for first, last, said in (
        (0.0, 0.1, "a tenth added to the last"),
        (0.1, 0.0, "a tenth added to the first"),
        (0.0, 1e-5, "a hundred-thousandth added to the last"),
    )
)
WAVES_RIGHT = Given(
    "the cosines of the running sum, summed from the end",
    "lambda inputs: inputs.flatten().cumsum(0).cos().flip(0).cumsum(0).flip(0).reshape(inputs.shape)",
)
NORM_RIGHT, NORM_SPREAD_FIXED = (
    Given(
        f"the gradient of layer norm{said}",
        "lambda inputs: (lambda weights, below: (weights - weights.mean()"
        f"{rest}) / below)(torch.linspace(1, 2, inputs.numel(), dtype=inputs.dtype).reshape(inputs.shape).square(),"
        " (inputs.var(correction=0) + 0.1).sqrt())",
    )
    for said, rest in (
        ("", " - (inputs - inputs.mean()) / below**2 * (weights * (inputs - inputs.mean())).mean()"),
        (", the divisor held fixed", ""),
    )
)
RIGHT = ((CUBES, CUBES_RIGHT), (WAVES, WAVES_RIGHT), (NORM, NORM_RIGHT))

Gaps = Callable[[torch.Tensor, torch.Tensor], bool]


def verdict(agree: Gaps, step: float = 1e-5, gradient_of: Callable[..., torch.Tensor] = numerical_gradient):
    """Return the check that asks whether agree(claimed, found)."""

    def check(function, gradient, inputs):
        found = gradient_of(function, inputs, step)
        return torch.tensor(bool(agree(gradient(inputs.to(found.dtype)), found)))

    return check


def within(tolerance: float) -> Gaps:
    """No entry differs by more."""
    return lambda claimed, found: ((claimed - found).abs() <= tolerance).all()


gradient_is_right = verdict(within(1e-6))


def draw_place(generator: torch.Generator) -> Case:
    """Draw a place of float32 with large entries of both signs; the judges exchange function and gradient."""
    rows, columns = sizes(generator, 2, 2)
    inputs = normal(generator, rows, columns + 2)
    inputs[0, 0], inputs[-1, -1] = uniform(generator, 1, 2), -uniform(generator, 1, 2)
    return {"function": CUBES, "gradient": CUBES_RIGHT, "inputs": inputs}


def tells_apart(*pairs: tuple[Given, Given]) -> Judge:
    """The verdict is right about the cubes and their gradient, and about these functions and claimed gradients."""

    def judge(call: Call, case: Case) -> str | None:
        if (case["function"], case["gradient"]) not in RIGHT:  # that of the statement, about a wrong one
            case = case | {"gradient": CUBES_RIGHT}
        questions = [case, *(case | {"function": function, "gradient": gradient} for function, gradient in pairs)]
        for asked, answer in [(each, call(each)) for each in questions]:
            if answer.shape or answer.dtype != torch.bool:
                return f"{describe_case(asked)}: came {describe_kind(answer)}, expected True or False"
            right = (asked["function"], asked["gradient"]) in RIGHT
            if bool(answer) != right:
                return f"{describe_case(asked)}: came {bool(answer)}, expected {right}"
        return None

    return judge


def along_the_ones(function, gradient, inputs):
    """One slope, along the direction in which all entries move alike."""
    wide = inputs.double()
    slope = (function(wide + 1e-5) - function(wide - 1e-5)) / 2e-5
    return (slope - gradient(wide).sum()).abs() <= 1e-6


FACTOR, PRECISE = "accepts right gradients, rejects one without its factor", "finds small errors, down to a millionth"
EVERY_ENTRY, NORMED = "every entry counts, and its sign", "finds a layer norm whose divisor was held fixed"

CHECK = Task(
    function="gradient_is_right",
    parameters=("function", "gradient", "inputs"),
    returns="True where `gradient` is the gradient of `function` at the inputs, else False",
    cases=draw_place,
    examples=({"function": CUBES, "gradient": CUBES_PLAIN, "inputs": torch.tensor([[1.0, 2.0, -1.0]])},),
    reference=gradient_is_right,
    properties=(
        Property(FACTOR, 1, tells_apart((CUBES, CUBES_PLAIN), (WAVES, WAVES_RIGHT))),
        Property(PRECISE, 1, tells_apart((CUBES, CUBES_GREATER), (CUBES, CUBES_NEARLY))),
        Property(
            EVERY_ENTRY,
            1,
            tells_apart((CUBES, CUBES_FIRST), (CUBES, CUBES_LAST), (CUBES, CUBES_SIGNED)),
        ),
        Property(NORMED, 1, tells_apart((NORM, NORM_RIGHT), (NORM, NORM_SPREAD_FIXED))),
    ),
    misconceptions=(
        Misconception(
            "nothing passes",
            "this turns every gradient away, the right ones too: so do differences in float32 (begin with "
            "`inputs.double()`), a difference to one side only, a step far below 0.00001, and equality to the last "
            "digit (allow a millionth)",
            verdict(within(1e-6), gradient_of=entry_by_entry(central, prepare=torch.clone)),
            breaks=FACTOR,
        ),
        Misconception(
            "everything passes",
            "this lets every gradient pass: perhaps it is compared with itself, or the tolerance is of the size of the "
            "gradient; in float64 a millionth is room enough",
            verdict(lambda claimed, found: True),
            breaks=FACTOR,
        ),
        Misconception(
            "everything is rounding",
            "this allows so much that a gradient passes which is wrong by two parts in ten thousand; in float64 a "
            "millionth is room enough",
            verdict(within(1e-2)),
            breaks=PRECISE,
        ),
        Misconception(
            "a tolerance too wide",
            "this lets a gradient pass of which one entry is wrong by a hundred-thousandth: the tolerance is wider "
            "than a millionth, or grows with the gradient, as that of `torch.allclose` does without `rtol=0`",
            verdict(lambda claimed, found: ((claimed - found).abs() <= 1e-6 + 1e-5 * found.abs()).all()),
            breaks=PRECISE,
        ),
        Misconception(
            "too large only",
            "the absolute value is missing: a gradient that is too small passes",
            verdict(lambda claimed, found: (claimed - found).max() <= 1e-6),
            breaks=FACTOR,
        ),
        Misconception(
            "too small only",
            "the absolute value is missing: a gradient that is too large passes",
            verdict(lambda claimed, found: (found - claimed).max() <= 1e-6),
            breaks=PRECISE,
        ),
        Misconception(
            "sums compared",
            "this sums or averages before it compares, or moves all entries at once, and errors of opposite sign "
            "cancel: a layer norm whose divisor was held fixed passes; move one entry at a time, and look at the "
            "largest absolute difference",
            along_the_ones,
            breaks=NORMED,
        ),
        Misconception(
            "signs not looked at",
            "this compares how long the two gradients are, or their absolute values, not where they point: a wrong "
            "sign passes; subtract first, then take absolute values",
            verdict(lambda claimed, found: (claimed.norm() - found.norm()).abs() <= 1e-6),
            breaks=EVERY_ENTRY,
        ),
        Misconception(
            "one entry is enough",
            "this is True where *some* entry agrees; all must: `all`, not `any`",
            verdict(lambda claimed, found: ((claimed - found).abs() <= 1e-6).any()),
            breaks=EVERY_ENTRY,
        ),
        Misconception(
            "first entry only",
            "this looks at the first entry alone; all must agree",
            verdict(lambda claimed, found: (claimed - found).flatten()[0].abs() <= 1e-6),
            breaks=EVERY_ENTRY,
        ),
        Misconception(
            "turned into its opposite",
            "this is True where the gradient is wrong",
            lambda **named: ~gradient_is_right(**named),
            breaks=FACTOR,
        ),
        Misconception(
            "the difference itself",
            "this returns the largest difference, a number; asked is the verdict, True or False",
            lambda function, gradient, inputs: (
                (gradient(inputs.double()) - numerical_gradient(function, inputs, 1e-5)).abs().max()
            ),
            breaks=FACTOR,
        ),
    ),
)

GRADCHECK = Exercise(
    id="08.5",
    title="Gradcheck in float64",
    difficulty=3,
    minutes=35,
    tasks=(GRADIENT, CHECK),
    hints=(
        "To know the slope along one entry, how many times must the function be called, and with what? In float32 the "
        "numbers near 1 are 0.0000001 apart: what is left of a difference over a step of 0.00001?",
        "Make the inputs double first. For each entry, take two fresh copies, add the step to that entry in one and "
        "subtract it in the other; the difference of the function's two values, divided by two steps, is that entry "
        "of the gradient. The check takes a step of 0.00001 and compares every entry with the claimed gradient.",
        "Make the inputs double first, and for each entry two clones of them, one to go ahead and one to go behind; "
        "`ahead.view(-1)[i]` is entry i of any shape. For the check, ask whether the largest absolute difference from "
        "`gradient(inputs.double())` is at most 0.000001.",
    ),
)
