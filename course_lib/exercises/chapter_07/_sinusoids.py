"""What the exercises of chapter 07 share: the angles of the pairs, and the encoding that is made of them."""

import torch


def angles(positions, width):
    """The angle of each pair at these positions, (position, pair), in float64."""
    return positions[:, None] / 10_000.0 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)


def in_turn(first, second):
    """The columns of both in turn."""
    return torch.stack([first, second], -1).flatten(-2)


def encodings(positions, d_model):
    """Sines in even columns and cosines in odd ones, in float64."""
    angle = angles(positions, d_model)
    return in_turn(angle.sin(), angle.cos())
