"""What the exercises of chapter 06 share: vectors cut into heads and joined again, and sizes to try it with."""

import torch

from course_lib.exercises.drawing import sizes


def split(vectors, heads):
    """Cut vectors (batch, time, heads * d_head) into (batch, heads, time, d_head)."""
    return vectors.unflatten(2, (heads, -1)).transpose(1, 2)


def merge(vectors):
    """Put the heads of (batch, heads, time, d_head) side by side, (batch, time, heads * d_head)."""
    return vectors.transpose(1, 2).flatten(2)


def four_sizes(generator: torch.Generator) -> list[int]:
    """Draw four sizes from 1 to 5, all different; or, in one case of three, all the same, 2 or 3.

    Where all are the same, an axis that was taken for another goes unnoticed by torch, and the numbers tell.
    """
    if torch.rand((), generator=generator) < 1 / 3:
        return sizes(generator, 3, least=2) * 4
    return (torch.randperm(5, generator=generator)[:4] + 1).tolist()
