"""Exercise 07.2, the matrix that moves the code of every position by one offset."""

import torch

from course_lib.grading.call import Call, NoAnswer
from course_lib.grading.declarations.chapter_07_sinusoids import exponents
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import Judge, answer_like, both, difference, equals
from course_lib.grading.wording import describe_case, describe_kind


def blocks(cosine, sine, upper=1, lower=-1, last=1):
    """One block [[cosine, upper sine], [lower sine, last cosine]] for each pair, along the diagonal."""
    entries = torch.stack([cosine, upper * sine, lower * sine, last * cosine], -1)
    return torch.block_diag(*entries.unflatten(-1, (2, 2))).float()


def steps(offset, powers):
    """The angle of each pair for an offset."""
    return offset / 10_000.0**powers


def shift_by(angles, **signs):
    """The matrix that turns each pair by its angle."""
    return blocks(angles.cos(), angles.sin(), **signs)


def shift_matrix(offset, d_model):
    """The matrix that moves every position's code by an offset."""
    return shift_by(steps(offset, exponents(d_model)))


def shift_halves(offset, d_model):
    """The matrix for codes of which the first half are sines."""
    cosine, sine = (f(steps(offset, exponents(d_model))).diag() for f in (torch.cos, torch.sin))
    return torch.cat([torch.cat([cosine, sine], 1), torch.cat([-sine, cosine], 1)]).float()


def draw_offset(generator: torch.Generator) -> Case:
    """Draw an offset, forward or back, and an even width."""
    offset, pairs = sizes(generator, 19, 5)
    return {"offset": offset - 10, "d_model": 2 * pairs}


STARTS = torch.tensor([0, 1, 2, 5, 30, 700])  # few of them leave a matrix free; far ones tell slow pairs apart


def codes(positions, d_model):
    """The codes of some positions, one in each row, in float64."""
    angles = positions[:, None] / 10_000.0 ** exponents(d_model)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def moves_every_position(call: Call, case: Case) -> str | None:
    """M p(t) is p(t + offset), wherever t is."""
    matrix, _ = answer_like(shift_matrix, call, case)
    offset, d_model = case["offset"], case["d_model"]
    moved, due = codes(STARTS, d_model) @ matrix.double().T, codes(STARTS + offset, d_model)
    if difference(moved, due) is None:
        return None
    for start, came, expected in zip(STARTS.tolist(), moved, due, strict=True):
        if found := difference(came, expected):
            return f"{describe_case(case)}: M p({start}) is to be p({start + offset}): {found}"
    return None


def pairs_by_themselves(call: Call, case: Case) -> str | None:
    """Outside the blocks of 2 times 2 all is 0."""
    matrix, _ = answer_like(shift_matrix, call, case)
    outside = torch.block_diag(*[torch.ones(2, 2)] * (case["d_model"] // 2)) == 0
    found = difference(matrix * outside, torch.zeros_like(matrix))
    return f"{describe_case(case)}: outside the blocks of neighbours {found}" if found else None


def moving(call: Call, case: Case, offset: int) -> torch.Tensor:
    """The matrix for another offset, or NoAnswer where it moves nothing and would satisfy every law of shifts."""
    matrix, _ = answer_like(shift_matrix, call, case)
    if offset == case["offset"]:
        return matrix
    case, width = case | {"offset": offset}, case["d_model"]
    matrix = call(case)
    if matrix.shape != (width, width):
        raise NoAnswer(f"{describe_case(case)}: came {describe_kind(matrix)}, expected shape {(width, width)}")
    if offset and difference(matrix, torch.eye(width)) is None:
        raise NoAnswer(f"{describe_case(case)}: came the identity, which moves nothing")
    return matrix


def one_after_the_other(call: Call, case: Case) -> str | None:
    """M(a) M(3) is M(a + 3)."""
    offset = case["offset"]
    product = moving(call, case, offset) @ moving(call, case, 3)
    found = difference(product, moving(call, case, offset + 3))
    told = f"{describe_case(case)}: M({offset}) M(3) and M({offset + 3}) differ"
    return f"{told}: {found}".replace("expected", "and") if found else None


def there_and_back(call: Call, case: Case) -> str | None:
    """M(-a) is the transpose of M(a), and M(-a) M(a) the identity."""
    offset = abs(case["offset"]) or 1
    there, back = moving(call, case, offset), moving(call, case, -offset)
    for found, claim in (
        (difference(back @ there, torch.eye(len(there))), f"M({-offset}) M({offset}) is to be the identity"),
        (difference(back, there.T), f"M({-offset}) is to be M({offset}) transposed"),
    ):
        if found:
            return f"d_model = {case['d_model']}: {claim}: {found}"
    return None


def only_forward(offset, d_model):
    """One step as often as `range(offset)` says, which is never where that is negative."""
    matrix, one = torch.eye(d_model), shift_matrix(1, d_model)
    for _ in range(offset):
        matrix = one @ matrix
    return matrix


MOVES = "M p(t) is p(t + offset) for every t"
BLOCKS = "each pair is turned by itself: zeros outside the blocks"
COMPOSES = "M(a) M(b) is M(a + b)"
BACK = "M(-a) undoes M(a) and is its transpose"

moves: Judge = both(moves_every_position, equals(shift_matrix))

SHIFT = Exercise(
    id="07.2",
    title="The shift matrix",
    difficulty=3,
    minutes=25,
    tasks=(
        Task(
            function="shift_matrix",
            parameters=("offset", "d_model"),
            returns="the matrix that moves each code by the offset, shape (d_model, d_model)",
            cases=draw_offset,
            examples=({"offset": 1, "d_model": 4}, {"offset": -2, "d_model": 2}),
            reference=shift_matrix,
            properties=(
                Property(MOVES, 4, moves),
                Property(BLOCKS, 1, pairs_by_themselves),
                Property(COMPOSES, 1, one_after_the_other),
                Property(BACK, 1, there_and_back),
            ),
            misconceptions=(
                Misconception(
                    "turned the other way",
                    "this takes p(t) to p(t - offset): the textbook's [[cos, -sin], [sin, cos]] is for pairs with the "
                    "cosine first, here the sine comes first, and the minus belongs below; a matrix for rows, `p @ M`, "
                    "is the transpose as well",
                    lambda offset, d_model: shift_matrix(offset, d_model).T,
                    breaks=MOVES,
                ),
                Misconception(
                    "halves",
                    "this is right for codes whose first half are the sines; here sine and cosine of a pair are "
                    "neighbours, rows and columns 2i and 2i + 1",
                    shift_halves,
                    breaks=BLOCKS,
                ),
                Misconception(
                    "no minus",
                    "both sines have a plus here; cos(a + b) is cos a cos b *minus* sin a sin b, so the lower one is "
                    "negative",
                    lambda offset, d_model: shift_by(steps(offset, exponents(d_model)), lower=1),
                    breaks=COMPOSES,
                ),
                Misconception(
                    "both minus",
                    "both sines have a minus here; sin(a + b) is sin a cos b *plus* cos a sin b, so the upper one is "
                    "positive",
                    lambda offset, d_model: shift_by(steps(offset, exponents(d_model)), upper=-1),
                    breaks=COMPOSES,
                ),
                Misconception(
                    "reflected",
                    "this mirrors each pair, [[cos, sin], [sin, -cos]]; two mirrors make no mirror, so M(a) M(b) is "
                    "not M(a + b): the minus belongs to the lower sine",
                    lambda offset, d_model: shift_by(steps(offset, exponents(d_model)), lower=1, last=-1),
                    breaks=COMPOSES,
                ),
                Misconception(
                    "sine and cosine exchanged",
                    "this has the sines on the diagonal; an offset of 0 has to give the identity, and the cosine of 0 "
                    "is 1",
                    lambda offset, d_model: blocks(
                        steps(offset, exponents(d_model)).sin(), steps(offset, exponents(d_model)).cos()
                    ),
                    breaks=COMPOSES,
                ),
                Misconception(
                    "diagonal only",
                    "this multiplies every entry by a cosine; the sine of a sum needs the sine *and* the cosine of a "
                    "pair, so the two must mix",
                    lambda offset, d_model: shift_by(steps(offset, exponents(d_model)), upper=0, lower=0),
                    breaks=COMPOSES,
                ),
                Misconception(
                    "one speed for all",
                    "this turns every pair by the offset itself; pair i turns by offset / 10000^(2i / d_model)",
                    lambda offset, d_model: shift_by(steps(offset, 0 * exponents(d_model))),
                    breaks=MOVES,
                ),
                Misconception(
                    "i for 2i",
                    "this has the exponent i / d_model for pair i; it is 2i / d_model, as in 07.1",
                    lambda offset, d_model: shift_by(steps(offset, exponents(d_model) / 2)),
                    breaks=MOVES,
                ),
                Misconception(
                    "multiplied",
                    "this multiplies the offset by 10000^(2i / d_model); it is divided, as the position is",
                    lambda offset, d_model: shift_by(offset * 10_000 ** exponents(d_model).float()),
                    breaks=MOVES,
                ),
                Misconception(
                    "forward only",
                    "for a negative offset this moves nothing: `range(offset)` is then empty; take the angle from the "
                    "offset, whose sign turns it back",
                    only_forward,
                    breaks=BACK,
                ),
                Misconception(
                    "offset without sign",
                    "this moves forward whatever the sign of the offset: sin(-a) is -sin(a), and nothing has to be "
                    "made positive",
                    lambda offset, d_model: shift_matrix(abs(offset), d_model),
                    breaks=BACK,
                ),
            ),
        ),
    ),
    hints=(
        "The entries of p(t + b) in pair i are sin(a + b) and cos(a + b), with a the angle of t and b that of the "
        "offset. What are these in terms of sin a and cos a?",
        "For each pair, two equations: sin(a + b) = cos b sin a + sin b cos a, and the one for the cosine. Their "
        "coefficients are the four entries of a block; b = offset / 10000^(2i / d_model) differs from pair to pair.",
        "The block is [[cos b, sin b], [-sin b, cos b]]; a loop over i writes it into "
        "`matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2]` of a `torch.zeros(d_model, d_model)`.",
    ),
)
