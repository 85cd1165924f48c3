"""Say which shape a tensor must have, in words, and complain in words when it has another."""

import functools

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
    # Reading a pattern takes time, so it is read once and kept; but torch.compile wants to see how it is read.
    read = _read_pattern if torch.compiler.is_compiling() else _kept_pattern
    axes, more_may_stand_before = read(pattern)
    shape = tuple(tensor.shape)
    fits = len(shape) >= len(axes) if more_may_stand_before else len(shape) == len(axes)
    sizes: dict[str, int] = {}
    for (axis, fixed), size in zip(axes, shape[len(shape) - len(axes) :], strict=False):
        if fixed is None:
            fits = fits and size == known.get(axis, sizes.get(axis, size))
            sizes[axis] = size
        else:
            fits = fits and size == fixed
    if not fits:
        expected = ", ".join(f"{axis}={known[axis]}" if axis in known else axis for axis in pattern.split())
        raise ValueError(f"`{name}` has shape {shape}, expected ({expected})")
    return sizes


def _read_pattern(pattern: str) -> tuple[list[tuple[str, int | None]], bool]:
    """Return the axes of a pattern, each with its size if that is fixed, and whether more axes may stand before them.

    >>> _read_pattern("... 3 width")
    ([('3', 3), ('width', None)], True)
    """
    words = pattern.split()
    more_may_stand_before = words[:1] == ["..."]
    named = words[1:] if more_may_stand_before else words
    return [(word, int(word) if word.isdigit() else None) for word in named], more_may_stand_before


_kept_pattern = functools.cache(_read_pattern)


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
