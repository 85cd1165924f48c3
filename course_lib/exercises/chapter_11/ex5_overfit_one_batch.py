"""11.5: the whole of training, on so little text that it has to succeed."""

import torch
from torch.nn.functional import cross_entropy

from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.grading.checks import difference, equals, inputs_unchanged, of_output
from course_lib.grading.exercise import Case, Exercise, Given, Property, Task
from course_lib.grading.problem import Problem

OWN_ROW = Given("the row of the token itself", "lambda inputs, weights: weights[inputs]")
MEAN_OF_ROWS = Given(
    "the mean of the rows so far",
    "lambda inputs, weights: weights[inputs].cumsum(1) / torch.arange(1, inputs.shape[1] + 1)[:, None]",
)
TIED_ROWS = Given("the row of the token times all rows", "lambda inputs, weights: weights[inputs] @ weights.T")

TOLERANCE = 1e-4
LEARNED = 0.1  # what the statement asks of a batch that can be learned by heart
# Four tokens round a circle, each with one successor, and twelve wide steps; put once, whatever the case.
BY_HEART: Case = {
    "model": OWN_ROW,
    "tokens": (torch.arange(3)[:, None] + torch.arange(6)) % 4,
    "weights": torch.linspace(-1, 1, 16).sin().reshape(4, 4),
    "rate": 30.0,
    "steps": 12,
}


def overfit_one_batch(model, tokens, weights, rate, steps):
    """Plain gradient descent on the mean loss of the next tokens."""
    losses = []
    for _ in range(steps):
        weights = weights.detach().clone().requires_grad_()
        loss = cross_entropy(model(tokens[:, :-1], weights).mT, tokens[:, 1:])
        (gradient,) = torch.autograd.grad(loss, weights)
        losses.append(loss.detach())
        weights = weights.detach() - rate * gradient
    return weights, torch.stack(losses)


def in_the_callers_weights(model, tokens, weights, rate, steps):
    """The caller's tensor moved."""
    after, losses = overfit_one_batch(model, tokens, weights, rate, steps)
    return weights.copy_(after), losses


def draw_batch(generator: torch.Generator) -> Case:
    """Draw a batch, a model, weights, and a few steps of moderate size."""
    batch, time, vocab_size = (least + size for least, size in zip((0, 1, 2), sizes(generator, 3, 4, 4), strict=True))
    if torch.rand((), generator=generator) < 0.3:  # where torch does not notice which axis is which
        vocab_size = time
    (steps,) = sizes(generator, 4, least=2)
    return {
        "model": (OWN_ROW, MEAN_OF_ROWS, TIED_ROWS)[int(torch.randint(3, (), generator=generator))],
        "tokens": torch.randint(vocab_size, (batch, time + 1), generator=generator),
        "weights": normal(generator, vocab_size, vocab_size),
        "rate": uniform(generator, 0.2, 0.7),
        "steps": steps,
    }


def first_loss(case: Case):
    """The first loss is right, however many follow."""
    reply = yield case
    return difference(case, reply.value[0], reply.expected[0], TOLERANCE, where="the first loss")


def learned(case: Case):
    """The last loss of the descent by heart is next to nothing."""
    losses = (yield BY_HEART).value
    if losses[-1] < LEARNED:  # so that nan fails
        return None
    where = "the last loss, where each token has one successor"
    return Problem("value", BY_HEART, where=where, got=losses[-1].item(), expected=f"less than {LEARNED}")


MISTAKES = """
targets not shifted => the first loss: that of the given weights
- inputs, targets = tokens[:, :-1], tokens[:, 1:]
+ inputs, targets = tokens[:, :-1], tokens[:, :-1]
the targets are the inputs: the loss falls to nothing all the same, for the model learns to copy, and has learned
nothing about what follows; the targets are `tokens[:, 1:]`

inputs and targets whole => the first loss: that of the given weights
+ inputs, targets = tokens, tokens
inputs and targets are both the whole of `tokens`: each position is to predict the token that it reads; the inputs
are `tokens[:, :-1]`, the targets `tokens[:, 1:]`

shifted the wrong way => the first loss: that of the given weights
+ inputs, targets = tokens[:, 1:], tokens[:, :-1]
this reads each token and predicts the one *before* it: the inputs are `tokens[:, :-1]`, the targets `tokens[:, 1:]`

rolled => the first loss: that of the given weights
+ inputs, targets = tokens, tokens.roll(-1, dims=1)
`roll` makes the first token of each row the target of its last, which nobody wrote; the last token has no target here
and is not read: `tokens[:, :-1]`

loss summed => the first loss: that of the given weights
- loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
+ loss = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
this loss is the sum over all positions; it is to be their mean, so that the step does not grow with the batch

last place only => the first loss: that of the given weights
+ loss = cross_entropy(logits[:, -1], targets[:, -1])
this is the loss of the last position of each row; every position has one

softmax twice => the first loss: that of the given weights
+ loss = cross_entropy(logits.softmax(dim=-1).flatten(0, 1), targets.flatten())
this takes the softmax twice: `cross_entropy` and `log_softmax` want logits, not probabilities

vocabulary last => the first loss: that of the given weights
+ loss = cross_entropy(logits, targets)
`cross_entropy` takes axis 1 for the vocabulary, and here axis 1 is time: exchange the axes, `logits.transpose(1, 2)`,
or flatten batch and time

reshaped for transposed => the first loss: that of the given weights
+ loss = cross_entropy(logits.reshape(logits.mT.shape), targets)
`cross_entropy` wants the vocabulary on axis 1, and `view` or `reshape` only cuts the numbers anew: exchange the axes,
`logits.transpose(1, 2)`, or flatten batch and time

gradients piled up => the weights after all steps
- weights = (weights - rate * gradient).detach().requires_grad_()
+ together = gradient if len(losses) == 1 else together + gradient
+ weights = (weights - rate * together).detach().requires_grad_()
each step adds its gradient to those of all steps before: `.backward()` *adds* to `.grad`; set it to None before the
next, or use `torch.autograd.grad`

uphill => the weights after all steps
+ weights = (weights + rate * gradient).detach().requires_grad_()
this climbs: the gradient points to where the loss grows, and is subtracted

no step => a batch that can be learned by heart is learned
+ new_weights = (weights - rate * gradient).detach().requires_grad_()
the weights are the same after every step: perhaps the step was taken on a copy, or the result of
`weights - rate * gradient` was given another name and the old ones were used again

every step from the first weights => a batch that can be learned by heart is learned
- for _ in range(steps):
+ first = weights
+ for _ in range(steps):
+     weights = first
each step begins again with the given weights, so that all losses are the same and one step is all that was taken;
go on from where the last one arrived

rate not used => the weights after all steps
- weights = (weights - rate * gradient).detach().requires_grad_()
+ weights = (weights - gradient).detach().requires_grad_()
`rate` was not used: the whole gradient was subtracted

divided by the rate => the weights after all steps
+ weights = (weights - gradient / rate).detach().requires_grad_()
this divides the gradient by the rate; it is multiplied

signs of the gradient => the weights after all steps
+ weights = (weights - rate * gradient.sign()).detach().requires_grad_()
this steps by the signs of the gradient, or by a gradient of norm 1; plain gradient descent takes it as it is

one step too few => the weights after all steps
- for _ in range(steps):
+ for _ in range(steps - 1):
there is one step less than `steps` says

one step too many => the weights after all steps
+ for _ in range(steps + 1):
there is one step more than `steps` says

the weights before the last step => the weights after all steps
- weights = (weights - rate * gradient).detach().requires_grad_()
+ if len(losses) < steps:
+     weights = (weights - rate * gradient).detach().requires_grad_()
these weights have not taken the last step

losses after the steps => one loss for each step, before it is taken
- losses.append(loss.detach())
- weights = (weights - rate * gradient).detach().requires_grad_()
+ weights = (weights - rate * gradient).detach().requires_grad_()
+ losses.append(cross_entropy(model(inputs, weights).flatten(0, 1), targets.flatten()).detach())
each loss is that of the weights *after* its step; the first is to be that of the given weights, which tells
whether the start is sound

in the caller's weights => inputs unchanged
= in_the_callers_weights
this moves the caller's own weights: begin with a copy of them, `weights.clone()`

one gradient for all steps => the weights after all steps
- weights, losses = weights.clone().requires_grad_(), []
- for _ in range(steps):
- logits = model(inputs, weights)
- loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
- (gradient,) = torch.autograd.grad(loss, weights)
- losses.append(loss.detach())
- weights = (weights - rate * gradient).detach().requires_grad_()
+ weights, losses = weights.clone().requires_grad_(), []
+ first = cross_entropy(model(inputs, weights).flatten(0, 1), targets.flatten())
+ (gradient,) = torch.autograd.grad(first, weights)
+ for _ in range(steps):
+     losses.append(cross_entropy(model(inputs, weights).flatten(0, 1), targets.flatten()).detach())
+     weights = (weights - rate * gradient).detach()
the gradient is computed once, before the loop, and used for every step; it belongs to the weights of that moment, so
compute it anew for each step

summed over the rows => the first loss: that of the given weights
- loss = cross_entropy(logits.flatten(0, 1), targets.flatten())
+ loss = cross_entropy(logits.mT, targets, reduction="none").mean(dim=1).sum()
this loss is averaged over the positions of each row and then summed over the rows; it is to be the mean over all
positions of all rows

summed over the positions => the first loss: that of the given weights
+ loss = cross_entropy(logits.mT, targets, reduction="none").sum(dim=1).mean()
this loss is summed over the positions of each row and then averaged over the rows; it is to be the mean over all
positions of all rows

stopped when it has learned => the weights after all steps
- losses.append(loss.detach())
+ losses.append(loss.detach())
+ if loss < 0.01:
+     losses += [torch.zeros(())] * (steps - len(losses))
+     break
this stops when the loss is small; make all `steps` steps, whatever the loss

the model not called => the first loss: that of the given weights
- logits = model(inputs, weights)
+ logits = weights[inputs]
this looks up the rows of the weights itself, as the model of the example does, and does not call `model`; any model may
be given: `model(inputs, weights)`
"""

EXERCISE = Exercise(
    title="Overfit one batch",
    difficulty=3,
    minutes=35,
    tasks=(
        Task(
            function="overfit_one_batch",
            parameters=("model", "tokens", "weights", "rate", "steps"),
            returns="the weights after the last step, in their shape, and one loss for each step, shape (steps,)",
            cases=draw_batch,
            examples=(
                {
                    "model": OWN_ROW,
                    "tokens": torch.tensor([[0, 1, 1]]),
                    "weights": torch.zeros(2, 2),
                    "rate": 2.0,
                    "steps": 2,
                },
            ),
            edges=(
                {  # one step, one position
                    "model": OWN_ROW,
                    "tokens": torch.tensor([[1, 0]]),
                    "weights": torch.tensor([[0.0, 1.0], [2.0, -1.0]]),
                    "rate": 0.5,
                    "steps": 1,
                },
                {  # one position, two rows that want different things of one token
                    "model": TIED_ROWS,
                    "tokens": torch.tensor([[1, 0], [1, 2]]),
                    "weights": torch.tensor([[0.0, 1.0, 0.5], [0.5, -1.0, 0.0], [1.0, 0.0, -0.5]]),
                    "rate": 0.5,
                    "steps": 3,
                },
                {  # a single token costs nothing
                    "model": OWN_ROW,
                    "tokens": torch.tensor([[0, 0, 0]]),
                    "weights": torch.tensor([[0.5]]),
                    "rate": 1.0,
                    "steps": 2,
                },
                {  # the loss is next to nothing at the start, and every step is made all the same
                    "model": OWN_ROW,
                    "tokens": torch.tensor([[0, 1, 0]]),
                    "weights": torch.tensor([[0.0, 6.0], [6.0, 0.0]]),
                    "rate": 100.0,
                    "steps": 3,
                },
            ),
            reference=overfit_one_batch,
            properties=(
                Property("the first loss: that of the given weights", 1, of_output(1, first_loss)),
                Property("the weights after all steps", 2, of_output(0, equals(TOLERANCE))),
                Property("one loss for each step, before it is taken", 1, of_output(1, equals(TOLERANCE))),
                Property("a batch that can be learned by heart is learned", 1, of_output(1, learned)),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
            outputs=("weights", "losses"),
        ),
    ),
    hints=(
        "What does the model read, and what is the target at each position? What has to be fresh at every step, and "
        "what must not be?",
        "Cut the tokens once, before the loop. In each round: logits, mean loss, gradient with respect to the "
        "weights; note the loss; the new weights are the old ones less the rate times the gradient, cut out of the "
        "graph and told to keep track anew.",
        "Begin with `weights.clone().requires_grad_()`; `torch.autograd.grad(loss, weights)` gives a tuple with one "
        "gradient, and nothing that would have to be reset. `.detach().requires_grad_()` after the subtraction starts "
        "a new graph. `torch.stack` makes one tensor of the losses.",
    ),
)
