"""Say which shape a tensor must have, in words, and complain in words when it has another."""

import torch


def check_shape(tensor: torch.Tensor, pattern: str, name: str = "tensor", **known: int) -> dict[str, int]:
    """Return the size of every axis that `pattern` names.

    `pattern` lists the axes from left to right: a word names an axis, a number fixes its size, and a leading `...`
    stands for any axes before. Sizes that are already `known` must be met. Raises ValueError with the shape that came
    and the shape that was expected.

    >>> images = torch.zeros(2, 3, 32, 32)
    >>> check_shape(images, "batch 3 height width", "images")
    {'batch': 2, 'height': 32, 'width': 32}
    >>> check_shape(images, "batch time d_model", "images")
    Traceback (most recent call last):
    ValueError: `images` has shape (2, 3, 32, 32), expected (batch, time, d_model)
    >>> check_shape(images, "batch 3 height width", "images", batch=5)
    Traceback (most recent call last):
    ValueError: `images` has shape (2, 3, 32, 32), expected (batch=5, 3, height, width)
    """
    axes = pattern.split()
    shape = tuple(tensor.shape)
    leading_axes_are_free = bool(axes) and axes[0] == "..."
    named = axes[1:] if leading_axes_are_free else axes

    sizes: dict[str, int] = {}
    fits = len(shape) >= len(named) if leading_axes_are_free else len(shape) == len(named)
    for axis, size in zip(named, shape[len(shape) - len(named) :], strict=False):
        expected = int(axis) if axis.isdigit() else known.get(axis, sizes.get(axis, size))
        fits = fits and size == expected
        if not axis.isdigit():
            sizes[axis] = size
    if not fits:
        expected_axes = ", ".join(f"{axis}={known[axis]}" if axis in known else axis for axis in axes)
        raise ValueError(f"`{name}` has shape {shape}, expected ({expected_axes})")
    return sizes


def check_broadcast(tensor: torch.Tensor, name: str, shape: torch.Size) -> None:
    """Raise ValueError unless `tensor` broadcasts to this `shape`, which therefore stays as it is.

    >>> check_broadcast(torch.zeros(4, 1), "bias", torch.Size([2, 4, 3]))
    >>> check_broadcast(torch.zeros(5, 1), "bias", torch.Size([2, 4, 3]))
    Traceback (most recent call last):
    ValueError: `bias` has shape (5, 1), expected one that broadcasts to (2, 4, 3)
    """
    sizes = zip(tensor.shape, shape[len(shape) - tensor.dim() :], strict=True)
    if tensor.dim() > len(shape) or any(size not in (1, expected) for size, expected in sizes):
        raise ValueError(f"`{name}` has shape {tuple(tensor.shape)}, expected one that broadcasts to {tuple(shape)}")
