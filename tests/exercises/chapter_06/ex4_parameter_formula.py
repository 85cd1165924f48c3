"""Right answers to 06.4 that are written in other ways."""

import torch
from torch import nn


def count_parameters_of_the_layers(d_model, heads, wide):
    """The layers themselves, without memory, and their parameters counted."""
    d_head = d_model if wide else d_model // heads
    sizes = [(d_model, heads * d_head)] * 3 + [(heads * d_head, d_model)]
    layers = [nn.Linear(into, out, device="meta") for into, out in sizes]
    counts = [sum(each.numel() for each in layer.parameters()) for layer in layers]
    return torch.tensor([*counts, sum(each.numel() for each in nn.ModuleList(layers).parameters())])


def count_parameters_by_factors(d_model, heads, wide):
    if not wide:
        return d_model * (d_model + 1) * torch.tensor([1, 1, 1, 1, 4])
    inside, outside = heads * d_model * (d_model + 1), d_model * (heads * d_model + 1)
    return torch.tensor([inside, inside, inside, outside, 3 * inside + outside])


def count_parameters_in_place(d_model, heads, wide):
    width = d_model * (heads if wide else 1)
    counts = torch.zeros(5, dtype=torch.long)
    counts[:3] += (d_model + 1) * width
    counts[3] += (width + 1) * d_model
    counts[4] = 4 * d_model * width + 3 * width + d_model
    return counts
