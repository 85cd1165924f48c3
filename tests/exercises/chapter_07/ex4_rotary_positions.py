"""Right answers to 07.4 that are written in other ways."""

import math

import torch
from einops import einsum, rearrange, repeat


def rotate_by_position_entry_by_entry(vectors):
    turned = torch.empty_like(vectors)
    time, width = vectors.shape[-2:]
    for t in range(time):
        for i in range(width // 2):
            angle = t / 10000 ** (2 * i / width)
            x, y = vectors[..., t, 2 * i], vectors[..., t, 2 * i + 1]
            turned[..., t, 2 * i] = x * math.cos(angle) - y * math.sin(angle)
            turned[..., t, 2 * i + 1] = x * math.sin(angle) + y * math.cos(angle)
    return turned


def rotate_by_position_by_complex_numbers(vectors):
    time, width = vectors.shape[-2:]
    angle = torch.outer(torch.arange(time), 10000.0 ** (-torch.arange(0, width, 2) / width))
    points = torch.view_as_complex(vectors.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(points * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


def rotate_by_position_by_exchanged_pairs(vectors):
    time, width = vectors.shape[-2:]
    angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    angle = repeat(angle, "time pair -> time (pair two)", two=2)
    x, y = rearrange(vectors, "... (pair two) -> two ... pair", two=2)
    exchanged = rearrange([-y, x], "two ... pair -> ... (pair two)")
    return vectors * angle.cos() + exchanged * angle.sin()


def rotate_by_position_by_matrices(vectors):
    time, width = vectors.shape[-2:]
    angle = torch.arange(time).double()[:, None] * 1e-4 ** (torch.arange(0, width, 2).double() / width)
    matrix = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], -1).unflatten(-1, (2, 2)).float()
    pairs = rearrange(vectors, "... time (pair two) -> ... time pair two", two=2)
    turned = einsum(matrix, pairs, "time pair to two, ... time pair two -> ... time pair to")
    return rearrange(turned, "... time pair two -> ... time (pair two)")
