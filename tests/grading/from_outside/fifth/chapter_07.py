# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import math

import torch


def sinusoidal_positions__wrong_own_exponent(time, d_model):
    """Every column has its own exponent, so that sine and cosine of a pair have different frequencies."""
    position = torch.arange(time, dtype=torch.float32).unsqueeze(1)
    column = torch.arange(d_model, dtype=torch.float32)
    angle = position / 10000 ** (column / d_model)
    result = torch.zeros(time, d_model)
    result[:, 0::2] = torch.sin(angle[:, 0::2])
    result[:, 1::2] = torch.cos(angle[:, 1::2])
    return result


def sinusoidal_positions__wrong_linspace(time, d_model):
    """Spreads the exponents from 0 to 1 with 1 included, so that the last pair is already at 1/10000."""
    position = torch.arange(time)[:, None]
    angle = position / 10000 ** torch.linspace(0, 1, d_model // 2)
    return torch.stack([angle.sin(), angle.cos()], dim=2).reshape(time, d_model)


def sinusoidal_positions__right_polar(time, d_model):
    """Right: by complex numbers of length 1, whose real part is the sine and whose imaginary part the cosine."""
    i = torch.arange(d_model // 2, dtype=torch.float64)
    angle = torch.outer(
        torch.arange(time, dtype=torch.float64),
        torch.exp(-2 * i / d_model * math.log(10000)),
    )
    numbers = torch.polar(torch.ones_like(angle), math.pi / 2 - angle)
    return torch.view_as_real(numbers).flatten(1).float()


def shift_matrix__wrong_only_forward(offset, d_model):
    """Multiplies the matrix of one step by itself and so leaves the identity for negative offsets."""
    step = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        b = 1 / 10000 ** (2 * i / d_model)
        step[2 * i, 2 * i] = step[2 * i + 1, 2 * i + 1] = math.cos(b)
        step[2 * i, 2 * i + 1] = math.sin(b)
        step[2 * i + 1, 2 * i] = -math.sin(b)
    matrix = torch.eye(d_model)
    for _ in range(offset):
        matrix = matrix @ step
    return matrix


def shift_matrix__wrong_fitted(offset, d_model):
    """Fits the matrix to the encodings of a few positions, which gives numbers outside the blocks where the width is greater."""
    frequency = 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    t = torch.arange(2 * d_model)[:, None]

    def encode(position):
        angle = position * frequency
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)

    return (torch.linalg.pinv(encode(t), rtol=1e-5) @ encode(t + offset)).T


def shift_matrix__right_exponential(offset, d_model):
    """Right: by the exponential of a matrix that generates the rotations."""
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    even = torch.arange(0, d_model, 2)
    generator[even, even + 1] = frequency
    generator[even + 1, even] = -frequency
    return torch.linalg.matrix_exp(offset * generator).float()


def binary_clock__wrong_most_first(time, bits):
    """The most significant digit comes first."""
    powers = 2 ** torch.arange(bits - 1, -1, -1)
    return torch.arange(time)[:, None] // powers % 2


def binary_clock__wrong_upper_digits(time, bits):
    """If there are too many digits, leaves out the least significant ones."""
    rows = []
    for t in range(time):
        digits = bin(t)[2:].zfill(bits)[:bits]
        rows.append([int(digit) for digit in reversed(digits)])
    return torch.tensor(rows)


def periods__wrong_whole_numbers(d_model):
    """Rounds the periods up to whole positions."""
    return torch.ceil(2 * torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model))


def rotate_by_position__wrong_halves(vectors):
    """Pairs entry i with entry i + width / 2."""
    time, width = vectors.shape[-2:]
    angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    x, y = vectors.chunk(2, dim=-1)
    return torch.cat([x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()], dim=-1)


def rotate_by_position__wrong_x_overwritten(vectors):
    """The second entry of a pair is computed from the new first entry."""
    vectors = vectors.clone()
    time, width = vectors.shape[-2:]
    for t in range(time):
        for i in range(width // 2):
            a = t / 10000 ** (2 * i / width)
            vectors[..., t, 2 * i] = vectors[..., t, 2 * i] * math.cos(a) - vectors[..., t, 2 * i + 1] * math.sin(a)
            vectors[..., t, 2 * i + 1] = vectors[..., t, 2 * i] * math.sin(a) + vectors[..., t, 2 * i + 1] * math.cos(a)
    return vectors


def rotate_by_position__wrong_first_axis(vectors):
    """Takes axis 1 for the time where there are more than two axes, which is wrong with batch and heads."""
    width = vectors.shape[-1]
    axis = 0 if vectors.dim() == 2 else 1
    shape = [1] * vectors.dim()
    shape[axis] = vectors.shape[axis]
    position = torch.arange(vectors.shape[axis]).view(shape)
    angle = position / 10000 ** (torch.arange(0, width, 2) / width)
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack([x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()], dim=-1).flatten(-2)


def rotate_by_position__right_complex(vectors):
    """Right: by multiplication of complex numbers."""
    time, width = vectors.shape[-2:]
    frequency = 10000 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.outer(torch.arange(time, dtype=torch.float64), frequency).to(vectors.dtype)
    turn = torch.polar(torch.ones_like(angle), angle)
    pairs = torch.view_as_complex(vectors.reshape(*vectors.shape[:-1], width // 2, 2).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2)


def probe__wrong_bias(inputs, targets):
    """Adds a column of ones, which is a bias."""
    ones = torch.ones(inputs.shape[0], 1, dtype=inputs.dtype)
    longer = torch.cat([inputs, ones], dim=1)
    return longer @ torch.linalg.pinv(longer) @ targets


def probe__wrong_full_rank(inputs, targets):
    """Orthogonalises the columns by QR, which is a projection onto too many directions where some columns are combinations of others."""
    q, _ = torch.linalg.qr(inputs)
    return q @ (q.T @ targets)


def probe__right_singular_vectors(inputs, targets):
    """Right: by the left singular vectors whose singular values are not 0, onto which the targets are projected."""
    u, s, _ = torch.linalg.svd(inputs, full_matrices=False)
    if s.numel() == 0:
        return torch.zeros_like(targets)
    u = u[:, s > 1e-5 * s.max()]
    return u @ (u.T @ targets)


def separable__wrong_room(words, positions):
    """Asks only whether the ranks of both tables fit into the width, not whether they have a direction in common."""
    ranks = torch.linalg.matrix_rank(words) + torch.linalg.matrix_rank(positions)
    return bool(ranks <= words.shape[1])


def separable__wrong_sums(words, positions):
    """Probes the sums of words and positions, from which a matrix can find the word without keeping words and erasing positions."""
    sums = (words[:, None] + positions[None]).flatten(0, 1)
    wanted = words.repeat_interleave(len(positions), dim=0)
    found = sums @ (torch.linalg.pinv(sums) @ wanted)
    return torch.allclose(found, wanted, atol=1e-4)


def separable__wrong_each_position(words, positions):
    """Asks of each position alone whether it is a combination of words, not of their differences."""
    rank = torch.linalg.matrix_rank(words)
    for position in positions:
        if torch.linalg.matrix_rank(torch.cat([words, position[None]])) == rank and position.abs().max() > 0:
            return False
    return True


def separable__right_null_space(words, positions):
    """Right: by all combinations of rows that are 0, in which the words alone must be 0 as well."""
    rows = torch.cat([words, positions]).double()
    u, s, _ = torch.linalg.svd(rows, full_matrices=True)
    rank = int((s > 1e-5 * s.max()).sum())
    combinations = u[:, rank:].T[:, : len(words)]
    if combinations.numel() == 0:
        return True
    return bool((combinations @ words.double()).abs().max() < 1e-3 * s.max())


def distance_bias__wrong_first_positions(table, query, key):
    """The queries stand at the first positions, which shows where there are fewer queries than keys."""
    reach = (table.shape[1] - 1) // 2
    offset = torch.arange(key)[None, :] - torch.arange(query)[:, None]
    return table[:, offset.clamp(-reach, reach) + reach]


def distance_bias__wrong_no_gradient(table, query, key):
    """Copies the numbers out of the table, so that the table gets no gradient."""
    heads, columns = table.shape
    reach = columns // 2
    bias = torch.zeros(heads, query, key)
    for h in range(heads):
        for i in range(query):
            for j in range(key):
                offset = j - (key - query + i)
                bias[h, i, j] = table[h, max(-reach, min(reach, offset)) + reach].item()
    return bias


def distance_bias__right_slices(table, query, key):
    """Right: by one long row of all offsets, of which each query takes a slice."""
    first = table[:, :1].expand(-1, key)
    last = table[:, -1:].expand(-1, key)
    reach = table.shape[1] // 2
    row = torch.cat([first, table, last], dim=1)
    rows = []
    for i in range(query):
        start = key + reach - (key - query + i)
        rows.append(row[:, start : start + key])
    return torch.stack(rows, dim=1)
