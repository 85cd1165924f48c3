"""11.1: passages cut from one long text, and what a prediction of them costs in bits."""

import math

import torch
from torch.nn.functional import cross_entropy, one_hot

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def cut_passages(tokens, starts, length):
    """The inputs, and one position further the targets."""
    positions = starts[:, None] + torch.arange(length)  # (batch, length)
    return tokens[positions], tokens[positions + 1]


def draw_text(generator: torch.Generator) -> Case:
    """Draw a text of many different tokens, and starts that leave room, often the last possible one at the end.

    Not always: an answer that reads too far stops there, and says nothing of itself.
    """
    batch, length, spare = sizes(generator, 4, 6, 9)
    tokens = torch.randint(1, 90, (length + 1 + spare,), generator=generator)
    starts = torch.randint(spare, (batch,), generator=generator)
    if torch.rand((), generator=generator) < 0.4:
        starts[-1] = spare
    return {"tokens": tokens, "starts": starts, "length": length}


PASSAGES_MISTAKES = """
not shifted => every target is the token after its input
- return tokens[positions], tokens[positions + 1]
+ return tokens[positions], tokens[positions]
the targets are the inputs: a model would learn to copy what it reads, with a loss near 0, and would generate one
character for ever; the target at each position is the token *after* the one that is read there

shifted the wrong way => every target is the token after its input
+ return tokens[positions], tokens[positions - 1]
this pairs every input with the token before it, which a model that sees its past would copy; the targets begin one
position after the start, not one before

shifted by two => every target is the token after its input
+ return tokens[positions], tokens[positions + 2]
this pairs every input with the token after the next; the targets begin one position after the start

both one too far => every passage begins at its start
+ return tokens[positions + 1], tokens[positions + 2]
inputs and targets both begin one position too late: the inputs begin *at* the start, the targets one after

both one too early => every passage begins at its start
+ return tokens[positions - 1], tokens[positions]
inputs and targets both begin one position too early: the inputs begin *at* the start, the targets one after

inputs and targets exchanged => every passage begins at its start
+ return tokens[positions + 1], tokens[positions]
inputs and targets are exchanged: the inputs come first, and the targets are one position further

rolled => every target is the token after its input
+ return tokens[positions], tokens[positions].roll(-1, dims=1)
the last target of each passage is its own first token: `roll` moves what falls out at one end in at the other; the
right one stands in the text, one position after the passage

last target made up => every target is the token after its input
+ targets = tokens[positions + 1]
+ targets[:, -1] = 0
+ return tokens[positions], targets
the last target of each passage is 0, which nobody wrote: the right one stands in the text, one position after the
passage

last target repeated => every target is the token after its input
+ targets = tokens[positions + 1]
+ targets[:, -1] = tokens[positions[:, -1]]
+ return tokens[positions], targets
the last target of each passage is its last input once more: the right one stands in the text, one position after the
passage

one short => every passage begins at its start
- positions = starts[:, None] + torch.arange(length)
+ positions = starts[:, None] + torch.arange(length - 1)
these passages are one token short: a passage of `length` tokens, cut at both ends, leaves one less; take `length` + 1
tokens, all but the last as inputs, all but the first as targets

one start for all => every passage begins at its start
+ positions = starts[:1].expand_as(starts)[:, None] + torch.arange(length)
every passage begins at the first start: row b begins at `starts[b]`

time first => every passage begins at its start
- return tokens[positions], tokens[positions + 1]
+ return tokens[positions].T, tokens[positions + 1].T
the axes are exchanged, (length, batch): each row is one passage

starts moved in place => inputs unchanged
+ starts += 1
+ return tokens[positions], tokens[starts[:, None] + torch.arange(length)]
`starts += 1` changes the caller's own starts, and the next batch would be cut one position further; write `starts + 1`

the next passage => every target is the token after its input
- return tokens[positions], tokens[positions + 1]
+ return tokens[positions], tokens[(positions + len(positions[0])) % len(tokens)]
the targets are the passage that comes after the inputs, `length` positions further; each target is the very next token,
one position further

the next passage, up to the end => every target is the token after its input
- return tokens[positions], tokens[positions + 1]
+ return tokens[positions], tokens[(positions + length).clamp(max=len(tokens) - 1)]
the targets are the passage that comes after the inputs, `length` positions further; each target is the very next token,
one position further

passages counted => every passage begins at its start
- positions = starts[:, None] + torch.arange(length)
- return tokens[positions], tokens[positions + 1]
+ positions = (starts[:, None] * length + torch.arange(length)) % (len(tokens) - 1)
+ return tokens[positions], tokens[positions + 1]
this takes the starts for numbers of passages that lie one behind the other, `starts * length`; a start is the position
of a token
"""

PASSAGES = Task(
    function="cut_passages",
    parameters=("tokens", "starts", "length"),
    returns="inputs and targets, each of shape (batch, length)",
    cases=draw_text,
    examples=({"tokens": torch.tensor([7, 4, 9, 4, 1, 8]), "starts": torch.tensor([2, 0]), "length": 3},),
    edges=(
        {"tokens": torch.tensor([7, 4]), "starts": torch.tensor([0]), "length": 1},  # one token, and the whole text
        {
            "tokens": torch.tensor([7, 4, 9]),
            "starts": torch.tensor([1, 0, 1]),
            "length": 1,
        },  # one token, the same start twice
        {
            "tokens": torch.tensor([5, 5, 5, 6]),
            "starts": torch.tensor([0]),
            "length": 3,
        },  # the whole text, equal tokens
    ),
    reference=cut_passages,
    properties=(
        Property("every passage begins at its start", 1, of_output(0, equals())),
        Property("every target is the token after its input", 2, of_output(1, equals())),
        Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
    ),
    mistakes=PASSAGES_MISTAKES,
    outputs=("inputs", "targets"),
)


def bits_per_character(logits, targets):
    """Minus the binary logarithm of the probability of the target, on average."""
    return cross_entropy(logits.mT, targets) / math.log(2)


def draw_logits_and_targets(generator: torch.Generator) -> Case:
    """Draw logits of characters at every position, and the characters that follow."""
    batch, time, vocab_size = sizes(generator, 4, 5, 6, least=2)
    if torch.rand((), generator=generator) < 0.3:  # where torch does not notice which axis is which
        vocab_size = time
    return {
        "logits": 2 * normal(generator, batch, time, vocab_size),
        "targets": torch.randint(vocab_size, (batch, time), generator=generator),
    }


def even(case: Case) -> Case:
    """Give all characters the same logit."""
    return case | {"logits": torch.zeros_like(case["logits"])}


def one_far_above(case: Case) -> Case:
    """Raise the logit of a wrong character by 1,000 at every position."""
    vocab_size = case["logits"].shape[2]
    return case | {"logits": case["logits"] + 1000 * one_hot((case["targets"] + 1) % vocab_size, vocab_size)}


BITS_MISTAKES = """
nats => all characters equally likely: the binary logarithm of their number
- return nats / math.log(2)
+ return nats
this is the mean loss in nats, by the natural logarithm; a bit is ln 2 nats, so divide by ln 2

multiplied by ln 2 => all characters equally likely: the binary logarithm of their number
+ return nats * math.log(2)
this multiplies by ln 2; a bit is less than a nat, so there are more of them: divide by ln 2

perplexity => all characters equally likely: the binary logarithm of their number
+ return nats.exp()
this is the perplexity, the number of equally likely characters that would cost as much; the bits are its binary
logarithm

summed => all characters equally likely: the binary logarithm of their number
- nats = cross_entropy(logits.flatten(0, 1), targets.flatten())
+ nats = cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
this is the sum over all characters: the length of the coded text; *per character* is the mean

summed over time => all characters equally likely: the binary logarithm of their number
+ nats = cross_entropy(logits.mT, targets, reduction="none").sum(1).mean()
this is the mean over the passages of their sums, bits per *passage*; divide by the number of characters too

one number a passage => the mean number of bits
+ nats = cross_entropy(logits.mT, targets, reduction="none").mean(1)
this keeps a number for each passage, (batch,); one is asked for, the mean over all characters

one number a character => the mean number of bits
+ nats = cross_entropy(logits.mT, targets, reduction="none")
these are the bits of each character, (batch, time), still to be averaged

the mean before the logarithm => the mean number of bits
- nats = cross_entropy(logits.flatten(0, 1), targets.flatten())
+ nats = -logits.softmax(2).gather(2, targets[..., None]).mean().log()
this averages the probabilities and takes the logarithm of the mean; every character costs the logarithm of its *own*
probability, and those are averaged: one that was held impossible cannot be made up for

softmax twice => the mean number of bits
+ nats = cross_entropy(logits.softmax(2).flatten(0, 1), targets.flatten())
this takes the softmax twice: `cross_entropy` and `log_softmax` want logits, not probabilities

no softmax => all characters equally likely: the binary logarithm of their number
+ nats = -logits.gather(2, targets[..., None]).mean()
this averages minus the logits of the targets: without the log_softmax a model could lower it by raising all logits at
once

no logarithm => all characters equally likely: the binary logarithm of their number
- nats = cross_entropy(logits.flatten(0, 1), targets.flatten())
- return nats / math.log(2)
+ return -logits.softmax(2).gather(2, targets[..., None]).mean()
this averages minus the probabilities of the targets: their logarithm is missing

sign turned => all characters equally likely: the binary logarithm of their number
- return nats / math.log(2)
+ return -nats / math.log(2)
this is below zero: the logarithm of a probability is, and the bits are minus that

entropy => the mean number of bits
- nats = cross_entropy(logits.flatten(0, 1), targets.flatten())
+ nats = -(logits.softmax(2) * logits.log_softmax(2)).sum(2).mean()
this is the entropy of the prediction, what the model *expects* to pay; it has to pay for the targets

softmax over time => the mean number of bits
+ nats = -logits.log_softmax(1).gather(2, targets[..., None]).mean()
this is a softmax over time (dim=1): the characters of one position compete, not the positions for a character

vocabulary last => the mean number of bits
+ nats = cross_entropy(logits, targets)
`cross_entropy` takes axis 1 for the vocabulary, and here axis 1 is time: exchange the axes, `logits.transpose(1, 2)`,
or flatten batch and time

reshaped for transposed => the mean number of bits
+ nats = cross_entropy(logits.reshape(logits.mT.shape), targets)
`cross_entropy` wants the vocabulary on axis 1, and `view` or `reshape` only cuts the numbers anew: exchange the axes,
`logits.transpose(1, 2)`, or flatten batch and time

softmax, then its logarithm => logits a thousand apart: finite and right
+ nats = -logits.softmax(2).gather(2, targets[..., None]).log().mean()
this takes the softmax and then its logarithm: a probability that is rounded to 0 has the logarithm minus infinity;
`log_softmax` and `cross_entropy` never form it

the mean before the logarithm, by logsumexp => the mean number of bits
- nats = cross_entropy(logits.flatten(0, 1), targets.flatten())
+ right = logits.log_softmax(2).gather(2, targets[..., None]).flatten()
+ nats = math.log(len(right)) - right.logsumexp(0)
this averages the probabilities and takes the logarithm of the mean; every character costs the logarithm of its *own*
probability, and those are averaged

a small number added => logits a thousand apart: finite and right
- nats = cross_entropy(logits.flatten(0, 1), targets.flatten())
+ nats = -(logits.softmax(2).gather(2, targets[..., None]) + 1e-9).log().mean()
this adds a small number to the probability before the logarithm, and then no character can cost more than the logarithm
of that number; `log_softmax` and `cross_entropy` need no guard

a smaller number added => logits a thousand apart: finite and right
+ nats = -(logits.softmax(2).gather(2, targets[..., None]) + 1e-12).log().mean()

0 bits for a probability of 0 => logits a thousand apart: finite and right
- nats = cross_entropy(logits.flatten(0, 1), targets.flatten())
+ right = logits.softmax(2).gather(2, targets[..., None])
+ nats = torch.where(right > 0, -right.log(), 0.0).mean()
a character with a probability that is rounded to 0 costs nothing here, where it should cost most; `log_softmax` and
`cross_entropy` never form that probability

another small number added => logits a thousand apart: finite and right
- nats = cross_entropy(logits.flatten(0, 1), targets.flatten())
+ nats = -(logits.softmax(2).gather(2, targets[..., None]) + 1e-10).log().mean()
this adds a small number to the probability before the logarithm, and then no character can cost more than the logarithm
of that number; `log_softmax` and `cross_entropy` need no guard
"""

BITS_PER_CHARACTER = Task(
    function="bits_per_character",
    parameters=("logits", "targets"),
    returns="one number, shape (): the mean of minus the binary logarithms of the probabilities of the targets",
    cases=draw_logits_and_targets,
    examples=(
        {"logits": torch.tensor([[[0.0, 0.0, 0.6931], [0.6931, 0.0, 0.0]]]), "targets": torch.tensor([[2, 1]])},
        # As many positions as characters: torch does not notice which axis is which.
        {"logits": torch.tensor([[[1.0, 3.0], [0.0, 4.0]], [[2.0, 1.0], [3.0, 0.0]]]), "targets": torch.eye(2).long()},
    ),
    edges=(
        # One position, two passages.
        {"logits": torch.tensor([[[0.0, 1.0986, 2.0]], [[3.0, -1.0, 0.0]]]), "targets": torch.tensor([[1], [0]])},
        # No bits at all count, too.
        {"logits": torch.tensor([[[1000.0, 0.0], [0.0, 0.0]]]), "targets": torch.tensor([[0, 1]])},
        # A single character.
        {"logits": torch.tensor([[[2.0]]]), "targets": torch.tensor([[0]])},
    ),
    reference=bits_per_character,
    properties=(
        Property("all characters equally likely: the binary logarithm of their number", 1, on(even, equals())),
        Property("the mean number of bits", 2, both(equals(), inputs_unchanged)),
        Property("logits a thousand apart: finite and right", 1, on(one_far_above, equals())),
    ),
    mistakes=BITS_MISTAKES,
)

EXERCISE = Exercise(
    title="Shift the targets",
    difficulty=1,
    minutes=25,
    tasks=(PASSAGES, BITS_PER_CHARACTER),
    hints=(
        "Write five tokens in a row, and below each the one that is to be predicted from it. How many tokens of the "
        "text does a passage of four predictions need? And how many bits name one of eight characters that are all "
        "equally likely?",
        "The positions of row b are `starts[b]`, `starts[b]` + 1, and so on: a column of starts plus a row that "
        "counts. The targets stand at the same positions plus one. For the bits, take the log_softmax over the "
        "vocabulary, pick the entry of each target, average, and change sign and unit.",
        "A column, `starts[:, None]`, plus what `torch.arange` counts has the shape (batch, length), and a tensor can "
        "be indexed with it. `cross_entropy` of logits flattened to (batch * time, vocab) and flat targets is the "
        "mean in nats; `math.log(2)` nats are one bit.",
    ),
)
