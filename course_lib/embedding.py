"""Tokens become vectors: a row of a table for each token, and where it stands."""

import torch
from torch import nn

from course_lib.positions import kept_rows, sinusoidal_positions
from course_lib.shapes import check_shape


class TokenEmbedding(nn.Module):
    """Turn tokens into vectors that say which token it is and, with `positions`, where it stands.

    The rows of the table begin with entries of variance 1 / d_model, so that a row has a length of about 1. As input a
    row is multiplied by the root of d_model, which brings its entries to the size of the sines and cosines that are
    added; as output its dot product with a vector is a logit, which rows of length 1 keep small at first.
    After Vaswani et al. (2017); one table for both ends is by Press and Wolf (2017).

    >>> embed = TokenEmbedding(vocab_size=10, d_model=8)
    >>> vectors = embed(torch.zeros(2, 5, dtype=torch.long))
    >>> vectors.shape, embed.to_logits(vectors).shape
    (torch.Size([2, 5, 8]), torch.Size([2, 5, 10]))
    """

    def __init__(self, vocab_size: int, d_model: int, positions: bool = True):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * d_model**-0.5)
        self.positions = positions

    @property
    def weight(self) -> nn.Parameter:
        """The table (vocab_size, d_model), by the name that it has in `nn.Embedding`."""
        return self.table

    def forward(self, tokens: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Return vectors (batch, time, d_model) of tokens (batch, time), which are row numbers of the table.

        `start` is the position of the first of them: how many were read before. Raises ValueError for one below 0.
        """
        time = check_shape(tokens, "batch time", "tokens")["time"]
        d_model = self.table.shape[1]
        vectors = nn.functional.embedding(tokens, self.table) * d_model**0.5  # (batch, time, d_model)
        if self.positions:
            codes = kept_rows(sinusoidal_positions, start, time, d_model, vectors.dtype)  # (time, d_model)
            vectors = vectors + codes.to(vectors.device)  # (batch, time, d_model)
        return vectors

    def to_logits(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the logit of every token, (..., vocab), for vectors (..., d_model)."""
        return vectors @ self.table.T  # (..., vocab)
