"""The first half of exercise 08.5: a gradient by central differences, in float64."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Given, Misconception, Property, Task
from course_lib.grading.judges import Judge, difference, inputs_unchanged
from course_lib.grading.wording import describe_case, describe_kind

CUBES = Given("the sum of the cubes", "lambda inputs: (inputs ** 3).sum()")
WAVES = Given("the sum of the sines of the running sum", "lambda inputs: inputs.flatten().cumsum(0).sin().sum()")
PRODUCTS = Given(
    "the sum of exp of a half, times the next", "lambda inputs: ((inputs / 2).exp() * inputs.roll(1)).sum()"
)

Function = Callable[[torch.Tensor], torch.Tensor]
Slope = Callable[[Function, torch.Tensor, torch.Tensor, float], torch.Tensor]


def entry_by_entry(slope: Slope, prepare: Callable[[torch.Tensor], torch.Tensor] = torch.Tensor.double):
    """Return the gradient whose entry is slope(function, inputs, nudge, step), where the nudge is `step` at one place.

    `prepare` makes of the inputs what is worked with.
    """

    def answer(function, inputs, step):
        inputs = prepare(inputs)
        nudges = step * torch.eye(inputs.numel(), dtype=inputs.dtype).reshape(-1, *inputs.shape)
        return torch.stack([slope(function, inputs, nudge, step) for nudge in nudges]).reshape(inputs.shape)

    return answer


def central(function, inputs, nudge, step):
    """A step ahead, a step behind, and twice the step between them."""
    return (function(inputs + nudge) - function(inputs - nudge)) / (2 * step)


numerical_gradient = entry_by_entry(central)


def draw_function_and_place(generator: torch.Generator) -> Case:
    """Draw a function, a place in float64, and a step so wide that it can be told what was done with it."""
    axes = 1 + int(torch.randint(2, (), generator=generator))
    function = (CUBES, WAVES, PRODUCTS)[int(torch.randint(3, (), generator=generator))]
    inputs = normal(generator, *sizes(generator, *[4] * axes)).double()
    return {"function": function, "inputs": inputs, "step": uniform(generator, 0.2, 0.5)}


def by_autograd(function, inputs, step):
    """What the graph says."""
    inputs = inputs.detach().double().requires_grad_()
    return torch.autograd.grad(function(inputs), inputs)[0]


def close_to(reference: Callable[..., torch.Tensor], tolerance: float) -> Judge:
    """The answer has the shape of the inputs, is of float64, and close to what `reference` gives."""

    def judge(call: Call, case: Case) -> str | None:
        answer, expected = call(case), call.expected(reference, case)
        if answer.shape != expected.shape:
            return f"{describe_case(case)}: came {describe_kind(answer)}, expected {describe_kind(expected)}"
        if answer.dtype != torch.float64:
            kind = str(answer.dtype).removeprefix("torch.")
            return f"{describe_case(case)}: came numbers of {kind}, expected float64, whatever the inputs are"
        found = difference(answer, expected, tolerance)
        given = str(case["inputs"].dtype).removeprefix("torch.")
        return f"{describe_case(case)}, with inputs of {given}: {found}" if found else None

    return judge


def fine_from_float32(call: Call, case: Case) -> str | None:
    """Inputs of float32, not near zero, where more would be left of a small step: the gradient is right to 7 digits."""
    inputs = case["inputs"].float() + 1.3
    questions = [{"function": function, "inputs": inputs, "step": 1e-5} for function in (case["function"], WAVES)]
    for asked in questions:  # all of them, so that one loss of digits can be told from another
        call(asked)
    return close_to(by_autograd, 1e-8)(call, questions[0]) or close_to(by_autograd, 1e-8)(call, questions[1])


def piled(function, inputs, step):
    """One copy for all nudges, never put back."""
    ahead, behind, slopes = inputs.double().clone(), inputs.double().clone(), []
    for number in range(inputs.numel()):
        ahead.view(-1)[number] += step
        behind.view(-1)[number] -= step
        slopes.append((function(ahead) - function(behind)) / (2 * step))
    return torch.stack(slopes).reshape(inputs.shape)


def in_the_callers_inputs(function, inputs, step):
    """`.double()` copies nothing where the inputs are double already."""
    wide, slopes = inputs.double(), []
    for number in range(inputs.numel()):
        wide.view(-1)[number] += step
        ahead = function(wide)
        wide.view(-1)[number] -= 2 * step
        slopes.append((ahead - function(wide)) / (2 * step))
        wide.view(-1)[number] += step
    return torch.stack(slopes).reshape(inputs.shape)


def nudged_before_it_is_double(function, inputs, step):
    """The step added in the precision that came."""
    nudged = entry_by_entry(
        lambda function, inputs, nudge, step: (
            (function((inputs + nudge).double()) - function((inputs - nudge).double())) / (2 * step)
        ),
        prepare=torch.clone,
    )
    return nudged(function, inputs, step)


def all_at_once(function, inputs, step):
    """Every entry moved at the same time."""
    wide = inputs.double()
    return ((function(wide + step) - function(wide - step)) / (2 * step)).expand(inputs.shape)


def first_axis_only(function, inputs, step):
    """Whole rows moved."""
    wide = inputs.double()
    nudges = step * torch.eye(len(wide), dtype=wide.dtype).reshape(len(wide), len(wide), *[1] * (wide.dim() - 1))
    slopes = torch.stack([central(function, wide, nudge, step) for nudge in nudges])
    return slopes.reshape(-1, *[1] * (wide.dim() - 1)).expand(inputs.shape)


def two_names_for_one(function, inputs, step):
    """Ahead and behind are the same tensor."""
    ahead = behind = inputs.double()
    slopes = []
    for number in range(inputs.numel()):
        ahead.view(-1)[number] += step
        behind.view(-1)[number] -= step
        slopes.append((function(ahead) - function(behind)) / (2 * step))
    return torch.stack(slopes).reshape(inputs.shape)


CENTRAL = "a step ahead, a step behind, one entry at a time"
FINE = "in float64: right to 7 digits at a step of 0.00001, also where the inputs are of float32"

GRADIENT = Task(
    function="numerical_gradient",
    parameters=("function", "inputs", "step"),
    returns="the central difference for each entry, in the shape of inputs, of float64",
    cases=draw_function_and_place,
    examples=({"function": CUBES, "inputs": torch.tensor([1.0, 2.0], dtype=torch.float64), "step": 0.5},),
    reference=numerical_gradient,
    properties=(
        Property(CENTRAL, 3, close_to(numerical_gradient, 1e-7)),
        Property(FINE, 2, fine_from_float32),
        Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
    ),
    misconceptions=(
        Misconception(
            "forward difference",
            "this is the forward difference, (f(x + h) - f(x)) / h, whose error shrinks like h; ahead and behind, the "
            "largest part of it cancels, and the error shrinks like h squared",
            entry_by_entry(lambda function, x, nudge, step: (function(x + nudge) - function(x)) / step),
            breaks=CENTRAL,
        ),
        Misconception(
            "backward difference",
            "this is the backward difference, (f(x) - f(x - h)) / h, whose error shrinks like h; look ahead and "
            "behind, and the error shrinks like h squared",
            entry_by_entry(lambda function, x, nudge, step: (function(x) - function(x - nudge)) / step),
            breaks=CENTRAL,
        ),
        Misconception(
            "divided by one step",
            "this divides by the step: from a step behind to a step ahead it is two steps, so everything is twice too "
            "large",
            entry_by_entry(lambda *given: 2 * central(*given)),
            breaks=CENTRAL,
        ),
        Misconception(
            "divided by half a step",
            "`... / 2 * step` divides by 2 and then *multiplies* by the step; write `/ (2 * step)`",
            entry_by_entry(lambda function, x, nudge, step: central(function, x, nudge, step) * step**2),
            breaks=CENTRAL,
        ),
        Misconception(
            "not divided",
            "this is the difference alone; divide it by twice the step",
            entry_by_entry(lambda function, x, nudge, step: central(function, x, nudge, step) * 2 * step),
            breaks=CENTRAL,
        ),
        Misconception(
            "half a step to each side",
            "this goes half a step to each side; asked is a whole step ahead and a whole step behind",
            entry_by_entry(lambda function, x, nudge, step: central(function, x, nudge / 2, step / 2)),
            breaks=CENTRAL,
        ),
        Misconception(
            "the opposite sign",
            "every sign is turned round: ahead comes first, f(x + h) - f(x - h)",
            entry_by_entry(lambda *given: -central(*given)),
            breaks=CENTRAL,
        ),
        Misconception(
            "autograd",
            "this is what autograd says, and it does not depend on the step; the point of a numerical gradient is that "
            "it knows nothing of the graph, so that it can find the other one wrong",
            by_autograd,
            breaks=CENTRAL,
        ),
        *(
            Misconception(
                f"a step of its own, {own:g}",
                "`step` was not used: the answer does not change with it",
                lambda function, inputs, step, own=own: numerical_gradient(function, inputs, own),
                breaks=CENTRAL,
            )
            for own in (1e-2, 1e-1)
        ),
        Misconception(
            "all entries at once",
            "this moves all entries together, and every place gets the same number, the sum of all slopes; move one "
            "entry at a time",
            all_at_once,
            breaks=CENTRAL,
        ),
        Misconception(
            "whole rows at once",
            "this moves a whole row at a time, `inputs[i]`, and has one slope for each; every entry needs its own",
            first_axis_only,
            breaks=CENTRAL,
        ),
        Misconception(
            "step upon step",
            "an entry that was moved once stays moved when the next is tried; start each time from a fresh copy",
            piled,
            breaks=CENTRAL,
        ),
        Misconception(
            "two names for one tensor",
            "every difference is 0: `ahead = wide` makes no copy, and what is added to one name is subtracted from the "
            "same numbers by the other; take two copies with `.clone()`",
            two_names_for_one,
            breaks=CENTRAL,
        ),
        Misconception(
            "flat",
            "the numbers are right and stand in a row; give them the shape of the inputs, `.reshape(inputs.shape)`",
            lambda **named: numerical_gradient(**named).flatten(),
            breaks=CENTRAL,
        ),
        Misconception(
            "in float32",
            "this computes in the precision of the inputs: in float32 a step of 0.00001 is lost in rounding; begin "
            "with `inputs.double()`",
            entry_by_entry(central, prepare=torch.clone),
            breaks=FINE,
        ),
        Misconception(
            "in float32 and made double at the end",
            "this computes in the precision of the inputs and makes the result double at the end, when the digits are "
            "lost already; begin with `inputs.double()`",
            lambda **named: entry_by_entry(central, prepare=torch.clone)(**named).double(),
            breaks=FINE,
        ),
        Misconception(
            "float32 whatever came",
            "this computes in float32, whatever the inputs are: `torch.zeros` and `torch.tensor` make float32 unless "
            "they are told `dtype=torch.float64`",
            entry_by_entry(central, prepare=torch.Tensor.float),
            breaks=FINE,
        ),
        Misconception(
            "a gradient of float32",
            "this was computed in float64 and put into a tensor of float32; make that tensor with "
            "`dtype=torch.float64`, or like the inputs that were made double",
            lambda **named: numerical_gradient(**named).float(),
            breaks=FINE,
        ),
        Misconception(
            "nudged before it is double",
            "the step was added in float32, and made double afterwards: what was rounded away does not come back; "
            "begin with `inputs.double()`",
            nudged_before_it_is_double,
            breaks=FINE,
        ),
        Misconception(
            "in the caller's inputs",
            "this moves the entries of the caller's own inputs: `.double()` makes no copy of what is double already; "
            "`.double().clone()` does",
            in_the_callers_inputs,
            breaks="inputs unchanged",
        ),
    ),
)
