"""07.1: the sinusoidal encoding of a position."""

import torch

from course_lib.exercises.chapter_07._sinusoids import encodings
from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import difference, equals
from course_lib.grading.exercise import Case, Exercise, Property, Task


def sinusoidal_positions(time, d_model):
    """The encoding of the first positions."""
    return encodings(torch.arange(time), d_model).float()


def draw_table(generator: torch.Generator) -> Case:
    """Draw how many positions there are, and an even width."""
    time, pairs = sizes(generator, 9, 5)
    return {"time": time, "d_model": 2 * pairs}


def what_stands_where(case: Case):
    """The first row is 0 1 0 1 ..., and the first two columns are sine and cosine of the position itself."""
    reply = yield case
    for where, part in {"row 0": 0, "column 0": (slice(None), 0), "column 1": (slice(None), 1)}.items():
        if problem := difference(case, reply.value[part], reply.expected[part], where=where):
            return problem
    return None


def products_know_the_offset_alone(case: Case):
    """The dot product of rows t and s is that of rows t + 1 and s + 1."""
    reply = yield case
    products = reply.value @ reply.value.T
    where = "the dot product of rows t + 1 and s + 1, beside that of rows t and s"
    return difference(case, products[1:, 1:], products[:-1, :-1], where=where)


MISTAKES = """
halves side by side => sine in even columns, cosine in odd ones, from position 0 on
- return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
+ return torch.cat([angle.sin(), angle.cos()], dim=-1)
this puts all sines first and all cosines after them; here they alternate: `torch.stack` on a new last axis, then
flatten the last two

sine and cosine exchanged => sine in even columns, cosine in odd ones, from position 0 on
+ return torch.stack([angle.cos(), angle.sin()], dim=-1).flatten(-2)
this has the cosine in even columns and the sine in odd ones: position 0 is to be 0 1 0 1 ...

sines only => sine in even columns, cosine in odd ones, from position 0 on
+ return torch.stack([angle.sin(), angle.sin()], dim=-1).flatten(-2)
this has sines in all columns; the odd ones are cosines: the sine alone has equal values at different angles

positions from one => sine in even columns, cosine in odd ones, from position 0 on
- angle = torch.arange(time)[:, None] * frequency
+ angle = torch.arange(1, time + 1)[:, None] * frequency
this begins with position 1; the first row belongs to position 0 and is 0 1 0 1 ...

axes exchanged => sine in even columns, cosine in odd ones, from position 0 on
- return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
+ return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2).T
this has one column for each position: positions are rows, (time, d_model)

degrees => sine in even columns, cosine in odd ones, from position 0 on
- angle = torch.arange(time)[:, None] * frequency
+ angle = (torch.arange(time)[:, None] * frequency).deg2rad()
this takes the angles for degrees; they are radians, as `torch.sin` wants them: nothing to convert

whole turns => sine in even columns, cosine in odd ones, from position 0 on
+ angle = 2 * torch.pi * torch.arange(time)[:, None] * frequency
this multiplies the angles by 2 pi: the first pair would then rotate by 2 pi at every step, and be the same at all
positions; the angle is the position divided by 10000^(2i / d_model), nothing more

i for 2i => each pair has its own frequency
- frequency = 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
+ frequency = 1 / 10000 ** (torch.arange(d_model // 2) / d_model)
this has the exponent i / d_model for pair i; it is 2i / d_model: the exponents run from 0 to nearly 1, whatever the
width

doubled twice => each pair has its own frequency
+ frequency = 1 / 10000 ** (2 * torch.arange(0, d_model, 2) / d_model)
this has the exponent 4i / d_model: `torch.arange(0, d_model, 2)` counts in twos already and is 2i, not i

an exponent for every column => the dot product of two rows depends on their offset alone
- frequency = 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
- angle = torch.arange(time)[:, None] * frequency
- return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
+ frequency = 1 / 10000 ** (torch.arange(d_model) / d_model)
+ angle = torch.arange(time)[:, None] * frequency
+ return torch.stack([angle[:, 0::2].sin(), angle[:, 1::2].cos()], dim=-1).flatten(-2)
this has the exponent j / d_model for column j, so that sine and cosine of a pair have different frequencies; both take
the exponent of their pair, that of the even column

columns counted as pairs => the dot product of two rows depends on their offset alone
+ frequency = 1 / 10000 ** (2 * torch.arange(d_model) / d_model)
+ angle = torch.arange(time)[:, None] * frequency
+ return torch.stack([angle[:, 0::2].sin(), angle[:, 1::2].cos()], dim=-1).flatten(-2)
this has the exponent 2j / d_model for column j; the i of 2i / d_model counts pairs: columns 2i and 2i + 1 are one pair

one speed for all => each pair has its own frequency
- frequency = 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
+ frequency = 1 / 10000 ** (torch.arange(0, d_model, 2) // d_model)
here every pair has the frequency of the first; `//` rounds 2i / d_model down to 0: divide with `/`

multiplied => each pair has its own frequency
+ frequency = 10000 ** (torch.arange(0, d_model, 2) / d_model)
this multiplies the position by 10000^(2i / d_model); it is divided, so that later pairs have lower frequencies

sine divided => sine in even columns, cosine in odd ones, from position 0 on
- angle = torch.arange(time)[:, None] * frequency
- return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
+ angle = torch.arange(time)[:, None]
+ return torch.stack([angle.sin() * frequency, angle.cos() * frequency], dim=-1).flatten(-2)
this takes sine and cosine of the position and divides *them* by 10000^(2i / d_model): every pair has one frequency and
later ones shrink; the angle is divided, inside the bracket of the sine

the last pair at 10000 => each pair has its own frequency
- frequency = 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
+ frequency = 1 / 10000 ** torch.linspace(0, 1, d_model // 2)
this spreads the exponents from 0 to 1 with both ends, i / (pairs - 1), as some libraries do; here they are 2i /
d_model, which stays below 1
"""

EXERCISE = Exercise(
    title="Sinusoids",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="sinusoidal_positions",
            parameters=("time", "d_model"),
            returns="the encoding of each position, shape (time, d_model)",
            cases=draw_table,
            examples=({"time": 2, "d_model": 4}, {"time": 3, "d_model": 8}),
            edges=(
                {"time": 1, "d_model": 2},  # position 0, one pair
                {"time": 100, "d_model": 8},  # far enough to tell 10000 from 10001
                {"time": 3, "d_model": 6},  # three pairs, which do not divide 8
                {"time": 130, "d_model": 2},  # more than a table that somebody thinks long enough
            ),
            reference=sinusoidal_positions,
            properties=(
                Property("sine in even columns, cosine in odd ones, from position 0 on", 2, what_stands_where),
                Property("each pair has its own frequency", 3, equals()),
                Property(
                    "the dot product of two rows depends on their offset alone", 1, products_know_the_offset_alone
                ),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "How many different angles does a position have: d_model, or half as many? And what does row 0 look like?",
        "Make the positions a column (time, 1) and the exponents 2i / d_model a row (d_model / 2,); their quotient "
        "position / 10000^exponent is (time, d_model / 2). Take sines and cosines, and interleave their columns.",
        "`angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)`; then "
        "`torch.stack([angle.sin(), angle.cos()], dim=-1)` is (time, d_model / 2, 2), and flattening its last two axes "
        "puts each cosine beside its sine.",
    ),
)
