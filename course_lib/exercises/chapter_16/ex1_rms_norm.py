"""16.1: RMSNorm, and the gradients of its inputs and its gain by formulas."""

import torch

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.exercises.operators import NORMALISATION
from course_lib.exercises.vectors import all_but_the_last, last_vector_replaced
from course_lib.grading.checks import difference, equals, inputs_unchanged, not_moved_by, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task

# The usual other ways to a gradient, such as `loss.backward()` or `torch.func.vjp`, call one of these.
AUTOGRAD = {
    "torch.autograd.grad": "autograd",
    "torch.autograd.backward": "autograd",
}


def rms_norm(inputs, gain, epsilon):
    """Each vector times the gain, over the root of its squared norm by d_model and epsilon."""
    squared_norms = (inputs * inputs).sum(-1, keepdim=True)
    return inputs * (squared_norms / inputs.shape[-1] + epsilon).rsqrt() * gain


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw vectors with no leading axis, one or two, not centred; epsilon is so large that its position can be seen."""
    axes, (d_model,) = int(torch.randint(3, (), generator=generator)), sizes(generator, 6, least=2)
    shift = uniform(generator, -2, 2)
    return {
        "inputs": normal(generator, *sizes(generator, *[4] * axes, least=2), d_model) + shift,
        "gain": 1.5 + normal(generator, d_model) / 2,
        "epsilon": uniform(generator, 0.1, 1.0),
    }


def plain(case: Case) -> Case:
    """Leave the normalisation alone: a gain of one, and next to no epsilon."""
    return case | {"gain": torch.ones_like(case["gain"]), "epsilon": 1e-3}


def near_zero(case: Case) -> Case:
    """Bring each vector close to zero; the very last one is zero."""
    inputs = case["inputs"] / 4
    inputs.view(-1, inputs.shape[-1])[-1] = 0.0
    return case | {"inputs": inputs}


FORWARD_MISTAKES = """
epsilon outside the root => epsilon stands under the root, also for a vector of zeros
- return gain * inputs / torch.sqrt(mean_square + epsilon)
+ return gain * inputs / (torch.sqrt(mean_square) + epsilon)
this adds epsilon to the root; it belongs under it, to the mean square: with epsilon 6 and the mean square 10 the
divisor is 4 and not 9.16

no epsilon => epsilon stands under the root, also for a vector of zeros
+ return gain * inputs / torch.sqrt(mean_square)
epsilon was not used: a vector of zeros has the mean square 0, and 0 / 0 is nan

epsilon for a floor => epsilon stands under the root, also for a vector of zeros
+ return gain * inputs / torch.sqrt(mean_square.clamp(min=epsilon))
this takes the greater of epsilon and the mean square; epsilon is added to it, always

epsilon squared => epsilon stands under the root, also for a vector of zeros
+ return gain * inputs / torch.sqrt(mean_square + epsilon**2)
this adds the square of epsilon; the mean square gets epsilon itself

divided by the mean square => a mean square of 1, where the gain is 1
+ return gain * inputs / (mean_square + epsilon)
this divides by the mean square; its root has the unit of the inputs, and only that leaves a mean square of 1

multiplied by the root => a mean square of 1, where the gain is 1
+ return gain * inputs * torch.sqrt(mean_square + epsilon)
this multiplies by the root; the inputs are divided by it (`torch.rsqrt` gives 1 over the root)

not normalised => a mean square of 1, where the gain is 1
+ return gain * inputs
this multiplies by the gain and divides by nothing

no gain => the gain multiplies each feature
+ return inputs / torch.sqrt(mean_square + epsilon)
the gain was not used: it multiplies each feature after the division

gain around zero => the gain multiplies each feature
+ return (1 + gain) * inputs / torch.sqrt(mean_square + epsilon)
this multiplies by 1 + gain, as Gemma does, whose gains begin at 0; here the gain itself is the factor

gain added => the gain multiplies each feature
+ return inputs / torch.sqrt(mean_square + epsilon) + gain
this adds the gain; it is a factor of each feature, and RMSNorm has no bias

gain before the normalisation => the gain multiplies each feature
- mean_square = inputs.square().mean(dim=-1, keepdim=True)
- return gain * inputs / torch.sqrt(mean_square + epsilon)
+ inputs = gain * inputs
+ mean_square = inputs.square().mean(dim=-1, keepdim=True)
+ return inputs / torch.sqrt(mean_square + epsilon)
this multiplies by the gain first, and then takes the mean square of the product; the mean square is that of the inputs,
and the gain comes last

layer norm without a bias => a mean square of 1, where the gain is 1
+ centred = inputs - inputs.mean(dim=-1, keepdim=True)
+ return gain * centred / torch.sqrt(centred.square().mean(dim=-1, keepdim=True) + epsilon)
this subtracts the mean, which is layer norm; RMSNorm subtracts nothing

layer norm by torch's variance => a mean square of 1, where the gain is 1
+ centred = inputs - inputs.mean(dim=-1, keepdim=True)
+ return gain * centred / torch.sqrt(inputs.var(dim=-1, keepdim=True) + epsilon)
this subtracts the mean and divides by the root of torch's variance, which is layer norm, and an unbiased one; RMSNorm
subtracts nothing, and takes the mean of the squares of the inputs as they are

standard deviation below => a mean square of 1, where the gain is 1
+ return gain * inputs / torch.sqrt(inputs.var(dim=-1, keepdim=True, correction=0) + epsilon)
this divides by the root of the variance, which is the mean square of what is left when the mean has been subtracted;
RMSNorm takes the mean square of the inputs as they are

standard deviation of torch below => a mean square of 1, where the gain is 1
+ return gain * inputs / torch.sqrt(inputs.var(dim=-1, keepdim=True) + epsilon)

centred above, not below => a mean square of 1, where the gain is 1
- mean_square = inputs.square().mean(dim=-1, keepdim=True)
- return gain * inputs / torch.sqrt(mean_square + epsilon)
+ mean_square = inputs.square().mean(dim=-1, keepdim=True)
+ return gain * (inputs - inputs.mean(dim=-1, keepdim=True)) / torch.sqrt(mean_square + epsilon)
this subtracts the mean from the inputs; RMSNorm subtracts nothing

sum for mean => a mean square of 1, where the gain is 1
- mean_square = inputs.square().mean(dim=-1, keepdim=True)
+ mean_square = inputs.square().sum(dim=-1, keepdim=True)
this has the sum of the squares under the root, so that the norm of each vector becomes 1; RMSNorm takes the mean, the
sum divided by d_model

sum for mean, by the norm => epsilon stands under the root, also for a vector of zeros
- mean_square = inputs.square().mean(dim=-1, keepdim=True)
- return gain * inputs / torch.sqrt(mean_square + epsilon)
+ return gain * inputs / (inputs.norm(dim=-1, keepdim=True) + epsilon)
this divides by the norm plus epsilon: RMSNorm takes the mean of the squares, not their sum, and adds epsilon under the
root

mean of the absolute values => a mean square of 1, where the gain is 1
+ return gain * inputs / (inputs.abs().mean(dim=-1, keepdim=True) + epsilon)
this divides by the mean of the absolute values; square, take the mean, then the root

square of the mean => a mean square of 1, where the gain is 1
- mean_square = inputs.square().mean(dim=-1, keepdim=True)
+ mean_square = inputs.mean(dim=-1, keepdim=True).square()
this takes the square of the mean; square each entry first, then take the mean

divided by d_model less one => a mean square of 1, where the gain is 1
+ mean_square = inputs.square().sum(dim=-1, keepdim=True) / max(1, inputs.shape[-1] - 1)
this divides the sum of the squares by d_model - 1, as `torch.var` does; a mean square is divided by d_model

over time => every vector is normalised by itself
+ mean_square = inputs.square().mean(dim=-2, keepdim=True)
this takes the mean over the positions (dim=-2), so that what one position says depends on the others, also on later
ones; the axis is that of the features, dim=-1

over the first axis => every vector is normalised by itself
+ mean_square = inputs.square().mean(dim=0, keepdim=True)
this takes the mean over the first axis (dim=0), so that one example depends on what else is in the batch; the axis is
that of the features, dim=-1

axis 1 => the gain multiplies each feature
+ mean_square = inputs.square().mean(dim=1, keepdim=True)
this counts the axes from the front, dim=1: in (batch, time, d_model) that is time; the axis of the features is dim=-1,
however many stand before it

axis 2 => the gain multiplies each feature
+ mean_square = inputs.square().mean(dim=2, keepdim=True)
this counts the axes from the front, dim=2: right for (batch, time, d_model) and nothing else; the last axis is dim=-1,
however many stand before it

over everything => every vector is normalised by itself
+ mean_square = inputs.square().mean()
this takes one mean of all numbers there are, as `.mean()` does; each vector is to have its own,
`.mean(dim=-1, keepdim=True)`

keepdim forgotten => the gain multiplies each feature
+ mean_square = inputs.square().mean(dim=-1)
the mean over the last axis has the shape (...), and broadcasting lines it up with the wrong axis; `keepdim=True` leaves
(..., 1)

inputs overwritten => inputs unchanged
- return gain * inputs / torch.sqrt(mean_square + epsilon)
+ inputs /= torch.sqrt(mean_square + epsilon)
+ return gain * inputs
`inputs /= ...` writes into the caller's own inputs, which the block still needs for the residual; `inputs / ...` makes
a new tensor
"""


def rms_norm_backward(inputs, gain, epsilon, upstream):
    """What autograd says."""
    x, g = inputs.clone().requires_grad_(), gain.clone().requires_grad_()
    return torch.autograd.grad(rms_norm(x, g, epsilon), (x, g), upstream)


def draw_backward(generator: torch.Generator) -> Case:
    """Draw vectors, and a gradient for each of their entries."""
    case = draw_vectors(generator)
    return case | {"upstream": normal(generator, *case["inputs"].shape)}


def one_vector(case: Case) -> Case:
    """The first vector alone, without leading axes."""
    return case | {name: case[name].reshape(-1, len(case["gain"]))[0].clone() for name in ("inputs", "upstream")}


def gain_of_one(case: Case) -> Case:
    """Set every gain to one."""
    return case | {"gain": torch.ones_like(case["gain"])}


def no_slope_along_the_inputs(case: Case):
    """With next to no epsilon, the gradient of each vector that is not short is orthogonal to the vector."""
    inputs = case["inputs"] + 2 * torch.where(case["inputs"] < 0, -1, 1)
    reply = yield case | {"inputs": inputs, "epsilon": 1e-6}
    along = (reply.value * inputs).sum(-1)
    where = "the dot product of each vector and its gradient"
    return difference(reply.arguments, along, torch.zeros_like(along), 1e-4, where=where)


BACKWARD_MISTAKES = """
root held fixed => gradient of the inputs: orthogonal to them, with a tiny epsilon
- of_inputs = (scaled - along * normalised) / root
+ of_inputs = scaled / root
this is the direct path alone, as if the root were a constant; the root depends on every input too, and its path has the
opposite sign

direct path missing => gradient of the inputs: gain 1
+ of_inputs = -along * normalised / root
this is the path through the root alone; each input also stands in the numerator of its own output

plus for minus => gradient of the inputs: orthogonal to them, with a tiny epsilon
+ of_inputs = (scaled + along * normalised) / root
the two paths are added here; an input that grows in size makes the root greater and so the outputs smaller: the path
through the root has the opposite sign

not divided by the root => gradient of the inputs: gain 1
+ of_inputs = scaled - along * normalised
this is not divided by the root at the end: the normalised vectors are the inputs divided by the root, and so is their
derivative

multiplied by the root => gradient of the inputs: gain 1
+ of_inputs = (scaled - along * normalised) * root
this multiplies by the root: the normalised vectors are the inputs divided by it, and so is their derivative

mean subtracted, as in layer norm => gradient of the inputs: orthogonal to them, with a tiny epsilon
+ of_inputs = (scaled - scaled.mean(dim=-1, keepdim=True) - along * normalised) / root
this also subtracts the mean of the gradients, as the backward pass of layer norm does; RMSNorm subtracts no mean, and
neither does its backward pass

correction not along the vector => gradient of the inputs: gain 1
+ of_inputs = (scaled - along) / root
this subtracts one number from all entries; the derivative of the root by input i is proportional to input i, so the
number is multiplied by the normalised vector

inputs for normalised vectors => gradient of the inputs: gain 1
+ of_inputs = (scaled - along * inputs) / root
the correction has the inputs where the normalised vectors, inputs / root, belong: one division by the root is missing

inputs for normalised vectors, twice => gradient of the inputs: gain 1
- along = (scaled * normalised).mean(dim=-1, keepdim=True)
- of_inputs = (scaled - along * normalised) / root
+ along = (scaled * inputs).mean(dim=-1, keepdim=True)
+ of_inputs = (scaled - along * inputs) / root
the correction has the inputs where the normalised vectors, inputs / root, belong, in the mean and again as a factor:
two divisions by the root are missing

gain not used for the inputs => gradient of the inputs: any gain
- scaled = gain * upstream
+ scaled = upstream
the gain is missing in the gradient of the inputs: every output is gain times the normalised entry, so the upstream
gradient is multiplied by the gain before it goes on

gain not used in the mean => gradient of the inputs: any gain
- along = (scaled * normalised).mean(dim=-1, keepdim=True)
+ along = (upstream * normalised).mean(dim=-1, keepdim=True)
the gain is missing in the path through the root: there too the upstream gradient passes the gain first

gain used twice => gradient of the inputs: any gain
+ along = (scaled * gain * normalised).mean(dim=-1, keepdim=True)
the gain stands twice in the path through the root; the upstream gradient passes it once

gain on one path alone => gradient of the inputs: any gain
- scaled = gain * upstream
- along = (scaled * normalised).mean(dim=-1, keepdim=True)
- of_inputs = (scaled - along * normalised) / root
+ along = (gain * upstream * normalised).mean(dim=-1, keepdim=True)
+ of_inputs = (upstream - along * normalised) / root
the gain is missing in the direct path: each output is gain times the normalised entry, so both paths have the gain

gain outside of both paths => gradient of the inputs: any gain
+ along = (upstream * normalised).mean(dim=-1, keepdim=True)
+ of_inputs = gain * (upstream - along * normalised) / root
this multiplies by the gain at the end, so that input i has the gain of feature i on both paths; through the root it
reaches every output, and each of these has a gain of its own: multiply upstream by the gain first

sum for mean => gradient of the inputs: gain 1
- along = (scaled * normalised).mean(dim=-1, keepdim=True)
+ along = (scaled * normalised).sum(dim=-1, keepdim=True)
this takes the sum over the features in the correction; the derivative of the mean square has the factor 1 / d_model

the square's 2 kept => gradient of the inputs: gain 1
+ along = 2 * (scaled * normalised).mean(dim=-1, keepdim=True)
the correction is twice as large as it should be: the 2 of the square and the 1/2 of the root cancel

the root's half kept => gradient of the inputs: gain 1
+ along = (scaled * normalised).mean(dim=-1, keepdim=True) / 2
the correction is half as large as it should be: the 2 of the square and the 1/2 of the root cancel

one mean for everything => gradient of the inputs: any gain
+ along = (scaled * normalised).mean()
this takes one mean over all vectors in the correction; each vector is to have its own, `.mean(dim=-1, keepdim=True)`

keepdim forgotten => gradient of the inputs: any gain
+ along = (scaled * normalised).mean(dim=-1)
the mean over the last axis has the shape (...), and broadcasting lines it up with the wrong axis; `keepdim=True` leaves
(..., 1)

no epsilon => gradient of the inputs: gain 1
- root = torch.sqrt(inputs.square().mean(dim=-1, keepdim=True) + epsilon)
+ root = torch.sqrt(inputs.square().mean(dim=-1, keepdim=True))
epsilon was not used: the root is that of the forward pass, of the mean square plus epsilon

epsilon outside the root => gradient of the inputs: gain 1
+ root = torch.sqrt(inputs.square().mean(dim=-1, keepdim=True)) + epsilon
this adds epsilon to the root; in the forward pass it is added to the mean square, under the root

sum under the root => gradient of the inputs: gain 1
+ root = torch.sqrt(inputs.square().sum(dim=-1, keepdim=True) + epsilon)
this root is that of the sum of the squares; the forward pass has their mean

the mean square for its root => gradient of the inputs: gain 1
+ root = inputs.square().mean(dim=-1, keepdim=True) + epsilon
here the mean square stands where its root belongs

orthogonal with epsilon too => gradient of the inputs: gain 1
- along = (scaled * normalised).mean(dim=-1, keepdim=True)
- of_inputs = (scaled - along * normalised) / root
+ unit = inputs / inputs.norm(dim=-1, keepdim=True)
+ of_inputs = (scaled - (scaled * unit).sum(dim=-1, keepdim=True) * unit) / root
this takes off all that lies along the inputs, which is right without epsilon; with it the root grows more slowly than
the inputs, and some gradient along them is left

gain: the inputs as they are => gradient of the gain: one vector
- of_gain = reduce(upstream * normalised, "... d_model -> d_model", "sum")
+ of_gain = reduce(upstream * inputs, "... d_model -> d_model", "sum")
the gain multiplies the normalised vectors, so its gradient is upstream times these, not times the inputs

gain: times the gain => gradient of the gain: one vector
+ of_gain = reduce(scaled * normalised, "... d_model -> d_model", "sum")
the gradient of the gain has the gain as a factor here; an output is gain times normalised entry, and its derivative by
the gain is the normalised entry alone

gain: upstream alone => gradient of the gain: one vector
+ of_gain = reduce(upstream, "... d_model -> d_model", "sum")
this is the gradient of a bias; the gain is multiplied by the normalised vector, and so is upstream

gain: the output for the normalised vector => gradient of the gain: one vector
+ of_gain = reduce(upstream * gain * gain * normalised, "... d_model -> d_model", "sum")
the gradient of the gain has the gain as a factor here; an output is gain times normalised entry, and its derivative by
the gain is the normalised entry alone

gain: not summed => gradient of the gain: many vectors
+ of_gain = upstream * normalised
this is one gradient of the gain for each vector; the gain is shared by all vectors, so its gradient is their sum, of
the shape (d_model,)

gain: mean for sum => gradient of the gain: many vectors
+ of_gain = reduce(upstream * normalised, "... d_model -> d_model", "mean")
this averages the gradient of the gain over the vectors; a parameter that is used several times receives the sum

gain: one axis summed => gradient of the gain: many vectors
+ of_gain = (upstream * normalised).sum(dim=0) if inputs.dim() > 1 else upstream * normalised
this sums over the first axis alone; the gain is shared by all vectors, whatever axes they stand along, so all axes but
the last are summed

gain: the axis before the last summed => gradient of the gain: many vectors
+ of_gain = (upstream * normalised).sum(dim=-2) if inputs.dim() > 1 else upstream * normalised
this sums over the axis before the last alone; the gain is shared by all vectors, whatever axes they stand along, so all
axes but the last are summed

gain: summed over the features => gradient of the gain: one vector
+ of_gain = (upstream * normalised).sum(dim=-1)
this sums over the features; each feature has a gain of its own, and the sum is taken over the vectors

gain: the first axis, always => gradient of the gain: one vector
+ of_gain = (upstream * normalised).sum(dim=0)
this sums over the first axis, whichever it is: where there is one vector without leading axes, that is the axis of the
features, and with two leading axes another one is left; sum over all axes but the last

gain: two axes, always => gradient of the gain: one vector
+ of_gain = (upstream * normalised).sum(dim=(0, 1))
this sums over the first two axes, which is right for (batch, time, d_model) alone; sum over all axes but the last

gradients exchanged => gradient of the gain: many vectors
- return of_inputs, of_gain
+ return of_gain, of_inputs
the two are in the wrong order: first the gradient of the inputs, then that of the gain

upstream not used => gradient of the gain: one vector
- scaled = gain * upstream
- along = (scaled * normalised).mean(dim=-1, keepdim=True)
- of_inputs = (scaled - along * normalised) / root
- of_gain = reduce(upstream * normalised, "... d_model -> d_model", "sum")
+ scaled = gain.expand_as(inputs)
+ along = (scaled * normalised).mean(dim=-1, keepdim=True)
+ of_inputs = (scaled - along * normalised) / root
+ of_gain = reduce(normalised, "... d_model -> d_model", "sum")
`upstream` was not used: these are the gradients of the sum of all outputs; both are to be continued from `upstream`

inputs overwritten => arguments unchanged
- normalised = inputs / root
+ normalised = inputs.div_(root)
this writes into the caller's own inputs, as `inputs /= root` does; `inputs / root` makes a new tensor

upstream overwritten => arguments unchanged
- of_inputs = (scaled - along * normalised) / root
- of_gain = reduce(upstream * normalised, "... d_model -> d_model", "sum")
+ of_inputs = (scaled - along * normalised) / root
+ of_gain = reduce(upstream.mul_(normalised), "... d_model -> d_model", "sum")
this writes into the caller's own upstream gradient, as `upstream *= ...` does; `upstream * ...` makes a new tensor
"""

EXERCISE = Exercise(
    title="RMSNorm and its gradient",
    difficulty=3,
    minutes=35,
    tasks=(
        Task(
            function="rms_norm",
            parameters=("inputs", "gain", "epsilon"),
            returns="the normalised vectors, in the shape of inputs, (..., d_model)",
            cases=draw_vectors,
            examples=({"inputs": torch.tensor([4.0, 2.0]), "gain": torch.tensor([3.0, 2.0]), "epsilon": 6.0},),
            edges=(
                {  # one position, two sequences
                    "inputs": torch.tensor([[[1.0, 2.0, 6.0]], [[0.0, -3.0, 0.5]]]),
                    "gain": torch.tensor([2.0, 1.0, 0.5]),
                    "epsilon": 0.5,
                },
                {  # one leading axis of size one
                    "inputs": torch.tensor([[1.0, 4.0]]),
                    "gain": torch.tensor([1.0, -2.0]),
                    "epsilon": 1.0,
                },
                {  # as many vectors as features: a shape does not show the wrong axis
                    "inputs": torch.tensor([[[1.0, 3.0], [-5.0, 0.5]], [[2.0, 2.0], [0.0, 4.0]]]),
                    "gain": torch.tensor([1.0, 3.0]),
                    "epsilon": 0.5,
                },
            ),
            reference=rms_norm,
            properties=(
                Property(
                    "every vector is normalised by itself",
                    1,
                    not_moved_by(last_vector_replaced, "the last vector replaced", all_but_the_last),
                ),
                Property("a mean square of 1, where the gain is 1", 1, on(plain, equals())),
                Property("epsilon stands under the root, also for a vector of zeros", 1, on(near_zero, equals())),
                Property("the gain multiplies each feature", 1, equals()),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=FORWARD_MISTAKES,
        ),
        Task(
            function="rms_norm_backward",
            parameters=("inputs", "gain", "epsilon", "upstream"),
            returns="the gradient of the inputs, (..., d_model), and that of the gain, (d_model,)",
            cases=draw_backward,
            examples=(
                {
                    "inputs": torch.tensor([4.0, 2.0]),
                    "gain": torch.tensor([3.0, 2.0]),
                    "epsilon": 6.0,
                    "upstream": torch.tensor([1.0, 4.0]),
                },
            ),
            edges=(
                {  # one position, two sequences
                    "inputs": torch.tensor([[[1.0, 2.0, 6.0]], [[0.0, -3.0, 0.5]]]),
                    "gain": torch.tensor([2.0, 1.0, 0.5]),
                    "epsilon": 0.5,
                    "upstream": torch.tensor([[[1.0, -2.0, 0.5]], [[3.0, 1.0, -1.0]]]),
                },
                {  # as many vectors as features, in both leading axes
                    "inputs": torch.tensor([[[1.0, 3.0], [-5.0, 0.5]], [[2.0, 2.0], [0.0, 4.0]]]),
                    "gain": torch.tensor([1.0, 3.0]),
                    "epsilon": 0.5,
                    "upstream": torch.tensor([[[1.0, -1.0], [2.0, 0.5]], [[-3.0, 1.0], [0.25, 2.0]]]),
                },
            ),
            reference=rms_norm_backward,
            properties=(
                Property("gradient of the gain: one vector", 1, on(one_vector, of_output(1, equals()))),
                Property("gradient of the gain: many vectors", 1, of_output(1, equals())),
                Property("gradient of the inputs: gain 1", 2, on(gain_of_one, of_output(0, equals()))),
                Property("gradient of the inputs: any gain", 1, of_output(0, equals())),
                Property(
                    "gradient of the inputs: orthogonal to them, with a tiny epsilon",
                    1,
                    of_output(0, no_slope_along_the_inputs),
                ),
                Property("arguments unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=BACKWARD_MISTAKES,
            outputs=("gradient of the inputs", "gradient of the gain"),
        ),
    ),
    hints=(
        "Over which axis is the mean square taken, and which shape must it keep to divide the inputs? For the "
        "gradients: on which paths does one input reach the loss?",
        "Backward: multiply upstream by the gain. That is the gradient at the normalised vectors, inputs over root. "
        "From it subtract the path through the root, which is a number for each vector times the normalised vector, "
        "and divide by the root.",
        "The number is the mean over the features of that gradient times the normalised vector, with "
        "`keepdim=True`: the 2 of the square and the 1/2 of the root cancel. The gradient of the gain is upstream "
        "times the normalised vectors, summed over all axes but the last, as `einops.reduce` does.",
    ),
    forbidden=NORMALISATION | AUTOGRAD,
)
