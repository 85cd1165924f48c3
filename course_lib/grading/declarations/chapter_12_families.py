"""Exercise 12.4, turn the mask round: what each family may read, what it is asked for, and a model mirrored."""

import torch
from torch.nn.functional import pad

from course_lib.grading.declarations.chapter_12_mirror import FROM_THE_RIGHT
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import Judge, both, equals, inputs_unchanged, on

NO_TARGET = -100  # what torch's cross_entropy leaves out by itself

BOTH, LEFT, RIGHT = (
    "direction 0, the masked family",
    "direction 1, the family that reads from the left",
    "direction -1, the family that reads from the right",
)


def towards(direction: int, judge: Judge) -> Judge:
    """The judgement holds for this direction."""
    return on(lambda case: case | {"direction": direction}, judge)


def in_each_family(both_ways, left, right):
    """Return the answer that is made by one of three, as the direction says."""

    def answer(direction, **case):
        return {0: both_ways, 1: left, -1: right}[direction](**case)

    return answer


# ---------------------------------------------------------------- masks


def everything(time):
    """Every place reads every place."""
    return torch.ones(time, time, dtype=torch.bool)


def from_the_left(time):
    """Every place reads itself and what stands before it."""
    return everything(time).tril()


def from_the_right(time):
    """Every place reads itself and what stands behind it."""
    return everything(time).triu()


family_mask = in_each_family(everything, from_the_left, from_the_right)


def changed(change):
    """Return what `change` makes of the right mask."""
    return lambda **case: change(family_mask(**case))


def draw_direction(generator: torch.Generator) -> Case:
    """Draw a length and one of three families."""
    return {
        "direction": int(torch.randint(-1, 2, (), generator=generator)),
        "time": int(torch.randint(1, 9, (), generator=generator)),
    }


FAMILY_MASK = Task(
    function="family_mask",
    parameters=("direction", "time"),
    returns="truth values of shape (time, time): row i tells which places the place i may read",
    cases=draw_direction,
    examples=({"direction": 1, "time": 3}, {"direction": -1, "time": 2}),
    reference=family_mask,
    properties=tuple(
        Property(name, 1, towards(direction, equals(family_mask)))
        for name, direction in ((BOTH, 0), (LEFT, 1), (RIGHT, -1))
    ),
    misconceptions=(
        Misconception(
            "left and right exchanged",
            "left and right are exchanged: row i of the mask is the place that reads, and whoever reads from the left "
            "has the columns up to i",
            in_each_family(everything, from_the_right, from_the_left),
            breaks=LEFT,
        ),
        Misconception(
            "True means hidden",
            "this is True where a place may *not* be read; in this course True means that it may",
            changed(lambda mask: ~mask),
            breaks=BOTH,
        ),
        Misconception(
            "always causal",
            "this hides the future whatever the direction is",
            in_each_family(from_the_left, from_the_left, from_the_left),
            breaks=BOTH,
        ),
        Misconception(
            "the masked family made causal",
            "this hides the future from the masked family; it hides words by <mask>, in what is read, and its "
            "attention reads everywhere",
            in_each_family(from_the_left, from_the_left, from_the_right),
            breaks=BOTH,
        ),
        Misconception(
            "only two families",
            "direction -1 is treated like direction 1: whoever reads from the right has the columns from i on",
            in_each_family(everything, from_the_left, from_the_left),
            breaks=RIGHT,
        ),
        Misconception(
            "no mask from the right",
            "for direction -1 this hides nothing: whoever reads from the right has the columns from i on",
            in_each_family(everything, from_the_left, everything),
            breaks=RIGHT,
        ),
        Misconception(
            "mirrored along one axis",
            "for direction -1 this mirrors the causal mask along one axis, and its corner stands where the diagonal "
            "belongs: mirror both axes, or transpose",
            in_each_family(everything, from_the_left, lambda time: from_the_left(time).flip(1)),
            breaks=RIGHT,
        ),
        Misconception(
            "own place hidden, where a direction is",
            "this hides the place itself from those that read in one direction, and the place at the edge has nothing "
            "to read: keep the diagonal",
            in_each_family(
                everything,
                lambda time: from_the_left(time).tril(-1),
                lambda time: from_the_right(time).triu(1),
            ),
            breaks=LEFT,
        ),
        Misconception(
            "own place hidden from the masked family",
            "this hides each place from itself in the masked family: its word is hidden where it is chosen, by <mask>, "
            "and the mask of the attention hides nothing",
            in_each_family(lambda time: ~torch.eye(time, dtype=torch.bool), from_the_left, from_the_right),
            breaks=BOTH,
        ),
        Misconception(
            "numbers for truth values",
            "these are the numbers 0 and 1; a mask of this course holds truth values (`dtype=torch.bool`)",
            changed(lambda mask: mask.float()),
            breaks=BOTH,
        ),
        Misconception(
            "to be added",
            "this is a mask to be added to the scores, 0 and minus infinity; asked are truth values",
            changed(lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)),
            breaks=BOTH,
        ),
        Misconception(
            "an axis too many",
            "this has an axis of length 1 in front; asked is (time, time)",
            changed(lambda mask: mask[None]),
            breaks=BOTH,
        ),
    ),
)

# ---------------------------------------------------------------- targets


def the_chosen(tokens, chosen):
    """The word that stood there, where it was chosen."""
    return torch.where(chosen, tokens, NO_TARGET)


def the_next(tokens, chosen):
    """The word behind each place, and none for the last."""
    return pad(tokens[:, 1:], (0, 1), value=NO_TARGET)


def the_one_before(tokens, chosen):
    """The word before each place, and none for the first."""
    return pad(tokens[:, :-1], (1, 0), value=NO_TARGET)


family_targets = in_each_family(the_chosen, the_next, the_one_before)


def draw_tokens_and_chosen(generator: torch.Generator) -> Case:
    """Draw a batch of words, and which of them were chosen."""
    batch, time = sizes(generator, 4, 7)
    return {
        "tokens": torch.randint(1, 60, (batch, time), generator=generator),
        "chosen": torch.rand(batch, time, generator=generator) < 0.4,
        "direction": int(torch.randint(-1, 2, (), generator=generator)),
    }


def overwritten(tokens, chosen):
    """The chosen, in the caller's own tensor."""
    tokens[~chosen] = NO_TARGET
    return tokens


def only_chosen(targets):
    """The targets at chosen places."""
    return lambda tokens, chosen: torch.where(chosen, targets(tokens, chosen), NO_TARGET)


def rolled(steps):
    """The tokens round a circle."""
    return lambda tokens, chosen: tokens.roll(steps, 1)


FAMILY_TARGETS = Task(
    function="family_targets",
    parameters=("tokens", "chosen", "direction"),
    returns="the token that is due at each place, -100 where none is, shape (batch, time)",
    cases=draw_tokens_and_chosen,
    examples=(
        {
            "tokens": torch.tensor([[5, 8, 6, 9]]),
            "chosen": torch.tensor([[False, True, False, False]]),
            "direction": -1,
        },
    ),
    reference=family_targets,
    properties=tuple(
        Property(name, 1, towards(direction, both(equals(family_targets), inputs_unchanged)))
        for name, direction in ((BOTH, 0), (LEFT, 1), (RIGHT, -1))
    ),
    misconceptions=(
        Misconception(
            "not shifted",
            "the families that read in one direction are asked for the word that they read: a model would learn to "
            "copy; due is the next word in the direction of reading",
            in_each_family(the_chosen, lambda tokens, chosen: tokens, lambda tokens, chosen: tokens),
            breaks=LEFT,
        ),
        Misconception(
            "left and right exchanged",
            "this asks each for the word that it has read a moment ago: whoever reads from the left is asked for the "
            "word to the right, and the other way round",
            in_each_family(the_chosen, the_one_before, the_next),
            breaks=LEFT,
        ),
        Misconception(
            "only two families",
            "direction -1 is treated like direction 1, and asked for the word at its right, which it can read; due is "
            "the one at its left",
            in_each_family(the_chosen, the_next, the_next),
            breaks=RIGHT,
        ),
        Misconception(
            "round a circle",
            f"`roll` makes the last place predict the first word of its own text; nothing is due there: {NO_TARGET}",
            in_each_family(the_chosen, rolled(-1), rolled(1)),
            breaks=LEFT,
        ),
        Misconception(
            "0 at the edge",
            f"where a text ends, 0 is due here, which is a token; nothing is: {NO_TARGET}",
            in_each_family(
                the_chosen,
                lambda tokens, chosen: pad(tokens[:, 1:], (0, 1)),
                lambda tokens, chosen: pad(tokens[:, :-1], (1, 0)),
            ),
            breaks=LEFT,
        ),
        Misconception(
            "one short",
            "these targets are one place short; asked is (batch, time), with "
            f"{NO_TARGET} at the place that has no next word",
            in_each_family(the_chosen, lambda tokens, chosen: tokens[:, 1:], lambda tokens, chosen: tokens[:, :-1]),
            breaks=LEFT,
        ),
        Misconception(
            "chosen for all families",
            "this asks only at the chosen places, whatever the family; `chosen` matters to the masked family alone, "
            "the others learn from every place that has a next word",
            in_each_family(the_chosen, only_chosen(the_next), only_chosen(the_one_before)),
            breaks=LEFT,
        ),
        Misconception(
            "masked family asked everywhere",
            "this asks the masked family for every word, most of which it can read where they stand; only the chosen "
            f"ones are due, and {NO_TARGET} elsewhere",
            in_each_family(lambda tokens, chosen: tokens, the_next, the_one_before),
            breaks=BOTH,
        ),
        Misconception(
            "chosen turned round",
            "this asks the masked family for the words that were *not* chosen",
            in_each_family(lambda tokens, chosen: the_chosen(tokens, ~chosen), the_next, the_one_before),
            breaks=BOTH,
        ),
        Misconception(
            "masked family shifted",
            "this asks the masked family for the word behind each chosen one; due is the word of that very place, "
            "which <mask> may have hidden",
            in_each_family(only_chosen(the_next), the_next, the_one_before),
            breaks=BOTH,
        ),
        Misconception(
            "always the next",
            "this is the target of direction 1, whatever the direction is",
            in_each_family(the_next, the_next, the_next),
            breaks=BOTH,
        ),
        Misconception(
            "tokens overwritten",
            "this writes into the caller's own tokens (`tokens[~chosen] = ...`); `torch.where` makes a new tensor",
            in_each_family(overwritten, the_next, the_one_before),
            breaks=BOTH,
        ),
    ),
)

FAMILIES = Exercise(
    id="12.4",
    title="Turn the mask round",
    difficulty=2,
    minutes=30,
    tasks=(FAMILY_MASK, FAMILY_TARGETS, FROM_THE_RIGHT),
    hints=(
        "For each family write down, for a text of three words, which words the middle place may read and which one "
        "it is asked for. The word that is due must never be among those that are read, unless <mask> has hidden it.",
        "A mask is the lower triangle, the upper triangle or all of a square, each with its diagonal. The targets are "
        "the tokens moved one place against the direction of reading, and the place that is left empty gets -100. To "
        "read from the right, turn the text round, let the model read, and undo the turning.",
        "A square of `torch.ones` with `dtype=torch.bool` has `.tril()` and `.triu()`. `torch.full_like` makes a "
        "tensor full of -100 into which `tokens[:, 1:]` or `tokens[:, :-1]` can be written. A tensor is turned "
        "round by `.flip(1)`, and the scores are a tensor too.",
    ),
)
