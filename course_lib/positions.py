"""Positions: what is added to the inputs, or done to the scores, so that attention can tell first from last."""

import functools

import torch
from einops import rearrange
from torch import nn

from course_lib.attention import attend, scaled_dot_product_attention
from course_lib.shapes import check_shape

ROTARY_BASE = 10_000  # the slowest pair needs up to this many positions for one radian


def angles(positions: torch.Tensor, width: int) -> torch.Tensor:
    """Return the angles of the width / 2 sinusoids at `positions` (time,), in radians: (time, width / 2).

    Sinusoid i advances by 10000^(-2i / width) at each position. The angles are computed in float64: in float32, those
    of far positions would be off by more than the step from one to the next. Raises ValueError for an odd width.

    >>> angles(torch.arange(3), width=4)
    tensor([[0.0000, 0.0000],
            [1.0000, 0.0100],
            [2.0000, 0.0200]], dtype=torch.float64)
    """
    check_shape(positions, "time", "positions")
    if width < 2 or width % 2:
        raise ValueError(f"the width is {width}, expected an even number: sines and cosines come in pairs")
    pairs = torch.arange(0, width, 2, device=positions.device, dtype=torch.float64)  # (width / 2,): 0, 2, 4, ...
    return positions[:, None] * ROTARY_BASE ** (-pairs / width)


def sinusoidal_positions(time: int, d_model: int, dtype: torch.dtype = torch.float32, start: int = 0) -> torch.Tensor:
    """Return a code (time, d_model) for each position: the sine (even columns) and cosine (odd) of `angles`.

    `start` is the first position. After Vaswani et al. (2017).

    >>> sinusoidal_positions(time=3, d_model=4)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    angle = angles(torch.arange(start, start + time), d_model)  # (time, d_model / 2)
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (time, d_model / 2, 2)
    return rearrange(pairs, "time pair two -> time (pair two)").to(dtype)


def shift_matrix(offset: int, d_model: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return the matrix (d_model, d_model) that moves every position's code `offset` positions on, as M @ code.

    It turns each pair of sine and cosine by the angle that it covers in `offset` positions, and so it is the same
    matrix wherever one starts.

    >>> codes = sinusoidal_positions(time=20, d_model=6)
    >>> torch.allclose(shift_matrix(7, 6) @ codes[4], codes[11], atol=1e-6)
    True
    """
    angle = angles(torch.tensor([offset]), d_model)[0]  # (d_model / 2,)
    rows = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()], dim=-1)  # (d_model / 2, 4)
    return torch.block_diag(*rows.view(-1, 2, 2)).to(dtype)


class LearnedPositions(nn.Module):
    """Add to each vector a learned one that belongs to its position, up to the `max_length` sequence.

    After Gehring et al. (2017). Rows of the table that training never reached stay as they began.

    >>> LearnedPositions(max_length=10, d_model=4)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, max_length: int, d_model: int):
        super().__init__()
        self.table = nn.Parameter(0.5 * torch.randn(max_length, d_model))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return inputs (..., time, d_model) with positions added; ValueError for more time than the table has."""
        max_length, d_model = self.table.shape
        time = check_shape(inputs, "... time d_model", "inputs", d_model=d_model)["time"]
        if time > max_length:
            raise ValueError(f"`inputs` has {time} positions, expected at most {max_length}, the rows of the table")
        return inputs + self.table[:time]  # (..., time, d_model)


def rotate_by_position(vectors: torch.Tensor, start: int = 0) -> torch.Tensor:
    """Turn each pair of entries of vectors (..., time, width) by the `angles` of their positions, from `start` on.

    Lengths stay, and so the dot product of two rotated vectors depends on their positions through the offset alone.
    A pair (a, b) becomes (a cos θ - b sin θ, a sin θ + b cos θ). After Su et al. (2021). Raises ValueError for an odd
    width, and for a `start` below 0.

    >>> rotate_by_position(torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))
    tensor([[ 1.0000,  0.0000],
            [ 0.5403,  0.8415],
            [-0.4161,  0.9093]])
    """
    sizes = check_shape(vectors, "... time width", "vectors")
    if start < 0:
        raise ValueError(f"`start` is {start}, expected 0 or more: no position is before the first")
    # To turn a complex number by an angle is to multiply it by the number of length 1 at that angle.
    dtype = torch.promote_types(vectors.dtype, torch.complex64)  # two 32-bit parts at least: none are of bfloat16
    end = start + sizes["time"]
    turns = _turns(end, sizes["width"], dtype, vectors.device)[start:end]  # (time, width / 2)
    precise = vectors.to(torch.promote_types(vectors.dtype, torch.float32))  # (..., time, width)
    pairs = torch.complex(precise[..., 0::2], precise[..., 1::2])  # (..., time, width / 2): a + ib
    return torch.view_as_real(pairs * turns).flatten(-2).to(vectors.dtype)  # (..., time, width)


def _turns(time: int, width: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Return the complex number of length 1 at each of the `angles` of `time` positions or more: (>= time, width / 2).

    Their number is a power of 2, so that few different tables are made and kept.
    """
    length = 1
    while length < time:
        length *= 2
    # A compiler wants to see how a table is made; everybody else, who asks at every step, gets the one that was made.
    table = _make_turns if torch.compiler.is_compiling() else _kept_turns
    return table(length, width, dtype, device)


def _make_turns(time: int, width: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    with torch.inference_mode(False):  # a tensor that was made in that mode may take no part in training later
        precise = "cpu" if device.type == "mps" else device  # the graphics of a Mac have no float64
        angle = angles(torch.arange(time, device=precise), width)  # (time, width / 2)
        return torch.polar(torch.ones_like(angle), angle).to(device, dtype)


_kept_turns = functools.cache(_make_turns)


def rotary_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend with queries and keys that are rotated by their positions; the values are left as they are.

    Shapes, mask and errors are those of `attend`. The queries are the last of the positions, as in `causal_mask`;
    raises ValueError when there are more queries than keys. Give it to `MultiHeadAttention` as `attend`; or give
    `rotate_by_position` as `rotate`, which does the same and rotates keys that are kept in a cache once.

    >>> query = key = torch.ones(1, 3, 2)
    >>> _, weights = rotary_attention(query, key, torch.zeros(1, 3, 2))
    >>> bool(weights[0, 0, 0] > weights[0, 0, 1] > weights[0, 0, 2])
    True
    """
    start = key.shape[-2] - query.shape[-2]
    if start < 0:
        raise ValueError(f"there are {query.shape[-2]} queries and {key.shape[-2]} keys, expected no more queries")
    return scaled_dot_product_attention(rotate_by_position(query, start), rotate_by_position(key), value, mask)


def distance_bias(table: torch.Tensor, query: int, key: int) -> torch.Tensor:
    """Look up a bias for every query and key by how far the key is from the query: (heads, query, key).

    `table` is (heads, 2 * reach + 1), for the offsets -reach to reach (negative: the key comes first). What is further
    away gets the last entry of its side. The queries are the last of the positions, as in `causal_mask`. After Shaw,
    Uszkoreit and Vaswani (2018), who clip, and Raffel et al. (2020), who add numbers to the scores.

    >>> distance_bias(torch.tensor([[-1.0, 0.0, 1.0]]), query=3, key=3)
    tensor([[[ 0.,  1.,  1.],
             [-1.,  0.,  1.],
             [-1., -1.,  0.]]])
    """
    width = check_shape(table, "heads width", "table")["width"]
    if width % 2 == 0 or query > key:
        raise ValueError(
            f"`table` has {width} columns, `query` is {query} and `key` {key}, expected odd, and query <= key"
        )
    reach = width // 2
    positions = torch.arange(key, device=table.device)  # (key,)
    offsets = positions - positions[key - query :, None]  # (query, key)
    return table[:, offsets.clamp(-reach, reach) + reach]


class DistanceBiasedAttention(nn.Module):
    """Scaled dot-product attention with a learned bias on each score, by head and by distance.

    Nothing is added to the inputs, and any length will do. Give it to `MultiHeadAttention` as `attend`.

    >>> vectors = torch.zeros(2, 3, 5, 4)  # (batch, heads, time, d_head)
    >>> output, weights = DistanceBiasedAttention(heads=3, reach=2)(vectors, vectors, vectors)
    >>> output.shape, weights.shape
    (torch.Size([2, 3, 5, 4]), torch.Size([2, 3, 5, 5]))
    """

    def __init__(self, heads: int, reach: int):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(heads, 2 * reach + 1))

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and weights in the shapes of `attend`, with an axis of heads before the queries."""
        bias = distance_bias(self.table, query.shape[-2], key.shape[-2])  # (heads, query, key)
        return attend(query, key, value, mask, scale=query.shape[-1] ** -0.5, bias=bias)
