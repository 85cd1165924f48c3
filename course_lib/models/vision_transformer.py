"""A picture read as a sequence: cut into patches, and every patch a token."""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import TransformerBlock
from course_lib.normalisation import LayerNorm
from course_lib.shapes import check_shape


def patchify(images: torch.Tensor, size: int) -> torch.Tensor:
    """Cut images (batch, channels, height, width) into squares: (batch, patches, channels * size * size).

    Patches come row by row from the top left; in each, channel by channel, row by row. Raises ValueError where `size`
    does not divide height and width.

    >>> patchify(torch.arange(8).view(1, 1, 2, 4), size=2)
    tensor([[[0, 1, 4, 5],
             [2, 3, 6, 7]]])
    """
    sizes = check_shape(images, "batch channels height width", "images")
    _check_divides(size, sizes["height"], sizes["width"])
    return rearrange(images, "batch c (down a) (across b) -> batch (down across) (c a b)", a=size, b=size)


def unpatchify(patches: torch.Tensor, size: int, channels: int, height: int, width: int) -> torch.Tensor:
    """Put patches (batch, patches, channels * size * size) back together: (batch, channels, height, width).

    >>> images = torch.rand(2, 3, 4, 6)
    >>> torch.equal(unpatchify(patchify(images, 2), 2, channels=3, height=4, width=6), images)
    True
    """
    _check_divides(size, height, width)
    number = (height // size) * (width // size)
    check_shape(patches, "batch patches entries", "patches", patches=number, entries=channels * size * size)
    return rearrange(
        patches,
        "batch (down across) (channels a b) -> batch channels (down a) (across b)",
        down=height // size,
        channels=channels,
        a=size,
    )


class VisionTransformer(nn.Module):
    """Say what square pictures show: patches become vectors, blocks let them read each other, one vector decides.

    `pool` says which: that of a learned token that stands before the patches (the "class"), or the "mean" of the
    patches. `positions=False` forgets where each patch was: the control of Chapter 12. After Dosovitskiy et al. (2021).
    Raises ValueError for another pool.

    >>> VisionTransformer()(torch.zeros(5, 1, 8, 8)).shape
    torch.Size([5, 10])
    """

    def __init__(
        self,
        side: int = 8,
        patch: int = 2,
        channels: int = 1,
        classes: int = 10,
        d_model: int = 48,
        heads: int = 4,
        layers: int = 3,
        d_hidden: int = 96,
        positions: bool = True,
        pool: str = "class",
        attend: Callable = scaled_dot_product_attention,
    ):
        super().__init__()
        if pool not in ("class", "mean"):
            raise ValueError(f'`pool` is {pool!r}, expected "class" or "mean"')
        _check_divides(patch, side, side)
        self.side, self.patch, self.channels, self.pool = side, patch, channels, pool
        self.to_vectors = nn.Linear(channels * patch * patch, d_model)
        self.class_token = nn.Parameter(torch.zeros(d_model)) if pool == "class" else None
        tokens = (side // patch) ** 2 + (pool == "class")
        self.positions = nn.Parameter(0.1 * torch.randn(tokens, d_model)) if positions else None
        self.blocks = nn.ModuleList(TransformerBlock(d_model, heads, d_hidden, attend=attend) for _ in range(layers))
        self.norm = LayerNorm(d_model)
        self.to_logits = nn.Linear(d_model, classes)

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        """Return the vectors (batch, tokens, d_model) of images (batch, channels, side, side): class token first."""
        known = {"channels": self.channels, "height": self.side, "width": self.side}
        check_shape(images, "batch channels height width", "images", **known)
        vectors = self.to_vectors(patchify(images, self.patch))  # (batch, patches, d_model)
        if self.class_token is not None:
            first = self.class_token.expand(len(images), 1, -1)  # (batch, 1, d_model)
            vectors = torch.cat([first, vectors], dim=1)  # (batch, 1 + patches, d_model)
        if self.positions is not None:
            vectors = vectors + self.positions  # (batch, tokens, d_model)
        for block in self.blocks:
            vectors = block(vectors)  # (batch, tokens, d_model)
        return self.norm(vectors)  # (batch, tokens, d_model)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return logits (batch, classes) of images (batch, channels, side, side)."""
        vectors = self.encode(images)  # (batch, tokens, d_model)
        decides = vectors[:, 0] if self.pool == "class" else vectors.mean(dim=1)  # (batch, d_model)
        return self.to_logits(decides)  # (batch, classes)


def _check_divides(size: int, height: int, width: int) -> None:
    if size < 1 or height % size or width % size:
        raise ValueError(f"`size` of a patch is {size}, expected a number that divides {height} and {width}")
