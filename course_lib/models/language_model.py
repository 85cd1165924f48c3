"""A model of text: at every place, how likely each token is to come next."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.blocks import TransformerBlock
from course_lib.masks import causal_mask
from course_lib.normalisation import LayerNorm
from course_lib.positions import rotary_attention
from course_lib.shapes import check_shape

QUIET = 0.02  # standard deviation of the table's first entries


class LanguageModel(nn.Module):
    """Score the next token at every place of a text of at most `longest` tokens: a stack of causal blocks.

    The table of token vectors is the output, too. It begins quietly, so that an untrained model gives all tokens nearly
    the same probability. Positions enter by `attend`, which serves every block, as turns of queries and keys.
    `d_hidden` is four times `d_model` unless it is given. After Radford et al. (2018, 2019), with the positions of Su
    et al. (2021).

    >>> model = LanguageModel(vocabulary=96, longest=32)
    >>> model(torch.zeros(2, 20, dtype=torch.long)).shape
    torch.Size([2, 20, 96])
    """

    def __init__(
        self,
        vocabulary: int,
        longest: int,
        d_model: int = 64,
        heads: int = 4,
        layers: int = 2,
        d_hidden: int | None = None,
        dropout: float = 0.0,
        attend: Callable = rotary_attention,
    ):
        super().__init__()
        self.longest = longest
        self.embed = nn.Embedding(vocabulary, d_model)
        nn.init.normal_(self.embed.weight, std=QUIET)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, heads, d_hidden or 4 * d_model, attend=attend, dropout=dropout)
            for _ in range(layers)
        )
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return scores (batch, time, vocabulary) of the token after each of tokens (batch, time).

        Raises ValueError for more than `longest` tokens.
        """
        time = check_shape(tokens, "batch time", "tokens")["time"]
        if time > self.longest:
            raise ValueError(f"`tokens` has {time} places, expected at most `longest`, {self.longest}")
        vectors = self.dropout(self.embed(tokens))  # (batch, time, d_model)
        mask = causal_mask(time).to(tokens.device)  # (time, time)
        for block in self.blocks:
            vectors = block(vectors, mask=mask)  # (batch, time, d_model)
        return self.norm(vectors) @ self.embed.weight.T  # (batch, time, vocabulary)

    def next_scores(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the scores (batch, vocabulary) of the token after tokens (batch, time), of which the last count.

        No more than the last `longest` tokens are read, so that a text may go on for ever.
        """
        return self(tokens[:, -self.longest :])[:, -1]  # (batch, vocabulary)
