"""Right answers to 07.3 that are written in other ways."""

import math

import torch


def binary_clock_by_shifts(time, bits):
    return (torch.arange(time)[:, None] >> torch.arange(bits)) & 1


def binary_clock_as_text(time, bits):
    rows = [[int(digit) for digit in reversed(f"{t % 2**bits:0{bits}b}")] for t in range(time)]
    return torch.tensor(rows)


def binary_clock_by_halving(time, bits):
    table = torch.zeros(time, bits, dtype=torch.long)
    for t in range(time):
        rest = t
        for i in range(bits):
            rest, table[t, i] = rest // 2, rest % 2
    return table


def binary_clock_by_runs(time, bits):
    columns = [torch.tensor([0, 1]).repeat_interleave(2**i).repeat(time)[:time] for i in range(bits)]
    return torch.stack(columns, dim=1)


def binary_clock_by_comparing_bits(time, bits):
    return (torch.arange(time).unsqueeze(1) & (1 << torch.arange(bits))).ne(0).long()


def periods_by_a_list(d_model):
    return torch.tensor([2 * math.pi * 10000 ** (2 * i / d_model) for i in range(d_model // 2)])


def periods_by_frequencies(d_model):
    frequency = torch.exp(-math.log(10000) * torch.arange(0, d_model, 2) / d_model)
    return 2 * math.pi / frequency


def periods_by_cumprod(d_model):
    factor = torch.full((d_model // 2,), 10000 ** (2 / d_model), dtype=torch.float64)
    factor[0] = math.tau
    return factor.cumprod(0).float()


def periods_by_logspace(d_model):
    return torch.logspace(0, 4 * (1 - 2 / d_model), d_model // 2) * math.tau
