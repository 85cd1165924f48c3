"""08.1: layer norm, with its mean, biased variance, epsilon under the root, gain and bias."""

import torch

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.exercises.operators import NORMALISATION
from course_lib.exercises.vectors import all_but_the_last, last_vector_replaced
from course_lib.grading.checks import equals, gradients_equal, inputs_unchanged, not_moved_by, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def layer_norm(inputs, gain, bias, epsilon):
    """Each vector less its mean, over the root of its variance and epsilon, times the gain plus the bias."""
    centred = inputs - inputs.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + epsilon).sqrt() * gain + bias


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw vectors with no leading axis, one or two, not centred; epsilon is so large that its position can be seen."""
    axes, (d_model,) = int(torch.randint(3, (), generator=generator)), sizes(generator, 6, least=2)
    shift = uniform(generator, -2, 2)
    return {
        "inputs": normal(generator, *sizes(generator, *[4] * axes, least=2), d_model) + shift,
        "gain": 1.5 + normal(generator, d_model) / 2,
        "bias": normal(generator, d_model),
        "epsilon": uniform(generator, 0.1, 1.0),
    }


def plain(case: Case) -> Case:
    """Leave the normalisation alone: a gain of one and no bias, and next to no epsilon."""
    ones = torch.ones_like(case["gain"])
    return case | {"gain": ones, "bias": 0 * ones, "epsilon": 1e-3}


def nearly_equal(case: Case) -> Case:
    """Bring the features of each vector close together; those of the very last one are equal."""
    inputs = case["inputs"] / 4
    inputs.view(-1, inputs.shape[-1])[-1] = 0.75
    return case | {"inputs": inputs}


def far_from_zero(case: Case) -> Case:
    """Move everything to 4,096, in 64ths, which float32 still tells apart."""
    return case | {"inputs": (64 * case["inputs"]).round() / 64 + 4096}


MISTAKES = """
unbiased variance => mean 0 and variance 1, where gain is 1 and bias 0
- variance = centred.square().mean(dim=-1, keepdim=True)
+ variance = inputs.var(dim=-1, keepdim=True)
this is what the *unbiased* variance gives, the sum divided by d_model - 1, which is what `torch.var` and `torch.std` do
by themselves; layer norm divides by d_model, `correction=0`

unbiased, and epsilon outside the root => mean 0 and variance 1, where gain is 1 and bias 0
- return gain * centred / torch.sqrt(variance + epsilon) + bias
+ return gain * centred / (inputs.std(dim=-1, keepdim=True) + epsilon) + bias
this is `.std()` plus epsilon: torch's `.std()` divides by d_model - 1 (`correction=0` divides by d_model), and epsilon
is to be added to the variance, before the root

epsilon outside the root => epsilon stands under the root: equal features give the bias
+ return gain * centred / (torch.sqrt(variance) + epsilon) + bias
this adds epsilon to the root; it belongs under it, to the variance: with epsilon 5 and variance 4 the divisor is 3 and
not 7

no epsilon => epsilon stands under the root: equal features give the bias
+ return gain * centred / torch.sqrt(variance) + bias
epsilon was not used: equal features have the variance 0, and 0 / 0 is nan

epsilon for a floor => epsilon stands under the root: equal features give the bias
+ return gain * centred / torch.sqrt(variance.clamp(min=epsilon)) + bias
this takes the greater of epsilon and the variance; epsilon is added to it, always

divided by the variance => mean 0 and variance 1, where gain is 1 and bias 0
+ return gain * centred / (variance + epsilon) + bias
this divides by the variance; its root has the unit of the inputs, and only that leaves a variance of 1

over time => every vector is normalised by itself
- centred = inputs - inputs.mean(dim=-1, keepdim=True)
- variance = centred.square().mean(dim=-1, keepdim=True)
+ centred = inputs - inputs.mean(dim=-2, keepdim=True)
+ variance = centred.square().mean(dim=-2, keepdim=True)
this normalises each feature over the positions (dim=-2): what one position says then depends on the others, also on
later ones; the axis is that of the features, dim=-1

over the batch => every vector is normalised by itself
+ centred = inputs - inputs.mean(dim=0, keepdim=True)
+ variance = centred.square().mean(dim=0, keepdim=True)
this normalises each feature over the first axis (dim=0), as batch norm does: one example then depends on what else is
in the batch; the axis is that of the features, dim=-1

over the batch and time => every vector is normalised by itself
+ leading = tuple(range(inputs.dim() - 1))
+ centred = inputs - inputs.mean(dim=leading, keepdim=True)
+ variance = centred.square().mean(dim=leading, keepdim=True)
this normalises each feature over all vectors, as batch norm does; each vector is to be normalised by itself, over its
own features, dim=-1

over both last axes => every vector is normalised by itself
+ centred = inputs - inputs.mean(dim=(-2, -1), keepdim=True)
+ variance = centred.square().mean(dim=(-2, -1), keepdim=True)
this takes one mean and one variance for a whole sequence, over both last axes; each position is to have its own, over
its features, dim=-1

over everything => every vector is normalised by itself
+ centred = inputs - inputs.mean()
+ variance = centred.square().mean()
this takes one mean and one variance of all numbers there are, as `inputs.mean()` does; each vector is to have its own,
`inputs.mean(dim=-1, keepdim=True)`

over everything, unbiased => every vector is normalised by itself
+ centred = inputs - inputs.mean()
+ variance = inputs.var()
this takes one mean and one variance of all numbers there are, as `inputs.mean()` and `inputs.var()` do; each vector is
to have its own, over dim=-1 with `keepdim=True`, and `correction=0` for the variance

axis 2 => gain and bias act on each feature
+ centred = inputs - inputs.mean(dim=2, keepdim=True)
+ variance = centred.square().mean(dim=2, keepdim=True)
this counts the axes from the front, dim=2: right for (batch, time, d_model) and nothing else; the last axis is dim=-1,
however many stand before it

axis 1 => gain and bias act on each feature
+ centred = inputs - inputs.mean(dim=1, keepdim=True)
+ variance = centred.square().mean(dim=1, keepdim=True)
this counts the axes from the front, dim=1: in (batch, time, d_model) that is time, and what one position says then
depends on the others; the axis of the features is dim=-1, however many stand before it

keepdim forgotten => gain and bias act on each feature
+ centred = inputs - inputs.mean(dim=-1)
+ variance = inputs.var(dim=-1, correction=0)
the mean over the last axis has the shape (...), and broadcasting lines it up with the wrong axis; `keepdim=True` leaves
(..., 1)

not centred => mean 0 and variance 1, where gain is 1 and bias 0
- return gain * centred / torch.sqrt(variance + epsilon) + bias
+ return gain * inputs / torch.sqrt(variance + epsilon) + bias
the mean was not taken off: the variance does not know it, but the vectors still carry it

the mean square for the variance => mean 0 and variance 1, where gain is 1 and bias 0
- variance = centred.square().mean(dim=-1, keepdim=True)
- return gain * centred / torch.sqrt(variance + epsilon) + bias
+ mean_square = inputs.square().mean(dim=-1, keepdim=True)
+ return gain * inputs / torch.sqrt(mean_square + epsilon) + bias
this divides by the root of the mean square and takes no mean off, which is another layer, RMS norm

only centred => mean 0 and variance 1, where gain is 1 and bias 0
+ return gain * centred + bias
this takes the mean off and divides by nothing

sum for mean => mean 0 and variance 1, where gain is 1 and bias 0
- variance = centred.square().mean(dim=-1, keepdim=True)
+ variance = centred.square().sum(dim=-1, keepdim=True)
this has the sum of the squared deviations under the root; the variance is their mean, the sum divided by d_model

centred above, not below => mean 0 and variance 1, where gain is 1 and bias 0
+ variance = inputs.square().mean(dim=-1, keepdim=True)
this divides by the root of the mean square of the inputs; the variance is the mean square of what is left when the mean
has been taken off

no gain => gain and bias act on each feature
- return gain * centred / torch.sqrt(variance + epsilon) + bias
+ return centred / torch.sqrt(variance + epsilon) + bias
the gain was not used: it multiplies each feature after the normalisation

no bias => gain and bias act on each feature
+ return gain * centred / torch.sqrt(variance + epsilon)
the bias was not used: it is added to each feature at the end

neither gain nor bias => gain and bias act on each feature
+ return centred / torch.sqrt(variance + epsilon)
neither gain nor bias was used: multiply each feature by its gain, then add its bias

bias before the gain => gain and bias act on each feature
+ return gain * (centred / torch.sqrt(variance + epsilon) + bias)
this adds the bias first and multiplies both by the gain; the gain multiplies, then the bias is added

gain and bias exchanged => gain and bias act on each feature
+ return bias * centred / torch.sqrt(variance + epsilon) + gain
gain and bias were exchanged: the gain multiplies, the bias is added

mean of squares less square of the mean => features near 4,096 that differ by one or two
- variance = centred.square().mean(dim=-1, keepdim=True)
+ variance = inputs.square().mean(dim=-1, keepdim=True) - inputs.mean(dim=-1, keepdim=True).square()
this takes the variance as the mean of the squares less the square of the mean: right on paper, but far from zero two
large numbers are subtracted, and float32 keeps nothing of the difference; square the deviations from the mean

mean or spread held fixed => gradients go through mean and variance too
- return gain * centred / torch.sqrt(variance + epsilon) + bias
+ return gain * centred / torch.sqrt(variance + epsilon).detach() + bias
the numbers are right and the gradient is not: mean, variance or more was cut out of the graph (`.detach()`, `.item()`,
`.data`, `torch.no_grad()`), but both move when the inputs move

inputs changed in place => inputs unchanged
- centred = inputs - inputs.mean(dim=-1, keepdim=True)
+ inputs -= inputs.mean(dim=-1, keepdim=True)
+ centred = inputs
`inputs -= ...` takes the mean off the caller's own inputs, which the block still needs for the residual; `inputs - ...`
makes a new tensor

mean of squares less square of the mean, never below zero => features near 4,096 that differ by one or two
- variance = centred.square().mean(dim=-1, keepdim=True)
+ variance = inputs.square().mean(dim=-1, keepdim=True) - inputs.mean(dim=-1, keepdim=True).square()
+ variance = variance.clamp(min=0)
this takes the variance as the mean of the squares less the square of the mean: far from zero two large numbers are
subtracted, and float32 keeps nothing of the difference. Take the mean of the squared deviations from the mean

mean and spread held fixed => gradients go through mean and variance too
- centred = inputs - inputs.mean(dim=-1, keepdim=True)
- variance = centred.square().mean(dim=-1, keepdim=True)
+ centred = inputs - inputs.mean(dim=-1, keepdim=True).detach()
+ variance = centred.square().mean(dim=-1, keepdim=True).detach()
the numbers are right and the gradient is not: mean and variance were cut out of the graph (`.detach()`, `.item()`,
`torch.no_grad()`), but both move when the inputs move

inputs changed in place, out of the graph => gradients go through mean and variance too
- centred = inputs - inputs.mean(dim=-1, keepdim=True)
+ with torch.no_grad():
+     inputs -= inputs.mean(dim=-1, keepdim=True)
+ centred = inputs
this takes the mean off the caller's own inputs, out of the graph: the caller still needs them, and no gradient goes
through the mean. Make a new tensor inside the graph

over all axes but the first => every vector is normalised by itself
- centred = inputs - inputs.mean(dim=-1, keepdim=True)
- variance = centred.square().mean(dim=-1, keepdim=True)
+ axes = tuple(range(1, inputs.dim())) or (0,)
+ centred = inputs - inputs.mean(dim=axes, keepdim=True)
+ variance = centred.square().mean(dim=axes, keepdim=True)
this takes one mean and one variance over all axes but the first, so that the positions of a sequence influence each
other; each vector is to have its own, over its features, dim=-1
"""

EXERCISE = Exercise(
    title="Layer norm",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="layer_norm",
            parameters=("inputs", "gain", "bias", "epsilon"),
            returns="the normalised vectors, in the shape of inputs, (..., d_model)",
            cases=draw_vectors,
            examples=(
                {
                    "inputs": torch.tensor([0.0, 4.0]),
                    "gain": torch.tensor([3.0, 6.0]),
                    "bias": torch.tensor([1.0, 0.0]),
                    "epsilon": 5.0,
                },
                {
                    "inputs": torch.tensor([[[1.0, 3.0], [3.0, 1.0]], [[5.0, 5.0], [0.0, -2.0]]]),
                    "gain": torch.tensor([2.0, 4.0]),
                    "bias": torch.tensor([0.0, 1.0]),
                    "epsilon": 3.0,
                },
                {  # one leading axis: axis 1 is that of the features, and no axis of positions
                    "inputs": torch.tensor([[1.0, 3.0], [0.0, 4.0]]),
                    "gain": torch.tensor([2.0, 4.0]),
                    "bias": torch.tensor([0.0, 1.0]),
                    "epsilon": 3.0,
                },
            ),
            edges=(
                {  # one position, two sequences
                    "inputs": torch.tensor([[[1.0, 2.0, 6.0]], [[0.0, -3.0, 0.5]]]),
                    "gain": torch.tensor([2.0, 1.0, 0.5]),
                    "bias": torch.tensor([0.0, 1.0, -1.0]),
                    "epsilon": 0.5,
                },
                {  # a single feature is its own mean
                    "inputs": torch.tensor([[[2.0], [-3.0]]]),
                    "gain": torch.tensor([2.0]),
                    "bias": torch.tensor([0.5]),
                    "epsilon": 0.25,
                },
                {  # two leading axes of size one
                    "inputs": torch.tensor([[[1.0, 4.0]]]),
                    "gain": torch.tensor([1.0, -2.0]),
                    "bias": torch.tensor([3.0, 0.0]),
                    "epsilon": 1.0,
                },
                {  # near 4,096, the mean of the squares less the square of the mean is rounded to -2
                    "inputs": torch.tensor([[1.5, 3.0]]),
                    "gain": torch.tensor([1.0, 2.0]),
                    "bias": torch.tensor([0.5, 0.0]),
                    "epsilon": 0.5,
                },
            ),
            reference=layer_norm,
            properties=(
                Property(
                    "every vector is normalised by itself",
                    1,
                    not_moved_by(last_vector_replaced, "the last vector replaced", all_but_the_last),
                ),
                Property("mean 0 and variance 1, where gain is 1 and bias 0", 2, on(plain, equals(1e-4))),
                Property("epsilon stands under the root: equal features give the bias", 1, on(nearly_equal, equals())),
                Property("gain and bias act on each feature", 1, equals()),
                Property("features near 4,096 that differ by one or two", 1, on(far_from_zero, equals(2e-3))),
                Property("gradients go through mean and variance too", 2, gradients_equal()),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "How many means does a batch of shape (batch, time, d_model) have? Which axis is gone when they are taken, and "
        "what must replace it?",
        "Take the mean over the last axis and keep that axis with size one; subtract it; the mean of the squares of "
        "what is left is the variance; add epsilon, take the root, divide; multiply by the gain, add the bias.",
        "Take `inputs.mean(dim=-1, keepdim=True)` away from the inputs; the variance is the square of what is left, "
        "averaged in the same way. Under the root stands that variance plus epsilon.",
    ),
    forbidden=NORMALISATION,
)
