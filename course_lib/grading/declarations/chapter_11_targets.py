"""Exercise 11.1, shift the targets: passages cut from one long text, and what a prediction of them costs in bits."""

import math

import torch
from torch.nn.functional import cross_entropy, one_hot, pad

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, equals, inputs_unchanged, of_output, on

# ---------------------------------------------------------------- the passages


def places(starts, length):
    """The places of the tokens that are read, shape (batch, length)."""
    return starts[:, None] + torch.arange(length)


def cut_passages(tokens, starts, length):
    """What is read, and one place further what is due."""
    return tokens[places(starts, length)], tokens[places(starts, length) + 1]


def draw_text(generator: torch.Generator) -> Case:
    """Draw a text of many different tokens, and starts that leave room, often the last possible one among them."""
    batch, length, room = sizes(generator, 4, 6, 9)
    tokens = torch.randint(1, 90, (length + 1 + room,), generator=generator)
    starts = torch.randint(room + 1, (batch,), generator=generator)
    if torch.rand((), generator=generator) < 0.5:
        starts[-1] = room
    return {"tokens": tokens, "starts": starts, "length": length}


def moved(first: int, second: int):
    """Return the answer that begins so many places after the start, and its targets so many."""

    def answer(tokens, starts, length):
        here = places(starts, length)
        return tokens[here + first], tokens[here + second]

    return answer


def starts_moved_in_place(tokens, starts, length):
    """The starts counted up, in the caller's tensor."""
    inputs = tokens[places(starts, length)]
    starts += 1
    return inputs, tokens[places(starts, length)]


def changed(change):
    """Return what `change` makes of the right inputs, and of the right targets."""
    return lambda **named: change(*cut_passages(**named))


INPUTS, TARGETS, UNCHANGED = (
    "every passage begins at its start",
    "every target is the token after its input",
    "inputs unchanged",
)

PASSAGES = Task(
    function="cut_passages",
    parameters=("tokens", "starts", "length"),
    returns="what is read and what is due, each of shape (batch, length)",
    cases=draw_text,
    examples=({"tokens": torch.tensor([7, 4, 9, 4, 1, 8]), "starts": torch.tensor([2, 0]), "length": 3},),
    reference=cut_passages,
    properties=(
        Property(INPUTS, 1, of_output(0, equals(cut_passages))),
        Property(TARGETS, 2, of_output(1, equals(cut_passages))),
        Property(UNCHANGED, 1, inputs_unchanged, only_when_right=True),
    ),
    misconceptions=(
        Misconception(
            "not shifted",
            "the targets are the inputs: a model would learn to copy what it reads, with a loss near 0, and could "
            "write nothing; the target at each place is the token *after* the one that is read there",
            moved(0, 0),
            breaks=TARGETS,
        ),
        Misconception(
            "shifted the wrong way",
            "this pairs every input with the token before it, which a model that sees its past would copy; the targets "
            "begin one place after the start, not one before",
            moved(0, -1),
            breaks=TARGETS,
        ),
        Misconception(
            "shifted by two",
            "this pairs every input with the token after the next; the targets begin one place after the start",
            moved(0, 2),
            breaks=TARGETS,
        ),
        Misconception(
            "both one too far",
            "inputs and targets both begin one place too late: the inputs begin *at* the start, the targets one after",
            moved(1, 2),
            breaks=INPUTS,
        ),
        Misconception(
            "both one too early",
            "inputs and targets both begin one place too early: the inputs begin *at* the start, the targets one after",
            moved(-1, 0),
            breaks=INPUTS,
        ),
        Misconception(
            "inputs and targets exchanged",
            "what is read and what is due are exchanged: the inputs come first, and the targets are one place further",
            moved(1, 0),
            breaks=INPUTS,
        ),
        Misconception(
            "rolled",
            "the last target of each passage is its own first token: `roll` moves what falls out at one end in at the "
            "other; the token that is due there stands in the text, one place after the passage",
            changed(lambda inputs, targets: (inputs, inputs.roll(-1, 1))),
            breaks=TARGETS,
        ),
        Misconception(
            "last target made up",
            "the last target of each passage is 0, which nobody wrote: the token that is due there stands in the "
            "text, one place after the passage",
            changed(lambda inputs, targets: (inputs, pad(targets[:, :-1], (0, 1)))),
            breaks=TARGETS,
        ),
        Misconception(
            "last target repeated",
            "the last target of each passage is its last input once more: the token that is due there stands in the "
            "text, one place after the passage",
            changed(lambda inputs, targets: (inputs, torch.cat([targets[:, :-1], inputs[:, -1:]], 1))),
            breaks=TARGETS,
        ),
        Misconception(
            "one short",
            "these passages are one token short: a passage of `length` tokens, cut at both ends, leaves one less; "
            "take `length` + 1 tokens, all but the last as inputs, all but the first as targets",
            changed(lambda inputs, targets: (inputs[:, :-1], targets[:, :-1])),
            breaks=INPUTS,
        ),
        Misconception(
            "one start for all",
            "every passage begins at the first start: row b begins at `starts[b]`",
            lambda tokens, starts, length: cut_passages(tokens, starts[:1].expand_as(starts), length),
            breaks=INPUTS,
        ),
        Misconception(
            "time first",
            "the axes are exchanged, (length, batch): each row is one passage",
            changed(lambda inputs, targets: (inputs.T, targets.T)),
            breaks=INPUTS,
        ),
        Misconception(
            "starts moved in place",
            "`starts += 1` changes the caller's own starts, and the next batch would be cut one place further; write "
            "`starts + 1`",
            starts_moved_in_place,
            breaks=UNCHANGED,
        ),
    ),
    outputs=("inputs", "targets"),
)

# ---------------------------------------------------------------- bits per character


def nats(scores, targets):
    """The loss at each place, shape (batch, time)."""
    return cross_entropy(scores.mT, targets, reduction="none")


def bits_per_character(scores, targets):
    """Minus the binary logarithm of the probability of what came, on average."""
    return nats(scores, targets).mean() / math.log(2)


def draw_scores_and_targets(generator: torch.Generator) -> Case:
    """Draw scores of characters at every place, and the characters that came."""
    batch, time, vocabulary = sizes(generator, 4, 5, 6, least=2)
    if torch.rand((), generator=generator) < 0.3:  # where torch does not notice which axis is which
        vocabulary = time
    return {
        "scores": 2 * normal(generator, batch, time, vocabulary),
        "targets": torch.randint(vocabulary, (batch, time), generator=generator),
    }


def even(case: Case) -> Case:
    """Give all characters the same score."""
    return case | {"scores": torch.zeros_like(case["scores"])}


def one_far_above(case: Case) -> Case:
    """Raise the score of a wrong character by 1,000 at every place."""
    vocabulary = case["scores"].shape[2]
    return case | {"scores": case["scores"] + 1000 * one_hot((case["targets"] + 1) % vocabulary, vocabulary)}


def of_targets(values, targets):
    """The entry of each target, shape (batch, time)."""
    return values.gather(2, targets[..., None])[..., 0]


def reshaped_for_transposed(scores, targets):
    """Give cross_entropy the right shape and the wrong numbers."""
    batch, time, vocabulary = scores.shape
    return cross_entropy(scores.reshape(batch, vocabulary, time), targets) / math.log(2)


EVEN, BITS, FAR = (
    "all characters equally likely: the binary logarithm of their number",
    "the mean number of bits",
    "scores a thousand apart: finite and right",
)

BITS_PER_CHARACTER = Task(
    function="bits_per_character",
    parameters=("scores", "targets"),
    returns="one number, shape (): the mean of minus the binary logarithms of the probabilities of the targets",
    cases=draw_scores_and_targets,
    examples=(
        {
            "scores": torch.tensor([[[0.0, 0.0, 0.6931], [0.6931, 0.0, 0.0]]]),
            "targets": torch.tensor([[2, 1]]),
        },
    ),
    reference=bits_per_character,
    properties=(
        Property(EVEN, 1, on(even, equals(bits_per_character))),
        Property(BITS, 2, both(equals(bits_per_character), inputs_unchanged)),
        Property(FAR, 1, on(one_far_above, equals(bits_per_character))),
    ),
    misconceptions=(
        Misconception(
            "nats",
            "this is the mean loss in nats, by the natural logarithm; a bit is ln 2 nats, so divide by ln 2",
            lambda scores, targets: nats(scores, targets).mean(),
            breaks=EVEN,
        ),
        Misconception(
            "multiplied by ln 2",
            "this multiplies by ln 2; a bit is less than a nat, so there are more of them: divide by ln 2",
            lambda scores, targets: nats(scores, targets).mean() * math.log(2),
            breaks=EVEN,
        ),
        Misconception(
            "perplexity",
            "this is the perplexity, the number of equally likely characters that would cost as much; the bits are its "
            "binary logarithm",
            lambda scores, targets: nats(scores, targets).mean().exp(),
            breaks=EVEN,
        ),
        Misconception(
            "summed",
            "this is the sum over all characters: the length of the coded text; *per character* is the mean",
            lambda scores, targets: nats(scores, targets).sum() / math.log(2),
            breaks=EVEN,
        ),
        Misconception(
            "summed over time",
            "this is the mean over the passages of their sums, bits per *passage*; divide by the number of characters "
            "too",
            lambda scores, targets: nats(scores, targets).sum(1).mean() / math.log(2),
            breaks=EVEN,
        ),
        Misconception(
            "one number a passage",
            "this keeps a number for each passage, (batch,); one is asked for, the mean over all characters",
            lambda scores, targets: nats(scores, targets).mean(1) / math.log(2),
            breaks=BITS,
        ),
        Misconception(
            "one number a character",
            "these are the bits of each character, (batch, time), still to be averaged",
            lambda scores, targets: nats(scores, targets) / math.log(2),
            breaks=BITS,
        ),
        Misconception(
            "the mean before the logarithm",
            "this averages the probabilities and takes the logarithm of the mean; every character costs the logarithm "
            "of its *own* probability, and those are averaged: one that was held impossible cannot be made up for",
            lambda scores, targets: -of_targets(scores.softmax(2), targets).mean().log2(),
            breaks=BITS,
        ),
        Misconception(
            "softmax twice",
            "this takes the softmax twice: `cross_entropy` and `log_softmax` want scores, not probabilities",
            lambda scores, targets: bits_per_character(scores.softmax(2), targets),
            breaks=BITS,
        ),
        Misconception(
            "no softmax",
            "this averages minus the scores of the targets: without the log_softmax a model could lower it by raising "
            "all scores at once",
            lambda scores, targets: -of_targets(scores, targets).mean() / math.log(2),
            breaks=EVEN,
        ),
        Misconception(
            "no logarithm",
            "this averages minus the probabilities of the targets: their logarithm is missing",
            lambda scores, targets: -of_targets(scores.softmax(2), targets).mean(),
            breaks=EVEN,
        ),
        Misconception(
            "sign turned",
            "this is below zero: the logarithm of a probability is, and the bits are minus that",
            lambda scores, targets: -bits_per_character(scores, targets),
            breaks=EVEN,
        ),
        Misconception(
            "entropy",
            "this is the entropy of the prediction, what the model *expects* to pay; it has to pay for the characters "
            "that came, the targets",
            lambda scores, targets: -(scores.softmax(2) * scores.log_softmax(2)).sum(2).mean() / math.log(2),
            breaks=BITS,
        ),
        Misconception(
            "softmax over time",
            "this is a softmax over time (dim=1): the characters of one place compete, not the places for a character",
            lambda scores, targets: -of_targets(scores.log_softmax(1), targets).mean() / math.log(2),
            breaks=BITS,
        ),
        Misconception(
            "vocabulary last",
            "`cross_entropy` takes axis 1 for the vocabulary, and here axis 1 is time: exchange the axes, "
            "`scores.transpose(1, 2)`, or flatten batch and time",
            lambda scores, targets: cross_entropy(scores, targets) / math.log(2),
            breaks=BITS,
        ),
        Misconception(
            "reshaped for transposed",
            "`cross_entropy` wants the vocabulary on axis 1, and `view` or `reshape` only cuts the numbers anew: "
            "exchange the axes, `scores.transpose(1, 2)`, or flatten batch and time",
            reshaped_for_transposed,
            breaks=BITS,
        ),
        Misconception(
            "softmax, then its logarithm",
            "this takes the softmax and then its logarithm: a probability that is rounded to 0 has the logarithm minus "
            "infinity; `log_softmax` and `cross_entropy` never form it",
            lambda scores, targets: -of_targets(scores.softmax(2), targets).log2().mean(),
            breaks=FAR,
        ),
    ),
)

SHIFT = Exercise(
    id="11.1",
    title="Shift the targets",
    difficulty=1,
    minutes=25,
    tasks=(PASSAGES, BITS_PER_CHARACTER),
    hints=(
        "Write five tokens in a row, and below each the one that is to be predicted from it. How many tokens of the "
        "text does a passage of four predictions need? And how many bits name one of eight characters that are all "
        "equally likely?",
        "The places of row b are `starts[b]`, `starts[b]` + 1, and so on: a column of starts plus a row that counts. "
        "The targets stand at the same places plus one. For the bits, take the log_softmax over the vocabulary, pick "
        "the entry of each target, average, and change sign and unit.",
        "A column, `starts[:, None]`, plus what `torch.arange` counts has the shape (batch, length), and a tensor can "
        "be indexed with it. `cross_entropy` of scores flattened to (batch * time, vocabulary) and flat targets is the "
        "mean in nats; `math.log(2)` nats are one bit.",
    ),
)
