"""Right answers to 16.3 that are written in other ways."""

import math

import torch
from einops import rearrange


def rotate_as_complex_numbers(vectors, positions, base, factor):
    width = vectors.shape[-1]
    angle = torch.outer(positions.double() / factor, base ** -(torch.arange(0, width, 2).double() / width))
    pairs = torch.view_as_complex(rearrange(vectors.double(), "... (pair two) -> ... pair two", two=2).contiguous())
    return torch.view_as_real(pairs * torch.exp(1j * angle)).flatten(-2).float()


def rotate_by_a_half_turned_copy(vectors, positions, base, factor):
    """The vectors times the cosines, and a copy with the pairs turned by a right angle times the sines."""
    width = vectors.shape[-1]
    angle = positions[:, None] / (factor * base ** (torch.arange(0, width, 2) / width))
    angle = angle.repeat_interleave(2, dim=-1)
    turned = torch.stack([-vectors[..., 1::2], vectors[..., 0::2]], dim=-1).flatten(-2)
    return vectors * angle.cos() + turned * angle.sin()


def rotate_pair_by_pair(vectors, positions, base, factor):
    """By a matrix for each position and pair."""
    rotated = vectors.clone()
    for time, position in enumerate(positions.tolist()):
        for pair in range(vectors.shape[-1] // 2):
            angle = position / factor / base ** (2 * pair / vectors.shape[-1])
            matrix = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
            both = slice(2 * pair, 2 * pair + 2)
            rotated[..., time, both] = vectors[..., time, both] @ matrix.T
    return rotated


def yarn_frequencies_by_lerp(width, base, factor, trained_length, alpha, beta):
    frequency = torch.tensor(base) ** -(torch.arange(width // 2) * 2 / width)
    rotations = trained_length / (2 * math.pi / frequency)
    share = (rotations.log() - math.log(alpha)) / (math.log(beta) - math.log(alpha))
    return torch.lerp(frequency / factor, frequency, share.clamp(0, 1))


def yarn_frequencies_by_three_cases(width, base, factor, trained_length, alpha, beta):
    frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    rotations = trained_length * frequency / math.tau
    share = torch.log2(rotations / alpha) / math.log2(beta / alpha)
    blended = frequency * (1 / factor + share * (1 - 1 / factor))
    blended = torch.where(rotations >= beta, frequency, blended)
    return torch.where(rotations <= alpha, frequency / factor, blended).float()


def yarn_frequencies_pair_by_pair(width, base, factor, trained_length, alpha, beta):
    """By how many pairs lie between the borders: the share falls by equal steps."""
    step = 2 / width * math.log(base)  # from pair to pair, in the logarithm of the rotations
    first = math.log(trained_length / math.tau)
    blended = []
    for pair in range(width // 2):
        share = (first - pair * step - math.log(alpha)) / math.log(beta / alpha)
        share = min(max(share, 0), 1)
        frequency = math.exp(-pair * step)
        blended.append(share * frequency + (1 - share) * frequency / factor)
    return torch.tensor(blended)
