"""The transformer of Vaswani et al. (2017): an encoder reads a sequence, a decoder writes another one."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import TransformerBlock
from course_lib.cache import BlockCache, CachedDecoder
from course_lib.embedding import TokenEmbedding
from course_lib.masks import token_padding_mask
from course_lib.normalisation import LayerNorm
from course_lib.shapes import check_shape


class EncoderDecoder(nn.Module):
    """Read a source with an encoder, write a target with a decoder that reads what the encoder made of it.

    Attention works in three places: in the encoder every source token reads all of them, in the decoder every word
    reads those before it, and in each block of the decoder the words read the encoder's vectors, the memory. Source and
    target share one vocabulary, one table of vectors and the output; source tokens equal to `padding` are hidden.
    `attend` serves all three.

    >>> model = EncoderDecoder(vocab_size=11)
    >>> source, words = torch.ones(2, 7, dtype=torch.long), torch.ones(2, 5, dtype=torch.long)
    >>> model(source, words).shape
    torch.Size([2, 5, 11])
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int = 64,
        heads: int = 4,
        layers: int = 2,
        d_hidden: int = 128,
        dropout: float = 0.0,
        padding: int = 0,
        attend: Callable = scaled_dot_product_attention,
    ):
        super().__init__()
        self.padding = padding
        self.embed = TokenEmbedding(vocab_size, d_model)
        self.encoder = nn.ModuleList(
            TransformerBlock(d_model, heads, d_hidden, attend=attend, dropout=dropout) for _ in range(layers)
        )
        self.encoder_norm = LayerNorm(d_model)
        self.decoder = nn.ModuleList(
            TransformerBlock(
                d_model, heads, d_hidden, d_memory=d_model, attend=attend, attend_memory=attend, dropout=dropout
            )
            for _ in range(layers)
        )
        self.decoder_norm = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        """Return the memory (batch, n, d_model) of source tokens (batch, n)."""
        check_shape(source, "batch n", "source")
        vectors = self.dropout(self.embed(source))  # (batch, n, d_model)
        for block in self.encoder:
            vectors = block(vectors, mask=self.memory_mask(source))  # (batch, n, d_model)
        return self.encoder_norm(vectors)  # (batch, n, d_model)

    def memory_mask(self, source: torch.Tensor) -> torch.Tensor:
        """Return the mask (batch, 1, n) that hides the padding of source tokens (batch, n) from all who read them."""
        return token_padding_mask(source, self.padding)  # (batch, 1, n)

    def decode(
        self,
        words: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: torch.Tensor,
        caches: list[BlockCache] | None = None,
    ) -> torch.Tensor:
        """Return the logits of the word after each of `words` (batch, time): (batch, time, vocab).

        `memory` is (batch, n, d_model), `memory_mask` (batch, 1, n). Every word sees itself and those before it. With
        `caches`, one for each block of the decoder, the words stand behind those that the caches have seen.
        """
        check_shape(words, "batch time", "words", batch=len(memory))
        before = caches[0].length if caches else 0
        vectors = self.dropout(self.embed(words, before))  # (batch, time, d_model)
        for number, block in enumerate(self.decoder):
            cache = caches[number] if caches else None
            vectors = block(
                vectors, memory, memory_mask=memory_mask, cache=cache, causal=True
            )  # (batch, time, d_model)
        return self.embed.to_logits(self.decoder_norm(vectors))  # (batch, time, vocab)

    def forward(self, source: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Return logits (batch, time, vocab) of source tokens (batch, n) under given last words (batch, time).

        `words` holds, for each step, the word before it, beginning with the start token: teacher forcing.
        """
        return self.decode(words, self.encode(source), self.memory_mask(source))

    def next_token_scorer(self, source: torch.Tensor, cached: bool = True) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a function from words (batch, time) to the logits of the next one (batch, vocab), for decoding.

        The source (batch, n) is read once. A source of one row serves any number of rows of words: a beam. Words are
        read once, too, unless `cached` is False: the same logits, and the specification of the cache.
        """
        memory, memory_mask = self.encode(source), self.memory_mask(source)  # (batch, n, d_model), (batch, 1, n)
        selected_for = of_rows = None  # the rows of words that were read last, and what each of them reads

        def read(words: torch.Tensor, caches: list[BlockCache] | None, origin: torch.Tensor) -> torch.Tensor:
            nonlocal of_rows, selected_for
            if origin is not selected_for:  # the first step, or rows have changed: else the tensor is the same one
                rows = origin if len(memory) > 1 else torch.zeros_like(origin)  # (batch,): each row's source
                of_rows, selected_for = (memory[rows], memory_mask[rows]), origin
            return self.decode(words, *of_rows, caches)[:, -1]  # (batch, vocab)

        if cached:
            return CachedDecoder(read, len(self.decoder))
        return lambda words: read(words, None, torch.arange(len(words), device=words.device))
