"""Right answers to 16.1 that are written in other ways."""

import math

import torch
from einops import einsum, reduce


def rms_norm_by_rsqrt(inputs, gain, epsilon):
    return inputs * torch.rsqrt(inputs.pow(2).mean(-1, keepdim=True) + epsilon) * gain


def rms_norm_vector_by_vector(inputs, gain, epsilon):
    """One vector at a time, one feature at a time."""
    rows = []
    for vector in inputs.reshape(-1, inputs.shape[-1]):
        root = (sum(each**2 for each in vector) / len(vector) + epsilon) ** 0.5
        rows.append(torch.stack([factor * each / root for each, factor in zip(vector, gain, strict=True)]))
    return torch.stack(rows).reshape(inputs.shape)


def rms_norm_by_einsum(inputs, gain, epsilon):
    squares = einsum(inputs, inputs, "... feature, ... feature -> ...") / inputs.shape[-1]
    return einsum(inputs, (squares + epsilon) ** -0.5, gain, "... feature, ..., feature -> ... feature")


def rms_norm_by_the_norm(inputs, gain, epsilon):
    """From torch's norm, in double."""
    wide = inputs.double()
    root = torch.hypot(wide.norm(dim=-1, keepdim=True) / math.sqrt(inputs.shape[-1]), torch.tensor(epsilon).sqrt())
    return (gain * (wide / root)).float()


def rms_norm_backward_by_the_quotient_rule(inputs, gain, epsilon, upstream):
    width = inputs.shape[-1]
    root = (inputs.square().sum(-1, keepdim=True) / width + epsilon).sqrt()
    direct = gain * upstream / root
    through_root = inputs * (gain * upstream * inputs).sum(-1, keepdim=True) / (width * root**3)
    leading = tuple(range(inputs.dim() - 1))
    of_gain = upstream * inputs / root
    return direct - through_root, of_gain.sum(leading) if leading else of_gain


def rms_norm_backward_by_jacobians(inputs, gain, epsilon, upstream):
    """One matrix of derivatives for each vector."""
    width, of_gain, rows = inputs.shape[-1], torch.zeros_like(gain), []
    for vector, arriving in zip(inputs.reshape(-1, width), upstream.reshape(-1, width), strict=True):
        root = (vector.square().mean() + epsilon).sqrt()
        jacobian = torch.diag(gain) / root - torch.outer(gain * vector, vector) / (width * root**3)
        rows.append(jacobian.T @ arriving)
        of_gain += arriving * vector / root
    return torch.stack(rows).reshape(inputs.shape), of_gain


def rms_norm_backward_in_double(inputs, gain, epsilon, upstream):
    wide, arriving = inputs.double(), gain.double() * upstream.double()
    inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    normalised = wide * inverse
    along = einsum(arriving, normalised, "... feature, ... feature -> ...")[..., None] / wide.shape[-1]
    of_gain = reduce(normalised * upstream, "... feature -> feature", "sum")
    return torch.addcmul(arriving, along, normalised, value=-1).mul(inverse).float(), of_gain.float()


def rms_norm_backward_by_small_steps(inputs, gain, epsilon, upstream):
    """By differences of the loss, in double, each feature of all vectors at once."""

    def losses(x, factors):
        return (factors * x / (x.square().mean(-1, keepdim=True) + epsilon).sqrt() * upstream).sum(-1)  # (...)

    x, g, step = inputs.double(), gain.double(), 1e-5
    of_inputs, of_gain = torch.empty_like(x), torch.empty_like(g)
    for feature, raised in enumerate(step * torch.eye(len(g), dtype=torch.float64)):
        of_inputs[..., feature] = (losses(x + raised, g) - losses(x - raised, g)) / (2 * step)
        of_gain[feature] = ((losses(x, g + raised) - losses(x, g - raised)) / (2 * step)).sum()
    return of_inputs.float(), of_gain.float()
