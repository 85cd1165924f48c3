# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import numpy as np
import torch
import torch.nn.functional as F


def _angles(time, d_model):
    """Right angles, (time, d_model / 2), in double precision."""
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.arange(time, dtype=torch.float64)[:, None] * frequency


# ---------------------------------------------------------------- 07.1 sinusoidal_positions


def sinusoidal_positions__wrong_exponent_halved(time, d_model):
    """The exponent is i / d_model and must be 2i / d_model; pair i is counted as i = 0, 1, 2, ..."""
    pair = torch.arange(d_model // 2)
    angle = torch.arange(time)[:, None] / 10000 ** (pair / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(time, d_model)


def sinusoidal_positions__wrong_halves(time, d_model):
    """All sines stand in the first half and all cosines in the second; they must alternate, sine in even and cosine in odd columns."""
    angle = _angles(time, d_model).float()
    return torch.cat([angle.sin(), angle.cos()], dim=1)


def sinusoidal_positions__wrong_own_frequency_per_column(time, d_model):
    """The exponent is the number of the column, so the cosine of a pair has another frequency than its sine."""
    column = torch.arange(d_model)
    angle = torch.arange(time)[:, None] / 10000 ** (column / d_model)
    table = torch.zeros(time, d_model)
    table[:, 0::2] = torch.sin(angle[:, 0::2])
    table[:, 1::2] = torch.cos(angle[:, 1::2])
    return table


def sinusoidal_positions__wrong_integer_division(time, d_model):
    """2 * i // d_model is always 0 for these i, so all pairs turn with frequency 1; it agrees for d_model = 2."""
    table = torch.zeros(time, d_model)
    for t in range(time):
        for i in range(d_model // 2):
            angle = t / 10000 ** (2 * i // d_model)
            table[t, 2 * i] = math.sin(angle)
            table[t, 2 * i + 1] = math.cos(angle)
    return table


def sinusoidal_positions__wrong_last_frequency_reached(time, d_model):
    """The exponents run up to 1 with i / (pairs - 1), as in another library; here the last one is (d_model - 2) / d_model."""
    pairs = d_model // 2
    frequency = torch.exp(-math.log(10000) * torch.arange(pairs) / max(pairs - 1, 1))
    angle = torch.arange(time)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def sinusoidal_positions__wrong_from_one(time, d_model):
    """The positions are counted from 1 to time; they begin with 0."""
    angle = _angles(time + 1, d_model)[1:].float()
    return torch.stack([angle.sin(), angle.cos()], dim=2).reshape(time, d_model)


_TABLES = {}


def sinusoidal_positions__wrong_remembered_by_width(time, d_model):
    """The table is stored by its width alone, so a later call with more positions gets too few rows."""
    if d_model not in _TABLES:
        angle = _angles(time, d_model).float()
        _TABLES[d_model] = torch.stack([angle.sin(), angle.cos()], dim=2).reshape(time, d_model)
    return _TABLES[d_model][:time].clone()


def sinusoidal_positions__wrong_double(time, d_model):
    """numpy computes in double precision and the answer is float64; tensors of fractions are float32 on this page."""
    position = np.arange(time)[:, None]
    pair = np.arange(d_model // 2)
    angle = position / 10000 ** (2 * pair / d_model)
    table = np.zeros((time, d_model))
    table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return torch.from_numpy(table)


def sinusoidal_positions__right_complex(time, d_model):
    """Real and imaginary parts of a unit complex number for each pair, exchanged so that the sine comes first."""
    turned = torch.polar(torch.ones(time, d_model // 2, dtype=torch.float64), _angles(time, d_model))
    return torch.view_as_real(turned).flip(-1).reshape(time, d_model).float()


def sinusoidal_positions__right_shifted_sine(time, d_model):
    """Only sines, in plain Python: the cosine is the sine a quarter of a turn later."""
    rows = [
        [math.sin(t / 10000 ** ((c - c % 2) / d_model) + (c % 2) * math.pi / 2) for c in range(d_model)]
        for t in range(time)
    ]
    return torch.tensor(rows, dtype=torch.float32).reshape(time, d_model)


# ---------------------------------------------------------------- 07.2 shift_matrix


def shift_matrix__wrong_transposed(offset, d_model):
    """The signs of the two sines are exchanged, so the matrix moves every position back by the offset."""
    angle = _angles(2, d_model)[1] * offset
    matrix = torch.zeros(d_model, d_model)
    for i, a in enumerate(angle.tolist()):
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor(
            [[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]]
        )
    return matrix


def shift_matrix__wrong_halves_layout(offset, d_model):
    """The matrix fits encodings with all sines first and all cosines after them; here sine and cosine of a pair are neighbours; it agrees for d_model = 2."""
    angle = (_angles(2, d_model)[1] * offset).float()
    cosine, sine = torch.diag(angle.cos()), torch.diag(angle.sin())
    return torch.cat([torch.cat([cosine, sine], dim=1), torch.cat([-sine, cosine], dim=1)])


def shift_matrix__wrong_one_frequency(offset, d_model):
    """All pairs are rotated by the offset itself; only pair 0 has the frequency 1."""
    a = float(offset)
    block = torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
    return torch.block_diag(*[block] * (d_model // 2))


def shift_matrix__wrong_loop_of_steps(offset, d_model):
    """The one-step matrix is multiplied offset times, and range of a negative offset is empty, so a negative offset gives the identity."""
    step = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i, a in enumerate(_angles(2, d_model)[1].tolist()):
        step[2 * i, 2 * i] = step[2 * i + 1, 2 * i + 1] = math.cos(a)
        step[2 * i, 2 * i + 1] = math.sin(a)
        step[2 * i + 1, 2 * i] = -math.sin(a)
    matrix = torch.eye(d_model, dtype=torch.float64)
    for _ in range(offset):
        matrix = step @ matrix
    return matrix.float()


def shift_matrix__wrong_both_plus(offset, d_model):
    """The minus of the second addition theorem is missing: both sines are positive, and the block is not a rotation."""
    angle = _angles(2, d_model)[1] * offset
    blocks = [torch.tensor([[math.cos(a), math.sin(a)], [math.sin(a), math.cos(a)]]) for a in angle.tolist()]
    return torch.block_diag(*blocks)


def shift_matrix__wrong_fitted(offset, d_model):
    """The matrix is fitted to a table of positions; the slow pairs are nearly constant there, and the entries outside the blocks do not come out as 0."""
    start = max(0, -offset)
    angle = _angles(start + 64 + abs(offset), d_model).float()
    table = torch.stack([angle.sin(), angle.cos()], dim=2).reshape(len(angle), d_model)
    now, later = table[start : start + 64], table[start + offset : start + offset + 64]
    return (torch.linalg.pinv(now) @ later).T


def shift_matrix__wrong_angle_from_width(offset, d_model):
    """The exponent is i / d_model instead of 2i / d_model, so all pairs but the first turn too fast."""
    blocks = []
    for i in range(d_model // 2):
        a = offset / 10000 ** (i / d_model)
        blocks.append(torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]))
    return torch.block_diag(*blocks)


def shift_matrix__right_exponential(offset, d_model):
    """The matrix exponential of an antisymmetric generator times the offset."""
    frequency = _angles(2, d_model)[1]
    above = torch.zeros(d_model - 1, dtype=torch.float64)
    above[0::2] = frequency
    generator = torch.diag(above, 1) - torch.diag(above, -1)
    return torch.linalg.matrix_exp(generator * offset).float()


def shift_matrix__right_indices(offset, d_model):
    """Computes every entry from its row and its column: cosines on the diagonal, signed sines beside it, else zero."""
    row = torch.arange(d_model)[:, None]
    column = torch.arange(d_model)[None, :]
    angle = offset * 10000.0 ** (-(row - row % 2).double() / d_model)
    same_pair = row // 2 == column // 2
    sign = (column - row).double()
    entry = torch.where(row == column, angle.cos(), sign * angle.sin())
    return torch.where(same_pair, entry, torch.zeros_like(entry)).float()


# ---------------------------------------------------------------- 07.3 binary_clock


def binary_clock__wrong_most_significant_first(time, bits):
    """The digits are in the order in which one writes a number; the least significant one must be in column 0."""
    t = torch.arange(time)[:, None]
    return t >> torch.arange(bits - 1, -1, -1) & 1


def binary_clock__wrong_leading_digits_kept(time, bits):
    """Where bits is too small the string is cut at the wrong end and the least significant digits are lost."""
    rows = [[int(c) for c in format(t, f"0{bits}b")[:bits][::-1]] for t in range(time)]
    return torch.tensor(rows, dtype=torch.int64).reshape(time, bits)


def binary_clock__wrong_clamped(time, bits):
    """Numbers that do not fit are replaced by the largest one that does; their lower digits should be kept."""
    t = torch.arange(time).clamp(max=2**bits - 1)
    columns = []
    for _ in range(bits):
        columns.append(t % 2)
        t = t // 2
    return torch.stack(columns, dim=1)


def binary_clock__wrong_bytes(time, bits):
    """The positions are counted in uint8 and begin again with 0 at 256."""
    t = torch.from_numpy(np.arange(time).astype(np.uint8)).long()
    return (t[:, None] >> torch.arange(bits)) % 2


def binary_clock__wrong_booleans(time, bits):
    """The comparison returns booleans; integers of type torch.int64 were asked for."""
    powers = 2 ** torch.arange(bits)
    return (torch.arange(time)[:, None] & powers) != 0


def binary_clock__wrong_linear_periods(time, bits):
    """Column i is divided by i + 1 and must be divided by 2 ** i; the two agree for the first two columns."""
    t = torch.arange(time)[:, None]
    return t // (torch.arange(bits) + 1) % 2


def binary_clock__wrong_gray_code(time, bits):
    """This is the Gray code, in which one digit changes at every step, and not the binary number itself."""
    t = torch.arange(time)
    gray = t ^ (t >> 1)
    return (gray[:, None] >> torch.arange(bits)) & 1


def binary_clock__right_divmod(time, bits):
    """Plain Python with repeated divmod, row by row."""
    table = torch.zeros(time, bits, dtype=torch.int64)
    for t in range(time):
        rest = t
        for i in range(bits):
            rest, table[t, i] = divmod(rest, 2)
    return table


def binary_clock__right_blocks(time, bits):
    """Column i is built as 2 ** i zeros and as many ones, repeated and cut off after time entries."""
    columns = []
    for i in range(bits):
        half = min(2**i, time)
        cycle = torch.cat([torch.zeros(half, dtype=torch.int64), torch.ones(half, dtype=torch.int64)])
        columns.append(cycle.repeat(time // (2 * half) + 1)[:time])
    return torch.stack(columns, dim=1)


# ---------------------------------------------------------------- 07.3 periods


def periods__wrong_angular(d_model):
    """This is the number of positions for one radian; a period is 2 pi radians."""
    return 10000 ** (torch.arange(0, d_model, 2) / d_model)


def periods__wrong_frequencies_times_2pi(d_model):
    """The frequency is multiplied by 2 pi; the period is 2 pi divided by it. Only the first pair comes out right."""
    return 2 * math.pi / 10000 ** (torch.arange(0, d_model, 2) / d_model)


def periods__wrong_rounded(d_model):
    """The periods are rounded to whole positions, but they are in general not integers."""
    return torch.round(2 * math.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model))


def periods__wrong_for_each_column(d_model):
    """There is one period for each column; one for each pair was asked for, d_model / 2 in all."""
    column = torch.arange(d_model)
    return 2 * math.pi * 10000 ** ((column - column % 2) / d_model)


def periods__wrong_logspace_to_the_end(d_model):
    """logspace includes its end, so the last period is 10000 times the first; the step from pair to pair is then too large unless there is one pair."""
    return 2 * math.pi * torch.logspace(0, 4, d_model // 2)


def periods__wrong_pi_rounded(d_model):
    """3.14 is used for pi, so every period is too short by half a per mille."""
    return 2 * 3.14 * 10000 ** (torch.arange(0, d_model, 2) / d_model)


def periods__wrong_half_exponent(d_model):
    """The exponent counts pairs, i / d_model, and must be 2i / d_model."""
    return 2 * math.pi * 10000 ** (torch.arange(d_model // 2) / d_model)


def periods__right_cumulative_product(d_model):
    """Begins with 2 pi and multiplies by the constant factor from pair to pair, in double precision."""
    factors = torch.full((d_model // 2,), 10000 ** (2 / d_model), dtype=torch.float64)
    factors[0] = math.tau
    return torch.cumprod(factors, dim=0).float()


def periods__right_from_the_derivative(d_model):
    """Takes the speed of every angle as a derivative with respect to the position, and divides 2 pi by it."""

    def angle(t):
        return t / 10000 ** (torch.arange(d_model // 2, dtype=torch.float64) * 2 / d_model)

    speed = torch.func.jacrev(angle)(torch.tensor(0.0, dtype=torch.float64))
    return (2 * torch.pi / speed).to(torch.float32)


# ---------------------------------------------------------------- 07.4 rotate_by_position


def _turn(vectors):
    angle = _angles(vectors.shape[-2], vectors.shape[-1])
    return angle.cos().to(vectors.dtype), angle.sin().to(vectors.dtype)


def rotate_by_position__wrong_half_and_half(vectors):
    """Entry i is paired with entry i + width / 2, as in some libraries; the pairs here are neighbours, 2i and 2i + 1. Right for width 2."""
    cosine, sine = _turn(vectors)
    x, y = vectors.chunk(2, dim=-1)
    return torch.cat([x * cosine - y * sine, x * sine + y * cosine], dim=-1)


def rotate_by_position__wrong_backwards(vectors):
    """The sign of both sines is exchanged, so every pair is rotated by the negative angle."""
    cosine, sine = _turn(vectors)
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack([x * cosine + y * sine, y * cosine - x * sine], dim=-1).flatten(-2)


def rotate_by_position__wrong_overwritten_pair(vectors):
    """x is a view of the result and has already been overwritten when the second line uses it."""
    cosine, sine = _turn(vectors)
    result = vectors.clone()
    x, y = result[..., 0::2], result[..., 1::2]
    result[..., 0::2] = x * cosine - y * sine
    result[..., 1::2] = x * sine + y * cosine
    return result


def rotate_by_position__wrong_in_place(vectors):
    """The rotated pairs are right, but they are written into the caller's vectors."""
    cosine, sine = _turn(vectors)
    x, y = vectors[..., 0::2].clone(), vectors[..., 1::2].clone()
    vectors[..., 0::2] = x * cosine - y * sine
    vectors[..., 1::2] = x * sine + y * cosine
    return vectors


def rotate_by_position__wrong_not_interleaved(vectors):
    """The pairs are read from neighbouring entries, but written back with all x' first and all y' after them."""
    cosine, sine = _turn(vectors)
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    return torch.cat([x * cosine - y * sine, x * sine + y * cosine], dim=-1)


def rotate_by_position__wrong_flattened_positions(vectors):
    """The leading axes are flattened into the time, so the second sequence does not begin again at position 0; right without leading axes."""
    flat = vectors.reshape(-1, vectors.shape[-1])
    cosine, sine = _turn(flat)
    x, y = flat[:, 0::2], flat[:, 1::2]
    return torch.stack([x * cosine - y * sine, x * sine + y * cosine], dim=-1).reshape(vectors.shape)


def rotate_by_position__wrong_one_frequency(vectors):
    """All pairs are rotated by the position itself; the angle must be divided by 10000 ** (2i / width). Right for width 2."""
    angle = torch.arange(vectors.shape[-2], dtype=vectors.dtype)[:, None]
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack([x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()], dim=-1).flatten(-2)


def rotate_by_position__wrong_time_is_axis_one(vectors):
    """The positions run along axis 1, which is the time only with exactly one leading axis; with batch and heads it is the heads, and time is always the last axis but one."""
    if vectors.dim() == 2:
        return rotate_by_position__wrong_time_is_axis_one(vectors[None])[0]
    angle = _angles(vectors.shape[1], vectors.shape[-1]).to(vectors.dtype)
    angle = angle.reshape(1, vectors.shape[1], *[1] * (vectors.dim() - 3), -1)
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    return torch.stack([x * angle.cos() - y * angle.sin(), x * angle.sin() + y * angle.cos()], dim=-1).flatten(-2)


def rotate_by_position__right_complex_numbers(vectors):
    """Reads each pair as a complex number and multiplies it by a unit complex number."""
    angle = _angles(vectors.shape[-2], vectors.shape[-1])
    pairs = torch.complex(vectors[..., 0::2].double(), vectors[..., 1::2].double())
    turned = torch.view_as_real(pairs * torch.exp(1j * angle))
    return turned.reshape(vectors.shape).to(vectors.dtype)


def rotate_by_position__right_block_matrices(vectors):
    """One block-diagonal rotation matrix for each position, applied with einsum."""
    width = vectors.shape[-1]
    matrices = []
    for t in range(vectors.shape[-2]):
        blocks = []
        for i in range(width // 2):
            a = t / 10000 ** (2 * i / width)
            blocks.append(torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]], dtype=torch.float64))
        matrices.append(torch.block_diag(*blocks))
    return torch.einsum("tij,...tj->...ti", torch.stack(matrices).to(vectors.dtype), vectors)


# ---------------------------------------------------------------- 07.5 probe


def probe__wrong_with_bias(inputs, targets):
    """A column of ones was added to the inputs, but the probe has no bias."""
    ones = torch.ones(inputs.shape[0], 1, dtype=inputs.dtype)
    wide = torch.cat([inputs, ones], dim=1)
    return wide @ (torch.linalg.pinv(wide) @ targets)


def probe__wrong_ridge(inputs, targets):
    """A ridge of 1e-3 was added so that the normal equations can be solved; it shrinks the predictions, most of all for small inputs."""
    width = inputs.shape[1]
    normal = inputs.T @ inputs + 1e-3 * torch.eye(width, dtype=inputs.dtype)
    return inputs @ torch.linalg.solve(normal, inputs.T @ targets)


def probe__wrong_full_rank_driver(inputs, targets):
    """The driver gels assumes independent columns (or rows), so dependent columns give nan or numbers that are far off."""
    return inputs @ torch.linalg.lstsq(inputs, targets, driver="gels").solution


def probe__wrong_orthogonal_factor(inputs, targets):
    """The targets are projected on the columns of Q from a QR decomposition; where columns of the inputs are dependent, Q has directions that the inputs do not have."""
    q, _ = torch.linalg.qr(inputs)
    return q @ (q.T @ targets)


def probe__wrong_interpolation_assumed(inputs, targets):
    """With no more samples than columns the targets themselves are returned; that is only right if the rows of the inputs are independent."""
    samples, width = inputs.shape
    if samples <= width:
        return targets.clone()
    return inputs @ torch.linalg.pinv(inputs) @ targets


def probe__wrong_matrix_returned(inputs, targets):
    """The best matrix B is returned; its predictions, inputs @ B, were asked for."""
    return torch.linalg.pinv(inputs) @ targets


def probe__wrong_gradient_descent(inputs, targets):
    """A hundred steps of gradient descent do not reach the smallest error unless the inputs are well conditioned."""
    matrix = torch.zeros(inputs.shape[1], targets.shape[1], dtype=inputs.dtype)
    step = 1 / (inputs**2).sum().clamp(min=1e-12)
    for _ in range(100):
        matrix = matrix - step * inputs.T @ (inputs @ matrix - targets)
    return inputs @ matrix


def probe__wrong_half_for_training(inputs, targets):
    """The matrix is fitted to the first half of the samples only; the sum of the squares is over all of them."""
    half = (inputs.shape[0] + 1) // 2
    matrix = torch.linalg.pinv(inputs[:half]) @ targets[:half]
    return inputs @ matrix


def probe__right_singular_vectors(inputs, targets):
    """Projects the targets on the left singular vectors that belong to singular values above a tolerance."""
    u, s, _ = torch.linalg.svd(inputs.double(), full_matrices=False)
    tolerance = s.max() * 10 * max(inputs.shape) * torch.finfo(inputs.dtype).eps
    kept = u[:, s > tolerance]
    return (kept @ (kept.T @ targets.double())).to(targets.dtype)


def probe__right_gram_schmidt(inputs, targets):
    """Gram-Schmidt by hand, in double precision, with a second pass; directions that are already there are skipped."""
    residual, basis = inputs.double(), []
    limit = residual.norm() * 10 * max(inputs.shape) * torch.finfo(inputs.dtype).eps
    rest = residual.clone()
    for _ in range(min(inputs.shape)):
        norms = rest.norm(dim=0)
        best = int(norms.argmax())
        if norms[best] <= limit:
            break
        direction = rest[:, best] / norms[best]
        for old in basis:
            direction = direction - old * (old @ direction)
        direction = direction / direction.norm()
        basis.append(direction)
        rest = rest - torch.outer(direction, direction @ rest)
    answer = torch.zeros_like(targets, dtype=torch.float64)
    for direction in basis:
        answer += torch.outer(direction, direction @ targets.double())
    return answer.to(targets.dtype)


def probe__right_lstsq_svd_driver(inputs, targets):
    """torch.linalg.lstsq with the driver gelsd, which is made for dependent columns."""
    return inputs @ torch.linalg.lstsq(inputs, targets, driver="gelsd").solution


# ---------------------------------------------------------------- 07.5 separable


def _rank(rows):
    s = torch.linalg.svdvals(rows.double())
    return int((s > 1e-5 * s.max()).sum())


def separable__wrong_all_rows_independent(words, positions):
    """All rows together are required to be independent, but rows of one table may be multiples of each other."""
    return _rank(torch.cat([words, positions])) == len(words) + len(positions)


def separable__wrong_orthogonal(words, positions):
    """Orthogonality is sufficient and not necessary: a position need not be orthogonal to the words."""
    return bool((words @ positions.T).abs().max() < 1e-4)


def separable__wrong_rows_counted(words, positions):
    """Only the numbers of rows and columns are compared; the rows can lie in each other's span, or be dependent, in any number of dimensions."""
    return words.shape[0] + positions.shape[0] <= words.shape[1]


def separable__wrong_probe_on_sums(words, positions):
    """The probe is fitted on the sums w + p with the target w; a matrix with R(w + p) = w need not keep the words and erase the positions."""
    sums = (words[:, None] + positions[None]).flatten(0, 1).double()
    targets = words[:, None].expand(-1, len(positions), -1).flatten(0, 1).double()
    predictions = sums @ torch.linalg.lstsq(sums, targets, driver="gelsd").solution
    return bool(torch.allclose(predictions, targets, atol=1e-4))


def separable__wrong_positions_one_by_one(words, positions):
    """Each position is tested by itself, but a combination of several positions can be a word, too."""
    rank = _rank(words)
    return all(_rank(torch.cat([words, position[None]])) > rank for position in positions)


def separable__wrong_dimensions_added(words, positions):
    """The ranks are added and compared with the width; also where there is room enough the two spans can overlap."""
    return _rank(words) + _rank(positions) <= words.shape[1]


def separable__wrong_words_kept_only(words, positions):
    """The best matrix for the words alone is the projection on their span, and it is then tested on the positions; another matrix may keep the words and erase the positions."""
    keep = torch.linalg.pinv(words.double()) @ words.double()
    return bool((positions.double() @ keep).abs().max() < 1e-4)


def separable__right_principal_angles(words, positions):
    """Compares orthonormal bases of the two spans: they share a direction exactly when the largest cosine of a principal angle is 1."""
    bases = []
    for table in (words, positions):
        _, s, vh = torch.linalg.svd(table.double(), full_matrices=False)
        bases.append(vh[s > 1e-6 * s.max().clamp(min=1e-30)])
    if len(bases[0]) == 0 or len(bases[1]) == 0:
        return True
    cosines = torch.linalg.svdvals(bases[0] @ bases[1].T)
    return bool(cosines.max() < 1 - 1e-9)


def separable__right_probe_of_both(words, positions):
    """Fits one probe to words with themselves as targets and positions with zeros, and looks at the largest error."""
    rows = torch.cat([words, positions]).double()
    targets = torch.cat([words, torch.zeros_like(positions)]).double()
    u, s, _ = torch.linalg.svd(rows, full_matrices=False)
    u = u[:, s > 1e-6 * s.max()]
    error = u @ (u.T @ targets) - targets
    return error.abs().max().item() < 1e-2


# ---------------------------------------------------------------- 07.6 distance_bias


def distance_bias__wrong_sign(table, query, key):
    """The offset is the position of the query minus that of the key; it was asked for the other way round."""
    reach = table.shape[1] // 2
    offset = (torch.arange(query) + key - query)[:, None] - torch.arange(key)
    return table[:, offset.clamp(-reach, reach) + reach]


def distance_bias__wrong_queries_at_the_start(table, query, key):
    """The queries are put at the first positions; they are at the last ones, which makes no difference only for as many queries as keys."""
    reach = (table.shape[1] - 1) // 2
    offset = torch.arange(key)[None, :] - torch.arange(query)[:, None]
    return table[:, offset.clamp(-reach, reach) + reach]


def distance_bias__wrong_zero_beyond(table, query, key):
    """Offsets beyond the reach get the bias 0; they should get the outermost column of their side."""
    reach = table.shape[1] // 2
    offset = torch.arange(key) - torch.arange(key - query, key)[:, None]
    bias = table[:, offset.clamp(-reach, reach) + reach]
    return bias.masked_fill(offset.abs() > reach, 0.0)


def distance_bias__wrong_wraps_around(table, query, key):
    """Indices beyond the table are taken modulo its width, so far offsets get the column of a near one."""
    columns = table.shape[1]
    offset = torch.arange(key) - torch.arange(key - query, key)[:, None]
    return table[:, (offset + columns // 2) % columns]


def distance_bias__wrong_detached(table, query, key):
    """The entries are copied as Python numbers, so the table, which is learned, gets no gradient."""
    reach = table.shape[1] // 2
    rows = table.tolist()
    bias = torch.zeros(len(rows), query, key, dtype=table.dtype)
    for h, row in enumerate(rows):
        for q in range(query):
            for k in range(key):
                offset = k - (q + key - query)
                bias[h, q, k] = row[max(-reach, min(reach, offset)) + reach]
    return bias


def distance_bias__wrong_one_position_early(table, query, key):
    """The queries are put one position too early, at key - query - 1 and so on, so no last query meets its own position."""
    reach = table.shape[1] // 2
    position = torch.arange(query) + key - query - 1
    offset = torch.arange(key) - position[:, None]
    return table[:, offset.clamp(-reach, reach) + reach]


def distance_bias__wrong_heads_last(table, query, key):
    """The table is looked up as (query, key, heads) and the axis of the heads is not moved to the front."""
    reach = table.shape[1] // 2
    offset = torch.arange(key) - torch.arange(key - query, key)[:, None]
    return F.embedding(offset.clamp(-reach, reach) + reach, table.T)


def distance_bias__wrong_one_sided_clamp(table, query, key):
    """Only offsets above the reach are clamped; a negative index counts from the end of the table and picks up the bias of keys that come later, or an error."""
    reach = table.shape[1] // 2
    offset = torch.arange(key) - torch.arange(key - query, key)[:, None]
    index = (offset + reach).clamp(max=2 * reach)
    return table[:, index]


def distance_bias__right_padded_windows(table, query, key):
    """Extends the table at both ends to all offsets that can occur and cuts one window of it for each query."""
    reach = table.shape[1] // 2
    left = table[:, :1].expand(-1, key)
    right = table[:, -1:].expand(-1, key)
    long = torch.cat([left, table, right], dim=1)  # offset 0 is column key + reach
    rows = [long[:, key + reach - t : key + reach - t + key] for t in range(key - query, key)]
    return torch.stack(rows, dim=1)


def distance_bias__right_one_hot(table, query, key):
    """Multiplies the table with a one-hot tensor of the columns."""
    columns = table.shape[1]
    place = [
        [min(max(k - q + (columns - 1) // 2, 0), columns - 1) for k in range(key)] for q in range(key - query, key)
    ]
    chosen = F.one_hot(torch.tensor(place).reshape(query, key), columns).to(table.dtype)
    return torch.einsum("hc,qkc->hqk", table, chosen)


def distance_bias__right_gather(table, query, key):
    """Broadcasts the indices over the heads and uses torch.gather on the flattened square."""
    reach = (table.shape[1] - 1) // 2
    offset = torch.arange(key)[None] - torch.arange(key)[-query:, None]
    index = torch.minimum(torch.maximum(offset, torch.tensor(-reach)), torch.tensor(reach)) + reach
    flat = index.reshape(1, -1).expand(table.shape[0], -1)
    return table.gather(1, flat).reshape(-1, query, key)
