"""07.2: the matrix that moves the encoding of every position by one offset."""

import torch

from course_lib.exercises.chapter_07._sinusoids import angles, encodings
from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import both, difference, equals
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def shift_matrix(offset, d_model):
    """One block [[cosine, sine], [-sine, cosine]] for each pair, along the diagonal."""
    (angle,) = angles(torch.tensor([offset]), d_model)
    entries = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()], -1)
    return torch.block_diag(*entries.unflatten(-1, (2, 2))).float()


def draw_offset(generator: torch.Generator) -> Case:
    """Draw an offset, forward or back, and an even width."""
    offset, pairs = sizes(generator, 19, 5)
    return {"offset": offset - 10, "d_model": 2 * pairs}


STARTS = torch.tensor([0, 1, 2, 5, 30, 700])  # few of them leave a matrix free; far ones tell slow pairs apart


def moves_every_position(case: Case):
    """M p(t) is p(t + offset), wherever t is."""
    reply = yield case
    offset, d_model = case["offset"], case["d_model"]
    moved, expected = encodings(STARTS, d_model) @ reply.value.double().T, encodings(STARTS + offset, d_model)
    for start, *pair in zip(STARTS.tolist(), moved, expected, strict=True):
        if problem := difference(case, *pair, where=f"M p({start}), which is to be p({start + offset})"):
            return problem
    return None


def pairs_by_themselves(case: Case):
    """Outside the blocks of 2 times 2 all is 0."""
    reply = yield case
    outside = torch.block_diag(*[torch.ones(2, 2)] * (case["d_model"] // 2)) == 0
    got = reply.value * outside
    return difference(case, got, torch.zeros_like(got), where="outside the blocks of neighbours")


def idle(case: Case, *replies) -> Problem | None:
    """Say so where another offset than the case's moves nothing: that would satisfy every law of shifts."""
    for reply in replies:
        offset, width = reply.arguments["offset"], case["d_model"]
        if offset not in (0, case["offset"]) and difference(case, reply.value, torch.eye(width)) is None:
            return Problem("value", reply.arguments, got="the identity", expected="a matrix that moves something")
    return None


def one_after_the_other(case: Case):
    """M(a) M(3) is M(a + 3)."""
    offset = case["offset"]
    first, second, whole = yield [case, case | {"offset": 3}, case | {"offset": offset + 3}]
    where = f"M({offset}) M(3), beside M({offset + 3})"
    return idle(case, second, whole) or difference(case, first.value @ second.value, whole.value, where=where)


def there_and_back(case: Case):
    """M(-a) is the transpose of M(a), and M(-a) M(a) the identity."""
    offset = abs(case["offset"]) or 1
    there, back = yield [case | {"offset": offset}, case | {"offset": -offset}]
    if problem := idle(case, there, back):
        return problem
    identity = torch.eye(case["d_model"])
    where = f"M({-offset}) M({offset}), which is to be the identity"
    if problem := difference(case, back.value @ there.value, identity, where=where):
        return problem
    return difference(case, back.value, there.value.T, where=f"M({-offset}), beside M({offset}) transposed")


MISTAKES = """
turned the other way => M p(t) is p(t + offset) for every t
- return matrix
+ return matrix.T
this takes p(t) to p(t - offset): the textbook's [[cos, -sin], [sin, cos]] is for pairs with the cosine first, here the
sine comes first, and the minus belongs below; a matrix for rows, `p @ M`, is the transpose as well

halves => each pair is rotated by itself: zeros outside the blocks
- even, odd = 2 * pair, 2 * pair + 1
+ even, odd = pair, pair + d_model // 2
this is right for encodings whose first half are the sines; here sine and cosine of a pair are neighbours, rows and
columns 2i and 2i + 1

no minus => M(a) M(b) is M(a + b)
- matrix[odd, even], matrix[odd, odd] = -sine, cosine
+ matrix[odd, even], matrix[odd, odd] = sine, cosine
both sines have a plus here; cos(a + b) is cos a cos b *minus* sin a sin b, so the lower one is negative

both minus => M(a) M(b) is M(a + b)
- matrix[even, even], matrix[even, odd] = cosine, sine
+ matrix[even, even], matrix[even, odd] = cosine, -sine
both sines have a minus here; sin(a + b) is sin a cos b *plus* cos a sin b, so the upper one is positive

reflected => M(a) M(b) is M(a + b)
- matrix[odd, even], matrix[odd, odd] = -sine, cosine
+ matrix[odd, even], matrix[odd, odd] = sine, -cosine
this reflects each pair, [[cos, sin], [sin, -cos]]; two reflections make a rotation, so M(a) M(b) is not M(a + b): the
minus belongs to the lower sine

sine and cosine exchanged => M(a) M(b) is M(a + b)
- sine, cosine = angle.sin(), angle.cos()
+ sine, cosine = angle.cos(), angle.sin()
this has the sines on the diagonal; an offset of 0 has to give the identity, and the cosine of 0 is 1

diagonal only => M(a) M(b) is M(a + b)
- matrix[even, even], matrix[even, odd] = cosine, sine
- matrix[odd, even], matrix[odd, odd] = -sine, cosine
+ matrix[even, even] = matrix[odd, odd] = cosine
this multiplies every entry by a cosine; the sine of a sum needs the sine *and* the cosine of a pair, so the two must
mix

one speed for all => M p(t) is p(t + offset) for every t
- angle = torch.tensor(offset / 10000 ** (2 * pair / d_model))
+ angle = torch.tensor(float(offset))
this rotates every pair by the offset itself; pair i is rotated by offset / 10000^(2i / d_model)

i for 2i => M p(t) is p(t + offset) for every t
+ angle = torch.tensor(offset / 10000 ** (pair / d_model))
this has the exponent i / d_model for pair i; it is 2i / d_model, as in 07.1

multiplied => M p(t) is p(t + offset) for every t
+ angle = torch.tensor(offset * 10000 ** (2 * pair / d_model))
this multiplies the offset by 10000^(2i / d_model); it is divided, as the position is

forward only => M(-a) undoes M(a) and is its transpose
+ angle = torch.tensor(max(offset, 0) / 10000 ** (2 * pair / d_model))
for a negative offset this moves nothing (as a loop over `range(offset)` does, which is then empty); take the angle from
the offset, sign included

offset without sign => M(-a) undoes M(a) and is its transpose
+ angle = torch.tensor(abs(offset) / 10000 ** (2 * pair / d_model))
this moves forward whatever the sign of the offset: sin(-a) is -sin(a), and nothing has to be made positive

a hundredth from pair to pair => M p(t) is p(t + offset) for every t
- angle = torch.tensor(offset / 10000 ** (2 * pair / d_model))
+ angle = torch.tensor(offset / 100.0**pair)
this makes each pair slower than the one before by the factor 100, which is right where d_model is 4, as in the example;
the factor is 10000^(2 / d_model)
"""

EXERCISE = Exercise(
    title="The shift matrix",
    difficulty=3,
    minutes=25,
    tasks=(
        Task(
            function="shift_matrix",
            parameters=("offset", "d_model"),
            returns="the matrix that shifts each encoding by the offset, shape (d_model, d_model)",
            cases=draw_offset,
            examples=({"offset": 1, "d_model": 4}, {"offset": -2, "d_model": 2}),
            edges=(
                {"offset": 0, "d_model": 2},  # nothing moves
                {"offset": -500, "d_model": 4},  # far back
                {"offset": 7, "d_model": 10},  # five pairs, of which the last hardly turns
            ),
            reference=shift_matrix,
            properties=(
                Property("M p(t) is p(t + offset) for every t", 4, both(moves_every_position, equals())),
                Property("each pair is rotated by itself: zeros outside the blocks", 1, pairs_by_themselves),
                Property("M(a) M(b) is M(a + b)", 1, one_after_the_other),
                Property("M(-a) undoes M(a) and is its transpose", 1, there_and_back),
            ),
            mistakes=MISTAKES,
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
