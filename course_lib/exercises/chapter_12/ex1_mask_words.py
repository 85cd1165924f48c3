"""12.1: masked language modelling, the inputs and the targets."""

from collections.abc import Callable

import torch

from course_lib.exercises.drawing import sizes, uniform
from course_lib.grading.checks import both, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Check, Exercise, Property, Task
from course_lib.grading.problem import Problem


def is_selected(tokens, selection, first_word, mask_rate, **others):
    """Words whose number in `selection` is below the masking rate."""
    return (selection < mask_rate) & (tokens >= first_word)


def mask_words(tokens, corruption, replacements, vocab_size, mask_id, first_word, **others):
    """The 80/10/10 rule: inputs and targets."""
    selected = is_selected(tokens, first_word=first_word, **others)
    words = first_word + (replacements * (vocab_size - first_word)).long()
    changed = torch.where(corruption < 0.8, mask_id, torch.where(corruption < 0.9, words, tokens))
    return torch.where(selected, changed, tokens), torch.where(selected, tokens, -100)


def draw_text(generator: torch.Generator) -> Case:
    """Draw tokens of which some are special, and three numbers for each; `corruption` is often near 0.8 and 0.9."""
    batch, time, first_word, words = (
        least + size for least, size in zip((0, 1, 0, 2), sizes(generator, 4, 7, 4, 6), strict=True)
    )
    mask_id = int(torch.randint(first_word, (), generator=generator))
    selection, corruption, replacements, rare = torch.rand(4, batch, time, generator=generator)
    return {
        "tokens": torch.randint(first_word + words, (batch, time), generator=generator),
        "selection": selection,
        "corruption": torch.where(rare < 0.5, corruption, 0.7 + 0.3 * corruption),
        "replacements": replacements,
        "vocab_size": first_word + words,
        "mask_id": mask_id,
        "first_word": first_word,
        "mask_rate": round(uniform(generator, 0.2, 0.7), 2),
    }


def every_word_selected(case: Case) -> Case:
    """Let every word be selected."""
    return case | {"selection": torch.zeros_like(case["selection"])}


def every_word_replaced(case: Case) -> Case:
    """Let every word be selected and become a random token."""
    return every_word_selected(case) | {"corruption": torch.full_like(case["corruption"], 0.85)}


def right_where(output: int, selects: Callable[[Case], torch.Tensor], where: str) -> Check:
    """One output is what the reference gives at the positions that `selects(case)` selects; `where` describes them."""

    def check(case: Case):
        reply = yield case
        got, expected = reply.value[output], reply.expected[output]
        wrong = selects(case) & (got != expected)
        if not wrong.any():
            return None
        return Problem("value", case, where=where, got=got[wrong][0].item(), expected=expected[wrong][0].item())

    return check


def is_special(case: Case) -> torch.Tensor:
    """No word."""
    return case["tokens"] < case["first_word"]


special_spared = both(
    right_where(1, is_special, "the target of a special token, which is never selected"),
    right_where(0, is_special, "the input at a special token, which is never selected"),
)
rest_as_it_stands = right_where(
    0, lambda case: ~is_selected(**case), "the input at a position that is not selected, which keeps its token"
)

MISTAKES = """
special tokens selected => special tokens are never selected
- selected = (selection < mask_rate) & (tokens >= first_word)
+ selected = selection < mask_rate
this selects by `selection` alone, so that padding and <mask> itself become targets: only words are selected, tokens
from `first_word` on

only <mask> spared => special tokens are never selected
+ selected = (selection < mask_rate) & (tokens != mask_id)
this spares <mask> and selects the other special tokens, padding for one; a word is a token from `first_word` on

first word spared => a target at every selected position, and nowhere else: the word that stood there
+ selected = (selection < mask_rate) & (tokens > first_word)
this takes `first_word` for a special token; it is the first of the words: `>=`, not `>`

selection turned round => a target at every selected position, and nowhere else: the word that stood there
+ selected = (selection >= mask_rate) & (tokens >= first_word)
this selects where the number in `selection` is *not* below `mask_rate`; a masking rate of 0.15 is to select 15
positions in 100, not 85

all of them masked => `corruption` decides the input at selected positions
- inputs = torch.where(selected & (corruption < 0.8), mask_id, inputs)
+ inputs = torch.where(selected, mask_id, inputs)
this puts <mask> at every selected position and does not look at `corruption`; a model trained so never has to predict
a word that it can read

80 and 20 => `corruption` decides the input at selected positions
- inputs = torch.where(selected & (corruption < 0.9), words, tokens)
+ inputs = torch.where(selected, words, tokens)
this puts a random token wherever there is no <mask>; from 0.9 on the selected word is kept

masked or kept => `corruption` decides the input at selected positions
+ inputs = tokens
this keeps the word wherever there is no <mask>; from 0.8 up to 0.9 the input is a random token

kept and random exchanged => `corruption` decides the input at selected positions
+ inputs = torch.where(selected & (corruption >= 0.9), words, tokens)
this keeps the word from 0.8 up to 0.9 and puts a random token from 0.9 on; it is the other way round

masks overwritten => `corruption` decides the input at selected positions
- inputs = torch.where(selected & (corruption < 0.8), mask_id, inputs)
this puts a random token wherever `corruption` is below 0.9, over the <mask> too: take those of 0.8 or more, or set
<mask> last

masks and words exchanged => `corruption` decides the input at selected positions
- inputs = torch.where(selected & (corruption < 0.9), words, tokens)
- inputs = torch.where(selected & (corruption < 0.8), mask_id, inputs)
+ inputs = torch.where(selected & (corruption < 0.9), mask_id, tokens)
+ inputs = torch.where(selected & (corruption < 0.8), words, inputs)
this puts <mask> where a random token belongs, and a random token where <mask> belongs

selection as corruption => `corruption` decides the input at selected positions
+ inputs = torch.where(selected & (selection < 0.9 * mask_rate), words, tokens)
+ inputs = torch.where(selected & (selection < 0.8 * mask_rate), mask_id, inputs)
this uses `selection` once more to decide the input; a number below `mask_rate` is below 0.8 too, so that all selected
words are masked, or nearly all: use `corruption`

replacements as corruption => `corruption` decides the input at selected positions
+ inputs = torch.where(selected & (replacements < 0.9), words, tokens)
+ inputs = torch.where(selected & (replacements < 0.8), mask_id, inputs)
this uses `replacements` to decide the input; that is what `corruption` is for, and a random token sampled by the same
number would come from one end of the vocabulary

everything corrupted => positions that are not selected keep their token
+ inputs = torch.where(corruption < 0.9, words, tokens)
+ inputs = torch.where(corruption < 0.8, mask_id, inputs)
this masks and replaces at every position, selected or not; positions that are not selected keep their token

special tokens sampled => the random token is any word, and no special token
- words = first_word + (replacements * (vocab_size - first_word)).long()
+ words = (replacements * vocab_size).long()
this samples from the whole vocabulary, so that a word may become padding or <mask>: sample from the words, which begin
at `first_word`

sampled beyond the vocabulary => the random token is any word, and no special token
+ words = first_word + (replacements * vocab_size).long()
this adds `first_word` to a number below `vocab_size`, and may give a token that does not exist; there are
`vocab_size - first_word` words

first word never sampled => the random token is any word, and no special token
+ words = first_word + (replacements * (vocab_size - first_word)).long() + 1
this counts the words from 1, so that the first is never sampled and one beyond the last may be: a number near 0 gives
`first_word` itself

rounded => the random token is any word, and no special token
+ words = first_word + (replacements * (vocab_size - first_word)).round().long()
this rounds to the nearest whole number: the first word has half its probability, and one beyond the last may be
sampled; cut the fraction off, by `.long()` or `.floor()`

a target everywhere => a target at every selected position, and nowhere else: the word that stood there
- return inputs, torch.where(selected, tokens, -100)
+ return inputs, tokens
this makes every token a target; the model can read most of them, and the loss would be about copying: where a position
is not selected the target is -100

a target only where <mask> stands => a target at every selected position, and nowhere else: the word that stood there
+ return inputs, torch.where(selected & (corruption < 0.8), tokens, -100)
this has a target only where the input is <mask>; words that were replaced or kept are selected and are targets too:
without that a model could ignore whatever is not <mask>

a target only where it changed => a target at every selected position, and nowhere else: the word that stood there
+ return inputs, torch.where(inputs != tokens, tokens, -100)
this has a target only where input and token differ, and forgets the selected words that were kept: they are targets too

the target is the input => a target at every selected position, and nowhere else: the word that stood there
+ return inputs, torch.where(selected, inputs, -100)
the targets are taken from the inputs, <mask> among them; the target is the token that stood there before

0 for no target => a target at every selected position, and nowhere else: the word that stood there
+ return inputs, torch.where(selected, tokens, 0)
where there is no target this puts 0, asked is -100, the number that `cross_entropy` leaves out: 0 is a token

-1 for no target => a target at every selected position, and nowhere else: the word that stood there
+ return inputs, torch.where(selected, tokens, -1)
where there is no target this puts -1, asked is -100, the number that `cross_entropy` leaves out

<mask> for no target => a target at every selected position, and nowhere else: the word that stood there
+ return inputs, torch.where(selected, tokens, mask_id)
where there is no target this puts <mask>, which is a token: asked is -100

targets turned round => a target at every selected position, and nowhere else: the word that stood there
+ return inputs, torch.where(selected, -100, tokens)
this has targets where a position is *not* selected; the target is the token at the selected positions, and -100
elsewhere

truth values => a target at every selected position, and nowhere else: the word that stood there
+ return inputs, selected
this tells which positions were selected, as truth values; the second tensor is to hold the tokens that stood there, and
-100 elsewhere

inputs and targets exchanged => a target at every selected position, and nowhere else: the word that stood there
+ return torch.where(selected, tokens, -100), inputs
inputs and targets are exchanged: the inputs come first

tokens overwritten => inputs unchanged
+ targets = torch.where(selected, tokens, -100)
+ return tokens.copy_(inputs), targets
this writes into the caller's own tokens, and the next time the text is masked already; make a new tensor

a target only where it was replaced => a target at every selected position, and nowhere else: the word that stood there
- return inputs, torch.where(selected, tokens, -100)
+ return inputs, torch.where(selected & (corruption < 0.9), tokens, -100)
a selected word that is kept has no target here; every selected position has one, whatever the model is shown there

cut off after the sum => the random token is any word, and no special token
- words = first_word + (replacements * (vocab_size - first_word)).long()
+ words = (first_word + replacements * (vocab_size - first_word)).long()
this adds `first_word` before the fraction is cut off, and where the number is just below 1, float32 rounds the sum up
to a token that does not exist; cut off the fraction first, then add

only padding and <mask> spared => special tokens are never selected
- selected = (selection < mask_rate) & (tokens >= first_word)
+ selected = (selection < mask_rate) & (tokens != 0) & (tokens != mask_id)
this spares padding and <mask> and selects the other special tokens, separators for one; a word is a token from
`first_word` on
"""

EXERCISE = Exercise(
    title="The 80/10/10 rule",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="mask_words",
            parameters=(
                "tokens",
                "selection",
                "corruption",
                "replacements",
                "vocab_size",
                "mask_id",
                "first_word",
                "mask_rate",
            ),
            returns="the inputs and the targets, each of shape (batch, time)",
            cases=draw_text,
            examples=(
                {
                    "tokens": torch.tensor([[4, 7, 0, 5, 6, 3]]),
                    "selection": torch.tensor([[0.1, 0.2, 0.1, 0.9, 0.0, 0.25]]),
                    "corruption": torch.tensor([[0.5, 0.8, 0.1, 0.2, 0.95, 0.6]]),
                    "replacements": torch.tensor([[0.9, 0.7, 0.2, 0.1, 0.3, 0.6]]),
                    "vocab_size": 8,
                    "mask_id": 1,
                    "first_word": 3,
                    "mask_rate": 0.25,
                },
            ),
            edges=(
                {  # one position; the first and the last word, also at random; a number on the border
                    "tokens": torch.tensor([[2], [5], [2], [5]]),
                    "selection": torch.tensor([[0.0], [0.25], [0.5], [0.25]]),
                    "corruption": torch.tensor([[0.85], [0.875], [0.0], [0.999]]),
                    "replacements": torch.tensor([[0.0], [1 - 2.0**-24], [0.5], [0.25]]),
                    "vocab_size": 6,
                    "mask_id": 1,
                    "first_word": 2,
                    "mask_rate": 0.5,
                },
                {  # a masking rate of 0 selects nothing; `<mask>` itself stands in the text
                    "tokens": torch.tensor([[1, 0, 3]]),
                    "selection": torch.tensor([[0.0, 0.0, 0.0]]),
                    "corruption": torch.tensor([[0.1, 0.85, 0.1]]),
                    "replacements": torch.tensor([[0.5, 0.5, 0.5]]),
                    "vocab_size": 4,
                    "mask_id": 1,
                    "first_word": 2,
                    "mask_rate": 0.0,
                },
                {  # three special tokens, every one of which could be selected
                    "tokens": torch.tensor([[0, 1, 2, 3]]),
                    "selection": torch.tensor([[0.1, 0.1, 0.1, 0.1]]),
                    "corruption": torch.tensor([[0.1, 0.1, 0.1, 0.1]]),
                    "replacements": torch.tensor([[0.5, 0.5, 0.5, 0.5]]),
                    "vocab_size": 5,
                    "mask_id": 1,
                    "first_word": 3,
                    "mask_rate": 0.5,
                },
                {  # a masking rate of 1 selects every word, of which there is one
                    "tokens": torch.tensor([[1, 0, 1, 1]]),
                    "selection": torch.tensor([[0.999, 0.0, 0.5, 0.999]]),
                    "corruption": torch.tensor([[0.1, 0.1, 0.85, 0.95]]),
                    "replacements": torch.tensor([[0.5, 0.5, 0.999, 0.5]]),
                    "vocab_size": 2,
                    "mask_id": 0,
                    "first_word": 1,
                    "mask_rate": 1.0,
                },
            ),
            reference=mask_words,
            properties=(
                Property("special tokens are never selected", 1, on(every_word_selected, special_spared)),
                Property(
                    "a target at every selected position, and nowhere else: the word that stood there",
                    2,
                    of_output(1, equals()),
                ),
                Property("positions that are not selected keep their token", 1, rest_as_it_stands),
                Property("`corruption` decides the input at selected positions", 2, of_output(0, equals())),
                Property(
                    "the random token is any word, and no special token",
                    1,
                    on(every_word_replaced, of_output(0, equals())),
                ),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
            outputs=("inputs", "targets"),
        ),
    ),
    hints=(
        "Three questions are asked at each position, one after the other: is it selected, what becomes of its token, "
        "and which random token is sampled? Which of the answers does the target depend on?",
        "Make the truth values of the selected positions first; everything else is joined to them by `&`. The targets "
        "need nothing more. For the inputs begin with the tokens, put the random tokens in by `torch.where`, then "
        "<mask>.",
        "A position is selected where its number in `selection` is below `mask_rate` and its token is at least "
        "`first_word`. The random token is `first_word` plus the whole part of its number in `replacements` times the "
        "number of words. `torch.where(selected & ..., mask_id, ...)` takes a number where you would expect a tensor.",
    ),
)
