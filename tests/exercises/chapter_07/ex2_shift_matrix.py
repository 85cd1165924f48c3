"""Right answers to 07.2 that are written in other ways."""

import math

import torch


def shift_matrix_by_block_diag(offset, d_model):
    blocks = []
    for pair in range(d_model // 2):
        b = offset * 10000 ** (-2 * pair / d_model)
        blocks.append(torch.tensor([[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]))
    return torch.block_diag(*blocks)


def shift_matrix_by_three_diagonals(offset, d_model):
    angle = offset / 10000 ** (torch.arange(0, d_model, 2).double() / d_model)
    beside = torch.stack([angle.sin(), torch.zeros_like(angle)], -1).flatten()[:-1]
    matrix = angle.cos().repeat_interleave(2).diag() + beside.diag(1) - beside.diag(-1)
    return matrix.float()


def shift_matrix_by_matrix_exp(offset, d_model):
    speed = 10000 ** (-torch.arange(0, d_model, 2).double() / d_model)
    turning = torch.kron(speed.diag(), torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64))
    return torch.linalg.matrix_exp(offset * turning).float()


def shift_matrix_by_even_columns(offset, d_model):
    even = torch.arange(0, d_model, 2)
    b = offset / torch.pow(10000.0, even / d_model)
    matrix = torch.zeros(d_model, d_model)
    matrix[even, even] = matrix[even + 1, even + 1] = b.cos()
    matrix[even, even + 1] = b.sin()
    matrix[even + 1, even] = -b.sin()
    return matrix


def shift_matrix_by_powers_of_one_step(offset, d_model):
    one = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        b = torch.tensor(10000 ** (-i / d_model), dtype=torch.float64)
        one[i : i + 2, i : i + 2] = torch.stack([b.cos(), b.sin(), -b.sin(), b.cos()]).view(2, 2)
    return torch.linalg.matrix_power(one, offset).float()
