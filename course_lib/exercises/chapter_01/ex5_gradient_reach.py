"""01.5: how far back the gradient of the last state reaches in a recurrent network."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, inputs_unchanged
from course_lib.grading.exercise import Case, Exercise, Property, Task


def by_hand(slope=lambda hidden, before, sums: 1 - hidden**2, turn=lambda weight: weight.T):
    """Return the answer by the product of the Jacobians of the steps, right where nothing is replaced."""

    def answer(inputs, weight_ih, weight_hh):
        states, sums = [torch.zeros(len(weight_hh))], []
        for each in inputs:
            sums.append(weight_ih @ each + weight_hh @ states[-1])
            states.append(sums[-1].tanh())
        by_state, norms = torch.ones(len(weight_hh)), []
        for step in reversed(range(len(inputs))):
            by_sum = slope(states[step + 1], states[step], sums[step]) * by_state
            norms.append((weight_ih.T @ by_sum).norm())
            by_state = turn(weight_hh) @ by_sum
        return torch.stack(norms[::-1])

    return answer


gradient_reach = by_hand()


def draw_network(generator: torch.Generator) -> Case:
    """Draw a sequence and a network that neither saturates nor forgets at once."""
    length, d_input, d_hidden = sizes(generator, 6, 4, 4, least=2)
    return {
        "inputs": normal(generator, length, d_input),
        "weight_ih": normal(generator, d_hidden, d_input) / 2,
        "weight_hh": normal(generator, d_hidden, d_hidden) / 2,
    }


def last_is_direct(case: Case):
    """From the last input to the last state there is one step: the tanh and weight_ih, and no weight_hh."""
    reply = yield case
    return difference(case, reply.value[-1:], reply.expected[-1:], where="at the last step")


def without_inputs(case: Case) -> Case:
    """Inputs of zero and a weight_hh of half the identity: the state stays 0, the slope of tanh is 1, a step halves."""
    return case | {"inputs": torch.zeros_like(case["inputs"]), "weight_hh": torch.eye(len(case["weight_hh"])) / 2}


def halves(case: Case):
    """With inputs of zero the norm is halved at every step back."""
    reply = yield without_inputs(case)
    return difference(case, reply.value, reply.expected, after="all inputs made 0 and weight_hh half the identity")


MISTAKES = """
order turned round => the last input acts directly
- return gradient.norm(dim=1)
+ return gradient.norm(dim=1).flip(0)
this begins with the last step; entry t belongs to input t

by the states => the last input acts directly
- for each in leaf:
-     hidden = torch.tanh(weight_ih @ each + weight_hh @ hidden)
- (gradient,) = torch.autograd.grad(hidden.sum(), leaf)
+ states = []
+ for each in leaf:
+     hidden = torch.tanh(weight_ih @ each + weight_hh @ hidden)
+     states.append(hidden)
+ gradient = torch.stack(torch.autograd.grad(hidden.sum(), states))
this is the gradient with respect to the states; from a state to the input that it read there is one more step back,
through the tanh and weight_ih

by the sums inside the tanh => the last input acts directly
+ sums = []
+ for each in leaf:
+     sums.append(weight_ih @ each + weight_hh @ hidden)
+     hidden = torch.tanh(sums[-1])
+ gradient = torch.stack(torch.autograd.grad(hidden.sum(), sums))
this is the gradient with respect to what stands inside the tanh: weight_ih, transposed, is still missing

all states => inputs 0, weight_hh half the identity: the norm halves at every step
+ total = 0
+ for each in leaf:
+     hidden = torch.tanh(weight_ih @ each + weight_hh @ hidden)
+     total = total + hidden.sum()
+ (gradient,) = torch.autograd.grad(total, leaf)
this is the gradient of the sum of all states; take that of the last state alone

each state by its own input => inputs 0, weight_hh half the identity: the norm halves at every step
+ total = 0
+ for each in leaf:
+     hidden = torch.tanh(weight_ih @ each + weight_hh @ hidden.detach())
+     total = total + hidden.sum()
+ (gradient,) = torch.autograd.grad(total, leaf)
this is the gradient of h_t with respect to x_t at every step; take that of the last state with respect to every input

the whole Jacobian => the last input acts directly
- (gradient,) = torch.autograd.grad(hidden.sum(), leaf)
+ rows = [torch.autograd.grad(entry, leaf, retain_graph=True)[0] for entry in hidden]
+ gradient = torch.cat(rows, dim=1)
this is the norm of the whole Jacobian of the last state; take the gradient of one number, the sum of its
entries

mean of the last state => the last input acts directly
+ (gradient,) = torch.autograd.grad(hidden.mean(), leaf)
this is the gradient of the mean of the last state; take that of the sum of its entries

one step back => inputs 0, weight_hh half the identity: the norm halves at every step
- hidden = torch.tanh(weight_ih @ each + weight_hh @ hidden)
+ hidden = torch.tanh(weight_ih @ each + weight_hh @ hidden.detach())
this stops at the state before: it was detached, or taken for a constant, and all earlier inputs act through it

weight_hh left out => inputs 0, weight_hh half the identity: the norm halves at every step
= by_hand(turn=lambda weight: torch.eye(len(weight)))
this multiplies the slopes of the steps and leaves weight_hh out of the product

not transposed => the norm of the gradient with respect to every input
= by_hand(turn=lambda weight: weight)
going back, the gradient is multiplied by weight_hh transposed; this has weight_hh as it stands in the forward step

another network => the norm of the gradient with respect to every input
+ hidden = torch.tanh(weight_ih @ each + weight_hh.T @ hidden)
this runs the network with weight_hh transposed: the step is `weight_hh @ hidden`, or `hidden @ weight_hh.T`

both weights transposed => the last input acts directly
+ hidden = torch.tanh(each @ weight_ih + hidden @ weight_hh)
from the right the weights are transposed, `x @ weight_ih.T + hidden @ weight_hh.T`: without the .T it stops where the
widths differ, and where they agree it is another network

weight of the input transposed => the last input acts directly
+ hidden = torch.tanh(each @ weight_ih + weight_hh @ hidden)
from the right weight_ih is transposed, `x @ weight_ih.T`, or it stands on the left, `weight_ih @ x`: `x @ weight_ih`
stops where the widths differ

no slope => the norm of the gradient with respect to every input
= by_hand(slope=lambda hidden, before, sums: torch.ones_like(hidden))
this leaves out the slope of the tanh, 1 - h^2 at every step, as if the network were linear

slope at the sum => the norm of the gradient with respect to every input
= by_hand(slope=lambda hidden, before, sums: 1 - sums**2)
this takes 1 - a^2 of the sum inside the tanh for the slope; it is 1 - tanh(a)^2, one minus the square of the state

slope one step early => the last input acts directly
= by_hand(slope=lambda hidden, before, sums: 1 - before**2)
this takes the slope at the state before; the step from h_(t-1) to h_t has the slope 1 - h_t^2

summed => the last input acts directly
- return gradient.norm(dim=1)
+ return gradient.sum(dim=1)
this is the sum of the gradient's entries, where positive and negative ones cancel; the norm is the root of the sum of
their squares

size of the sum => the last input acts directly
+ return gradient.sum(dim=1).abs()
this is the absolute value of the sum of the entries, in which positive and negative ones cancel; the norm is the root
of the sum of their squares

sum of sizes => the last input acts directly
+ return gradient.abs().sum(dim=1)
this is the sum of the absolute entries; the norm is the root of the sum of their squares

squared => inputs 0, weight_hh half the identity: the norm halves at every step
+ return gradient.square().sum(dim=1)
this is the square of the norm: the root is missing

norm over the steps => the norm of the gradient with respect to every input
+ return gradient.norm(dim=0)
this is the norm over the steps (dim=0), one number for each entry of an input; take it over the entries, dim=1

norm of everything => the norm of the gradient with respect to every input
+ return gradient.norm()
this is one norm over all steps and entries; each step has its own: `norm(dim=1)`

no norm => the norm of the gradient with respect to every input
+ return gradient
these are the gradients, (n, d_input), before their norm is taken
"""

EXERCISE = Exercise(
    title="Gradient reach",
    difficulty=4,
    minutes=40,
    tasks=(
        Task(
            function="gradient_reach",
            parameters=("inputs", "weight_ih", "weight_hh"),
            returns="one norm for each step, shape (n,)",
            cases=draw_network,
            examples=tuple(
                {
                    "inputs": torch.tensor(inputs),
                    "weight_ih": torch.tensor([[1.0]]),
                    "weight_hh": torch.tensor([[0.5]]),
                }
                for inputs in ([[0.0], [0.0], [0.0]], [[0.5493], [0.2993]])
            ),
            edges=(
                {
                    "inputs": torch.tensor([[0.5]]),
                    "weight_ih": torch.tensor([[2.0]]),
                    "weight_hh": torch.tensor([[0.5]]),
                },  # one step
                {
                    "inputs": torch.tensor([[0.5, -1.0], [0.25, 1.0]]),
                    "weight_ih": torch.tensor([[2.0, 0.5]]),
                    "weight_hh": torch.tensor([[0.0]]),
                },  # the first input has exactly no influence; a state of one
                {
                    "inputs": torch.tensor([[0.5], [-0.25]]),
                    "weight_ih": torch.tensor([[1.0], [-0.5]]),
                    "weight_hh": torch.tensor([[0.5, -1.0], [0.0, 2.0]]),
                },  # one feature
                {
                    "inputs": torch.tensor([[0.5, -0.25], [0.25, 1.0]]),
                    "weight_ih": torch.tensor([[1.0, 0.5], [0.0, -0.5]]),
                    "weight_hh": torch.tensor([[0.5, -1.0], [0.0, 1.0]]),
                },  # both weights square, and neither is its transpose
            ),
            reference=gradient_reach,
            properties=(
                Property("the last input acts directly", 1, last_is_direct),
                Property("inputs 0, weight_hh half the identity: the norm halves at every step", 2, halves),
                Property("the norm of the gradient with respect to every input", 3, both(equals(), inputs_unchanged)),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Autograd can do all of it, once the inputs are a tensor that requires a gradient. Of which one number do you "
        "take the gradient?",
        "Make a copy of the inputs that requires a gradient, run the network over it one step at a time from a state "
        "of zeros, and ask for the gradient of the sum of the last state. Or go back by hand: at each step multiply "
        "by the slope 1 - h_t^2; weight_ih transposed times this is the gradient with respect to the input of that "
        "step, and its norm the answer; weight_hh transposed times this goes on to the step before.",
        "`copy = inputs.clone().requires_grad_()`, a loop over its rows with `hidden = torch.tanh(weight_ih @ ... + "
        "weight_hh @ ...)`, then `torch.autograd.grad(hidden.sum(), copy)`, a tuple of one; its norm over dim=1.",
    ),
)
