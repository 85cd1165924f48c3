"""16.2: SwiGLU, and the width at which it has as many weights as a ReLU network."""

import torch
from torch.nn import functional

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, gradients_equal, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def swiglu(inputs, gate, up, down):
    """By linear layers, whose weights are stored as (to, from)."""
    return functional.linear(
        functional.silu(functional.linear(inputs, gate.T)) * functional.linear(inputs, up.T), down.T
    )


def draw_network(generator: torch.Generator) -> Case:
    """Draw vectors with no leading axis, one or two, and three matrices."""
    axes = int(torch.randint(3, (), generator=generator))
    d_model, more = sizes(generator, 4, 3, least=2)
    d_hidden = d_model + more - 1
    return {
        "inputs": normal(generator, *sizes(generator, *[3] * axes), d_model),
        "gate": normal(generator, d_model, d_hidden),
        "up": normal(generator, d_model, d_hidden),
        "down": normal(generator, d_hidden, d_model),
    }


def with_gates(sign: int):
    """Return a change after which every gate is 30 or more above or below 0, and every number of `up` has that sign."""

    def change(case: Case) -> Case:
        gate, up = (sign * (each.abs() + 0.5) for each in (case["gate"], case["up"]))
        # Large numbers of one sign: nothing of them is lost where they are added up.
        return case | {"inputs": case["inputs"].abs() + 2, "gate": 30 * gate, "up": up, "down": case["down"].abs()}

    return change


MISTAKES = """
ReLU for SiLU => SiLU of the gate, times up, led back
- opened = gates * torch.sigmoid(gates)
+ opened = torch.relu(gates)
this has ReLU for the gate (ReGLU); SiLU is the number times its sigmoid

GELU for SiLU => SiLU of the gate, times up, led back
+ opened = torch.nn.functional.gelu(gates)
this has GELU for the gate (GeGLU); SiLU is the number times its sigmoid

GELU by tanh for SiLU => SiLU of the gate, times up, led back
+ opened = torch.nn.functional.gelu(gates, approximate="tanh")
this has GELU for the gate (GeGLU); SiLU is the number times its sigmoid

the gate alone a sigmoid => a gate far above 0: a product of two linear maps
+ opened = torch.sigmoid(gates)
this is the sigmoid of the gate (GLU of Dauphin et al., 2017), which never exceeds 1; SiLU is the number times its
sigmoid

no nonlinearity => a gate far below 0: the output is 0
+ opened = gates
this multiplies two linear maps without a nonlinearity (the bilinear variant); the gate passes through SiLU first

a tanh for the sigmoid => SiLU of the gate, times up, led back
+ opened = gates * torch.tanh(gates)
this multiplies the gate by its tanh, which is negative below 0; SiLU multiplies by the sigmoid, which is from 0 to 1

minus inside the sigmoid => a gate far below 0: the output is 0
+ opened = gates * torch.sigmoid(-gates)
this has the sigmoid of minus the gate, so that the gate is open below 0; SiLU(z) is z / (1 + exp(-z))

exponentials that overflow => a gate far above 0: a product of two linear maps
+ opened = gates * gates.exp() / (1 + gates.exp())
this divides exp(z) by 1 + exp(z), which is the sigmoid on paper; float32 has no exponential of a gate above 88, and
infinity by infinity is nan: take `torch.sigmoid`, or 1 / (1 + exp(-z))

SiLU of the other one => a gate far below 0: the output is 0
- return (opened * (inputs @ up)) @ down
+ raised = inputs @ up
+ return (gates * raised * torch.sigmoid(raised)) @ down
gate and up are exchanged: what `gate` makes passes through SiLU, what `up` makes does not

SiLU of both => a gate far above 0: a product of two linear maps
+ return (opened * torch.nn.functional.silu(inputs @ up)) @ down
both hidden vectors pass through SiLU here; only the gate does

SiLU of the product => a gate far below 0: the output is 0
+ return torch.nn.functional.silu(gates * (inputs @ up)) @ down
SiLU is applied to the product here; it is applied to the gate, and the product comes after

SiLU at the end => SiLU of the gate, times up, led back
+ return torch.nn.functional.silu((gates * (inputs @ up)) @ down)
SiLU is applied to the output here; it is applied to the gate, before the product

added, not multiplied => a gate far below 0: the output is 0
+ return (opened + inputs @ up) @ down
the two hidden vectors are added; a gate multiplies, entry by entry

no gate => a gate far above 0: a product of two linear maps
+ return torch.nn.functional.silu(inputs @ up) @ down
`gate` was not used: this is a network of two matrices with SiLU between them

up not used => a gate far above 0: a product of two linear maps
+ return opened @ down
`up` was not used: this is a network of two matrices with SiLU between them

gate used for both => a gate far above 0: a product of two linear maps
+ return (opened * gates) @ down
both hidden vectors are made by `gate`; the one that is multiplied is made by `up`

down not used => SiLU of the gate, times up, led back
+ return opened * (inputs @ up)
this is the hidden vector; `down` leads it back to d_model

the gate on the inputs => SiLU of the gate, times up, led back
+ return torch.nn.functional.silu(inputs) @ up @ down
SiLU is applied to the inputs here; it is applied to what `gate` makes of them

residual added => a gate far below 0: the output is 0
+ return inputs + (opened * (inputs @ up)) @ down
this adds the inputs: the block does that, around this network

softmax of the gates => a gate far below 0: the output is 0
- opened = gates * torch.sigmoid(gates)
- return (opened * (inputs @ up)) @ down
+ return (gates.softmax(dim=-1) * (inputs @ up)) @ down
the gates pass through a softmax here, and compete; each passes through SiLU by itself

weights stored the other way => SiLU of the gate, times up, led back
- gates = inputs @ gate
- opened = gates * torch.sigmoid(gates)
- return (opened * (inputs @ up)) @ down
+ return torch.nn.functional.silu(inputs @ gate.T) * (inputs @ up.T) @ down.T
the matrices are transposed here, as `nn.Linear` stores them; these come as (from, to): `inputs @ gate`

gradient cut at the gate => gradients reach the inputs and all three matrices
- opened = gates * torch.sigmoid(gates)
- return (opened * (inputs @ up)) @ down
+ opened = (gates * torch.sigmoid(gates)).detach()
+ return (opened * (inputs @ up)) @ down
the numbers are right and the gradient is not: the gate was cut out of the graph (`.detach()`, `.data`,
`torch.no_grad()`), and what makes it cannot learn

gradient cut in the sigmoid => gradients reach the inputs and all three matrices
+ opened = gates * torch.sigmoid(gates).detach()
+ return (opened * (inputs @ up)) @ down
the numbers are right and the gradient is not: the sigmoid was cut out of the graph, but it moves with the gate too
"""


def equal_width(d_model, d_hidden, multiple):
    """By whole numbers: as many multiples as have two thirds of the width, rounded up."""
    width = (2 * d_hidden + 3 * multiple - 1) // (3 * multiple) * multiple
    return torch.tensor([width, d_model * (3 * width - 2 * d_hidden)])


def draw_widths(generator: torch.Generator) -> Case:
    """Draw widths and a multiple; two thirds of the width are a multiple of it, or lie a little above or below one."""
    d_model, steps, multiple = sizes(generator, 9, 5, 12, least=2)
    (third,) = sizes(generator, 3)
    return {"d_model": d_model, "d_hidden": max(2, 3 * steps * multiple // 2 + third - 1), "multiple": multiple}


def by_ones(case: Case) -> Case:
    """Do not round to more than whole numbers."""
    return case | {"multiple": 1}


def exact(case: Case) -> Case:
    """Let two thirds of the width be a multiple."""
    steps = 2 * (1 + case["d_hidden"] // (3 * case["multiple"]))
    return case | {"d_hidden": 3 * steps // 2 * case["multiple"]}


def width_alone(case: Case):
    """The first of both numbers is right."""
    reply = yield case
    return difference(case, reply.value[0], reply.expected[0], where="the width")


def more_weights(case: Case):
    """The second number is right."""
    reply = yield case
    return difference(case, reply.value[1], reply.expected[1], where="how many weights are more")


WIDTH_MISTAKES = """
not narrower => width for a multiple of 1
- steps = -(-2 * d_hidden // (3 * multiple))
+ steps = -(-d_hidden // multiple)
this is the width of the ReLU network, rounded; three matrices of it have half as many weights again: take two thirds

three halves => width for a multiple of 1
+ steps = -(-3 * d_hidden // (2 * multiple))
this takes three halves of the width; SwiGLU has more matrices, so it has to be narrower: two thirds

one half => width for a multiple of 1
+ steps = -(-d_hidden // (2 * multiple))
this takes half of the width; from two matrices to three it is two thirds

eight thirds of d_model => width for a multiple of 1
+ steps = -(-8 * d_model // (3 * multiple))
this is 8/3 of d_model, which is right where `d_hidden` is four times d_model; here `d_hidden` is given: two thirds of
it

rounded down => width for a multiple of 1
+ steps = 2 * d_hidden // (3 * multiple)
this rounds down, and SwiGLU has fewer weights than the ReLU network; it is to have at least as many

to the nearest => width for a multiple of 1
+ steps = round(2 * d_hidden / (3 * multiple))
this rounds to the nearest multiple, where SwiGLU may have fewer weights; it is to have at least as many: round up

one more, always => width, where two thirds are a multiple
+ steps = 2 * d_hidden // (3 * multiple) + 1
this goes one multiple further, also where two thirds of `d_hidden` are a multiple already

down, then up => width for a multiple of 1
- steps = -(-2 * d_hidden // (3 * multiple))
+ steps = -(-int(2 * d_hidden / 3) // multiple)
this cuts two thirds down to a whole number and then rounds up, as the code of LLaMA does; where two thirds lie just
above a multiple, SwiGLU then has fewer weights than the ReLU network

multiple not used => width for other multiples
- steps = -(-2 * d_hidden // (3 * multiple))
- width = steps * multiple
+ width = -(-2 * d_hidden // 3)
`multiple` was not used: the width is to be one of its multiples

number of multiples => width for other multiples
+ width = -(-2 * d_hidden // (3 * multiple))
this is the number of multiples; the width is that number times `multiple`

multiple added => width for other multiples
+ width = -(-2 * d_hidden // 3) // multiple * multiple + multiple
this rounds down to a multiple and adds one, also where two thirds are a multiple already

two matrices counted => how many weights are more
- return torch.tensor([width, 3 * d_model * width - 2 * d_model * d_hidden])
+ return torch.tensor([width, 2 * d_model * width - 2 * d_model * d_hidden])
two matrices of SwiGLU are counted; it has three: gate, up and down

three matrices each => how many weights are more
+ return torch.tensor([width, 3 * d_model * (width - d_hidden)])
three matrices are counted in the ReLU network as well; it has two

the other way round => how many weights are more
+ return torch.tensor([width, 2 * d_model * d_hidden - 3 * d_model * width])
this is how many weights the ReLU network has more; asked is how many more SwiGLU has, 0 or above

all weights of SwiGLU => how many weights are more
+ return torch.tensor([width, 3 * d_model * width])
these are all weights of SwiGLU; subtract those of the ReLU network

for each entry of the model => how many weights are more
+ return torch.tensor([width, 3 * width - 2 * d_hidden])
this is the difference for each entry of the vectors: every matrix has d_model rows or columns, so multiply by `d_model`

in widths => how many weights are more
+ return torch.tensor([width, width - d_hidden])
this is the difference of the widths; asked is that of the numbers of weights

biases counted => how many weights are more
+ return torch.tensor([width, 3 * d_model * width - 2 * d_model * d_hidden - d_hidden - d_model])
this counts the biases of the ReLU network; here weights alone count

width alone => how many weights are more
+ return torch.tensor([width])
there is a second number: how many weights are more

exchanged => width for a multiple of 1
+ return torch.tensor([3 * d_model * width - 2 * d_model * d_hidden, width])
the two numbers are in the wrong order: first the width, then how many weights are more

floats => width for a multiple of 1
+ return torch.tensor([width, 3.0 * d_model * width - 2 * d_model * d_hidden])
these are floats; both are whole numbers, torch.int64: `/` makes a float of two whole numbers, `//` does not
"""

EXERCISE = Exercise(
    title="SwiGLU at equal parameters",
    difficulty=2,
    minutes=20,
    tasks=(
        Task(
            function="swiglu",
            parameters=("inputs", "gate", "up", "down"),
            returns="one output for each vector, in the shape of inputs, (..., d_model)",
            cases=draw_network,
            examples=(
                {
                    "inputs": torch.tensor([1.0, 2.0]),
                    "gate": torch.tensor([[1.0, -1.0], [0.0, 0.0]]),
                    "up": torch.tensor([[2.0, 0.0], [1.0, 1.0]]),
                    "down": torch.tensor([[1.0, 0.0], [1.0, 1.0]]),
                },
            ),
            edges=(
                {  # one hidden entry, two sequences of one position
                    "inputs": torch.tensor([[[1.0, -2.0]], [[0.5, 1.0]]]),
                    "gate": torch.tensor([[1.0], [-0.5]]),
                    "up": torch.tensor([[0.5], [2.0]]),
                    "down": torch.tensor([[1.0, -3.0]]),
                },
                {  # one of everything
                    "inputs": torch.tensor([[-1.5]]),
                    "gate": torch.tensor([[0.5]]),
                    "up": torch.tensor([[2.0]]),
                    "down": torch.tensor([[-1.0]]),
                },
                {  # a gate that is 0
                    "inputs": torch.tensor([[0.0, 0.0], [1.0, 1.0]]),
                    "gate": torch.tensor([[1.0, 2.0], [-1.0, 1.0]]),
                    "up": torch.tensor([[1.0, 0.0], [3.0, 1.0]]),
                    "down": torch.tensor([[1.0, 2.0], [0.5, -1.0]]),
                },
            ),
            reference=swiglu,
            properties=(
                Property("a gate far below 0: the output is 0", 1, on(with_gates(-1), equals())),
                Property("a gate far above 0: a product of two linear maps", 1, on(with_gates(1), equals())),
                Property("SiLU of the gate, times up, led back", 2, both(equals(), inputs_unchanged)),
                Property("gradients reach the inputs and all three matrices", 1, gradients_equal()),
            ),
            mistakes=MISTAKES,
        ),
        Task(
            function="equal_width",
            parameters=("d_model", "d_hidden", "multiple"),
            returns="the width of SwiGLU, and how many weights it has more, shape (2,)",
            cases=draw_widths,
            examples=(
                {"d_model": 2, "d_hidden": 8, "multiple": 1},
                {"d_model": 2, "d_hidden": 8, "multiple": 4},
                {"d_model": 4096, "d_hidden": 16384, "multiple": 256},
            ),
            edges=(
                {"d_model": 1, "d_hidden": 1, "multiple": 1},  # one of everything
                {"d_model": 3, "d_hidden": 2, "multiple": 64},  # a multiple beyond the width
                {"d_model": 3, "d_hidden": 3, "multiple": 2},  # two thirds are the multiple itself
                {"d_model": 5, "d_hidden": 25, "multiple": 8},  # two thirds lie a little above a multiple
            ),
            reference=equal_width,
            properties=(
                Property("width for a multiple of 1", 1, on(by_ones, width_alone)),
                Property("width for other multiples", 1, width_alone),
                Property("width, where two thirds are a multiple", 1, on(exact, width_alone)),
                Property("how many weights are more", 1, more_weights),
            ),
            mistakes=WIDTH_MISTAKES,
        ),
    ),
    hints=(
        "Which of the two hidden vectors passes through SiLU, and what happens to the product where that one is far "
        "below 0? How many weights does one hidden entry cost, with two matrices and with three?",
        "Make both hidden vectors with a matrix product each, SiLU of the first, the product entry by entry, then "
        "`down`. For the width: two thirds of `d_hidden`, divided by `multiple`, rounded up, times `multiple`.",
        "SiLU is `torch.nn.functional.silu`, or the number times `torch.sigmoid` of it. `math.ceil` rounds up; so does "
        "a minus before and after `//`, without fractions.",
    ),
)
