"""09.2: what the decoder reads, which steps count, and what they cost."""

import torch
from torch.nn.functional import one_hot, pad

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, not_moved_by, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task
from course_lib.grading.problem import Problem

# Whatever of torch's own computes a cross-entropy; against probabilities `cross_entropy_loss` calls none of the others.
# The divergence is the cross-entropy less a constant, and the loss of a connectionist temporal classification is the
# cross-entropy where no step may be blank.
CROSS_ENTROPY = {
    "aten::cross_entropy_loss": "torch's cross_entropy",
    "aten::nll_loss_forward": "torch's cross_entropy or nll_loss",
    "aten::nll_loss2d_forward": "torch's cross_entropy or nll_loss",
    "aten::nll_loss_backward": "torch's cross_entropy or nll_loss",
    "aten::nll_loss2d_backward": "torch's cross_entropy or nll_loss",
    "aten::kl_div": "torch's kl_div",
    "aten::_ctc_loss": "torch's ctc_loss",
}


def shift_right(targets, start, padding):
    """The start and every word but the last, and where the target is no padding."""
    return pad(targets, (1, -1), value=start), targets != padding


def draw_targets(generator: torch.Generator) -> Case:
    """Draw sentences of different lengths, each with an end; in a third of the cases the start is the padding too."""
    batch, time = sizes(generator, 3, 4)
    time += 1
    padding, start, end = (5, 5, 6) if torch.rand((), generator=generator) < 1 / 3 else (0, 1, 2)
    lengths = torch.randint(1, time + 1, (batch, 1), generator=generator)
    lengths[0] = torch.randint(1, time, (), generator=generator)  # something is padding
    words = torch.randint(7, 12, (batch, time), generator=generator)
    positions = torch.arange(time)
    targets = words.masked_fill(positions == lengths - 1, end).masked_fill(positions >= lengths, padding)
    return {"targets": targets, "start": start, "padding": padding}


def shows_no_answer(case: Case):
    """Replace the words from step t on: what is read up to and including step t stays, for every t."""
    steps = torch.arange(case["targets"].shape[1])
    # Padding stays: behind it no sentence goes on.
    words = case["targets"] != case["padding"]
    changed = [case | {"targets": case["targets"] + (words & (steps >= step))} for step in steps]
    before, *replies = yield [case, *changed]
    for step, after in enumerate(replies):
        for read in range(step + 1):
            got, expected = after.value[:, read], before.value[:, read]
            if not torch.equal(got, expected):
                said = {"after": f"other targets from step {step} on", "where": f"what step {read} reads"}
                return Problem("value", case, got=got, expected=expected, note="as before the change", **said)
    return None


SHIFT_MISTAKES = """
not shifted => no step reads its own target
- words = torch.cat([first, targets[:, :-1]], dim=1)
+ words = targets
this gives each step its own target: the model would learn to copy, and have nothing to copy when it generates

first word replaced => no step reads its own target
+ words = torch.cat([first, targets[:, 1:]], dim=1)
this writes the start over the first word and shifts nothing: every later step is shown its own answer

shifted to the left => no step reads its own target
+ words = torch.cat([targets[:, 1:], first], dim=1)
this shifts the words to the left, so that each step reads the word after its own

rolled => no step reads its own target
+ words = targets.roll(1, 1)
this rolls the words round: the first step reads the last word; it should read the start

last word kept => each step reads the word before its own
+ words = torch.cat([first, targets], dim=1)
this puts the start in front and drops nothing, one word too many; nobody reads the last word, since no target follows
it

no start => each step reads the word before its own
+ words = targets[:, :-1]
this drops the last word and puts no start in front: one word too few

shifted along the batch => each step reads the word before its own
- first = torch.full_like(targets[:, :1], start)
- words = torch.cat([first, targets[:, :-1]], dim=1)
+ first = torch.full_like(targets[:1], start)
+ words = torch.cat([first, targets[:-1]], dim=0)
this shifts along the batch (dim=0): each sentence reads another one

floats => each step reads the word before its own
- words = torch.cat([first, targets[:, :-1]], dim=1)
+ words = torch.cat([first, targets[:, :-1]], dim=1).float()
these are the right words as floats, and an embedding is looked up by integers: `torch.full` and `torch.zeros` need
`dtype=targets.dtype`

counted by what is read => a step counts where its target is no padding
- return words, targets != padding
+ return words, words != padding
this counts the steps at which the word that is *read* is no padding; whether a step counts depends on its target:
the step after the end reads the end and has padding for its target, and the first step counts whatever the start is

the end left out => a step counts where its target is no padding
+ after = torch.cat([targets[:, 1:], torch.full_like(first, padding)], dim=1)
+ return words, (targets != padding) & (after != padding)
this leaves out the last word of each sentence, which is the sign that it ends: no model would learn to stop

counts by both => a step counts where its target is no padding
+ return words, (targets != padding) & (words != padding)
this counts a step only where neither the target nor the word that is read is padding; where the start is the padding
too, the first step is lost

every step counts => a step counts where its target is no padding
+ return words, torch.ones_like(targets, dtype=torch.bool)
this counts every step; where the target is padding there is nothing to predict

padding counts => a step counts where its target is no padding
+ return words, targets == padding
this is True where the target is padding; True means that a step counts

zero for the padding => a step counts where its target is no padding
+ return words, targets != 0
this takes the word 0 for padding; which word it is, `padding` says

counts as numbers => a step counts where its target is no padding
+ return words, (targets != padding).long()
these are the right steps as numbers; True and False were asked for

how many => a step counts where its target is no padding
+ return words, (targets != padding).sum(dim=1)
this is how many steps of each sentence count; asked for is which

targets overwritten => each step reads the word before its own
+ counts = targets != padding
+ targets[:] = words
+ return targets, counts
this shifts the caller's targets in place, and the loss is then taken against the wrong words

shifted to the left, start over the first => no step reads its own target
- return words, targets != padding
+ words = torch.cat([first, targets[:, 2:], targets[:, :1]], dim=1)[:, : targets.shape[1]]
+ return words, targets != padding
this moves the words to the left and writes the start over the first, so that a step reads the word *after* its own;
move them to the right

rolled through the whole batch => no step reads its own target
+ words = targets.roll(1)
+ words[0, 0] = start
+ return words, targets != padding
`roll` without an axis moves the last word of a sentence to the front of the next, and one sentence alone gets the
start; move along the time, and give the start to each

zero and below for the padding => a step counts where its target is no padding
+ return words, targets > 0
this takes the number 0 for padding; which number it is, `padding` says

the first padding looked up => a step counts where its target is no padding
- return words, targets != padding
+ lengths = (targets == padding).int().argmax(dim=1, keepdim=True)
+ return words, torch.arange(targets.shape[1]) < lengths
this looks up the first padding by `argmax`, which gives 0 where a row has none, and then no step of that row counts;
compare every target with `padding`

padding read where the target is padding => each step reads the word before its own
- return words, targets != padding
+ return words.masked_fill(targets == padding, padding), targets != padding
this reads padding wherever the target is padding; the first of these steps reads the word before it, the end: what is
read is shifted, and nothing else
"""

SHIFT_RIGHT = Task(
    function="shift_right",
    parameters=("targets", "start", "padding"),
    returns="what the decoder reads, shape (batch, time), integers, and which steps count, the same shape of bool",
    outputs=("words", "counts"),
    cases=draw_targets,
    examples=(
        {"targets": torch.tensor([[7, 9, 8, 2], [8, 2, 0, 0]]), "start": 1, "padding": 0},
        {"targets": torch.tensor([[7, 6, 5], [9, 8, 6]]), "start": 5, "padding": 5},  # one token in two roles, not 0
    ),
    edges=(
        # One step, two sentences of nothing but the end.
        {"targets": torch.tensor([[2], [2]]), "start": 1, "padding": 0},
        # The end is the start, too.
        {"targets": torch.tensor([[7, 9, 2], [2, 0, 0]]), "start": 2, "padding": 0},
        # Padding that is no token.
        {"targets": torch.tensor([[7, 0, 2, -1]]), "start": 1, "padding": -1},
    ),
    reference=shift_right,
    properties=(
        Property("no step reads its own target", 1, of_output(0, shows_no_answer)),
        Property("each step reads the word before its own", 1, of_output(0, both(equals(), inputs_unchanged))),
        Property("a step counts where its target is no padding", 2, of_output(1, equals())),
    ),
    mistakes=SHIFT_MISTAKES,
)


def loss_at_every_step(logits, targets, counts):
    """The mean over the steps that count, and the loss of each: zero where it does not."""
    losses = -logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0].masked_fill(~counts, 0.0)
    return losses.sum() / counts.sum(), losses


def draw_logits(generator: torch.Generator) -> Case:
    """Draw logits of words at every step, their targets, and which steps count: as a rule not all."""
    batch, time, vocab_size = (least + size for least, size in zip((0, 1, 1), sizes(generator, 3, 3, 4), strict=True))
    lengths = torch.randint(1, time + 1, (batch,), generator=generator)
    lengths[-1] = time
    lengths[0] = torch.randint(1, time, (), generator=generator)  # so that lengths differ
    return {
        "logits": 2 * normal(generator, batch, time, vocab_size),
        "targets": torch.randint(vocab_size, (batch, time), generator=generator),
        "counts": torch.arange(time) < lengths[:, None],
    }


def other_padding(case: Case) -> Case:
    """Put other logits and other words where nothing counts."""
    counts, vocab_size = case["counts"], case["logits"].shape[2]
    return case | {
        "logits": torch.where(counts[..., None], case["logits"], 9 - case["logits"]),
        "targets": torch.where(counts, case["targets"], (case["targets"] + 1) % vocab_size),
    }


def one_far_above(case: Case) -> Case:
    """Raise the logit of a wrong word by 1,000 at every step."""
    vocab_size = case["logits"].shape[2]
    return case | {"logits": case["logits"] + 1000 * one_hot((case["targets"] + 1) % vocab_size, vocab_size)}


LOSS_MISTAKES = """
mean over all steps => the mean over the steps that count
- return losses.sum() / counts.sum(), losses
+ return losses.mean(), losses
the losses are right, but their sum is divided by batch times time: padding has no loss and still makes the mean
smaller; divide by the number of steps that count

mean of the sentences' means => the mean over the steps that count
+ return (losses.sum(dim=1) / counts.sum(dim=1)).mean(), losses
this takes the mean of each sentence and then the mean of these: a word of a short sentence weighs more than one of a
long sentence; one sum over all, divided by one count

a mean for each sentence => the mean over the steps that count
+ return losses.sum(dim=1) / counts.sum(dim=1), losses
this is one mean for each sentence; asked for is one number for the batch

sum => the mean over the steps that count
+ return losses.sum(), losses
this is the sum over the steps that count; it is still to be divided by how many there are

divided by the sentences => the mean over the steps that count
+ return losses.sum() / len(losses), losses
this divides the sum by the number of sentences; divide by the number of steps that count

losses first => the mean over the steps that count
+ return losses, losses.sum() / counts.sum()
this returns (losses, mean); the mean comes first

padding not left out => logits and words at padding have exactly no influence
- losses = torch.where(counts, -rearrange(right, "batch time 1 -> batch time"), 0.0)
- return losses.sum() / counts.sum(), losses
+ losses = -rearrange(right, "batch time 1 -> batch time")
+ return losses.mean(), losses
every step counts here, padding too: `counts` was not used

padding left in the losses => the loss of every step, zero where it does not count
+ losses = -rearrange(right, "batch time 1 -> batch time")
+ return losses[counts].mean(), losses
the mean is right, but the losses still hold those of padding; they are to be 0 there

padding alone => logits and words at padding have exactly no influence
+ losses = torch.where(counts, 0.0, -rearrange(right, "batch time 1 -> batch time"))
+ return losses.sum() / (~counts).sum(), losses
this counts the steps that do not: `counts` is True where a step counts

scores set to zero => the loss of every step, zero where it does not count
- log_probs = logits.log_softmax(dim=-1)
+ log_probs = (logits * counts[:, :, None]).log_softmax(dim=-1)
+ counts = torch.ones_like(counts)
this multiplies the logits by `counts`: logits of zero are equal probabilities of all words, with a loss of the
logarithm of the vocabulary size; multiply the losses

only the losses that count, in a row => the loss of every step, zero where it does not count
- losses = torch.where(counts, -rearrange(right, "batch time 1 -> batch time"), 0.0)
+ losses = -rearrange(right, "batch time 1 -> batch time")[counts]
these are the losses that count, in one row (`losses[counts]`); the shape (batch, time) was asked for, with zeros where
nothing counts

softmax, then its logarithm => logits a thousand apart: the loss is finite and right
- log_probs = logits.log_softmax(dim=-1)
+ log_probs = logits.softmax(dim=-1).log()
this takes the softmax and then its logarithm, and a probability that is rounded to 0 has the logarithm minus infinity;
or it takes exp of logits as large as 1,000; `log_softmax` and `logsumexp` do neither

a small number added => logits a thousand apart: the loss is finite and right
+ log_probs = (logits.softmax(dim=-1) + 1e-9).log()
this adds a small number to the probability before the logarithm: the loss can then grow no further than minus its
logarithm, and the gradient is gone; `log_softmax` needs no guard

no logarithm => the loss of every step, zero where it does not count
+ log_probs = logits.softmax(dim=-1)
this is minus the probability of the right word: its logarithm is missing

what is left of one => the loss of every step, zero where it does not count
+ log_probs = logits.softmax(dim=-1) - 1
this is one less the probability of the right word; the loss is minus its logarithm

no softmax => the loss of every step, zero where it does not count
+ log_probs = logits
this is minus the logit of the right word: without log_softmax a model can lower it by raising all logits

softmax twice => the loss of every step, zero where it does not count
+ log_probs = logits.softmax(dim=-1).log_softmax(dim=-1)
this takes the softmax twice: `log_softmax` wants logits, not probabilities

softmax over the steps => the loss of every step, zero where it does not count
+ log_probs = logits.log_softmax(dim=1)
this is a softmax over the steps (dim=1): the words of one step compete, along the last axis

sign turned => the loss of every step, zero where it does not count
- losses = torch.where(counts, -rearrange(right, "batch time 1 -> batch time"), 0.0)
+ losses = torch.where(counts, rearrange(right, "batch time 1 -> batch time"), 0.0)
this is the logarithm of the probability, which is to grow; a loss is to shrink: the minus is missing

bits => the loss of every step, zero where it does not count
- log_probs = logits.log_softmax(dim=-1)
+ log_probs = logits.log_softmax(dim=-1) / torch.tensor(2.0).log()
this takes the logarithm to base 2; the natural one was asked for

detached => every step that counts adds its gradient
- return losses.sum() / counts.sum(), losses
+ return (losses.sum() / counts.sum()).detach(), losses
the numbers are right and the gradient is lost: `.item()`, `.detach()` and `torch.tensor(...)` cut a result off from
what it was made of

squeezed => the loss of every step, zero where it does not count
- losses = torch.where(counts, -rearrange(right, "batch time 1 -> batch time"), 0.0)
+ losses = -right.squeeze() * counts
`squeeze()` without an axis also drops a batch or a time of size one, and broadcasting then makes another shape; drop
the last axis alone

losses of 0 not counted => the mean over the steps that count
- return losses.sum() / counts.sum(), losses
+ return losses.sum() / (losses != 0).sum(), losses
this divides by how many losses are not 0, and a step whose target is certain has the loss 0 and counts; divide by
`counts.sum()`

losses of 0 not counted, at least one => the mean over the steps that count
+ return losses.sum() / (losses != 0).sum().clamp(min=1), losses

softmax, then its logarithm, times the counts => logits a thousand apart: the loss is finite and right
- log_probs = logits.log_softmax(dim=-1)
- right = log_probs.gather(2, rearrange(targets, "batch time -> batch time 1"))
- losses = torch.where(counts, -rearrange(right, "batch time 1 -> batch time"), 0.0)
+ right = logits.softmax(dim=-1).gather(2, rearrange(targets, "batch time -> batch time 1"))
+ losses = -rearrange(right, "batch time 1 -> batch time").log() * counts
this takes the logarithm of a probability that may be rounded to 0, which is minus infinity, and at padding 0 times
infinity is nan; `log_softmax` never forms that probability, and `torch.where` leaves padding out
"""

LOSS = Task(
    function="loss_at_every_step",
    parameters=("logits", "targets", "counts"),
    returns="the mean over the steps that count, a tensor without axes, and the loss of each, shape (batch, time)",
    outputs=("mean", "losses"),
    cases=draw_logits,
    examples=(
        {
            "logits": torch.tensor([[[0.0, 0.0], [0.0, 1.0986]], [[1.0986, 0.0], [5.0, 2.0]]]),
            "targets": torch.tensor([[0, 1], [1, 0]]),
            "counts": torch.tensor([[True, True], [True, False]]),
        },
    ),
    edges=(
        {  # one step, two sentences
            "logits": torch.tensor([[[0.0, 1.0986]], [[2.0, -1.0]]]),
            "targets": torch.tensor([[0], [0]]),
            "counts": torch.tensor([[True], [True]]),
        },
        {  # a loss of exactly 0 counts like any other
            "logits": torch.tensor([[[1000.0, 0.0], [0.0, 0.0], [3.0, 1.0]]]),
            "targets": torch.tensor([[0, 1, 0]]),
            "counts": torch.tensor([[True, True, False]]),
        },
        {  # a single word, which costs nothing
            "logits": torch.tensor([[[2.0]]]),
            "targets": torch.tensor([[0]]),
            "counts": torch.tensor([[True]]),
        },
    ),
    reference=loss_at_every_step,
    properties=(
        Property(
            "logits and words at padding have exactly no influence",
            1,
            of_output(0, not_moved_by(other_padding, "other logits and words at padding", torch.Tensor.clone)),
        ),
        Property(
            "the loss of every step, zero where it does not count", 2, of_output(1, both(equals(), inputs_unchanged))
        ),
        Property("the mean over the steps that count", 1, of_output(0, equals())),
        Property("logits a thousand apart: the loss is finite and right", 1, on(one_far_above, of_output(1, equals()))),
        Property("every step that counts adds its gradient", 1, gradients_equal(), only_when_right=True),
    ),
    mistakes=LOSS_MISTAKES,
)

EXERCISE = Exercise(
    title="Shift right, and the loss at every step",
    difficulty=2,
    minutes=30,
    forbidden=CROSS_ENTROPY,
    tasks=(SHIFT_RIGHT, LOSS),
    hints=(
        "Write the sentence twice, one line below the other: the targets, and the words that are read. At which step "
        "is the end the target, and what is read at the step after it? Which of the two lines decides whether a step "
        "has something to learn?",
        "Words: a column of `start` in front, the last column left out; what counts is asked of the targets. Loss: "
        "log_softmax over the vocabulary, minus the entry of the right word, zero where nothing counts; then one sum "
        "over everything, divided by one count.",
        "`torch.full_like(targets[:, :1], start)` is the column. `logits.log_softmax(dim=-1).gather(-1, ...)` picks by "
        "`targets[..., None]`, and leaves an axis of size 1; the divisor is `counts.sum()`.",
    ),
)
