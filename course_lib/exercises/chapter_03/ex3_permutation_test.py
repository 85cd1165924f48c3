"""03.3: a permutation test; a layer is handed over, and the answer says whether order counts in it."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import Check, both
from course_lib.grading.exercise import Case, Exercise, Given, Property, Question, Task
from course_lib.grading.problem import Problem

SELF_ATTENTION = Given("self-attention", "lambda inputs: (inputs @ inputs.mT).softmax(-1) @ inputs")
RUNNING_MEAN = Given(
    "the mean of all vectors so far",
    "lambda inputs: inputs.cumsum(-2) / torch.arange(1, inputs.shape[-2] + 1)[:, None]",
)
# Far from zero, so that the order of summation shows where little is left: by about a millionth.
MEAN_TAKEN_OFF = Given(
    "ten added and the mean over time subtracted", "lambda inputs: inputs + 10 - (inputs + 10).mean(1, keepdim=True)"
)
FAINT_POSITIONS = Given(
    "a hundredth of the position added", "lambda inputs: inputs + 0.01 * torch.arange(inputs.shape[1])[:, None]"
)
FAINT_PLACE = Given(
    "a fiftieth added to the first feature of the first vector",
    "lambda inputs: inputs + 0.02 * (torch.arange(inputs[0].numel()) == 0).view(inputs.shape[1:])",
)
EACH_BY_ITSELF = Given("a map of each vector by itself", "lambda inputs: inputs.cumsum(-1).tanh()")
MEAN_EVERYWHERE = Given("the mean at every position", "lambda inputs: inputs.mean(1, keepdim=True).expand_as(inputs)")
SORTED = Given("every feature sorted along time", "lambda inputs: inputs.sort(1).values")
FROM_THE_MIDDLE = Given(
    "the distance from the middle added",
    "lambda inputs: inputs + torch.linspace(-1, 1, inputs.shape[1]).abs()[:, None]",
)
ROUND_A_CIRCLE = Given("the vector before added, round a circle", "lambda inputs: inputs + inputs.roll(1, dims=1)")
BOTH_NEIGHBOURS = Given(
    "both neighbours added up, round a circle", "lambda inputs: inputs.roll(1, dims=1) + inputs.roll(-1, dims=1)"
)
FIRST_EVERYWHERE = Given("the first vector at every position", "lambda inputs: inputs[:, :1].expand_as(inputs)")
LONGEST = 9  # so many positions has the longest sequence
# By `roll`, so that each of them is a layer for shorter sequences too: a test may try it on inputs of its own.
ONE_SUBTRACTED = tuple(
    Given(f"vector {number + 1} subtracted from all", f"lambda inputs: inputs - inputs.roll({-number}, dims=1)[:, :1]")
    for number in range(LONGEST)
)

EQUIVARIANT = (SELF_ATTENTION, MEAN_TAKEN_OFF, EACH_BY_ITSELF, MEAN_EVERYWHERE)


def is_equivariant(layer, inputs):
    """A swap and a roll: every order is some sequence of these. Up to 1e-4 is rounding, by the statement."""
    first = torch.arange(inputs.shape[1])
    swap, roll = torch.cat([first[:2].flip(0), first[2:]]), first.roll(1)
    gaps = [(layer(inputs[:, order]) - layer(inputs)[:, order]).abs().max() for order in (swap, roll)]
    return torch.tensor(all(gap <= 1e-4 for gap in gaps))


def draw_layer_and_batch(generator: torch.Generator) -> Case:
    """Draw a batch of sequences, long enough that few orders leave a ring as it is; the checks exchange the layer."""
    batch, time, d = (least + size for least, size in zip((1, 4, 2), sizes(generator, 2, 3, 2), strict=True))
    return {"layer": SELF_ATTENTION, "inputs": normal(generator, batch, time, d)}


def tells_apart(*layers: Given, if_rejected: str = "", if_accepted: str = "") -> Check:
    """The test is right about the layer of the case, which is self-attention where it is drawn, and about `layers`.

    Each check has something to accept and something to reject: a test that always says the same passes none.
    `if_rejected` and `if_accepted` say what may be behind a right layer rejected and a wrong one accepted: a test that
    draws its orders gives answers that no known mistake gives.
    """

    truths = {layer: torch.tensor(layer in EQUIVARIANT) for layer in layers}

    def check(case: Case):
        replies = yield [case, *(Question(case | {"layer": layer}, expected=truths[layer]) for layer in layers)]
        for reply in replies:
            right = bool(reply.expected)
            if bool(reply.value) != right:
                note = if_rejected if right else if_accepted
                return Problem("value", reply.arguments, got=bool(reply.value), expected=right, note=note)
        return None

    return check


def finds_any_position(case: Case):
    """Vector by vector, a layer is rejected that subtracts it from all.

    Each layer is asked about three times: a random order passes with it where that position stays, one in `time`, and
    a test that draws two orders, where ten are needed, does not pass them all.
    """
    questions = []
    for layer in ONE_SUBTRACTED[: case["inputs"].shape[1]]:
        for _ in range(3):
            again = case | {"layer": layer, "inputs": case["inputs"].clone()}  # else it is one question
            questions.append(Question(again, expected=torch.tensor(False)))
    for reply in (yield questions):
        if bool(reply.value):
            return Problem("value", reply.arguments, got=True, expected=False, note=MORE_ORDERS)
    return None


ROUNDED = "a sum in another order is rounded differently, so where `torch.allclose` compares, it needs `atol=1e-4`"
MORE_ORDERS = "some orders do not show it, so try more than one, and ten where they are drawn at random"


MISTAKES = """
exact equality => allows for rounding, and sees a small influence of the position
- if gap.abs().max() > 1e-4:
+ if gap.abs().max() > 0:
this asks for equality to the last digit; a sum in another order is rounded differently, and the right layer is
rejected: allow a difference of 1e-4

allclose as it is => allows for rounding, and sees a small influence of the position
- gap = layer(inputs[:, order]) - layer(inputs)[:, order]
- if gap.abs().max() > 1e-4:
+ if not torch.allclose(layer(inputs[:, order]), layer(inputs)[:, order]):
`torch.allclose` by itself allows hardly any difference near zero (atol=1e-8), less than float32 rounds; give it
`atol=1e-4`

everything is rounding => allows for rounding, and sees a small influence of the position
- if gap.abs().max() > 1e-4:
+ if gap.abs().max() > 0.1:
this allows so large a difference that a layer which adds a hundredth of the position passes; 1e-4 is enough for
rounding

differences that cancel => accepts what is equivariant, rejects what is only invariant
+ if gap.mean().abs() > 1e-4:
this takes the mean of the differences, in which those above zero and those below cancel; take the largest
absolute one

invariance => accepts self-attention, rejects a running mean
- gap = layer(inputs[:, order]) - layer(inputs)[:, order]
+ gap = layer(inputs[:, order]) - layer(inputs)
this compares with the output as it was, and so tests that order changes *nothing*; equivariant means that the output is
permuted in the same way: compare with `layer(inputs)[:, order]`

output alone permuted => accepts self-attention, rejects a running mean
+ gap = layer(inputs) - layer(inputs)[:, order]
this permutes the output and calls the layer on the inputs as they were; permute both

order and the order that undoes it => accepts self-attention, rejects a running mean
+ gap = layer(inputs[:, order])[:, order] - layer(inputs)
this permutes one of the outputs the wrong way round: `layer(inputs[:, order])` is to equal `layer(inputs)[:, order]`;
`order.argsort()` undoes an order, and belongs on the other side, `layer(inputs[:, order])[:, order.argsort()]` against
`layer(inputs)`

another axis permuted => accepts self-attention, rejects a running mean
+ gap = layer(inputs.flip(0)) - layer(inputs).flip(0)
this exchanges the sequences of the batch, and so accepts every layer here; nor do the features of a vector tell
anything about positions, which are axis 1: `inputs[:, order]`

backwards only => rejects a layer that passes with some orders
- for order in (swap, roll):
+ for order in [torch.arange(time).flip(0)]:
this tries the reversed order alone, and a layer that adds each position's distance from the middle passes

rolled only => rejects a layer that passes with some orders
+ for order in [roll]:
this tries rolls alone, and a layer that adds the vector before, with the last before the first, passes

backwards and rolled => rejects a layer that passes with some orders
+ rolls = [torch.arange(time).roll(steps) for steps in range(1, time)]
+ for order in [torch.arange(time).flip(0), *rolls]:
this tries rolls and the reversed order, and a sum of both neighbours, with the ends joined, passes them all: a circle
is the same after a rotation and after a reflection

first two swapped => finds a single special position, wherever it is
+ for order in [swap]:
this exchanges the first two positions alone, and a layer with a special last position passes

last two swapped => finds a single special position, wherever it is
+ for order in [[*range(time - 2), time - 1, time - 2]]:
only the exchange of the last two positions decides here, and a layer with a special first position passes: no other
order is tried, or each overwrites the answer of the one before; return False at the first that differs

the difference itself => accepts self-attention, rejects a running mean
- if gap.abs().max() > 1e-4:
- return False
+ return gap.abs().max()
this returns the largest difference, a number; return True or False

exact equality, many orders => allows for rounding, and sees a small influence of the position
- for order in (swap, roll):
- gap = layer(inputs[:, order]) - layer(inputs)[:, order]
- if gap.abs().max() > 1e-4:
+ for number in range(12):
+     order = torch.randperm(time, generator=torch.Generator().manual_seed(number))
+     gap = layer(inputs[:, order]) - layer(inputs)[:, order]
+     if gap.abs().max() > 0:
this asks for equality to the last digit; a sum in another order is rounded differently, and the right layer is
rejected: allow a difference of 1e-4

allclose as it is, many orders => allows for rounding, and sees a small influence of the position
+ for number in range(12):
+     order = torch.randperm(time, generator=torch.Generator().manual_seed(number))
+     if not torch.allclose(layer(inputs[:, order]), layer(inputs)[:, order]):
`torch.allclose` by itself allows hardly any difference near zero (atol=1e-8), less than float32 rounds; give it
`atol=1e-4`

one order that agrees is enough => rejects a layer that passes with some orders
- for order in (swap, roll):
- gap = layer(inputs[:, order]) - layer(inputs)[:, order]
- if gap.abs().max() > 1e-4:
- return False
- return True
+ for order in (swap, roll):
+     gap = layer(inputs[:, order]) - layer(inputs)[:, order]
+     if gap.abs().max() <= 1e-4:
+         return True
+ return False
this returns True as soon as one order agrees; all orders must agree, so return False as soon as one does not

the mean difference => allows for rounding, and sees a small influence of the position
- if gap.abs().max() > 1e-4:
+ if gap.abs().mean() > 1e-4:
this takes the mean of the differences, in which a few entries that differ disappear among many that agree; take the
largest absolute one

a large mean difference => allows for rounding, and sees a small influence of the position
+ if gap.abs().mean() > 1e-2:
"""

EXERCISE = Exercise(
    title="Write a permutation test",
    difficulty=4,
    minutes=40,
    tasks=(
        Task(
            function="is_equivariant",
            parameters=("layer", "inputs"),
            returns="True where permuting the inputs along time permutes the output in the same way, else False",
            cases=draw_layer_and_batch,
            examples=(
                {"layer": RUNNING_MEAN, "inputs": torch.tensor([[[2.0], [4.0], [6.0], [8.0], [10.0]]])},
                {
                    "layer": SELF_ATTENTION,
                    "inputs": torch.tensor(
                        [
                            [[0.3, -1.1], [0.7, 0.2], [-0.4, 0.9], [1.3, -0.6], [-0.8, 0.1]],
                            [[-1.2, 0.4], [0.6, 1.7], [0.1, -0.3], [-0.9, -1.4], [0.8, 0.5]],
                        ]
                    ),
                },
            ),
            edges=(
                {  # one sequence of one feature: the differences of a layer in ONE_SUBTRACTED have all one sign
                    "layer": SELF_ATTENTION,
                    "inputs": torch.tensor([[[0.4], [-0.7], [1.9], [1.1], [-1.6], [0.2]]]),
                },
                {  # longer than any that is drawn: orders that move the first seven positions alone
                    "layer": SELF_ATTENTION,
                    "inputs": torch.tensor([[[0.9], [-0.3], [1.4], [0.1], [-1.2], [0.6], [-0.8], [1.7], [-0.5]]]),
                },
                {  # so many features that two entries are lost in a mean over all
                    "layer": SELF_ATTENTION,
                    "inputs": torch.linspace(-9, 9, 5 * 128).sin().view(1, 5, 128),
                },
            ),
            reference=is_equivariant,
            properties=(
                Property("accepts self-attention, rejects a running mean", 2, tells_apart(RUNNING_MEAN)),
                Property(
                    "allows for rounding, and sees a small influence of the position",
                    2,
                    tells_apart(MEAN_TAKEN_OFF, FAINT_POSITIONS, FAINT_PLACE, if_rejected=ROUNDED),
                ),
                Property(
                    "accepts what is equivariant, rejects what is only invariant",
                    1,
                    tells_apart(EACH_BY_ITSELF, MEAN_EVERYWHERE, SORTED),
                ),
                Property(
                    "rejects a layer that passes with some orders",
                    2,
                    tells_apart(FROM_THE_MIDDLE, ROUND_A_CIRCLE, BOTH_NEIGHBOURS, if_accepted=MORE_ORDERS),
                ),
                Property(
                    "finds a single special position, wherever it is",
                    1,
                    both(tells_apart(FIRST_EVERYWHERE, if_accepted=MORE_ORDERS), finds_any_position),
                ),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Two things are to be equal: the output for the permuted inputs, and the permuted output for the inputs as "
        "they were. And how equal can two sums be whose terms were added in another order?",
        "For an order, a permutation of `range(time)`: compare `layer` of the permuted inputs with the permuted output "
        "of `layer`, by the largest absolute difference. Try more than one order, and ask of each which layers "
        "pass with it: an order that leaves a position where it was says nothing about that position.",
        "Take the orders `[1, 0, 2, 3, ...]` and `[1, 2, ..., 0]`; for each, `torch.allclose(..., atol=1e-4)` of "
        "`layer(inputs[:, order])` and `layer(inputs)[:, order]`.",
    ),
)
