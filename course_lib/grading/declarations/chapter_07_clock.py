"""Exercise 07.3, a clock of binary digits, and how long each pair of sinusoids takes for a turn."""

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import answer_like, difference
from course_lib.grading.wording import describe, describe_case


def binary_clock(time, bits):
    """The binary digits of each position, least significant first."""
    return torch.arange(time)[:, None] // 2 ** torch.arange(bits) % 2


def draw_clock(generator: torch.Generator) -> Case:
    """Draw how far to count and with how many digits, of which there may be too few or more than are needed."""
    time, bits = sizes(generator, 24, 5)
    return {"time": time, "bits": bits}


def zeros_and_ones(call: Call, case: Case) -> str | None:
    """There is nothing but 0 and 1, and both where there is more than one position."""
    answer, _ = answer_like(binary_clock, call, case)
    others = answer[(answer != 0) & (answer != 1)]
    if len(others):
        return f"{describe_case(case)}: came the entry {describe(others[0].item())}, expected 0 or 1 everywhere"
    return None


def spells_the_position(call: Call, case: Case) -> str | None:
    """Row t, each digit times what it is worth, sums to t, less what the missing digits are worth."""
    answer, _ = answer_like(binary_clock, call, case)
    worth = 2 ** torch.arange(case["bits"])
    spelt, due = (answer * worth).sum(1), torch.arange(case["time"]) % 2 ** case["bits"]
    wrong = (spelt != due).nonzero()
    if len(wrong):
        row = int(wrong[0])
        told = f"row {row} came {describe(answer[row])}, where columns are worth {worth.tolist()}"
        return f"{describe_case(case)}: {told}: that is {int(spelt[row])}, expected {int(due[row])}"
    return None


def slower_by_two(call: Call, case: Case) -> str | None:
    """Column i is 0 for 2^i rows, then 1 for as many, and so on."""
    answer, expected = answer_like(binary_clock, call, case)
    for column, (came, due) in enumerate(zip(answer.T, expected.T, strict=True)):
        if not torch.equal(came, due):
            rhythm = f"2^{column} = {2**column} zeros, then as many ones, and so on"
            return f"{describe_case(case)}: column {column} is to have {rhythm}: {difference(came, due)}"
    return None


def over_linear(time, bits):
    """Digits whose periods are 2, 4, 6, ..."""
    return torch.arange(time)[:, None] // torch.arange(1, bits + 1) % 2


DIGITS = "every entry is 0 or 1"
SPELLS = "row t spells t, least significant digit first"
RHYTHM = "column i changes every 2^i rows"


def periods(d_model):
    """Positions after which each pair has turned once."""
    return (2 * torch.pi * 10_000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)).float()


def frequencies(d_model):
    """Radians that each pair turns at one step."""
    return 2 * torch.pi / periods(d_model)


def draw_width(generator: torch.Generator) -> Case:
    """Draw an even width."""
    return {"d_model": 2 * sizes(generator, 16)[0]}


def first_turns_in_two_pi(call: Call, case: Case) -> str | None:
    """The first pair, whose angle is the position itself, is round after 2 pi positions."""
    answer, expected = answer_like(periods, call, case)
    found = difference(answer[:1], expected[:1])
    return f"{describe_case(case)}: the first pair: {found}" if found else None


def grows_by_one_factor(call: Call, case: Case) -> str | None:
    """From each pair to the next the period grows by one factor."""
    answer, _ = answer_like(periods, call, case)
    factor = 10_000 ** (2 / case["d_model"])
    found = difference(answer[1:] / answer[:-1], torch.full_like(answer[1:], factor))
    return f"{describe_case(case)}: each period over the one before it: {found}" if found else None


FIRST = "the first pair turns once in 2 pi positions"
FACTOR = "from pair to pair the period grows by 10000^(2 / d_model)"

CLOCK = Exercise(
    id="07.3",
    title="The binary clock",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="binary_clock",
            parameters=("time", "bits"),
            returns="the digits of each position, whole numbers (torch.int64) of shape (time, bits)",
            cases=draw_clock,
            examples=({"time": 6, "bits": 3}, {"time": 6, "bits": 2}),
            reference=binary_clock,
            properties=(
                Property(DIGITS, 1, zeros_and_ones),
                Property(SPELLS, 2, spells_the_position),
                Property(RHYTHM, 1, slower_by_two),
            ),
            misconceptions=(
                Misconception(
                    "most significant first",
                    "this writes the digits as people do, the most significant first; here column 0 is the one that "
                    "changes at every step",
                    lambda time, bits: binary_clock(time, bits).flip(1),
                    breaks=SPELLS,
                ),
                Misconception(
                    "no remainder",
                    "this divides by 2^i and goes on counting; the digit is the remainder of that by 2",
                    lambda time, bits: torch.arange(time)[:, None] // 2 ** torch.arange(bits),
                    breaks=DIGITS,
                ),
                Misconception(
                    "remainder of the power",
                    "this is the remainder of t by 2^i, all digits below i together; divide by 2^i first, and then "
                    "take the remainder by 2",
                    lambda time, bits: torch.arange(time)[:, None] % 2 ** torch.arange(bits),
                    breaks=DIGITS,
                ),
                Misconception(
                    "not moved down",
                    "`t & 2**i` picks the right digit and leaves it in its place, as 0 or 2^i: compare with 0, or "
                    "shift t down by i first",
                    lambda time, bits: torch.arange(time)[:, None] & 2 ** torch.arange(bits),
                    breaks=DIGITS,
                ),
                Misconception(
                    "true division",
                    "this divides with `/`, which leaves fractions; the digits want whole numbers, `//`",
                    lambda time, bits: torch.arange(time)[:, None] / 2 ** torch.arange(bits) % 2,
                    breaks=SPELLS,
                ),
                Misconception(
                    "truth values",
                    "these are truth values; asked are the whole numbers 0 and 1: `.long()` makes them",
                    lambda time, bits: binary_clock(time, bits) == 1,
                    breaks=DIGITS,
                ),
                Misconception(
                    "floats",
                    "the digits are right and come as floats; asked are whole numbers, torch.int64: start from "
                    "`torch.arange`, or give `torch.zeros` a `dtype=torch.long`",
                    lambda time, bits: binary_clock(time, bits).float(),
                    breaks=DIGITS,
                ),
                Misconception(
                    "one too slow",
                    "this leaves out the fastest digit: column 0 changes at every step, so t is divided by 2^0 there",
                    lambda time, bits: torch.arange(time)[:, None] // 2 ** torch.arange(1, bits + 1) % 2,
                    breaks=RHYTHM,
                ),
                Misconception(
                    "periods that add up",
                    "here column i changes every i + 1 rows; each digit is twice as slow as the one before, 2^i",
                    over_linear,
                    breaks=RHYTHM,
                ),
                Misconception(
                    "exclusive or for a power",
                    "`2 ^ i` is no power in Python, it compares bits (2 ^ 2 is 0); a power is `2**i`",
                    lambda time, bits: torch.arange(time)[:, None] // (2 ^ torch.arange(bits)) % 2,
                    breaks=RHYTHM,
                ),
                Misconception(
                    "Gray code",
                    "this is the Gray code, in which one digit alone changes at every step; asked are the digits of t, "
                    "`t ^ (t >> 1)` has no place here",
                    lambda time, bits: (lambda t: (t ^ (t >> 1)) >> torch.arange(bits) & 1)(
                        torch.arange(time)[:, None]
                    ),
                    breaks=SPELLS,
                ),
                Misconception(
                    "positions from one",
                    "this begins with position 1; row 0 belongs to position 0 and is all zeros",
                    lambda time, bits: binary_clock(time + 1, bits)[1:],
                    breaks=SPELLS,
                ),
                Misconception(
                    "axes exchanged",
                    "this has one column for each position: positions are rows, (time, bits)",
                    lambda time, bits: binary_clock(time, bits).T,
                    breaks=SPELLS,
                ),
            ),
        ),
        Task(
            function="periods",
            parameters=("d_model",),
            returns="how many positions each pair needs for one turn, shape (d_model / 2,)",
            cases=draw_width,
            examples=({"d_model": 8}, {"d_model": 2}),
            reference=periods,
            properties=(
                Property(FIRST, 1, first_turns_in_two_pi),
                Property(FACTOR, 2, grows_by_one_factor),
            ),
            misconceptions=(
                Misconception(
                    "frequencies",
                    "these are the angles that a pair turns at one step, its frequency; the period is 2 pi over that",
                    frequencies,
                    breaks=FIRST,
                ),
                Misconception(
                    "positions for one radian",
                    "after 10000^(2i / d_model) positions a pair has turned by one radian; a whole turn has 2 pi of "
                    "them",
                    lambda d_model: 1 / frequencies(d_model),
                    breaks=FIRST,
                ),
                Misconception(
                    "turns in degrees",
                    "this takes a turn for 360; the angles are radians, and a turn has 2 pi of them",
                    lambda d_model: 360 / frequencies(d_model),
                    breaks=FIRST,
                ),
                Misconception(
                    "half a turn",
                    "after these positions sine and cosine have both changed their sign, half a turn; a whole one has "
                    "2 pi radians",
                    lambda d_model: periods(d_model) / 2,
                    breaks=FIRST,
                ),
                Misconception(
                    "periods of the binary clock",
                    "these are the periods of the binary digits, 2, 4, 8, ...; the hands of the sinusoids turn by "
                    "1 / 10000^(2i / d_model) at each step, and a turn has 2 pi radians",
                    lambda d_model: 2.0 ** torch.arange(1, d_model // 2 + 1),
                    breaks=FIRST,
                ),
                Misconception(
                    "turned round",
                    "this multiplies 2 pi by the frequency, so that later pairs seem faster; the period is 2 pi "
                    "*divided* by it",
                    lambda d_model: 2 * torch.pi * frequencies(d_model),
                    breaks=FACTOR,
                ),
                Misconception(
                    "i for 2i",
                    "this has the exponent i / d_model for pair i; it is 2i / d_model, as in 07.1",
                    lambda d_model: (2 * torch.pi * periods(d_model)).sqrt(),
                    breaks=FACTOR,
                ),
                Misconception(
                    "doubled",
                    "here each period is twice the one before, as in the binary clock; for the sinusoids the factor is "
                    "10000^(2 / d_model)",
                    lambda d_model: 2 * torch.pi * 2.0 ** torch.arange(d_model // 2),
                    breaks=FACTOR,
                ),
                Misconception(
                    "one for every column",
                    "this has an entry for each column; sine and cosine of a pair have one period, d_model / 2 in all",
                    lambda d_model: 2 * torch.pi * 10_000 ** (torch.arange(d_model) / d_model),
                    breaks=FACTOR,
                ),
                Misconception(
                    "the last pair at 10000",
                    "this spreads the exponents from 0 to 1 with both ends, i / (pairs - 1); here they are 2i / "
                    "d_model, which stays below 1",
                    lambda d_model: 2 * torch.pi * 10_000 ** torch.linspace(0, 1, d_model // 2),
                    breaks=FACTOR,
                ),
            ),
        ),
    ),
    hints=(
        "Write 0 to 7 in binary below each other and look down the columns. How many rows does each stay the same?",
        "Digit i of t: divide by 2^i without rest, and ask whether the result is odd. The positions as a column (time, "
        "1) and the powers as a row (bits,) give all digits at once. For the period: how many positions until the "
        "angle position / 10000^(2i / d_model) is 2 pi?",
        "`torch.arange(time)[:, None] // 2 ** torch.arange(bits)` and its remainder by 2; and 2 pi times `10000 ** "
        "(torch.arange(0, d_model, 2) / d_model)`.",
    ),
)
