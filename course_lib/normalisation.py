"""Normalisation: bring the entries of every vector to mean 0 and variance 1, each vector on its own."""

import torch
from torch import nn

from course_lib.shapes import check_shape


class LayerNorm(nn.Module):
    """Standardise each vector over its entries, then stretch and shift each entry by a learned gain and bias.

    The variance is the biased one, divided by d_model; `epsilon` keeps it from 0. Nothing passes from one position, or
    one sequence of the batch, to another. After Ba, Kiros and Hinton (2016); computes what `torch.nn.LayerNorm` does.

    >>> LayerNorm(d_model=4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
    tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
    """

    def __init__(self, d_model: int, epsilon: float = 1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.epsilon = epsilon

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the normalised inputs (..., d_model), in the same shape."""
        check_shape(inputs, "... d_model", "inputs", d_model=len(self.gain))
        centred = inputs - inputs.mean(dim=-1, keepdim=True)  # (..., d_model)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return self.gain * centred / (variance + self.epsilon).sqrt() + self.bias
