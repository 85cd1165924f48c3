"""16.3: RoPE at any position, base and factor, and the frequencies of YaRN."""

import math

import torch

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.grading.checks import difference, equals, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem

BASES = (10.0, 100.0, 1000.0, 10_000.0, 500_000.0)


def plain_frequencies(width, base):
    """The frequency of each pair without interpolation, in double."""
    return torch.tensor([base ** (-2 * pair / width) for pair in range(width // 2)], dtype=torch.float64)


def rotate(vectors, positions, base, factor):
    """Each pair as a complex number, times the one of length 1 at its angle."""
    angle = (positions / factor)[:, None] * plain_frequencies(vectors.shape[-1], base)
    turns = torch.polar(torch.ones_like(angle), angle).to(torch.complex64)
    pairs = torch.complex(vectors[..., 0::2], vectors[..., 1::2])
    return torch.view_as_real(pairs * turns).flatten(-2)


def draw_base(generator: torch.Generator) -> float:
    """Draw a base of which some published model could be."""
    return BASES[int(torch.randint(len(BASES), (), generator=generator))]


def draw_vectors(generator: torch.Generator) -> Case:
    """Draw vectors with no leading axis, one or two, at positions in any order, a base, and a factor of 1.5 to 5."""
    axes = int(torch.randint(3, (), generator=generator))
    time, pairs = sizes(generator, 5, 4)
    return {
        "vectors": normal(generator, *sizes(generator, *[3] * axes), time, 2 * pairs),
        "positions": torch.randint(1, 24, (time,), generator=generator),
        "base": draw_base(generator),
        "factor": 1 + uniform(generator, 0.5, 4.0),
    }


def no_interpolation(case: Case) -> Case:
    """Set the factor to 1."""
    return case | {"factor": 1.0}


def norms_stay(case: Case):
    """Every vector keeps its norm."""
    reply = yield case
    return difference(case, reply.value.norm(dim=-1), case["vectors"].norm(dim=-1), where="the norms of the vectors")


def further_and_slower(case: Case):
    """At four times the position, with four times the factor, the vectors are what they were, and rotated at all."""
    moved = case | {"positions": 4 * case["positions"], "factor": 4 * case["factor"]}
    before, after = yield [case, moved]
    said = {"after": "positions and factor multiplied by 4"}
    if problem := difference(case, after.value, before.value, **said):
        return problem
    if case["positions"].any() and difference(case, before.value, case["vectors"]) is None:
        return Problem("value", case, got="the vectors as they were", expected="rotated vectors")
    return None


LONG = 6


def scores_know_the_offset_alone(case: Case):
    """One query and one key at every position: their scores differ from offset to offset, and by nothing else."""
    query = case["vectors"].flatten(0, -2)[0]
    two = torch.stack([query, query.roll(1) + 1])  # (2, width): a query, and a key made of it
    asked = case | {"vectors": two[:, None].expand(2, LONG, -1).clone(), "positions": 3 + torch.arange(LONG)}
    queries, keys = (yield asked).value
    scores = queries @ keys.T
    where = f"one query and one key at the positions 3 to {LONG + 2}: the score of t + 1 with s + 1, beside t with s"
    if problem := difference(asked, scores[1:, 1:], scores[:-1, :-1], 1e-4, where=where):
        return problem
    if difference(asked, scores, scores[:1, :1].expand_as(scores)) is None:
        where = f"the scores of one query and one key at the positions 3 to {LONG + 2}"
        return Problem("value", asked, where=where, got="one number", expected="others for other offsets")
    return None


ROTATION_MISTAKES = """
halves => each pair is rotated by its angle
- x, y = vectors[..., 0::2], vectors[..., 1::2]
- rotated_x = x * angle.cos() - y * angle.sin()
- rotated_y = x * angle.sin() + y * angle.cos()
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ x, y = vectors.chunk(2, dim=-1)
+ rotated_x = x * angle.cos() - y * angle.sin()
+ rotated_y = x * angle.sin() + y * angle.cos()
+ return torch.cat([rotated_x, rotated_y], dim=-1)
this rotates entry i with entry i + width / 2. Many published models use that layout; here a pair are neighbours, 2i and
2i + 1

put together as halves => each pair is rotated by its angle
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ return torch.cat([rotated_x, rotated_y], dim=-1)
the pairs are rotated correctly and then put in another order: `torch.cat` puts all first entries before all second
ones; `torch.stack(..., dim=-1)` and a flatten of the last two axes restore the order

the other way round => RoPE, where the factor is 1
- angle = rearrange(positions / factor, "time -> time 1") * frequency
+ angle = -rearrange(positions / factor, "time -> time 1") * frequency
this rotates by minus the angle: the first entry is x cos - y sin, the second x sin + y cos

factor not used => four times the position, four times the factor: nothing changes
+ angle = rearrange(positions, "time -> time 1") * frequency
`factor` was not used: the positions are divided by it

factor multiplied => four times the position, four times the factor: nothing changes
+ angle = rearrange(positions * factor, "time -> time 1") * frequency
this multiplies the positions by the factor, and a long text reaches angles further out; divided by it, the positions
come back into the trained range

positions rounded down => each pair is rotated by its angle
+ angle = rearrange(positions // factor, "time -> time 1") * frequency
the quotient is rounded down (`//`), so that neighbours share a position and attention cannot tell them apart; the
positions are to keep their fractions

positions rounded => each pair is rotated by its angle
+ angle = rearrange((positions / factor).round(), "time -> time 1") * frequency
the quotient is rounded, so that neighbours share a position and attention cannot tell them apart; the positions are to
keep their fractions

factor in the base => four times the position, four times the factor: nothing changes
- frequency = base ** (-torch.arange(0, width, 2) / width)
- angle = rearrange(positions / factor, "time -> time 1") * frequency
+ frequency = (base * factor) ** (-torch.arange(0, width, 2) / width)
+ angle = rearrange(positions, "time -> time 1") * frequency
this multiplies the base by the factor, which slows the last pairs and leaves the first; position interpolation divides
the positions, for all pairs alike

factor by the NTK rule => four times the position, four times the factor: nothing changes
+ frequency = (base * factor ** (width / max(1, width - 2))) ** (-torch.arange(0, width, 2) / width)
+ angle = rearrange(positions, "time -> time 1") * frequency
this enlarges the base (the NTK-aware rule), which slows the last pairs and leaves the first; position interpolation
divides the positions, for all pairs alike

factor in the exponent => four times the position, four times the factor: nothing changes
+ frequency = base ** (-torch.arange(0, width, 2) / width / factor)
+ angle = rearrange(positions, "time -> time 1") * frequency
the factor stands in the exponent here, and makes the frequencies higher; it divides the positions

vectors divided => every vector keeps its norm
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2) / factor
this divides the vectors by the factor; the positions are divided, and the vectors keep their norms

base not used => each pair is rotated by its angle
- frequency = base ** (-torch.arange(0, width, 2) / width)
+ frequency = 10000 ** (-torch.arange(0, width, 2) / width)
this has the base 10,000, as in Chapter 7; `base` says which one it is here

positions not used => each pair is rotated by its angle
- angle = rearrange(positions / factor, "time -> time 1") * frequency
+ angle = rearrange(torch.arange(vectors.shape[-2]) / factor, "time -> time 1") * frequency
this counts the positions from 0; `positions` says at which one each vector stands

positions counted on from the first => each pair is rotated by its angle
+ angle = rearrange((positions[0] + torch.arange(len(positions))) / factor, "time -> time 1") * frequency
this counts on from the first position; `positions` says at which one each vector stands, and they need not follow each
other

positions from the first => each pair is rotated by its angle
+ angle = rearrange((positions - positions[0]) / factor, "time -> time 1") * frequency
this subtracts the first position from all; with a KV cache the keys before were rotated by the positions as they are

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

sine and cosine exchanged => RoPE, where the factor is 1
- rotated_x = x * angle.cos() - y * angle.sin()
- rotated_y = x * angle.sin() + y * angle.cos()
+ rotated_x = x * angle.sin() - y * angle.cos()
+ rotated_y = x * angle.cos() + y * angle.sin()
sine and cosine are exchanged: at position 0, where the cosine is 1, the vector is to stay as it is

sinusoids added => every vector keeps its norm
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ return vectors + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
this adds sinusoids to the vectors; RoPE adds nothing: each pair is rotated

degrees => RoPE, where the factor is 1
- angle = rearrange(positions / factor, "time -> time 1") * frequency
+ angle = (rearrange(positions / factor, "time -> time 1") * frequency).deg2rad()
this takes the angles for degrees; they are radians, as `torch.sin` wants them

one speed for all => each pair is rotated by its angle
+ angle = rearrange(positions / factor, "time -> time 1").expand(-1, width // 2)
this rotates every pair by position / factor; pair i is slower, by base^(-2i / width)

i for 2i => each pair is rotated by its angle
- frequency = base ** (-torch.arange(0, width, 2) / width)
+ frequency = base ** (-torch.arange(width // 2) / width)
this has the exponent i / width for pair i; it is 2i / width

doubled twice => each pair is rotated by its angle
+ frequency = base ** (-2 * torch.arange(0, width, 2) / width)
this has the exponent 4i / width: `torch.arange(0, width, 2)` counts in twos already and is 2i

multiplied => each pair is rotated by its angle
+ frequency = base ** (torch.arange(0, width, 2) / width)
the minus is missing in the exponent: later pairs are slower, not faster

vectors overwritten => inputs unchanged
- return torch.stack([rotated_x, rotated_y], dim=-1).flatten(-2)
+ vectors[..., 0::2], vectors[..., 1::2] = rotated_x, rotated_y
+ return vectors
this writes the rotated entries into the caller's own vectors (`vectors[..., 0::2] = ...`); fill a new tensor
"""


def yarn_frequencies(width, base, factor, trained_length, alpha, beta):
    """Pair by pair."""
    blended = []
    for frequency in plain_frequencies(width, base).tolist():
        rotations = trained_length * frequency / (2 * math.pi)
        share = min(1.0, max(0.0, math.log(rotations / alpha, beta / alpha)))
        blended.append(frequency * (share + (1 - share) / factor))
    return torch.tensor(blended)


def draw_yarn(generator: torch.Generator) -> Case:
    """Draw a width of several pairs, a trained length over which some of these lie between alpha and beta."""
    (pairs,) = sizes(generator, 6, least=3)
    return {
        "width": 2 * pairs,
        "base": draw_base(generator),
        "factor": 1 + uniform(generator, 1.0, 7.0),
        "trained_length": int(torch.randint(40, 800, (), generator=generator)),
        "alpha": (0.5, 2.0)[int(torch.randint(2, (), generator=generator))],
        "beta": uniform(generator, 20.0, 40.0),
    }


def long_training(case: Case) -> Case:
    """Train so long that every pair makes beta rotations and some more."""
    slowest = float(plain_frequencies(case["width"], case["base"])[-1])
    return case | {"trained_length": math.ceil(3 * math.pi * case["beta"] / slowest)}


def short_training(case: Case) -> Case:
    """Train on so few positions that no pair makes alpha rotations."""
    return case | {"trained_length": max(1, math.floor(case["alpha"]))}


def as_parts(case: Case):
    """Each frequency, as a part of the one without YaRN, is right."""
    reply = yield case
    plain = plain_frequencies(case["width"], case["base"]).float()
    where = "each frequency, divided by that without YaRN"
    return difference(case, reply.value / plain, reply.expected / plain, where=where)


YARN_MISTAKES = """
all slowed => a long training: every pair keeps its frequency
- return share * frequency + (1 - share) * frequency / factor
+ return frequency / factor
this slows every pair, as position interpolation does; a pair of beta rotations or more keeps its frequency

none slowed => a short training: every pair is slowed by the factor
+ return frequency
these are the frequencies without YaRN; a pair of alpha rotations or fewer is divided by the factor

fast and slow exchanged => a long training: every pair keeps its frequency
+ return (1 - share) * frequency + share * frequency / factor
fast and slow are exchanged: the share is 1 for the fast pairs, and these keep their frequency

factor multiplied => a short training: every pair is slowed by the factor
+ return share * frequency + (1 - share) * frequency * factor
this multiplies by the factor, and the slow pairs become faster; they are divided by it

wavelengths blended => the pairs between: the share grows with the logarithm of the rotations
+ return 1 / (share / frequency + (1 - share) * factor / frequency)
this blends the wavelengths, one over frequency; the frequencies themselves are blended

slowed by a power => the pairs between: the share grows with the logarithm of the rotations
+ return frequency / factor ** (1 - share)
this divides by a power of the factor; the frequency and the slowed frequency are averaged with the shares s and 1 - s

only added => a long training: every pair keeps its frequency
+ return share * frequency + frequency / factor
the slowed frequency is to have the share 1 - s; here it is added whole

not clamped => a long training: every pair keeps its frequency
- share = share.clamp(0, 1)
+ share = share
the share leaves the range from 0 to 1: below alpha rotations it is 0, above beta it is 1 (`clamp`)

clamped below alone => a long training: every pair keeps its frequency
+ share = share.clamp(min=0)
the share exceeds 1 for pairs of more than beta rotations: clamp it above, too

clamped above alone => a short training: every pair is slowed by the factor
+ share = share.clamp(max=1)
the share is negative for pairs of fewer than alpha rotations: clamp it below, too

a border at beta, no blend => the pairs between: the share grows with the logarithm of the rotations
+ share = (rotations >= beta).float()
this has a border at beta and no blend: every pair between alpha and beta is slowed whole; its share grows from 0 to 1

a border at alpha, no blend => the pairs between: the share grows with the logarithm of the rotations
+ share = (rotations > alpha).float()
this has a border at alpha and no blend: every pair between alpha and beta stays; its share grows from 0 to 1

linear in the rotations => the pairs between: the share grows with the logarithm of the rotations
- share = torch.log(rotations / alpha) / span
+ share = (rotations - alpha) / (beta - alpha)
the share grows with the rotations themselves, as in the formula of the paper; here it grows with their logarithm, as in
the code of its authors

linear from zero => the pairs between: the share grows with the logarithm of the rotations
+ share = rotations / beta
the share is rotations / beta here; it is 0 up to alpha rotations, and grows from there with their logarithm

alpha left out above => the pairs between: the share grows with the logarithm of the rotations
+ share = torch.log(rotations) / span
alpha is missing above: the share is 0 at alpha rotations, so the logarithm is that of rotations / alpha

beta above for alpha => a long training: every pair keeps its frequency
+ share = torch.log(rotations / beta) / span
this is 0 at beta rotations; the share is 0 at alpha and 1 at beta: the logarithm of rotations / alpha

whole pairs for borders => the pairs between: the share grows with the logarithm of the rotations
+ last_kept, first_slowed = (
+     width * (trained_length / (2 * torch.pi * border)).log() / (2 * torch.tensor(base).log())
+     for border in (torch.tensor(beta), torch.tensor(alpha))
+ )
+ last_kept = last_kept.floor().clamp(min=0)
+ first_slowed = first_slowed.ceil().clamp(max=width - 1)
+ share = 1 - (torch.arange(width // 2) - last_kept) / (first_slowed - last_kept).clamp(min=0.001)
this rounds both borders to whole pairs, as the code of the authors does; here the share is that of the formula

alpha left out below => the pairs between: the share grows with the logarithm of the rotations
- span = torch.tensor(beta / alpha).log()
+ span = torch.tensor(beta).log()
alpha is missing below: the share is 1 at beta rotations, so the divisor is the logarithm of beta / alpha

another logarithm => the pairs between: the share grows with the logarithm of the rotations
+ span = torch.tensor(beta / alpha).log10()
numerator and denominator have logarithms to different bases; any base will do, if it is the same

difference in the logarithm => the pairs between: the share grows with the logarithm of the rotations
+ span = torch.tensor(beta - alpha).log()
this has the logarithm of beta - alpha; it is that of the quotient, beta / alpha

no circle => the pairs between: the share grows with the logarithm of the rotations
- rotations = trained_length * frequency / (2 * torch.pi)
+ rotations = trained_length * frequency
these are radians, not rotations: a rotation has 2 pi of them

half a circle => the pairs between: the share grows with the logarithm of the rotations
+ rotations = trained_length * frequency / torch.pi
these are half rotations: a rotation has 2 pi radians

wavelength for rotations => a long training: every pair keeps its frequency
+ rotations = 2 * torch.pi / frequency
this is the wavelength, the positions for one rotation; how many rotations there are is the trained length divided by it

rotations turned over => a long training: every pair keeps its frequency
+ rotations = 2 * torch.pi / (trained_length * frequency)
this is one over the rotations

rotations over the new length => the pairs between: the share grows with the logarithm of the rotations
+ rotations = factor * trained_length * frequency / (2 * torch.pi)
these are the rotations over the longer text, factor times the trained length; what the model has seen in training
decides

rotations after slowing => the pairs between: the share grows with the logarithm of the rotations
+ rotations = trained_length * frequency / factor / (2 * torch.pi)
these are the rotations of the slowed frequencies; the ones of the training decide, without the factor

base not used => a long training: every pair keeps its frequency
- frequency = base ** (-torch.arange(0, width, 2) / width)
+ frequency = 10000 ** (-torch.arange(0, width, 2) / width)
this has the base 10,000; `base` says which one it is here

i for 2i => a long training: every pair keeps its frequency
+ frequency = base ** (-torch.arange(width // 2) / width)
this has the exponent i / width for pair i; it is 2i / width

a frequency for each entry => a long training: every pair keeps its frequency
+ frequency = base ** (-torch.arange(width) / width)
this has a frequency for each entry of the vectors; there is one for each pair, (width / 2,)
"""

EXERCISE = Exercise(
    title="RoPE with position interpolation",
    difficulty=3,
    minutes=35,
    tasks=(
        Task(
            function="rotate",
            parameters=("vectors", "positions", "base", "factor"),
            returns="the rotated vectors, shape (..., time, width)",
            cases=draw_vectors,
            examples=(
                {
                    "vectors": torch.tensor([[1.0, 0.0], [1.0, 0.0]]),
                    "positions": torch.tensor([0, 4]),
                    "base": 10_000.0,
                    "factor": 4.0,
                },
                {
                    "vectors": torch.tensor([[1.0, 0.0, 1.0, 0.0]]),
                    "positions": torch.tensor([4]),
                    "base": 100.0,
                    "factor": 4.0,
                },
            ),
            edges=(
                {  # position 0 alone, a batch of two
                    "vectors": torch.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]),
                    "positions": torch.tensor([0]),
                    "base": 10.0,
                    "factor": 2.0,
                },
                {  # every axis has a length of its own; positions that fall
                    "vectors": torch.linspace(-1, 1, 48).reshape(2, 3, 2, 4),
                    "positions": torch.tensor([7, 2]),
                    "base": 100.0,
                    "factor": 2.5,
                },
                {  # as many positions as pairs
                    "vectors": torch.linspace(-1, 2, 8).reshape(2, 4),
                    "positions": torch.tensor([3, 5]),
                    "base": 50.0,
                    "factor": 1.5,
                },
            ),
            reference=rotate,
            properties=(
                Property("every vector keeps its norm", 1, norms_stay),
                Property("RoPE, where the factor is 1", 1, on(no_interpolation, equals())),
                Property("four times the position, four times the factor: nothing changes", 1, further_and_slower),
                Property("each pair is rotated by its angle", 2, equals()),
                Property(
                    "the score of a query and a key depends on their offset alone", 1, scores_know_the_offset_alone
                ),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=ROTATION_MISTAKES,
        ),
        Task(
            function="yarn_frequencies",
            parameters=("width", "base", "factor", "trained_length", "alpha", "beta"),
            returns="the frequency of each pair, shape (width / 2,)",
            cases=draw_yarn,
            examples=({"width": 6, "base": 4096.0, "factor": 4.0, "trained_length": 402, "alpha": 1.0, "beta": 16.0},),
            edges=(
                {"width": 2, "base": 10.0, "factor": 3.0, "trained_length": 20, "alpha": 1.0, "beta": 8.0},  # one pair
                # A factor of 1 leaves every pair as it is.
                {"width": 6, "base": 100.0, "factor": 1.0, "trained_length": 50, "alpha": 1.0, "beta": 8.0},
                # Llama's base and length.
                {"width": 16, "base": 500_000.0, "factor": 4.0, "trained_length": 8192, "alpha": 1.0, "beta": 32.0},
            ),
            reference=yarn_frequencies,
            properties=(
                Property("a long training: every pair keeps its frequency", 1, on(long_training, as_parts)),
                Property("a short training: every pair is slowed by the factor", 1, on(short_training, as_parts)),
                Property("the pairs between: the share grows with the logarithm of the rotations", 2, as_parts),
            ),
            mistakes=YARN_MISTAKES,
        ),
    ),
    hints=(
        "Which angle has a vector at position 4, if all positions are divided by 4? And which pairs have been through "
        "the whole circle during training?",
        "The rotation is that of 07.4, with positions that are given, divided by the factor, and a base that is given. "
        "For YaRN compute the frequencies, the rotations over the trained length, the share of each pair, clamped to 0 "
        "and 1, and the average.",
        "`positions[:, None] / factor` times the frequencies is (time, width / 2). `math.log` takes plain numbers, "
        "`torch.log` tensors; `share.clamp(0, 1)` keeps the share in its range.",
    ),
)
