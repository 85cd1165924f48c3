"""A model of text: at every position, how likely each token is to come next."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import FeedForward, TransformerBlock
from course_lib.cache import BlockCache, CachedDecoder
from course_lib.masks import left_padding_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm
from course_lib.positions import rotate_by_position
from course_lib.shapes import check_shape

INIT_STD = 0.02  # standard deviation of the tables' first entries


def small_embedding(vocab_size: int, d_model: int) -> nn.Embedding:
    """Return a table of token vectors (vocab_size, d_model) whose first entries are small.

    As it is the output, too, an untrained model gives all tokens nearly the same probability.

    >>> small_embedding(vocab_size=96, d_model=64).weight.shape
    torch.Size([96, 64])
    """
    embed = nn.Embedding(vocab_size, d_model)
    nn.init.normal_(embed.weight, std=INIT_STD)
    return embed


def learned_positions(max_length: int, d_model: int) -> nn.Parameter:
    """Return a table (max_length, d_model) with a vector for each position, which is learned.

    >>> learned_positions(max_length=32, d_model=64).requires_grad
    True
    """
    return nn.Parameter(INIT_STD * torch.randn(max_length, d_model))


class LanguageModel(nn.Module):
    """Give the logits of the next token at every position of at most `max_length` tokens: a stack of causal blocks.

    The table of token vectors is the output, too, unless `make_unembed` makes another. `attend` serves every block;
    `d_hidden` is four times `d_model` unless it is given. After Radford et al. (2018, 2019), with the positions of Su
    et al. (2021).

    The last arguments are the parts that may be exchanged; `course_lib.models.recipes` has two whole models of them.
    `norm` ("pre", "post" or None), `make_norm`, `make_attention`, `make_feed_forward` and `rotate` are those of
    `TransformerBlock`. Where the blocks normalise first, "pre", the last vectors are normalised once more before the
    output. `make_embedding(vocab_size, d_model)` gives a module that turns tokens into vectors and has the table as its
    `weight`. Positions enter as rotations of queries and keys by `rotate`, or as the rows of the table (max_length,
    d_model) that `make_positions(max_length, d_model)` gives, which are added to the tokens: such are
    `learned_positions` and `sinusoidal_positions`. `make_unembed(d_model, vocab_size)` gives a module that turns the
    last vectors into logits, such as `nn.Linear`.

    >>> model = LanguageModel(vocab_size=96, max_length=32)
    >>> model(torch.zeros(2, 20, dtype=torch.long)).shape
    torch.Size([2, 20, 96])
    >>> model = LanguageModel(vocab_size=96, max_length=32, make_positions=learned_positions, rotate=None)
    >>> model.positions.shape
    torch.Size([32, 64])
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        d_model: int = 64,
        heads: int = 4,
        layers: int = 2,
        d_hidden: int | None = None,
        dropout: float = 0.0,
        attend: Callable = scaled_dot_product_attention,
        norm: str | None = "pre",
        make_norm: Callable[[int], nn.Module] = LayerNorm,
        make_attention: Callable[..., nn.Module] = MultiHeadAttention,
        make_feed_forward: Callable[[int, int], nn.Module] = FeedForward,
        make_embedding: Callable[[int, int], nn.Module] = small_embedding,
        make_positions: Callable[[int, int], torch.Tensor] | None = None,
        rotate: Callable | None = rotate_by_position,
        make_unembed: Callable[[int, int], nn.Module] | None = None,
    ):
        super().__init__()
        self.max_length = max_length
        self.embed = make_embedding(vocab_size, d_model)
        positions = None if make_positions is None else make_positions(max_length, d_model)  # (max_length, d_model)
        if isinstance(positions, nn.Parameter):
            self.positions = positions
        else:  # nothing to learn, and nothing to keep in a file
            self.register_buffer("positions", positions, persistent=False)
        self.blocks = nn.ModuleList(
            TransformerBlock(
                d_model,
                heads,
                d_hidden or 4 * d_model,
                norm,
                attend=attend,
                dropout=dropout,
                rotate=rotate,
                make_norm=make_norm,
                make_attention=make_attention,
                make_feed_forward=make_feed_forward,
            )
            for _ in range(layers)
        )
        self.norm = make_norm(d_model) if norm == "pre" else nn.Identity()
        self.unembed = None if make_unembed is None else make_unembed(d_model, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: torch.Tensor, starts: torch.Tensor | None = None) -> torch.Tensor:
        """Return logits (batch, time, vocab) of the token after each of tokens (batch, time).

        Texts of unequal length stand at the right: `starts` (batch,) says in which column each begins; nobody reads
        what is before. Raises ValueError for more than `max_length` tokens.
        """
        return self.to_logits(self._stages(tokens, starts)[-1])  # (batch, time, vocab)

    def stream(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the vectors of tokens (batch, time) before the first block and after each of them.

        The result is (layers + 1, batch, time, d_model).
        """
        return torch.stack(self._stages(tokens))  # (layers + 1, batch, time, d_model)

    def to_logits(self, stream: torch.Tensor) -> torch.Tensor:
        """Return what the output layer says of vectors (..., d_model): logits (..., vocab)."""
        vectors = self.norm(stream)  # (..., d_model)
        return vectors @ self.embed.weight.T if self.unembed is None else self.unembed(vectors)

    def next_token_logits(self, tokens: torch.Tensor, starts: torch.Tensor | None = None) -> torch.Tensor:
        """Return the logits (batch, vocab) of the token after tokens (batch, time), all of them read anew.

        No more than the last `max_length` tokens are read, so that a text may go on for ever. `starts` is as in
        `forward`.
        """
        dropped = max(tokens.shape[1] - self.max_length, 0)
        if starts is not None:
            starts = (starts - dropped).clamp(min=0)  # (batch,)
        return self(tokens[:, dropped:], starts)[:, -1]  # (batch, vocab)

    def next_token_scorer(self, starts: torch.Tensor | None = None) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a function that gives what `next_token_logits` gives, and reads only what is new: for decoding.

        `starts` is as in `forward`, for the rows of the first call. A text that has outgrown `max_length` is read anew
        for every token, since all its positions have moved.
        """

        def read(tokens: torch.Tensor, caches: list[BlockCache], origin: torch.Tensor) -> torch.Tensor:
            rows = None if starts is None else starts[origin]  # (batch,)
            return self.to_logits(self._stages(tokens, rows, caches)[-1][:, -1])  # (batch, vocab)

        cached = CachedDecoder(read, len(self.blocks))

        def next_token_logits(tokens: torch.Tensor) -> torch.Tensor:
            return cached(tokens) if tokens.shape[1] <= self.max_length else self.next_token_logits(tokens, starts)

        return next_token_logits

    def last_logits_scorer(self) -> Callable[[torch.Tensor, int], torch.Tensor]:
        """Return a function that gives the logits after each of the last positions of a text: to judge a draft.

        From tokens (batch, time) and a number `last` it returns (batch, last, vocab), and reads no more than the last
        positions and what has changed since the call before: where the end of a text is written anew, as after a draft
        that was rejected, it goes on from what stays. A text that has outgrown `max_length` is read anew for each of
        the last positions. Raises ValueError unless `last` is from 1 to time.

        >>> last_logits = LanguageModel(vocab_size=96, max_length=32).last_logits_scorer()
        >>> last_logits(torch.zeros(2, 20, dtype=torch.long), 5).shape
        torch.Size([2, 5, 96])
        """

        def read(tokens: torch.Tensor, caches: list[BlockCache], origin: torch.Tensor) -> torch.Tensor:
            return self.to_logits(self._stages(tokens, caches=caches)[-1])  # (batch, new, vocab)

        cached = CachedDecoder(read, len(self.blocks))

        def last_logits(tokens: torch.Tensor, last: int) -> torch.Tensor:
            time = check_shape(tokens, "batch time", "tokens")["time"]
            if not 1 <= last <= time:
                raise ValueError(f"`last` is {last}, expected 1 to {time}, the number of positions")
            if time > self.max_length:
                ends = range(time - last + 1, time + 1)
                return torch.stack([self.next_token_logits(tokens[:, :end]) for end in ends], dim=1)
            cached.step_back(tokens, last)
            return cached(tokens)[:, -last:]  # (batch, last, vocab)

        return last_logits

    def _stages(
        self, tokens: torch.Tensor, starts: torch.Tensor | None = None, caches: list[BlockCache] | None = None
    ) -> list[torch.Tensor]:
        """Return the vectors (batch, time, d_model) before the first block and after each of them.

        With `caches`, one for each block, tokens (batch, time) stand behind those that the caches have seen.
        """
        time = check_shape(tokens, "batch time", "tokens")["time"]
        before = caches[0].length if caches else 0
        if time > self.max_length:
            raise ValueError(f"`tokens` has {time} positions, expected at most `max_length`, {self.max_length}")
        mask = None
        if starts is not None:
            check_shape(starts, "batch", "starts", batch=len(tokens))
            mask = left_padding_mask(starts, before + time)  # (batch, 1, key): those before, then the new ones
        vectors = self.embed(tokens)  # (batch, time, d_model)
        if self.positions is not None:
            columns = torch.arange(before, before + time, device=tokens.device)  # (time,)
            positions = columns if starts is None else (columns - starts[:, None]).clamp(min=0)
            vectors = vectors + self.positions[positions]  # (batch, time, d_model)
        stages = [self.dropout(vectors)]
        for number, block in enumerate(self.blocks):
            cache = caches[number] if caches else None
            stages.append(block(stages[-1], mask=mask, cache=cache, causal=True))
        return stages
