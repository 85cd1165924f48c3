"""Exercise 09.5, label smoothing: targets that leave something to every word, and the loss against them."""

from collections.abc import Callable

import torch
from torch.nn.functional import one_hot

from course_lib.grading.declarations.chapter_09_loss import CROSS_ENTROPY, losses_of_steps, one_far_above
from course_lib.grading.declarations.drawing import normal, sizes, uniform
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, gradients_equal, inputs_unchanged, on, sums_to


def smoothed(targets, vocabulary, smoothing):
    """The right word's share, and the same small share for every word."""
    return (1 - smoothing) * one_hot(targets, vocabulary).float() + smoothing / vocabulary


def draw_targets(generator: torch.Generator) -> Case:
    """Draw words and how much is taken from the right one."""
    batch, time, vocabulary = sizes(generator, 3, 4, 4)
    vocabulary += 2
    return {
        "targets": torch.randint(vocabulary, (batch, time), generator=generator),
        "vocabulary": vocabulary,
        "smoothing": round(uniform(generator, 0.1, 0.4), 2),
    }


def draw_scores(generator: torch.Generator) -> Case:
    """Draw scores, words, and how much is taken from the right one."""
    case = draw_targets(generator)
    batch, time = case["targets"].shape
    return {
        "scores": 2 * normal(generator, batch, time, case["vocabulary"]),
        "targets": case["targets"],
        "smoothing": case["smoothing"],
    }


def unsmoothed(case: Case) -> Case:
    """Take nothing from the right word."""
    return case | {"smoothing": 0.0}


def by_shares(right: Callable[[int, float], float], other: Callable[[int, float], float]) -> Callable:
    """Return targets in which the right word has right(vocabulary, smoothing), any other other(...)."""

    def answer(targets, vocabulary, smoothing):
        chosen = one_hot(targets, vocabulary).float()
        return chosen * right(vocabulary, smoothing) + (1 - chosen) * other(vocabulary, smoothing)

    return answer


def smoothed_losses(scores, targets, smoothing):
    """Cross-entropy against the smoothed targets."""
    return -(smoothed(targets, scores.shape[-1], smoothing) * scores.log_softmax(-1)).sum(-1)


def against(make: Callable) -> Callable:
    """Return the loss against other targets, make(targets, vocabulary, smoothing)."""
    return lambda scores, targets, smoothing: (
        -(make(targets, scores.shape[-1], smoothing) * scores.log_softmax(-1)).sum(-1)
    )


def divergence(scores, targets, smoothing):
    """The loss less the entropy of the targets."""
    shares = smoothed(targets, scores.shape[-1], smoothing)
    return smoothed_losses(scores, targets, smoothing) + torch.special.xlogy(shares, shares).sum(-1)


def right_word_alone(scores, targets, smoothing):
    """The term of the right word, by its smaller share."""
    return losses_of_steps(scores, targets) * (1 - smoothing + smoothing / scores.shape[-1])


def average_over_words(scores):
    """Minus the mean log probability of all words."""
    return -scores.log_softmax(-1).mean(-1)


WITHOUT_ITS_SHARE = by_shares(
    lambda vocabulary, smoothing: 1 - smoothing, lambda vocabulary, smoothing: smoothing / vocabulary
)
OVER_THE_OTHERS = by_shares(
    lambda vocabulary, smoothing: 1 - smoothing, lambda vocabulary, smoothing: smoothing / (vocabulary - 1)
)
ADDED_ON_TOP = by_shares(
    lambda vocabulary, smoothing: 1 + smoothing / vocabulary, lambda vocabulary, smoothing: smoothing / vocabulary
)
WRONG_SIGN = by_shares(
    lambda vocabulary, smoothing: 1 + smoothing - smoothing / vocabulary,
    lambda vocabulary, smoothing: -smoothing / vocabulary,
)
EXCHANGED = by_shares(
    lambda vocabulary, smoothing: smoothing + (1 - smoothing) / vocabulary,
    lambda vocabulary, smoothing: (1 - smoothing) / vocabulary,
)
UNDIVIDED = by_shares(lambda vocabulary, smoothing: 1 - smoothing, lambda vocabulary, smoothing: smoothing)
NOT_SMOOTHED = by_shares(lambda vocabulary, smoothing: 1.0, lambda vocabulary, smoothing: 0.0)

# A name, what is said of it, and the targets; the same mistakes are made in both parts.
SHARES = (
    (
        "shared out among the others",
        "this shares the smoothing out among the V - 1 other words; here it is shared out among all V, the right one "
        "too, as torch does: smoothing / V for each",
        OVER_THE_OTHERS,
    ),
    (
        "the right word without its share",
        "the right word has 1 - smoothing and no part of what is shared out, so that the shares sum to less than one; "
        "it gets smoothing / V like every other word",
        WITHOUT_ITS_SHARE,
    ),
    (
        "added on top",
        "this adds smoothing / V to every word and takes nothing from the right one, so that the shares sum to more "
        "than one: multiply the ones by 1 - smoothing",
        ADDED_ON_TOP,
    ),
    (
        "wrong sign",
        "the sign is wrong: this takes from the other words and gives to the right one; smoothing takes from the "
        "right word and gives to all",
        WRONG_SIGN,
    ),
    (
        "exchanged",
        "`smoothing` and `1 - smoothing` were exchanged: the right word keeps 1 - smoothing",
        EXCHANGED,
    ),
    (
        "not divided",
        "every other word gets the whole of `smoothing`; it is to be divided by the number of words",
        UNDIVIDED,
    ),
    ("not smoothed", "these are zeros and a one: `smoothing` was not used", NOT_SMOOTHED),
)

SUM, SHARE, NOTHING = (
    "the shares sum to one",
    "the right word keeps most, every word gets a little",
    "smoothing 0 changes nothing",
)
LOSS_VALUES = "the loss counts every word by its share"
FAR_APART = "scores a thousand apart: the loss is finite and right"
GRADIENTS = "the gradient is that of all words"

LABEL_SMOOTHING = Exercise(
    id="09.5",
    title="Label smoothing",
    difficulty=2,
    minutes=25,
    forbidden=CROSS_ENTROPY,
    tasks=(
        Task(
            function="smooth_targets",
            parameters=("targets", "vocabulary", "smoothing"),
            returns="the share of each word at each step, shape (batch, time, vocabulary)",
            cases=draw_targets,
            examples=({"targets": torch.tensor([[2, 0]]), "vocabulary": 4, "smoothing": 0.2},),
            reference=smoothed,
            properties=(
                Property(SUM, 1, sums_to(1, smoothed)),
                Property(SHARE, 2, both(equals(smoothed), inputs_unchanged)),
                Property(NOTHING, 1, on(unsmoothed, equals(smoothed))),
            ),
            misconceptions=(
                *(
                    Misconception(
                        name,
                        sentence,
                        make,
                        breaks=SUM if make in (WITHOUT_ITS_SHARE, ADDED_ON_TOP) else SHARE,
                    )
                    for name, sentence, make in SHARES
                ),
                Misconception(
                    "half",
                    "this takes half as much as it should: the ones are multiplied by 1 - smoothing",
                    lambda targets, vocabulary, smoothing: smoothed(targets, vocabulary, smoothing / 2),
                    breaks=SHARE,
                ),
                Misconception(
                    "a softmax",
                    "this takes a softmax of the shares: they sum to one as they are",
                    lambda targets, vocabulary, smoothing: smoothed(targets, vocabulary, smoothing).softmax(-1),
                    breaks=NOTHING,
                ),
                Misconception(
                    "axes exchanged",
                    "this has the words before the steps, (batch, vocabulary, time); they come last",
                    lambda targets, vocabulary, smoothing: smoothed(targets, vocabulary, smoothing).mT,
                    breaks=SHARE,
                ),
                Misconception(
                    "integers",
                    "these are integers, in which no share between 0 and 1 survives: `.float()` before the product",
                    lambda targets, vocabulary, smoothing: smoothed(targets, vocabulary, smoothing).long(),
                    breaks=SHARE,
                ),
            ),
        ),
        Task(
            function="smoothed_losses",
            parameters=("scores", "targets", "smoothing"),
            returns="the loss of each step, shape (batch, time)",
            cases=draw_scores,
            examples=(
                {
                    "scores": torch.tensor([[[0.0, 1.0986], [0.0, 0.0]]]),
                    "targets": torch.tensor([[1, 0]]),
                    "smoothing": 0.5,
                },
            ),
            reference=smoothed_losses,
            properties=(
                Property(NOTHING, 1, on(unsmoothed, equals(smoothed_losses))),
                Property(LOSS_VALUES, 2, both(equals(smoothed_losses), inputs_unchanged)),
                Property(FAR_APART, 1, on(one_far_above, equals(smoothed_losses))),
                Property(GRADIENTS, 1, gradients_equal(smoothed_losses), only_when_right=True),
            ),
            misconceptions=(
                *(Misconception(name, sentence, against(make), breaks=LOSS_VALUES) for name, sentence, make in SHARES),
                Misconception(
                    "the right word alone",
                    "this counts the right word alone, by its smaller share; every word of the vocabulary counts by "
                    "its own",
                    right_word_alone,
                    breaks=LOSS_VALUES,
                ),
                Misconception(
                    "all words alike",
                    "this is minus the mean of all log probabilities: the right word has no more than the others",
                    lambda scores, targets, smoothing: average_over_words(scores),
                    breaks=NOTHING,
                ),
                Misconception(
                    "the mean over the words",
                    "this averages over the vocabulary where it should sum: the shares sum to one already",
                    lambda scores, targets, smoothing: smoothed_losses(scores, targets, smoothing) / scores.shape[-1],
                    breaks=NOTHING,
                ),
                Misconception(
                    "less the entropy",
                    "this is the divergence, the loss less the entropy of the targets (`kl_div`): its gradient is the "
                    "same, its value is not",
                    divergence,
                    breaks=LOSS_VALUES,
                ),
                Misconception(
                    "minus forgotten",
                    "this is what is to grow, a sum of shares times log probabilities; a loss is to shrink: the minus "
                    "is missing",
                    lambda **named: -smoothed_losses(**named),
                    breaks=NOTHING,
                ),
                Misconception(
                    "no softmax",
                    "this lays the shares on the scores as they are; log_softmax makes log probabilities of them",
                    lambda scores, targets, smoothing: (
                        -(smoothed(targets, scores.shape[-1], smoothing) * scores).sum(-1)
                    ),
                    breaks=NOTHING,
                ),
                Misconception(
                    "softmax, then its logarithm",
                    "this takes the softmax and then its logarithm, and a probability that is rounded to 0 has the "
                    "logarithm minus infinity; `log_softmax` never forms it",
                    lambda scores, targets, smoothing: (
                        -(smoothed(targets, scores.shape[-1], smoothing) * scores.softmax(-1).log()).sum(-1)
                    ),
                    breaks=FAR_APART,
                ),
                Misconception(
                    "scores smoothed",
                    "this smooths the probabilities that the model gives, not the targets: a wrong word would cost "
                    "next to nothing",
                    lambda scores, targets, smoothing: (
                        -(
                            ((1 - smoothing) * scores.softmax(-1) + smoothing / scores.shape[-1]).log()
                            * one_hot(targets, scores.shape[-1])
                        ).sum(-1)
                    ),
                    breaks=LOSS_VALUES,
                ),
                Misconception(
                    "detached",
                    "the numbers are right and the gradient is lost: `.item()`, `.detach()` and `torch.tensor(...)` "
                    "cut a result off from what it was made of",
                    lambda **named: smoothed_losses(**named).detach(),
                    breaks=GRADIENTS,
                ),
            ),
        ),
    ),
    hints=(
        "What is taken from the right word, and among how many words is it shared out? Is the right word among them?",
        "Targets: a one for the right word, times 1 - smoothing, and smoothing / V for every word. Loss: log_softmax "
        "over the vocabulary, times the shares, summed over the vocabulary, with a minus.",
        "`torch.nn.functional.one_hot(targets, vocabulary).float()` has the ones; the loss can call `smooth_targets` "
        "with `scores.shape[-1]`, and `log_softmax(dim=-1)` makes log probabilities.",
    ),
)
