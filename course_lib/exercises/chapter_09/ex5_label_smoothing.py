"""09.5: targets that leave something to every word, and the loss against them."""

import torch
from torch.nn.functional import one_hot

from course_lib.exercises.chapter_09.ex2_shift_and_loss import CROSS_ENTROPY, one_far_above
from course_lib.exercises.drawing import normal, sizes, uniform
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, on, sums_to
from course_lib.grading.exercise import Case, Exercise, Property, Task


def smooth_targets(targets, vocab_size, smoothing):
    """The probability of the right word, and the same small probability for every word."""
    return (1 - smoothing) * one_hot(targets, vocab_size).float() + smoothing / vocab_size


def smoothed_losses(logits, targets, smoothing):
    """Cross-entropy against the smoothed targets."""
    return -(smooth_targets(targets, logits.shape[-1], smoothing) * logits.log_softmax(-1)).sum(-1)


def draw_targets(generator: torch.Generator) -> Case:
    """Draw words and how much is taken from the right one."""
    batch, time, vocab_size = sizes(generator, 3, 4, 4)
    vocab_size += 2
    return {
        "targets": torch.randint(vocab_size, (batch, time), generator=generator),
        "vocab_size": vocab_size,
        "smoothing": round(uniform(generator, 0.1, 0.4), 2),
    }


def draw_logits(generator: torch.Generator) -> Case:
    """Draw logits, words, and how much is taken from the right one."""
    case = draw_targets(generator)
    logits = 2 * normal(generator, *case["targets"].shape, case["vocab_size"])
    return {"logits": logits, "targets": case["targets"], "smoothing": case["smoothing"]}


def unsmoothed(case: Case) -> Case:
    """Take nothing from the right word."""
    return case | {"smoothing": 0.0}


TARGET_MISTAKES = """
shared out among the others => the right word keeps most, every word gets a little
- return (1 - smoothing) * ones + smoothing / vocab_size
+ return (1 - smoothing) * ones + smoothing / (vocab_size - 1) * (1 - ones)
this distributes the smoothing over the V - 1 other words; here it is distributed over all V, the right one too, as
torch does: smoothing / V for each

the right word without its share => the probabilities sum to one
+ return (1 - smoothing) * ones + smoothing / vocab_size * (1 - ones)
the right word has 1 - smoothing and no part of what is distributed, so that the probabilities sum to less than one; it
gets smoothing / V like every other word

added on top => the probabilities sum to one
+ return ones + smoothing / vocab_size
this adds smoothing / V to every word and takes nothing from the right one, so that the probabilities sum to more than
one: multiply the ones by 1 - smoothing

wrong sign => the right word keeps most, every word gets a little
+ return (1 + smoothing) * ones - smoothing / vocab_size
the sign is wrong: this takes from the other words and gives to the right one; smoothing takes from the right word and
gives to all

exchanged => the right word keeps most, every word gets a little
+ return smoothing * ones + (1 - smoothing) / vocab_size
`smoothing` and `1 - smoothing` were exchanged: the right word keeps 1 - smoothing

not divided => the right word keeps most, every word gets a little
+ return (1 - smoothing) * ones + smoothing * (1 - ones)
every other word gets the whole of `smoothing`; it is to be divided by the number of words

not smoothed => the right word keeps most, every word gets a little
+ return ones.float()
these are zeros and a one: `smoothing` was not used

half => the right word keeps most, every word gets a little
+ return (1 - smoothing / 2) * ones + smoothing / 2 / vocab_size
this takes half as much as it should: the ones are multiplied by 1 - smoothing

a softmax => smoothing 0 changes nothing
+ return ((1 - smoothing) * ones + smoothing / vocab_size).softmax(dim=-1)
this takes a softmax of the probabilities: they sum to one as they are

axes exchanged => the right word keeps most, every word gets a little
+ return ((1 - smoothing) * ones + smoothing / vocab_size).mT
this has the words before the steps, (batch, vocabulary, time); they come last

integers => the right word keeps most, every word gets a little
+ return ((1 - smoothing) * ones + smoothing / vocab_size).long()
these are integers, in which no fraction between 0 and 1 survives: `.float()` before the product

as many words as the greatest target => the right word keeps most, every word gets a little
- ones = torch.nn.functional.one_hot(targets, vocab_size)
+ ones = torch.nn.functional.one_hot(targets)
the vocabulary has as many words here as the greatest target says; its size is `vocab_size`

shared out among the others, none of one word => the right word keeps most, every word gets a little
- return (1 - smoothing) * ones + smoothing / vocab_size
+ return (1 - smoothing) * ones + smoothing / max(vocab_size - 1, 1) * (1 - ones)
this distributes the smoothing over the V - 1 other words; here it is distributed over all V, the right one too, as
torch does: smoothing / V for each

always a tenth => the right word keeps most, every word gets a little
+ return 0.9 * ones + 0.1 / vocab_size
this always takes 0.1 from the right word, whatever `smoothing` says

added on top, then divided by the sum => the right word keeps most, every word gets a little
+ return (ones + smoothing / vocab_size) / (1 + smoothing)
this adds smoothing / V to every word and divides by the sum, so that too little is taken from the right word: multiply
the ones by 1 - smoothing before you add

not divided, the right word too => the right word keeps most, every word gets a little
+ return (1 - smoothing) * ones + smoothing
every word gets the whole of `smoothing`; it is to be divided by the number of words

nothing for word 0 => the right word keeps most, every word gets a little
+ return ((1 - smoothing) * ones + smoothing / vocab_size).masked_fill((targets == 0)[..., None], 0.0)
this takes the word 0 for padding and leaves its rows empty; here 0 is a word like any other
"""

LOSS_MISTAKES = """
shared out among the others => the loss weights every word by its target probability
- target_probs = smooth_targets(targets, logits.shape[-1], smoothing)
+ ones = torch.nn.functional.one_hot(targets, logits.shape[-1])
+ target_probs = (1 - smoothing) * ones + smoothing / (logits.shape[-1] - 1) * (1 - ones)
this distributes the smoothing over the V - 1 other words; here it is distributed over all V, the right one too, as
torch does: smoothing / V for each

the right word without its share => the loss weights every word by its target probability
+ ones = torch.nn.functional.one_hot(targets, logits.shape[-1])
+ target_probs = (1 - smoothing) * ones + smoothing / logits.shape[-1] * (1 - ones)
the right word has 1 - smoothing and no part of what is distributed, so that the probabilities sum to less than one; it
gets smoothing / V like every other word

added on top => the loss weights every word by its target probability
+ target_probs = torch.nn.functional.one_hot(targets, logits.shape[-1]) + smoothing / logits.shape[-1]
this adds smoothing / V to every word and takes nothing from the right one, so that the probabilities sum to more than
one: multiply the ones by 1 - smoothing

wrong sign => the loss weights every word by its target probability
+ target_probs = smooth_targets(targets, logits.shape[-1], -smoothing)
the sign is wrong: this takes from the other words and gives to the right one; smoothing takes from the right word and
gives to all

exchanged => the loss weights every word by its target probability
+ target_probs = smooth_targets(targets, logits.shape[-1], 1 - smoothing)
`smoothing` and `1 - smoothing` were exchanged: the right word keeps 1 - smoothing

not divided => the loss weights every word by its target probability
+ ones = torch.nn.functional.one_hot(targets, logits.shape[-1])
+ target_probs = (1 - smoothing) * ones + smoothing * (1 - ones)
every other word gets the whole of `smoothing`; it is to be divided by the number of words

not smoothed => the loss weights every word by its target probability
+ target_probs = smooth_targets(targets, logits.shape[-1], 0.0)
this is the loss against zeros and a one: `smoothing` was not used

the right word alone => the loss weights every word by its target probability
- return -einsum(target_probs, log_probs, "batch time word, batch time word -> batch time")
+ right = rearrange(targets, "batch time -> batch time 1")
+ return -(target_probs * log_probs).gather(2, right).squeeze(2)
this counts the right word alone, by its smaller probability; every word of the vocabulary counts by its own

all words alike => smoothing 0 changes nothing
+ return -log_probs.mean(dim=-1)
this is minus the mean of all log probabilities: the right word has no more than the others

the mean over the words => smoothing 0 changes nothing
+ return -(target_probs * log_probs).mean(dim=-1)
this averages over the vocabulary where it should sum: the probabilities sum to one already

less the entropy => the loss weights every word by its target probability
+ return (torch.xlogy(target_probs, target_probs) - target_probs * log_probs).sum(dim=-1)
this is the divergence, the loss less the entropy of the targets: its gradient is the same, its value is not

minus forgotten => smoothing 0 changes nothing
+ return einsum(target_probs, log_probs, "batch time word, batch time word -> batch time")
this is what is to grow, a sum of probabilities times log probabilities; a loss is to shrink: the minus is missing

no softmax => smoothing 0 changes nothing
- log_probs = logits.log_softmax(dim=-1)
+ log_probs = logits
this averages the logits as they are; log_softmax makes log probabilities of them

softmax, then its logarithm => logits a thousand apart: the loss is finite and right
+ log_probs = logits.softmax(dim=-1).log()
this takes the softmax and then its logarithm, and a probability that is rounded to 0 has the logarithm minus infinity;
`log_softmax` never forms it

scores smoothed => the loss weights every word by its target probability
- target_probs = smooth_targets(targets, logits.shape[-1], smoothing)
- log_probs = logits.log_softmax(dim=-1)
+ target_probs = torch.nn.functional.one_hot(targets, logits.shape[-1]).float()
+ log_probs = ((1 - smoothing) * logits.softmax(dim=-1) + smoothing / logits.shape[-1]).log()
this smooths the probabilities that the model gives, not the targets: a wrong word would cost next to nothing

detached => the gradient is that of all words
- return -einsum(target_probs, log_probs, "batch time word, batch time word -> batch time")
+ return -einsum(target_probs, log_probs, "batch time word, batch time word -> batch time").detach()
the numbers are right and the gradient is lost: `.item()`, `.detach()` and `torch.tensor(...)` cut a result off from
what it was made of

one number => the loss weights every word by its target probability
- return -einsum(target_probs, log_probs, "batch time word, batch time word -> batch time")
+ return -(target_probs * log_probs).sum(dim=-1).mean()
this is the mean of all losses, one number; asked is the loss of each step, (batch, time)

shared out among the others, none of one word => the loss weights every word by its target probability
- target_probs = smooth_targets(targets, logits.shape[-1], smoothing)
+ ones = torch.nn.functional.one_hot(targets, logits.shape[-1])
+ target_probs = (1 - smoothing) * ones + smoothing / max(logits.shape[-1] - 1, 1) * (1 - ones)
this distributes the smoothing over the V - 1 other words; here it is distributed over all V, the right one too, as
torch does: smoothing / V for each

always a tenth => the loss weights every word by its target probability
+ target_probs = smooth_targets(targets, logits.shape[-1], 0.1)
this always takes 0.1 from the right word, whatever `smoothing` says

not divided, the right word too => the loss weights every word by its target probability
+ target_probs = (1 - smoothing) * torch.nn.functional.one_hot(targets, logits.shape[-1]) + smoothing
every word gets the whole of `smoothing`; it is to be divided by the number of words

nothing for word 0 => the loss weights every word by its target probability
+ target_probs = smooth_targets(targets, logits.shape[-1], smoothing).masked_fill((targets == 0)[..., None], 0.0)
this takes the word 0 for padding and leaves its loss out; here 0 is a word like any other

a small number added => logits a thousand apart: the loss is finite and right
- log_probs = logits.log_softmax(dim=-1)
+ log_probs = (logits.softmax(dim=-1) + 1e-9).log()
this adds a small number to the probability, or raises it to one, before the logarithm: no word can then cost more than
minus that number's logarithm, and the gradient is gone; `log_softmax` needs no guard

kept above a small number => logits a thousand apart: the loss is finite and right
- log_probs = logits.log_softmax(dim=-1)
+ log_probs = logits.softmax(dim=-1).clamp(min=1e-12).log()
this keeps the probabilities above a small number before the logarithm: no word can then cost more than minus its
logarithm, and the gradient is gone; `log_softmax` needs no guard

divided by the steps => the loss weights every word by its target probability
- target_probs = smooth_targets(targets, logits.shape[-1], smoothing)
+ ones = torch.nn.functional.one_hot(targets, logits.shape[-1])
+ target_probs = (1 - smoothing) * ones + smoothing / logits.shape[1]
this divides the smoothing by the number of steps, `logits.shape[1]`; it is distributed over the words of the
vocabulary, `logits.shape[-1]`
"""

EXERCISE = Exercise(
    title="Label smoothing",
    difficulty=2,
    minutes=25,
    forbidden=CROSS_ENTROPY,
    tasks=(
        Task(
            function="smooth_targets",
            parameters=("targets", "vocab_size", "smoothing"),
            returns="the target probability of each word at each step, shape (batch, time, vocab)",
            cases=draw_targets,
            examples=({"targets": torch.tensor([[2, 0]]), "vocab_size": 4, "smoothing": 0.2},),
            edges=(
                {"targets": torch.tensor([[1], [0]]), "vocab_size": 2, "smoothing": 0.5},  # one step, two sentences
                {"targets": torch.tensor([[0, 0]]), "vocab_size": 1, "smoothing": 0.1},  # a single word
                {
                    "targets": torch.tensor([[2, 0]]),
                    "vocab_size": 3,
                    "smoothing": 1.0,
                },  # nothing is left of the right word
            ),
            reference=smooth_targets,
            properties=(
                Property("the probabilities sum to one", 1, sums_to(1)),
                Property("the right word keeps most, every word gets a little", 2, both(equals(), inputs_unchanged)),
                Property("smoothing 0 changes nothing", 1, on(unsmoothed, equals())),
            ),
            mistakes=TARGET_MISTAKES,
        ),
        Task(
            function="smoothed_losses",
            parameters=("logits", "targets", "smoothing"),
            returns="the loss of each step, shape (batch, time)",
            cases=draw_logits,
            examples=(
                {
                    "logits": torch.tensor([[[0.0, 1.0986], [0.0, 0.0]]]),
                    "targets": torch.tensor([[1, 0]]),
                    "smoothing": 0.5,
                },
            ),
            edges=(
                {  # one step, two sentences
                    "logits": torch.tensor([[[0.0, 1.0986, 2.0]], [[3.0, -1.0, 0.0]]]),
                    "targets": torch.tensor([[1], [0]]),
                    "smoothing": 0.2,
                },
                {
                    "logits": torch.tensor([[[2.0], [-1.0]]]),
                    "targets": torch.tensor([[0, 0]]),
                    "smoothing": 0.1,
                },  # a single word
                {  # nothing is left of the right word
                    "logits": torch.tensor([[[1.0, 0.0, -2.0]]]),
                    "targets": torch.tensor([[2]]),
                    "smoothing": 1.0,
                },
            ),
            reference=smoothed_losses,
            properties=(
                Property("smoothing 0 changes nothing", 1, on(unsmoothed, equals())),
                Property("the loss weights every word by its target probability", 2, both(equals(), inputs_unchanged)),
                Property("logits a thousand apart: the loss is finite and right", 1, on(one_far_above, equals())),
                Property("the gradient is that of all words", 1, gradients_equal(), only_when_right=True),
            ),
            mistakes=LOSS_MISTAKES,
        ),
    ),
    hints=(
        "How much probability is taken from the right word, and over how many words is it distributed? Is the right "
        "word one of them?",
        "Targets: a one for the right word, times 1 - smoothing, and smoothing / V for every word. Loss: log_softmax "
        "over the vocabulary, times the target probabilities, summed over the vocabulary, with a minus.",
        "`torch.nn.functional.one_hot(targets, vocab_size).float()` has the ones; the loss can call `smooth_targets` "
        "with `logits.shape[-1]`, and `log_softmax(dim=-1)` makes log probabilities.",
    ),
)
