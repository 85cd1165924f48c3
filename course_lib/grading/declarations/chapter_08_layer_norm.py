"""Exercise 08.1, layer norm: mean, biased variance, epsilon under the root, gain and bias."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.declarations.operators import NORMALISATION
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import equals, gradients_equal, inputs_unchanged, not_moved_by, on


def layer_norm(inputs, gain, bias, epsilon):
    """Each vector less its mean, over the root of its variance and epsilon, times the gain plus the bias."""
    centred = inputs - inputs.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + epsilon).sqrt() * gain + bias


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw vectors with no leading axis, one or two, not centred; epsilon is so large that its place can be seen."""
    axes, (d_model,) = int(torch.randint(3, (), generator=generator)), sizes(generator, 6, least=2)
    shift = uniform(generator, -2, 2)
    return {
        "inputs": normal(generator, *sizes(generator, *[4] * axes, least=2), d_model) + shift,
        "gain": 1.5 + normal(generator, d_model) / 2,
        "bias": normal(generator, d_model),
        "epsilon": uniform(generator, 0.1, 1.0),
    }


def last_vector_replaced(case: Case) -> Case:
    """Replace the very last vector."""
    inputs = case["inputs"].clone()
    last = inputs.view(-1, inputs.shape[-1])[-1]
    last += 3 * torch.arange(len(last)).cos()
    return case | {"inputs": inputs}


def all_but_the_last(output: torch.Tensor) -> torch.Tensor:
    """Every vector but the very last."""
    return output.flatten(0, -2)[:-1] if output.dim() > 1 else output[:0]


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


def normalised(
    over: tuple[int, ...] = (-1,), centred: bool = True, root: Callable[..., torch.Tensor] | None = None
) -> Callable[..., torch.Tensor]:
    """Layer norm over these axes, with or without the mean taken off, and with `root(variance, epsilon)` below."""

    def norm(inputs, gain, bias, epsilon):
        mean = inputs.mean(over, keepdim=True)
        variance = (inputs - mean).square().mean(over, keepdim=True)
        below = (variance + epsilon).sqrt() if root is None else root(variance, epsilon)
        return (inputs - mean if centred else inputs) / below * gain + bias

    return norm


def without_keepdim(inputs, gain, bias, epsilon):
    """Means that lack the axis which they were taken over."""
    mean, variance = inputs.mean(-1), inputs.var(-1, correction=0)
    return (inputs - mean) / (variance + epsilon).sqrt() * gain + bias


def by_the_mean_square(inputs, gain, bias, epsilon):
    """Divided by the root of the mean square."""
    return inputs / (inputs.square().mean(-1, keepdim=True) + epsilon).sqrt() * gain + bias


def by_the_mean_square_of_the_inputs(inputs, gain, bias, epsilon):
    """Centred, and divided by what is not."""
    below = (inputs.square().mean(-1, keepdim=True) + epsilon).sqrt()
    return (inputs - inputs.mean(-1, keepdim=True)) / below * gain + bias


def by_the_sum(inputs, gain, bias, epsilon):
    """The sum of the squares where their mean belongs."""
    centred = inputs - inputs.mean(-1, keepdim=True)
    return centred / (centred.square().sum(-1, keepdim=True) + epsilon).sqrt() * gain + bias


def by_mean_of_squares_less_square(inputs, gain, bias, epsilon):
    """The variance as a difference of two large numbers."""
    mean = inputs.mean(-1, keepdim=True)
    variance = inputs.square().mean(-1, keepdim=True) - mean.square()
    return (inputs - mean) / (variance + epsilon).sqrt() * gain + bias


def unbiased(inputs, gain, bias, epsilon):
    """Variance with d - 1 below, epsilon under the root."""
    mean, variance = inputs.mean(-1, keepdim=True), inputs.var(-1, keepdim=True)
    return (inputs - mean) / (variance + epsilon).sqrt() * gain + bias


def unbiased_and_outside(inputs, gain, bias, epsilon):
    """Torch's .std(), and epsilon added to it."""
    return (inputs - inputs.mean(-1, keepdim=True)) / (inputs.std(-1, keepdim=True) + epsilon) * gain + bias


def spread_held_fixed(inputs, gain, bias, epsilon):
    """The divisor cut out of the graph."""
    centred = inputs - inputs.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + epsilon).sqrt().detach() * gain + bias


def in_place(inputs, gain, bias, epsilon):
    """The mean taken off the caller's own inputs."""
    inputs -= inputs.mean(-1, keepdim=True)
    return inputs / (inputs.square().mean(-1, keepdim=True) + epsilon).sqrt() * gain + bias


ALONE = "every vector is normalised by itself"
NORMALISED = "mean 0 and variance 1, where gain is 1 and bias 0"
EPSILON = "epsilon stands under the root: equal features give the bias"
GAIN = "gain and bias act on each feature"
FAR = "features near 4,096 that differ by one or two"
GRADIENTS = "gradients go through mean and variance too"

LAYER_NORM = Exercise(
    id="08.1",
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
            ),
            reference=layer_norm,
            properties=(
                Property(
                    ALONE,
                    1,
                    not_moved_by(last_vector_replaced, "the last vector replaced", layer_norm, all_but_the_last),
                ),
                Property(NORMALISED, 2, on(plain, equals(layer_norm, tolerance=1e-4))),
                Property(EPSILON, 1, on(nearly_equal, equals(layer_norm))),
                Property(GAIN, 1, equals(layer_norm)),
                Property(FAR, 1, on(far_from_zero, equals(layer_norm, tolerance=2e-3))),
                Property(GRADIENTS, 2, gradients_equal(layer_norm)),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "unbiased variance",
                    "this is what the *unbiased* variance gives, the sum divided by d_model - 1, which is what "
                    "`torch.var` and `torch.std` do by themselves; layer norm divides by d_model, `correction=0`",
                    unbiased,
                    breaks=NORMALISED,
                ),
                Misconception(
                    "unbiased, and epsilon outside the root",
                    "this is `.std()` plus epsilon: torch's `.std()` divides by d_model - 1 (`correction=0` divides by "
                    "d_model), and epsilon is to be added to the variance, before the root",
                    unbiased_and_outside,
                    breaks=NORMALISED,
                ),
                Misconception(
                    "epsilon outside the root",
                    "this adds epsilon to the root; it belongs under it, to the variance: with epsilon 5 and variance "
                    "4 the divisor is 3 and not 7",
                    normalised(root=lambda variance, epsilon: variance.sqrt() + epsilon),
                    breaks=EPSILON,
                ),
                Misconception(
                    "no epsilon",
                    "epsilon was not used: equal features have the variance 0, and 0 / 0 is nan",
                    normalised(root=lambda variance, epsilon: variance.sqrt()),
                    breaks=EPSILON,
                ),
                Misconception(
                    "epsilon for a floor",
                    "this takes the greater of epsilon and the variance; epsilon is added to it, always",
                    normalised(root=lambda variance, epsilon: variance.clamp(min=epsilon).sqrt()),
                    breaks=EPSILON,
                ),
                Misconception(
                    "divided by the variance",
                    "this divides by the variance; its root has the unit of the inputs, and only that leaves a "
                    "variance of 1",
                    normalised(root=lambda variance, epsilon: variance + epsilon),
                    breaks=NORMALISED,
                ),
                Misconception(
                    "over time",
                    "this normalises each feature over the positions (dim=-2): what one position says then depends on "
                    "the others, also on later ones; the axis is that of the features, dim=-1",
                    normalised(over=(-2,)),
                    breaks=ALONE,
                ),
                Misconception(
                    "over the batch",
                    "this normalises each feature over the first axis (dim=0), as batch norm does: one example then "
                    "depends on what else is in the batch; the axis is that of the features, dim=-1",
                    normalised(over=(0,)),
                    breaks=ALONE,
                ),
                Misconception(
                    "over the batch and time",
                    "this normalises each feature over all vectors, as batch norm does; each vector is to be "
                    "normalised by itself, over its own features, dim=-1",
                    lambda inputs, **named: normalised(over=tuple(range(inputs.dim() - 1)))(inputs, **named),
                    breaks=ALONE,
                ),
                Misconception(
                    "over both last axes",
                    "this takes one mean and one variance for a whole sequence, over both last axes; each position is "
                    "to have its own, over its features, dim=-1",
                    normalised(over=(-2, -1)),
                    breaks=ALONE,
                ),
                Misconception(
                    "over everything",
                    "this takes one mean and one variance of all numbers there are, as `inputs.mean()` does; each "
                    "vector is to have its own, `inputs.mean(dim=-1, keepdim=True)`",
                    lambda inputs, **named: normalised(over=tuple(range(inputs.dim())))(inputs, **named),
                    breaks=ALONE,
                ),
                Misconception(
                    "over everything, unbiased",
                    "this takes one mean and one variance of all numbers there are, as `inputs.mean()` and "
                    "`inputs.var()` do; each vector is to have its own, over dim=-1 with `keepdim=True`, and "
                    "`correction=0` for the variance",
                    lambda inputs, gain, bias, epsilon: (
                        (inputs - inputs.mean()) / (inputs.var() + epsilon).sqrt() * gain + bias
                    ),
                    breaks=ALONE,
                ),
                Misconception(
                    "axis 2",
                    "this counts the axes from the front, dim=2: right for (batch, time, d_model) and nothing "
                    "else; the last axis is dim=-1, however many stand before it",
                    normalised(over=(2,)),
                    breaks=GAIN,
                ),
                Misconception(
                    "axis 1",
                    "this counts the axes from the front, dim=1: in (batch, time, d_model) that is time, and what one "
                    "position says then depends on the others; the axis of the features is dim=-1, however many "
                    "stand before it",
                    normalised(over=(1,)),
                    breaks=GAIN,
                ),
                Misconception(
                    "keepdim forgotten",
                    "the mean over the last axis has the shape (...), and broadcasting lines it up with the wrong "
                    "axis; `keepdim=True` leaves (..., 1)",
                    without_keepdim,
                    breaks=GAIN,
                ),
                Misconception(
                    "not centred",
                    "the mean was not taken off: the variance does not know it, but the vectors still carry it",
                    normalised(centred=False),
                    breaks=NORMALISED,
                ),
                Misconception(
                    "the mean square for the variance",
                    "this divides by the root of the mean square and takes no mean off, which is another layer, RMS "
                    "norm",
                    by_the_mean_square,
                    breaks=NORMALISED,
                ),
                Misconception(
                    "only centred",
                    "this takes the mean off and divides by nothing",
                    normalised(root=lambda variance, epsilon: 1),
                    breaks=NORMALISED,
                ),
                Misconception(
                    "sum for mean",
                    "this has the sum of the squared deviations under the root; the variance is their mean, the sum "
                    "divided by d_model",
                    by_the_sum,
                    breaks=NORMALISED,
                ),
                Misconception(
                    "centred above, not below",
                    "this divides by the root of the mean square of the inputs; the variance is the mean square of "
                    "what is left when the mean has been taken off",
                    by_the_mean_square_of_the_inputs,
                    breaks=NORMALISED,
                ),
                Misconception(
                    "no gain",
                    "the gain was not used: it multiplies each feature after the normalisation",
                    lambda gain, **named: layer_norm(gain=torch.ones_like(gain), **named),
                    breaks=GAIN,
                ),
                Misconception(
                    "no bias",
                    "the bias was not used: it is added to each feature at the end",
                    lambda bias, **named: layer_norm(bias=torch.zeros_like(bias), **named),
                    breaks=GAIN,
                ),
                Misconception(
                    "neither gain nor bias",
                    "neither gain nor bias was used: multiply each feature by its gain, then add its bias",
                    lambda gain, bias, **named: layer_norm(gain=torch.ones_like(gain), bias=0 * bias, **named),
                    breaks=GAIN,
                ),
                Misconception(
                    "bias before the gain",
                    "this adds the bias first and multiplies both by the gain; the gain multiplies, then the bias is "
                    "added",
                    lambda gain, bias, **named: layer_norm(gain=gain, bias=gain * bias, **named),
                    breaks=GAIN,
                ),
                Misconception(
                    "gain and bias exchanged",
                    "gain and bias were exchanged: the gain multiplies, the bias is added",
                    lambda gain, bias, **named: layer_norm(gain=bias, bias=gain, **named),
                    breaks=GAIN,
                ),
                Misconception(
                    "mean of squares less square of the mean",
                    "this takes the variance as the mean of the squares less the square of the mean: right on paper, "
                    "but far from zero two large numbers are subtracted, and float32 keeps nothing of the difference; "
                    "square the deviations from the mean",
                    by_mean_of_squares_less_square,
                    breaks=FAR,
                ),
                Misconception(
                    "mean or spread held fixed",
                    "the numbers are right and the gradient is not: mean, variance or more was cut out of the graph "
                    "(`.detach()`, `.item()`, `.data`, `torch.no_grad()`), but both move when the inputs move",
                    spread_held_fixed,
                    breaks=GRADIENTS,
                ),
                Misconception(
                    "inputs changed in place",
                    "`inputs -= ...` takes the mean off the caller's own inputs, which the block still needs for the "
                    "residual; `inputs - ...` makes a new tensor",
                    in_place,
                    breaks="inputs unchanged",
                ),
            ),
        ),
    ),
    hints=(
        "How many means does a batch of shape (batch, time, d_model) have? Which axis is gone when they are taken, and "
        "what must stand in its place?",
        "Take the mean over the last axis and keep that axis with size one; subtract it; the mean of the squares of "
        "what is left is the variance; add epsilon, take the root, divide; multiply by the gain, add the bias.",
        "Take `inputs.mean(dim=-1, keepdim=True)` away from the inputs; the variance is the square of what is left, "
        "averaged in the same way. Under the root stands that variance plus epsilon.",
    ),
    forbidden=NORMALISATION,
)
