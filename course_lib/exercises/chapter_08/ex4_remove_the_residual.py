"""08.4: the gradients that arrive at the layers of a stack, with the residual and without."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, on
from course_lib.grading.exercise import Case, Check, Exercise, Given, Property, Task

HALF = Given("a half of each number", "lambda inputs: inputs / 2")
BENT = Given("minus the tanh of half the running sum", "lambda inputs: -(inputs.cumsum(-1) / 2).tanh()")
MIXED = Given(
    "half the sine of the difference from the mean over time", "lambda inputs: (inputs - inputs.mean(0)).sin() / 2"
)
SILENT = Given("0 times its inputs", "lambda inputs: 0 * inputs")


def gradient_norms(layer, inputs, depth, residual):
    """The norm of the gradient at the input of every layer, of the sum of what is last."""
    hidden = [inputs.detach().clone().requires_grad_()]
    for _ in range(depth):
        added = layer(hidden[-1])
        hidden.append(hidden[-1] + added if residual else added)
    return torch.stack([each.norm() for each in torch.autograd.grad(hidden[-1].sum(), hidden[:-1])])


def draw_stack(generator: torch.Generator) -> Case:
    """Draw inputs, a layer, a depth, and whether there is a residual."""
    time, d_model, depth = sizes(generator, 4, 4, 6, least=2)
    layer = (HALF, BENT, MIXED)[int(torch.randint(3, (), generator=generator))]
    residual = bool(torch.rand((), generator=generator) < 0.5)
    return {"layer": layer, "inputs": normal(generator, time, d_model), "depth": depth, "residual": residual}


def asked(residual: bool, **change) -> Check:
    """The norms are right with the residual, or without, and with what else `change` says."""
    change = change | {"residual": residual}
    return on(
        lambda case: case if all(case[name] == each for name, each in change.items()) else case | change, equals(1e-4)
    )


MISTAKES = """
never a residual => the gradients with the residual
- hidden.append(hidden[-1] + added if residual else added)
+ hidden.append(added)
`residual` was not heeded: there is no sum, in either case

always a residual => the gradients without the residual
+ hidden.append(hidden[-1] + added)
`residual` was not heeded: the inputs are added in either case

with and without exchanged => the gradients without the residual
+ hidden.append(added if residual else hidden[-1] + added)
this adds the inputs where `residual` is False, and does not where it is True

the first inputs at every layer => the gradients with the residual
+ hidden.append(hidden[0] + added if residual else added)
every layer adds the inputs of the *stack*; a residual adds what this very layer was given

one residual around the stack => the gradients with the residual
+ hidden.append(hidden[0] + added if residual and len(hidden) == depth else added)
one sum spans the whole stack; with the residual there is one around *every* layer

the residual cut out of the graph => the gradients with the residual
+ hidden.append(hidden[-1].detach() + added if residual else added)
the layer's input was cut out of the graph (`.detach()`, `.data`) before the layer's output was added to it: the numbers
are right, and no gradient comes back along the residual connection

each layer alone => the gradients without the residual
- gradients = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
+ layers = zip(hidden[:-1], hidden[1:], strict=True)
+ gradients = [torch.autograd.grad(after.sum(), before, retain_graph=True)[0] for before, after in layers]
the graph was cut between the layers (`.detach()` in the loop), or the gradient is that of each layer's own output;
asked is the gradient of the sum of the *last* output, at each layer's input

from the top down => the gradients without the residual
- return torch.stack([gradient.norm() for gradient in gradients])
+ return torch.stack([gradient.norm() for gradient in gradients[::-1]])
the order is turned round: the lowest layer comes first, the one that reads the inputs

at the outputs => the gradients without the residual
- gradients = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
+ gradients = torch.autograd.grad(hidden[-1].sum(), hidden[1:])
these are the gradients at the *outputs* of the layers: the one at the inputs of the stack is missing, and the last is
that of the sum itself

one too many => the gradients without the residual
+ gradients = torch.autograd.grad(hidden[-1].sum(), hidden)
this has one norm more than there are layers: the output of the last layer is no layer's input

one layer too few => the gradients without the residual
- for _ in range(depth):
+ for _ in range(depth - 1):
one layer is missing: there are `depth` of them, and as many norms

one layer too many => the gradients without the residual
- gradients = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
+ added = layer(hidden[-1])
+ output = hidden[-1] + added if residual else added
+ gradients = torch.autograd.grad(output.sum(), hidden[:-1])
the stack has one layer more than `depth` says

gradients piled up => the gradients without the residual
- return torch.stack([gradient.norm() for gradient in gradients])
+ return torch.stack([number * gradient.norm() for number, gradient in enumerate(gradients, start=1)])
the second norm is twice what it should be, the third three times: every call of `.backward()` *adds* to `.grad`; call
it once, or use `torch.autograd.grad`

the mean of the output => the gradients without the residual
- gradients = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
+ gradients = torch.autograd.grad(hidden[-1].mean(), hidden[:-1])
this is the gradient of the *mean* of the output; asked is that of the sum

the norm squared => the gradients without the residual
- return torch.stack([gradient.norm() for gradient in gradients])
+ return torch.stack([gradient.square().sum() for gradient in gradients])
this is the sum of the squares; the norm is its root

entries summed => the gradients without the residual
+ return torch.stack([gradient.sum() for gradient in gradients])
this sums the entries of the gradient, in which those above and below zero cancel; the norm is the root of the sum of
their squares

absolute entries summed => the gradients without the residual
+ return torch.stack([gradient.abs().sum() for gradient in gradients])
this sums the absolute entries; the norm is the root of the sum of the squares

absolute entries averaged => the gradients without the residual
+ return torch.stack([gradient.abs().mean() for gradient in gradients])
this averages the absolute entries; the norm is the root of the sum of the squares

the largest entry => the gradients without the residual
+ return torch.stack([gradient.abs().max() for gradient in gradients])
this is the largest absolute entry; the norm is the root of the sum of the squares of all

the mean square => the gradients without the residual
+ return torch.stack([gradient.square().mean().sqrt() for gradient in gradients])
this averages the squares before the root; the norm takes their sum

one norm for each position, averaged => the gradients without the residual
+ return torch.stack([gradient.norm(dim=-1).mean() for gradient in gradients])
this takes a norm for each position and averages them; here one norm is asked for, of all entries of the gradient

one norm for each position => the gradients without the residual
+ return torch.stack([gradient.norm(dim=-1) for gradient in gradients])
this keeps a norm for each position, (depth, time); one is asked for, of all entries of the gradient

vectors for gradients => layers that add nothing: with the residual every gradient arrives whole, without it none
+ return torch.stack([each.detach().norm() for each in hidden[:-1]])
these are the norms of what goes forward, the inputs of the layers; asked are those of what comes back, the gradients

powers of one factor => the gradients without the residual
- gradients = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
- return torch.stack([gradient.norm() for gradient in gradients])
+ (gradient,) = torch.autograd.grad(hidden[1].sum(), hidden[:1])
+ one = inputs.numel() ** 0.5
+ return torch.stack([one * (gradient.norm() / one) ** (depth - layer) for layer in range(depth)])
this measures by how much one layer multiplies the gradient and takes powers of that; the derivative of a layer that is
not linear depends on what it reads, so send the gradient back through all of them

gradients of the layers multiplied => the gradients without the residual
- gradients = torch.autograd.grad(hidden[-1].sum(), hidden[:-1])
- return torch.stack([gradient.norm() for gradient in gradients])
+ layers = zip(hidden[:-1], hidden[1:], strict=True)
+ own = [torch.autograd.grad(after.sum(), before, retain_graph=True)[0] for before, after in layers]
+ return torch.stack([torch.stack(own[layer:]).prod(dim=0).norm() for layer in range(depth)])
this multiplies the gradients of each layer's own sum entry by entry; where an output depends on more than one input,
the gradient that comes from above has to pass through the layer: take it of the sum of the *last* output

the spectral norm => the gradients without the residual
- return torch.stack([gradient.norm() for gradient in gradients])
+ return torch.stack([torch.linalg.norm(gradient, 2) for gradient in gradients])
for a matrix, `torch.linalg.norm(gradient, 2)` is the largest singular value; asked is the root of the sum of all
squares, `gradient.norm()`
"""

EXERCISE = Exercise(
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
            edges=(
                # One layer: the answer keeps its axis.
                {"layer": BENT, "inputs": torch.tensor([[1.0, -2.0], [0.5, 3.0]]), "depth": 1, "residual": False},
                # One position, which is its own mean.
                {"layer": MIXED, "inputs": torch.tensor([[1.0, -2.0, 0.5]]), "depth": 2, "residual": True},
                # Each position gets something of the others.
                {
                    "layer": MIXED,
                    "inputs": torch.tensor([[1.0, -2.0], [0.5, 3.0], [2.0, 0.0]]),
                    "depth": 3,
                    "residual": False,
                },
                # One number.
                {"layer": BENT, "inputs": torch.tensor([[0.5]]), "depth": 3, "residual": True},
            ),
            reference=gradient_norms,
            properties=(
                Property(
                    "layers that add nothing: with the residual every gradient arrives whole, without it none",
                    1,
                    both(asked(True, layer=SILENT), asked(False, layer=SILENT)),
                ),
                Property("the gradients without the residual", 2, asked(False)),
                Property("the gradients with the residual", 3, asked(True)),
            ),
            mistakes=MISTAKES,
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
