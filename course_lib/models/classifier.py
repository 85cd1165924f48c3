"""A sequence in, one decision out: blocks, a pool over the tokens, and logits."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import TransformerBlock
from course_lib.embedding import TokenEmbedding
from course_lib.masks import token_padding_mask
from course_lib.normalisation import LayerNorm
from course_lib.pooling import max_pool, mean_pool

POOLS = {"mean": mean_pool, "max": max_pool, "first": lambda vectors, present: vectors[:, 0]}


class SequenceClassifier(nn.Module):
    """Read a sequence with transformer blocks, make one vector of its tokens' vectors, and of it the logits.

    `pool` says how: their "mean", their "max", feature by feature, or the vector of the "first" token alone. Tokens
    equal to `padding` are hidden and not pooled; they stand at the end. Without blocks (`layers=0`) and without
    `positions` this is a bag of words; with blocks, but without positions, it cannot tell orders apart either. Raises
    ValueError for another pool.

    >>> model = SequenceClassifier(vocab_size=11, classes=2)
    >>> model(torch.tensor([[3, 4, 5, 0], [6, 7, 8, 9]])).shape
    torch.Size([2, 2])
    """

    def __init__(
        self,
        vocab_size: int,
        classes: int,
        d_model: int = 48,
        heads: int = 4,
        layers: int = 2,
        d_hidden: int = 96,
        pool: str = "mean",
        positions: bool = True,
        dropout: float = 0.0,
        padding: int = 0,
        attend: Callable = scaled_dot_product_attention,
    ):
        super().__init__()
        if pool not in POOLS:
            raise ValueError(f"`pool` is {pool!r}, expected one of {', '.join(map(repr, POOLS))}")
        self.pool, self.padding = pool, padding
        self.embed = TokenEmbedding(vocab_size, d_model, positions)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, heads, d_hidden, attend=attend, dropout=dropout) for _ in range(layers)
        )
        self.norm = LayerNorm(d_model)
        self.to_logits = nn.Linear(d_model, classes)
        self.dropout = nn.Dropout(dropout)

    def encode(self, words: torch.Tensor) -> torch.Tensor:
        """Return the vectors (batch, time, d_model) of words (batch, time), before they are pooled."""
        mask = token_padding_mask(words, self.padding)  # (batch, 1, time)
        vectors = self.dropout(self.embed(words))  # (batch, time, d_model)
        for block in self.blocks:
            vectors = block(vectors, mask=mask)  # (batch, time, d_model)
        return self.norm(vectors)  # (batch, time, d_model)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return the logits (batch, classes) of words (batch, time); ValueError for a row that is all padding."""
        present = token_padding_mask(words, self.padding).squeeze(1)  # (batch, time)
        pooled = POOLS[self.pool](self.encode(words), present)  # (batch, d_model)
        return self.to_logits(self.dropout(pooled))  # (batch, classes)
