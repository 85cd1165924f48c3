"""Masks: which keys a query may attend to. Boolean, True = may be attended to, here and everywhere in the course.

A mask has the axes (..., query, key), or fewer that broadcast to them; two masks are combined by `&`. Nobody else makes
masks: a model says `causal=True` and hands on a mask of its padding, and the attention puts the two together.
"""

import torch

from course_lib.shapes import check_broadcast, check_shape
from course_lib.softmax import softmax


def causal_mask(n_query: int, n_key: int | None = None) -> torch.Tensor:
    """Return the mask (query, key) that hides the future: each query sees its own position and those before it.

    The queries are the last `n_query` of `n_key` positions (by default of `n_query`), so that the last one sees every
    key. Raises ValueError for fewer keys than queries, of which the first would see nothing, or for no query.

    >>> causal_mask(3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    >>> causal_mask(1, 3).int()
    tensor([[1, 1, 1]], dtype=torch.int32)
    """
    n_key = n_query if n_key is None else n_key
    if not 1 <= n_query <= n_key:
        raise ValueError(f"`n_query` is {n_query} and `n_key` {n_key}, expected at least one query and no fewer keys")
    return torch.ones(n_query, n_key, dtype=torch.bool).tril(diagonal=n_key - n_query)  # (query, key)


def padding_mask(lengths: torch.Tensor, time: int) -> torch.Tensor:
    """Return the mask (batch, 1, time) that hides the padding of sequences with these `lengths` (batch,).

    The axis of size 1 stands for the queries: all of them see the same keys. Raises ValueError for a length below 0 or
    above `time`.

    >>> padding_mask(torch.tensor([3, 1]), time=3).int()
    tensor([[[1, 1, 1]],
    <BLANKLINE>
            [[1, 0, 0]]], dtype=torch.int32)
    """
    check_shape(lengths, "batch", "lengths")
    if ((lengths < 0) | (lengths > time)).any():
        raise ValueError(f"`lengths` is {lengths.tolist()}, expected numbers from 0 to `time` = {time}")
    return (torch.arange(time, device=lengths.device) < lengths[:, None]).unsqueeze(1)  # (batch, 1, time)


def token_padding_mask(tokens: torch.Tensor, padding: int) -> torch.Tensor:
    """Return the mask (batch, 1, time) that hides the tokens (batch, time) that are `padding`, wherever they stand.

    >>> token_padding_mask(torch.tensor([[5, 6, 0]]), padding=0).int()
    tensor([[[1, 1, 0]]], dtype=torch.int32)
    """
    check_shape(tokens, "batch time", "tokens")
    return (tokens != padding).unsqueeze(1)  # (batch, 1, time)


def left_padding_mask(starts: torch.Tensor, time: int) -> torch.Tensor:
    """Return the mask (batch, 1, time) that hides what stands before the `starts` (batch,) of sequences.

    >>> left_padding_mask(torch.tensor([0, 2]), time=3).int()
    tensor([[[1, 1, 1]],
    <BLANKLINE>
            [[0, 0, 1]]], dtype=torch.int32)
    """
    check_shape(starts, "batch", "starts")
    return (torch.arange(time, device=starts.device) >= starts[:, None]).unsqueeze(1)  # (batch, 1, time)


def with_future_hidden(mask: torch.Tensor | None, n_query: int, n_key: int, device: torch.device) -> torch.Tensor:
    """Return what `mask`, if there is one, and `causal_mask(n_query, n_key)` let through together: (..., query, key).

    >>> with_future_hidden(torch.tensor([True, False, True]), 2, 3, device="cpu").int()
    tensor([[1, 0, 0],
            [1, 0, 1]], dtype=torch.int32)
    """
    future_hidden = causal_mask(n_query, n_key).to(device)  # (query, key)
    return future_hidden if mask is None else mask & future_hidden


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Turn scores (..., query, key) into weights of which those that `mask` hides are exactly 0.

    What is hidden has no influence on the other weights, however large its score. A row in which nothing may be
    attended to has no softmax (0/0); its weights are all 0, and so are the gradients of its scores, provided that
    these are finite. Errors: see `check_mask`.

    >>> masked_softmax(torch.tensor([[1e9, 0.0, 0.0]]), torch.tensor([False, True, True]))
    tensor([[0.0000, 0.5000, 0.5000]])
    >>> masked_softmax(torch.tensor([[1.0, 2.0]]), torch.tensor([False, False]))
    tensor([[0., 0.]])
    """
    check_mask(mask, scores.shape)
    # An empty row would give 0/0 = nan. So an empty row is not masked before the softmax, and its weights are set to 0
    # after it.
    empty = ~mask.any(dim=-1, keepdim=True)  # (..., query, 1)
    weights = softmax(scores.where(mask | empty, -torch.inf))  # (..., query, key)
    return weights.where(mask, 0.0)  # (..., query, key)


def check_mask(mask: torch.Tensor, shape: torch.Size) -> None:
    """Raise TypeError unless `mask` is boolean, ValueError unless it broadcasts to scores of this `shape`.

    A mask of numbers is refused because its 0 and 1 may mean either, or may be meant to be added to the scores.

    >>> check_mask(torch.ones(3, 3), torch.Size([2, 3, 3]))
    Traceback (most recent call last):
    TypeError: `mask` is of torch.float32, expected torch.bool, True where a query may attend to a key
    >>> check_mask(causal_mask(4), torch.Size([2, 3, 3]))
    Traceback (most recent call last):
    ValueError: `mask` has shape (4, 4), expected one that broadcasts to (2, 3, 3)
    """
    if mask.dtype != torch.bool:
        raise TypeError(f"`mask` is of {mask.dtype}, expected torch.bool, True where a query may attend to a key")
    check_broadcast(mask, "mask", shape)
