import math

import torch
from einops import einsum, rearrange, repeat

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 07.1 and 07.2


@honest("sinusoidal_positions")
def _(time, d_model):
    """One entry at a time."""
    table = torch.zeros(time, d_model)
    for t in range(time):
        for pair in range(d_model // 2):
            angle = t / 10000 ** (2 * pair / d_model)
            table[t, 2 * pair] = math.sin(angle)
            table[t, 2 * pair + 1] = math.cos(angle)
    return table


@honest("sinusoidal_positions")
def _(time, d_model):
    """The logarithm of the base, as many programs do it."""
    frequency = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    angle = torch.arange(time).unsqueeze(1) * frequency
    table = torch.empty(time, d_model)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table


@honest("sinusoidal_positions")
def _(time, d_model):
    """A cosine is a sine a quarter of a turn ahead."""
    column = torch.arange(d_model)
    frequency = 10000.0 ** (-2 * (column // 2) / d_model)
    return torch.sin(torch.outer(torch.arange(time).float(), frequency) + column % 2 * (math.pi / 2))


@honest("sinusoidal_positions")
def _(time, d_model):
    """Complex numbers on the unit circle, in double precision."""
    speed = torch.pow(torch.tensor(1e-4, dtype=torch.float64), torch.arange(d_model // 2) * 2 / d_model)
    angle = einsum(torch.arange(time).double(), speed, "time, pair -> time pair")
    circle = torch.view_as_real(torch.polar(torch.ones_like(angle), angle)).flip(-1)
    return rearrange(circle, "time pair two -> time (pair two)").float()


@honest("shift_matrix")
def _(offset, d_model):
    blocks = []
    for pair in range(d_model // 2):
        b = offset * 10000 ** (-2 * pair / d_model)
        blocks.append(torch.tensor([[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]))
    return torch.block_diag(*blocks)


@honest("shift_matrix")
def _(offset, d_model):
    """Three diagonals."""
    angle = offset / 10000 ** (torch.arange(0, d_model, 2).double() / d_model)
    beside = torch.stack([angle.sin(), torch.zeros_like(angle)], -1).flatten()[:-1]
    matrix = angle.cos().repeat_interleave(2).diag() + beside.diag(1) - beside.diag(-1)
    return matrix.float()


@honest("shift_matrix")
def _(offset, d_model):
    """The exponential of the matrix that says how fast each pair turns."""
    speed = 10000 ** (-torch.arange(0, d_model, 2).double() / d_model)
    turning = torch.kron(speed.diag(), torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64))
    return torch.linalg.matrix_exp(offset * turning).float()


@honest("shift_matrix")
def _(offset, d_model):
    """Indices of the even and the odd columns."""
    even = torch.arange(0, d_model, 2)
    b = offset / torch.pow(10000.0, even / d_model)
    matrix = torch.zeros(d_model, d_model)
    matrix[even, even] = matrix[even + 1, even + 1] = b.cos()
    matrix[even, even + 1] = b.sin()
    matrix[even + 1, even] = -b.sin()
    return matrix


@honest("shift_matrix")
def _(offset, d_model):
    """One step, as often as it is wanted; back for a negative offset."""
    one = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(0, d_model, 2):
        b = torch.tensor(10000 ** (-i / d_model), dtype=torch.float64)
        one[i : i + 2, i : i + 2] = torch.stack([b.cos(), b.sin(), -b.sin(), b.cos()]).view(2, 2)
    return torch.linalg.matrix_power(one, offset).float()


# ---------------------------------------------------------------- 07.3


@honest("binary_clock")
def _(time, bits):
    return (torch.arange(time)[:, None] >> torch.arange(bits)) & 1


@honest("binary_clock")
def _(time, bits):
    """As text, from back to front."""
    rows = [[int(digit) for digit in reversed(f"{t % 2**bits:0{bits}b}")] for t in range(time)]
    return torch.tensor(rows)


@honest("binary_clock")
def _(time, bits):
    """Halved again and again."""
    table = torch.zeros(time, bits, dtype=torch.long)
    for t in range(time):
        rest = t
        for i in range(bits):
            rest, table[t, i] = rest // 2, rest % 2
    return table


@honest("binary_clock")
def _(time, bits):
    """Runs of zeros and ones, as long as the column wants them."""
    columns = [torch.tensor([0, 1]).repeat_interleave(2**i).repeat(time)[:time] for i in range(bits)]
    return torch.stack(columns, dim=1)


@honest("binary_clock")
def _(time, bits):
    return (torch.arange(time).unsqueeze(1) & (1 << torch.arange(bits))).ne(0).long()


@honest("periods")
def _(d_model):
    return torch.tensor([2 * math.pi * 10000 ** (2 * i / d_model) for i in range(d_model // 2)])


@honest("periods")
def _(d_model):
    frequency = torch.exp(-math.log(10000) * torch.arange(0, d_model, 2) / d_model)
    return 2 * math.pi / frequency


@honest("periods")
def _(d_model):
    """Each from the one before."""
    factor = torch.full((d_model // 2,), 10000 ** (2 / d_model), dtype=torch.float64)
    factor[0] = math.tau
    return factor.cumprod(0).float()


@honest("periods")
def _(d_model):
    return torch.logspace(0, 4 * (1 - 2 / d_model), d_model // 2) * math.tau


# ---------------------------------------------------------------- 07.4


@honest("rotate_by_position")
def _(vectors):
    """One pair of one position at a time."""
    turned = torch.empty_like(vectors)
    time, width = vectors.shape[-2:]
    for t in range(time):
        for i in range(width // 2):
            angle = t / 10000 ** (2 * i / width)
            x, y = vectors[..., t, 2 * i], vectors[..., t, 2 * i + 1]
            turned[..., t, 2 * i] = x * math.cos(angle) - y * math.sin(angle)
            turned[..., t, 2 * i + 1] = x * math.sin(angle) + y * math.cos(angle)
    return turned


@honest("rotate_by_position")
def _(vectors):
    """A product of complex numbers."""
    time, width = vectors.shape[-2:]
    angle = torch.outer(torch.arange(time), 10000.0 ** (-torch.arange(0, width, 2) / width))
    points = torch.view_as_complex(vectors.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(points * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


@honest("rotate_by_position")
def _(vectors):
    """Each vector times its cosines, and its pairs exchanged, with a minus, times its sines."""
    time, width = vectors.shape[-2:]
    angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    angle = repeat(angle, "time pair -> time (pair two)", two=2)
    x, y = rearrange(vectors, "... (pair two) -> two ... pair", two=2)
    exchanged = rearrange([-y, x], "two ... pair -> ... (pair two)")
    return vectors * angle.cos() + exchanged * angle.sin()


@honest("rotate_by_position")
def _(vectors):
    """A matrix for each pair and position."""
    time, width = vectors.shape[-2:]
    angle = torch.arange(time).double()[:, None] * 1e-4 ** (torch.arange(0, width, 2).double() / width)
    matrix = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], -1).unflatten(-1, (2, 2)).float()
    pairs = rearrange(vectors, "... time (pair two) -> ... time pair two", two=2)
    turned = einsum(matrix, pairs, "time pair to two, ... time pair two -> ... time pair to")
    return rearrange(turned, "... time pair two -> ... time (pair two)")


# ---------------------------------------------------------------- 07.5


@honest("probe")
def _(inputs, targets):
    return inputs @ torch.linalg.pinv(inputs) @ targets


@honest("probe")
def _(inputs, targets):
    """Onto the columns that the inputs span."""
    left, sizes, _ = torch.linalg.svd(inputs.double(), full_matrices=False)
    left = left[:, sizes > 1e-6 * sizes.max()]
    return (left @ (left.T @ targets.double())).float()


@honest("probe")
def _(inputs, targets):
    """One target at a time."""
    columns = [torch.linalg.lstsq(inputs, column[:, None]).solution for column in targets.T]
    return torch.cat([inputs @ column for column in columns], dim=1)


@honest("probe")
def _(inputs, targets):
    """The columns one by one, each freed of those before it."""
    prediction, directions = torch.zeros_like(targets, dtype=torch.float64), []
    for column in inputs.double().T:
        rest = column.clone()
        for direction in directions * 2:
            rest -= (rest @ direction) * direction
        if rest.norm() > 1e-6 * column.norm():
            directions.append(rest / rest.norm())
            prediction += torch.outer(directions[-1], directions[-1] @ targets.double())
    return prediction.float()


@honest("separable")
def _(words, positions):
    rank = torch.linalg.matrix_rank
    return bool(rank(torch.cat([words, positions]), rtol=1e-4) == rank(words, rtol=1e-4) + rank(positions, rtol=1e-4))


@honest("separable")
def _(words, positions):
    """The matrix itself, and what it does."""
    tables = torch.vstack((words, positions))
    wanted = torch.vstack((words, 0 * positions))
    matrix = torch.linalg.pinv(tables) @ wanted
    return torch.allclose(words @ matrix, words, atol=1e-4) and (positions @ matrix).abs().max().item() < 1e-4


@honest("separable")
def _(words, positions):
    """The smallest angle between a mixture of words and a mixture of positions."""
    spans = []
    for table in (words, positions):
        _, sizes, right = torch.linalg.svd(table.double(), full_matrices=False)
        spans.append(right[sizes > 1e-5 * sizes.max()])
    return torch.linalg.matrix_norm(spans[0] @ spans[1].T, 2) < 1 - 1e-9


@honest("separable")
def _(words, positions):
    """It is enough to erase the positions and keep the words, by least squares."""
    tables = torch.cat([words, positions])
    wanted = torch.cat([words, torch.zeros_like(positions)])
    missed = wanted - tables @ torch.linalg.lstsq(tables, wanted).solution
    return bool(missed.norm() < 1e-3)


# ---------------------------------------------------------------- 07.6


@honest("distance_bias")
def _(table, query, key):
    """One entry at a time."""
    heads, width = table.shape
    reach = (width - 1) // 2
    bias = torch.zeros(heads, query, key)
    for row in range(query):
        for column in range(key):
            offset = column - (key - query + row)
            bias[:, row, column] = table[:, min(max(offset, -reach), reach) + reach]
    return bias


@honest("distance_bias")
def _(table, query, key):
    """All positions as queries, and the last ones kept."""
    reach = table.size(1) // 2
    position = torch.arange(key)
    columns = (position[None, :] - position[:, None] + reach).clip(0, 2 * reach)
    return table[:, columns][:, key - query :]


@honest("distance_bias")
def _(table, query, key):
    """A product with one-hot columns."""
    reach = table.shape[1] // 2
    offset = torch.arange(key) - torch.arange(query)[:, None] - (key - query)
    chosen = torch.nn.functional.one_hot(offset.clamp(-reach, reach) + reach, 2 * reach + 1).float()
    return einsum(table, chosen, "heads offset, query key offset -> heads query key")


@honest("distance_bias")
def _(table, query, key):
    """A long row with its ends drawn out, of which each query reads a window."""
    reach = table.shape[1] // 2
    row = torch.cat([table[:, :1].expand(-1, key), table, table[:, -1:].expand(-1, key)], dim=1)
    windows = [row[:, reach + key - position :][:, :key] for position in range(key - query, key)]
    return torch.stack(windows, dim=1)


@honest("distance_bias")
def _(table, query, key):
    """Row by row of a flat look-up."""
    reach = len(table[0]) // 2
    columns = [[max(-reach, min(reach, s - t)) + reach for s in range(key)] for t in range(key - query, key)]
    return table.index_select(1, torch.tensor(columns).flatten()).view(-1, query, key)
