"""Linear attention: without a softmax, all that was read fits into one matrix, however long the text.

The weight of a key is the product of two vectors of positive features. So the sum over the keys may be taken before the
query comes, and one sum serves all queries. The same output is computed in three ways: all positions at once, one token
after the other, or a chunk of tokens after the other.
"""

from typing import NamedTuple

import torch

from course_lib.attention import check_attend
from course_lib.masks import check_mask
from course_lib.shapes import check_shape


class LinearState(NamedTuple):
    """All that linear attention keeps of what it has read: its cache, which has one size whatever the time.

    total: (..., d_key, d_value), the sum of the products of each key's features with its value. normaliser:
    (..., d_key), the sum of the keys' features.
    """

    total: torch.Tensor
    normaliser: torch.Tensor


def positive_features(vectors: torch.Tensor) -> torch.Tensor:
    """Return elu(x) + 1 of every entry, which is x + 1 above 0 and exp(x) below. The shape stays.

    After Katharopoulos et al. (2020).

    >>> positive_features(torch.tensor([-2.0, 0.0, 2.0]))
    tensor([0.1353, 1.0000, 3.0000])
    """
    # Not elu(x) + 1 itself: in float32 that is 0 below -17, and a key of zeros could never be read.
    return torch.where(vectors >= 0, vectors + 1, vectors.clamp(max=0).exp())


def linear_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend with products of `positive_features` in place of exponentials, all positions at once.

    Shapes, mask and errors are those of `attend`: give it to `MultiHeadAttention` as `attend`. The weights are computed
    and shown, so this form costs as much as a softmax does. Under a causal mask, `linear_attention_in_chunks` gives the
    same output without them. After Katharopoulos et al. (2020).

    >>> query = key = torch.tensor([[0.0], [2.0]])
    >>> output, weights = linear_attention(query, key, torch.eye(2))
    >>> weights
    tensor([[0.2500, 0.7500],
            [0.2500, 0.7500]])
    """
    check_attend(query, key, value)
    products = positive_features(query) @ positive_features(key).mT  # (..., query, key)
    if mask is not None:
        check_mask(mask, products.shape)
        products = products.where(mask, 0.0)  # (..., query, key)
    weights = _divide(products, products.sum(dim=-1))  # (..., query, key)
    return weights @ value, weights


def empty_state(key: torch.Tensor, value: torch.Tensor) -> LinearState:
    """Return the state before the first of keys (..., time, d_key) and values (..., time, d_value).

    >>> [part.shape for part in empty_state(torch.zeros(2, 4, 9, 5), torch.zeros(2, 4, 9, 3))]
    [torch.Size([2, 4, 5, 3]), torch.Size([2, 4, 5])]
    """
    axes, d_key = key.shape[:-2], key.shape[-1]
    return LinearState(key.new_zeros(*axes, d_key, value.shape[-1]), key.new_zeros(*axes, d_key))


def linear_attention_step(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, state: LinearState
) -> tuple[torch.Tensor, LinearState]:
    """Take in one key and its value, then answer one query: return the output (..., d_value) and the next state.

    `query` and `key` are (..., d_key), `value` (..., d_value). After Katharopoulos et al. (2020). Raises ValueError
    where the shapes do not fit together.

    >>> state = empty_state(torch.zeros(1, 2), torch.zeros(1, 3))
    >>> output, state = linear_attention_step(torch.zeros(2), torch.zeros(2), torch.tensor([1.0, 2.0, 3.0]), state)
    >>> output
    tensor([1., 2., 3.])
    """
    _check_step(query, key, value, state.total)
    asking, features = positive_features(query), positive_features(key)  # each (..., d_key)
    total = state.total + _outer(features, value)  # (..., d_key, d_value)
    normaliser = state.normaliser + features  # (..., d_key)
    output = _divide(_read(asking, total), (asking * normaliser).sum(dim=-1))  # (..., d_value)
    return output, LinearState(total, normaliser)


def linear_attention_in_chunks(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    chunk: int = 64,
    state: LinearState | None = None,
) -> tuple[torch.Tensor, LinearState]:
    """Return what causal `linear_attention` does, `chunk` positions at a time, and the state after the last of them.

    `query` and `key` are (..., time, d_key), `value` (..., time, d_value), and the output (..., time, d_value). Within
    a chunk the weights are computed; of all that was before, the state is read. A chunk of 1 is the recurrence of
    `linear_attention_step`. Time grows with the length and not with its square. With a `state`, the positions continue
    those that it has seen. Raises ValueError for a chunk below 1 and for other numbers of queries than keys.

    >>> query, key, value = torch.randn(3, 2, 100, 8).unbind()
    >>> output, state = linear_attention_in_chunks(query, key, value, chunk=16)
    >>> due, _ = linear_attention(query, key, value, torch.ones(100, 100, dtype=torch.bool).tril())
    >>> torch.allclose(output, due, atol=1e-5)
    True
    """
    check_attend(query, key, value)
    if chunk < 1:
        raise ValueError(f"`chunk` is {chunk}, expected at least 1")
    if query.shape[-2] != key.shape[-2]:
        raise ValueError(f"there are {query.shape[-2]} queries and {key.shape[-2]} keys, expected as many")
    state = empty_state(key, value) if state is None else state
    _check_total(state.total, (*key.shape[:-2], key.shape[-1], value.shape[-1]))
    total, normaliser = state
    asking, features = positive_features(query), positive_features(key)  # each (..., time, d_key)
    outputs = []
    parts = (each.split(chunk, dim=-2) for each in (asking, features, value))
    for asks, keys, values in zip(*parts, strict=True):  # (..., chunk, d_key) twice, (..., chunk, d_value)
        products = (asks @ keys.mT).tril()  # (..., chunk, chunk): each query sees the keys up to its own
        sums = asks @ total + products @ values  # (..., chunk, d_value)
        weight = _read(normaliser, asks.mT) + products.sum(dim=-1)  # (..., chunk)
        outputs.append(_divide(sums, weight))
        total = total + keys.mT @ values  # (..., d_key, d_value)
        normaliser = normaliser + keys.sum(dim=-2)  # (..., d_key)
    return torch.cat(outputs, dim=-2), LinearState(total, normaliser)


def delta_rule_step(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, strength: torch.Tensor, total: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Write what is new of one value under its key, then answer one query: the output (..., d_value), the next total.

    Linear attention adds each value to those that the key had before. Here the total (..., d_key, d_value) is first
    asked what it holds under the key, and only the difference is written, `strength` (...) of it, from 0 to 1. A key of
    length 1 that is written with a strength of 1 holds exactly its value afterwards. `query` and `key` are
    (..., d_key), `value` (..., d_value). After Schlag, Irie and Schmidhuber (2021); Yang et al. (2024) compute it for
    many positions at once. Raises ValueError where the shapes do not fit together.

    >>> key, total = torch.tensor([0.6, 0.8]), torch.zeros(2, 1)
    >>> for value in (5.0, 7.0):
    ...     output, total = delta_rule_step(key, key, torch.tensor([value]), torch.tensor(1.0), total)
    >>> output
    tensor([7.])
    """
    _check_step(query, key, value, total)
    check_shape(strength, " ".join(str(size) for size in key.shape[:-1]), "strength")
    change = strength.unsqueeze(-1) * (value - _read(key, total))  # (..., d_value)
    total = total + _outer(key, change)  # (..., d_key, d_value)
    return _read(query, total), total


def _check_step(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, total: torch.Tensor) -> None:
    """Raise ValueError unless these are the query, key and value of one token, and `total` can take them in."""
    check_attend(query.unsqueeze(-2), key.unsqueeze(-2), value.unsqueeze(-2))
    _check_total(total, (*key.shape, value.shape[-1]))


def _check_total(total: torch.Tensor, due: tuple[int, ...]) -> None:
    """Raise ValueError unless `total` has the shape that is `due`."""
    if total.shape != due:
        raise ValueError(f"`total` has shape {tuple(total.shape)}, expected {due}")


def _outer(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Multiply each entry of (..., m) with each entry of (..., n): (..., m, n)."""
    return left.unsqueeze(-1) * right.unsqueeze(-2)


def _read(vector: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Multiply a row (..., m) with a matrix (..., m, n): (..., n)."""
    return (vector.unsqueeze(-2) @ matrix).squeeze(-2)


def _divide(sums: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Divide sums (..., n) by what was weighed (...); where that is nothing, the sums are zeros and stay so."""
    return sums / weight.where(weight > 0, 1.0).unsqueeze(-1)  # (..., n)
