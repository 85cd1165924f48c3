"""Exercise 06.4, the number of parameters."""

from collections.abc import Callable

import torch
from torch.nn import functional as F

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import Judge, answer_like, difference
from course_lib.grading.wording import describe_case


def with_sum(four):
    """Four numbers and their sum."""
    return torch.tensor([*four, sum(four)])


def counted(inside: Callable[[int, int], int], outside: Callable[[int, int], int]) -> Callable:
    """Return counts by these formulas of d_model and of the width of all heads together."""

    def count(d_model, heads, wide):
        width = heads * d_model if wide else d_model
        return with_sum([*[inside(d_model, width)] * 3, outside(width, d_model)])

    return count


def with_biases(into, out):
    """Weight and bias of a linear layer."""
    return into * out + out


count_parameters = counted(with_biases, with_biases)


def one_output_a_head(d_model, heads, wide):
    """Counts with a bias of the output for every head."""
    *inside, outside = count_parameters(d_model, heads, wide).tolist()[:4]
    return with_sum([*inside, outside + (heads - 1) * d_model])


def one_head(d_model, heads, wide):
    """Counts for the layers of one head."""
    d_head = d_model if wide else d_model // heads
    return with_sum([*[with_biases(d_model, d_head)] * 3, with_biases(d_head, d_model)])


def divided(d_model, heads, wide):
    """The width of a narrow head by `/`, which makes floats of all that it enters."""
    counts = count_parameters(d_model, heads, wide)
    return counts if wide else counts.float()


def always(wide: bool) -> Callable:
    """Return counts that do not ask whether heads are wide."""
    return lambda d_model, heads, **_: count_parameters(d_model, heads, wide)


def draw_widths(generator: torch.Generator) -> Case:
    """Draw widths, for both kinds of heads."""
    heads, d_head = sizes(generator, 6, 8, least=2)
    return {"d_model": heads * d_head, "heads": heads, "wide": bool(torch.rand((), generator=generator) < 0.5)}


def entries(places: slice, wide: bool) -> Judge:
    """The judgement on some of the numbers, for heads that are narrow or wide."""

    def judge(call: Call, case: Case) -> str | None:
        asked = case | {"wide": wide}
        answer, expected = answer_like(count_parameters, call, asked)
        found = difference(answer[places], expected[places])
        return f"{describe_case(asked)}: {found}" if found else None

    return judge


NARROW = "narrow heads"
WIDE_INSIDE = "wide heads: to_query, to_key and to_value"
WIDE_OUTSIDE = "wide heads: to_output, and the sum"

PARAMETERS = Exercise(
    id="06.4",
    title="Parameter formula",
    difficulty=1,
    minutes=15,
    tasks=(
        Task(
            function="count_parameters",
            parameters=("d_model", "heads", "wide"),
            returns="how many numbers to_query, to_key, to_value, to_output and all four learn, integers, shape (5,)",
            cases=draw_widths,
            examples=(
                {"d_model": 4, "heads": 2, "wide": False},
                {"d_model": 4, "heads": 2, "wide": True},
                {"d_model": 512, "heads": 8, "wide": False},
            ),
            reference=count_parameters,
            properties=(
                Property(NARROW, 2, entries(slice(None), wide=False)),
                Property(WIDE_INSIDE, 2, entries(slice(3), wide=True)),
                Property(WIDE_OUTSIDE, 1, entries(slice(3, 5), wide=True)),
            ),
            misconceptions=(
                Misconception(
                    "no biases",
                    "these are the weights alone; each layer has a bias too, one number for each that comes out",
                    counted(lambda into, out: into * out, lambda into, out: into * out),
                    breaks=NARROW,
                ),
                Misconception(
                    "one bias a layer",
                    "a bias is not one number: there is one for each number that comes out of the layer",
                    counted(lambda into, out: into * out + 1, lambda into, out: into * out + 1),
                    breaks=NARROW,
                ),
                Misconception(
                    "bias as wide as what comes in",
                    "this counts one bias for each number that comes *in*; a bias is added to what comes out, and with "
                    "wide heads the two differ",
                    counted(lambda into, out: into * out + into, lambda into, out: into * out + into),
                    breaks=WIDE_INSIDE,
                ),
                Misconception(
                    "bias of to_output as wide as the heads",
                    "`to_output` brings the heads back to d_model, so its bias has d_model numbers, however wide the "
                    "heads are",
                    counted(with_biases, lambda into, out: into * out + into),
                    breaks=WIDE_OUTSIDE,
                ),
                Misconception(
                    "no bias for to_output",
                    "`to_output` has a bias like the other three",
                    counted(with_biases, lambda into, out: into * out),
                    breaks=NARROW,
                ),
                Misconception(
                    "to_output square",
                    "this takes `to_output` to be d_model by d_model; with wide heads heads * d_model numbers come in",
                    counted(with_biases, lambda into, out: out * out + out),
                    breaks=WIDE_OUTSIDE,
                ),
                Misconception(
                    "always narrow",
                    "`wide` was not used, or only for d_head and not for all heads together: these are the numbers of "
                    "narrow heads",
                    always(False),
                    breaks=WIDE_INSIDE,
                ),
                Misconception(
                    "always wide",
                    "these are the numbers of wide heads: a narrow head is d_model // heads wide, and all heads "
                    "together are as wide as the inputs",
                    always(True),
                    breaks=NARROW,
                ),
                Misconception(
                    "the other way round",
                    "narrow and wide are exchanged: wide heads are each as wide as the inputs",
                    lambda d_model, heads, wide: count_parameters(d_model, heads, not wide),
                    breaks=NARROW,
                ),
                Misconception(
                    "one head",
                    "these are the layers of a single head; each of the three makes what all heads need, heads * "
                    "d_head numbers",
                    one_head,
                    breaks=NARROW,
                ),
                Misconception(
                    "a to_output for each head",
                    "this counts an output layer, with its bias, for each head; there is one for all of them, with one "
                    "bias",
                    one_output_a_head,
                    breaks=NARROW,
                ),
                Misconception(
                    "bias of d_model everywhere",
                    "this counts d_model biases in each layer; with wide heads three of the layers give out heads * "
                    "d_model numbers, and each of these has a bias",
                    counted(lambda into, out: into * out + into, with_biases),
                    breaks=WIDE_INSIDE,
                ),
                Misconception(
                    "three layers",
                    "the sum is that of three layers: `to_output` is missing in it",
                    lambda **named: count_parameters(**named) - F.pad(count_parameters(**named)[3:4], (4, 0)),
                    breaks=NARROW,
                ),
                Misconception(
                    "sum forgotten",
                    "there is a fifth number, the sum of the four",
                    lambda **named: count_parameters(**named)[:4],
                    breaks=NARROW,
                ),
                Misconception(
                    "sum alone",
                    "this is the sum; asked for are the four numbers of the layers too",
                    lambda **named: count_parameters(**named)[4],
                    breaks=NARROW,
                ),
                Misconception(
                    "not whole numbers",
                    "the numbers are right and the kind is not: `/` makes a float of two whole numbers, `//` does not",
                    divided,
                    breaks=NARROW,
                ),
            ),
        ),
    ),
    hints=(
        "How many numbers go into each of the four layers, and how many come out? Write both down for narrow and for "
        "wide heads.",
        "A linear layer from a numbers to b has a * b weights and b biases. Three layers lead from d_model to heads * "
        "d_head, one leads back.",
        "Let w be the width of all heads together, which is d_model for narrow heads: three times d_model * w + w, "
        "then w * d_model + d_model, then the sum; `torch.tensor([...])` makes one tensor of five integers.",
    ),
)
