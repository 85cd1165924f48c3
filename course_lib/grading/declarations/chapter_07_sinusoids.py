"""Exercise 07.1, the sinusoidal code of a position."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, difference, equals
from course_lib.grading.wording import describe_case


def exponents(d_model):
    """0, 2 / d_model, 4 / d_model, ..., one for each pair."""
    return torch.arange(0, d_model, 2, dtype=torch.float64) / d_model


def turned(time, powers, start=0):
    """Angles (time, pair): positions over 10000 to these powers."""
    return torch.arange(start, start + time)[:, None] / 10_000.0**powers


def woven(first, second):
    """Columns of the first and of the second in turn."""
    return torch.stack([first, second], -1).flatten(-2).float()


def code(angles):
    """Sines in even columns and cosines in odd ones."""
    return woven(angles.sin(), angles.cos())


def sinusoidal_positions(time, d_model):
    """The code of the first positions."""
    return code(turned(time, exponents(d_model)))


def alternating(angles):
    """Angles of every column (time, d_model): the sine in even columns, the cosine in odd ones."""
    return woven(angles[:, 0::2].sin(), angles[:, 1::2].cos())


def draw_table(generator: torch.Generator) -> Case:
    """Draw how many positions there are, and an even width."""
    time, pairs = sizes(generator, 9, 5)
    return {"time": time, "d_model": 2 * pairs}


def where_what_stands(call: Call, case: Case) -> str | None:
    """The first row is 0 1 0 1 ..., and the first two columns are sine and cosine of the position itself."""
    answer, expected = answer_like(sinusoidal_positions, call, case)
    places = {"row 0": 0, "column 0": (slice(None), 0), "column 1": (slice(None), 1)}
    for name, place in places.items():
        if found := difference(answer[place], expected[place]):
            return f"{describe_case(case)}: {name}: {found}"
    return None


def products_know_the_offset_alone(call: Call, case: Case) -> str | None:
    """The dot product of rows t and s is that of rows t + 1 and s + 1."""
    answer, _ = answer_like(sinusoidal_positions, call, case)
    products = answer @ answer.T
    found = difference(products[1:, 1:], products[:-1, :-1])
    return (
        f"{describe_case(case)}: rows t and s have one dot product, rows t + 1 and s + 1 another; {found}".replace(
            "expected", "and"
        )
        if found
        else None
    )


LAYOUT = "sine in even columns, cosine in odd ones, from position 0 on"
SPEEDS = "each pair turns at its own speed"
OFFSETS = "the dot product of two rows depends on their offset alone"

SINUSOIDS = Exercise(
    id="07.1",
    title="Sinusoids",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="sinusoidal_positions",
            parameters=("time", "d_model"),
            returns="one row for each position, shape (time, d_model)",
            cases=draw_table,
            examples=({"time": 2, "d_model": 4}, {"time": 3, "d_model": 8}),
            reference=sinusoidal_positions,
            properties=(
                Property(LAYOUT, 2, where_what_stands),
                Property(SPEEDS, 3, equals(sinusoidal_positions)),
                Property(OFFSETS, 1, products_know_the_offset_alone),
            ),
            misconceptions=(
                Misconception(
                    "halves side by side",
                    "this puts all sines first and all cosines after them; here they take turns: `torch.stack` on a "
                    "new last axis, then flatten the last two",
                    lambda time, d_model: torch.cat(
                        [f(turned(time, exponents(d_model))) for f in (torch.sin, torch.cos)], 1
                    ).float(),
                    breaks=LAYOUT,
                ),
                Misconception(
                    "sine and cosine exchanged",
                    "this has the cosine in even columns and the sine in odd ones: position 0 is to be 0 1 0 1 ...",
                    lambda time, d_model: (
                        code(turned(time, exponents(d_model))).unflatten(1, (-1, 2)).flip(2).flatten(1)
                    ),
                    breaks=LAYOUT,
                ),
                Misconception(
                    "sines only",
                    "this has sines in all columns; the odd ones are cosines, without which a half turn looks like "
                    "none",
                    lambda time, d_model: woven(*[turned(time, exponents(d_model)).sin()] * 2),
                    breaks=LAYOUT,
                ),
                Misconception(
                    "positions from one",
                    "this begins with position 1; the first row belongs to position 0 and is 0 1 0 1 ...",
                    lambda time, d_model: code(turned(time, exponents(d_model), start=1)),
                    breaks=LAYOUT,
                ),
                Misconception(
                    "axes exchanged",
                    "this has one column for each position: positions are rows, (time, d_model)",
                    lambda time, d_model: sinusoidal_positions(time, d_model).T,
                    breaks=LAYOUT,
                ),
                Misconception(
                    "degrees",
                    "this takes the angles for degrees; they are radians, as `torch.sin` wants them: nothing to "
                    "convert",
                    lambda time, d_model: code(turned(time, exponents(d_model)).deg2rad()),
                    breaks=LAYOUT,
                ),
                Misconception(
                    "whole turns",
                    "this multiplies the angles by 2 pi: the first pair would then make a whole turn at every step, "
                    "and all positions look alike in it; the angle is the position over 10000^(2i / d_model), nothing "
                    "more",
                    lambda time, d_model: code(2 * torch.pi * turned(time, exponents(d_model))),
                    breaks=LAYOUT,
                ),
                Misconception(
                    "i for 2i",
                    "this has the exponent i / d_model for pair i; it is 2i / d_model: the exponents run from 0 to "
                    "nearly 1, whatever the width",
                    lambda time, d_model: code(turned(time, exponents(d_model) / 2)),
                    breaks=SPEEDS,
                ),
                Misconception(
                    "doubled twice",
                    "this has the exponent 4i / d_model: `torch.arange(0, d_model, 2)` counts in twos already and is "
                    "2i, not i",
                    lambda time, d_model: code(turned(time, exponents(d_model) * 2)),
                    breaks=SPEEDS,
                ),
                Misconception(
                    "an exponent for every column",
                    "this has the exponent j / d_model for column j, so that sine and cosine of a pair turn at "
                    "different speeds; both take the exponent of their pair, that of the even column",
                    lambda time, d_model: alternating(turned(time, torch.arange(d_model) / d_model)),
                    breaks=OFFSETS,
                ),
                Misconception(
                    "columns counted as pairs",
                    "this has the exponent 2j / d_model for column j; the i of 2i / d_model counts pairs, and columns "
                    "2i and 2i + 1 share it",
                    lambda time, d_model: alternating(turned(time, 2 * torch.arange(d_model) / d_model)),
                    breaks=OFFSETS,
                ),
                Misconception(
                    "one speed for all",
                    "here every pair turns as fast as the first; `//` rounds 2i / d_model down to 0: divide with `/`",
                    lambda time, d_model: code(turned(time, 0 * exponents(d_model))),
                    breaks=SPEEDS,
                ),
                Misconception(
                    "multiplied",
                    "this multiplies the position by 10000^(2i / d_model); it is divided, so that later pairs turn "
                    "slower",
                    lambda time, d_model: code(torch.arange(time)[:, None] * 10_000 ** exponents(d_model).float()),
                    breaks=SPEEDS,
                ),
                Misconception(
                    "sine divided",
                    "this takes sine and cosine of the position and divides *them* by 10000^(2i / d_model): every pair "
                    "turns at one speed and later ones shrink; the angle is divided, inside the bracket of the sine",
                    lambda time, d_model: woven(
                        *[
                            f(turned(time, 0 * exponents(d_model))) / 10_000 ** exponents(d_model)
                            for f in (torch.sin, torch.cos)
                        ]
                    ),
                    breaks=LAYOUT,
                ),
                Misconception(
                    "the last pair at 10000",
                    "this spreads the exponents from 0 to 1 with both ends, i / (pairs - 1), as some libraries do; "
                    "here they are 2i / d_model, which stays below 1",
                    lambda time, d_model: code(turned(time, torch.linspace(0, 1, d_model // 2, dtype=torch.float64))),
                    breaks=SPEEDS,
                ),
            ),
        ),
    ),
    hints=(
        "How many different angles does a position have: d_model, or half as many? And what does row 0 look like?",
        "Make the positions a column (time, 1) and the exponents 2i / d_model a row (d_model / 2,); their quotient "
        "position / 10000^exponent is (time, d_model / 2). Take sines and cosines, and let them take turns.",
        "`angle = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)`; then "
        "`torch.stack([angle.sin(), angle.cos()], dim=-1)` is (time, d_model / 2, 2), and flattening its last two axes "
        "puts each cosine beside its sine.",
    ),
)
