# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch

# ---------------------------------------------------------------- sinusoidal_positions


def sinusoidal_positions__wrong_halves(time, d_model):
    """Puts all sines into the first half and all cosines into the second instead of interleaving them."""
    angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


def sinusoidal_positions__wrong_float64(time, d_model):
    """Returns float64, although tensors of fractions are to be float32 here."""
    position = torch.arange(time, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def sinusoidal_positions__right_complex(time, d_model):
    """Right: real and imaginary part of exp(i angle), in reversed order."""
    frequency = torch.exp(-math.log(10000) * torch.arange(0, d_model, 2) / d_model)
    angle = torch.outer(torch.arange(time).float(), frequency)
    return torch.view_as_real(torch.polar(torch.ones_like(angle), angle)).flip(-1).reshape(time, d_model)


# ---------------------------------------------------------------- shift_matrix


def shift_matrix__wrong_transposed(offset, d_model):
    """Has the minus at the wrong sine, so that the matrix shifts backwards."""
    matrix = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        b = offset / 10000 ** (2 * i / d_model)
        matrix[2 * i, 2 * i] = math.cos(b)
        matrix[2 * i, 2 * i + 1] = -math.sin(b)
        matrix[2 * i + 1, 2 * i] = math.sin(b)
        matrix[2 * i + 1, 2 * i + 1] = math.cos(b)
    return matrix


def shift_matrix__wrong_abs_offset(offset, d_model):
    """Takes the absolute value of the offset, so that negative offsets shift forwards."""
    matrix = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        b = torch.tensor(abs(offset) / 10000 ** (2 * i / d_model))
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.stack([b.cos(), b.sin(), -b.sin(), b.cos()]).view(2, 2)
    return matrix


def shift_matrix__wrong_least_squares(offset, d_model):
    """Fits the matrix to the first d_model positions in float32, which is far too ill-conditioned beyond tiny widths."""
    scale = 10000 ** (torch.arange(0, d_model, 2) / d_model)

    def encode(positions):
        angle = positions[:, None] / scale
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)

    positions = torch.arange(d_model).float()
    return torch.linalg.lstsq(encode(positions), encode(positions + offset)).solution.T


def shift_matrix__right_matrix_exponential(offset, d_model):
    """Right: the exponential of offset times the generator of the rotations, computed in float64."""
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    even = torch.arange(0, d_model, 2)
    generator[even, even + 1] = frequency
    generator[even + 1, even] = -frequency
    return torch.matrix_exp(offset * generator).float()


# ---------------------------------------------------------------- binary_clock


def binary_clock__wrong_no_remainder(time, bits):
    """Forgets the remainder by 2, so that entries greater than 1 appear."""
    return torch.arange(time)[:, None] // 2 ** torch.arange(bits)


def binary_clock__wrong_string_cut(time, bits):
    """Cuts the string of digits at the wrong end, so that with too few bits the least significant digits are lost."""
    rows = []
    for t in range(time):
        digits = format(t, "b").zfill(bits)
        rows.append([int(digit) for digit in digits[:bits][::-1]])
    return torch.tensor(rows)


def binary_clock__wrong_bool(time, bits):
    """Returns booleans and not int64."""
    return (torch.arange(time)[:, None] & (1 << torch.arange(bits))) != 0


def binary_clock__right_repeated_columns(time, bits):
    """Right: builds each column from 2^i zeros and 2^i ones, repeated and cut off."""
    columns = []
    for i in range(bits):
        period = [0] * 2**i + [1] * 2**i
        columns.append([period[t % len(period)] for t in range(time)])
    return torch.tensor(columns, dtype=torch.int64).reshape(bits, time).T


# ---------------------------------------------------------------- periods


def periods__wrong_frequencies(d_model):
    """Returns 2 pi times the frequency, which falls from pair to pair, and not 2 pi divided by it."""
    return 2 * math.pi / 10000 ** (torch.arange(0, d_model, 2) / d_model)


def periods__wrong_one_per_column(d_model):
    """Returns one period for each column, d_model of them, and not one for each pair."""
    period = 2 * math.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return period.repeat_interleave(2)


def periods__right_logspace(d_model):
    """Right: a geometric sequence from 2 pi on, by torch.logspace in float64."""
    half = d_model // 2
    powers = torch.logspace(0, 4 * (d_model - 2) / d_model, half, dtype=torch.float64)
    return (2 * math.pi * powers).to(torch.float32)


# ---------------------------------------------------------------- rotate_by_position


def rotate_by_position__wrong_half_pairs(vectors):
    """Pairs entry i with entry i + width / 2 (as in the well-known rotate_half) and not neighbours."""
    time, width = vectors.shape[-2:]
    angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    first, second = vectors.chunk(2, dim=-1)
    return vectors * cos + torch.cat([-second, first], dim=-1) * sin


def rotate_by_position__wrong_overwritten_view(vectors):
    """Computes y' from a view that already holds x', because only a view of the first entries was kept."""
    time, width = vectors.shape[-2:]
    angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    rotated = vectors.clone()
    x, y = rotated[..., 0::2], rotated[..., 1::2]
    rotated[..., 0::2] = x * angle.cos() - y * angle.sin()
    rotated[..., 1::2] = x * angle.sin() + y * angle.cos()
    return rotated


def rotate_by_position__wrong_time_is_axis_one(vectors):
    """Takes axis 1 for the time, which is right only with exactly one leading axis."""
    time, width = vectors.shape[1], vectors.shape[-1]
    angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack([x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()], dim=-1).flatten(-2)


def rotate_by_position__wrong_in_place(vectors):
    """Writes the rotated numbers into the caller's tensor."""
    time, width = vectors.shape[-2:]
    angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    x, y = vectors[..., 0::2].clone(), vectors[..., 1::2].clone()
    vectors[..., 0::2] = x * angle.cos() - y * angle.sin()
    vectors[..., 1::2] = x * angle.sin() + y * angle.cos()
    return vectors


def rotate_by_position__right_complex_product(vectors):
    """Right: reads each pair as a complex number and multiplies it by exp(i angle)."""
    time, width = vectors.shape[-2:]
    angle = torch.arange(time)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    turn = torch.polar(torch.ones_like(angle), angle)
    points = torch.complex(vectors[..., 0::2].contiguous(), vectors[..., 1::2].contiguous())
    return torch.view_as_real(points * turn).reshape(vectors.shape)


# ---------------------------------------------------------------- probe


def probe__wrong_with_bias(inputs, targets):
    """Adds a column of ones, so that the probe has a bias."""
    inputs = torch.cat([inputs, torch.ones(len(inputs), 1, dtype=inputs.dtype)], dim=1)
    return inputs @ (torch.linalg.pinv(inputs) @ targets)


def probe__wrong_normal_equations(inputs, targets):
    """Inverts inputs.T @ inputs, which is singular for dependent columns or fewer samples than columns."""
    matrix = torch.linalg.inv(inputs.T @ inputs) @ inputs.T @ targets
    return inputs @ matrix


def probe__right_projection(inputs, targets):
    """Right: projects the targets onto the span of the columns, with the left singular vectors."""
    left, size, _ = torch.linalg.svd(inputs, full_matrices=False)
    basis = left[:, size > 1e-5 * size.max()]
    return basis @ (basis.T @ targets)


# ---------------------------------------------------------------- separable


def separable__wrong_probes_the_sums(words, positions):
    """Gives the probe the sums of words and positions, which it can map to the words even where R does not exist."""
    sums = (words[:, None] + positions[None]).flatten(0, 1)
    targets = words[:, None].expand(-1, len(positions), -1).flatten(0, 1)
    predictions = sums @ (torch.linalg.pinv(sums) @ targets)
    return torch.allclose(predictions, targets, atol=1e-4)


def separable__wrong_orthogonal(words, positions):
    """Demands that the positions are orthogonal to the words."""
    return bool((words @ positions.T).abs().max() < 1e-4)


def separable__wrong_all_rows_independent(words, positions):
    """Demands that all rows together are independent, also within one table, where multiples are allowed."""
    together = torch.cat([words, positions])
    return torch.linalg.matrix_rank(together).item() == len(together)


def separable__right_three_ranks(words, positions):
    """Right: the spans meet in zero alone if the ranks of both tables add up to the rank of both together."""

    def rank(rows):
        return torch.linalg.matrix_rank(rows.double(), atol=1e-4, rtol=0.0).item()

    return rank(torch.cat([words, positions])) == rank(words) + rank(positions)


# ---------------------------------------------------------------- distance_bias


def distance_bias__wrong_first_positions(table, query, key):
    """Puts the queries at the first positions, right only with as many queries as keys."""
    reach = table.shape[1] // 2
    offset = torch.arange(key)[None, :] - torch.arange(query)[:, None]
    return table[:, offset.clamp(-reach, reach) + reach]


def distance_bias__wrong_forgot_plus_reach(table, query, key):
    """Clips the offset but uses it as the column directly, so that offset 0 reads column 0 and -1 the last one."""
    reach = table.shape[1] // 2
    offset = torch.arange(key) - torch.arange(key - query, key)[:, None]
    return table[:, offset.clamp(-reach, reach)]


def distance_bias__wrong_item(table, query, key):
    """Copies the numbers with .item(), so that the table gets no gradient."""
    heads, columns = table.shape
    reach = columns // 2
    bias = torch.zeros(heads, query, key)
    for head in range(heads):
        for q in range(query):
            for k in range(key):
                offset = k - (key - query + q)
                column = max(-reach, min(reach, offset)) + reach
                bias[head, q, k] = table[head, column].item()
    return bias


def distance_bias__wrong_zero_beyond(table, query, key):
    """Gives offsets beyond the reach a bias of 0 instead of the outermost column."""
    reach = (table.shape[1] - 1) // 2
    offset = torch.arange(key) - torch.arange(key - query, key)[:, None]
    bias = table[:, offset.clamp(-reach, reach) + reach]
    return torch.where(offset.abs() <= reach, bias, torch.zeros_like(bias))


def distance_bias__right_one_hot(table, query, key):
    """Right: multiplies the table by a one-hot choice of the column for each pair of positions."""
    columns = table.shape[1]
    choice = torch.zeros(query, key, columns, dtype=table.dtype)
    for q in range(query):
        for k in range(key):
            offset = k - q - (key - query)
            choice[q, k, sorted((0, offset + columns // 2, columns - 1))[1]] = 1
    return torch.einsum("hc,qkc->hqk", table, choice)
