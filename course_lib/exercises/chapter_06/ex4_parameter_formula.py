"""06.4: how many numbers the four layers learn."""

import torch

from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import difference
from course_lib.grading.exercise import Case, Check, Exercise, Property, Task


def count_parameters(d_model, heads, wide):
    """Weights and biases of the three layers that lead to all heads, of the one that leads back, and their sum."""
    width = heads * d_model if wide else d_model
    four = [*[d_model * width + width] * 3, width * d_model + d_model]
    return torch.tensor([*four, sum(four)])


def draw_widths(generator: torch.Generator) -> Case:
    """Draw widths, for both kinds of heads."""
    heads, d_head = sizes(generator, 6, 8, least=2)
    return {"d_model": heads * d_head, "heads": heads, "wide": bool(torch.rand((), generator=generator) < 0.5)}


def entries(positions: slice, wide: bool) -> Check:
    """Some of the numbers are right, for heads that are narrow or wide."""

    def check(case: Case):
        reply = yield case | {"wide": wide}
        return difference(reply.arguments, reply.value[positions], reply.expected[positions])

    return check


MISTAKES = """
no biases => narrow heads
- inside = d_model * width + width
- outside = width * d_model + d_model
+ inside = outside = d_model * width
these are the weights alone; each layer has a bias too, one number for each that comes out

one bias a layer => narrow heads
+ inside = outside = d_model * width + 1
a bias is not one number: there is one for each number that comes out of the layer

bias as wide as what comes in => wide heads: to_query, to_key and to_value
+ inside = d_model * width + d_model
+ outside = width * d_model + width
this counts one bias for each number that comes *in*; a bias is added to what comes out, and with wide heads the two
differ

bias of to_output as wide as the heads => wide heads: to_output, and the sum
- outside = width * d_model + d_model
+ outside = width * d_model + width
`to_output` brings the heads back to d_model, so its bias has d_model numbers, however wide the heads are

no bias for to_output => narrow heads
+ outside = width * d_model
`to_output` has a bias like the other three

to_output square => wide heads: to_output, and the sum
+ outside = d_model * d_model + d_model
this takes `to_output` to be d_model by d_model; with wide heads heads * d_model numbers come in

always narrow => wide heads: to_query, to_key and to_value
- d_head = d_model if wide else d_model // heads
+ d_head = d_model // heads
`wide` was not used, or only for d_head and not for all heads together: these are the numbers of narrow heads

always wide => narrow heads
+ d_head = d_model
these are the numbers of wide heads: a narrow head is d_model // heads wide, and all heads together are as wide as the
inputs

the other way round => narrow heads
+ d_head = d_model // heads if wide else d_model
narrow and wide are exchanged: wide heads are each as wide as the inputs

one head => narrow heads
- width = heads * d_head
+ width = d_head
these are the layers of a single head; each of the three makes what all heads need, heads * d_head numbers

a to_output for each head => narrow heads
- outside = width * d_model + d_model
+ outside = heads * (d_head * d_model + d_model)
this counts an output layer, with its bias, for each head; there is one for all of them, with one bias

bias of d_model everywhere => wide heads: to_query, to_key and to_value
- inside = d_model * width + width
+ inside = d_model * width + d_model
this counts d_model biases in each layer; with wide heads three of the layers give out heads * d_model numbers, and each
of these has a bias

three layers => narrow heads
- return torch.tensor([inside, inside, inside, outside, 3 * inside + outside])
+ return torch.tensor([inside, inside, inside, outside, 3 * inside])
the sum is that of three layers: `to_output` is missing in it

sum forgotten => narrow heads
+ return torch.tensor([inside, inside, inside, outside])
there is a fifth number, the sum of the four

sum alone => narrow heads
+ return torch.tensor(3 * inside + outside)
this is the sum; return the four numbers of the layers too

not whole numbers => narrow heads
- d_head = d_model if wide else d_model // heads
+ d_head = d_model if wide else d_model / heads
the numbers are right and the kind is not: `/` makes a float of two whole numbers, `//` does not

counted in float32 => wide heads: to_output, and the sum
- return torch.tensor([inside, inside, inside, outside, 3 * inside + outside])
+ return torch.tensor([inside, inside, inside, outside, 3 * inside + outside], dtype=torch.float32).long()
the numbers went through a tensor of float32, such as `torch.zeros(5)`, which rounds whole numbers above 16,777,216;
keep them integers, torch.int64, all the way

floats => narrow heads
- return torch.tensor([inside, inside, inside, outside, 3 * inside + outside])
+ return torch.tensor([inside, inside, inside, outside, 3 * inside + outside], dtype=torch.float32)
these are floats, which cannot hold every large number; return integers, torch.int64
"""

EXERCISE = Exercise(
    title="Parameter formula",
    difficulty=1,
    minutes=15,
    tasks=(
        Task(
            function="count_parameters",
            parameters=("d_model", "heads", "wide"),
            returns="the numbers of parameters of to_query, to_key, to_value, to_output and all four, shape (5,)",
            cases=draw_widths,
            examples=(
                {"d_model": 4, "heads": 2, "wide": False},
                {"d_model": 4, "heads": 2, "wide": True},
                {"d_model": 512, "heads": 8, "wide": False},
            ),
            edges=(
                {"d_model": 1, "heads": 1, "wide": False},  # one of everything
                {"d_model": 3, "heads": 3, "wide": True},  # narrow heads would be one wide
                {"d_model": 4, "heads": 1, "wide": True},  # a single head is as wide as it can be
                # Wide, 33,764,718 in all: float32 has no odd multiples of 2 there. Layers as large can still be built.
                {"d_model": 1677, "heads": 3, "wide": True},
            ),
            reference=count_parameters,
            properties=(
                Property("narrow heads", 2, entries(slice(None), wide=False)),
                Property("wide heads: to_query, to_key and to_value", 2, entries(slice(3), wide=True)),
                Property("wide heads: to_output, and the sum", 1, entries(slice(3, 5), wide=True)),
            ),
            mistakes=MISTAKES,
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
