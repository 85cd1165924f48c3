"""Attention tile by tile: the same output, and never more than a small square of scores at a time."""

import torch

from course_lib.attention import check_attend


def attend_in_tiles(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, tile: int = 64, causal: bool = False
) -> torch.Tensor:
    """Return the output (..., query, d_value) of `scaled_dot_product_attention`, with `tile` x `tile` scores at a time.

    Shapes are those of `attend`. For each tile of queries, the tiles of keys come one after the other; a running
    maximum, a running sum of exponentials and a running sum of values are put right whenever the maximum grows. With
    `causal`, the queries are the last of the positions, and tiles that lie in the future are not computed. After
    Milakov and Gimelshein (2018), Rabe and Staats (2021) and Dao et al. (2022). Raises ValueError for a tile below 1,
    and with `causal` for fewer keys than queries.

    >>> query, key, value = torch.randn(3, 2, 100, 8).unbind()
    >>> weights = (query @ key.mT / 8**0.5).softmax(dim=-1)
    >>> torch.allclose(attend_in_tiles(query, key, value, tile=16), weights @ value, atol=1e-6)
    True
    """
    check_attend(query, key, value)
    queries, keys = query.shape[-2], key.shape[-2]
    if tile < 1:
        raise ValueError(f"`tile` is {tile}, expected at least 1")
    if causal and keys < queries:
        raise ValueError(f"there are {queries} queries and {keys} keys, expected no more queries when `causal`")
    before = keys - queries  # positions before the first query
    outputs = []
    for start in range(0, queries, tile):
        end = min(start + tile, queries)
        last = before + end if causal else keys  # no query of this tile may see a key from here on
        first_query = before + start if causal else None
        outputs.append(_read_all(query[..., start:end, :], key[..., :last, :], value[..., :last, :], tile, first_query))
    return torch.cat(outputs, dim=-2)  # (..., query, d_value)


def _read_all(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, tile: int, first_query: int | None
) -> torch.Tensor:
    """Let `query`, one tile of queries (..., query, d_key), read all of `key` and `value`, `tile` keys at a time.
    With a causal mask, `first_query` is the position of the first of these queries; without one it is None.

    Returns their outputs (..., query, d_value).
    """
    # for each query: m, the largest score so far; z, the sum of the exponentials; u, the weighted sum of the values
    maximum = query.new_full((*query.shape[:-1], 1), -torch.inf)
    total = query.new_zeros(*query.shape[:-1], 1)
    gathered = query.new_zeros(*query.shape[:-1], value.shape[-1])
    for start in range(0, key.shape[-2], tile):
        keys, values = key[..., start : start + tile, :], value[..., start : start + tile, :]
        scores = query @ keys.mT * query.shape[-1] ** -0.5  # (..., query, tile)
        if first_query is not None:  # hide the keys that come after a query
            key_position = start + torch.arange(keys.shape[-2], device=key.device)
            query_position = first_query + torch.arange(query.shape[-2], device=key.device)
            scores = scores.masked_fill(key_position > query_position[:, None], -torch.inf)
        larger = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
        rescale = (maximum - larger).exp()  # 1 where the maximum stays
        exponentials = (scores - larger).exp()  # (..., query, tile)
        total = total * rescale + exponentials.sum(dim=-1, keepdim=True)
        gathered = gathered * rescale + exponentials @ values
        maximum = larger
    return gathered / total
