"""Exercise 08.4, remove the residual: the gradients that arrive at the layers of a stack, with the sum and without."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import Judge, equals, on

HALF = Given("a half of each number", "lambda inputs: inputs / 2")
BENT = Given("the tanh of half the running sum", "lambda inputs: (inputs.cumsum(-1) / 2).tanh()")
MIXED = Given("the sine of what differs from the mean over time", "lambda inputs: (inputs - inputs.mean(0)).sin() / 2")
SILENT = Given("0 times its inputs", "lambda inputs: 0 * inputs")

Hidden = list[torch.Tensor]


def stack(layer, inputs, depth, residual) -> Hidden:
    """The inputs of every layer, and last the output."""
    hidden = [inputs.detach().clone().requires_grad_()]
    for _ in range(depth):
        added = layer(hidden[-1])
        hidden.append(hidden[-1] + added if residual else added)
    return hidden


def gradients(hidden: Hidden, wanted: Hidden) -> Hidden:
    """Of the sum of what is last."""
    return list(torch.autograd.grad(hidden[-1].sum(), wanted))


def gradient_norms(layer, inputs, depth, residual):
    """The norm of the gradient at the input of every layer."""
    hidden = stack(layer, inputs, depth, residual)
    return torch.stack([each.norm() for each in gradients(hidden, hidden[:-1])])


def draw_stack(generator: torch.Generator) -> Case:
    """Draw inputs, a layer, a depth, and whether there is a residual."""
    time, d_model, depth = sizes(generator, 4, 4, 6, least=2)
    layer = (HALF, BENT, MIXED)[int(torch.randint(3, (), generator=generator))]
    residual = bool(torch.rand((), generator=generator) < 0.5)
    return {"layer": layer, "inputs": normal(generator, time, d_model), "depth": depth, "residual": residual}


def asked(residual: bool, **change) -> Judge:
    """The norms are right with the residual, or without, and with what else `change` says."""
    change = change | {"residual": residual}
    return on(
        lambda case: case if all(case[name] == each for name, each in change.items()) else case | change,
        equals(gradient_norms, tolerance=1e-4),
    )


def silent_both_ways(call, case: Case) -> str | None:
    """Of a layer that adds nothing."""
    return asked(True, layer=SILENT)(call, case) or asked(False, layer=SILENT)(call, case)


def measured(measure: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the right gradients, each of them measured otherwise."""

    def answer(layer, inputs, depth, residual):
        hidden = stack(layer, inputs, depth, residual)
        return torch.stack([measure(each) for each in gradients(hidden, hidden[:-1])])

    return answer


def rewired(wire: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the norms of a stack in which the next input is `wire(layer, first, last, residual)`."""

    def answer(layer, inputs, depth, residual):
        hidden = [inputs.detach().clone().requires_grad_()]
        for _ in range(depth):
            hidden.append(wire(layer, hidden[0], hidden[-1], residual))
        return torch.stack([each.norm() for each in gradients(hidden, hidden[:-1])])

    return answer


def each_layer_alone(layer, inputs, depth, residual):
    """The graph cut between the layers."""
    norms, here = [], inputs
    for _ in range(depth):
        here = here.detach().clone().requires_grad_()
        after = here + layer(here) if residual else layer(here)
        norms.append(torch.autograd.grad(after.sum(), here)[0].norm())
        here = after
    return torch.stack(norms)


def around_the_whole_stack(layer, inputs, depth, residual):
    """One sum, from the first inputs to the output."""
    hidden = stack(layer, inputs, depth, False)
    if residual:
        hidden.append(hidden[0] + hidden[-1])
        return torch.stack([each.norm() for each in gradients(hidden, hidden[:-2])])
    return torch.stack([each.norm() for each in gradients(hidden, hidden[:-1])])


def of_outputs(layer, inputs, depth, residual):
    """One place further."""
    hidden = stack(layer, inputs, depth, residual)
    return torch.stack([each.norm() for each in gradients(hidden, hidden[1:])])


def of_inputs_and_output(layer, inputs, depth, residual):
    """One more."""
    hidden = stack(layer, inputs, depth, residual)
    return torch.stack([each.norm() for each in gradients(hidden, hidden)])


def piled_up(layer, inputs, depth, residual):
    """Backward once for each norm, into gradients that are never cleared."""
    return gradient_norms(layer, inputs, depth, residual) * torch.arange(1, depth + 1)


def sizes_of_the_vectors(layer, inputs, depth, residual):
    """Going forward."""
    return torch.stack([each.norm().detach() for each in stack(layer, inputs, depth, residual)[:-1]])


WHOLE = "layers that add nothing: with the residual every gradient arrives whole, without it none arrives"
WITHOUT = "the gradients without the residual"
WITH = "the gradients with the residual"

RESIDUAL = Exercise(
    id="08.4",
    title="Remove the residual",
    difficulty=3,
    minutes=30,
    tasks=(
        Task(
            function="gradient_norms",
            parameters=("layer", "inputs", "depth", "residual"),
            returns="one norm for each layer, that of the gradient at its input, the lowest first, shape (depth,)",
            cases=draw_stack,
            examples=tuple(
                {"layer": HALF, "inputs": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "depth": 3, "residual": residual}
                for residual in (False, True)
            ),
            reference=gradient_norms,
            properties=(
                Property(WHOLE, 1, silent_both_ways),
                Property(WITHOUT, 2, asked(False)),
                Property(WITH, 3, asked(True)),
            ),
            misconceptions=(
                Misconception(
                    "never a residual",
                    "`residual` was not heeded: there is no sum, in either case",
                    lambda residual, **named: gradient_norms(residual=False, **named),
                    breaks=WITH,
                ),
                Misconception(
                    "always a residual",
                    "`residual` was not heeded: the inputs are added in either case",
                    lambda residual, **named: gradient_norms(residual=True, **named),
                    breaks=WITHOUT,
                ),
                Misconception(
                    "with and without exchanged",
                    "this adds the inputs where `residual` is False, and does not where it is True",
                    lambda residual, **named: gradient_norms(residual=not residual, **named),
                    breaks=WITHOUT,
                ),
                Misconception(
                    "the first inputs at every layer",
                    "every layer adds the inputs of the *stack*; a residual adds what this very layer was given",
                    rewired(
                        lambda layer, first, last, residual: first + layer(last) if residual else layer(last),
                    ),
                    breaks=WITH,
                ),
                Misconception(
                    "one residual around the stack",
                    "one sum spans the whole stack; with the residual there is one around *every* layer",
                    around_the_whole_stack,
                    breaks=WITH,
                ),
                Misconception(
                    "a road cut out of the graph",
                    "what is added was cut out of the graph (`.detach()`, `.data`): the numbers go up the road and no "
                    "gradient comes down it",
                    rewired(
                        lambda layer, first, last, residual: last.detach() + layer(last) if residual else layer(last),
                    ),
                    breaks=WITH,
                ),
                Misconception(
                    "each layer alone",
                    "the graph was cut between the layers (`.detach()` in the loop), or the gradient is that of each "
                    "layer's own output; asked is the gradient of the sum of the *last* output, at each layer's input",
                    each_layer_alone,
                    breaks=WITHOUT,
                ),
                Misconception(
                    "from the top down",
                    "the order is turned round: the lowest layer comes first, the one that reads the inputs",
                    lambda **named: gradient_norms(**named).flip(0),
                    breaks=WITHOUT,
                ),
                Misconception(
                    "at the outputs",
                    "these are the gradients at the *outputs* of the layers: the one at the inputs of the stack is "
                    "missing, and the last is that of the sum itself",
                    of_outputs,
                    breaks=WITHOUT,
                ),
                Misconception(
                    "one too many",
                    "this has one norm more than there are layers: the output of the last layer is no layer's input",
                    of_inputs_and_output,
                    breaks=WITHOUT,
                ),
                Misconception(
                    "one layer too few",
                    "one layer is missing: there are `depth` of them, and as many norms",
                    lambda depth, **named: gradient_norms(depth=depth - 1, **named),
                    breaks=WITHOUT,
                ),
                Misconception(
                    "one layer too many",
                    "the stack has one layer more than `depth` says",
                    lambda depth, **named: gradient_norms(depth=depth + 1, **named)[:-1],
                    breaks=WITHOUT,
                ),
                Misconception(
                    "gradients piled up",
                    "the second norm is twice what it should be, the third three times: every call of `.backward()` "
                    "*adds* to `.grad`; call it once, or use `torch.autograd.grad`",
                    piled_up,
                    breaks=WITHOUT,
                ),
                Misconception(
                    "the mean of the output",
                    "this is the gradient of the *mean* of the output; asked is that of the sum",
                    lambda inputs, **named: gradient_norms(inputs=inputs, **named) / inputs.numel(),
                    breaks=WITHOUT,
                ),
                *(
                    Misconception(name, said, measured(measure), breaks=WITHOUT)
                    for name, said, measure in (
                        (
                            "the norm squared",
                            "this is the sum of the squares; the norm is its root",
                            lambda each: each.square().sum(),
                        ),
                        (
                            "entries summed",
                            "this sums the entries of the gradient, in which those above and below zero cancel; the "
                            "norm is the root of the sum of their squares",
                            torch.sum,
                        ),
                        (
                            "absolute entries summed",
                            "this sums the absolute entries; the norm is the root of the sum of the squares",
                            lambda each: each.abs().sum(),
                        ),
                        (
                            "absolute entries averaged",
                            "this averages the absolute entries; the norm is the root of the sum of the squares",
                            lambda each: each.abs().mean(),
                        ),
                        (
                            "the largest entry",
                            "this is the largest absolute entry; the norm is the root of the sum of the squares of all",
                            lambda each: each.abs().max(),
                        ),
                        (
                            "the mean square",
                            "this averages the squares before the root; the norm takes their sum",
                            lambda each: each.square().mean().sqrt(),
                        ),
                        (
                            "one norm for each position, averaged",
                            "this takes a norm for each position and averages them; here one norm is asked for, of all "
                            "entries of the gradient",
                            lambda each: each.norm(dim=-1).mean(),
                        ),
                        (
                            "one norm for each position",
                            "this keeps a norm for each position, (depth, time); one is asked for, of all entries of "
                            "the gradient",
                            lambda each: each.norm(dim=-1),
                        ),
                    )
                ),
                Misconception(
                    "vectors for gradients",
                    "these are the norms of what goes forward, the inputs of the layers; asked are those of what comes "
                    "back, the gradients",
                    sizes_of_the_vectors,
                    breaks=WHOLE,
                ),
            ),
        ),
    ),
    hints=(
        "How many tensors do you need a gradient for, and where in the loop do they come by? Without the residual, by "
        "what is a gradient multiplied at each layer on its way down, and with it?",
        "Begin with a list that holds the inputs, told to keep track of gradients. In each round apply the layer to "
        "the last entry, add that entry where there is a residual, and append the result. The last entry is the "
        "output; the gradient of its sum is wanted at all others.",
        "Begin the list `hidden` with a clone of the inputs that has had its `requires_grad_()`; after the loop, "
        "`torch.autograd.grad(hidden[-1].sum(), hidden[:-1])` gives a tuple of gradients in the order of the list. "
        "`torch.stack` makes one tensor of their norms.",
    ),
)
