"""Right answers to 07.1 that are written in other ways."""

import math

import torch
from einops import einsum, rearrange


def sinusoidal_positions_entry_by_entry(time, d_model):
    table = torch.zeros(time, d_model)
    for t in range(time):
        for pair in range(d_model // 2):
            angle = t / 10000 ** (2 * pair / d_model)
            table[t, 2 * pair] = math.sin(angle)
            table[t, 2 * pair + 1] = math.cos(angle)
    return table


def sinusoidal_positions_by_the_logarithm_of_the_base(time, d_model):
    frequency = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    angle = torch.arange(time).unsqueeze(1) * frequency
    table = torch.empty(time, d_model)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table


def sinusoidal_positions_with_cosines_as_sines(time, d_model):
    column = torch.arange(d_model)
    frequency = 10000.0 ** (-2 * (column // 2) / d_model)
    return torch.sin(torch.outer(torch.arange(time).float(), frequency) + column % 2 * (math.pi / 2))


def sinusoidal_positions_by_complex_numbers(time, d_model):
    speed = torch.pow(torch.tensor(1e-4, dtype=torch.float64), torch.arange(d_model // 2) * 2 / d_model)
    angle = einsum(torch.arange(time).double(), speed, "time, pair -> time pair")
    circle = torch.view_as_real(torch.polar(torch.ones_like(angle), angle)).flip(-1)
    return rearrange(circle, "time pair two -> time (pair two)").float()
