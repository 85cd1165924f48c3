"""Right answers to 08.1 that are written in other ways."""

import math

import torch
from einops import einsum, reduce


def layer_norm_by_rsqrt(inputs, gain, bias, epsilon):
    mean = inputs.mean(-1, keepdim=True)
    return (inputs - mean) * torch.rsqrt(inputs.var(-1, correction=0, keepdim=True) + epsilon) * gain + bias


def layer_norm_feature_by_feature(inputs, gain, bias, epsilon):
    """One vector at a time, one feature at a time."""
    vectors = inputs.reshape(-1, inputs.shape[-1])
    rows = []
    for vector in vectors:
        mean = sum(vector) / len(vector)
        variance = sum((each - mean) ** 2 for each in vector) / len(vector)
        rows.append(
            torch.stack(
                [
                    g * (each - mean) / (variance + epsilon) ** 0.5 + b
                    for each, g, b in zip(vector, gain, bias, strict=True)
                ]
            )
        )
    return torch.stack(rows).reshape(inputs.shape)


def layer_norm_in_double(inputs, gain, bias, epsilon):
    wide = inputs.double()
    variance, mean = torch.var_mean(wide, dim=-1, unbiased=False, keepdim=True)
    return torch.addcmul(bias.double(), (wide - mean) / torch.sqrt(variance + epsilon), gain.double()).float()


def layer_norm_by_einsum(inputs, gain, bias, epsilon):
    centred = inputs - reduce(inputs, "... d -> ... 1", "mean")
    squares = einsum(centred, centred, "... d, ... d -> ...")
    return gain * centred / torch.sqrt(squares / inputs.shape[-1] + epsilon).unsqueeze(-1) + bias


def layer_norm_by_projection(inputs, gain, bias, epsilon):
    """From torch's unbiased standard deviation, brought back; the mean by a projection."""
    d = inputs.size(-1)
    centred = inputs @ (torch.eye(d) - 1 / d)
    spread = centred.norm(dim=-1, keepdim=True) / math.sqrt(d)
    return centred / torch.hypot(spread, torch.tensor(epsilon).sqrt()) * gain + bias
