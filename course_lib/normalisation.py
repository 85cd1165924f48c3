"""Normalisation: bring the entries of every vector to one size, each vector on its own."""

import torch
from torch import nn
from torch.nn import functional

from course_lib.shapes import check_shape


def layer_norm_step_by_step(
    inputs: torch.Tensor, gain: torch.Tensor, bias: torch.Tensor, epsilon: float = 1e-5
) -> torch.Tensor:
    """Standardise each vector of inputs (..., d_model) over its entries, then stretch by gain and shift by bias.

    The variance is the biased one, divided by d_model; `epsilon` keeps it from 0. Gain and bias are (d_model,). After
    Ba, Kiros and Hinton (2016).

    >>> layer_norm_step_by_step(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.ones(4), torch.zeros(4))
    tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
    """
    centred = inputs - inputs.mean(dim=-1, keepdim=True)  # (..., d_model)
    variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
    return gain * centred / (variance + epsilon).sqrt() + bias


class LayerNorm(nn.Module):
    """Normalise each vector as `layer_norm_step_by_step` does, with a gain and a bias that are learned.

    Nothing passes from one position, or one sequence of the batch, to another. Torch's kernel does the work: it
    computes the same in one pass, and keeps less for the backward pass.

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
        check_shape(inputs, "... d_model", "inputs", d_model=self.gain.numel())
        return functional.layer_norm(inputs, self.gain.shape, self.gain, self.bias, self.epsilon)


def rms_norm_step_by_step(inputs: torch.Tensor, gain: torch.Tensor, epsilon: float = 1e-6) -> torch.Tensor:
    """Divide each vector of inputs (..., d_model) by the root of the mean of its squares, then stretch by gain.

    No mean is taken away and no bias added, so that every entry keeps its sign under a gain above 0. `epsilon` keeps
    the root from 0. Gain is (d_model,). After Zhang and Sennrich (2019).

    >>> rms_norm_step_by_step(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.ones(4))
    tensor([[0.3651, 0.7303, 1.0954, 1.4606]])
    """
    mean_square = inputs.square().mean(dim=-1, keepdim=True)  # (..., 1)
    return gain * inputs / (mean_square + epsilon).sqrt()


class RMSNorm(nn.Module):
    """Normalise each vector as `rms_norm_step_by_step` does, with a gain that is learned.

    It does without the mean and the bias of `LayerNorm`, and so with fewer operations and half the parameters. Torch's
    kernel does the work.

    >>> RMSNorm(d_model=4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
    tensor([[0.3651, 0.7303, 1.0954, 1.4606]])
    """

    def __init__(self, d_model: int, epsilon: float = 1e-6):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.epsilon = epsilon

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the normalised inputs (..., d_model), in the same shape."""
        check_shape(inputs, "... d_model", "inputs", d_model=self.gain.numel())
        return functional.rms_norm(inputs, self.gain.shape, self.gain, self.epsilon)
