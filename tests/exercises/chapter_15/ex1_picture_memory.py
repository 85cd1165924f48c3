"""Right answers to 15.1 that are written in other ways."""

import torch
from einops import rearrange
from torch.nn import functional


def picture_memory_by_a_convolution(images, size, weight, codes):
    """A convolution whose windows do not overlap."""
    kernel = rearrange(weight, "d (channel y x) -> d channel y x", y=size, x=size)
    grid = functional.conv2d(images, kernel, stride=size)
    rows, columns = grid.shape[2:]
    half = codes.shape[1]
    grid[:, :half] = grid[:, :half] + codes[:rows].T[:, :, None]
    grid[:, half:] = grid[:, half:] + codes[:columns].T[:, None, :]
    return grid.flatten(2).transpose(1, 2)


def picture_memory_patch_by_patch(images, size, weight, codes):
    """Patch by patch."""
    memory = []
    for row in range(images.shape[2] // size):
        for column in range(images.shape[3] // size):
            patch = images[:, :, row * size : (row + 1) * size, column * size : (column + 1) * size]
            memory.append(patch.flatten(1) @ weight.T + torch.cat((codes[row], codes[column])))
    return torch.stack(memory, 1)


def picture_memory_by_unfolding(images, size, weight, codes):
    """Unfold, and numbers of locations taken apart."""
    pieces = functional.unfold(images, size, stride=size)
    location = torch.arange(pieces.shape[2])
    columns = images.shape[3] // size
    where = torch.cat([codes[location // columns], codes[location % columns]], dim=-1)
    return torch.einsum("bpn,dp->bnd", pieces, weight) + where
