"""Recurrence: a state that is carried from step to step and rewritten a little at each."""

import torch
from torch import nn

from course_lib.shapes import check_shape


class LSTMCell(nn.Module):
    """One step of a long short-term memory: gates decide what the cell forgets, writes and shows.

    The memory changes by addition, so a gradient that passes back through a step shrinks only by the gate that forgets,
    which can stay near 1. After Hochreiter and Schmidhuber (1997), with the forget gate of Gers, Schmidhuber and
    Cummins (2000); the parameters have the order and the names of `torch.nn.LSTMCell`, and the two compute the same.

    >>> cell = LSTMCell(d_input=3, d_hidden=5)
    >>> hidden, memory = cell(torch.zeros(2, 3), (torch.zeros(2, 5), torch.zeros(2, 5)))
    >>> hidden.shape, memory.shape
    (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    def __init__(self, d_input: int, d_hidden: int):
        super().__init__()
        bound = d_hidden**-0.5
        self.weight_ih = nn.Parameter(torch.empty(4 * d_hidden, d_input).uniform_(-bound, bound))
        self.weight_hh = nn.Parameter(torch.empty(4 * d_hidden, d_hidden).uniform_(-bound, bound))
        self.bias_ih = nn.Parameter(torch.empty(4 * d_hidden).uniform_(-bound, bound))
        self.bias_hh = nn.Parameter(torch.empty(4 * d_hidden).uniform_(-bound, bound))

    def forward(
        self, inputs: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the next hidden state and memory, both (batch, d_hidden), after reading inputs (batch, d_input)."""
        hidden, memory = state
        d_hidden, d_input = self.weight_hh.shape[1], self.weight_ih.shape[1]
        sizes = check_shape(inputs, "batch d_input", "inputs", d_input=d_input)
        check_shape(hidden, "batch d_hidden", "hidden", batch=sizes["batch"], d_hidden=d_hidden)
        check_shape(memory, "batch d_hidden", "memory", batch=sizes["batch"], d_hidden=d_hidden)

        gates = inputs @ self.weight_ih.T + self.bias_ih + hidden @ self.weight_hh.T + self.bias_hh
        write, keep, candidate, show = gates.chunk(4, dim=-1)  # each (batch, d_hidden)
        memory = keep.sigmoid() * memory + write.sigmoid() * candidate.tanh()  # (batch, d_hidden)
        return show.sigmoid() * memory.tanh(), memory
