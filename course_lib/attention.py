"""Attention: a query scores every key, a softmax makes the scores shares, the shares average the values."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.masks import masked_softmax
from course_lib.shapes import check_broadcast, check_shape
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
        keys = self.project_key(key)  # (batch, location, d_hidden)
        hidden = self.project_query(query).unsqueeze(1) + keys  # (batch, location, d_hidden)
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


class DotAttention(nn.Module):
    """Score each key by its dot product with the query: score = q · k, with nothing to learn.

    Query and keys must have one width. After Luong, Pham and Manning (2015).

    >>> context, weights = DotAttention()(torch.zeros(2, 4), torch.zeros(2, 9, 4), torch.ones(2, 9, 3))
    >>> context.shape, weights.shape
    (torch.Size([2, 3]), torch.Size([2, 9]))
    """

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the context and the weights in the shapes of `AdditiveAttention`."""
        _check_read(query, key, value)
        context, weights = attend(query.unsqueeze(1), key, value)  # (batch, 1, d_value), (batch, 1, location)
        return context.squeeze(1), weights.squeeze(1)


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
    scale: float = 1.0,
    bias: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Average the values for each query: the larger its dot product with a key, the more the value of this key counts.

    `query` is (..., query, d_key), `key` (..., key, d_key), `value` (..., key, d_value), with the same axes in front.
    Returns the output (..., query, d_value) and the weights (..., query, key). The scores are `scale` times the dot
    products, plus `bias` (..., query, key) if there is one. `mask` is boolean, True = may be attended to, and
    broadcasts to the weights; a query that may attend to nothing gets weights and an output of zeros. Raises ValueError
    where the shapes do not fit together.

    >>> key, value = torch.eye(3), torch.tensor([[10.0], [20.0], [30.0]])
    >>> output, weights = attend(torch.tensor([[0.0, 1.0, 0.0]]), key, value, scale=100.0)
    >>> output
    tensor([[20.]])
    """
    check_attend(query, key, value)
    # Scale the queries: usually these are fewer numbers than the scores.
    scores = (scale * query) @ key.mT  # (..., query, key)
    if bias is not None:
        check_broadcast(bias, "bias", scores.shape)
        scores = scores + bias  # (..., query, key)
    weights = softmax(scores) if mask is None else masked_softmax(scores, mask)  # (..., query, key)
    return weights @ value, weights


def scaled_dot_product_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend with dot products divided by √d_key, which makes them equally spread at every width before training.

    Shapes, mask and errors are those of `attend`. After Vaswani et al. (2017). Where the weights are not wanted,
    `fused_attention` gives the same output without keeping them.

    >>> query = key = 3 * torch.eye(4)
    >>> _, weights = scaled_dot_product_attention(query, key, torch.zeros(4, 2))
    >>> weights[0]
    tensor([0.9677, 0.0108, 0.0108, 0.0108])
    """
    return attend(query, key, value, mask, scale=query.shape[-1] ** -0.5)


def simple_self_attention(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Replace each vector of a sequence by an average of all of them, weighted by their dot products with it.

    Every vector is query, key and value at once, and nothing is learned. `inputs` is (..., time, d_model). Returns the
    output (..., time, d_model) and the weights (..., time, time).

    >>> output, weights = simple_self_attention(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> weights
    tensor([[0.4223, 0.4223, 0.1554],
            [0.4223, 0.4223, 0.1554],
            [0.2119, 0.2119, 0.5761]])
    """
    return attend(inputs, inputs, inputs)


class SelfAttention(nn.Module):
    """Self-attention in which three linear maps decide what each vector asks, what it answers to, and what it gives.

    `attend` is the function that lets queries read keys and values; an experiment or a learner passes another one, such
    as `scaled_dot_product_attention`.

    >>> output, weights = SelfAttention(d_model=8, d_key=4, d_value=5)(torch.zeros(2, 6, 8))
    >>> output.shape, weights.shape
    (torch.Size([2, 6, 5]), torch.Size([2, 6, 6]))
    """

    def __init__(self, d_model: int, d_key: int, d_value: int, attend: Callable = attend):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)
        self.attend = attend  # which attention: Chapter 5 has another

    def forward(self, inputs: torch.Tensor, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output (..., time, d_value) and the weights (..., time, time) of inputs (..., time, d_model)."""
        check_shape(inputs, "... time d_model", "inputs", d_model=self.to_query.in_features)
        query = self.to_query(inputs)  # (..., time, d_key)
        key = self.to_key(inputs)  # (..., time, d_key)
        value = self.to_value(inputs)  # (..., time, d_value)
        return self.attend(query, key, value, mask)


def entropy(weights: torch.Tensor) -> torch.Tensor:
    """Return how spread the weights (..., n) are, in nats: 0 for a single one, ln n for n equal ones. Shape (...).

    >>> entropy(torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]))
    tensor([0.0000, 1.3863])
    """
    check_shape(weights, "... n", "weights")
    return torch.special.entr(weights).sum(dim=-1)  # (...)


def _check_read(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """Raise ValueError unless one query a picture can read these keys and values."""
    sizes = check_shape(query, "batch d_query", "query")
    sizes = check_shape(key, "batch location d_key", "key", batch=sizes["batch"])
    check_shape(value, "batch location d_value", "value", batch=sizes["batch"], location=sizes["location"])


def _average(weights: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Average the values (batch, location, d_value) by the weights (batch, location): (batch, d_value)."""
    return torch.einsum("bl,bld->bd", weights, value)


def check_attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    """Raise ValueError unless dot products of these queries and keys can weigh these values; see `attend`.

    >>> check_attend(torch.zeros(2, 8), torch.zeros(5, 6), torch.zeros(5, 3))
    Traceback (most recent call last):
    ValueError: `key` has d_key = 6 but `query` has 8: dot-product scores need them equal (additive scores do not)
    """
    # Asked at every step of every head: what fits is let through at once, and the rest says what does not fit.
    same_axes = query.dim() > 1 and query.shape[:-2] == key.shape[:-2] and value.shape[:-1] == key.shape[:-1]
    if same_axes and key.dim() > 1 and query.shape[-1] == key.shape[-1]:
        return
    widths = check_shape(query, "... query d_key", "query")
    if key.dim() and key.shape[-1] != widths["d_key"]:
        raise ValueError(
            f"`key` has d_key = {key.shape[-1]} but `query` has {widths['d_key']}: dot-product scores need them equal "
            "(additive scores do not)"
        )
    sizes = check_shape(key, "... key d_key", "key")
    check_shape(value, "... key d_value", "value", key=sizes["key"])
    for name, tensor in (("key", key), ("value", value)):
        if tensor.shape[:-2] != query.shape[:-2]:
            raise ValueError(
                f"`{name}` has shape {tuple(tensor.shape)}, expected the leading axes of `query` {tuple(query.shape)}"
            )
