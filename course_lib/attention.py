"""Attention: a query scores every key, a softmax makes the scores shares, the shares average the values."""

import torch
from torch import nn

from course_lib.shapes import check_shape
from course_lib.softmax import softmax


class AdditiveAttention(nn.Module):
    """Score each key against the query with a small network: score = vᵀ tanh(W_q q + W_k k).

    Query and keys may have different widths: both are first brought to `d_hidden`. After Bahdanau, Cho and Bengio
    (2015); Xu et al. (2015) use the same scores to look at pictures.

    >>> attention = AdditiveAttention(d_query=5, d_key=4, d_hidden=8)
    >>> context, weights = attention(torch.zeros(2, 5), torch.zeros(2, 9, 4), torch.ones(2, 9, 3))
    >>> context.shape, weights.shape
    (torch.Size([2, 3]), torch.Size([2, 9]))
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int):
        super().__init__()
        self.project_query = nn.Linear(d_query, d_hidden)
        # One bias is enough inside the tanh, and a bias on the score would move all scores alike: softmax ignores it.
        self.project_key = nn.Linear(d_key, d_hidden, bias=False)
        self.score = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the context (batch, d_value) and the weights (batch, location).

        `query` is (batch, d_query), `key` (batch, location, d_key), `value` (batch, location, d_value).
        """
        _check_read(query, key, value)
        hidden = self.project_query(query).unsqueeze(1) + self.project_key(key)  # (batch, location, d_hidden)
        scores = self.score(torch.tanh(hidden)).squeeze(-1)  # (batch, location)
        weights = softmax(scores)  # (batch, location)
        return _average(weights, value), weights


class UniformAttention(nn.Module):
    """Look everywhere alike, whatever the query: the control that shows what attention adds.

    >>> context, weights = UniformAttention()(torch.zeros(1, 5), torch.zeros(1, 4, 2), torch.eye(4).unsqueeze(0))
    >>> weights
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the context and the weights in the shapes of `AdditiveAttention`."""
        _check_read(query, key, value)
        batch, location, _ = key.shape
        weights = value.new_full((batch, location), 1 / location)  # (batch, location)
        return _average(weights, value), weights


def _check_read(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """Raise ValueError unless one query a picture can read these keys and values."""
    sizes = check_shape(query, "batch d_query", "query")
    sizes = check_shape(key, "batch location d_key", "key", batch=sizes["batch"])
    check_shape(value, "batch location d_value", "value", batch=sizes["batch"], location=sizes["location"])


def _average(weights: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Average the values (batch, location, d_value) by the weights (batch, location): (batch, d_value)."""
    return torch.einsum("bl,bld->bd", weights, value)
