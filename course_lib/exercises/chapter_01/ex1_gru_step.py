"""01.1: one step of a GRU."""

import torch

from course_lib.exercises.chapter_01._cells import TORCH_CELLS, draw_parameters, with_gates
from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, not_moved_by, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def gru_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """The step as torch takes it."""
    return torch.gru_cell(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh)


def draw_gru(generator: torch.Generator) -> Case:
    """Draw one step of a GRU."""
    batch, d_input, d_hidden = sizes(generator, 4, 4, 4, least=2)
    given = {"inputs": normal(generator, batch, d_input), "hidden": normal(generator, batch, d_hidden)}
    return given | draw_parameters(generator, 3, d_input, d_hidden)


def old_state(hidden, **rest):
    """The state as it was."""
    return hidden


def other_state(case: Case) -> Case:
    """Replace the state."""
    return case | {"hidden": 1 - 2 * case["hidden"]}


MISTAKES = """
bias outside the reset gate => the formulas of the step
- candidate = torch.tanh(input_candidate + reset * state_candidate)
+ bias = bias_hh.chunk(3)[2]
+ candidate = torch.tanh(input_candidate + reset * (state_candidate - bias) + bias)
this adds the bias of the candidate after the reset gate; the gate multiplies all that comes from the state, U h + b_U,
the last block of bias_hh included

reset before the product => the formulas of the step
+ weight, bias = weight_hh.chunk(3)[2], bias_hh.chunk(3)[2]
+ candidate = torch.tanh(input_candidate + (reset * hidden) @ weight.T + bias)
this resets the state and then multiplies it by the weight, U (r * h); here the product comes first and is reset entry
by entry, r * (U h + b_U)

update gate turned round => an update gate of 1 keeps the state
- return (1 - update) * candidate + update * hidden
+ return update * candidate + (1 - update) * hidden
this has the update gate weigh the candidate and 1 - update the old state; it is the old state that an update gate of 1
keeps

update before reset => an update gate of 1 keeps the state
- input_reset, input_update, input_candidate = from_input.chunk(3, dim=1)
- state_reset, state_update, state_candidate = from_state.chunk(3, dim=1)
+ input_update, input_reset, input_candidate = from_input.chunk(3, dim=1)
+ state_update, state_reset, state_candidate = from_state.chunk(3, dim=1)
this takes the first block for the update gate and the second for the reset gate; the order is reset, update, candidate

candidate first => the formulas of the step
+ input_candidate, input_reset, input_update = from_input.chunk(3, dim=1)
+ state_candidate, state_reset, state_update = from_state.chunk(3, dim=1)
this takes the first block for the candidate; the order is reset, update, candidate

no reset gate => both gates at 0: the old state has no influence
- candidate = torch.tanh(input_candidate + reset * state_candidate)
+ candidate = torch.tanh(input_candidate + state_candidate)
this adds what comes from the state to the candidate as it is: the reset gate does not multiply it

everything reset => the formulas of the step
+ candidate = torch.tanh(reset * (input_candidate + state_candidate))
this multiplies the input's part of the candidate by the reset gate too; only the state's part is reset

sigmoid for tanh => the formulas of the step
+ candidate = torch.sigmoid(input_candidate + reset * state_candidate)
this puts the candidate through a sigmoid; a candidate may be negative: it is a tanh

no tanh => the formulas of the step
+ candidate = input_candidate + reset * state_candidate
this leaves the tanh of the candidate out

gates without sigmoid => an update gate of 1 keeps the state
- reset = torch.sigmoid(input_reset + state_reset)
- update = torch.sigmoid(input_update + state_update)
+ reset = input_reset + state_reset
+ update = input_update + state_update
these gates are sums as they are; a sigmoid brings them between 0 and 1

the candidate alone => an update gate of 1 keeps the state
- return (1 - update) * candidate + update * hidden
+ return candidate
this returns the candidate: it is still to be mixed with the old state by the update gate

blocks interleaved => the formulas of the step
- input_reset, input_update, input_candidate = from_input.chunk(3, dim=1)
- state_reset, state_update, state_candidate = from_state.chunk(3, dim=1)
+ input_reset, input_update, input_candidate = rearrange(from_input, "b (d_hidden three) -> three b d_hidden", three=3)
+ state_reset, state_update, state_candidate = rearrange(from_state, "b (d_hidden three) -> three b d_hidden", three=3)
this takes every third entry for a gate; a block is d_hidden entries side by side: `chunk(3, dim=1)`, or `(three
d_hidden)` where `(d_hidden three)` was written

cut along the batch => the formulas of the step
+ input_reset, input_update, input_candidate = from_input.chunk(3)
+ state_reset, state_update, state_candidate = from_state.chunk(3)
`chunk(3)` cuts the first axis, which is the batch; the blocks lie along the last: `chunk(3, dim=-1)`

bias_hh left out => the formulas of the step
- from_state = hidden @ weight_hh.T + bias_hh
+ from_state = hidden @ weight_hh.T
this leaves bias_hh out

bias_ih left out => the formulas of the step
- from_input = inputs @ weight_ih.T + bias_ih
+ from_input = inputs @ weight_ih.T
this leaves bias_ih out

no biases => the formulas of the step
- from_input = inputs @ weight_ih.T + bias_ih
- from_state = hidden @ weight_hh.T + bias_hh
+ from_input = inputs @ weight_ih.T
+ from_state = hidden @ weight_hh.T
this leaves both biases out

state overwritten => the formulas of the step
- return (1 - update) * candidate + update * hidden
+ return hidden.copy_((1 - update) * candidate + update * hidden)
this writes the next state over the caller's `hidden`

reset before the product, the bias too => the formulas of the step
- candidate = torch.tanh(input_candidate + reset * state_candidate)
+ weight, bias = weight_hh.chunk(3)[2], bias_hh.chunk(3)[2]
+ candidate = torch.tanh(input_candidate + (reset * hidden) @ weight.T + reset * bias)
this resets the state before the product, U (r * h), and the bias by itself; the product comes first, and the gate
multiplies what it gives, entry by entry: r * (U h + b_U)
"""

EXERCISE = Exercise(
    title="A GRU step",
    difficulty=2,
    minutes=25,
    forbidden=TORCH_CELLS,
    tasks=(
        Task(
            function="gru_step",
            parameters=("inputs", "hidden", "weight_ih", "weight_hh", "bias_ih", "bias_hh"),
            returns="the next state, shape (batch, d_hidden)",
            cases=draw_gru,
            examples=(
                {
                    "inputs": torch.tensor([[1.0]]),
                    "hidden": torch.tensor([[1.0]]),
                    "weight_ih": torch.tensor([[0.0], [1.0986], [0.0]]),
                    "weight_hh": torch.tensor([[0.0], [0.0], [0.5493]]),
                    "bias_ih": torch.zeros(3),
                    "bias_hh": torch.tensor([0.0, 0.0, 0.5493]),
                },
                {  # three of batch and one of width: blocks that were cut from the batch fit, and can be named
                    "inputs": torch.tensor([[1.0], [-1.0], [2.0]]),
                    "hidden": torch.tensor([[1.0], [0.5], [-0.5]]),
                    "weight_ih": torch.tensor([[0.5], [1.0], [-0.5]]),
                    "weight_hh": torch.tensor([[1.0], [-1.0], [0.5]]),
                    "bias_ih": torch.tensor([0.5, 0.0, 0.25]),
                    "bias_hh": torch.tensor([0.0, 0.5, -1.0]),
                },
            ),
            edges=(
                {  # widths of one, a batch of two
                    "inputs": torch.tensor([[1.0], [-1.0]]),
                    "hidden": torch.tensor([[0.5], [2.0]]),
                    "weight_ih": torch.tensor([[0.5], [-1.0], [2.0]]),
                    "weight_hh": torch.tensor([[2.0], [-1.0], [0.5]]),
                    "bias_ih": torch.tensor([0.5, -0.5, 0.25]),
                    "bias_hh": torch.tensor([0.25, -0.5, 0.5]),
                },
                {  # an input of one and a state of two, a batch of one
                    "inputs": torch.tensor([[2.0]]),
                    "hidden": torch.tensor([[0.5, -1.0]]),
                    "weight_ih": torch.tensor([[0.5], [-1.0], [2.0], [1.0], [-0.5], [0.25]]),
                    "weight_hh": torch.tensor(
                        [[1.0, 0.5], [-1.0, 2.0], [0.5, 0.0], [0.0, -2.0], [1.5, 1.0], [-0.5, 0.5]]
                    ),
                    "bias_ih": torch.tensor([0.5, -0.5, 0.25, 0.0, 1.0, -1.0]),
                    "bias_hh": torch.tensor([0.25, 0.0, -0.25, 0.5, -0.5, 1.0]),
                },
            ),
            reference=gru_step,
            properties=(
                Property(
                    "an update gate of 1 keeps the state",
                    2,
                    on(lambda case: with_gates(case, None, 1), equals(reference=old_state)),
                ),
                Property(
                    "both gates at 0: the old state has no influence",
                    1,
                    on(
                        lambda case: with_gates(case, 0, 0),
                        not_moved_by(other_state, "the state replaced, both gates held at 0", lambda answer: answer),
                    ),
                ),
                Property("the formulas of the step", 3, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Two products are enough, one with weight_ih and one with weight_hh. Why can they be added before they are cut "
        "for two of the three blocks, and not for the third?",
        "Cut what comes from the input and what comes from the state into three blocks along the last axis. The first "
        "two pairs are added and go through a sigmoid; in the third pair the state's part, bias and all, is multiplied "
        "by the reset gate before it is added, and then comes the tanh. Mix the result with the old state.",
        "`input_reset, input_update, input_candidate = from_input.chunk(3, dim=-1)`, the same for `from_state`; then "
        "`torch.tanh(input_candidate + reset * ...)`, and a mixture with the weights `1 - update` and `update`.",
    ),
)
