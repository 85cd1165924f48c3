"""15.3: captions by greedy decoding, for a whole batch at once, each up to its own end."""

import torch

from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import both, equals, inputs_unchanged, of_output
from course_lib.grading.exercise import Case, Exercise, Given, Property, Task
from course_lib.grading.problem import Problem

VOCABULARY_SIZE = 5
# What the memory of each picture holds is added up; what follows depends on all words and their positions.
MODELS = tuple(
    Given(
        f"a model that reads {what}",
        "lambda memory, words: torch.sin((((words + 1.37).double() * torch.arange(1.0, words.shape[1] + 1).double()"
        ".sqrt()).sum(1, keepdim=True) + memory.double().sum(1, keepdim=True)) * "
        f"torch.arange({first}.0, {first + VOCABULARY_SIZE}.0).double().square()).float()",
    )
    for what, first in (("every word", 2), ("all that was written", 3))
)
# For the example: the number of the last word and of the memory are added, and 5 is the largest.
COUNTS_UP = Given(
    "a model that adds the memory to the last word, up to 5",
    "lambda memory, words: torch.nn.functional.one_hot((words[:, -1] + memory[:, 0].long()).clamp(max=5), 6).float()",
)


def write_captions(next_token_logits, memory, start, end, max_length):
    """The most probable word at every step, with ends after the first of each caption, and which have one."""
    words = torch.full((len(memory), max_length + 1), start)
    for step in range(max_length):
        best = next_token_logits(memory, words[:, : step + 1]).argmax(-1)
        words[:, step + 1] = best.masked_fill((words[:, 1 : step + 1] == end).any(1), end)
    return words[:, 1:], (words[:, 1:] == end).any(1)


def draw_writing(generator: torch.Generator) -> Case:
    """Draw a model, the memory of each picture, a start and an end that are not 0, and a length."""
    batch, width, max_length = (least + size for least, size in zip((1, 0, 1), sizes(generator, 3, 3, 4), strict=True))
    start = sizes(generator, VOCABULARY_SIZE - 1)[0]
    end = 1 + (start + sizes(generator, VOCABULARY_SIZE - 3, least=0)[0]) % (VOCABULARY_SIZE - 1)
    return {
        "next_token_logits": MODELS[int(torch.randint(len(MODELS), (), generator=generator))],
        "memory": torch.randn(batch, width, generator=generator),
        "start": start,
        "end": end,
        "max_length": max_length,
    }


def up_to_the_end(words: torch.Tensor, end: int) -> torch.Tensor:
    """Return True up to and including the first end of each row."""
    return ((words == end).cumsum(1) - (words == end).long()) == 0


def most_probable_words(case: Case):
    """Every word up to the end of its caption is the one with the largest logit; looks at the words alone."""
    reply = yield case
    wrong = (reply.value != reply.expected) & up_to_the_end(reply.expected, case["end"])
    if not wrong.any():
        return None
    row, position = wrong.nonzero()[0].tolist()
    where, note = f"the caption of picture {row}", f"the words part at position {position}"
    return Problem("value", case, where=where, got=reply.value[row], expected=reply.expected[row], note=note)


def nothing_but_ends(case: Case):
    """After its first end, and after the one expected, a row holds ends; looks at the words alone."""
    reply = yield case
    before_both = up_to_the_end(reply.value, case["end"]) & up_to_the_end(reply.expected, case["end"])
    wrong = (reply.value != case["end"]) & ~before_both
    if not wrong.any():
        return None
    row = int(wrong.nonzero()[0, 0])
    said = {"where": f"the caption of picture {row}", "note": "after the end, ends alone"}
    return Problem("value", case, got=reply.value[row], expected=reply.expected[row], **said)


def as_if_alone(case: Case):
    """Each picture, given alone, gets the caption that it has among others; looks at the words alone."""
    rows = range(len(case["memory"]))
    together, *alone = yield [case, *(case | {"memory": case["memory"][row : row + 1]} for row in rows)]
    for row in rows:
        got, expected = together.value[row], alone[row].value[0]
        if not torch.equal(got, expected):
            said = {"where": f"the caption of picture {row}", "note": "as when the picture is given alone"}
            return Problem("value", case, got=got, expected=expected, **said)
    return None


MISTAKES = """
the last word alone => every word is the most probable one after all before it
- best = next_token_logits(memory, words).argmax(dim=-1)
+ best = next_token_logits(memory, words[:, -1:]).argmax(dim=-1)
this hands `next_token_logits` the last word only; the model reads all words so far, the start first: without them it
does not know what it has said

the start not read => every word is the most probable one after all before it
+ best = next_token_logits(memory, words[:, 1:] if words.shape[1] > 1 else words).argmax(dim=-1)
from the second word on `next_token_logits` is no longer given the start: every position moves by one

the start written too => every word is the most probable one after all before it
- return words[:, 1:], ended
+ return words, ended
the start stands in front of the words: it is read and is not part of the caption

the start counted => every word is the most probable one after all before it
+ return words[:, :-1], (words[:, 1:-1] == end).any(dim=1)
the start stands in front and counts as one of `max_length` words; it is no part of the caption

zero for the start => every word is the most probable one after all before it
- words = torch.full((len(memory), 1), start)
+ words = torch.full((len(memory), 1), 0)
this begins with the word 0; with which word a caption begins, `start` says

the least probable word => every word is the most probable one after all before it
- best = next_token_logits(memory, words).argmax(dim=-1)
+ best = next_token_logits(memory, words).argmin(dim=-1)
this takes the word with the smallest logit

written on after the end => after its end a caption holds ends alone, up to the length asked for
- word = torch.where(ended, end, best)
+ word = best
this writes on after the end: what the model says then means nothing, since no caption that it learned from goes on
there; a row that has ended is filled with ends

filled with zeros => after its end a caption holds ends alone, up to the length asked for
+ word = torch.where(ended, 0, best)
after the end stand zeros, which are a word; a caption that has ended is filled with `end`

filled with the start => after its end a caption holds ends alone, up to the length asked for
+ word = torch.where(ended, start, best)
after the end stands `start`; a caption that has ended is filled with `end`

cut short => after its end a caption holds ends alone, up to the length asked for
- words = torch.cat([words, rearrange(word, "batch -> batch 1")], dim=1)
+ words = torch.cat([words, rearrange(word, "batch -> batch 1")], dim=1)
+ if ended.all():
+     break
the captions are right and too short: to stop when all have ended saves work, but `max_length` columns were asked for,
so that the shape does not depend on what was said; fill up with ends

zero for the end => after its end a caption holds ends alone, up to the length asked for
- words = torch.full((len(memory), 1), start)
+ words, end = torch.full((len(memory), 1), start), 0
this takes the word 0 for the end; which word it is, `end` says

stopped together => a picture's caption does not depend on the other pictures
- word = torch.where(ended, end, best)
+ word = torch.where(ended.any(), end, best)
this stops all captions when the first has ended: the others are cut off in the middle; stop when all have ended,
`.all()` and not `.any()`

stopped together, the others open => a picture's caption does not depend on the other pictures
- word = torch.where(ended, end, best)
- ended = ended | (word == end)
+ word = torch.where(ended.any(), end, best)
+ ended = torch.where(ended.any(), ended, best == end)

the start ends => which captions have ended
- ended = torch.zeros(len(memory), dtype=torch.bool)
+ ended = torch.full((len(memory),), start == end)
this takes the start for an end where both are the same integer, and nothing is written; a caption ends with a word that
it has written, and the start is only read

first picture for all => a picture's caption does not depend on the other pictures
- best = next_token_logits(memory, words).argmax(dim=-1)
+ best = next_token_logits(memory[:1].expand_as(memory), words).argmax(dim=-1)
every caption was written for the first picture: row i of the words goes with row i of the memory

all have ended => which captions have ended
- return words[:, 1:], ended
+ return words[:, 1:], torch.ones_like(ended)
this says of every caption that it has ended; one that is cut off after `max_length` words has not

true for open => which captions have ended
+ return words[:, 1:], ~ended
this is True where a caption is still open; True was asked for where it has ended

the last step not looked at => which captions have ended
+ return words[:, 1:], (words[:, 1:-1] == end).any(dim=1)
an end that is written at the last step counts as well: look at the new word, and not only at those before it

ended as numbers => which captions have ended
+ return words[:, 1:], ended.long()
these are the right captions as numbers; True and False were asked for

how many words => which captions have ended
+ return words[:, 1:], (words[:, 1:] != end).sum(dim=1)
this is how many words come before the end; asked for is whether it was written

words as floats => every word is the most probable one after all before it
+ return words[:, 1:].float(), ended
these are the right words as floats, and an embedding is looked up by integers

the pictures of others => a picture's caption does not depend on the other pictures
- best = next_token_logits(memory, words).argmax(dim=-1)
- word = torch.where(ended, end, best)
+ going = (~ended).nonzero().flatten()
+ word = torch.full((len(memory),), end)
+ if len(going):
+     word[going] = next_token_logits(memory[: len(going)], words[going]).argmax(dim=-1)
when some captions have ended, the others are written with the pictures of the first rows; choose the memory by the same
rows as the words
"""

EXERCISE = Exercise(
    title="Writing captions",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="write_captions",
            parameters=("next_token_logits", "memory", "start", "end", "max_length"),
            returns="the words, shape (batch, max_length), integers, and which captions have ended, shape (batch,) of "
            "bool",
            outputs=("words", "ended"),
            cases=draw_writing,
            examples=tuple(
                {"next_token_logits": COUNTS_UP, "memory": memory, "start": 0, "end": 5, "max_length": max_length}
                # Some captions end and some do not; one ends at its first step, and one at its last.
                for memory, max_length in (
                    (torch.tensor([[1.0], [2.0]]), 4),
                    (torch.tensor([[5.0]]), 3),
                    (torch.tensor([[1.0]]), 5),
                )
            ),
            edges=(
                # One word, and it is the end for one picture and not for the other.
                {
                    "next_token_logits": COUNTS_UP,
                    "memory": torch.tensor([[5.0], [1.0]]),
                    "start": 0,
                    "end": 5,
                    "max_length": 1,
                },
                # The end is the start, too: nothing has ended before anything was written.
                {
                    "next_token_logits": COUNTS_UP,
                    "memory": torch.tensor([[1.0], [0.0]]),
                    "start": 4,
                    "end": 4,
                    "max_length": 3,
                },
                {
                    "next_token_logits": COUNTS_UP,
                    "memory": torch.tensor([[0.0], [2.0], [1.0]]),
                    "start": 5,
                    "end": 5,
                    "max_length": 2,
                },
                # The end is 0; two pictures that are alike.
                {
                    "next_token_logits": MODELS[0],
                    "memory": torch.tensor([[0.5], [0.5]]),
                    "start": 1,
                    "end": 0,
                    "max_length": 4,
                },
            ),
            reference=write_captions,
            properties=(
                Property(
                    "every word is the most probable one after all before it",
                    2,
                    of_output(0, both(most_probable_words, inputs_unchanged)),
                ),
                Property(
                    "after its end a caption holds ends alone, up to the length asked for",
                    2,
                    of_output(0, nothing_but_ends),
                ),
                Property("a picture's caption does not depend on the other pictures", 2, of_output(0, as_if_alone)),
                Property("which captions have ended", 2, of_output(1, equals())),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "When the first caption of a batch has ended and another has not, what does the next column hold for each of "
        "the two?",
        "Begin with a column of starts and with no caption ended. At every step: logits of the words so far, the best "
        "word of each row, the end in its place where the caption had ended before, and only then note which have "
        "ended now; add the column. Return all columns but the first.",
        "`torch.where(ended, end, logits.argmax(dim=-1))` is the new column, before `ended` takes in "
        "`... == end`; `torch.full((len(memory), 1), start)` is what everything begins with.",
    ),
)
