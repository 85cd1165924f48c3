"""01.2: one step of an LSTM."""

import torch

from course_lib.exercises.chapter_01._cells import TORCH_CELLS, draw_parameters, with_gates
from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def lstm_step(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """The step as torch takes it."""
    return torch.lstm_cell(inputs, (hidden, memory), weight_ih, weight_hh, bias_ih, bias_hh)


def draw_lstm(generator: torch.Generator) -> Case:
    """Draw one step of an LSTM."""
    batch, d_input, d_hidden = sizes(generator, 4, 4, 4, least=2)
    given = {
        "inputs": normal(generator, batch, d_input),
        "hidden": normal(generator, batch, d_hidden),
        "memory": normal(generator, batch, d_hidden),
    }
    return given | draw_parameters(generator, 4, d_input, d_hidden)


def step_of_five() -> Case:
    """Draw the same step each time, with a state of five entries."""
    generator = torch.Generator().manual_seed(0)
    names = {"inputs": 2, "hidden": 5, "memory": 5}
    return {name: normal(generator, 1, d) for name, d in names.items()} | draw_parameters(generator, 4, 2, 5)


def old_memory(memory, **rest):
    """The memory as it was."""
    return memory


MISTAKES = """
memory first => forget gate 1, input gate 0: the memory stays
- return torch.sigmoid(output_gate) * torch.tanh(new_memory), new_memory
+ return new_memory, torch.sigmoid(output_gate) * torch.tanh(new_memory)
this returns (memory, hidden); the hidden state comes first, as in torch: (hidden, memory)

forget before input => forget gate 1, input gate 0: the memory stays
- input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=1)
+ forget_gate, input_gate, candidate, output_gate = gates.chunk(4, dim=1)
this takes the first block for the forget gate and the second for the input gate; the order is input, forget, cell,
output

output before cell => the new memory
+ input_gate, forget_gate, output_gate, candidate = gates.chunk(4, dim=1)
this takes the third block for the output gate and the fourth for the candidate; the order is input, forget, cell,
output

forget, input, output, cell => forget gate 1, input gate 0: the memory stays
+ forget_gate, input_gate, output_gate, candidate = gates.chunk(4, dim=1)
this takes the blocks in the order forget, input, output, cell, as some textbooks write the formulas; the order here is
input, forget, cell, output

nothing forgotten => the new memory
- kept = torch.sigmoid(forget_gate) * memory
+ kept = memory
this adds to the memory and never takes from it: the forget gate is to multiply the old memory

everything forgotten => forget gate 1, input gate 0: the memory stays
- new_memory = kept + torch.sigmoid(input_gate) * torch.tanh(candidate)
+ new_memory = torch.sigmoid(input_gate) * torch.tanh(candidate)
this makes the memory new at every step: the old one, times the forget gate, is to be added

no input gate => forget gate 1, input gate 0: the memory stays
+ new_memory = kept + torch.tanh(candidate)
this adds the whole candidate to the memory: the input gate is to multiply it

one gate for both => the new memory
- kept = torch.sigmoid(forget_gate) * memory
+ kept = (1 - torch.sigmoid(input_gate)) * memory
this multiplies the old memory by 1 - the input gate, as a GRU would; here the forget gate multiplies it

sigmoid for tanh => the new memory
- new_memory = kept + torch.sigmoid(input_gate) * torch.tanh(candidate)
+ new_memory = kept + torch.sigmoid(input_gate) * torch.sigmoid(candidate)
this puts the candidate through a sigmoid, so that what is added is never negative; it is a tanh

sigmoid before tanh => the new memory
+ new_memory = kept + torch.sigmoid(input_gate) * torch.tanh(torch.sigmoid(candidate))
this sends all four blocks through a sigmoid, and then one of them through a tanh as well; the candidate has the tanh
alone

candidate without tanh => the new memory
+ new_memory = kept + torch.sigmoid(input_gate) * candidate
this adds the candidate as it is: its tanh is missing

gates without sigmoid => forget gate 1, input gate 0: the memory stays
- kept = torch.sigmoid(forget_gate) * memory
- new_memory = kept + torch.sigmoid(input_gate) * torch.tanh(candidate)
- return torch.sigmoid(output_gate) * torch.tanh(new_memory), new_memory
+ new_memory = forget_gate * memory + input_gate * torch.tanh(candidate)
+ return output_gate * torch.tanh(new_memory), new_memory
these gates are sums as they are; a sigmoid brings them between 0 and 1

memory shown without tanh => the new hidden state
- return torch.sigmoid(output_gate) * torch.tanh(new_memory), new_memory
+ return torch.sigmoid(output_gate) * new_memory, new_memory
the memory is right; the hidden state is its tanh, times the output gate, and the tanh is missing

old memory shown => the new hidden state
+ return torch.sigmoid(output_gate) * torch.tanh(memory), new_memory
the memory is right, but this hidden state is made of the old memory; make it of the new one

no output gate => the new hidden state
+ return torch.tanh(new_memory), new_memory
the memory is right; the hidden state is the whole of its tanh: the output gate is to multiply it

blocks interleaved => the new memory
- input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=1)
+ blocks = rearrange(gates, "batch (d_hidden four) -> four batch d_hidden", four=4)
+ input_gate, forget_gate, candidate, output_gate = blocks
this takes every fourth entry for a gate; a block is d_hidden entries side by side: `chunk(4, dim=1)`, or `(four
d_hidden)` where `(d_hidden four)` was written

cut along the batch => the new memory
+ input_gate, forget_gate, candidate, output_gate = gates.chunk(4)
`chunk(4)` cuts the first axis, which is the batch; the blocks lie along the last: `chunk(4, dim=-1)`

bias_hh left out => the new memory
- gates = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
+ gates = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T
this leaves bias_hh out

bias_ih left out => the new memory
+ gates = inputs @ weight_ih.T + hidden @ weight_hh.T + bias_hh
this leaves bias_ih out

no biases => the new memory
+ gates = inputs @ weight_ih.T + hidden @ weight_hh.T
this leaves both biases out

memory overwritten => inputs unchanged
- kept = torch.sigmoid(forget_gate) * memory
- new_memory = kept + torch.sigmoid(input_gate) * torch.tanh(candidate)
+ memory *= torch.sigmoid(forget_gate)
+ memory += torch.sigmoid(input_gate) * torch.tanh(candidate)
+ new_memory = memory
this changes the caller's memory in place (`memory *= ...`)

the rest of the forget gate => the new memory
- new_memory = kept + torch.sigmoid(input_gate) * torch.tanh(candidate)
+ new_memory = kept + (1 - torch.sigmoid(forget_gate)) * torch.tanh(candidate)
this multiplies the candidate by 1 - the forget gate, as a GRU would; here the input gate multiplies it
"""

EXERCISE = Exercise(
    title="An LSTM step",
    difficulty=2,
    minutes=20,
    forbidden=TORCH_CELLS,
    tasks=(
        Task(
            function="lstm_step",
            parameters=("inputs", "hidden", "memory", "weight_ih", "weight_hh", "bias_ih", "bias_hh"),
            returns="hidden state and memory after the step, both (batch, d_hidden)",
            outputs=("hidden", "memory"),
            cases=draw_lstm,
            examples=(
                {
                    "inputs": torch.tensor([[1.0]]),
                    "hidden": torch.tensor([[1.0]]),
                    "memory": torch.tensor([[1.0]]),
                    "weight_ih": torch.tensor([[0.0], [0.0], [0.5493], [0.0]]),
                    "weight_hh": torch.tensor([[0.0], [0.0], [0.0], [-1.0986]]),
                    "bias_ih": torch.tensor([0.0, 1.0986, 0.0, 0.0]),
                    "bias_hh": torch.zeros(4),
                },
                {  # four of batch and one of width: blocks that were cut from the batch fit, and can be named
                    "inputs": torch.tensor([[1.0], [-1.0], [2.0], [0.0]]),
                    "hidden": torch.tensor([[1.0], [0.5], [-0.5], [0.0]]),
                    "memory": torch.tensor([[1.0], [-2.0], [0.5], [0.25]]),
                    "weight_ih": torch.tensor([[0.5], [1.0], [-0.5], [2.0]]),
                    "weight_hh": torch.tensor([[1.0], [-1.0], [0.5], [-0.5]]),
                    "bias_ih": torch.tensor([0.5, 0.0, 0.25, -0.25]),
                    "bias_hh": torch.tensor([0.0, 0.5, -1.0, 0.5]),
                },
            ),
            edges=(
                {  # widths of one, a batch of two
                    "inputs": torch.tensor([[1.0], [-1.0]]),
                    "hidden": torch.tensor([[0.5], [2.0]]),
                    "memory": torch.tensor([[0.5], [-2.0]]),
                    "weight_ih": torch.tensor([[0.5], [-1.0], [2.0], [1.0]]),
                    "weight_hh": torch.tensor([[1.0], [2.0], [-1.0], [0.5]]),
                    "bias_ih": torch.tensor([0.5, -0.5, 0.25, 1.0]),
                    "bias_hh": torch.tensor([1.0, 0.25, -0.5, 0.5]),
                },
                step_of_five(),  # a state of five: blocks cut by the wrong number do not fit
            ),
            reference=lstm_step,
            properties=(
                Property(
                    "forget gate 1, input gate 0: the memory stays",
                    2,
                    on(lambda case: with_gates(case, 0, 1), of_output(1, equals(reference=old_memory))),
                ),
                Property("the new memory", 2, of_output(1, equals())),
                Property("the new hidden state", 2, of_output(0, equals())),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "All four blocks are treated alike until they are cut: one sum of two products and two biases. Which of the "
        "four goes through a tanh and not through a sigmoid?",
        "Cut the sum into four blocks along the last axis, in the order input, forget, cell, output. First the new "
        "memory: the forget gate times the old one plus the input gate times the candidate. Then the hidden state.",
        "`input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)`; the new memory is "
        "`forget_gate.sigmoid() * memory + ...`, and the hidden state is `output_gate.sigmoid() * torch.tanh(...)` of "
        "the new one. Return both.",
    ),
)
