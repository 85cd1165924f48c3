"""08.5: a gradient by central differences in float64, and the check that it makes of a gradient written by hand."""

import torch

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.grading.checks import both, difference, equals, inputs_unchanged
from course_lib.grading.exercise import Case, Check, Exercise, Given, Property, Question, Task

ROWS = Given("the sum of the squares of the sums of the rows", "lambda inputs: (inputs.sum(-1) ** 2).sum()")
CUBES = Given("the sum of the cubes", "lambda inputs: (inputs ** 3).sum()")
WAVES = Given("the sum of the sines of the running sum", "lambda inputs: inputs.flatten().cumsum(0).sin().sum()")
PRODUCTS = Given(
    "the sum of exp of half of each entry, times the entry before it",
    "lambda inputs: ((inputs / 2).exp() * inputs.roll(1)).sum()",
)


def numerical_gradient(function, inputs, step):
    """For each entry a step ahead, a step behind, and twice the step between them."""
    wide = inputs.double()
    nudges = step * torch.eye(wide.numel(), dtype=wide.dtype).reshape(-1, *wide.shape)
    slopes = [(function(wide + nudge) - function(wide - nudge)) / (2 * step) for nudge in nudges]
    return torch.stack(slopes).reshape(wide.shape)


def draw_function_and_point(generator: torch.Generator) -> Case:
    """Draw a function, a point in float64, and a step so wide that it can be told what was done with it."""
    axes = 1 + int(torch.randint(2, (), generator=generator))
    function = (CUBES, WAVES, PRODUCTS)[int(torch.randint(3, (), generator=generator))]
    inputs = normal(generator, *sizes(generator, *[4] * axes)).double()
    return {"function": function, "inputs": inputs, "step": uniform(generator, 0.2, 0.5)}


def by_autograd(function, inputs, step):
    """What the graph says."""
    inputs = inputs.detach().double().requires_grad_()
    return torch.autograd.grad(function(inputs), inputs)[0]


def fine_from_float32(case: Case):
    """Inputs of float32, not near zero, where more would be left of a small step: the gradient is right to 7 digits."""
    inputs = case["inputs"].float() + 1.3
    replies = yield [{"function": each, "inputs": inputs, "step": 1e-5} for each in (case["function"], WAVES)]
    for reply in replies:
        expected = by_autograd(**reply.arguments)
        if problem := difference(reply.arguments, reply.value, expected, 1e-8, where="with inputs of float32"):
            return problem
    return None


GRADIENT_MISTAKES = """
forward difference => a step ahead, a step behind, one entry at a time
- gradient.view(-1)[i] = (function(ahead) - function(behind)) / (2 * step)
+ gradient.view(-1)[i] = (function(ahead) - function(wide)) / step
this is the forward difference, (f(x + h) - f(x)) / h, whose error shrinks like h; ahead and behind, the largest part of
it cancels, and the error shrinks like h squared

backward difference => a step ahead, a step behind, one entry at a time
+ gradient.view(-1)[i] = (function(wide) - function(behind)) / step
this is the backward difference, (f(x) - f(x - h)) / h, whose error shrinks like h; look ahead and behind, and the error
shrinks like h squared

divided by one step => a step ahead, a step behind, one entry at a time
+ gradient.view(-1)[i] = (function(ahead) - function(behind)) / step
this divides by the step: from a step behind to a step ahead it is two steps, so everything is twice too large

divided by half a step => a step ahead, a step behind, one entry at a time
+ gradient.view(-1)[i] = (function(ahead) - function(behind)) / 2 * step
`... / 2 * step` divides by 2 and then *multiplies* by the step; write `/ (2 * step)`

not divided => a step ahead, a step behind, one entry at a time
+ gradient.view(-1)[i] = function(ahead) - function(behind)
this is the difference alone; divide it by twice the step

half a step to each side => a step ahead, a step behind, one entry at a time
- ahead.view(-1)[i] += step
- behind.view(-1)[i] -= step
- gradient.view(-1)[i] = (function(ahead) - function(behind)) / (2 * step)
+ ahead.view(-1)[i] += step / 2
+ behind.view(-1)[i] -= step / 2
+ gradient.view(-1)[i] = (function(ahead) - function(behind)) / step
this goes half a step to each side; asked is a whole step ahead and a whole step behind

the opposite sign => a step ahead, a step behind, one entry at a time
- gradient.view(-1)[i] = (function(ahead) - function(behind)) / (2 * step)
+ gradient.view(-1)[i] = (function(behind) - function(ahead)) / (2 * step)
every sign is turned round: ahead comes first, f(x + h) - f(x - h)

autograd => a step ahead, a step behind, one entry at a time
= by_autograd
this is what autograd says, and it does not depend on the step; the point of a numerical gradient is that it knows
nothing of the graph, so that it can find the other one wrong

a step of its own, 0.01 => a step ahead, a step behind, one entry at a time
- wide = inputs.double()
+ wide, step = inputs.double(), 0.01
`step` was not used: the answer does not change with it

a step of its own, 0.1 => a step ahead, a step behind, one entry at a time
+ wide, step = inputs.double(), 0.1

all entries at once => a step ahead, a step behind, one entry at a time
- ahead.view(-1)[i] += step
- behind.view(-1)[i] -= step
+ ahead += step
+ behind -= step
this moves all entries together, and every position gets the same number, the sum of all slopes; move one entry at a
time

whole rows at once => a step ahead, a step behind, one entry at a time
+ row = i * len(wide) // wide.numel()
+ ahead[row] += step
+ behind[row] -= step
this moves a whole row at a time, `inputs[i]`, and has one slope for each; every entry needs its own

step upon step => a step ahead, a step behind, one entry at a time
- for i in range(wide.numel()):
-     ahead, behind = wide.clone(), wide.clone()
+ ahead, behind = wide.clone(), wide.clone()
+ for i in range(wide.numel()):
an entry that was moved once stays moved when the next is tried; start each time from a fresh copy

two names for one tensor => a step ahead, a step behind, one entry at a time
- ahead, behind = wide.clone(), wide.clone()
+ ahead = behind = wide.clone()
every difference is 0: `ahead = wide` makes no copy, and what is added to one name is subtracted from the same numbers
by the other; take two copies with `.clone()`

flat => a step ahead, a step behind, one entry at a time
- return gradient
+ return gradient.flatten()
the numbers are right and stand in a row; give them the shape of the inputs, `.reshape(inputs.shape)`

in float32 => in float64: 7 digits at a step of 0.00001, also from inputs of float32
- wide = inputs.double()
+ wide = inputs.clone()
this computes in the precision of the inputs: in float32 a step of 0.00001 is lost in rounding; begin with
`inputs.double()`

in float32 and made double at the end => in float64: 7 digits at a step of 0.00001, also from inputs of float32
- wide = inputs.double()
- gradient = torch.zeros_like(wide)
+ wide = inputs.clone()
+ gradient = torch.zeros_like(wide, dtype=torch.float64)
this computes in the precision of the inputs and makes the result double at the end, when the digits are lost already;
begin with `inputs.double()`

float32 whatever came => in float64: 7 digits at a step of 0.00001, also from inputs of float32
- wide = inputs.double()
+ wide = inputs.float()
this computes in float32, whatever the inputs are: `torch.zeros` and `torch.tensor` make float32 unless they are told
`dtype=torch.float64`

a gradient of float32 => in float64: 7 digits at a step of 0.00001, also from inputs of float32
- gradient = torch.zeros_like(wide)
+ gradient = torch.zeros(wide.shape)
this was computed in float64 and put into a tensor of float32; make that tensor with `dtype=torch.float64`, or like the
inputs that were made double

nudged before it is double => in float64: 7 digits at a step of 0.00001, also from inputs of float32
- ahead, behind = wide.clone(), wide.clone()
- ahead.view(-1)[i] += step
- behind.view(-1)[i] -= step
- gradient.view(-1)[i] = (function(ahead) - function(behind)) / (2 * step)
+ ahead, behind = inputs.clone(), inputs.clone()
+ ahead.view(-1)[i] += step
+ behind.view(-1)[i] -= step
+ gradient.view(-1)[i] = (function(ahead.double()) - function(behind.double())) / (2 * step)
the step was added in float32, and made double afterwards: what was rounded away does not come back; begin with
`inputs.double()`

in the caller's inputs => inputs unchanged
+ wide.view(-1)[i] += step
+ ahead = function(wide)
+ wide.view(-1)[i] -= 2 * step
+ gradient.view(-1)[i] = (ahead - function(wide)) / (2 * step)
+ wide.view(-1)[i] += step
this moves the entries of the caller's own inputs: `.double()` makes no copy of what is double already;
`.double().clone()` does

never put back => a step ahead, a step behind, one entry at a time
- for i in range(wide.numel()):
- ahead, behind = wide.clone(), wide.clone()
- ahead.view(-1)[i] += step
- behind.view(-1)[i] -= step
- gradient.view(-1)[i] = (function(ahead) - function(behind)) / (2 * step)
+ moved = wide.clone()
+ for i in range(wide.numel()):
+     moved.view(-1)[i] += step
+     ahead = function(moved)
+     moved.view(-1)[i] -= 2 * step
+     gradient.view(-1)[i] = (ahead - function(moved)) / (2 * step)
one copy serves for all entries, and an entry that was moved stays moved while the next ones are tried; begin each entry
from the inputs as they were
"""

GRADIENT = Task(
    function="numerical_gradient",
    parameters=("function", "inputs", "step"),
    returns="the central difference for each entry, in the shape of inputs, of float64",
    cases=draw_function_and_point,
    examples=(
        {"function": CUBES, "inputs": torch.tensor([1.0, 2.0], dtype=torch.float64), "step": 0.5},
        {"function": PRODUCTS, "inputs": torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64), "step": 0.25},
    ),
    edges=(
        # A single number, with one axis and with two, and axes of size one around others.
        {"function": CUBES, "inputs": torch.tensor([1.5], dtype=torch.float64), "step": 0.25},
        {"function": WAVES, "inputs": torch.tensor([[0.5]], dtype=torch.float64), "step": 0.5},
        {"function": PRODUCTS, "inputs": torch.tensor([[[1.0], [0.0], [-2.0]]], dtype=torch.float64), "step": 0.25},
        # A function to which the shape matters, so that it has to be given one.
        {"function": ROWS, "inputs": torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64), "step": 0.25},
    ),
    reference=numerical_gradient,
    properties=(
        Property("a step ahead, a step behind, one entry at a time", 3, equals(1e-7)),
        Property("in float64: 7 digits at a step of 0.00001, also from inputs of float32", 2, fine_from_float32),
        Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
    ),
    mistakes=GRADIENT_MISTAKES,
)

NORM = Given(
    "layer norm, weighted and summed",
    "lambda inputs: (torch.linspace(1, 2, inputs.numel(), dtype=inputs.dtype).reshape(inputs.shape).square()"
    " * (inputs - inputs.mean()) / (inputs.var(correction=0) + 0.1).sqrt()).sum()",
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
        f"lambda inputs: (lambda weights, below: (weights - weights.mean(){rest}) / below)(torch.linspace(1, 2, "
        "inputs.numel(), dtype=inputs.dtype).reshape(inputs.shape).square(), (inputs.var(correction=0) + 0.1).sqrt())",
    )
    for said, rest in (
        ("", " - (inputs - inputs.mean()) / below**2 * (weights * (inputs - inputs.mean())).mean()"),
        (", the divisor held fixed", ""),
    )
)
# On the border, and beyond the reach of the step.
FLAT = Given("0 times the sum", "lambda inputs: 0 * inputs.sum()")
MILLIONTH = Given("a millionth for every entry", "lambda inputs: torch.full_like(inputs, 1e-6)")
FAST = Given(
    "a tenth of the sum of the sines of 100 times each entry", "lambda inputs: (100 * inputs).sin().sum() / 10"
)
FAST_RIGHT = Given("ten times the cosines of 100 times each entry", "lambda inputs: 10 * (100 * inputs).cos()")


def gradient_is_right(function, gradient, inputs):
    """No entry differs by more than a millionth."""
    wide = inputs.double()
    return ((gradient(wide) - numerical_gradient(function, wide, 1e-5)).abs() <= 1e-6).all()


def draw_point(generator: torch.Generator) -> Case:
    """Draw a point of float32 with large entries of both signs; the checks exchange function and gradient."""
    rows, columns = sizes(generator, 2, 2)
    inputs = normal(generator, rows, columns + 2)
    inputs[0, 0], inputs[-1, -1] = uniform(generator, 1, 2), -uniform(generator, 1, 2)
    return {"function": CUBES, "gradient": CUBES_RIGHT, "inputs": inputs}


RIGHT = (CUBES, CUBES_RIGHT), (WAVES, WAVES_RIGHT), (NORM, NORM_RIGHT)


def tells_apart(*pairs: tuple[Given, Given]) -> Check:
    """The verdict is right about the cubes and their gradient, and about these functions and claimed gradients."""
    truths = {each: torch.tensor(each in RIGHT) for each in (RIGHT[0], *pairs)}

    def check(case: Case):
        replies = yield [
            Question(case | {"function": one, "gradient": other}, expected=truth)
            for (one, other), truth in truths.items()
        ]
        found = (difference(reply.arguments, reply.value, reply.expected) for reply in replies)
        return next(filter(None, found), None)

    return check


CHECK_MISTAKES = """
nothing passes => accepts right gradients, rejects one without its factor
- return bool(reduce(gap.abs(), "... -> ()", "max") <= 1e-6)
+ return bool(reduce(gap.abs(), "... -> ()", "max") == 0)
this turns every gradient away, the right ones too: so do differences in float32 (begin with `inputs.double()`), a
difference to one side only, a step far below 0.00001, and equality to the last digit (allow a millionth)

everything passes => accepts right gradients, rejects one without its factor
- gap = gradient(wide) - numerical_gradient(function, wide, 1e-5)
+ gap = gradient(wide) - gradient(wide)
this lets every gradient pass: perhaps it is compared with itself, or the tolerance is of the size of the gradient; in
float64 a millionth is room enough

everything is rounding => finds small errors, down to a hundred-thousandth
- return bool(reduce(gap.abs(), "... -> ()", "max") <= 1e-6)
+ return bool(reduce(gap.abs(), "... -> ()", "max") <= 1e-2)
this allows so much that a gradient passes which is wrong by two parts in ten thousand; in float64 a millionth is room
enough

a tolerance too wide => finds small errors, down to a hundred-thousandth
- gap = gradient(wide) - numerical_gradient(function, wide, 1e-5)
- return bool(reduce(gap.abs(), "... -> ()", "max") <= 1e-6)
+ return torch.allclose(gradient(wide), numerical_gradient(function, wide, 1e-5), atol=1e-6)
this lets a gradient pass of which one entry is wrong by a hundred-thousandth: the tolerance is wider than a millionth,
or grows with the gradient, as that of `torch.allclose` does without `rtol=0`

too large only => accepts right gradients, rejects one without its factor
- return bool(reduce(gap.abs(), "... -> ()", "max") <= 1e-6)
+ return bool(reduce(gap, "... -> ()", "max") <= 1e-6)
the absolute value is missing: a gradient that is too small passes

too small only => finds small errors, down to a hundred-thousandth
+ return bool(reduce(-gap, "... -> ()", "max") <= 1e-6)
the absolute value is missing: a gradient that is too large passes

sums compared => finds a layer norm whose divisor was held fixed
+ return bool(gap.sum().abs() <= 1e-6)
this sums or averages before it compares, or moves all entries at once, and errors of opposite sign cancel: a layer norm
whose divisor was held fixed passes; move one entry at a time, and look at the largest absolute difference

signs not looked at => every entry counts, and its sign
- gap = gradient(wide) - numerical_gradient(function, wide, 1e-5)
+ gap = gradient(wide).norm() - numerical_gradient(function, wide, 1e-5).norm()
this compares the norms of the two gradients, or their absolute values, not where they point: a wrong sign passes;
subtract first, then take absolute values

one entry is enough => every entry counts, and its sign
- return bool(reduce(gap.abs(), "... -> ()", "max") <= 1e-6)
+ return bool((gap.abs() <= 1e-6).any())
this is True where *some* entry agrees; all must: `all`, not `any`

first entry only => every entry counts, and its sign
+ return bool(gap.flatten()[0].abs() <= 1e-6)
this looks at the first entry alone; all must agree

turned into its opposite => accepts right gradients, rejects one without its factor
+ return bool(reduce(gap.abs(), "... -> ()", "max") > 1e-6)
this is True where the gradient is wrong

the difference itself => accepts right gradients, rejects one without its factor
+ return reduce(gap.abs(), "... -> ()", "max")
this returns the largest difference, a number; asked is the verdict, True or False

mean difference => finds small errors, down to a hundred-thousandth
- return bool(reduce(gap.abs(), "... -> ()", "max") <= 1e-6)
+ return bool(gap.abs().mean() <= 1e-6)
this compares the *mean* difference with a millionth, and a single wrong entry disappears among many right ones; compare
the largest

a relative tolerance => finds small errors, down to a hundred-thousandth
- gap = gradient(wide) - numerical_gradient(function, wide, 1e-5)
- return bool(reduce(gap.abs(), "... -> ()", "max") <= 1e-6)
+ return torch.allclose(numerical_gradient(function, wide, 1e-5), gradient(wide), rtol=1e-4)
this tolerance grows with the gradient, and near 0 it is smaller than a millionth (`torch.allclose` has an `rtol` and an
`atol` of its own); asked is a millionth for every entry, whatever its size

the tolerance of allclose => finds small errors, down to a hundred-thousandth
+ return torch.allclose(numerical_gradient(function, wide, 1e-5), gradient(wide))

claimed in float32 => accepts right gradients, rejects one without its factor
- gap = gradient(wide) - numerical_gradient(function, wide, 1e-5)
+ gap = gradient(inputs) - numerical_gradient(function, wide, 1e-5)
the claimed gradient is computed in float32, and its rounding is more than a millionth; hand the inputs over as float64
to both

a step of a hundredth => accepts right gradients, rejects one without its factor
+ gap = gradient(wide) - numerical_gradient(function, wide, 1e-2)
the step is so wide that the central difference itself is wrong by more than a millionth; take 0.00001

a relative error => finds small errors, down to a hundred-thousandth
- gap = gradient(wide) - numerical_gradient(function, wide, 1e-5)
- return bool(reduce(gap.abs(), "... -> ()", "max") <= 1e-6)
+ claimed, numerical = gradient(wide), numerical_gradient(function, wide, 1e-5)
+ gap = (claimed - numerical).abs() / (claimed.abs() + numerical.abs()).clamp(min=1e-8)
+ return bool(reduce(gap, "... -> ()", "max") < 1e-3)
this divides the difference by the size of the gradient, a relative error; asked is whether the difference itself is at
most a millionth, for every entry

a relative error below 1e-5 => finds small errors, down to a hundred-thousandth
+ claimed, numerical = gradient(wide), numerical_gradient(function, wide, 1e-5)
+ gap = (claimed - numerical).abs() / (claimed.abs() + numerical.abs()).clamp(min=1e-8)
+ return bool(reduce(gap, "... -> ()", "max") < 1e-5)

a relative error below 1e-6 => finds small errors, down to a hundred-thousandth
+ claimed, numerical = gradient(wide), numerical_gradient(function, wide, 1e-5)
+ gap = (claimed - numerical).abs() / (claimed.abs() + numerical.abs()).clamp(min=1e-8)
+ return bool(reduce(gap, "... -> ()", "max") < 1e-6)
"""

CHECK = Task(
    function="gradient_is_right",
    parameters=("function", "gradient", "inputs"),
    returns="True where `gradient` is the gradient of `function` at the inputs, else False",
    cases=draw_point,
    examples=({"function": CUBES, "gradient": CUBES_PLAIN, "inputs": torch.tensor([[1.0, 2.0, -1.0]])},),
    edges=(
        # So large that the claimed gradient, too, must be computed in float64.
        {"function": CUBES, "gradient": CUBES_RIGHT, "inputs": torch.tensor([[10.1, -7.3, 3.7]])},
        # A millionth is no more than a millionth.
        {"function": FLAT, "gradient": MILLIONTH, "inputs": torch.tensor([[1.0, 2.0, -1.0]])},
        # The central difference, with a step of 0.00001, is off by 1.7 millionths here.
        {"function": FAST, "gradient": FAST_RIGHT, "inputs": torch.tensor([[0.0, 0.5, -0.25]])},
        # A hundred-thousandth too much in one entry of twelve is less than a millionth for each.
        {
            "function": CUBES,
            "gradient": CUBES_NEARLY,
            "inputs": torch.tensor([[1.0, 2.0, -1.0, 0.5, -0.5, 1.5], [0.25, -1.5, -2.0, 0.75, 1.25, -0.75]]),
        },
        # As many numbers as the least that is drawn, in one column.
        {"function": WAVES, "gradient": WAVES_RIGHT, "inputs": torch.tensor([[1.5], [0.25], [-1.25]])},
    ),
    reference=gradient_is_right,
    properties=(
        Property(
            "accepts right gradients, rejects one without its factor",
            1,
            tells_apart((CUBES, CUBES_PLAIN), (WAVES, WAVES_RIGHT)),
        ),
        Property(
            "finds small errors, down to a hundred-thousandth",
            1,
            both(equals(), tells_apart((CUBES, CUBES_GREATER), (CUBES, CUBES_NEARLY))),
        ),
        Property(
            "every entry counts, and its sign",
            1,
            tells_apart((CUBES, CUBES_FIRST), (CUBES, CUBES_LAST), (CUBES, CUBES_SIGNED)),
        ),
        Property(
            "finds a layer norm whose divisor was held fixed",
            1,
            tells_apart((NORM, NORM_RIGHT), (NORM, NORM_SPREAD_FIXED)),
        ),
    ),
    mistakes=CHECK_MISTAKES,
)

EXERCISE = Exercise(
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
        "`ahead.view(-1)[i]` is entry i of any shape (the inputs here are contiguous). For the check, ask whether the "
        "largest absolute difference from `gradient(inputs.double())` is at most 0.000001.",
    ),
)
