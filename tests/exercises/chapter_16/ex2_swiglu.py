"""Right answers to 16.2 that are written in other ways."""

import math

import torch
from einops import einsum
from torch.nn import functional


def swiglu_by_torch(inputs, gate, up, down):
    return functional.silu(inputs @ gate) * (inputs @ up) @ down


def swiglu_vector_by_vector(inputs, gate, up, down):
    rows = []
    for vector in inputs.reshape(-1, inputs.shape[-1]):
        hidden = [
            (z := vector @ one) / (1 + torch.exp(-z)) * (vector @ other)
            for one, other in zip(gate.T, up.T, strict=True)
        ]
        rows.append(torch.stack(hidden) @ down)
    return torch.stack(rows).reshape(inputs.shape)


def swiglu_by_one_product(inputs, gate, up, down):
    """Gate and up side by side in one matrix, as kernels have them."""
    gates, raised = (inputs @ torch.cat([gate, up], dim=1)).chunk(2, dim=-1)
    return torch.mul(gates.sigmoid() * gates, raised).matmul(down)


def swiglu_by_einsum_in_double(inputs, gate, up, down):
    x, g, u, d = (each.double() for each in (inputs, gate, up, down))
    gates = einsum(x, g, "... model, model hidden -> ... hidden")
    raised = einsum(x, u, "... model, model hidden -> ... hidden")
    return einsum(functional.silu(gates), raised, d, "... hidden, ... hidden, hidden model -> ... model").float()


def equal_width_by_ceil(d_model, d_hidden, multiple):
    width = math.ceil(2 * d_hidden / (3 * multiple)) * multiple
    return torch.tensor((width, d_model * (3 * width - 2 * d_hidden)))


def equal_width_by_counting(d_model, d_hidden, multiple):
    relu = d_model * d_hidden + d_hidden * d_model
    width = next(width for width in range(multiple, 10**6, multiple) if 3 * width * d_model >= relu)
    return torch.tensor([width, 3 * width * d_model - relu])


def equal_width_by_two_roundings(d_model, d_hidden, multiple):
    """Up to a whole number, then up to a multiple."""
    width = (2 * d_hidden + 2) // 3
    width = (width + multiple - 1) // multiple * multiple
    return torch.tensor([width, d_model * 3 * width]) - torch.tensor([0, 2 * d_model * d_hidden])
