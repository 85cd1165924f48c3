"""A transformer without feed-forward networks: whatever it can do, attention does, and it can be taken apart."""

import torch
from torch import nn

from course_lib.masks import causal_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm
from course_lib.positions import sinusoidal_positions
from course_lib.shapes import check_shape


class AttentionOnly(nn.Module):
    """Score the next token at every place of a text with layers of causal attention and nothing between them.

    Each layer adds what its heads say to a stream of vectors that began as tokens and positions; the output layer reads
    the normalised sum. After Elhage et al. (2021), with layer normalisation and positions added to the stream.

    >>> model = AttentionOnly(vocabulary=32, longest=40)
    >>> model(torch.zeros(2, 20, dtype=torch.long)).shape
    torch.Size([2, 20, 32])
    """

    def __init__(self, vocabulary: int, longest: int, d_model: int = 64, heads: int = 2, layers: int = 2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, d_model)
        self.register_buffer("positions", sinusoidal_positions(longest, d_model))  # (longest, d_model)
        self.attentions = nn.ModuleList(MultiHeadAttention(d_model, heads) for _ in range(layers))
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(layers))
        self.norm = LayerNorm(d_model)
        self.to_scores = nn.Linear(d_model, vocabulary)

    def stream(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the stream of tokens (batch, time) before the first layer and after each one.

        The result is (layers + 1, batch, time, d_model). Raises ValueError for more than `longest` tokens.
        """
        time = check_shape(tokens, "batch time", "tokens")["time"]
        if time > len(self.positions):
            raise ValueError(f"`tokens` has {time} places, expected at most `longest`, {len(self.positions)}")
        mask = causal_mask(time).to(tokens.device)  # (time, time)
        stages = [self.embed(tokens) + self.positions[:time]]  # (batch, time, d_model)
        for attention, norm in zip(self.attentions, self.norms, strict=True):
            stages.append(stages[-1] + attention(norm(stages[-1]), mask=mask)[0])  # (batch, time, d_model)
        return torch.stack(stages)  # (layers + 1, batch, time, d_model)

    def score(self, stream: torch.Tensor) -> torch.Tensor:
        """Return what the output layer says of a stream (..., d_model): scores (..., vocabulary)."""
        return self.to_scores(self.norm(stream))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return scores (batch, time, vocabulary) of the token after each of tokens (batch, time)."""
        return self.score(self.stream(tokens)[-1])  # (batch, time, vocabulary)
