"""First part of exercise 09.2, shift right: what the decoder reads, and which steps count."""

from collections.abc import Callable

import torch
from torch.nn.functional import pad

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, equals, inputs_unchanged, of_output
from course_lib.grading.wording import describe_case


def shifted(targets, start):
    """The start, then every word but the last."""
    return pad(targets, (1, -1), value=start)


def shift_right(targets, start, padding):
    """What the decoder reads, and where the word to be said is no padding."""
    return shifted(targets, start), targets != padding


def draw_targets(generator: torch.Generator) -> Case:
    """Draw sentences of different lengths, each with an end; in a third of the cases the start is the padding too."""
    batch, time = sizes(generator, 3, 4)
    time += 1
    padding, start, end = (5, 5, 6) if torch.rand((), generator=generator) < 1 / 3 else (0, 1, 2)
    lengths = torch.randint(1, time + 1, (batch, 1), generator=generator)
    lengths[0] = torch.randint(1, time, (), generator=generator)  # something is padding
    words = torch.randint(7, 12, (batch, time), generator=generator)
    places = torch.arange(time)
    targets = words.masked_fill(places == lengths - 1, end).masked_fill(places >= lengths, padding)
    return {"targets": targets, "start": start, "padding": padding}


def shows_no_answer(call: Call, case: Case) -> str | None:
    """Replace the words from step t on: what is read up to and including step t stays, for every t."""
    before, _ = answer_like(shift_right, call, case)
    for step in range(case["targets"].shape[1]):
        other = case["targets"].clone()
        other[:, step:] += 1
        after = call(case | {"targets": other})
        if after.shape != before.shape or (moved := (after != before)[:, : step + 1].any(0)).any():
            where = "the shape" if after.shape != before.shape else f"what step {int(moved.nonzero()[0])} reads"
            return (
                f"{describe_case(case)}, then other words to say from step {step} on, counted from 0: {where} changed"
            )
    return None


def with_words(change: Callable) -> Callable:
    """Return the answer whose words are change(targets, start), and whose steps are right."""
    return lambda targets, start, padding: (change(targets, start), targets != padding)


def with_counts(change: Callable) -> Callable:
    """Return the answer whose words are right, and whose steps are change(targets, words, padding)."""

    def answer(targets, start, padding):
        words = shifted(targets, start)
        return words, change(targets, words, padding)

    return answer


def column(targets, start):
    """The start, once for each sentence."""
    return torch.full_like(targets[:, :1], start)


def start_written_over(targets, start):
    """Shift in place."""
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start
    return targets


def overwritten(targets, start, padding):
    """The right answer, and the targets overwritten."""
    counts = targets != padding
    return start_written_over(targets, start), counts


NO_ANSWER_SHOWN = "no step is shown the word that it has to say"
SHIFTED = "each step reads the word before its own"
COUNTED = "a step counts where it has a word to say"

SHIFT_RIGHT = Task(
    function="shift_right",
    parameters=("targets", "start", "padding"),
    returns="what the decoder reads, shape (batch, time), integers, and which steps count, the same shape of bool",
    outputs=("words", "counts"),
    cases=draw_targets,
    examples=({"targets": torch.tensor([[7, 9, 8, 2], [8, 2, 0, 0]]), "start": 1, "padding": 0},),
    reference=shift_right,
    properties=(
        Property(NO_ANSWER_SHOWN, 1, of_output(0, shows_no_answer)),
        Property(SHIFTED, 1, both(of_output(0, equals(shift_right)), inputs_unchanged)),
        Property(COUNTED, 2, of_output(1, equals(shift_right))),
    ),
    misconceptions=(
        Misconception(
            "not shifted",
            "this gives each step the word that it has to say: it would learn to copy, and have nothing to copy when "
            "it writes alone",
            with_words(lambda targets, start: targets.clone()),
            breaks=NO_ANSWER_SHOWN,
        ),
        Misconception(
            "first word replaced",
            "this writes the start over the first word and shifts nothing: every later step is shown its own answer",
            with_words(lambda targets, start: torch.cat([column(targets, start), targets[:, 1:]], 1)),
            breaks=NO_ANSWER_SHOWN,
        ),
        Misconception(
            "shifted to the left",
            "this shifts the words to the left, so that each step reads the word after its own",
            with_words(lambda targets, start: torch.cat([targets[:, 1:], column(targets, start)], 1)),
            breaks=NO_ANSWER_SHOWN,
        ),
        Misconception(
            "rolled",
            "this rolls the words round: the first step reads the last word; it should read the start",
            with_words(lambda targets, start: targets.roll(1, 1)),
            breaks=NO_ANSWER_SHOWN,
        ),
        Misconception(
            "last word kept",
            "this puts the start in front and drops nothing, one word too many; nobody reads the last word, since "
            "after it there is nothing to say",
            with_words(lambda targets, start: torch.cat([column(targets, start), targets], 1)),
            breaks=SHIFTED,
        ),
        Misconception(
            "no start",
            "this drops the last word and puts no start in front: one word too few",
            with_words(lambda targets, start: targets[:, :-1].clone()),
            breaks=SHIFTED,
        ),
        Misconception(
            "shifted along the batch",
            "this shifts along the batch (dim=0): each sentence reads another one",
            with_words(lambda targets, start: torch.cat([torch.full_like(targets[:1], start), targets[:-1]])),
            breaks=SHIFTED,
        ),
        Misconception(
            "floats",
            "these are the right words as floats, and an embedding is looked up by integers: `torch.full` and "
            "`torch.zeros` need `dtype=targets.dtype`",
            with_words(lambda targets, start: shifted(targets, start).float()),
            breaks=SHIFTED,
        ),
        Misconception(
            "counted by what is read",
            "this counts the steps at which the word that is *read* is no padding; a step is paid for the word that "
            "it has to say: the step after the end reads the end and has nothing left to say, and the first step "
            "counts whatever the start is",
            with_counts(lambda targets, words, padding: words != padding),
            breaks=COUNTED,
        ),
        Misconception(
            "the end left out",
            "this leaves out the last word of each sentence, which is the sign that it ends: no model would learn to "
            "stop",
            with_counts(
                lambda targets, words, padding: (
                    (targets != padding) & (pad(targets[:, 1:], (0, 1), value=padding) != padding)
                )
            ),
            breaks=COUNTED,
        ),
        Misconception(
            "counts by both",
            "this counts a step only where neither the word to be said nor the word that is read is padding; where "
            "the start is the padding too, the first step is lost",
            with_counts(lambda targets, words, padding: (targets != padding) & (words != padding)),
            breaks=COUNTED,
        ),
        Misconception(
            "every step counts",
            "this counts every step; where the target is padding there is nothing to say",
            with_counts(lambda targets, words, padding: torch.ones_like(targets, dtype=torch.bool)),
            breaks=COUNTED,
        ),
        Misconception(
            "padding counts",
            "this is True where the target is padding; True means that a step counts",
            with_counts(lambda targets, words, padding: targets == padding),
            breaks=COUNTED,
        ),
        Misconception(
            "zero for the padding",
            "this takes the word 0 for padding; which word it is, `padding` says",
            with_counts(lambda targets, words, padding: targets != 0),
            breaks=COUNTED,
        ),
        Misconception(
            "counts as numbers",
            "these are the right steps as numbers; True and False were asked for",
            with_counts(lambda targets, words, padding: (targets != padding).long()),
            breaks=COUNTED,
        ),
        Misconception(
            "how many",
            "this is how many steps of each sentence count; asked for is which",
            with_counts(lambda targets, words, padding: (targets != padding).sum(1)),
            breaks=COUNTED,
        ),
        Misconception(
            "targets overwritten",
            "this shifts the caller's targets in place, and the loss is then taken against the wrong words",
            overwritten,
            breaks=SHIFTED,
        ),
    ),
)
