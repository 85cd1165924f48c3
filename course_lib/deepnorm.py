"""DeepNorm: a post-norm block for deep stacks, with a larger stream and smaller initial weights."""

import torch
from torch import nn

from course_lib.blocks import TransformerBlock


class DeepNormBlock(TransformerBlock):
    """A post-norm block that multiplies the stream by `factor`, above 1, before each sum.

    The factor is that of an encoder of `depth` blocks. `begin_as_deepnorm` draws the weights that belong to it. After
    Wang et al. (2022).

    >>> DeepNormBlock(d_model=8, heads=2, d_hidden=16, depth=8).factor
    2.0
    """

    def __init__(self, d_model: int, heads: int, d_hidden: int, depth: int):
        super().__init__(d_model, heads, d_hidden, norm="post")
        self.factor = (2 * depth) ** 0.25

    def _after(self, vectors: torch.Tensor, change: torch.Tensor, normalise: nn.Module) -> torch.Tensor:
        return super()._after(self.factor * vectors, change, normalise)


def begin_as_deepnorm(block: TransformerBlock, depth: int) -> None:
    """Draw the matrices of `block` as DeepNorm does in an encoder of `depth` blocks (Wang et al., 2022, Figure 2).

    >>> block = TransformerBlock(4, 2, 8)
    >>> begin_as_deepnorm(block, depth=2)
    >>> block.feed_forward.expand.bias.tolist() == [0.0] * 8
    True
    """
    small = (8 * depth) ** -0.25
    attention, feed_forward = block.attention, block.feed_forward
    for layer, scale in (
        (attention.to_query, 1.0),
        (attention.to_key, 1.0),
        (attention.to_value, small),
        (attention.to_output, small),
        (feed_forward.expand, small),
        (feed_forward.contract, small),
    ):
        nn.init.xavier_normal_(layer.weight, gain=scale)
        nn.init.zeros_(layer.bias)
