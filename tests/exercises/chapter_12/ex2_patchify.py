"""Right answers to 12.2 that are written in other ways."""

import torch
from einops import rearrange
from torch.nn.functional import conv2d


def patchify_by_einops(images, size):
    return rearrange(images, "batch c (rows i) (columns j) -> batch (rows columns) (c i j)", i=size, j=size)


def patchify_square_by_square(images, size):
    """Square by square."""
    _, _, height, width = images.shape
    squares = [
        images[:, :, top : top + size, left : left + size].flatten(1)
        for top in range(0, height, size)
        for left in range(0, width, size)
    ]
    return torch.stack(squares, dim=1)


def patchify_by_windows(images, size):
    """By windows that do not overlap."""
    windows = images.unfold(2, size, size).unfold(3, size, size)  # (batch, channels, rows, columns, size, size)
    windows = windows.movedim(1, 3)
    return windows.reshape(windows.shape[0], windows.shape[1] * windows.shape[2], -1)


def patchify_by_pixel_numbers(images, size):
    """By a table of pixel numbers."""
    batch, channels, height, width = images.shape
    pixels = torch.arange(channels * height * width).view(channels, height, width)
    squares = [part.reshape(-1) for rows in pixels.split(size, dim=1) for part in rows.split(size, dim=2)]
    return images.reshape(batch, -1)[:, torch.stack(squares)]


def patchify_by_convolution(images, size):
    """By a convolution with kernels of a single one: who writes them knows the order within a patch."""
    count = images.shape[1] * size * size
    kernels = torch.eye(count).reshape(count, -1, size, size)
    return conv2d(images, kernels, stride=size).flatten(2).mT


def unpatchify_by_einops(patches, size, channels, height, width):
    pattern = "batch (rows columns) (c i j) -> batch c (rows i) (columns j)"
    return rearrange(patches, pattern, rows=height // size, columns=width // size, i=size, j=size)


def unpatchify_square_by_square(patches, size, channels, height, width):
    """Square by square into an image of zeros."""
    images = torch.zeros(patches.shape[0], channels, height, width)
    for number in range(patches.shape[1]):
        row, column = divmod(number, width // size)
        top, left = row * size, column * size
        square = patches[:, number].reshape(-1, channels, size, size)
        images[:, :, top : top + size, left : left + size] = square
    return images


def unpatchify_rows_joined(patches, size, channels, height, width):
    """Rows of squares joined, then rows joined."""
    squares = patches.unflatten(-1, (channels, size, size)).unbind(1)
    columns = width // size
    rows = [torch.cat(squares[first : first + columns], dim=-1) for first in range(0, len(squares), columns)]
    return torch.cat(rows, dim=-2)


def unpatchify_pixel_by_pixel(patches, size, channels, height, width):
    """Pixel by pixel, which patch and where in it."""
    y, x = torch.arange(height)[:, None], torch.arange(width)[None]
    patch = (y // size) * (width // size) + x // size  # (height, width)
    inside = (y % size) * size + x % size
    return torch.stack([patches[:, patch, channel * size * size + inside] for channel in range(channels)], dim=1)
