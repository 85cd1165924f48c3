"""Exercises of chapter 08, the block."""

from collections.abc import Callable

import torch
from torch.nn.functional import linear

from course_lib.grading.declarations.chapter_08_gradcheck import GRADCHECK
from course_lib.grading.declarations.chapter_08_layer_norm import LAYER_NORM
from course_lib.grading.declarations.chapter_08_orders import BOTH_ORDERS
from course_lib.grading.declarations.chapter_08_residual import RESIDUAL
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, gradients_equal, inputs_unchanged, not_moved_by, on

# ---------------------------------------------------------------- 08.2 feed-forward


def draw_feed_forward(generator: torch.Generator) -> Case:
    """Draw parameters and a batch; in half of the cases there are as many positions as features."""
    d_model, d_hidden, batch, time = sizes(generator, 5, 7, 3, 5, least=2)
    if torch.rand((), generator=generator) < 0.5:
        time = d_model
    return {
        "d_model": d_model,
        "d_hidden": d_hidden,
        "state": {
            "widen.weight": normal(generator, d_hidden, d_model),
            "widen.bias": normal(generator, d_hidden),
            "narrow.weight": normal(generator, d_model, d_hidden),
            "narrow.bias": normal(generator, d_model),
        },
        "inputs": normal(generator, batch, time, d_model),
    }


def other_last_position(case: Case) -> Case:
    """Replace the last vector of every sequence."""
    inputs = case["inputs"].clone()
    inputs[:, -1] = 3 - inputs[:, -1]
    return case | {"inputs": inputs}


def far_below_zero(case: Case) -> Case:
    """Lower the bias of the wide layer so far that nothing in it is above zero."""
    state = case["state"] | {"widen.bias": case["state"]["widen.bias"] - 1000}
    return case | {"state": state}


def built(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return what `make(widen, narrow, inputs)` makes of the two layers, as functions, and the inputs."""

    def function(d_model, d_hidden, state, inputs):
        widen, narrow = (
            lambda each, name=name: linear(each, state[f"{name}.weight"], state[f"{name}.bias"])
            for name in ("widen", "narrow")
        )
        return make(widen, narrow, inputs)

    return function


feed_forward = built(lambda widen, narrow, inputs: narrow(widen(inputs).relu()))

ALONE = "every position is worked on alone"
NOTHING_LEFT = "where all that is wide is below zero, the bias of `narrow` is left"
VALUES = "widened, cut off below zero, narrowed"
GRADIENTS = "gradients reach the inputs and both layers"

FEED_FORWARD = Exercise(
    id="08.2",
    title="Feed-forward",
    difficulty=1,
    minutes=15,
    tasks=(
        Task(
            function="FeedForward",
            parameters=("inputs",),
            returns="one output for each position, in the shape of inputs, (batch, time, d_model)",
            cases=draw_feed_forward,
            examples=(
                {
                    "d_model": 2,
                    "d_hidden": 3,
                    "state": {
                        "widen.weight": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]),
                        "widen.bias": torch.tensor([0.0, 0.0, 1.0]),
                        "narrow.weight": torch.tensor([[1.0, 1.0, 0.0], [0.0, 5.0, 0.5]]),
                        "narrow.bias": torch.tensor([1.0, -3.0]),
                    },
                    "inputs": torch.tensor([[[2.0, -1.0], [-3.0, 1.0]]]),
                },
            ),
            reference=feed_forward,
            properties=(
                Property(
                    ALONE,
                    1,
                    not_moved_by(
                        other_last_position,
                        "the last vector of every sequence replaced",
                        feed_forward,
                        lambda output: output[:, :-1],
                    ),
                ),
                Property(NOTHING_LEFT, 1, on(far_below_zero, equals(feed_forward))),
                Property(VALUES, 2, both(equals(feed_forward), inputs_unchanged)),
                Property(GRADIENTS, 2, gradients_equal(feed_forward)),
            ),
            misconceptions=(
                Misconception(
                    "no activation",
                    "nothing is cut off between the two layers: one linear map after another is one linear map, "
                    "and the width between them is wasted",
                    built(lambda widen, narrow, inputs: narrow(widen(inputs))),
                    breaks=NOTHING_LEFT,
                ),
                Misconception(
                    "activation at the end too",
                    "this cuts off at the end as well: the block adds this output to its inputs, and what is never "
                    "below zero could only ever raise them; ReLU belongs between the layers alone",
                    built(lambda widen, narrow, inputs: narrow(widen(inputs).relu()).relu()),
                    breaks=VALUES,
                ),
                Misconception(
                    "activation at the end only",
                    "this cuts off after `narrow`, and nothing between the layers: ReLU belongs to the wide vector",
                    built(lambda widen, narrow, inputs: narrow(widen(inputs)).relu()),
                    breaks=NOTHING_LEFT,
                ),
                Misconception(
                    "activation on the inputs",
                    "this cuts off the inputs, before they are widened: ReLU belongs to the wide vector",
                    built(lambda widen, narrow, inputs: narrow(widen(inputs.relu()))),
                    breaks=NOTHING_LEFT,
                ),
                Misconception(
                    "the wrong side cut off",
                    "this keeps what is below zero and cuts off what is above; ReLU is the greater of 0 and the "
                    "number, `clamp(min=0)`",
                    built(lambda widen, narrow, inputs: narrow(widen(inputs).clamp(max=0))),
                    breaks=NOTHING_LEFT,
                ),
                Misconception(
                    "absolute values",
                    "this takes absolute values: what is below zero is to become 0, not to change its sign",
                    built(lambda widen, narrow, inputs: narrow(widen(inputs).abs())),
                    breaks=NOTHING_LEFT,
                ),
                Misconception(
                    "leaky",
                    "this lets a hundredth of what is below zero through (leaky ReLU); here it becomes 0",
                    built(lambda widen, narrow, inputs: narrow(torch.nn.functional.leaky_relu(widen(inputs)))),
                    breaks=NOTHING_LEFT,
                ),
                *(
                    Misconception(
                        f"{said} for ReLU",
                        f"this uses {said}; the block of this chapter has ReLU, `max(0, ...)`, between the layers",
                        built(lambda widen, narrow, inputs, activation=activation: narrow(activation(widen(inputs)))),
                        breaks=VALUES,
                    )
                    for said, activation in (
                        ("GELU", torch.nn.functional.gelu),
                        ("a sigmoid", torch.sigmoid),
                        ("tanh", torch.tanh),
                        ("SiLU", torch.nn.functional.silu),
                        ("a softmax", lambda wide: wide.softmax(-1)),
                    )
                ),
                Misconception(
                    "residual added",
                    "this adds the inputs: that is the block's to do, around this layer; here only what the two "
                    "layers make of them is asked for",
                    built(lambda widen, narrow, inputs: inputs + narrow(widen(inputs).relu())),
                    breaks=VALUES,
                ),
                Misconception(
                    "widened along time",
                    "this exchanges the axes, so that the layers act along time and mix positions; nn.Linear acts "
                    "along the last axis, and the features are there already",
                    built(lambda widen, narrow, inputs: narrow(widen(inputs.mT).relu()).mT),
                    breaks=ALONE,
                ),
                Misconception(
                    "every sequence averaged",
                    "this averages over time: every position is to keep an output of its own, made of its own vector",
                    built(
                        lambda widen, narrow, inputs: narrow(widen(inputs).relu().mean(1, keepdim=True)).expand_as(
                            inputs
                        )
                    ),
                    breaks=ALONE,
                ),
                Misconception(
                    "gradient cut",
                    "the numbers are right and the gradient is not: somewhere a tensor was cut out of the graph "
                    "(`.detach()`, `.data`, `torch.no_grad()`), and what lies before the cut cannot learn",
                    built(lambda widen, narrow, inputs: narrow(widen(inputs).relu().detach())),
                    breaks=GRADIENTS,
                ),
            ),
            constructor=("d_model", "d_hidden"),
        ),
    ),
    hints=(
        "What shape has the wide vector of one position, and which axis did the layer act on? Is there anything to do "
        "about batch and time?",
        "In `__init__`, make the two linear layers, each with its bias. In `forward`, apply the first, set what is "
        "below zero to 0, apply the second.",
        "The layers are `nn.Linear(d_model, d_hidden)` and the other way round. `torch.relu(...)` of what "
        "`self.widen(inputs)` gives is what `self.narrow` reads.",
    ),
)

EXERCISES = (LAYER_NORM, FEED_FORWARD, BOTH_ORDERS, RESIDUAL, GRADCHECK)
