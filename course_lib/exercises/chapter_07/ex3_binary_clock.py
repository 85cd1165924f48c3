"""07.3: the binary digits of positions, and the periods of sinusoids."""

import torch

from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import difference
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem


def binary_clock(time, bits):
    """The binary digits of each position, least significant first."""
    return torch.arange(time)[:, None] // 2 ** torch.arange(bits) % 2


def draw_clock(generator: torch.Generator) -> Case:
    """Draw how far to count and with how many digits, of which there may be too few or more than are needed."""
    time, bits = sizes(generator, 24, 5)
    return {"time": time, "bits": bits}


def zeros_and_ones(case: Case):
    """There is nothing but 0 and 1."""
    reply = yield case
    others = reply.value[(reply.value != 0) & (reply.value != 1)]
    if not len(others):
        return None
    return Problem("value", case, where="an entry", got=others[0].item(), expected="0 or 1 everywhere")


def spells_the_position(case: Case):
    """Row t, each digit times what it is worth, sums to t, less what the missing digits are worth."""
    reply = yield case
    worth = 2 ** torch.arange(case["bits"])
    spelt, expected = (reply.value * worth).sum(1), torch.arange(case["time"]) % 2 ** case["bits"]
    wrong = (spelt != expected).nonzero()
    if not len(wrong):
        return None
    row = int(wrong[0])
    where = f"row {row}, {reply.value[row].tolist()}, whose columns are worth {worth.tolist()}"
    return Problem("value", case, where=where, got=spelt[row].item(), expected=expected[row].item())


def slower_by_two(case: Case):
    """Column i is 0 for 2^i rows, then 1 for as many, and so on."""
    reply = yield case
    for column, pair in enumerate(zip(reply.value.T, reply.expected.T, strict=True)):
        where = f"column {column}, 2^{column} = {2**column} zeros, then as many ones, and so on"
        if problem := difference(case, *pair, where=where):
            return problem
    return None


def periods(d_model):
    """Positions after which the angle of each pair has grown by 2 pi."""
    return (2 * torch.pi * 10_000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)).float()


def draw_width(generator: torch.Generator) -> Case:
    """Draw an even width."""
    return {"d_model": 2 * sizes(generator, 16)[0]}


def first_period_is_two_pi(case: Case):
    """The first pair, whose angle is the position itself, has the period 2 pi."""
    reply = yield case
    return difference(case, reply.value[:1], reply.expected[:1], where="the first pair")


def grows_by_one_factor(case: Case):
    """From each pair to the next the period grows by one factor."""
    reply = yield case
    factors = reply.value[1:] / reply.value[:-1]
    expected = torch.full_like(factors, 10_000 ** (2 / case["d_model"]))
    return difference(case, factors, expected, 1e-6, where="each period over the one before it")


BINARY_CLOCK_MISTAKES = """
most significant first => the digits of row t give t, least significant first
- return position // 2 ** torch.arange(bits) % 2
+ return position // 2 ** torch.arange(bits).flip(0) % 2
this has the most significant digit first; here column 0 is the one that changes at every step

no remainder => every entry is 0 or 1
+ return position // 2 ** torch.arange(bits)
this divides by 2^i and goes on counting; the digit is the remainder of that by 2

remainder of the power => every entry is 0 or 1
+ return position % 2 ** torch.arange(bits)
this is the remainder of t by 2^i, all digits below i together; divide by 2^i first, and then take the remainder by 2

not moved down => every entry is 0 or 1
+ return position & 2 ** torch.arange(bits)
`t & 2**i` picks the right digit and leaves it as 0 or 2^i: compare with 0, or shift t down by i first

true division => the digits of row t give t, least significant first
+ return position / 2 ** torch.arange(bits) % 2
this divides with `/`, which leaves fractions; the digits want whole numbers, `//`

truth values => every entry is 0 or 1
+ return position // 2 ** torch.arange(bits) % 2 == 1
these are booleans; return the integers 0 and 1: `.long()` makes them

floats => every entry is 0 or 1
+ return (position // 2 ** torch.arange(bits) % 2).float()
the digits are right, but they are floats; return integers, torch.int64: start from `torch.arange`, or give
`torch.zeros` a `dtype=torch.long`

one too slow => column i changes every 2^i rows
+ return position // 2 ** torch.arange(1, bits + 1) % 2
this leaves out the fastest digit: column 0 changes at every step, so t is divided by 2^0 there

periods that add up => column i changes every 2^i rows
+ return position // torch.arange(1, bits + 1) % 2
here column i changes every i + 1 rows; each digit is twice as slow as the one before, 2^i

multiples of two => column i changes every 2^i rows
+ return position // (2 * torch.arange(bits)).clamp(min=1) % 2
this divides by 2 i for column i; the divisor is 2^i, twice that of the column before

exclusive or for a power => column i changes every 2^i rows
+ return position // (2 ^ torch.arange(bits)) % 2
`2 ^ i` is no power in Python, it compares bits (2 ^ 2 is 0); a power is `2**i`

Gray code => the digits of row t give t, least significant first
+ return (position ^ position >> 1) >> torch.arange(bits) & 1
this is the Gray code, in which one digit alone changes at every step; return the binary digits of t, without
`t ^ (t >> 1)`

positions from one => the digits of row t give t, least significant first
- position = torch.arange(time)[:, None]
+ position = torch.arange(1, time + 1)[:, None]
this begins with position 1; row 0 belongs to position 0 and is all zeros

positions in bytes => the digits of row t give t, least significant first
- position = torch.arange(time)[:, None]
+ position = torch.arange(time).to(torch.uint8)[:, None]
here the positions are bytes (uint8), which begin again with 0 after 255; keep them torch.int64, as `torch.arange`
returns them

axes exchanged => the digits of row t give t, least significant first
- return position // 2 ** torch.arange(bits) % 2
+ return (position // 2 ** torch.arange(bits) % 2).T
this has one column for each position: positions are rows, (time, bits)

the first digits kept => the digits of row t give t, least significant first
- position = torch.arange(time)[:, None]
- return position // 2 ** torch.arange(bits) % 2
+ rows = [[int(digit) for digit in f"{t:0{bits}b}"[:bits][::-1]] for t in range(time)]
+ return torch.tensor(rows, dtype=torch.int64).reshape(time, bits)
where `bits` is too small this keeps the first digits that one writes, which are the most significant; column 0 is the
last of them

numbers that do not fit made smaller => the digits of row t give t, least significant first
- position = torch.arange(time)[:, None]
+ position = torch.arange(time)[:, None].clamp(max=2**bits - 1)
this puts the largest number that fits for all that do not fit; such a number keeps its lower digits
"""

PERIODS_MISTAKES = """
frequencies => the first period is 2 pi positions
- return 2 * torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)
+ return 1 / 10000 ** (torch.arange(0, d_model, 2) / d_model)
these are the angles by which a pair rotates at one step, its frequency; the period is 2 pi divided by that

positions for one radian => the first period is 2 pi positions
+ return 10000 ** (torch.arange(0, d_model, 2) / d_model)
after 10000^(2i / d_model) positions a pair has rotated by one radian; a period has 2 pi of them

whole positions => the first period is 2 pi positions
+ return (2 * torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)).round()
this rounds the periods to whole positions; a period need not be a whole number

turns in degrees => the first period is 2 pi positions
+ return 360 * 10000 ** (torch.arange(0, d_model, 2) / d_model)
this takes a full rotation for 360 degrees; the angles are radians, and a full rotation has 2 pi of them

half a turn => the first period is 2 pi positions
+ return torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)
after these positions sine and cosine have both changed their sign, half a period; a whole one has 2 pi radians

periods of the binary clock => the first period is 2 pi positions
+ return 2.0 ** torch.arange(1, d_model // 2 + 1)
these are the periods of the binary digits, 2, 4, 8, ...; the sinusoids rotate by 1 / 10000^(2i / d_model) at each
step, and a period has 2 pi radians

turned round => from pair to pair the period grows by 10000^(2 / d_model)
+ return 2 * torch.pi / 10000 ** (torch.arange(0, d_model, 2) / d_model)
this multiplies 2 pi by the frequency, so that later pairs seem faster; the period is 2 pi *divided* by it

i for 2i => from pair to pair the period grows by 10000^(2 / d_model)
+ return 2 * torch.pi * 10000 ** (torch.arange(d_model // 2) / d_model)
this has the exponent i / d_model for pair i; it is 2i / d_model, as in 07.1

doubled => from pair to pair the period grows by 10000^(2 / d_model)
+ return 2 * torch.pi * 2.0 ** torch.arange(d_model // 2)
here each period is twice the one before, as in the binary clock; for the sinusoids the factor is 10000^(2 / d_model)

one for every column => from pair to pair the period grows by 10000^(2 / d_model)
+ return 2 * torch.pi * 10000 ** (torch.arange(d_model) / d_model)
this has an entry for each column; sine and cosine of a pair have one period, d_model / 2 in all

the last pair at 10000 => from pair to pair the period grows by 10000^(2 / d_model)
+ return 2 * torch.pi * 10000 ** torch.linspace(0, 1, d_model // 2)
this spreads the exponents from 0 to 1 with both ends, i / (pairs - 1); here they are 2i / d_model, which stays below 1

twice for every pair => from pair to pair the period grows by 10000^(2 / d_model)
- return 2 * torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)
+ return (2 * torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)).repeat_interleave(2)
this has an entry for each column; sine and cosine of a pair have one period, d_model / 2 in all

3.14 for pi => the first period is 2 pi positions
+ return 2 * 3.14 * 10000 ** (torch.arange(0, d_model, 2) / d_model)
this takes 3.14 for pi, which makes every period too short by half a thousandth; `torch.pi` and `math.pi` have more
digits

ten times from pair to pair => from pair to pair the period grows by 10000^(2 / d_model)
- return 2 * torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)
+ return 2 * torch.pi * 10.0 ** torch.arange(d_model // 2)
here each period is ten times the one before, which is right where d_model is 8; the factor is 10000^(2 / d_model), and
depends on the width

whole positions, rounded up => the first period is 2 pi positions
- return 2 * torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)
+ return (2 * torch.pi * 10000 ** (torch.arange(0, d_model, 2) / d_model)).ceil()
this rounds the periods up to whole positions; a period need not be a whole number
"""

EXERCISE = Exercise(
    title="The binary clock",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="binary_clock",
            parameters=("time", "bits"),
            returns="the digits of each position, integers (torch.int64) of shape (time, bits)",
            cases=draw_clock,
            examples=({"time": 6, "bits": 3}, {"time": 6, "bits": 2}),
            edges=(
                {"time": 1, "bits": 1},  # the position 0
                {"time": 5, "bits": 1},  # digits that do not fit
                {"time": 16, "bits": 4},  # up to three digits, 1 2 4, other divisors look alike
                {"time": 9, "bits": 3},  # the first position whose last digit does not fit
                {"time": 258, "bits": 9},  # more positions than a byte can count
            ),
            reference=binary_clock,
            properties=(
                Property("every entry is 0 or 1", 1, zeros_and_ones),
                Property("the digits of row t give t, least significant first", 2, spells_the_position),
                Property("column i changes every 2^i rows", 1, slower_by_two),
            ),
            mistakes=BINARY_CLOCK_MISTAKES,
        ),
        Task(
            function="periods",
            parameters=("d_model",),
            returns="the period of each pair, in positions, shape (d_model / 2,)",
            cases=draw_width,
            examples=({"d_model": 8}, {"d_model": 2}),
            edges=(
                {"d_model": 4},  # two pairs: a factor of 100
                {"d_model": 2},  # one pair
            ),
            reference=periods,
            properties=(
                Property("the first period is 2 pi positions", 1, first_period_is_two_pi),
                Property("from pair to pair the period grows by 10000^(2 / d_model)", 2, grows_by_one_factor),
            ),
            mistakes=PERIODS_MISTAKES,
        ),
    ),
    hints=(
        "For the clock, the first part: write 0 to 7 in binary below each other and look down the columns. How many "
        "rows does each stay the same? For the periods, the second part: how many radians has a full rotation?",
        "For the clock, digit i of t: divide by 2^i and drop the remainder, and ask whether the result is odd. The "
        "positions as a column (time, 1) and the powers as a row (bits,) give all digits at once. For the periods: "
        "how many positions until the angle position / 10000^(2i / d_model) is 2 pi?",
        "For the clock: `torch.arange(time)[:, None] // 2 ** torch.arange(bits)` and its remainder by 2. For the "
        "periods: 2 pi times `10000 ** (torch.arange(0, d_model, 2) / d_model)`.",
    ),
)
