"""A transformer without feed-forward networks: whatever it can do, attention does, and it can be taken apart."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm
from course_lib.positions import sinusoidal_positions
from course_lib.shapes import check_shape


class AttentionOnly(nn.Module):
    """Give the logits of the next token at every position of a text by layers of causal attention alone.

    Each layer adds what its heads say to a stream of vectors that began as tokens and positions; the output layer reads
    the normalised sum. After Elhage et al. (2021), with layer normalisation and positions added to the stream.

    >>> model = AttentionOnly(vocab_size=32, max_length=40)
    >>> model(torch.zeros(2, 20, dtype=torch.long)).shape
    torch.Size([2, 20, 32])
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        d_model: int = 64,
        heads: int = 2,
        layers: int = 2,
        attend: Callable = scaled_dot_product_attention,
    ):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.register_buffer("positions", sinusoidal_positions(max_length, d_model))  # (max_length, d_model)
        self.attentions = nn.ModuleList(MultiHeadAttention(d_model, heads, attend=attend) for _ in range(layers))
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(layers))
        self.norm = LayerNorm(d_model)
        self.unembed = nn.Linear(d_model, vocab_size)

    def stream(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the stream of tokens (batch, time) before the first layer and after each one.

        The result is (layers + 1, batch, time, d_model). Raises ValueError for more than `max_length` tokens.
        """
        check_shape(tokens, "batch time", "tokens")
        time = tokens.shape[1]
        if time > len(self.positions):
            raise ValueError(f"`tokens` has {time} positions, expected at most `max_length`, {len(self.positions)}")
        stages = [self.embed(tokens) + self.positions[:time]]  # (batch, time, d_model)
        for attention, norm in zip(self.attentions, self.norms, strict=True):
            added, _ = attention(norm(stages[-1]), causal=True, need_weights=False)  # (batch, time, d_model)
            stages.append(stages[-1] + added)
        return torch.stack(stages)  # (layers + 1, batch, time, d_model)

    def to_logits(self, stream: torch.Tensor) -> torch.Tensor:
        """Return what the output layer says of a stream (..., d_model): logits (..., vocab)."""
        return self.unembed(self.norm(stream))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits (batch, time, vocab) of the token after each of tokens (batch, time)."""
        return self.to_logits(self.stream(tokens)[-1])  # (batch, time, vocab)
