"""12.4: the attention mask of each family, its targets, and a model reversed."""

import torch
from torch.nn.functional import pad

from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, not_moved_by, on
from course_lib.grading.exercise import Case, Check, Exercise, Given, Property, Task

DIRECTIONS = {
    0: "direction 0, bidirectional (masked language model)",
    1: "direction 1, left to right",
    -1: "direction -1, right to left",
}


def in_each_direction(check: Check) -> tuple[Property, ...]:
    """The check holds for every direction."""
    return tuple(
        Property(name, 1, on(lambda case, direction=direction: case | {"direction": direction}, check))
        for direction, name in DIRECTIONS.items()
    )


def family_mask(direction, time):
    """All of a square, the lower triangle, or the upper one."""
    everything = torch.ones(time, time, dtype=torch.bool)
    return {0: everything, 1: everything.tril(), -1: everything.triu()}[direction]


def draw_direction(generator: torch.Generator) -> Case:
    """Draw a length and one of three families."""
    direction, time = torch.randint(-1, 2, (), generator=generator), torch.randint(1, 9, (), generator=generator)
    return {"direction": int(direction), "time": int(time)}


def family_targets(tokens, selected, direction):
    """The word that stood there, the one behind, or the one before."""
    if direction == 0:
        return torch.where(selected, tokens, -100)
    return pad(tokens[:, 1:], (0, 1), value=-100) if direction == 1 else pad(tokens[:, :-1], (1, 0), value=-100)


def draw_tokens_and_selected(generator: torch.Generator) -> Case:
    """Draw a batch of words, and which of them were selected."""
    batch, time = sizes(generator, 4, 7)
    return {
        "tokens": torch.randint(1, 60, (batch, time), generator=generator),
        "selected": torch.rand(batch, time, generator=generator) < 0.4,
        "direction": int(torch.randint(-1, 2, (), generator=generator)),
    }


COUNTS = Given(
    "how often each token has come so far",
    "lambda tokens: torch.nn.functional.one_hot(tokens, 7).float().cumsum(1)",
)
LATEST_TWICE = Given(
    "how often each token has come so far, the latest counted twice, times the position",
    "lambda tokens: (lambda said: (said.cumsum(1) + said) * torch.arange(tokens.shape[1])[:, None])"
    "(torch.nn.functional.one_hot(tokens, 7).float())",
)


def read_from_the_right(model, tokens):
    """The text reversed, and the logits reversed back."""
    return model(tokens.flip(1)).flip(1)


def draw_model_and_text(generator: torch.Generator) -> Case:
    """Draw a batch of texts for a model from left to right."""
    batch, time = sizes(generator, 4, 7)
    return {"model": COUNTS, "tokens": torch.randint(7, (batch, 1 + time), generator=generator)}


def first_word_changed(case: Case) -> Case:
    """Put another word at the left end of every text."""
    first = (case["tokens"][:, :1] + 3) % 7
    return case | {"tokens": torch.cat([first, case["tokens"][:, 1:]], 1)}


MASK_MISTAKES = """
left and right exchanged => direction 1, left to right
- masks = {0: everything, 1: everything.tril(), -1: everything.triu()}
+ masks = {0: everything, 1: everything.triu(), -1: everything.tril()}
left and right are exchanged: row i of the mask is the query at position i, and from left to right it attends to the
columns up to i

True means hidden => direction 0, bidirectional (masked language model)
- return masks[direction]
+ return ~masks[direction]
this is True where a key is hidden; in this course True means that a query may attend to it

always causal => direction 0, bidirectional (masked language model)
+ return everything.tril()
this hides the future whatever the direction is

the masked family made causal => direction 0, bidirectional (masked language model)
- masks = {0: everything, 1: everything.tril(), -1: everything.triu()}
+ masks = {0: everything.tril(), 1: everything.tril(), -1: everything.triu()}
this hides the future from the masked language model; it hides words by <mask>, in the input, and its attention is
bidirectional

only two families => direction -1, right to left
+ masks = {0: everything, 1: everything.tril(), -1: everything.tril()}
direction -1 is treated like direction 1: from right to left, row i has the columns from i on

no mask from the right => direction -1, right to left
+ masks = {0: everything, 1: everything.tril(), -1: everything}
for direction -1 this hides nothing: from right to left, row i has the columns from i on

mirrored along one axis => direction -1, right to left
+ masks = {0: everything, 1: everything.tril(), -1: everything.tril().flip(1)}
for direction -1 this mirrors the causal mask along one axis, and its corner stands where the diagonal belongs: mirror
both axes, or transpose

mirrored along the other axis => direction -1, right to left
+ masks = {0: everything, 1: everything.tril(), -1: everything.tril().flip(0)}
for direction -1 this mirrors the causal mask along one axis, and its corner stands where the diagonal belongs: mirror
both axes, or transpose

own position hidden, where a direction is => direction 1, left to right
+ masks = {0: everything, 1: everything.tril(diagonal=-1), -1: everything.triu(diagonal=1)}
this hides the position itself in the models with one direction, and the position at the edge has no key at all: keep
the diagonal

own position hidden from the masked family => direction 0, bidirectional (masked language model)
+ masks = {0: ~torch.eye(time, dtype=torch.bool), 1: everything.tril(), -1: everything.triu()}
this hides each position from itself in the bidirectional model: its word is hidden where it is selected, by <mask>, and
the attention mask hides nothing

numbers for truth values => direction 0, bidirectional (masked language model)
- return masks[direction]
+ return masks[direction].float()
these are the numbers 0 and 1; a mask of this course holds truth values (`dtype=torch.bool`)

to be added => direction 0, bidirectional (masked language model)
+ return torch.zeros(time, time).masked_fill(~masks[direction], float("-inf"))
this is a mask to be added to the scores, 0 and minus infinity; asked are truth values

an axis too many => direction 0, bidirectional (masked language model)
+ return masks[direction][None]
this has an axis of length 1 in front; asked is (time, time)
"""

TARGET_MISTAKES = """
not shifted => direction 1, left to right
- if direction == 1:
- targets[:, :-1] = tokens[:, 1:]
- else:
- targets[:, 1:] = tokens[:, :-1]
- return targets
+ return tokens
in the models with one direction the target is the input here: a model would learn to copy; the target is the next word
in that direction

left and right exchanged => direction 1, left to right
- if direction == 1:
+ if direction == -1:
the target here is the word that the model has read just before: from left to right the target is the word to the right,
and the other way round

only two families => direction -1, right to left
- targets[:, 1:] = tokens[:, :-1]
+ targets[:, :-1] = tokens[:, 1:]
direction -1 is treated like direction 1: its target is the word at the right, which it can read; the target is the one
at the left

round a circle => direction 1, left to right
- if direction == 1:
- targets[:, :-1] = tokens[:, 1:]
- else:
- targets[:, 1:] = tokens[:, :-1]
- return targets
+ return tokens.roll(-direction, dims=1)
`roll` makes the last position predict the first word of its own text; there is no target there: -100

0 at the edge => direction 1, left to right
- if direction == 1:
+ targets = torch.zeros_like(tokens)
+ if direction == 1:
where a text ends, 0 is the target here, which is a token; there is none: -100

one short => direction 1, left to right
- if direction == 1:
- targets[:, :-1] = tokens[:, 1:]
- else:
- targets[:, 1:] = tokens[:, :-1]
- return targets
+ return tokens[:, 1:] if direction == 1 else tokens[:, :-1]
these targets are one position short; asked is (batch, time), with -100 at the position that has no next word

targets in the order of reading => direction -1, right to left
+ turned = tokens if direction == 1 else tokens.flip(1)
+ return torch.cat([turned[:, 1:], torch.full_like(tokens[:, :1], -100)], dim=1)
for direction -1 these targets stand in the order in which the model reads, the last position first: turn them round
again, so that each stands at its own position

selected for all families => direction 1, left to right
- return targets
+ return torch.where(selected, targets, -100)
this has targets only at the selected positions, whatever the direction; `selected` matters to the masked language model
alone, the others have a target at every position that has a next word

token 0 lost => direction 0, bidirectional (masked language model)
- return torch.where(selected, tokens, targets)
+ kept = tokens * selected
+ return torch.where(kept != 0, kept, -100)
this takes 0 for "not selected", and a selected token 0 loses its target: 0 is a token, so ask `selected` where there is
a target

masked family asked everywhere => direction 0, bidirectional (masked language model)
- return torch.where(selected, tokens, targets)
+ return tokens
for the masked language model every word is a target here, and it can read most of them; only the selected ones are
targets, and -100 stands elsewhere

selected turned round => direction 0, bidirectional (masked language model)
+ return torch.where(selected, targets, tokens)
for the masked language model the targets here are the words that were *not* selected

masked family shifted => direction 0, bidirectional (masked language model)
+ targets[:, :-1] = tokens[:, 1:]
+ return torch.where(selected, targets, -100)
for the masked language model the target here is the word behind each selected one; the target is the word of that very
position, which <mask> may have hidden

always the next => direction 0, bidirectional (masked language model)
- if direction == 0:
- return torch.where(selected, tokens, targets)
- if direction == 1:
- targets[:, :-1] = tokens[:, 1:]
- else:
- targets[:, 1:] = tokens[:, :-1]
+ targets[:, :-1] = tokens[:, 1:]
this is the target of direction 1, whatever the direction is

tokens overwritten => direction 0, bidirectional (masked language model)
- return torch.where(selected, tokens, targets)
+ tokens[~selected] = -100
+ return tokens
this writes into the caller's own tokens (`tokens[~selected] = ...`); `torch.where` makes a new tensor
"""

MIRROR_MISTAKES = """
read from the left => no position attends to one at its left
- backwards = model(tokens.flip(1))
- return backwards.flip(1)
+ return model(tokens)
this is the model as it is, from left to right; if something was reversed, it was another axis than time, which is axis
1

logits not turned back => the logits, each at its own position
- return backwards.flip(1)
+ return backwards
the text was turned round and the logits were not: those of the last word stand at the first position; turn them back

only the logits turned => the logits, each at its own position
- backwards = model(tokens.flip(1))
+ backwards = model(tokens)
the model read the text from the left, and its logits were mirrored; the *text* is to be turned round before the model
reads it, and the logits behind it

another axis of the logits => the logits, each at its own position
- return backwards.flip(1)
+ return backwards.flip(2)
the logits were mirrored along the vocabulary; axis 1 is time: `flip(1)`

all axes of the logits => the logits, each at its own position
+ return backwards.flip(0, 1, 2)
the logits were mirrored along every axis, the vocabulary too; axis 1 is time: `flip(1)`

the batch turned as well => the logits, each at its own position
- backwards = model(tokens.flip(1))
+ backwards = model(tokens.flip(0, 1))
the texts were put in another order too (`flip(0, 1)`), and the logits of one stand in the row of another; axis 1 is
time

time and vocabulary => the logits, each at its own position
- return backwards.flip(1)
+ return backwards.flip(1, 2)
the logits were mirrored along time and along the vocabulary; only time was turned round before

the rest of the text, from the left => the logits of a model to which order and position matter
- backwards = model(tokens.flip(1))
- return backwards.flip(1)
+ rests = [tokens[:, position:] for position in range(tokens.shape[1])]
+ return torch.stack([model(rest)[:, -1] for rest in rests], dim=1)
at each position the model has read the right words, those from this position on, and in the wrong order, from the left:
turn the text round before it reads

what comes behind, from the left => the logits of a model to which order and position matter
+ logits = model(tokens)
+ return logits[:, -1:] - logits + logits.diff(dim=1, prepend=torch.zeros_like(logits[:, :1]))
this takes the model's whole account less what it has read from the left; that is right of a model that counts, and of
no other: let the model read the text turned round

at the position to predict => the logits, each at its own position
- return backwards.flip(1)
+ return backwards.flip(1).roll(-1, dims=1)
the logits are moved to the position of the word that they predict, and the first ones to the end; they belong at the
word that was read last

own word not read => the logits, each at its own position
- return backwards.flip(1)
+ before = torch.cat([torch.zeros_like(backwards[:, :1]), backwards[:, :-1]], dim=1)
+ return before.flip(1)
the logits are moved by one position, to where the model had not read the word itself; turning the text round and back
is enough
"""

EXERCISE = Exercise(
    title="Bidirectional and causal masks",
    difficulty=2,
    minutes=30,
    tasks=(
        Task(
            function="family_mask",
            parameters=("direction", "time"),
            returns="truth values of shape (time, time): row i tells which positions the position i may attend to",
            cases=draw_direction,
            examples=({"direction": 1, "time": 3}, {"direction": -1, "time": 2}),
            edges=(
                {"direction": 0, "time": 1},  # a single position in each direction
                {"direction": 1, "time": 1},
                {"direction": -1, "time": 1},
            ),
            reference=family_mask,
            properties=in_each_direction(equals()),
            mistakes=MASK_MISTAKES,
        ),
        Task(
            function="family_targets",
            parameters=("tokens", "selected", "direction"),
            returns="the target of each position, -100 where there is none, shape (batch, time)",
            cases=draw_tokens_and_selected,
            examples=(
                {
                    "tokens": torch.tensor([[5, 8, 6, 9]]),
                    "selected": torch.tensor([[False, True, False, False]]),
                    "direction": -1,
                },
            ),
            edges=(
                # A single position, two texts.
                {"tokens": torch.tensor([[5], [8]]), "selected": torch.tensor([[True], [False]]), "direction": 0},
                # Token 0, selected and not, and as the next one.
                {
                    "tokens": torch.tensor([[0, 5, 0]]),
                    "selected": torch.tensor([[True, True, False]]),
                    "direction": 0,
                },
                # All are selected, or none; equal tokens.
                {"tokens": torch.tensor([[5, 5, 6]]), "selected": torch.tensor([[True, True, True]]), "direction": 1},
                {
                    "tokens": torch.tensor([[6, 5, 5]]),
                    "selected": torch.tensor([[False, False, False]]),
                    "direction": -1,
                },
            ),
            reference=family_targets,
            properties=in_each_direction(both(equals(), inputs_unchanged)),
            mistakes=TARGET_MISTAKES,
        ),
        Task(
            function="read_from_the_right",
            parameters=("model", "tokens"),
            returns="the logits of the model from right to left, shape (batch, time, vocab)",
            cases=draw_model_and_text,
            examples=({"model": COUNTS, "tokens": torch.tensor([[2, 0, 0]])},),
            edges=(
                {"model": COUNTS, "tokens": torch.tensor([[4], [2]])},  # a single position, two texts
                {"model": LATEST_TWICE, "tokens": torch.tensor([[3, 5, 3], [1, 1, 1]])},  # the same in both directions
            ),
            reference=read_from_the_right,
            properties=(
                Property(
                    "no position attends to one at its left",
                    1,
                    not_moved_by(first_word_changed, "the first word changed", lambda logits: logits[:, 1:]),
                ),
                Property("the logits, each at its own position", 1, both(equals(), inputs_unchanged)),
                Property(
                    "the logits of a model to which order and position matter",
                    1,
                    on(lambda case: case | {"model": LATEST_TWICE}, equals()),
                ),
            ),
            mistakes=MIRROR_MISTAKES,
        ),
    ),
    hints=(
        "For each family write down, for a text of three words, which words the middle position may attend to and "
        "which one is its target. The target must never be among those that it attends to, unless <mask> hides it.",
        "A mask is the lower triangle, the upper triangle or all of a square, each with its diagonal. The targets are "
        "the tokens moved one position against the direction, and the position that is left empty gets -100. For a "
        "model from right to left, reverse the text, call the model, and reverse the logits.",
        "A square of `torch.ones` with `dtype=torch.bool` has `.tril()` and `.triu()`. `torch.full_like` makes a "
        "tensor full of -100 into which `tokens[:, 1:]` or `tokens[:, :-1]` can be written. A tensor is turned "
        "round by `.flip(1)`, and the logits are a tensor too.",
    ),
)
