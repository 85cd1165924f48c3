"""14.3: direct logit attribution: what each part of the residual stream adds to the logits by itself."""

import torch

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.grading.checks import ROUNDING, both, difference, equals, inputs_unchanged, of_output
from course_lib.grading.exercise import Case, Check, Exercise, Property, Question, Task


def root_of(stream, epsilon):
    """What the layer norm divides a stream by, (batch, time, 1)."""
    return (stream.var(-1, keepdim=True, correction=0) + epsilon).sqrt()


def direct_contributions(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """Each part less its mean, under the scale of the whole stream; and what both biases add, (vocab,)."""
    normed = (parts - parts.mean(-1, keepdim=True)) / root_of(parts.sum(0), epsilon) * gain
    return normed @ logit_weight.T, logit_weight @ bias + logit_bias


def logits_of(parts, gain, bias, epsilon, logit_weight, logit_bias):
    """The logits of the whole stream: layer norm, then the output layer."""
    stream = parts.sum(0)
    normed = (stream - stream.mean(-1, keepdim=True)) / root_of(stream, epsilon) * gain + bias
    return normed @ logit_weight.T + logit_bias


def draw_stream(generator: torch.Generator) -> Case:
    """Draw the parts of a stream, a layer norm and an output layer."""
    number, batch, time = sizes(generator, 4, 3, 3)
    d_model, vocab_size = sizes(generator, 5, 6, least=2)
    return {
        "parts": 2 * normal(generator, number, batch, time, d_model) + 0.5,
        "gain": normal(generator, d_model) + 1,
        "bias": normal(generator, d_model),
        "epsilon": round(uniform(generator, 0.2, 1.0), 3),
        "logit_weight": normal(generator, vocab_size, d_model),
        "logit_bias": normal(generator, vocab_size),
    }


def sum_to_the_logits(case: Case):
    """All contributions and the constant are the logits of the whole stream."""
    reply = yield case
    contributions, constant = reply.value
    total, where = contributions.sum(0) + constant, "the sums of all contributions and the constant"
    return difference(case, total, logits_of(**case), 5 * ROUNDING, where=where)


def level_part_adds_nothing(level: float) -> Check:
    """A part of which all features are equal, put before the others, has contributions of 0."""

    def check(case: Case):
        parts = torch.cat([torch.full_like(case["parts"][:1], level), case["parts"]])
        reply = yield Question(case | {"parts": parts}, output=0)
        said = reply.value[0][0]  # (batch, time, vocab)
        after = f"a part put before the others that is {level:g} in every feature"
        return difference(case, said, torch.zeros_like(said), after=after, where="the contribution of that part")

    return check


MISTAKES = """
every part by its own scale => contributions and constant sum to the logits
- root = (stream.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt()
+ root = (parts.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt()
each part is divided by its own root, so that a small part counts as much as a large one and the sum is not that of the
logits; one root, that of the whole stream, divides them all

every part by its own scale, kept from 0 => contributions and constant sum to the logits
+ root = (parts.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt().clamp(min=1e-6)

every part as a stream => contributions and constant sum to the logits
- contributions = (gain * centred / root) @ logit_weight.T
+ normed = torch.nn.functional.layer_norm(parts, gain.shape, gain, bias, epsilon)
+ contributions = normed @ logit_weight.T + logit_bias
each part goes through the layer norm by itself, as if it were the whole stream; the scale is that of the sum, and the
biases belong to none of them

the stream so far => contributions and constant sum to the logits
+ lens = torch.nn.functional.layer_norm(parts.cumsum(dim=0), gain.shape, gain, bias, epsilon)
+ contributions = lens @ logit_weight.T + logit_bias
these are the logits of the sum of the parts so far, which is the logit lens; asked is what each part adds to the logits
at the end, under the scale that the whole stream has there

what the lens gains => each part has its own contribution, under the scale of the whole stream
+ so_far = torch.cat([torch.zeros_like(parts[:1]), parts.cumsum(dim=0)])
+ lens = torch.nn.functional.layer_norm(so_far, gain.shape, gain, bias, epsilon) @ logit_weight.T
+ contributions = lens[1:] - lens[:-1]
this is by how much the logit lens moves with each part; that sums to the logits as well, but the scale is another one
after each part: hold it fixed at that of the whole stream

the part left out => contributions and constant sum to the logits
+ with_and_without = torch.stack([stream, *(stream - part for part in parts)])
+ logits = torch.nn.functional.layer_norm(with_and_without, gain.shape, gain, bias, epsilon) @ logit_weight.T
+ contributions = logits[0] - logits[1:]
these are the logits of the stream less those of the stream without the part: an ablation, in which the scale changes
too, and which does not sum to the logits; hold the scale fixed

no layer norm => contributions and constant sum to the logits
+ contributions = parts @ logit_weight.T
the parts go through the output layer as they are; the layer norm stands before it: take the mean off, divide by the
root of the whole stream, multiply by the gain

mean left on => contributions and constant sum to the logits
- centred = parts - parts.mean(dim=-1, keepdim=True)
+ centred = parts
the mean is not taken off the parts; the layer norm takes it off the stream, and the mean of a sum is the sum of the
means: take off every part its own

the stream's mean from every part => contributions and constant sum to the logits
+ centred = parts - stream.mean(dim=-1, keepdim=True)
the mean of the whole stream is taken off every part, as often as there are parts; take off every part its own mean

the mean in equal pieces => a part that is equal in all features, or 0, contributes nothing
+ centred = parts - stream.mean(dim=-1, keepdim=True) / len(parts)
the mean of the stream is taken off the parts in equal pieces; the sum is right, but a part that lifts all features
alike then seems to contribute: take off every part its own mean

no epsilon => contributions and constant sum to the logits
- root = (stream.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt()
+ root = stream.var(dim=-1, correction=0, keepdim=True).sqrt()
epsilon is missing under the root

an epsilon of its own => contributions and constant sum to the logits
+ root = (stream.var(dim=-1, correction=0, keepdim=True) + 1e-5).sqrt()
this puts 1e-5 under the root, the epsilon that `nn.LayerNorm` has by default; use `epsilon`, which is given

epsilon behind the root => contributions and constant sum to the logits
+ root = stream.var(dim=-1, correction=0, keepdim=True).sqrt() + epsilon
epsilon is added to the root; it stands under it, beside the variance

no root => contributions and constant sum to the logits
+ root = stream.var(dim=-1, correction=0, keepdim=True) + epsilon
this divides by the variance; divide by its root

d_model less one => contributions and constant sum to the logits
+ root = (stream.var(dim=-1, keepdim=True) + epsilon).sqrt()
the variance is divided by d_model - 1, which is what torch's `var` and `std` do unless told `correction=0`; a layer
norm divides by d_model

std as torch takes it => contributions and constant sum to the logits
+ root = stream.std(dim=-1, keepdim=True) + epsilon
`std` divides by d_model - 1 unless told `correction=0`, and epsilon stands under the root, beside the variance, not
behind it

root of the summed variances => contributions and constant sum to the logits
+ root = (parts.var(dim=-1, correction=0, keepdim=True).sum(dim=0) + epsilon).sqrt()
the variance is taken of every part and added up; parts lean towards each other or away, so take it of their sum

no gain => contributions and constant sum to the logits
- contributions = (gain * centred / root) @ logit_weight.T
+ contributions = (centred / root) @ logit_weight.T
the gain is missing: it multiplies each feature behind the division, in every part

no bias of the norm => the constant is what both biases add
- constant = logit_weight @ bias + logit_bias
+ constant = logit_bias
the bias of the layer norm is missing in the constant; it goes through `logit_weight`, too

no bias of the logits => the constant is what both biases add
+ constant = logit_weight @ bias
`logit_bias` is missing in the constant

gain on the bias => the constant is what both biases add
+ constant = logit_weight @ (gain * bias) + logit_bias
the gain multiplies the bias of the layer norm as well; it is added behind the gain

the constant in equal pieces => each part has its own contribution, under the scale of the whole stream
- return contributions, constant
+ return contributions + constant / len(parts), torch.zeros_like(constant)
the biases are handed out to the parts in equal pieces; they belong to none, and stand by themselves in the constant

the constant in every part => contributions and constant sum to the logits
+ return contributions + constant, constant
the biases are added to every part, and counted as often as there are parts; they stand by themselves in the constant

norm's bias in parts => contributions and constant sum to the logits
+ return contributions + logit_weight @ bias, logit_bias
the bias of the layer norm is added to the parts, whole or in equal pieces; it belongs to no part: let it go through
`logit_weight` once, in the constant

norm's bias twice => contributions and constant sum to the logits
+ return contributions + logit_weight @ bias, constant

norm's bias in equal pieces => each part has its own contribution, under the scale of the whole stream
+ return contributions + logit_weight @ bias / len(parts), logit_bias

overwritten => each part has its own contribution, under the scale of the whole stream
- centred = parts - parts.mean(dim=-1, keepdim=True)
+ centred = parts.sub_(parts.mean(dim=-1, keepdim=True))
`parts -= ...` takes the mean off in the caller's own tensor; `parts - ...` makes a new one

one root for all positions => contributions and constant sum to the logits
- root = (stream.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt()
+ root = ((stream - stream.mean(dim=-1, keepdim=True)).square().mean() + epsilon).sqrt()
this takes one root for all positions of the batch; a layer norm takes the variance at each position by itself, along
the features: `mean(dim=-1, keepdim=True)`
"""

EXERCISE = Exercise(
    title="Direct logit attribution",
    difficulty=3,
    minutes=35,
    tasks=(
        Task(
            function="direct_contributions",
            parameters=("parts", "gain", "bias", "epsilon", "logit_weight", "logit_bias"),
            returns="what each part adds to the logits, shape (parts, batch, time, vocab), and what no part adds, "
            "shape (vocab,)",
            outputs=("contributions", "constant"),
            cases=draw_stream,
            examples=(
                {
                    "parts": torch.tensor([[6.0, 0.0], [-1.0, 1.0]])[:, None, None],
                    "gain": torch.tensor([2.0, 1.0]),
                    "bias": torch.tensor([0.0, 1.0]),
                    "epsilon": 0.0,
                    "logit_weight": torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),
                    "logit_bias": torch.tensor([0.5, 0.0, 0.0]),
                },
            ),
            edges=(
                {  # one part, one position, two examples, one word
                    "parts": torch.tensor([[[[6.0, 0.0]], [[-1.0, 2.0]]]]),
                    "gain": torch.tensor([2.0, 1.0]),
                    "bias": torch.tensor([0.5, 1.0]),
                    "epsilon": 0.25,
                    "logit_weight": torch.tensor([[1.0, -2.0]]),
                    "logit_bias": torch.tensor([0.5]),
                },
                {  # parts that cancel: the root is that of epsilon
                    "parts": torch.tensor([[[[3.0, 1.0, -1.0]]], [[[-3.0, -1.0, 1.0]]]]),
                    "gain": torch.tensor([2.0, 1.0, -1.0]),
                    "bias": torch.tensor([0.0, 1.0, 0.0]),
                    "epsilon": 0.25,
                    "logit_weight": torch.tensor([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]]),
                    "logit_bias": torch.tensor([0.5, -1.0]),
                },
                {  # a single feature, of which the layer norm leaves 0
                    "parts": torch.tensor([[[[3.0]]], [[[2.0]]]]),
                    "gain": torch.tensor([2.0]),
                    "bias": torch.tensor([1.0]),
                    "epsilon": 0.5,
                    "logit_weight": torch.tensor([[1.0], [-2.0]]),
                    "logit_bias": torch.tensor([0.5, 1.0]),
                },
            ),
            reference=direct_contributions,
            properties=(
                Property("contributions and constant sum to the logits", 2, sum_to_the_logits),
                Property(
                    "each part has its own contribution, under the scale of the whole stream",
                    3,
                    of_output(0, both(equals(), inputs_unchanged)),
                ),
                Property("the constant is what both biases add", 1, of_output(1, equals())),
                Property(
                    "a part that is equal in all features, or 0, contributes nothing",
                    1,
                    both(level_part_adds_nothing(3.0), level_part_adds_nothing(0.0)),
                ),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "The layer norm takes a mean off, divides, multiplies by the gain and adds a bias. Which of these four may be "
        "done to every part by itself, and which must know the whole stream?",
        "Sum the parts, and compute from the sum the one number that divides a position. Then take off every part "
        "its own mean, divide by that number, multiply by the gain and go through the transposed output weight. What "
        "both biases add is left over: it is the same for all positions.",
        "The root is that of `stream.var(dim=-1, correction=0, keepdim=True) + epsilon`, with the sum of the parts for "
        "`stream`; its shape (batch, time, 1) fits all parts. The constant is `logit_weight @ bias` and one more term.",
    ),
)
