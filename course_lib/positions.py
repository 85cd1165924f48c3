"""Positions: what is added to the inputs, or done to the scores, so that attention can tell first from last."""

import functools
import math
from collections.abc import Callable, Hashable

import torch
from einops import rearrange
from torch import nn

from course_lib.attention import attend, scaled_dot_product_attention
from course_lib.shapes import check_shape

ROTARY_BASE = 10_000  # the slowest pair needs up to this many positions for one radian


def rotary_frequencies(width: int, base: float = ROTARY_BASE, device: torch.device | str | None = None) -> torch.Tensor:
    """Return by how many radians each of the width / 2 pairs turns at a step to the next position: (width / 2,).

    Pair i turns by base^(-2i / width), in float64. A larger `base` leaves the first pair and slows all others, the last
    one most: Llama 3 has 500,000 (Grattafiori et al., 2024). Raises ValueError for an odd width, and for a base that is
    not above 1.

    >>> rotary_frequencies(width=4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    >>> rotary_frequencies(width=4, base=1_000_000)
    tensor([1.0000, 0.0010], dtype=torch.float64)
    """
    if width < 2 or width % 2:
        raise ValueError(f"the width is {width}, expected an even number: sines and cosines come in pairs")
    if not base > 1:
        raise ValueError(f"`base` is {base}, expected a number above 1")
    pairs = torch.arange(0, width, 2, device=device, dtype=torch.float64)  # (width / 2,): 0, 2, 4, ...
    return base ** (-pairs / width)


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
    return positions[:, None] * rotary_frequencies(width, device=positions.device)


def sinusoidal_positions(time: int, d_model: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return an encoding (time, d_model), a row for each position: sines (even columns) and cosines (odd) of `angles`.

    After Vaswani et al. (2017).

    >>> sinusoidal_positions(time=3, d_model=4)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    angle = angles(torch.arange(time), d_model)  # (time, d_model / 2)
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
    return _rotate(vectors, start)


class Rotation:
    """What `rotate_by_position` does, with `frequencies` (width / 2,) of one's own: give it to attention as `rotate`.

    The vectors are stretched by `scale`, too: with that of queries and of keys, their dot products grow by its square.

    >>> rotate = Rotation(rotary_frequencies(width=2, base=500_000), scale=2.0)
    >>> rotate(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[2.0000, 0.0000],
            [1.0806, 1.6829]])
    """

    def __init__(self, frequencies: torch.Tensor, scale: float = 1.0):
        check_shape(frequencies, "pair", "frequencies")
        self.frequencies = tuple(frequencies.tolist())  # plain numbers: by them, the table of turns is found again
        self.scale = scale

    def __call__(self, vectors: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Return vectors (..., time, width), rotated from position `start` on; errors as in `rotate_by_position`."""
        check_shape(vectors, "... time width", "vectors", width=2 * len(self.frequencies))
        return _rotate(vectors, start, self.frequencies, self.scale)


def interpolated_frequencies(width: int, factor: float, base: float = ROTARY_BASE) -> torch.Tensor:
    """Return frequencies (width / 2,) under which `factor` times as many positions cover the angles that were trained.

    All pairs are slowed alike, as if positions were divided by the factor. After Chen et al. (2023). Raises ValueError
    for a factor below 1.

    >>> interpolated_frequencies(width=4, factor=4)
    tensor([0.2500, 0.0025], dtype=torch.float64)
    """
    _check_factor(factor)
    return rotary_frequencies(width, base) / factor


def ntk_frequencies(width: int, factor: float, base: float = ROTARY_BASE) -> torch.Tensor:
    """Return frequencies (width / 2,) of which the first stays, the last is slowed by `factor`, and the others between.

    They are those of a larger base. So neighbours stay as far apart as they were, in the fast pairs, and far positions
    cover no new angles, in the slowest. The name is by bloc97 (2023), who found it, after the neural tangent kernel;
    see Peng et al. (2024). Raises ValueError for a factor below 1, and for a width below 4, which has no two pairs.

    >>> ntk_frequencies(width=4, factor=4)
    tensor([1.0000, 0.0025], dtype=torch.float64)
    """
    _check_factor(factor)
    if width < 4:
        raise ValueError(f"the width is {width}, expected at least 4: the first pair stays and the last is slowed")
    # The last pair turns by base^(-(width - 2) / width): this power of the factor comes out there as 1 / factor.
    return rotary_frequencies(width, base * factor ** (width / (width - 2)))


def yarn_frequencies(
    width: int,
    factor: float,
    trained_length: int,
    base: float = ROTARY_BASE,
    alpha: float = 1.0,
    beta: float = 32.0,
) -> torch.Tensor:
    """Return frequencies (width / 2,) of which the fast ones stay and the slow ones are slowed by `factor`.

    A pair stays that made `beta` rotations or more over the `trained_length` positions; one that made `alpha` or fewer
    is slowed, as in `interpolated_frequencies`, since further positions would show it angles that it has never seen.
    Between them the share that stays falls evenly from pair to pair, that is, with the logarithm of the rotations: so
    does the code of the authors, where the formula of their paper has the rotations themselves. `yarn_scale` belongs
    to it. After Peng et al. (2024). Raises ValueError for a factor below 1, and unless 0 < alpha < beta.

    >>> yarn_frequencies(width=4, factor=4, trained_length=512)
    tensor([1.0000, 0.0025], dtype=torch.float64)
    """
    _check_factor(factor)
    if not 0 < alpha < beta:
        raise ValueError(f"`alpha` is {alpha} and `beta` {beta}, expected 0 < alpha < beta")
    frequencies = rotary_frequencies(width, base)  # (width / 2,)
    rotations = trained_length * frequencies / (2 * math.pi)  # (width / 2,): over the trained length
    share = (rotations / alpha).log() / math.log(beta / alpha)  # (width / 2,): 0 at alpha rotations, 1 at beta
    return torch.lerp(frequencies / factor, frequencies, share.clamp(0, 1))


def yarn_scale(factor: float) -> float:
    """Return by how much YaRN stretches queries and keys that are to read `factor` times as far: 0.1 ln(factor) + 1.

    More keys make attention flatter; scores that grow by the square of this number make up for it. The formula was
    fitted to models by Peng et al. (2024). Raises ValueError for a factor below 1.

    >>> rotate = Rotation(yarn_frequencies(width=8, factor=4, trained_length=512), scale=yarn_scale(4))
    >>> round(rotate.scale, 3)
    1.139
    """
    _check_factor(factor)
    return 0.1 * math.log(factor) + 1


def _check_factor(factor: float) -> None:
    """Raise ValueError for a factor that would make the reach shorter."""
    if not factor >= 1:
        raise ValueError(f"`factor` is {factor}, expected 1 or more: by how much further a model is to read")


def _rotate(
    vectors: torch.Tensor, start: int, frequencies: tuple[float, ...] | None = None, scale: float = 1.0
) -> torch.Tensor:
    """Turn vectors (..., time, width) as `Rotation` does; without `frequencies` (width / 2,), by the `angles`."""
    sizes = check_shape(vectors, "... time width", "vectors")
    # To turn a complex number by an angle is to multiply it by the number of length 1 at that angle.
    dtype = torch.promote_types(vectors.dtype, torch.complex64)  # two 32-bit parts at least: none are of bfloat16
    arguments = sizes["width"], dtype, vectors.device, frequencies, scale
    turns = kept_rows(_turns, start, sizes["time"], *arguments)  # (time, width / 2)
    precise = vectors.to(torch.promote_types(vectors.dtype, torch.float32))  # (..., time, width)
    pairs = _as_complex(precise.unflatten(-1, (-1, 2)))  # (..., time, width / 2): a + ib
    return torch.view_as_real(pairs * turns).flatten(-2).to(vectors.dtype)  # (..., time, width)


def _as_complex(pairs: torch.Tensor) -> torch.Tensor:
    """Return pairs (..., 2) as complex numbers a + ib (...): as a view where memory is laid out for it, else a copy."""
    if not torch.compiler.is_compiling():  # a compiler chooses the layout later
        try:
            return torch.view_as_complex(pairs)
        except RuntimeError:  # the two numbers of a pair do not lie as those of a complex number do
            pass
    return torch.complex(pairs[..., 0], pairs[..., 1])


def _turns(
    time: int,
    width: int,
    dtype: torch.dtype,
    device: torch.device,
    frequencies: tuple[float, ...] | None = None,
    scale: float = 1.0,
) -> torch.Tensor:
    """Return the complex number of length `scale` at each angle of `time` positions: (time, width / 2).

    At a step to the next position, each pair turns by its own of the `frequencies`; without them, as in `angles`.
    """
    precise = "cpu" if device.type == "mps" else device  # the graphics of a Mac have no float64
    positions = torch.arange(time, device=precise)  # (time,)
    if frequencies is None:
        angle = angles(positions, width)  # (time, width / 2)
    else:
        angle = positions[:, None] * torch.tensor(frequencies, dtype=torch.float64, device=precise)
    return torch.polar(torch.full_like(angle, scale), angle).to(device, dtype)


def kept_rows(make: Callable[..., torch.Tensor], start: int, time: int, *arguments: Hashable) -> torch.Tensor:
    """Return the rows of `time` positions from `start` on, of a table that is kept for later calls.

    The table is `make(length, *arguments)`, with a power of 2 as length, so that few different ones are made. Never
    change its rows in place: others read them, too. Raises ValueError for a `start` below 0.

    >>> kept_rows(sinusoidal_positions, 1, 2, 4)
    tensor([[ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    if start < 0:
        raise ValueError(f"`start` is {start}, expected 0 or more: no position is before the first")
    end = start + time
    if torch.compiler.is_compiling():  # a compiler wants to see how a table is made
        return make(end, *arguments)[start:]
    length = 1
    while length < end:
        length *= 2
    return _kept(make, length, *arguments)[start:end]


@functools.cache
def _kept(make: Callable[..., torch.Tensor], length: int, *arguments: Hashable) -> torch.Tensor:
    # A tensor that was made in inference mode may take no part in training later, and one on "meta" has no numbers.
    with torch.inference_mode(False), torch.device("cpu"):
        return make(length, *arguments)


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
