"""12.1: what a masked language model reads, and what it is asked for."""

from collections.abc import Callable

import torch

from course_lib.exercises.drawing import sizes, uniform
from course_lib.grading.checks import both, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Check, Exercise, Property, Task
from course_lib.grading.problem import Problem


def is_chosen(tokens, lots, first_word, share, **others):
    """Words whose lot is below the share."""
    return (lots < share) & (tokens >= first_word)


def mask_words(tokens, fates, draws, vocab_size, mask_id, first_word, **others):
    """The rule: what is read, and the targets."""
    chosen = is_chosen(tokens, first_word=first_word, **others)
    words = first_word + (draws * (vocab_size - first_word)).long()
    changed = torch.where(fates < 0.8, mask_id, torch.where(fates < 0.9, words, tokens))
    return torch.where(chosen, changed, tokens), torch.where(chosen, tokens, -100)


def draw_text(generator: torch.Generator) -> Case:
    """Draw tokens of which some are special, and three numbers for each; fates near the edges come often."""
    batch, time, first_word, words = (
        least + size for least, size in zip((0, 1, 0, 2), sizes(generator, 4, 7, 4, 6), strict=True)
    )
    mask_id = int(torch.randint(first_word, (), generator=generator))
    lots, fates, draws, rare = torch.rand(4, batch, time, generator=generator)
    return {
        "tokens": torch.randint(first_word + words, (batch, time), generator=generator),
        "lots": lots,
        "fates": torch.where(rare < 0.5, fates, 0.7 + 0.3 * fates),
        "draws": draws,
        "vocab_size": first_word + words,
        "mask_id": mask_id,
        "first_word": first_word,
        "share": round(uniform(generator, 0.2, 0.7), 2),
    }


def every_lot_drawn(case: Case) -> Case:
    """Let every lot be below the share."""
    return case | {"lots": torch.zeros_like(case["lots"])}


def every_word_swapped(case: Case) -> Case:
    """Let every word be chosen and become another."""
    return every_lot_drawn(case) | {"fates": torch.full_like(case["fates"], 0.85)}


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
    right_where(1, is_special, "the target of a special token, which is never chosen"),
    right_where(0, is_special, "a special token, which is read as it stands"),
)
rest_as_it_stands = right_where(
    0, lambda case: ~is_chosen(**case), "a token that is not chosen, and is read as it stands"
)

MISTAKES = """
special tokens chosen => special tokens are never chosen
- chosen = (lots < share) & (tokens >= first_word)
+ chosen = lots < share
this chooses by the lots alone, so that padding and <mask> itself are asked for: only words are chosen, tokens from
`first_word` on

only <mask> spared => special tokens are never chosen
+ chosen = (lots < share) & (tokens != mask_id)
this spares <mask> and chooses the other special tokens, padding for one; a word is a token from `first_word` on

first word spared => a target at every chosen position, and nowhere else: the word that stood there
+ chosen = (lots < share) & (tokens > first_word)
this takes `first_word` for a special token; it is the first of the words: `>=`, not `>`

lots turned round => a target at every chosen position, and nowhere else: the word that stood there
+ chosen = (lots >= share) & (tokens >= first_word)
this chooses where the lot is *not* below the share; a share of 0.15 is to choose 15 of 100, not 85

all of them masked => of the chosen, the fates decide what is read
- inputs = torch.where(chosen & (fates < 0.8), mask_id, inputs)
+ inputs = torch.where(chosen, mask_id, inputs)
this puts <mask> at every chosen position: the fates from 0.8 on were not looked at, and a model trained so never has to
say anything of a word that it can read

80 and 20 => of the chosen, the fates decide what is read
- inputs = torch.where(chosen & (fates < 0.9), words, tokens)
+ inputs = torch.where(chosen, words, tokens)
this puts another word wherever there is no <mask>; from 0.9 on the chosen word stays as it is

masked or kept => of the chosen, the fates decide what is read
+ inputs = tokens
this keeps the word wherever there is no <mask>; from 0.8 up to 0.9 another word is read there

kept and swapped exchanged => of the chosen, the fates decide what is read
+ inputs = torch.where(chosen & (fates >= 0.9), words, tokens)
this keeps the word from 0.8 up to 0.9 and puts another from 0.9 on; it is the other way round

masks overwritten => of the chosen, the fates decide what is read
- inputs = torch.where(chosen & (fates < 0.8), mask_id, inputs)
this puts another word wherever the fate is below 0.9, over the <mask> too: take those of 0.8 or more, or set <mask>
last

masks and words exchanged => of the chosen, the fates decide what is read
- inputs = torch.where(chosen & (fates < 0.9), words, tokens)
- inputs = torch.where(chosen & (fates < 0.8), mask_id, inputs)
+ inputs = torch.where(chosen & (fates < 0.9), mask_id, tokens)
+ inputs = torch.where(chosen & (fates < 0.8), words, inputs)
this puts <mask> where another word belongs, and another word where <mask> belongs

the lots as fates => of the chosen, the fates decide what is read
+ inputs = torch.where(chosen & (lots < 0.9 * share), words, tokens)
+ inputs = torch.where(chosen & (lots < 0.8 * share), mask_id, inputs)
this asks the lots once more what becomes of a word; a lot below the share is below 0.8 too, so that all are masked or
nearly: ask `fates`

the draws as fates => of the chosen, the fates decide what is read
+ inputs = torch.where(chosen & (draws < 0.9), words, tokens)
+ inputs = torch.where(chosen & (draws < 0.8), mask_id, inputs)
this asks `draws` what becomes of a word; that is what `fates` are for, and a word drawn by the same number would come
from one end of the vocabulary

everything by its fate => what is not chosen is read as it stands
+ inputs = torch.where(fates < 0.9, words, tokens)
+ inputs = torch.where(fates < 0.8, mask_id, inputs)
this masks and swaps at every position, chosen or not; what is not chosen is read as it stands

special tokens drawn => a word that takes another's place is any word, and no special token
- words = first_word + (draws * (vocab_size - first_word)).long()
+ words = (draws * vocab_size).long()
this draws from the whole vocabulary, so that a word may become padding or <mask>: draw from the words, which begin at
`first_word`

drawn beyond the vocabulary => a word that takes another's place is any word, and no special token
+ words = first_word + (draws * vocab_size).long()
this adds `first_word` to a number below `vocab_size`, and may give a token that does not exist; there are
`vocab_size - first_word` words

first word never drawn => a word that takes another's place is any word, and no special token
+ words = first_word + (draws * (vocab_size - first_word)).long() + 1
this counts the words from 1, so that the first is never drawn and one beyond the last may be: a draw near 0 gives
`first_word` itself

rounded => a word that takes another's place is any word, and no special token
+ words = first_word + (draws * (vocab_size - first_word)).round().long()
this rounds to the nearest whole number: the first word has half its probability, and one beyond the last is drawn; cut
the fraction off, by `.long()` or `.floor()`

a target everywhere => a target at every chosen position, and nowhere else: the word that stood there
- return inputs, torch.where(chosen, tokens, -100)
+ return inputs, tokens
this asks for every token; most of them can be read where they stand, and the loss would be about copying: where nothing
was chosen the target is -100

a target only where <mask> stands => a target at every chosen position, and nowhere else: the word that stood there
+ return inputs, torch.where(chosen & (fates < 0.8), tokens, -100)
this asks only where <mask> is read; words that were swapped or kept are chosen and asked for too: without that a model
could ignore whatever is not <mask>

a target only where something changed => a target at every chosen position, and nowhere else: the word that stood there
+ return inputs, torch.where(inputs != tokens, tokens, -100)
this asks where input and token differ, and forgets the chosen words that were kept: they are asked for too

the target is what is read => a target at every chosen position, and nowhere else: the word that stood there
+ return inputs, torch.where(chosen, inputs, -100)
the targets are taken from what is read, <mask> among them; the target is the token that stood there before

0 for no target => a target at every chosen position, and nowhere else: the word that stood there
+ return inputs, torch.where(chosen, tokens, 0)
where there is no target this puts 0, asked is -100, the number that `cross_entropy` leaves out: 0 is a token

-1 for no target => a target at every chosen position, and nowhere else: the word that stood there
+ return inputs, torch.where(chosen, tokens, -1)
where there is no target this puts -1, asked is -100, the number that `cross_entropy` leaves out

<mask> for no target => a target at every chosen position, and nowhere else: the word that stood there
+ return inputs, torch.where(chosen, tokens, mask_id)
where there is no target this puts <mask>, which is a token: asked is -100

targets turned round => a target at every chosen position, and nowhere else: the word that stood there
+ return inputs, torch.where(chosen, -100, tokens)
this asks where nothing was chosen; the target is the token at the chosen positions, and -100 elsewhere

truth values => a target at every chosen position, and nowhere else: the word that stood there
+ return inputs, chosen
this tells which positions were chosen, as truth values; the second tensor is to hold the tokens that stood there, and
-100 elsewhere

inputs and targets exchanged => a target at every chosen position, and nowhere else: the word that stood there
+ return torch.where(chosen, tokens, -100), inputs
what is read and the targets are exchanged: the inputs come first

tokens overwritten => inputs unchanged
+ targets = torch.where(chosen, tokens, -100)
+ return tokens.copy_(inputs), targets
this writes into the caller's own tokens, and the next time the text is masked already; make a new tensor
"""

EXERCISE = Exercise(
    title="The 80/10/10 rule",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="mask_words",
            parameters=("tokens", "lots", "fates", "draws", "vocab_size", "mask_id", "first_word", "share"),
            returns="what is read and the targets, each of shape (batch, time)",
            cases=draw_text,
            examples=(
                {
                    "tokens": torch.tensor([[4, 7, 0, 5, 6, 3]]),
                    "lots": torch.tensor([[0.1, 0.2, 0.1, 0.9, 0.0, 0.25]]),
                    "fates": torch.tensor([[0.5, 0.8, 0.1, 0.2, 0.95, 0.6]]),
                    "draws": torch.tensor([[0.9, 0.7, 0.2, 0.1, 0.3, 0.6]]),
                    "vocab_size": 8,
                    "mask_id": 1,
                    "first_word": 3,
                    "share": 0.25,
                },
            ),
            reference=mask_words,
            properties=(
                Property("special tokens are never chosen", 1, on(every_lot_drawn, special_spared)),
                Property(
                    "a target at every chosen position, and nowhere else: the word that stood there",
                    2,
                    of_output(1, equals()),
                ),
                Property("what is not chosen is read as it stands", 1, rest_as_it_stands),
                Property("of the chosen, the fates decide what is read", 2, of_output(0, equals())),
                Property(
                    "a word that takes another's place is any word, and no special token",
                    1,
                    on(every_word_swapped, of_output(0, equals())),
                ),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
            outputs=("inputs", "targets"),
        ),
    ),
    hints=(
        "Three questions are asked at each position, one after the other: is it chosen, what becomes of it, and which "
        "word is put there? Which of the answers does the target depend on?",
        "Make the truth values of the chosen first; everything else is joined to them by `&`. The targets need nothing "
        "more. For the inputs begin with the tokens, put the drawn words in by `torch.where`, then <mask>.",
        "A position is chosen where its lot is below `share` and its token is at least `first_word`. The drawn word is "
        "`first_word` plus the whole part of a draw times the number of words. `torch.where(chosen & ..., mask_id, "
        "...)` takes a number where you would expect a tensor.",
    ),
)
