"""Exercise 09.2, shift right and the loss at every step: the second part is what the steps cost."""

from collections.abc import Callable

import torch
from torch.nn.functional import one_hot

from course_lib.grading.declarations.chapter_09_shift import SHIFT_RIGHT
from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, gradients_equal, inputs_unchanged, not_moved_by, of_output, on

# Whatever of torch's own computes a cross-entropy: what is left of it when the dispatcher sees it.
CROSS_ENTROPY = {
    "aten::nll_loss_forward": "torch's cross_entropy or nll_loss",
    "aten::nll_loss2d_forward": "torch's cross_entropy or nll_loss",
}


def of_the_right_word(values, targets):
    """The entry of each target, shape (batch, time)."""
    return values.gather(-1, targets[..., None])[..., 0]


def losses_of_steps(scores, targets):
    """Minus the log-probability of each target."""
    return -of_the_right_word(scores.log_softmax(-1), targets)


def averaged(losses, counts):
    """The mean over what counts, and the losses with zeros where nothing counts."""
    losses = losses.masked_fill(~counts, 0.0)
    return losses.sum() / counts.sum(), losses


def loss_at_every_step(scores, targets, counts):
    """The mean over the steps that count, and the loss of each."""
    return averaged(losses_of_steps(scores, targets), counts)


def by_losses(losses: Callable) -> Callable:
    """Return the answer whose losses, before padding is left out, are losses(scores, targets)."""
    return lambda scores, targets, counts: averaged(losses(scores, targets), counts)


def by_mean(mean: Callable) -> Callable:
    """Return the answer whose losses are right and whose mean is mean(losses, counts)."""

    def answer(scores, targets, counts):
        losses = loss_at_every_step(scores, targets, counts)[1]
        return mean(losses, counts), losses

    return answer


def draw_scores(generator: torch.Generator) -> Case:
    """Draw scores of words at every step, the words that were due, and which steps count: as a rule not all."""
    batch, time, vocabulary = (least + size for least, size in zip((0, 1, 1), sizes(generator, 3, 3, 4), strict=True))
    lengths = torch.randint(1, time + 1, (batch,), generator=generator)
    lengths[-1] = time
    lengths[0] = torch.randint(1, time, (), generator=generator)  # so that lengths differ
    return {
        "scores": 2 * normal(generator, batch, time, vocabulary),
        "targets": torch.randint(vocabulary, (batch, time), generator=generator),
        "counts": torch.arange(time) < lengths[:, None],
    }


def other_padding(case: Case) -> Case:
    """Put other scores and other words where nothing counts."""
    counts, vocabulary = case["counts"], case["scores"].shape[2]
    return case | {
        "scores": torch.where(counts[..., None], case["scores"], 9 - case["scores"]),
        "targets": torch.where(counts, case["targets"], (case["targets"] + 1) % vocabulary),
    }


def one_far_above(case: Case) -> Case:
    """Raise the score of a wrong word by 1,000 at every step."""
    vocabulary = case["scores"].shape[2]
    return case | {"scores": case["scores"] + 1000 * one_hot((case["targets"] + 1) % vocabulary, vocabulary)}


def mean_of_means(losses, counts):
    """Every sentence with the same weight."""
    return (losses.sum(1) / counts.sum(1)).mean()


NOT_PADDING = "scores and words at padding have exactly no influence"
LOSSES = "the loss of every step, zero where it does not count"
MEAN = "the mean over the steps that count"
FAR_APART = "scores a thousand apart: the loss is finite and right"
GRADIENTS = "every step that counts adds its gradient"

LOSS = Task(
    function="loss_at_every_step",
    parameters=("scores", "targets", "counts"),
    returns="the mean over the steps that count, a tensor without axes, and the loss of each, shape (batch, time)",
    outputs=("mean", "losses"),
    cases=draw_scores,
    examples=(
        {
            "scores": torch.tensor([[[0.0, 0.0], [0.0, 1.0986]], [[1.0986, 0.0], [5.0, 2.0]]]),
            "targets": torch.tensor([[0, 1], [1, 0]]),
            "counts": torch.tensor([[True, True], [True, False]]),
        },
    ),
    reference=loss_at_every_step,
    properties=(
        Property(
            NOT_PADDING,
            1,
            of_output(
                0,
                not_moved_by(
                    other_padding, "other scores and words at padding", loss_at_every_step, torch.Tensor.clone
                ),
            ),
        ),
        Property(LOSSES, 2, both(of_output(1, equals(loss_at_every_step)), inputs_unchanged)),
        Property(MEAN, 1, of_output(0, equals(loss_at_every_step))),
        Property(FAR_APART, 1, on(one_far_above, of_output(1, equals(loss_at_every_step)))),
        Property(GRADIENTS, 1, gradients_equal(loss_at_every_step), only_when_right=True),
    ),
    misconceptions=(
        Misconception(
            "mean over all steps",
            "the losses are right, but their sum is divided by batch times time: padding has no loss and still makes "
            "the mean smaller; divide by the number of steps that count",
            by_mean(lambda losses, counts: losses.mean()),
            breaks=MEAN,
        ),
        Misconception(
            "mean of the sentences' means",
            "this takes the mean of each sentence and then the mean of these: a word of a short sentence weighs more "
            "than one of a long sentence; one sum over all, divided by one count",
            by_mean(mean_of_means),
            breaks=MEAN,
        ),
        Misconception(
            "a mean for each sentence",
            "this is one mean for each sentence; asked for is one number for the batch",
            by_mean(lambda losses, counts: losses.sum(1) / counts.sum(1)),
            breaks=MEAN,
        ),
        Misconception(
            "sum",
            "this is the sum over the steps that count; it is still to be divided by how many there are",
            by_mean(lambda losses, counts: losses.sum()),
            breaks=MEAN,
        ),
        Misconception(
            "divided by the sentences",
            "this divides the sum by the number of sentences; divide by the number of steps that count",
            by_mean(lambda losses, counts: losses.sum() / len(losses)),
            breaks=MEAN,
        ),
        Misconception(
            "losses first",
            "this returns (losses, mean); the mean comes first",
            lambda **named: loss_at_every_step(**named)[::-1],
            breaks=MEAN,
        ),
        Misconception(
            "padding not left out",
            "every step counts here, padding too: `counts` was not used",
            lambda scores, targets, counts: averaged(losses_of_steps(scores, targets), torch.ones_like(counts)),
            breaks=NOT_PADDING,
        ),
        Misconception(
            "padding left in the losses",
            "the mean is right, but the losses still hold those of padding; they are to be 0 there",
            lambda scores, targets, counts: (
                loss_at_every_step(scores, targets, counts)[0],
                losses_of_steps(scores, targets),
            ),
            breaks=LOSSES,
        ),
        Misconception(
            "padding alone",
            "this counts the steps that do not: `counts` is True where a step counts",
            lambda scores, targets, counts: averaged(losses_of_steps(scores, targets), ~counts),
            breaks=NOT_PADDING,
        ),
        Misconception(
            "scores set to zero",
            "this multiplies the scores by `counts`: scores of zero are equal chances for all words, with a loss of "
            "the logarithm of the vocabulary; multiply the losses",
            lambda scores, targets, counts: averaged(
                losses_of_steps(scores * counts[..., None], targets), torch.ones_like(counts)
            ),
            breaks=LOSSES,
        ),
        Misconception(
            "only the losses that count, in a row",
            "these are the losses that count, in one row (`losses[counts]`); the shape (batch, time) was asked for, "
            "with zeros where nothing counts",
            lambda scores, targets, counts: (
                loss_at_every_step(scores, targets, counts)[0],
                losses_of_steps(scores, targets)[counts],
            ),
            breaks=LOSSES,
        ),
        Misconception(
            "softmax, then its logarithm",
            "this takes the softmax and then its logarithm, and a probability that is rounded to 0 has the logarithm "
            "minus infinity; or it takes exp of scores as large as 1,000; `log_softmax` and `logsumexp` do neither",
            by_losses(lambda scores, targets: -of_the_right_word(scores.softmax(-1), targets).log()),
            breaks=FAR_APART,
        ),
        Misconception(
            "a small number added",
            "this adds a small number to the probability before the logarithm: the loss can then grow no further than "
            "minus its logarithm, and the gradient is gone; `log_softmax` needs no guard",
            by_losses(lambda scores, targets: -(of_the_right_word(scores.softmax(-1), targets) + 1e-9).log()),
            breaks=FAR_APART,
        ),
        Misconception(
            "no logarithm",
            "this is minus the probability of the right word: its logarithm is missing",
            by_losses(lambda scores, targets: -of_the_right_word(scores.softmax(-1), targets)),
            breaks=LOSSES,
        ),
        Misconception(
            "what is left of one",
            "this is one less the probability of the right word; the loss is minus its logarithm",
            by_losses(lambda scores, targets: 1 - of_the_right_word(scores.softmax(-1), targets)),
            breaks=LOSSES,
        ),
        Misconception(
            "no softmax",
            "this is minus the score of the right word: without log_softmax a model can lower it by raising all scores",
            by_losses(lambda scores, targets: -of_the_right_word(scores, targets)),
            breaks=LOSSES,
        ),
        Misconception(
            "softmax twice",
            "this takes the softmax twice: `log_softmax` wants scores, not probabilities",
            by_losses(lambda scores, targets: losses_of_steps(scores.softmax(-1), targets)),
            breaks=LOSSES,
        ),
        Misconception(
            "softmax over the steps",
            "this is a softmax over the steps (dim=1): the words of one step compete, along the last axis",
            by_losses(lambda scores, targets: -of_the_right_word(scores.log_softmax(1), targets)),
            breaks=LOSSES,
        ),
        Misconception(
            "sign turned",
            "this is the logarithm of the probability, which is to grow; a loss is to shrink: the minus is missing",
            by_losses(lambda scores, targets: -losses_of_steps(scores, targets)),
            breaks=LOSSES,
        ),
        Misconception(
            "bits",
            "this takes the logarithm to base 2; the natural one was asked for",
            by_losses(lambda scores, targets: losses_of_steps(scores, targets) / 0.6931471805599453),
            breaks=LOSSES,
        ),
        Misconception(
            "detached",
            "the numbers are right and the gradient is lost: `.item()`, `.detach()` and `torch.tensor(...)` cut a "
            "result off from what it was made of",
            lambda **named: tuple(each.detach() for each in loss_at_every_step(**named)),
            breaks=GRADIENTS,
        ),
    ),
)

SHIFT_AND_LOSS = Exercise(
    id="09.2",
    title="Shift right, and the loss at every step",
    difficulty=2,
    minutes=30,
    forbidden=CROSS_ENTROPY,
    tasks=(SHIFT_RIGHT, LOSS),
    hints=(
        "Write the sentence twice, one line below the other: what is to be said, and what has been said by then. At "
        "which step is the end said, and what is read at the step after it? Which of the two lines decides whether a "
        "step has something to learn?",
        "Words: a column of `start` in front, the last column left out; what counts is asked of the targets. Loss: "
        "log_softmax over the vocabulary, minus the entry of the right word, zero where nothing counts; then one sum "
        "over everything, divided by one count.",
        "`torch.full_like(targets[:, :1], start)` is the column. `scores.log_softmax(dim=-1).gather(-1, ...)` picks by "
        "`targets[..., None]`, and leaves an axis of size 1; the divisor is `counts.sum()`.",
    ),
)
