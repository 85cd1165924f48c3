"""A model whose tokens look each other up: three embeddings, one layer of attention, and the logits of an answer."""

import torch
from torch import nn


class LookUpModel(nn.Module):
    """Let every token ask for what another one holds, and give the logits (set, token, contents) of its answer.

    A token is the sum of three embeddings: of its name, of its request, which is the name of another token, and of its
    content. `attention` takes inputs (set, token, d_model) and returns outputs (set, token, d_value) and weights (set,
    token, token); the weights are returned, too.

    >>> from course_lib.attention import SelfAttention
    >>> model = LookUpModel(SelfAttention(8, d_key=4, d_value=5), names=16, contents=10, d_model=8, d_value=5)
    >>> tokens = torch.zeros(2, 6, dtype=torch.long)
    >>> logits, weights = model(tokens, tokens, tokens)
    >>> logits.shape, weights.shape
    (torch.Size([2, 6, 10]), torch.Size([2, 6, 6]))
    """

    def __init__(self, attention: nn.Module, names: int, contents: int, d_model: int, d_value: int):
        super().__init__()
        self.name = nn.Embedding(names, d_model)
        self.request = nn.Embedding(names, d_model)
        self.content = nn.Embedding(contents, d_model)
        self.attention = attention
        self.to_logits = nn.Linear(d_value, contents)

    def embed(self, names: torch.Tensor, requests: torch.Tensor, contents: torch.Tensor) -> torch.Tensor:
        """Return the sum of the three embeddings, (set, token, d_model), of numbers (set, token)."""
        return self.name(names) + self.request(requests) + self.content(contents)

    def forward(
        self, names: torch.Tensor, requests: torch.Tensor, contents: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the logits (set, token, contents) and the attention weights (set, token, token)."""
        inputs = self.embed(names, requests, contents)  # (set, token, d_model)
        output, weights = self.attention(inputs)  # (set, token, d_value)
        return self.to_logits(output), weights
