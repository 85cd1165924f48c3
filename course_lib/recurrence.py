"""Recurrence: a state that is carried from step to step and rewritten a little at each."""

import torch
from torch import nn
from torch.nn import functional

from course_lib.shapes import check_shape


class RecurrentCell(nn.Module):
    """The parameters that all cells share: weights and biases for the inputs and for the hidden state.

    `blocks` linear maps of each stand on top of each other, in the order and under the names of torch's own cells.

    >>> RecurrentCell(d_input=3, d_hidden=5, blocks=4).weight_ih.shape
    torch.Size([20, 3])
    """

    def __init__(self, d_input: int, d_hidden: int, blocks: int):
        super().__init__()
        self.d_input, self.d_hidden = d_input, d_hidden
        bound = d_hidden**-0.5
        self.weight_ih = nn.Parameter(torch.empty(blocks * d_hidden, d_input).uniform_(-bound, bound))
        self.weight_hh = nn.Parameter(torch.empty(blocks * d_hidden, d_hidden).uniform_(-bound, bound))
        self.bias_ih = nn.Parameter(torch.empty(blocks * d_hidden).uniform_(-bound, bound))
        self.bias_hh = nn.Parameter(torch.empty(blocks * d_hidden).uniform_(-bound, bound))

    def from_inputs(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return what the inputs (batch, d_input) add to every block: (batch, blocks * d_hidden)."""
        return functional.linear(inputs, self.weight_ih, self.bias_ih)

    def from_hidden(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return what the hidden state (batch, d_hidden) adds to every block: (batch, blocks * d_hidden)."""
        return functional.linear(hidden, self.weight_hh, self.bias_hh)

    def check(self, inputs: torch.Tensor, **state: torch.Tensor) -> None:
        """Raise ValueError unless the inputs and every part of the state have the widths of this cell."""
        batch = check_shape(inputs, "batch d_input", "inputs", d_input=self.d_input)["batch"]
        for name, part in state.items():
            check_shape(part, "batch d_hidden", name, batch=batch, d_hidden=self.d_hidden)


class RNNCell(RecurrentCell):
    """One step of the plain recurrent network: the new state is a tanh of the input and of the old state.

    After Elman (1990); computes what `torch.nn.RNNCell` computes.

    >>> RNNCell(d_input=3, d_hidden=5)(torch.zeros(2, 3), torch.zeros(2, 5)).shape
    torch.Size([2, 5])
    """

    def __init__(self, d_input: int, d_hidden: int):
        super().__init__(d_input, d_hidden, blocks=1)

    def forward(self, inputs: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """Return the next hidden state (batch, d_hidden) after reading inputs (batch, d_input)."""
        self.check(inputs, hidden=hidden)
        return (self.from_inputs(inputs) + self.from_hidden(hidden)).tanh()  # (batch, d_hidden)


class GRUCell(RecurrentCell):
    """One step of a gated recurrent unit, GRU: the update gate decides how much of the old state stays.

    The new state lies between the old one and a candidate, entry by entry; the reset gate decides how much of the old
    state enters the candidate. After Cho et al. (2014); computes what `torch.nn.GRUCell` computes, in which the reset
    gate acts after the product with the old state.

    >>> GRUCell(d_input=3, d_hidden=5)(torch.zeros(2, 3), torch.zeros(2, 5)).shape
    torch.Size([2, 5])
    """

    def __init__(self, d_input: int, d_hidden: int):
        super().__init__(d_input, d_hidden, blocks=3)

    def forward(self, inputs: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """Return the next hidden state (batch, d_hidden) after reading inputs (batch, d_input)."""
        self.check(inputs, hidden=hidden)
        input_reset, input_update, input_candidate = self.from_inputs(inputs).chunk(3, dim=-1)  # each (batch, d_hidden)
        hidden_reset, hidden_update, hidden_candidate = self.from_hidden(hidden).chunk(3, dim=-1)  # of the same shape
        reset = (input_reset + hidden_reset).sigmoid()  # (batch, d_hidden)
        update = (input_update + hidden_update).sigmoid()  # (batch, d_hidden)
        candidate = (input_candidate + reset * hidden_candidate).tanh()  # (batch, d_hidden)
        return update * hidden + (1 - update) * candidate


class LSTMCell(RecurrentCell):
    """One step of a long short-term memory, LSTM: an input, a forget and an output gate protect a memory.

    The memory changes by addition, so along the memory itself a gradient shrinks only by the forget gate, which can
    stay near 1. After Hochreiter and Schmidhuber (1997), with the forget gate of Gers, Schmidhuber and
    Cummins (2000); the parameters have the order and the names of `torch.nn.LSTMCell`, and the two compute the same.

    >>> cell = LSTMCell(d_input=3, d_hidden=5)
    >>> hidden, memory = cell(torch.zeros(2, 3), (torch.zeros(2, 5), torch.zeros(2, 5)))
    >>> hidden.shape, memory.shape
    (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    def __init__(self, d_input: int, d_hidden: int):
        super().__init__(d_input, d_hidden, blocks=4)

    def forward(
        self, inputs: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the next hidden state and memory, both (batch, d_hidden), after reading inputs (batch, d_input)."""
        hidden, memory = state
        self.check(inputs, hidden=hidden, memory=memory)
        blocks = self.from_inputs(inputs) + self.from_hidden(hidden)  # (batch, 4 * d_hidden)
        input_gate, forget_gate, candidate, output_gate = blocks.chunk(4, dim=-1)  # each (batch, d_hidden)
        memory = forget_gate.sigmoid() * memory + input_gate.sigmoid() * candidate.tanh()  # (batch, d_hidden)
        return output_gate.sigmoid() * memory.tanh(), memory


def unroll(cell: RNNCell | GRUCell | LSTMCell, inputs: torch.Tensor) -> torch.Tensor:
    """Carry a cell over inputs (batch, time, d_input) from a state of zeros; return every hidden state.

    The states are (batch, time, d_hidden).

    >>> unroll(GRUCell(d_input=3, d_hidden=5), torch.zeros(2, 7, 3)).shape
    torch.Size([2, 7, 5])
    """
    check_shape(inputs, "batch time d_input", "inputs", d_input=cell.d_input)
    hidden = inputs.new_zeros(len(inputs), cell.d_hidden)  # (batch, d_hidden)
    state = (hidden, hidden) if isinstance(cell, LSTMCell) else hidden
    states = []
    for step in inputs.unbind(dim=1):  # each (batch, d_input)
        state = cell(step, state)
        states.append(state[0] if isinstance(cell, LSTMCell) else state)
    return torch.stack(states, dim=1)  # (batch, time, d_hidden)
