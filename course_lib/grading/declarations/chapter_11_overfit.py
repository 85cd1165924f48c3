"""Exercise 11.5, overfit one batch: the whole of training, on so little text that it has to succeed."""

from collections.abc import Callable

import torch
from torch.nn.functional import cross_entropy

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import Judge, answer_like, difference, equals, inputs_unchanged, of_output
from course_lib.grading.wording import describe, describe_case, describe_kind

OWN_ROW = Given("the row of the token itself", "lambda inputs, weights: weights[inputs]")
MEAN_OF_ROWS = Given(
    "the mean of the rows so far",
    "lambda inputs, weights: weights[inputs].cumsum(1) / torch.arange(1, inputs.shape[1] + 1)[:, None]",
)
TIED_ROWS = Given("the row of the token times all rows", "lambda inputs, weights: weights[inputs] @ weights.T")

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Split = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
ROOM = 1e-4
LEARNED = 0.1  # what the statement asks of a batch that can be learned by heart


def shifted(tokens):
    """What is read, and what is due."""
    return tokens[:, :-1], tokens[:, 1:]


def mean_loss(scores, targets):
    """Over all places of the batch."""
    return cross_entropy(scores.mT, targets)


def plain_step(weights, gradient, rate, memory):
    """Down the slope; the memory is handed on as it came."""
    return weights - rate * gradient, memory


def descended(loss: Loss = mean_loss, split: Split = shifted, step=plain_step):
    """Return the descent with another loss, another choice of targets or another step."""

    def answer(model, tokens, weights, rate, steps):
        inputs, targets = split(tokens)
        losses, memory = [], torch.zeros_like(weights)
        for _ in range(steps):
            here = weights.detach().clone().requires_grad_()
            found = loss(model(inputs, here), targets)
            (gradient,) = torch.autograd.grad(found, here)
            weights, memory = step(here.detach(), gradient, rate, memory)
            losses.append(found.detach())
        return weights, torch.stack(losses)

    return answer


overfit_one_batch = descended()


def draw_batch(generator: torch.Generator) -> Case:
    """Draw a batch, a model, weights, and a few steps of moderate size."""
    batch, time, vocabulary = (least + size for least, size in zip((0, 1, 2), sizes(generator, 3, 4, 4), strict=True))
    if torch.rand((), generator=generator) < 0.3:  # where torch does not notice which axis is which
        vocabulary = time
    (steps,) = sizes(generator, 4, least=2)
    return {
        "model": (OWN_ROW, MEAN_OF_ROWS, TIED_ROWS)[int(torch.randint(3, (), generator=generator))],
        "tokens": torch.randint(vocabulary, (batch, time + 1), generator=generator),
        "weights": normal(generator, vocabulary, vocabulary),
        "rate": uniform(generator, 0.2, 0.7),
        "steps": steps,
    }


def first_loss(call: Call, case: Case) -> str | None:
    """The first loss is right, however many follow."""
    answer, expected = call(case)[1], call.expected(overfit_one_batch, case)[1]
    if answer.dim() != 1 or not len(answer):
        return f"{describe_case(case)}: came losses of {describe_kind(answer)}, expected {describe_kind(expected)}"
    found = difference(answer[0], expected[0], ROOM)
    return f"{describe_case(case)}: the first loss: {found}" if found else None


# Four tokens round a circle, each with one successor, and twelve wide steps; put once, whatever the case.
BY_HEART: Case = {
    "model": OWN_ROW,
    "tokens": (torch.arange(3)[:, None] + torch.arange(6)) % 4,
    "weights": torch.linspace(-1, 1, 16).sin().reshape(4, 4),
    "rate": 30.0,
    "steps": 12,
}


def learned(call: Call, case: Case) -> str | None:
    """The last loss of the descent by heart is next to nothing."""
    losses = answer_like(overfit_one_batch, _Losses(call), BY_HEART)[0]
    if losses[-1] < LEARNED:  # so that nan fails
        return None
    return (
        f"{describe_case(BY_HEART)}, each token with one successor: the last loss is {describe(losses[-1].item())}, "
        f"expected less than {LEARNED}"
    )


class _Losses:
    """A call seen through its losses."""

    def __init__(self, call: Call):
        self._call = call

    def __call__(self, case: Case) -> torch.Tensor:
        return self._call(case)[1]

    def expected(self, reference, case: Case) -> torch.Tensor:
        return self._call.expected(reference, case)[1]


def right(number: int) -> Judge:
    """The weights, 0, or the losses, 1, are those of the descent."""
    return of_output(number, equals(overfit_one_batch, ROOM))


# ---------------------------------------------------------------- what goes wrong


def piled_up(weights, gradient, rate, memory):
    """Every gradient added to those of all steps before."""
    memory = memory + gradient
    return weights - rate * memory, memory


def from_the_first_weights(model, tokens, weights, rate, steps):
    """Each step begins anew."""
    after, losses = overfit_one_batch(model, tokens, weights, rate, 1)
    return after, losses.expand(steps).clone()


def losses_after_the_steps(model, tokens, weights, rate, steps):
    """Each loss that of the weights after its step."""
    after, losses = overfit_one_batch(model, tokens, weights, rate, steps + 1)
    return overfit_one_batch(model, tokens, weights, rate, steps)[0], losses[1:]


def one_step_behind(model, tokens, weights, rate, steps):
    """The weights before the last step."""
    before = overfit_one_batch(model, tokens, weights, rate, steps - 1)[0] if steps > 1 else weights.clone()
    return before, overfit_one_batch(model, tokens, weights, rate, steps)[1]


def in_the_callers_weights(model, tokens, weights, rate, steps):
    """The caller's tensor moved."""
    after, losses = overfit_one_batch(model, tokens, weights, rate, steps)
    weights.copy_(after)
    return after, losses


def reshaped(scores, targets):
    """Cut anew for the loss."""
    batch, time, vocabulary = scores.shape
    return cross_entropy(scores.reshape(batch, vocabulary, time), targets)


FIRST, DESCENT, LOSSES, HEART, UNCHANGED = (
    "the first loss: that of the weights as they came",
    "the weights after all steps",
    "one loss for each step, before it is taken",
    "a batch that can be learned by heart is learned",
    "inputs unchanged",
)


def wrong(name: str, said: str, breaks: str, implementation=None, **change) -> Misconception:
    """Another descent."""
    return Misconception(name, said, implementation or descended(**change), breaks=breaks)


OVERFIT = Exercise(
    id="11.5",
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
            reference=overfit_one_batch,
            properties=(
                Property(FIRST, 1, first_loss),
                Property(DESCENT, 2, right(0)),
                Property(LOSSES, 1, right(1)),
                Property(HEART, 1, learned),
                Property(UNCHANGED, 1, inputs_unchanged, only_when_right=True),
            ),
            misconceptions=(
                wrong(
                    "targets not shifted",
                    "the targets are the inputs: the loss falls to nothing all the same, for the model learns to copy, "
                    "and has learned nothing about what follows; the targets are `tokens[:, 1:]`",
                    FIRST,
                    split=lambda tokens: (tokens[:, :-1], tokens[:, :-1]),
                ),
                wrong(
                    "inputs and targets whole",
                    "inputs and targets are both the whole of `tokens`: each place is to say the token that it reads; "
                    "the inputs are `tokens[:, :-1]`, the targets `tokens[:, 1:]`",
                    FIRST,
                    split=lambda tokens: (tokens, tokens),
                ),
                wrong(
                    "shifted the wrong way",
                    "this reads each token and is to say the one *before* it: the inputs are `tokens[:, :-1]`, the "
                    "targets `tokens[:, 1:]`",
                    FIRST,
                    split=lambda tokens: (tokens[:, 1:], tokens[:, :-1]),
                ),
                wrong(
                    "rolled",
                    "`roll` makes the first token of each row the target of its last, which nobody wrote; the last "
                    "token has no target here and is not read: `tokens[:, :-1]`",
                    FIRST,
                    split=lambda tokens: (tokens, tokens.roll(-1, 1)),
                ),
                wrong(
                    "loss summed",
                    "this loss is the sum over all places; it is to be their mean, so that the step does not grow with "
                    "the batch",
                    FIRST,
                    loss=lambda scores, targets: cross_entropy(scores.mT, targets, reduction="sum"),
                ),
                wrong(
                    "last place only",
                    "this is the loss of the last place of each row; every place has one",
                    FIRST,
                    loss=lambda scores, targets: cross_entropy(scores[:, -1], targets[:, -1]),
                ),
                wrong(
                    "softmax twice",
                    "this takes the softmax twice: `cross_entropy` and `log_softmax` want scores, not probabilities",
                    FIRST,
                    loss=lambda scores, targets: mean_loss(scores.softmax(-1), targets),
                ),
                wrong(
                    "vocabulary last",
                    "`cross_entropy` takes axis 1 for the vocabulary, and here axis 1 is time: exchange the axes, "
                    "`scores.transpose(1, 2)`, or flatten batch and time",
                    FIRST,
                    loss=cross_entropy,
                ),
                wrong(
                    "reshaped for transposed",
                    "`cross_entropy` wants the vocabulary on axis 1, and `view` or `reshape` only cuts the numbers "
                    "anew: exchange the axes, `scores.transpose(1, 2)`, or flatten batch and time",
                    FIRST,
                    loss=reshaped,
                ),
                wrong(
                    "gradients piled up",
                    "each step adds its gradient to those of all steps before: `.backward()` *adds* to `.grad`; set it "
                    "to None before the next, or use `torch.autograd.grad`",
                    DESCENT,
                    step=piled_up,
                ),
                wrong(
                    "uphill",
                    "this climbs: the gradient points to where the loss grows, and is subtracted",
                    DESCENT,
                    step=lambda weights, gradient, rate, memory: (weights + rate * gradient, memory),
                ),
                wrong(
                    "no step",
                    "the weights are the same after every step: perhaps the step was taken on a copy, or the result of "
                    "`weights - rate * gradient` was given another name and the old ones were used again",
                    HEART,
                    step=lambda weights, gradient, rate, memory: (weights, memory),
                ),
                wrong(
                    "every step from the first weights",
                    "each step begins again with the weights that came, so that all losses are the same and one step "
                    "is all that was taken; go on from where the last one arrived",
                    HEART,
                    from_the_first_weights,
                ),
                wrong(
                    "rate not used",
                    "`rate` was not used: the whole gradient was subtracted",
                    DESCENT,
                    step=lambda weights, gradient, rate, memory: (weights - gradient, memory),
                ),
                wrong(
                    "divided by the rate",
                    "this divides the gradient by the rate; it is multiplied",
                    DESCENT,
                    step=lambda weights, gradient, rate, memory: (weights - gradient / rate, memory),
                ),
                wrong(
                    "signs of the gradient",
                    "this steps by the signs of the gradient, or by a gradient of length 1; plain gradient descent "
                    "takes it as it is",
                    DESCENT,
                    step=lambda weights, gradient, rate, memory: (weights - rate * gradient.sign(), memory),
                ),
                wrong(
                    "one step too few",
                    "there is one step less than `steps` says",
                    DESCENT,
                    lambda steps, **named: overfit_one_batch(steps=max(steps - 1, 1), **named),
                ),
                wrong(
                    "one step too many",
                    "there is one step more than `steps` says",
                    DESCENT,
                    lambda steps, **named: overfit_one_batch(steps=steps + 1, **named),
                ),
                wrong(
                    "the weights before the last step",
                    "these weights have not taken the last step",
                    DESCENT,
                    one_step_behind,
                ),
                wrong(
                    "losses after the steps",
                    "each loss is that of the weights *after* its step; the first is to be that of the weights as they "
                    "came, which tells whether the start is sound",
                    LOSSES,
                    losses_after_the_steps,
                ),
                wrong(
                    "in the caller's weights",
                    "this moves the caller's own weights: begin with a copy of them, `weights.clone()`",
                    UNCHANGED,
                    in_the_callers_weights,
                ),
            ),
            outputs=("weights", "losses"),
        ),
    ),
    hints=(
        "What does the model read, and what is due at each place? What has to be fresh at every step, and what must "
        "not be?",
        "Cut the tokens once, before the loop. In each round: scores, mean loss, gradient by the weights; note the "
        "loss; the new weights are the old ones less the rate times the gradient, cut out of the graph and told to "
        "keep track anew.",
        "Begin with `weights.clone().requires_grad_()`; `torch.autograd.grad(loss, weights)` gives a tuple with one "
        "gradient, and nothing that would have to be reset. `.detach().requires_grad_()` after the subtraction starts "
        "a new graph. `torch.stack` makes one tensor of the losses.",
    ),
)
