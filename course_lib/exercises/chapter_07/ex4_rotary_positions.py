"""07.4: the rotary position embedding (RoPE), pairs of entries rotated by the angle of their position."""

import torch

from course_lib.exercises.chapter_07._sinusoids import angles, in_turn
from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import difference, equals, inputs_unchanged
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def rotate_by_position(vectors):
    """Each pair rotated by the angle of its position."""
    time, width = vectors.shape[-2:]
    angle = angles(torch.arange(time), width)
    cosine, sine = angle.cos().to(vectors.dtype), angle.sin().to(vectors.dtype)
    x, y = vectors[..., 0::2], vectors[..., 1::2]
    return in_turn(x * cosine - y * sine, x * sine + y * cosine)


def by_axis(axis):
    """Return a rotation whose positions run along another axis, where there is one."""

    def rotate(vectors):
        if vectors.dim() < 3:
            return rotate_by_position(vectors)
        return rotate_by_position(vectors.movedim(axis, -2)).movedim(-2, axis)

    return rotate


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw vectors with no leading axis, one or two."""
    axes = int(torch.randint(3, (), generator=generator))
    time, pairs = sizes(generator, 6, 4)
    return {"vectors": normal(generator, *sizes(generator, *[3] * axes), time, 2 * pairs)}


def first_stays(case: Case):
    """The vectors at position 0 stay as they are, and those at position 1 do not."""
    answer, vectors = (yield case).value, case["vectors"]
    if problem := difference(case, answer[..., 0, :], vectors[..., 0, :], where="position 0"):
        return problem
    if answer.shape[-2] > 1 and difference(case, answer[..., 1, :], vectors[..., 1, :]) is None:
        return Problem("value", case, where="position 1", got="the vectors as they were", expected="rotated vectors")
    return None


def norms_stay(case: Case):
    """Every vector keeps its norm."""
    reply = yield case
    return difference(case, reply.value.norm(dim=-1), case["vectors"].norm(dim=-1), where="the norms of the vectors")


LONG = 7


def scores_know_the_offset_alone(case: Case):
    """One query and one key at every position: their scores differ from offset to offset, and by nothing else."""
    query = case["vectors"].flatten(0, -2)[0]
    two = torch.stack([query, query.roll(1) + 1])  # (2, width): a query, and a key made of it
    asked = {"vectors": two[:, None].expand(2, LONG, -1).clone()}
    queries, keys = (yield asked).value
    scores = queries @ keys.T
    where = f"one query and one key at each of {LONG} positions: the score of t + 1 with s + 1, beside that of t with s"
    if problem := difference(asked, scores[1:, 1:], scores[:-1, :-1], where=where):
        return problem
    if difference(asked, scores, scores[:1, :1].expand_as(scores)) is None:
        where = f"the scores of one query and one key at each of {LONG} positions"
        return Problem("value", asked, where=where, got="one number", expected="others for other offsets")
    return None


MISTAKES = """
halves => each pair is rotated by the angle of its position
- x, y = vectors[..., 0::2], vectors[..., 1::2]
- rotated_x = x * angle.cos() - y * angle.sin()
- rotated_y = x * angle.sin() + y * angle.cos()
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ x, y = vectors.chunk(2, dim=-1)
+ rotated_x = x * angle.cos() - y * angle.sin()
+ rotated_y = x * angle.sin() + y * angle.cos()
+ return torch.cat([rotated_x, rotated_y], dim=-1)
this rotates entry i with entry i + width / 2. Published models use that layout too, and trained with it a model is as
good; but one layout with the weights of the other is wrong, and here a pair are neighbours, 2i and 2i + 1

taken apart as halves => each pair is rotated by the angle of its position
- x, y = vectors[..., 0::2], vectors[..., 1::2]
+ x, y = vectors.chunk(2, dim=-1)
this pairs entry i with entry i + width / 2 (`chunk`), and puts the results side by side as neighbours; here a pair are
neighbours before and after: `vectors[..., 0::2]` and `vectors[..., 1::2]`

put together as halves => each pair is rotated by the angle of its position
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ return torch.cat([rotated_x, rotated_y], dim=-1)
the pairs are rotated correctly and then put in another order: `torch.cat` puts all first entries before all second
ones; `torch.stack(..., dim=-1)` and a flatten of the last two axes restore the order

two layouts mixed => each pair is rotated by the angle of its position
- rotated_x = x * angle.cos() - y * angle.sin()
- rotated_y = x * angle.sin() + y * angle.cos()
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ angle = torch.cat([angle, angle], dim=-1)
+ return vectors * angle.cos() + torch.stack([-y, x], dim=-1).flatten(-2) * angle.sin()
here neighbours are a pair, but the angles are repeated in halves (`torch.cat`), which belongs to the other layout; both
entries of pair i take angle i: `repeat_interleave(2, dim=-1)`

the other way round => each pair is rotated by the angle of its position
- angle = torch.arange(time)[:, None] * frequency
+ angle = -torch.arange(time)[:, None] * frequency
this rotates by minus the angle: the first entry is x cos - y sin, the second x sin + y cos

no minus => every vector keeps its norm
- rotated_x = x * angle.cos() - y * angle.sin()
+ rotated_x = x * angle.cos() + y * angle.sin()
both sines have a plus here, which is no rotation: the first entry is x cos *minus* y sin

both minus => every vector keeps its norm
- rotated_y = x * angle.sin() + y * angle.cos()
+ rotated_y = y * angle.cos() - x * angle.sin()
both sines have a minus here, which is no rotation: the second entry is x sin *plus* y cos

overwritten between => the score of a query and a key depends on their offset alone
+ rotated_y = rotated_x * angle.sin() + y * angle.cos()
the second entry is computed from the first *after* its rotation; keep the old one until both are done

overwritten between, and in place => the score of a query and a key depends on their offset alone
- rotated_x = x * angle.cos() - y * angle.sin()
- rotated_y = x * angle.sin() + y * angle.cos()
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ vectors[..., 0::2] = x * angle.cos() - y * angle.sin()
+ vectors[..., 1::2] = x * angle.sin() + y * angle.cos()
+ return vectors
this writes the rotated first entries into the caller's own vectors, and computes the second from them; fill a new
tensor, from the entries as they were

an encoding added => every vector keeps its norm
+ return vectors + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
this adds the sinusoids to the vectors; here nothing is added: each pair is rotated

multiplied by an encoding => every vector keeps its norm
+ return vectors * torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
this multiplies by the sinusoids entry by entry; a rotation mixes the two entries of a pair

positions along the first axis => the score of a query and a key depends on their offset alone
= by_axis(0)
here the positions run along the first axis, the batch, so that a whole sequence is rotated by one angle; time is the
last axis but one, `vectors.shape[-2]`

positions along the axis before time => the score of a query and a key depends on their offset alone
= by_axis(-3)
here the positions run along the axis before time, as if vectors were (batch, time, heads, width); time is the last axis
but one, `vectors.shape[-2]`

positions along the second axis => each pair is rotated by the angle of its position
= by_axis(1)
here the positions run along the second axis, which is time only without an axis for heads; time is the last axis but
one, `vectors.shape[-2]`

three axes only => each pair is rotated by the angle of its position
- time, width = vectors.shape[-2:]
+ time, width = vectors.shape[1], vectors.shape[-1]
this takes the number of positions from `vectors.shape[1]`, which is right for (batch, time, width) alone; counted from
the end it is `vectors.shape[-2]`

three axes unpacked => each pair is rotated by the angle of its position
+ _, time, width = vectors.shape
this expects (batch, time, width) and no other number of axes; `time, width = vectors.shape[-2:]` holds for any

degrees => each pair is rotated by the angle of its position
- angle = torch.arange(time)[:, None] * frequency
+ angle = (torch.arange(time)[:, None] * frequency).deg2rad()
this takes the angles for degrees; they are radians, as `torch.sin` wants them: nothing to convert

positions from one => position 0 stays as it is, position 1 does not
+ angle = torch.arange(1, time + 1)[:, None] * frequency
this begins with position 1; the angle of position 0 is 0

one speed for all => each pair is rotated by the angle of its position
+ angle = torch.arange(time)[:, None]
this rotates every pair by the position itself; the angle of pair i is position / 10000^(2i / width)

i for 2i => each pair is rotated by the angle of its position
- frequency = 10000 ** (-torch.arange(0, width, 2) / width)
+ frequency = 10000 ** (-torch.arange(width // 2) / width)
this has the exponent i / width for pair i; it is 2i / width, as in 07.1

doubled twice => each pair is rotated by the angle of its position
+ frequency = 10000 ** (-2 * torch.arange(0, width, 2) / width)
this has the exponent 4i / width: `torch.arange(0, width, 2)` counts in twos already and is 2i

multiplied => each pair is rotated by the angle of its position
+ frequency = 10000 ** (torch.arange(0, width, 2) / width)
this multiplies the position by 10000^(2i / width); it is divided: the minus in the exponent

a speed for each column => the score of a query and a key depends on their offset alone
- frequency = 10000 ** (-torch.arange(0, width, 2) / width)
- angle = torch.arange(time)[:, None] * frequency
- x, y = vectors[..., 0::2], vectors[..., 1::2]
- rotated_x = x * angle.cos() - y * angle.sin()
- rotated_y = x * angle.sin() + y * angle.cos()
+ angle = torch.arange(time)[:, None] * 10000 ** (-torch.arange(width) / width)
+ x, y = vectors[..., 0::2], vectors[..., 1::2]
+ rotated_x = x * angle[:, 0::2].cos() - y * angle[:, 0::2].sin()
+ rotated_y = x * angle[:, 1::2].sin() + y * angle[:, 1::2].cos()
here the two entries of a pair have angles of their own, exponent j / width for column j; a pair has one angle

vectors overwritten => inputs unchanged
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ vectors[..., 0::2], vectors[..., 1::2] = rotated_x, rotated_y
+ return vectors
this writes the rotated entries into the caller's own vectors (`vectors[..., 0::2] = ...`); fill a new tensor

positions counted on => each pair is rotated by the angle of its position
- angle = torch.arange(time)[:, None] * frequency
+ angle = torch.arange(vectors[..., 0].numel()).view(*vectors.shape[:-1], 1) * frequency
this counts on from one sequence to the next, as if all were one; every sequence begins at position 0: do not join
leading axes with the time
"""

EXERCISE = Exercise(
    title="Rotary positions",
    difficulty=3,
    minutes=30,
    tasks=(
        Task(
            function="rotate_by_position",
            parameters=("vectors",),
            returns="the rotated vectors, shape (..., time, width)",
            cases=draw_vectors,
            examples=(
                {"vectors": torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])},
                {"vectors": torch.tensor([[[[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0]]]])},
            ),
            edges=(
                {"vectors": torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]])},  # position 0 alone, a batch of two
                # Every axis has a length of its own above 1, so that positions along another axis show.
                {"vectors": torch.linspace(-1, 1, 24).reshape(2, 3, 4)},
                {"vectors": torch.linspace(-1, 1, 48).reshape(2, 3, 4, 2)},
                {"vectors": torch.tensor([[1.0, 0.0], [1.0, 0.0]])},  # one pair, the same vector at both positions
                {
                    "vectors": torch.tensor([[[[1.0, 2.0]]], [[[3.0, 4.0]]]])
                },  # sizes of one between the batch and the width
            ),
            reference=rotate_by_position,
            properties=(
                Property("position 0 stays as it is, position 1 does not", 1, first_stays),
                Property("every vector keeps its norm", 1, norms_stay),
                Property("each pair is rotated by the angle of its position", 3, equals()),
                Property(
                    "the score of a query and a key depends on their offset alone", 2, scores_know_the_offset_alone
                ),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "A pair (x, y) is a point in the plane. Where is it after a rotation by an angle? And which axis of `vectors` "
        "says by which angle?",
        "Split the last axis into first entries, columns 0, 2, 4, ..., and second entries, columns 1, 3, 5, ...; both "
        "are (..., time, width / 2), and so, without the dots, are the angles. Rotate, and interleave the two again.",
        "With x for `vectors[..., 0::2]` and y for `vectors[..., 1::2]`, `torch.stack([x * angle.cos() - y * "
        "angle.sin(), x * angle.sin() + y * angle.cos()], dim=-1)` is (..., time, width / 2, 2), and `.flatten(-2)` "
        "joins the last two axes.",
    ),
)
