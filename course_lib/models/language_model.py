"""A model of text: at every place, how likely each token is to come next."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.blocks import TransformerBlock
from course_lib.cache import BlockCache, CachedScores
from course_lib.masks import causal_mask
from course_lib.normalisation import LayerNorm
from course_lib.positions import rotary_attention
from course_lib.shapes import check_shape

QUIET = 0.02  # standard deviation of the table's first entries


class LanguageModel(nn.Module):
    """Score the next token at every place of a text of at most `longest` tokens: a stack of causal blocks.

    The table of token vectors is the output, too. It begins quietly, so that an untrained model gives all tokens nearly
    the same probability. Positions enter by `attend`, which serves every block, as turns of queries and keys; with
    `learned_positions`, a vector for each place is added to the tokens instead, and `attend` should be one that knows
    of no positions. `d_hidden` is four times `d_model` unless it is given. After Radford et al. (2018, 2019), with the
    positions of Su et al. (2021).

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
        learned_positions: bool = False,
        activation: Callable = torch.relu,
    ):
        super().__init__()
        self.longest = longest
        self.embed = nn.Embedding(vocabulary, d_model)
        nn.init.normal_(self.embed.weight, std=QUIET)
        self.positions = nn.Parameter(QUIET * torch.randn(longest, d_model)) if learned_positions else None
        self.blocks = nn.ModuleList(
            TransformerBlock(
                d_model, heads, d_hidden or 4 * d_model, attend=attend, dropout=dropout, activation=activation
            )
            for _ in range(layers)
        )
        self.norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: torch.Tensor, starts: torch.Tensor | None = None) -> torch.Tensor:
        """Return scores (batch, time, vocabulary) of the token after each of tokens (batch, time).

        Texts of unequal length stand at the right: `starts` (batch,) says in which column each begins; nobody reads
        what is before. Raises ValueError for more than `longest` tokens.
        """
        return self.score(self._stages(tokens, starts)[-1])  # (batch, time, vocabulary)

    def stream(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the vectors of tokens (batch, time) before the first block and after each of them.

        The result is (layers + 1, batch, time, d_model).
        """
        return torch.stack(self._stages(tokens))  # (layers + 1, batch, time, d_model)

    def score(self, stream: torch.Tensor) -> torch.Tensor:
        """Return what the output layer says of vectors (..., d_model): scores (..., vocabulary)."""
        return self.norm(stream) @ self.embed.weight.T

    def next_scores(self, tokens: torch.Tensor, starts: torch.Tensor | None = None) -> torch.Tensor:
        """Return the scores (batch, vocabulary) of the token after tokens (batch, time), all of them read anew.

        No more than the last `longest` tokens are read, so that a text may go on for ever. `starts` is as in `forward`.
        """
        dropped = max(tokens.shape[1] - self.longest, 0)
        if starts is not None:
            starts = (starts - dropped).clamp(min=0)  # (batch,)
        return self(tokens[:, dropped:], starts)[:, -1]  # (batch, vocabulary)

    def writer(self, starts: torch.Tensor | None = None) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a function that gives what `next_scores` gives, and reads only what is new: for decoding.

        `starts` is as in `forward`, for the rows of the first call. A text that has outgrown `longest` is read anew for
        every token, since all its places have moved.
        """

        def read(tokens: torch.Tensor, caches: list[BlockCache], origin: torch.Tensor) -> torch.Tensor:
            rows = None if starts is None else starts[origin]  # (batch,)
            return self.score(self._stages(tokens, rows, caches)[-1][:, -1])  # (batch, vocabulary)

        cached = CachedScores(read, len(self.blocks))

        def next_scores(tokens: torch.Tensor) -> torch.Tensor:
            return cached(tokens) if tokens.shape[1] <= self.longest else self.next_scores(tokens, starts)

        return next_scores

    def _stages(
        self, tokens: torch.Tensor, starts: torch.Tensor | None = None, caches: list[BlockCache] | None = None
    ) -> list[torch.Tensor]:
        """Return the vectors (batch, time, d_model) before the first block and after each of them.

        With `caches`, one for each block, tokens (batch, time) stand behind those that the caches have seen.
        """
        time = check_shape(tokens, "batch time", "tokens")["time"]
        before = caches[0].length if caches else 0
        if time > self.longest:
            raise ValueError(f"`tokens` has {time} places, expected at most `longest`, {self.longest}")
        columns = torch.arange(before + time, device=tokens.device)  # (key,): those before, then the new ones
        mask = causal_mask(time, before + time).to(tokens.device)  # (time, key)
        if starts is not None:
            check_shape(starts, "batch", "starts", batch=len(tokens))
            mask = mask & (columns >= starts[:, None]).unsqueeze(1)  # (batch, time, key)
        vectors = self.embed(tokens)  # (batch, time, d_model)
        if self.positions is not None:
            places = columns[before:] if starts is None else (columns[before:] - starts[:, None]).clamp(min=0)
            vectors = vectors + self.positions[places]  # (batch, time, d_model)
        stages = [self.dropout(vectors)]
        for number, block in enumerate(self.blocks):
            stages.append(block(stages[-1], mask=mask, cache=caches[number] if caches else None))
        return stages
