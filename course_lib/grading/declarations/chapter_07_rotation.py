"""Exercise 07.4, rotary positions: pairs of entries that are turned by where they stand."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_07_sinusoids import exponents, sinusoidal_positions, turned
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, difference, equals, inputs_unchanged
from course_lib.grading.wording import describe_case


def angles_for(vectors, start=0):
    """The angle of each pair at each position, (time, width / 2)."""
    time, width = vectors.shape[-2:]
    return turned(time, exponents(width), start)


def neighbours(vectors):
    """First and second entries of the pairs."""
    return vectors[..., 0::2], vectors[..., 1::2]


def in_turn(first, second):
    """Both in turn, along the last axis."""
    return torch.stack([first, second], -1).flatten(-2)


def rotated(vectors, angles, join=in_turn, upper=-1, lower=1):
    """Pairs turned by angles: x cos + upper y sin, lower x sin + y cos."""
    x, y = neighbours(vectors)
    cosine, sine = angles.cos().to(vectors.dtype), angles.sin().to(vectors.dtype)
    return join(x * cosine + upper * y * sine, lower * x * sine + y * cosine)


def rotate_by_position(vectors):
    """Each pair turned by the angle of its position."""
    return rotated(vectors, angles_for(vectors))


def with_powers(change):
    """Return a rotation with other exponents, change(exponents)."""
    return lambda vectors: rotated(vectors, turned(vectors.shape[-2], change(exponents(vectors.shape[-1]))))


def side_by_side(first, second):
    """Both one after the other, along the last axis."""
    return torch.cat([first, second], -1)


def half_layout(vectors):
    """Entry i turned with entry i + width / 2."""
    return side_by_side(*neighbours(rotate_by_position(in_turn(*vectors.chunk(2, -1)))))


def by_axis(axis):
    """Return a rotation whose positions run along another axis, where there is one."""

    def rotate(vectors):
        if vectors.dim() < 3:
            return rotate_by_position(vectors)
        return rotate_by_position(vectors.movedim(axis, -2)).movedim(-2, axis)

    return rotate


def three_axes_only(vectors):
    """The number of positions from axis 1."""
    return rotated(vectors, turned(vectors.shape[1], exponents(vectors.shape[-1])))


def three_axes_unpacked(vectors):
    """The sizes taken for those of a batch."""
    _, time, width = vectors.shape
    return rotated(vectors, turned(time, exponents(width)))


def overwritten(vectors):
    """The second entry computed from the first as it is after its turn."""
    x, y = neighbours(vectors)
    cosine, sine = (f(angles_for(vectors)).to(vectors.dtype) for f in (torch.cos, torch.sin))
    x = x * cosine - y * sine
    return in_turn(x, x * sine + y * cosine)


def mixed_layouts(vectors):
    """Angles repeated in halves, for pairs of neighbours."""
    angles = torch.cat([angles_for(vectors)] * 2, -1)
    cosine, sine = angles.cos().to(vectors.dtype), angles.sin().to(vectors.dtype)
    x, y = neighbours(vectors)
    return vectors * cosine + in_turn(-y, x) * sine


def a_speed_for_each_column(vectors):
    """Both entries of a pair with angles of their own."""
    time, width = vectors.shape[-2:]
    angles = turned(time, torch.arange(width) / width)
    (x, y), (c, d), (s, u) = (neighbours(each.to(vectors.dtype)) for each in (vectors, angles.cos(), angles.sin()))
    return in_turn(x * c - y * s, x * u + y * d)


def in_place(vectors):
    """The right answer, written into the caller's vectors."""
    return vectors.copy_(rotate_by_position(vectors))


def overwritten_in_place(vectors):
    """The caller's vectors turned by halves, one after the other."""
    return vectors.copy_(overwritten(vectors))


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw vectors with no leading axis, one or two."""
    axes = int(torch.randint(3, (), generator=generator))
    time, pairs = sizes(generator, 6, 4)
    return {"vectors": normal(generator, *sizes(generator, *[3] * axes), time, 2 * pairs)}


def first_stays(call: Call, case: Case) -> str | None:
    """What stands at position 0 is left as it is, and what stands at position 1 is not."""
    answer, expected = answer_like(rotate_by_position, call, case)
    if found := difference(answer[..., 0, :], case["vectors"][..., 0, :]):
        return f"{describe_case(case)}: position 0: {found}"
    same = answer.shape[-2] > 1 and difference(answer[..., 1, :], case["vectors"][..., 1, :]) is None
    return f"{describe_case(case)}: position 1 came as it was, expected turned" if same else None


def lengths_stay(call: Call, case: Case) -> str | None:
    """Every vector is as long as it was."""
    answer, _ = answer_like(rotate_by_position, call, case)
    found = difference(answer.norm(dim=-1), case["vectors"].norm(dim=-1))
    return f"{describe_case(case)}: lengths of the vectors: {found}" if found else None


LONG = 7


def scores_know_the_offset_alone(call: Call, case: Case) -> str | None:
    """One query and one key at every position: their scores differ from offset to offset, and by nothing else."""
    query = case["vectors"].flatten(0, -2)[0]
    both = torch.stack([query, query.roll(1) + 1])  # (2, width): a query, and a key made of it
    asked = {"vectors": both[:, None].expand(2, LONG, -1).clone()}
    queries, keys = answer_like(rotate_by_position, call, asked)[0]
    scores = queries @ keys.T
    told = f"one query and one key at each of {LONG} positions, width {len(query)}"
    if found := difference(scores[1:, 1:], scores[:-1, :-1]):
        return f"{told}: the score of t + 1 with s + 1 is not that of t with s; {found}"
    if difference(scores, scores[:1, :1].expand_as(scores)) is None:
        return f"{told}: all scores are one, expected others for other offsets"
    return None


STAYS = "position 0 stays as it is, position 1 does not"
LENGTHS = "every vector keeps its length"
TURNS = "each pair is turned by the angle of its position"
OFFSET = "the score of a query and a key depends on their offset alone"

ROTARY = Exercise(
    id="07.4",
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
            reference=rotate_by_position,
            properties=(
                Property(STAYS, 1, first_stays),
                Property(LENGTHS, 1, lengths_stay),
                Property(TURNS, 3, equals(rotate_by_position)),
                Property(OFFSET, 2, scores_know_the_offset_alone),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            misconceptions=(
                Misconception(
                    "halves",
                    "this turns entry i with entry i + width / 2. Published models use that layout too, and trained "
                    "with it a model is as good; but one layout with the weights of the other is wrong, and here a "
                    "pair are neighbours, 2i and 2i + 1",
                    half_layout,
                    breaks=TURNS,
                ),
                Misconception(
                    "taken apart as halves",
                    "this pairs entry i with entry i + width / 2 (`chunk`), and puts the results side by side as "
                    "neighbours; here a pair are neighbours before and after: `vectors[..., 0::2]` and "
                    "`vectors[..., 1::2]`",
                    lambda vectors: rotate_by_position(in_turn(*vectors.chunk(2, -1))),
                    breaks=TURNS,
                ),
                Misconception(
                    "put together as halves",
                    "the pairs are turned rightly and then put in another order: `torch.cat` sets all first entries "
                    "before all second ones; `torch.stack(..., dim=-1)` and a flatten of the last two axes bring each "
                    "back to its place",
                    lambda vectors: rotated(vectors, angles_for(vectors), join=side_by_side),
                    breaks=TURNS,
                ),
                Misconception(
                    "two layouts mixed",
                    "here neighbours are a pair, but the angles are repeated in halves (`torch.cat`), which belongs to "
                    "the other layout; both entries of pair i take angle i: `repeat_interleave(2, dim=-1)`",
                    mixed_layouts,
                    breaks=TURNS,
                ),
                Misconception(
                    "the other way round",
                    "this turns by minus the angle: the first entry is x cos - y sin, the second x sin + y cos",
                    lambda vectors: rotated(vectors, -angles_for(vectors)),
                    breaks=TURNS,
                ),
                Misconception(
                    "no minus",
                    "both sines have a plus here, which stretches instead of turning: the first entry is x cos *minus* "
                    "y sin",
                    lambda vectors: rotated(vectors, angles_for(vectors), upper=1),
                    breaks=LENGTHS,
                ),
                Misconception(
                    "both minus",
                    "both sines have a minus here, which stretches instead of turning: the second entry is x sin "
                    "*plus* y cos",
                    lambda vectors: rotated(vectors, angles_for(vectors), lower=-1),
                    breaks=LENGTHS,
                ),
                Misconception(
                    "overwritten between",
                    "the second entry is computed from the first *after* it was turned; keep the old one until both "
                    "are done",
                    overwritten,
                    breaks=OFFSET,
                ),
                Misconception(
                    "overwritten between, and in place",
                    "this writes the turned first entries into the caller's own vectors, and computes the second from "
                    "them; fill a new tensor, from the entries as they were",
                    overwritten_in_place,
                    breaks=OFFSET,
                ),
                Misconception(
                    "a code added",
                    "this adds the sinusoids to the vectors; here nothing is added: each pair is turned",
                    lambda vectors: vectors + sinusoidal_positions(*vectors.shape[-2:]),
                    breaks=LENGTHS,
                ),
                Misconception(
                    "multiplied by a code",
                    "this multiplies by the sinusoids entry by entry; a turn mixes the two entries of a pair",
                    lambda vectors: vectors * sinusoidal_positions(*vectors.shape[-2:]),
                    breaks=LENGTHS,
                ),
                Misconception(
                    "positions along the first axis",
                    "here the positions run along the first axis, the batch, so that a whole sequence is turned by one "
                    "angle; time is the last axis but one, `vectors.shape[-2]`",
                    by_axis(0),
                    breaks=OFFSET,
                ),
                Misconception(
                    "positions along the axis before time",
                    "here the positions run along the axis before time, as if vectors were (batch, time, heads, "
                    "width); time is the last axis but one, `vectors.shape[-2]`",
                    by_axis(-3),
                    breaks=OFFSET,
                ),
                Misconception(
                    "three axes only",
                    "this takes the number of positions from `vectors.shape[1]`, which is right for (batch, time, "
                    "width) alone; counted from the end it is `vectors.shape[-2]`",
                    three_axes_only,
                    breaks=TURNS,
                ),
                Misconception(
                    "three axes unpacked",
                    "this expects (batch, time, width) and no other number of axes; `time, width = vectors.shape[-2:]` "
                    "holds for any",
                    three_axes_unpacked,
                    breaks=TURNS,
                ),
                Misconception(
                    "degrees",
                    "this takes the angles for degrees; they are radians, as `torch.sin` wants them: nothing to "
                    "convert",
                    lambda vectors: rotated(vectors, angles_for(vectors).deg2rad()),
                    breaks=TURNS,
                ),
                Misconception(
                    "positions from one",
                    "this begins with position 1; position 0 is turned by nothing",
                    lambda vectors: rotated(vectors, angles_for(vectors, start=1)),
                    breaks=STAYS,
                ),
                Misconception(
                    "one speed for all",
                    "this turns every pair by the position itself; pair i turns by position / 10000^(2i / width)",
                    with_powers(lambda powers: 0 * powers),
                    breaks=TURNS,
                ),
                Misconception(
                    "i for 2i",
                    "this has the exponent i / width for pair i; it is 2i / width, as in 07.1",
                    with_powers(lambda powers: powers / 2),
                    breaks=TURNS,
                ),
                Misconception(
                    "doubled twice",
                    "this has the exponent 4i / width: `torch.arange(0, width, 2)` counts in twos already and is 2i",
                    with_powers(lambda powers: 2 * powers),
                    breaks=TURNS,
                ),
                Misconception(
                    "multiplied",
                    "this multiplies the position by 10000^(2i / width); it is divided: the minus in the exponent",
                    lambda vectors: rotated(
                        vectors,
                        torch.arange(vectors.shape[-2])[:, None] * 10_000 ** exponents(vectors.shape[-1]).float(),
                    ),
                    breaks=TURNS,
                ),
                Misconception(
                    "a speed for each column",
                    "here the two entries of a pair have angles of their own, exponent j / width for column j; a pair "
                    "turns by one angle",
                    a_speed_for_each_column,
                    breaks=OFFSET,
                ),
                Misconception(
                    "vectors overwritten",
                    "this writes the turned entries into the caller's own vectors (`vectors[..., 0::2] = ...`); fill a "
                    "new tensor",
                    in_place,
                    breaks="inputs unchanged",
                ),
            ),
        ),
    ),
    hints=(
        "A pair (x, y) is a point in the plane. Where is it after a turn by an angle? And which axis of `vectors` says "
        "by how much?",
        "Split the last axis into first entries, columns 0, 2, 4, ..., and second entries, columns 1, 3, 5, ...; both "
        "are (..., time, width / 2), and so, without the dots, are the angles. Turn, and let the two take turns again.",
        "With x for `vectors[..., 0::2]` and y for `vectors[..., 1::2]`, `torch.stack([x * angle.cos() - y * "
        "angle.sin(), x * angle.sin() + y * angle.cos()], dim=-1)` is (..., time, width / 2, 2), and `.flatten(-2)` "
        "joins the last two axes.",
    ),
)
