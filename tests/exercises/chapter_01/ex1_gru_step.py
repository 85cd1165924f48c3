"""Right answers to 01.1 that are written in other ways."""

import torch
from torch.nn import functional


def gru_step_block_by_block(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """One block after the other."""
    d = hidden.shape[1]

    def given(block):
        rows = slice(block * d, (block + 1) * d)
        return (
            functional.linear(inputs, weight_ih[rows], bias_ih[rows]),
            functional.linear(hidden, weight_hh[rows], bias_hh[rows]),
        )

    r, u = torch.sigmoid(sum(given(0))), torch.sigmoid(sum(given(1)))
    from_input, from_state = given(2)
    candidate = torch.tanh(from_input + r * from_state)
    return candidate + u * (hidden - candidate)


def gru_step_entry_by_entry(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """One example and one entry at a time."""
    d = hidden.shape[1]
    after = torch.empty_like(hidden)
    for b in range(len(inputs)):
        a, e = weight_ih @ inputs[b] + bias_ih, weight_hh @ hidden[b] + bias_hh
        for j in range(d):
            r = 1 / (1 + torch.exp(-a[j] - e[j]))
            u = 1 / (1 + torch.exp(-a[d + j] - e[d + j]))
            after[b, j] = (1 - u) * torch.tanh(a[2 * d + j] + r * e[2 * d + j]) + u * hidden[b, j]
    return after


def gru_step_in_double(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """In float64, the blocks on an axis of their own."""
    d = hidden.shape[1]
    inputs, hidden = inputs.double(), hidden.double()
    a = torch.einsum("bi,khi->kbh", inputs, weight_ih.double().view(3, d, -1)) + bias_ih.double().view(3, 1, d)
    e = torch.einsum("bj,khj->kbh", hidden, weight_hh.double().view(3, d, d)) + bias_hh.double().view(3, 1, d)
    r, u = (a[:2] + e[:2]).sigmoid()
    return torch.lerp((a[2] + r * e[2]).tanh(), hidden, u).float()


def gru_step_side_by_side(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    """One product for the gates, of input and state side by side."""
    d = hidden.shape[1]
    gates = torch.cat([inputs, hidden], 1) @ torch.cat([weight_ih, weight_hh], 1)[: 2 * d].T
    r, u = torch.sigmoid(gates + (bias_ih + bias_hh)[: 2 * d]).split(d, 1)
    past = torch.addmm(bias_hh[2 * d :], hidden, weight_hh[2 * d :].mT)
    candidate = torch.addmm(bias_ih[2 * d :], inputs, weight_ih[2 * d :].mT).add(r * past).tanh()
    return u * hidden + candidate - u * candidate
