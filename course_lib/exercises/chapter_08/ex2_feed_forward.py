"""08.2: the feed-forward layer, which works on every position alone."""

import torch
from torch.nn.functional import linear

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, not_moved_by, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def feed_forward(d_model, d_hidden, state, inputs):
    """One layer, ReLU, the other layer."""
    hidden = linear(inputs, state["expand.weight"], state["expand.bias"]).relu()
    return linear(hidden, state["contract.weight"], state["contract.bias"])


def draw_feed_forward(generator: torch.Generator) -> Case:
    """Draw parameters and a batch; in half of the cases there are as many positions as features."""
    d_model, d_hidden, batch, time = sizes(generator, 5, 7, 3, 5, least=2)
    if torch.rand((), generator=generator) < 0.5:
        time = d_model
    return {
        "d_model": d_model,
        "d_hidden": d_hidden,
        "state": {
            "expand.weight": normal(generator, d_hidden, d_model),
            "expand.bias": normal(generator, d_hidden),
            "contract.weight": normal(generator, d_model, d_hidden),
            "contract.bias": normal(generator, d_model),
        },
        "inputs": normal(generator, batch, time, d_model),
    }


def other_last_position(case: Case) -> Case:
    """Replace the last vector of every sequence."""
    inputs = case["inputs"].clone()
    inputs[:, -1] = 3 - inputs[:, -1]
    return case | {"inputs": inputs}


def far_below_zero(case: Case) -> Case:
    """Lower the bias of the hidden layer so far that nothing in it is above zero."""
    return case | {"state": case["state"] | {"expand.bias": case["state"]["expand.bias"] - 1000}}


MISTAKES = """
no activation => where all hidden numbers are below zero, the output is the bias of `contract`
- hidden = torch.relu(self.expand(inputs))
+ hidden = self.expand(inputs)
there is no ReLU between the two layers: one linear map after another is one linear map, and the width between them is
wasted

activation at the end too => expanded, ReLU, contracted
- return self.contract(hidden)
+ return torch.relu(self.contract(hidden))
there is a ReLU at the end as well: the block adds this output to its inputs, and what is never below zero could only
ever raise them; ReLU belongs between the layers alone

activation at the end only => where all hidden numbers are below zero, the output is the bias of `contract`
- hidden = torch.relu(self.expand(inputs))
- return self.contract(hidden)
+ return torch.relu(self.contract(self.expand(inputs)))
ReLU stands after `contract` here, and not between the layers: it belongs to the hidden vector

activation on the inputs => where all hidden numbers are below zero, the output is the bias of `contract`
- hidden = torch.relu(self.expand(inputs))
+ hidden = self.expand(torch.relu(inputs))
this applies ReLU to the inputs, before they are expanded: ReLU belongs to the hidden vector

the wrong side cut off => where all hidden numbers are below zero, the output is the bias of `contract`
+ hidden = self.expand(inputs).clamp(max=0)
this keeps what is below zero and sets what is above to 0; ReLU is the greater of 0 and the number, `clamp(min=0)`

absolute values => where all hidden numbers are below zero, the output is the bias of `contract`
+ hidden = self.expand(inputs).abs()
this takes absolute values: what is below zero is to become 0, not to change its sign

leaky => where all hidden numbers are below zero, the output is the bias of `contract`
+ hidden = nn.functional.leaky_relu(self.expand(inputs))
this lets a hundredth of what is below zero through (leaky ReLU); here it becomes 0

GELU for ReLU => expanded, ReLU, contracted
+ hidden = nn.functional.gelu(self.expand(inputs))
this uses GELU; the block of this chapter has ReLU, `max(0, ...)`, between the layers

a sigmoid for ReLU => expanded, ReLU, contracted
+ hidden = torch.sigmoid(self.expand(inputs))
this uses a sigmoid; the block of this chapter has ReLU, `max(0, ...)`, between the layers

tanh for ReLU => expanded, ReLU, contracted
+ hidden = torch.tanh(self.expand(inputs))
this uses tanh; the block of this chapter has ReLU, `max(0, ...)`, between the layers

SiLU for ReLU => expanded, ReLU, contracted
+ hidden = nn.functional.silu(self.expand(inputs))
this uses SiLU; the block of this chapter has ReLU, `max(0, ...)`, between the layers

a softmax for ReLU => expanded, ReLU, contracted
+ hidden = torch.softmax(self.expand(inputs), dim=-1)
this uses a softmax; the block of this chapter has ReLU, `max(0, ...)`, between the layers

residual added => expanded, ReLU, contracted
- return self.contract(hidden)
+ return inputs + self.contract(hidden)
this adds the inputs: that is the block's to do, around this layer; here only what the two layers make of them is asked
for

widened along time => every position is transformed by itself
- hidden = torch.relu(self.expand(inputs))
- return self.contract(hidden)
+ hidden = torch.relu(self.expand(inputs.transpose(1, 2)))
+ return self.contract(hidden).transpose(1, 2)
this exchanges the axes, so that the layers act along time and mix positions; nn.Linear acts along the last axis, and
the features are there already

every sequence averaged => every position is transformed by itself
- return self.contract(hidden)
+ return self.contract(hidden.mean(dim=1, keepdim=True)).expand_as(inputs)
this averages over time: every position is to keep an output of its own, made of its own vector

gradient cut => gradients reach the inputs and both layers
+ return self.contract(hidden.detach())
the numbers are right and the gradient is not: somewhere a tensor was cut out of the graph (`.detach()`, `.data`,
`torch.no_grad()`), and what lies before the cut cannot learn

no bias at the end => where all hidden numbers are below zero, the output is the bias of `contract`
- return self.contract(hidden)
+ return hidden @ self.contract.weight.T
the bias of `contract` was not added; each of the two layers is a linear map *and* a bias

no bias inside => expanded, ReLU, contracted
- hidden = torch.relu(self.expand(inputs))
+ hidden = torch.relu(inputs @ self.expand.weight.T)
the bias of `expand` was not added; each of the two layers is a linear map *and* a bias

cut off above as well => expanded, ReLU, contracted
- hidden = torch.relu(self.expand(inputs))
+ hidden = nn.functional.relu6(self.expand(inputs))
this also cuts off what is above 6 (ReLU6); ReLU leaves every number above zero as it is
"""

EXERCISE = Exercise(
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
                        "expand.weight": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]),
                        "expand.bias": torch.tensor([0.0, 0.0, 1.0]),
                        "contract.weight": torch.tensor([[1.0, 1.0, 0.0], [0.0, 5.0, 0.5]]),
                        "contract.bias": torch.tensor([1.0, -3.0]),
                    },
                    "inputs": torch.tensor([[[2.0, -1.0], [-3.0, 1.0]]]),
                },
            ),
            edges=(
                {  # one position, two sequences
                    "d_model": 2,
                    "d_hidden": 3,
                    "state": {
                        "expand.weight": torch.tensor([[1.0, -1.0], [0.5, 2.0], [-1.0, 1.5]]),
                        "expand.bias": torch.tensor([0.25, -1.25, 0.5]),
                        "contract.weight": torch.tensor([[1.0, 2.0, -1.0], [0.5, -3.0, 1.0]]),
                        "contract.bias": torch.tensor([0.5, -2.0]),
                    },
                    "inputs": torch.tensor([[[3.0, 1.0]], [[-2.0, 1.0]]]),
                },
                {  # everything of size one, and a hidden number above 6, where ReLU6 ends
                    "d_model": 1,
                    "d_hidden": 1,
                    "state": {
                        "expand.weight": torch.tensor([[2.0]]),
                        "expand.bias": torch.tensor([-1.0]),
                        "contract.weight": torch.tensor([[-3.0]]),
                        "contract.bias": torch.tensor([0.5]),
                    },
                    "inputs": torch.tensor([[[5.0]]]),
                },
                {  # a hidden layer that is narrower than the vectors
                    "d_model": 3,
                    "d_hidden": 1,
                    "state": {
                        "expand.weight": torch.tensor([[1.0, -2.0, 0.5]]),
                        "expand.bias": torch.tensor([0.5]),
                        "contract.weight": torch.tensor([[1.0], [-1.0], [2.0]]),
                        "contract.bias": torch.tensor([0.0, 3.0, -1.0]),
                    },
                    "inputs": torch.tensor([[[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]]),
                },
            ),
            reference=feed_forward,
            properties=(
                Property(
                    "every position is transformed by itself",
                    1,
                    not_moved_by(
                        other_last_position, "the last vector of every sequence replaced", lambda output: output[:, :-1]
                    ),
                ),
                Property(
                    "where all hidden numbers are below zero, the output is the bias of `contract`",
                    1,
                    on(far_below_zero, equals()),
                ),
                Property("expanded, ReLU, contracted", 2, both(equals(), inputs_unchanged)),
                Property("gradients reach the inputs and both layers", 2, gradients_equal()),
            ),
            mistakes=MISTAKES,
            constructor=("d_model", "d_hidden"),
        ),
    ),
    hints=(
        "What shape has the hidden vector of one position, and which axis did the layer act on? Is there anything to "
        "do about batch and time?",
        "In `__init__`, make the two linear layers, each with its bias. In `forward`, apply the first, set what is "
        "below zero to 0, apply the second.",
        "The layers are `nn.Linear(d_model, d_hidden)` and the other way round. `torch.relu(...)` of what "
        "`self.expand(inputs)` gives is what `self.contract` reads.",
    ),
)
