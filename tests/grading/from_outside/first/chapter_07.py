# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import torch

# ---------------------------------------------------------------- sinusoidal_positions


def _angles(time, width):
    return torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)


def sinusoidal_positions__wrong_halves(time, d_model):
    """You put all sines in the first half and all cosines in the second; they have to alternate."""
    a = _angles(time, d_model)
    return torch.cat([a.sin(), a.cos()], dim=-1)


def sinusoidal_positions__wrong_cosine_first(time, d_model):
    """The even columns hold the sine, you have the cosine there."""
    a = _angles(time, d_model)
    return torch.stack([a.cos(), a.sin()], dim=-1).flatten(-2)


def sinusoidal_positions__wrong_exponent_i(time, d_model):
    """The exponent is 2i / d_model; you take i / d_model."""
    i = torch.arange(d_model // 2)
    a = torch.arange(time)[:, None] / 10000 ** (i / d_model)
    return torch.stack([a.sin(), a.cos()], -1).reshape(time, d_model)


def sinusoidal_positions__wrong_own_angle_for_each_column(time, d_model):
    """Sine and cosine of one pair share their angle; you give each column its own."""
    column = torch.arange(d_model)
    a = torch.arange(time)[:, None] / 10000 ** (column / d_model)
    out = torch.zeros(time, d_model)
    out[:, 0::2] = a[:, 0::2].sin()
    out[:, 1::2] = a[:, 1::2].cos()
    return out


def sinusoidal_positions__wrong_from_one(time, d_model):
    """Positions count from 0, you count from 1."""
    t = torch.arange(1, time + 1)[:, None]
    a = t / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(1)


def sinusoidal_positions__right_by_nested_lists(time, d_model):
    rows = []
    for t in range(time):
        angles = [t / 10000 ** (2 * i / d_model) for i in range(d_model // 2)]
        rows.append([f(a) for a in angles for f in (math.sin, math.cos)])
    return torch.tensor(rows)


# ---------------------------------------------------------------- shift_matrix


def shift_matrix__wrong_transposed(offset, d_model):
    """The signs of the sines are exchanged: this matrix goes back by k steps."""
    m = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        b = offset / 10000 ** (2 * i / d_model)
        c, s = math.cos(b), math.sin(b)
        m[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, -s], [s, c]])
    return m


def shift_matrix__wrong_same_angle(offset, d_model):
    """Every pair is rotated by the same angle, but each has its own frequency."""
    c, s = math.cos(offset), math.sin(offset)
    block = torch.tensor([[c, s], [-s, c]])
    return torch.block_diag(*[block for _ in range(d_model // 2)])


def shift_matrix__wrong_halves(offset, d_model):
    """You pair entry i with entry i + d_model / 2; the pairs are neighbours, so that the blocks lie on the diagonal."""
    b = offset / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    c, s = torch.diag(b.cos()), torch.diag(b.sin())
    return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)], 0)


def shift_matrix__wrong_absolute_offset(offset, d_model):
    """abs() loses the sign, so a negative offset shifts forwards."""
    blocks = []
    for i in range(d_model // 2):
        b = abs(offset) / 10000 ** (2 * i / d_model)
        blocks.append(torch.tensor([[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]))
    return torch.block_diag(*blocks)


def shift_matrix__right_by_matrix_exponential(offset, d_model):
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        frequency = 10000.0 ** (-2 * i / d_model)
        generator[2 * i, 2 * i + 1] = frequency
        generator[2 * i + 1, 2 * i] = -frequency
    return torch.linalg.matrix_exp(offset * generator).float()


# ---------------------------------------------------------------- binary_clock


def binary_clock__wrong_most_significant_first(time, bits):
    """The least significant digit has to be in column 0, you write the number from left to right."""
    powers = 2 ** torch.arange(bits - 1, -1, -1)
    return torch.arange(time)[:, None] // powers % 2


def binary_clock__wrong_float(time, bits):
    """The division / makes floats, and the digits must be integers (torch.int64)."""
    return torch.floor(torch.arange(time)[:, None] / 2.0 ** torch.arange(bits)) % 2


def binary_clock__wrong_multiples_of_two(time, bits):
    """You divide by 2 * i instead of 2 ** i."""
    i = torch.arange(bits)
    d = torch.where(i == 0, 1, 2 * i)
    return torch.arange(time)[:, None] // d % 2


def binary_clock__wrong_from_one(time, bits):
    """The first row belongs to position 0."""
    return torch.arange(1, time + 1)[:, None] // 2 ** torch.arange(bits) % 2


def binary_clock__wrong_no_remainder(time, bits):
    """The remainder by 2 is missing, so the entries are not digits."""
    return torch.arange(time)[:, None] // 2 ** torch.arange(bits)


def binary_clock__right_by_counting(time, bits):
    digits, rows = [0] * bits, []
    for _ in range(time):
        rows.append(list(digits))
        for i in range(bits):
            digits[i] = 1 - digits[i]
            if digits[i]:
                break
    return torch.tensor(rows, dtype=torch.int64).reshape(time, bits)


# ---------------------------------------------------------------- periods


def periods__wrong_no_two_pi(d_model):
    """The angle has to grow by 2 pi; you stop when it has grown by 1."""
    return 10000 ** (torch.arange(0, d_model, 2) / d_model)


def periods__wrong_frequencies(d_model):
    """The frequency divides 2 pi; you multiplied."""
    return 2 * math.pi / 10000 ** (torch.arange(0, d_model, 2) / d_model)


def periods__wrong_one_for_each_column(d_model):
    """There is one period for each pair, d_model / 2; you return one for each column."""
    return 2 * math.pi * 10000 ** (torch.arange(d_model) / d_model)


def periods__wrong_whole_numbers(d_model):
    """You round to whole positions, but the period is in general not an integer."""
    return (2 * torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)).round()


def periods__right_by_running_product(d_model):
    step = 10000 ** (2 / d_model)
    found = [2 * math.pi]
    while len(found) < d_model // 2:
        found.append(found[-1] * step)
    return torch.tensor(found)


# ---------------------------------------------------------------- rotate_by_position


def rotate_by_position__wrong_halves(vectors):
    """You pair entry i with entry i + width / 2; the pairs are the neighbours 2i and 2i + 1."""
    x, y = vectors.chunk(2, dim=-1)
    a = _angles(vectors.shape[-2], vectors.shape[-1])
    return torch.cat([x * a.cos() - y * a.sin(), x * a.sin() + y * a.cos()], dim=-1)


def rotate_by_position__wrong_direction(vectors):
    """The sines have the wrong sign, so you rotate backwards."""
    x, y = vectors[..., ::2], vectors[..., 1::2]
    a = _angles(vectors.shape[-2], vectors.shape[-1])
    return torch.stack([x * a.cos() + y * a.sin(), y * a.cos() - x * a.sin()], dim=-1).flatten(-2)


def rotate_by_position__wrong_not_interleaved(vectors):
    """The rotated numbers must go back to their columns; you leave all first entries in front."""
    x, y = vectors[..., ::2], vectors[..., 1::2]
    a = _angles(vectors.shape[-2], vectors.shape[-1])
    return torch.cat([x * a.cos() - y * a.sin(), x * a.sin() + y * a.cos()], dim=-1)


def rotate_by_position__wrong_in_place(vectors):
    """You write the rotated pairs into the vectors of the caller."""
    x, y = vectors[..., ::2].clone(), vectors[..., 1::2].clone()
    a = _angles(vectors.shape[-2], vectors.shape[-1])
    vectors[..., ::2] = x * a.cos() - y * a.sin()
    vectors[..., 1::2] = x * a.sin() + y * a.cos()
    return vectors


def rotate_by_position__wrong_new_x_used(vectors):
    """y' needs the old x; you compute it from the x that is rotated already."""
    out = vectors.clone()
    a = _angles(vectors.shape[-2], vectors.shape[-1])
    out[..., ::2] = out[..., ::2] * a.cos() - out[..., 1::2] * a.sin()
    out[..., 1::2] = out[..., ::2] * a.sin() + out[..., 1::2] * a.cos()
    return out


def rotate_by_position__wrong_time_axis(vectors):
    """With heads the time is the last axis but one, you take the second (without a batch it is the first)."""
    axis = 1 if vectors.ndim > 2 else 0
    x, y = vectors[..., ::2], vectors[..., 1::2]
    a = _angles(vectors.shape[axis], vectors.shape[-1])
    a = a.reshape(*a.shape[:1], *[1] * (vectors.ndim - axis - 2), a.shape[1])
    return torch.stack([x * a.cos() - y * a.sin(), x * a.sin() + y * a.cos()], -1).flatten(-2)


def rotate_by_position__right_by_complex_numbers(vectors):
    pairs = vectors.double().unflatten(-1, (-1, 2)).contiguous()
    angle = torch.outer(
        torch.arange(vectors.shape[-2], dtype=torch.float64),
        torch.tensor(
            [10000.0 ** (-2 * i / vectors.shape[-1]) for i in range(vectors.shape[-1] // 2)], dtype=torch.float64
        ),
    )
    turned = torch.view_as_complex(pairs) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2).to(vectors.dtype)


# ---------------------------------------------------------------- probe


def probe__wrong_with_bias(inputs, targets):
    """The probe has no bias; you add a column of ones."""
    x = torch.cat([inputs, torch.ones(len(inputs), 1, dtype=inputs.dtype)], dim=1)
    return x @ (torch.linalg.pinv(x) @ targets)


def probe__wrong_returns_map(inputs, targets):
    """You return the matrix B; its predictions inputs @ B are asked."""
    return torch.linalg.pinv(inputs) @ targets


def probe__wrong_transposed_inverse(inputs, targets):
    """inputs.T @ targets is not the least-squares solution: the inverse of inputs.T @ inputs is missing."""
    return inputs @ (inputs.T @ targets) / (inputs**2).sum()


def probe__wrong_ridge(inputs, targets):
    """The 0.1 on the diagonal makes a ridge regression, whose squared error is not the smallest."""
    d = inputs.shape[1]
    g = inputs.T @ inputs + 0.1 * torch.eye(d, dtype=inputs.dtype)
    return inputs @ torch.linalg.solve(g, inputs.T @ targets)


def probe__wrong_normal_equations(inputs, targets):
    """inputs.T @ inputs has no inverse where there are fewer samples than columns; use the pseudo-inverse."""
    return inputs @ (torch.linalg.inv(inputs.T @ inputs) @ inputs.T @ targets)


def _basis(rows):
    """Orthonormal rows with the same span, in float64."""
    _, s, v = torch.linalg.svd(rows.double(), full_matrices=False)
    small = 10 * max(rows.shape) * torch.finfo(rows.dtype).eps * s.max()
    return v[s > small]


def probe__right_by_projection(inputs, targets):
    basis = _basis(inputs.T)
    return (basis.T @ (basis @ targets.double())).to(targets.dtype)


# ---------------------------------------------------------------- separable


def separable__wrong_orthogonal(words, positions):
    """Orthogonal tables can be separated, but they need not be orthogonal: independent directions are enough."""
    return bool((words @ positions.T).abs().max() < 1e-4)


def separable__wrong_counts_rows(words, positions):
    """You count rows instead of independent directions; rows may be multiples of each other, or depend on others."""
    return len(words) + len(positions) <= words.shape[1]


def separable__wrong_rank_is_full(words, positions):
    """The joint rank has to be the sum of the two ranks, not the whole width."""
    r = torch.linalg.matrix_rank(torch.cat([words, positions]))
    return bool(r == words.shape[1])


def separable__wrong_any_direction_left(words, positions):
    """It is not enough that the positions bring something new: none of their directions may lie in the span of the words."""
    rank = torch.linalg.matrix_rank
    return bool(rank(torch.cat([words, positions])) > rank(words))


def separable__wrong_each_position_alone(words, positions):
    """No single position is a combination of words, but a combination of positions may still be one."""
    for p in positions:
        rest = p - words.T @ (torch.linalg.pinv(words.T) @ p)
        if rest.norm() < 1e-4:
            return False
    return True


def separable__right_by_probe(words, positions):
    seen = torch.cat([words, positions])
    wanted = torch.cat([words, torch.zeros_like(positions)])
    return torch.allclose(probe__right_by_projection(seen, wanted), wanted, atol=1e-4)


# ---------------------------------------------------------------- distance_bias


def _columns(table, offset):
    reach = table.shape[1] // 2
    return table[:, offset.clamp(-reach, reach) + reach]


def distance_bias__wrong_sign(table, query, key):
    """The offset is key minus query; you have query minus key, so the past gets the columns of the future."""
    q = torch.arange(key - query, key)[:, None]
    return _columns(table, q - torch.arange(key))


def distance_bias__wrong_first_positions(table, query, key):
    """The queries are at the last positions, you put them at the first."""
    return _columns(table, torch.arange(key) - torch.arange(query)[:, None])


def distance_bias__wrong_zero_beyond(table, query, key):
    """Beyond the reach the outermost column counts, you put 0 there."""
    reach = table.shape[1] // 2
    offset = torch.arange(key) - torch.arange(key - query, key)[:, None]
    return _columns(table, offset) * (offset.abs() <= reach)


def distance_bias__wrong_wraps_around(table, query, key):
    """The remainder wraps offsets beyond the reach round to the other side; clip them instead."""
    reach = table.shape[1] // 2
    offset = torch.arange(key) - torch.arange(key - query, key)[:, None]
    return table[:, (offset + reach) % table.shape[1]]


def distance_bias__wrong_detached(table, query, key):
    """With .item() the numbers leave the graph, so the table gets no gradient."""
    reach = table.shape[1] // 2
    bias = torch.zeros(table.shape[0], query, key)
    for h in range(table.shape[0]):
        for i in range(query):
            for j in range(key):
                o = max(-reach, min(reach, j - (key - query + i)))
                bias[h, i, j] = table[h, o + reach].item()
    return bias


def distance_bias__wrong_offset_not_moved(table, query, key):
    """reach is not added: column 0 belongs to -reach, and negative numbers count from the end."""
    reach = table.shape[1] // 2
    offset = torch.arange(key) - torch.arange(key - query, key)[:, None]
    return table[:, offset.clamp(-reach, reach)]


def distance_bias__right_by_one_hot(table, query, key):
    reach = (table.shape[1] - 1) // 2
    rows = []
    for i in range(query):
        position = key - query + i
        offsets = [min(reach, max(-reach, j - position)) for j in range(key)]
        chosen = torch.tensor([[float(o == c) for o in offsets] for c in range(-reach, reach + 1)])
        rows.append(table @ chosen.to(table.dtype))
    return torch.stack(rows, dim=1)
