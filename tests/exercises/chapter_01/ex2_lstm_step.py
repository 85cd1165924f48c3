"""Right answers to 01.2 that are written in other ways."""

import torch
from torch.nn import functional


def lstm_step_block_by_block(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """One block after the other."""
    d = hidden.shape[1]
    blocks = []
    for block in range(4):
        rows = slice(block * d, (block + 1) * d)
        own = functional.linear(inputs, weight_ih[rows], bias_ih[rows])
        blocks.append(own + functional.linear(hidden, weight_hh[rows], bias_hh[rows]))
    i, f, g, o = blocks
    memory = torch.addcmul(f.sigmoid() * memory, i.sigmoid(), g.tanh())
    return o.sigmoid() * memory.tanh(), memory


def lstm_step_example_by_example(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """One example at a time, the sigmoid by hand."""
    d = hidden.shape[1]
    states, memories = [], []
    for x, h, m in zip(inputs, hidden, memory, strict=True):
        a = weight_ih @ x + weight_hh @ h + bias_ih + bias_hh
        i, f, o = (1 / (1 + torch.exp(-a[block * d : (block + 1) * d])) for block in (0, 1, 3))
        memories.append(f * m + i * torch.tanh(a[2 * d : 3 * d]))
        states.append(o * torch.tanh(memories[-1]))
    return torch.stack(states), torch.stack(memories)


def lstm_step_in_double_side_by_side(inputs, hidden, memory, weight_ih, weight_hh, bias_ih, bias_hh):
    """In float64, input and state side by side."""
    read = torch.cat([inputs, hidden], 1).double()
    weight = torch.cat([weight_ih, weight_hh], 1).double()
    a = (read @ weight.T + bias_ih.double() + bias_hh.double()).unflatten(1, (4, -1))
    i, f, o = a[:, 0].sigmoid(), a[:, 1].sigmoid(), a[:, 3].sigmoid()
    new = memory.double() * f + a[:, 2].tanh() * i
    return (new.tanh() * o).float(), new.float()
