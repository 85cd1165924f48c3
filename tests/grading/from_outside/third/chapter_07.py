# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch


def sinusoidal_positions__wrong_table_of_100(time, d_model):
    """A table of 100 positions is made and cut, so that a longer text gets 100 rows."""
    position = torch.arange(100).float()[:, None]
    frequency = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    table = torch.zeros(100, d_model)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table[:time]


def sinusoidal_positions__wrong_integer_division(time, d_model):
    """The factor between pairs is 10 to the power 8 // d_model, which is an integer and right for the widths 2, 4 and 8 only."""
    factor = 10.0 ** (8 // d_model)
    angle = torch.arange(time)[:, None] / factor ** torch.arange(d_model // 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def sinusoidal_positions__right_complex(time, d_model):
    """Unit numbers in the complex plane, in float64, of which imaginary and real part are the pair."""
    pairs = torch.arange(d_model // 2, dtype=torch.float64)
    angle = torch.outer(torch.arange(time, dtype=torch.float64), 10000.0 ** (-2 * pairs / d_model))
    unit = torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(unit).flip(-1).reshape(time, d_model).float()


def shift_matrix__wrong_hundredths(offset, d_model):
    """Every pair is slower than the one before by the factor 100, as in the example of width 4."""
    matrix = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        angle = offset * 0.01**i
        c, s = math.cos(angle), math.sin(angle)
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, s], [-s, c]])
    return matrix


def shift_matrix__wrong_fitted(offset, d_model):
    """The matrix is fitted to a hundred encodings; the slow pairs are almost linear there, and for wide vectors the fit is another matrix, with entries outside the blocks."""
    i = torch.arange(d_model // 2)
    frequency = 10000.0 ** (-2 * i / d_model)

    def encode(t):
        angle = t[:, None] * frequency
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)

    t = torch.arange(100)
    return torch.linalg.lstsq(encode(t), encode(t + offset)).solution.T


def binary_clock__wrong_twice_i(time, bits):
    """Digit i is taken with the divisor 2 * i where it should be 2 ** i; up to three digits these agree."""
    rows = []
    for t in range(time):
        rows.append([(t // max(1, 2 * i)) % 2 for i in range(bits)])
    return torch.tensor(rows)


def binary_clock__wrong_floats(time, bits):
    """The digits are right, but as float32 and not as integers."""
    t = torch.arange(time)[:, None]
    return torch.floor(t / 2.0 ** torch.arange(bits)) % 2


def binary_clock__right_text(time, bits):
    """Each row is read from the text of the number in binary, backwards."""
    digits = [[int(c) for c in reversed(format(t % 2**bits, f"0{bits}b"))] for t in range(time)]
    return torch.tensor(digits, dtype=torch.int64).reshape(time, bits)


def periods__wrong_powers_of_ten(d_model):
    """Each period is ten times the one before, which is so for the width 8 only."""
    return 2 * math.pi * 10.0 ** torch.arange(d_model // 2)


def periods__wrong_last_always_6283(d_model):
    """The periods are spread between 6.28 and 6283, but the last one depends on the width."""
    return 2 * math.pi * torch.logspace(0, 3, d_model // 2)


def rotate_by_position__wrong_in_place(vectors):
    """The result is written into the caller's vectors."""
    time, width = vectors.shape[-2:]
    angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    x, y = vectors[..., 0::2].clone(), vectors[..., 1::2].clone()
    rotated = vectors
    rotated[..., 0::2] = x * angle.cos() - y * angle.sin()
    rotated[..., 1::2] = x * angle.sin() + y * angle.cos()
    return rotated


def rotate_by_position__wrong_positions_through_batch(vectors):
    """All leading axes are folded into time, so that the positions count on from one sequence or head to the next."""
    width = vectors.shape[-1]
    flat = vectors.reshape(-1, width)
    angle = torch.arange(len(flat))[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    x, y = flat[:, 0::2], flat[:, 1::2]
    pairs = torch.stack([x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()], dim=-1)
    return pairs.reshape(vectors.shape)


def rotate_by_position__right_block_matrices(vectors):
    """One block-diagonal rotation matrix for each position, multiplied with the vector there."""
    time, width = vectors.shape[-2:]
    matrices = []
    for t in range(time):
        blocks = []
        for i in range(width // 2):
            a = t / 10000 ** (2 * i / width)
            blocks.append(torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]], dtype=vectors.dtype))
        matrices.append(torch.block_diag(*blocks))
    return torch.einsum("tij,...tj->...ti", torch.stack(matrices), vectors)


def probe__wrong_bias(inputs, targets):
    """A column of ones gives the probe a bias, which it must not have; in the example the best bias happens to be 0."""
    x = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1)
    return x @ (torch.linalg.pinv(x) @ targets)


def probe__wrong_ridge(inputs, targets):
    """A small number on the diagonal makes the normal equations solvable, but then the squared error is not the smallest."""
    x = inputs
    gram = x.T @ x + 1e-3 * torch.eye(x.shape[1], dtype=x.dtype)
    return x @ torch.linalg.solve(gram, x.T @ targets)


def separable__wrong_all_rows_independent(words, positions):
    """It asks that all rows of both tables be independent, and so refuses tables in which rows are multiples of each other."""
    both = torch.cat([words, positions])
    return bool(torch.linalg.matrix_rank(both) == len(words) + len(positions))


def separable__wrong_position_by_position(words, positions):
    """It asks whether any single position is a combination of words, and overlooks combinations of several positions."""
    rank = torch.linalg.matrix_rank(words)
    for p in positions:
        if torch.linalg.matrix_rank(torch.cat([words, p[None]])) == rank:
            return False
    return True


def separable__right_ranks_add_up(words, positions):
    """The two spans meet in 0 alone, counted by singular values in float64 of rows of length 1."""

    def rank(rows):
        rows = rows.double()
        norm = rows.norm(dim=1, keepdim=True)
        rows = rows[norm[:, 0] > 0] / norm[norm[:, 0] > 0]
        if len(rows) == 0:
            return 0
        s = torch.linalg.svdvals(rows)
        return int((s > 1e-5 * s[0]).sum())

    return rank(torch.cat([words, positions])) == rank(words) + rank(positions)


def distance_bias__wrong_reach_1(table, query, key):
    """Offsets are limited to one step in each direction, whatever the width of the table."""
    q = torch.arange(key - query, key)[:, None]
    k = torch.arange(key)[None, :]
    return table[:, (k - q).clamp(-1, 1) + 1]


def distance_bias__wrong_numbers_copied(table, query, key):
    """The numbers are taken out of the tensor with item(), so that no gradient reaches the table."""
    heads, width = table.shape
    reach = width // 2
    bias = torch.zeros(heads, query, key)
    for h in range(heads):
        for i in range(query):
            for j in range(key):
                offset = j - (key - query + i)
                bias[h, i, j] = table[h, max(-reach, min(reach, offset)) + reach].item()
    return bias


def distance_bias__right_slices_of_a_long_row(table, query, key):
    """The table is prolonged at both ends by its outermost columns, and each query takes a slice of it."""
    heads, width = table.shape
    long = torch.cat([table[:, :1].expand(heads, key), table, table[:, -1:].expand(heads, key)], dim=1)
    middle = key + width // 2
    return torch.stack([long[:, middle - p : middle - p + key] for p in range(key - query, key)], dim=1)
