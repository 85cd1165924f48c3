"""Exercise 15.3, writing captions: for a whole batch at once, each up to its own end."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import answer_like, both, equals, inputs_unchanged, of_output
from course_lib.grading.wording import describe, describe_case

VOCABULARY = 5
# What the memory of each picture holds is added up; what follows depends on all words and their places.
MODELS = tuple(
    Given(
        f"a model that reads {what}",
        "lambda memory, words: torch.sin((((words + 1.37).double() * torch.arange(1.0, words.shape[1] + 1).double()"
        ".sqrt()).sum(1, keepdim=True) + memory.double().sum(1, keepdim=True)) * "
        f"torch.arange({first}.0, {first + VOCABULARY}.0).double().square()).float()",
    )
    for what, first in (("every word", 2), ("all that was written", 3))
)
# For the example: the number of the last word and of the memory are added, and 5 is the largest.
COUNTS_UP = Given(
    "a model that adds the memory to the last word, up to 5",
    "lambda memory, words: torch.nn.functional.one_hot((words[:, -1] + memory[:, 0].long()).clamp(max=5), 6).float()",
)


def write(
    next_scores,
    memory,
    start,
    end,
    longest,
    choose: Callable = lambda scores: scores.argmax(-1),
    read: Callable = lambda words: words,
    fill: int | None = -1,
    stop: Callable | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the words after the start and where captions have ended; the options are ways to go wrong.

    `fill` is what stands after the end, where -1 means the end and None whatever the model says; `stop` tells when all
    are left as they are: cut short, in place of filled up.
    """
    words = torch.full((len(memory), 1), start)
    ended = torch.zeros(len(memory), dtype=torch.bool)
    for _ in range(longest):
        word = choose(next_scores(memory, read(words)))
        if fill is not None:
            word = torch.where(ended, end if fill == -1 else fill, word)
        ended = ended | (word == end)
        words = torch.cat([words, word[:, None]], 1)
        if stop is not None and stop(ended):
            break
    return words[:, 1:], ended


def write_captions(next_scores, memory, start, end, longest):
    """The most probable word at every step, up to the end of each caption, and which have ended."""
    return write(next_scores, memory, start, end, longest)


def by(**options) -> Callable:
    """Return the answer with options."""
    return lambda **named: write(**named, **options)


def then(change: Callable) -> Callable:
    """Return the right captions of which change(words, ended, case) makes something else."""
    return lambda **named: change(*write_captions(**named), named)


def stopped_together(next_scores, memory, start, end, longest):
    """Everything stops, and is filled with ends, when the first caption has ended."""
    words, ended = write(next_scores, memory, start, end, longest, stop=lambda ended: bool(ended.any()))
    filled = torch.nn.functional.pad(words, (0, longest - words.shape[1]), value=end)
    return filled, (filled == end).any(1)


def start_written_too(next_scores, memory, start, end, longest):
    """The start in front."""
    words, ended = write_captions(next_scores, memory, start, end, longest)
    return torch.cat([torch.full_like(words[:, :1], start), words], 1), ended


def start_counted(next_scores, memory, start, end, longest):
    """The start in front, and one word fewer."""
    words, ended = start_written_too(next_scores, memory, start, end, longest)
    return words[:, :-1], (words[:, 1:-1] == end).any(1)


def first_picture_for_all(next_scores, memory, start, end, longest):
    """The memory of the first picture for every caption."""
    return write_captions(next_scores, memory[:1].expand_as(memory), start, end, longest)


def filled_with_the_start(next_scores, memory, start, end, longest):
    """The start where a caption has ended."""
    return write(next_scores, memory, start, end, longest, fill=start)


def end_is_zero(next_scores, memory, start, end, longest):
    """The word 0 for the end."""
    return write_captions(next_scores, memory, start, 0, longest)


def start_is_zero(next_scores, memory, start, end, longest):
    """The word 0 for the start."""
    return write_captions(next_scores, memory, 0, end, longest)


def draw_writing(generator: torch.Generator) -> Case:
    """Draw a model, the memory of each picture, a start and an end that are not 0, and a length."""
    batch, places, longest = (least + size for least, size in zip((1, 0, 1), sizes(generator, 3, 3, 4), strict=True))
    start = sizes(generator, VOCABULARY - 1)[0]
    end = 1 + (start + sizes(generator, VOCABULARY - 3, least=0)[0]) % (VOCABULARY - 1)
    return {
        "next_scores": MODELS[int(torch.randint(len(MODELS), (), generator=generator))],
        "memory": torch.randn(batch, places, generator=generator),
        "start": start,
        "end": end,
        "longest": longest,
    }


def up_to_the_end(words: torch.Tensor, end: int) -> torch.Tensor:
    """Return True up to and including the first end of each row."""
    return ((words == end).cumsum(1) - (words == end).long()) == 0


def most_probable_words(call: Call, case: Case) -> str | None:
    """Every word up to the end of its caption is the one with the largest score; the call is seen through the words."""
    words, expected = answer_like(write_captions, call, case)
    wrong = (words != expected) & up_to_the_end(expected, case["end"])
    if not wrong.any():
        return None
    row, place = wrong.nonzero()[0].tolist()
    return (
        f"{describe_case(case)}: the caption of picture {row} came {describe(words[row])}, expected "
        f"{describe(expected[row])}: the words part at place {place}"
    )


def nothing_but_ends(call: Call, case: Case) -> str | None:
    """After its first end a row of the answer holds ends; the call is seen through the words."""
    words, _ = answer_like(write_captions, call, case)
    wrong = (words != case["end"]) & ~up_to_the_end(words, case["end"])
    if not wrong.any() and words.shape[1] == case["longest"]:
        expected = call.expected(write_captions, case)
        after = ~up_to_the_end(expected, case["end"])
        wrong = after & (words != expected)
    if not wrong.any():
        return None
    row = int(wrong.nonzero()[0, 0])
    return f"{describe_case(case)}: the caption of picture {row} came {describe(words[row])}: after its end, ends alone"


def as_if_alone(call: Call, case: Case) -> str | None:
    """Each picture, given alone, gets the caption that it has among others."""
    together, ended = call(case)
    for row in range(len(case["memory"])):
        words, over = call(case | {"memory": case["memory"][row : row + 1]})
        if not torch.equal(words[0], together[row]) or not torch.equal(over[0], ended[row]):
            return (
                f"{describe_case(case)}: the caption of picture {row} came {describe(together[row])}, and "
                f"{describe(words[0])} when the picture is given alone"
            )
    return None


GREEDY = "every word is the most probable one after all before it"
AFTER = "after its end a caption holds ends alone, up to the length asked for"
APART = "a picture's caption does not depend on the other pictures"
ENDED = "which captions have ended"

WRITING = Exercise(
    id="15.3",
    title="Writing captions",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="write_captions",
            parameters=("next_scores", "memory", "start", "end", "longest"),
            returns="the words, shape (batch, longest), integers, and which captions have ended, shape (batch,) of "
            "bool",
            outputs=("words", "ended"),
            cases=draw_writing,
            examples=(
                {
                    "next_scores": COUNTS_UP,
                    "memory": torch.tensor([[1.0], [2.0]]),
                    "start": 0,
                    "end": 5,
                    "longest": 4,
                },
                {"next_scores": COUNTS_UP, "memory": torch.tensor([[5.0]]), "start": 0, "end": 5, "longest": 3},
            ),
            reference=write_captions,
            properties=(
                Property(GREEDY, 2, both(of_output(0, most_probable_words), inputs_unchanged)),
                Property(AFTER, 2, of_output(0, nothing_but_ends)),
                Property(APART, 2, as_if_alone),
                Property(ENDED, 2, of_output(1, equals(write_captions))),
            ),
            misconceptions=(
                Misconception(
                    "the last word alone",
                    "this hands `next_scores` the last word only; the model reads all words so far, the start first: "
                    "without them it does not know what it has said",
                    by(read=lambda words: words[:, -1:]),
                    breaks=GREEDY,
                ),
                Misconception(
                    "the start not read",
                    "from the second word on `next_scores` is no longer given the start: every place moves by one",
                    by(read=lambda words: words[:, 1:] if words.shape[1] > 1 else words),
                    breaks=GREEDY,
                ),
                Misconception(
                    "the start written too",
                    "the start stands in front of the words: it is read and is not part of the caption",
                    start_written_too,
                    breaks=GREEDY,
                ),
                Misconception(
                    "the start counted",
                    "the start stands in front and counts as one of `longest` words; it is no part of the caption",
                    start_counted,
                    breaks=GREEDY,
                ),
                Misconception(
                    "zero for the start",
                    "this begins with the word 0; with which word a caption begins, `start` says",
                    start_is_zero,
                    breaks=GREEDY,
                ),
                Misconception(
                    "the least probable word",
                    "this takes the word with the smallest score",
                    by(choose=lambda scores: scores.argmin(-1)),
                    breaks=GREEDY,
                ),
                Misconception(
                    "written on after the end",
                    "this writes on after the end: what the model says then means nothing, since no caption that it "
                    "learned from goes on there; a row that has ended is filled with ends",
                    by(fill=None),
                    breaks=AFTER,
                ),
                Misconception(
                    "filled with zeros",
                    "after the end stand zeros, which are a word; a caption that has ended is filled with `end`",
                    by(fill=0),
                    breaks=AFTER,
                ),
                Misconception(
                    "filled with the start",
                    "after the end stands `start`; a caption that has ended is filled with `end`",
                    filled_with_the_start,
                    breaks=AFTER,
                ),
                Misconception(
                    "cut short",
                    "the captions are right and too short: to stop when all have ended saves work, but `longest` "
                    "columns were asked for, so that the shape does not depend on what was said; fill up with ends",
                    by(stop=lambda ended: bool(ended.all())),
                    breaks=AFTER,
                ),
                Misconception(
                    "zero for the end",
                    "this takes the word 0 for the end; which word it is, `end` says",
                    end_is_zero,
                    breaks=AFTER,
                ),
                Misconception(
                    "stopped together",
                    "this stops all captions when the first has ended: the others are cut off in the middle; stop when "
                    "all have ended, `.all()` and not `.any()`",
                    stopped_together,
                    breaks=APART,
                ),
                Misconception(
                    "first picture for all",
                    "every caption was written for the first picture: row i of the words goes with row i of the memory",
                    first_picture_for_all,
                    breaks=APART,
                ),
                Misconception(
                    "all have ended",
                    "this says of every caption that it has ended; one that is cut off after `longest` words has not",
                    then(lambda words, ended, case: (words, torch.ones_like(ended))),
                    breaks=ENDED,
                ),
                Misconception(
                    "true for open",
                    "this is True where a caption is still open; True was asked for where it has ended",
                    then(lambda words, ended, case: (words, ~ended)),
                    breaks=ENDED,
                ),
                Misconception(
                    "the last step not looked at",
                    "an end that is written at the last step counts as well: look at the new word, and not only at "
                    "those before it",
                    then(lambda words, ended, case: (words, (words[:, :-1] == case["end"]).any(1))),
                    breaks=ENDED,
                ),
                Misconception(
                    "ended as numbers",
                    "these are the right captions as numbers; True and False were asked for",
                    then(lambda words, ended, case: (words, ended.long())),
                    breaks=ENDED,
                ),
                Misconception(
                    "how many words",
                    "this is how many words come before the end; asked for is whether it was written",
                    then(lambda words, ended, case: (words, (words != case["end"]).sum(1))),
                    breaks=ENDED,
                ),
                Misconception(
                    "words as floats",
                    "these are the right words as floats, and an embedding is looked up by integers",
                    then(lambda words, ended, case: (words.float(), ended)),
                    breaks=GREEDY,
                ),
            ),
        ),
    ),
    hints=(
        "When the first caption of a batch has ended and another has not, what does the next column hold for each of "
        "the two?",
        "Begin with a column of starts and with no caption ended. At every step: scores of the words so far, the best "
        "word of each row, the end in its place where the caption had ended before, and only then note which have "
        "ended now; add the column. Return all columns but the first.",
        "`torch.where(ended, end, scores.argmax(dim=-1))` is the new column, before `ended` takes in "
        "`... == end`; `torch.full((len(memory), 1), start)` is what everything begins with.",
    ),
)
