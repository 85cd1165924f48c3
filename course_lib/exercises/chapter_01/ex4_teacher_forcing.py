"""01.4: teacher forcing, what a decoder reads and which loss it is given."""

import torch
from torch.nn.functional import cross_entropy, one_hot, pad

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, gradients_equal, inputs_unchanged, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def teacher_inputs(targets, start):
    """The start, then every word but the last."""
    return pad(targets, (1, -1), value=start)


def draw_targets(generator: torch.Generator) -> Case:
    """Draw sentences over a small vocabulary, whose start is a word of its own."""
    batch, length, vocab_size = sizes(generator, 3, 5, 6, least=3)
    return {"targets": torch.randint(vocab_size, (batch, length), generator=generator), "start": vocab_size}


def shows_no_answer(case: Case):
    """Replace the words from step t on: what is read up to and including step t stays, for every t."""
    steps = torch.arange(case["targets"].shape[1])
    before, *replies = yield [case, *(case | {"targets": case["targets"] + (steps >= step)} for step in steps)]
    for step, reply in enumerate(replies, start=1):
        said = {"after": f"other targets from step {step} on, counted from 1", "where": "what is read until then"}
        if problem := difference(case, reply.value[:, :step], before.value[:, :step], **said):
            return problem
    return None


INPUTS_MISTAKES = """
not shifted => no step reads its own target or a later one
- return torch.cat([first, targets[:, :-1]], dim=1)
+ return targets.clone()
this gives each step its own target: it would learn to copy, and have nothing to copy when it generates text

first word replaced => no step reads its own target or a later one
+ return torch.cat([first, targets[:, 1:]], dim=1)
this writes the start over the first word and shifts nothing: every later step reads its own target

shifted to the left => no step reads its own target or a later one
+ return torch.cat([targets[:, 1:], first], dim=1)
this shifts the words to the left, so that each step reads the target of the step after

rolled => no step reads its own target or a later one
+ return targets.roll(1, dims=1)
this rolls the words round: the first step reads the last word of the sentence; it should read the start

rolled to the left => no step reads its own target or a later one
+ return targets.roll(-1, dims=1)
this rolls the words the other way round: each step reads the target of the step after

rolled, start at the end => no step reads its own target or a later one
- return torch.cat([first, targets[:, :-1]], dim=1)
+ return torch.cat([targets[:, -1:], targets[:, :-2], first], dim=1)
this rolls the words and writes the start over the last one; the start belongs in front, where the first step reads it

last word kept => each step reads the target of the step before
+ return torch.cat([first, targets], dim=1)
this puts the start in front and drops nothing, n + 1 words; the decoder does not read the last word, since no target
follows it

no start => each step reads the target of the step before
+ return targets[:, :-1]
this drops the last word and puts no start in front: n - 1 words for n steps

shifted along the batch => each step reads the target of the step before
- first = torch.full_like(targets[:, :1], start)
- return torch.cat([first, targets[:, :-1]], dim=1)
+ first = torch.full_like(targets[:1], start)
+ return torch.cat([first, targets[:-1]])
this shifts along the batch (dim=0): each sentence reads another one

zeros for the start => each step reads the target of the step before
- first = torch.full_like(targets[:, :1], start)
+ first = torch.zeros_like(targets[:, :1])
this begins with word 0; the first word to be read is `start`

floats => each step reads the target of the step before
+ first = torch.full(targets[:, :1].shape, float(start))
these are the right words as floats, and an embedding is looked up by integers: `torch.full` and `torch.zeros` need
`dtype=targets.dtype`

targets overwritten => each step reads the target of the step before
- return torch.cat([first, targets[:, :-1]], dim=1)
+ targets[:] = torch.cat([first, targets[:, :-1]], dim=1)
+ return targets
this shifts the caller's targets in place, and the loss is then taken against the wrong words

start in the first sentence only => no step reads its own target or a later one
- return torch.cat([first, targets[:, :-1]], dim=1)
+ words = targets.roll(1, dims=1)
+ words[0, 0] = start
+ return words
this writes the start into the first sentence alone; every sentence begins with it: `[:, 0]`

start everywhere => each step reads the target of the step before
+ return torch.full_like(targets, start)
this gives every step the start, as a loop does that copies each word from the row it is writing; the later steps read
the targets

every word 0 replaced => each step reads the target of the step before
- first = torch.full_like(targets[:, :1], start)
- return torch.cat([first, targets[:, :-1]], dim=1)
+ shifted = torch.cat([torch.zeros_like(targets[:, :1]), targets[:, :-1]], dim=1)
+ return shifted.masked_fill(shifted == 0, start)
this writes `start` wherever a 0 stands, also where 0 is a word of the sentence; only the first step reads `start`
"""

INPUTS = Task(
    function="teacher_inputs",
    parameters=("targets", "start"),
    returns="what the decoder reads at each step, shape (batch, n), integers",
    cases=draw_targets,
    examples=({"targets": torch.tensor([[3, 1, 2]]), "start": 9},),
    edges=(
        {"targets": torch.tensor([[1], [2]]), "start": 0},  # one step: the start alone
        {"targets": torch.tensor([[0, 3, 0]]), "start": 0},  # the start is a target as well
    ),
    reference=teacher_inputs,
    properties=(
        Property("no step reads its own target or a later one", 1, shows_no_answer),
        Property("each step reads the target of the step before", 2, both(equals(), inputs_unchanged)),
    ),
    mistakes=INPUTS_MISTAKES,
)


def teacher_forcing_loss(logits, targets):
    """Minus the log-probability of each sentence."""
    return cross_entropy(logits.mT, targets, reduction="none").sum(1)


def draw_word_logits(generator: torch.Generator) -> Case:
    """Draw logits of words at every step, and the targets."""
    batch, length, vocab_size = sizes(generator, 3, 4, 5, least=2)
    return {
        "logits": 2 * normal(generator, batch, length, vocab_size),
        "targets": torch.randint(vocab_size, (batch, length), generator=generator),
    }


def parts_add_up(case: Case):
    """The loss of a sentence is that of its first step and that of the rest."""
    length = case["targets"].shape[1]
    cuts = [slice(0, 1), slice(1, length)][:length]  # of a single step there is no rest
    whole, *parts = yield [case, *({name: each[:, cut] for name, each in case.items()} for cut in cuts)]
    said = {
        "where": "the losses of the first step and of the rest, computed apart and added up",
        "note": "expected is the loss of the whole sentence",
    }
    return difference(case, sum(part.value for part in parts), whole.value, **said)


def one_far_above(case: Case) -> Case:
    """Raise the logit of a wrong word by 1,000 at every step."""
    vocab_size = case["logits"].shape[2]
    wrong = one_hot((case["targets"] + 1) % vocab_size, vocab_size)
    return case | {"logits": case["logits"] + 1000 * wrong}


LOSS_MISTAKES = """
the last step only => every step adds its own gradient
- return losses.sum(dim=1)
+ return losses[:, -1]
this is the loss of the last step, as if a sentence taught once; each of its n steps has a loss

the first step only => every step adds its own gradient
+ return losses[:, 0]
this is the loss of the first step; each of the n steps has one

mean over the steps => the losses of the parts add up
+ return losses.mean(dim=1)
this divides by the number of steps; the loss of a sentence is the sum, minus the logarithm of the probability of all
its words

one number for the batch => the sum of the losses of all steps
+ return losses.mean()
this is one number for the whole batch, as `cross_entropy` gives it unless reduction="none" is asked for; each sentence
has a loss of its own

summed over the batch => the sum of the losses of all steps
+ return losses.sum()
this is the sum over the whole batch; each sentence has a loss of its own: sum over its steps

summed along the batch => the sum of the losses of all steps
+ return losses.sum(dim=0)
this sums over the sentences, dim=0, one number for each step; sum over the steps, dim=1

not summed => the sum of the losses of all steps
+ return losses
these are the losses of the steps, (batch, n), still to be summed over the steps

flat => the sum of the losses of all steps
+ return losses.flatten()
this is one loss for each word of the batch, in one long row: give it the shape (batch, n) again and sum over the steps

vocabulary last => the sum of the losses of all steps
- by_word = rearrange(logits, "batch n vocab -> batch vocab n")
+ by_word = logits
`cross_entropy` takes axis 1 for the vocabulary, and here axis 1 are the steps: exchange the axes, `logits.transpose(1,
2)`

softmax twice => the sum of the losses of all steps
+ by_word = rearrange(logits.softmax(dim=2), "batch n vocab -> batch vocab n")
this takes the softmax twice: `cross_entropy` and `log_softmax` want logits, not probabilities

softmax, then its logarithm => logits a thousand apart: the loss is finite and right
- by_word = rearrange(logits, "batch n vocab -> batch vocab n")
- losses = torch.nn.functional.cross_entropy(by_word, targets, reduction="none")
+ losses = -logits.softmax(dim=2).gather(2, targets[..., None])[..., 0].log()
this takes the softmax and then its logarithm: a probability that is rounded to 0 has the logarithm minus infinity;
`log_softmax` and `cross_entropy` never form it

no logarithm => the sum of the losses of all steps
+ losses = -logits.softmax(dim=2).gather(2, targets[..., None])[..., 0]
this adds up minus the probabilities of the right words: their logarithm is missing

no softmax => the sum of the losses of all steps
+ losses = -logits.gather(2, targets[..., None])[..., 0]
this adds up minus the logits of the right words: without the log_softmax a model can lower it by raising all logits at
once

sign turned => the sum of the losses of all steps
- return losses.sum(dim=1)
+ return -losses.sum(dim=1)
this is the logarithm of the probability, which is to grow; a loss is to shrink: the minus is missing

softmax over the steps => the losses of the parts add up
- by_word = rearrange(logits, "batch n vocab -> batch vocab n")
- losses = torch.nn.functional.cross_entropy(by_word, targets, reduction="none")
+ losses = -logits.log_softmax(dim=1).gather(2, targets[..., None])[..., 0]
this is a softmax over the steps (dim=1); the softmax of a step runs over its words

reshaped for transposed => the sum of the losses of all steps
- by_word = rearrange(logits, "batch n vocab -> batch vocab n")
+ by_word = logits.reshape(len(logits), logits.shape[2], logits.shape[1])
`cross_entropy` wants the vocabulary on axis 1, and `view` or `reshape` only cuts the numbers anew: exchange the axes,
`logits.transpose(1, 2)`

detached => every step adds its own gradient
- return losses.sum(dim=1)
+ return losses.sum(dim=1).detach()
the numbers are right, and the gradient of all steps, or of some, is lost: `.item()`, `.detach()` and
`torch.tensor(...)` cut a result off from what it was made of

small number added (1) => logits a thousand apart: the loss is finite and right
- by_word = rearrange(logits, "batch n vocab -> batch vocab n")
- losses = torch.nn.functional.cross_entropy(by_word, targets, reduction="none")
+ losses = -(logits.softmax(dim=2).gather(2, targets[..., None])[..., 0] + 1e-9).log()
this adds a small number to the probability or raises it to one: the logarithm stays finite, but the loss of a step
cannot grow beyond minus its logarithm, 20.7 for 1e-9; `log_softmax` and `cross_entropy` do without

small number added (2) => logits a thousand apart: the loss is finite and right
+ losses = -(logits.softmax(dim=2).gather(2, targets[..., None])[..., 0] + 1e-8).log()

small number added (3) => logits a thousand apart: the loss is finite and right
+ losses = -(logits.softmax(dim=2).gather(2, targets[..., None])[..., 0] + 1e-10).log()

small number added (4) => logits a thousand apart: the loss is finite and right
+ losses = -(logits.softmax(dim=2).gather(2, targets[..., None])[..., 0] + 1e-12).log()

shifted once more => the sum of the losses of all steps
+ losses = torch.nn.functional.cross_entropy(logits[:, :-1].mT, targets[:, 1:], reduction="none")
this compares the logits of each step with the target of the next; here the targets belong to the logits of their own
step, since the inputs of the decoder were shifted already

word 0 ignored => the sum of the losses of all steps
- losses = torch.nn.functional.cross_entropy(by_word, targets, reduction="none")
+ losses = torch.nn.functional.cross_entropy(by_word, targets, reduction="none", ignore_index=0)
`ignore_index=0` takes word 0 for padding; here word 0 is a word like any other
"""

LOSS = Task(
    function="teacher_forcing_loss",
    parameters=("logits", "targets"),
    returns="one loss for each sentence, shape (batch,)",
    cases=draw_word_logits,
    examples=({"logits": torch.tensor([[[0.0, 0.0], [0.0, 1.0986]]]), "targets": torch.tensor([[0, 1]])},),
    edges=(
        {
            "logits": torch.tensor([[[0.5], [2.0]], [[1.0], [-1.0]]]),
            "targets": torch.tensor([[0, 0], [0, 0]]),
        },  # one word
        {
            "logits": torch.tensor([[[1.0, 1.0], [200.0, 0.0]]]),
            "targets": torch.tensor([[1, 1]]),
        },  # one sentence, tied, lost
        {
            "logits": torch.tensor([[[1.0, 0.0, -1.0]], [[0.5, 2.0, 0.0]]]),
            "targets": torch.tensor([[0], [2]]),
        },  # one step
    ),
    reference=teacher_forcing_loss,
    properties=(
        Property("the sum of the losses of all steps", 2, both(equals(), inputs_unchanged)),
        Property("the losses of the parts add up", 1, parts_add_up),
        Property("logits a thousand apart: the loss is finite and right", 1, on(one_far_above, equals())),
        Property("every step adds its own gradient", 1, gradients_equal()),
    ),
    mistakes=LOSS_MISTAKES,
)

EXERCISE = Exercise(
    title="Teacher forcing",
    difficulty=3,
    minutes=30,
    tasks=(INPUTS, LOSS),
    hints=(
        "For the inputs, the first part: write the sentence twice, one line below the other, the targets and what the "
        "decoder reads at each step. How far is the second line shifted? For the loss, the second part: which word's "
        "probability counts at each step, and what does a logarithm make of a product of probabilities?",
        "For the inputs: a column of `start` in front, and the last word left out. For the loss: log_softmax over the "
        "vocabulary, at each step minus the entry of the target, summed over the steps; the batch stays.",
        "For the inputs: `torch.full_like(targets[:, :1], start)` is the column. For the loss: "
        "`logits.log_softmax(dim=2).gather(2, ...)` picks by `targets[..., None]`; or `cross_entropy`, with the "
        'vocabulary on axis 1 and `reduction="none"`.',
    ),
)
