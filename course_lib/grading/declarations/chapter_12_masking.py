"""Exercise 12.1, the 80/10/10 rule: what a masked language model reads, and what it is asked for."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import sizes, uniform
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import Judge, answer_like, both, equals, inputs_unchanged, of_output, on
from course_lib.grading.wording import describe_case

NO_TARGET = -100  # what torch's cross_entropy leaves out by itself

Part = Callable[..., torch.Tensor]


def words_by_lot(tokens, lots, first_word, share, **others):
    """Words whose lot is below the share."""
    return (lots < share) & (tokens >= first_word)


def masked_below(fates, **others):
    """What becomes <mask>, if it is chosen."""
    return fates < 0.8


def swapped_between(fates, **others):
    """What becomes another word, if it is chosen."""
    return (fates >= 0.8) & (fates < 0.9)


def drawn_words(draws, vocabulary, first_word, **others):
    """A word for each place, never a special token."""
    return first_word + (draws * (vocabulary - first_word)).long()


def the_word_itself(chosen, tokens, **others):
    """The token that stood there, where it was chosen."""
    return torch.where(chosen, tokens, NO_TARGET)


def rule(
    choose: Part = words_by_lot,
    masked: Part = masked_below,
    swapped: Part = swapped_between,
    word: Part = drawn_words,
    target: Part = the_word_itself,
    everywhere: bool = False,
):
    """Return the rule with some of its parts exchanged; with `everywhere`, places that were not chosen change too."""

    def answer(**case):
        chosen = choose(**case)
        at = torch.ones_like(chosen) if everywhere else chosen
        inputs = torch.where(at & swapped(**case), word(**case), case["tokens"])
        inputs = torch.where(at & masked(**case), case["mask"], inputs)
        return inputs, target(chosen=chosen, inputs=inputs, **case)

    return answer


mask_words = rule()


def draw_text(generator: torch.Generator) -> Case:
    """Draw tokens of which some are special, and three numbers for each; fates near the edges come often."""
    batch, time, first_word, words = (
        least + size for least, size in zip((0, 1, 0, 2), sizes(generator, 4, 7, 4, 6), strict=True)
    )
    mask = int(torch.randint(first_word, (), generator=generator))
    lots, fates, draws, rare = torch.rand(4, batch, time, generator=generator)
    return {
        "tokens": torch.randint(first_word + words, (batch, time), generator=generator),
        "lots": lots,
        "fates": torch.where(rare < 0.5, fates, 0.7 + 0.3 * fates),
        "draws": draws,
        "vocabulary": first_word + words,
        "mask": mask,
        "first_word": first_word,
        "share": round(uniform(generator, 0.2, 0.7), 2),
    }


def every_lot_drawn(case: Case) -> Case:
    """Let every lot be below the share."""
    return case | {"lots": torch.zeros_like(case["lots"])}


def every_word_swapped(case: Case) -> Case:
    """Let every word be chosen and become another."""
    return every_lot_drawn(case) | {"fates": torch.full_like(case["fates"], 0.85)}


def is_special(tokens, first_word, **others):
    """No word."""
    return tokens < first_word


def is_not_chosen(**case):
    """Whatever the lots or the kind of token leave alone."""
    return ~words_by_lot(**case)


def read_as_it_stands(where: Part, who: str) -> Judge:
    """Where `where(**case)` is True, what is read is the token that stands there."""

    def judge(call: Call, case: Case) -> str | None:
        inputs, _ = answer_like(mask_words, call, case)
        wrong = where(**case) & (inputs != case["tokens"])
        if not wrong.any():
            return None
        token, came = (int(each[wrong][0]) for each in (case["tokens"], inputs))
        return f"{describe_case(case)}: the {who} {token} is read as {came}, expected as it stands"

    return of_output(0, judge)


def nothing_due(where: Part, who: str) -> Judge:
    """Where `where(**case)` is True, there is no target."""

    def judge(call: Call, case: Case) -> str | None:
        targets, _ = answer_like(mask_words, call, case)
        wrong = where(**case) & (targets != NO_TARGET)
        if not wrong.any():
            return None
        came = int(targets[wrong][0])
        return f"{describe_case(case)}: at a {who} came the target {came}, expected {NO_TARGET}: it is not chosen"

    return of_output(1, judge)


def overwritten(tokens, **others):
    """The rule, in the caller's own tensor."""
    inputs, targets = mask_words(tokens=tokens, **others)
    tokens.copy_(inputs)
    return tokens, targets


SPECIAL, TARGETS, NOT_CHOSEN, INPUTS, WORDS, UNCHANGED = (
    "special tokens are never chosen",
    "a target at every chosen place, and nowhere else: the word that stood there",
    "what is not chosen is read as it stands",
    "of the chosen, the fates decide what is read",
    "a word that takes another's place is any word, and no special token",
    "inputs unchanged",
)

MASK_WORDS = Task(
    function="mask_words",
    parameters=("tokens", "lots", "fates", "draws", "vocabulary", "mask", "first_word", "share"),
    returns="what is read and what is due, each of shape (batch, time)",
    cases=draw_text,
    examples=(
        {
            "tokens": torch.tensor([[4, 7, 0, 5, 6, 3]]),
            "lots": torch.tensor([[0.1, 0.2, 0.1, 0.9, 0.0, 0.25]]),
            "fates": torch.tensor([[0.5, 0.8, 0.1, 0.2, 0.95, 0.6]]),
            "draws": torch.tensor([[0.9, 0.7, 0.2, 0.1, 0.3, 0.6]]),
            "vocabulary": 8,
            "mask": 1,
            "first_word": 3,
            "share": 0.25,
        },
    ),
    reference=mask_words,
    properties=(
        Property(
            SPECIAL,
            1,
            on(
                every_lot_drawn,
                both(nothing_due(is_special, "special token"), read_as_it_stands(is_special, "special token")),
            ),
        ),
        Property(TARGETS, 2, of_output(1, equals(mask_words))),
        Property(NOT_CHOSEN, 1, read_as_it_stands(is_not_chosen, "token that is not chosen,")),
        Property(INPUTS, 2, of_output(0, equals(mask_words))),
        Property(WORDS, 1, on(every_word_swapped, of_output(0, equals(mask_words)))),
        Property(UNCHANGED, 1, inputs_unchanged, only_when_right=True),
    ),
    misconceptions=(
        Misconception(
            "special tokens chosen",
            "this chooses by the lots alone, so that padding and <mask> itself are asked for: only words are chosen, "
            "tokens from `first_word` on",
            rule(choose=lambda lots, share, **others: lots < share),
            breaks=SPECIAL,
        ),
        Misconception(
            "only <mask> spared",
            "this spares <mask> and chooses the other special tokens, padding for one; a word is a token from "
            "`first_word` on",
            rule(choose=lambda tokens, lots, mask, share, **others: (lots < share) & (tokens != mask)),
            breaks=SPECIAL,
        ),
        Misconception(
            "first word spared",
            "this takes `first_word` for a special token; it is the first of the words: `>=`, not `>`",
            rule(choose=lambda tokens, lots, first_word, share, **others: (lots < share) & (tokens > first_word)),
            breaks=TARGETS,
        ),
        Misconception(
            "lots turned round",
            "this chooses where the lot is *not* below the share; a share of 0.15 is to choose 15 of 100, not 85",
            rule(choose=lambda tokens, lots, first_word, share, **others: (lots >= share) & (tokens >= first_word)),
            breaks=TARGETS,
        ),
        Misconception(
            "all of them masked",
            "this puts <mask> at every chosen place: the fates from 0.8 on were not looked at, and a model trained so "
            "never has to say anything of a word that it can read",
            rule(masked=lambda fates, **others: torch.ones_like(fates, dtype=torch.bool)),
            breaks=INPUTS,
        ),
        Misconception(
            "80 and 20",
            "this puts another word wherever there is no <mask>; from 0.9 on the chosen word stays as it is",
            rule(swapped=lambda fates, **others: fates >= 0.8),
            breaks=INPUTS,
        ),
        Misconception(
            "masked or kept",
            "this keeps the word wherever there is no <mask>; from 0.8 up to 0.9 another word takes its place",
            rule(swapped=lambda fates, **others: torch.zeros_like(fates, dtype=torch.bool)),
            breaks=INPUTS,
        ),
        Misconception(
            "kept and swapped exchanged",
            "this keeps the word from 0.8 up to 0.9 and puts another from 0.9 on; it is the other way round",
            rule(swapped=lambda fates, **others: fates >= 0.9),
            breaks=INPUTS,
        ),
        Misconception(
            "masks overwritten",
            "this puts another word wherever the fate is below 0.9, over the <mask> too: take those of 0.8 or more, or "
            "set <mask> last",
            rule(
                masked=lambda fates, **others: torch.zeros_like(fates, dtype=torch.bool),
                swapped=lambda fates, **others: fates < 0.9,
            ),
            breaks=INPUTS,
        ),
        Misconception(
            "masks and words exchanged",
            "this puts <mask> where another word belongs, and another word where <mask> belongs",
            rule(masked=swapped_between, swapped=masked_below),
            breaks=INPUTS,
        ),
        Misconception(
            "the lots as fates",
            "this asks the lots once more what becomes of a word; a lot below the share is below 0.8 too, so that "
            "all are masked or nearly: ask `fates`",
            rule(
                masked=lambda lots, share, **others: lots < 0.8 * share,
                swapped=lambda lots, share, **others: (lots >= 0.8 * share) & (lots < 0.9 * share),
            ),
            breaks=INPUTS,
        ),
        Misconception(
            "the draws as fates",
            "this asks `draws` what becomes of a word; that is what `fates` are for, and a word drawn by the same "
            "number would come from one end of the vocabulary",
            rule(
                masked=lambda draws, **others: draws < 0.8,
                swapped=lambda draws, **others: (draws >= 0.8) & (draws < 0.9),
            ),
            breaks=INPUTS,
        ),
        Misconception(
            "everything by its fate",
            "this masks and swaps at every place, chosen or not; what is not chosen is read as it stands",
            rule(everywhere=True),
            breaks=NOT_CHOSEN,
        ),
        Misconception(
            "special tokens drawn",
            "this draws from the whole vocabulary, so that a word may become padding or <mask>: draw from the words, "
            "which begin at `first_word`",
            rule(word=lambda draws, vocabulary, **others: (draws * vocabulary).long()),
            breaks=WORDS,
        ),
        Misconception(
            "drawn beyond the vocabulary",
            "this adds `first_word` to a number below `vocabulary`, and may give a token that does not exist; there "
            "are `vocabulary - first_word` words",
            rule(word=lambda draws, vocabulary, first_word, **others: first_word + (draws * vocabulary).long()),
            breaks=WORDS,
        ),
        Misconception(
            "first word never drawn",
            "this counts the words from 1, so that the first is never drawn and one beyond the last may be: a draw "
            "near 0 gives `first_word` itself",
            rule(word=lambda **case: drawn_words(**case) + 1),
            breaks=WORDS,
        ),
        Misconception(
            "rounded",
            "this rounds to the nearest whole number: the first word has half its share, and one beyond the last is "
            "drawn; cut the fraction off, by `.long()` or `.floor()`",
            rule(
                word=lambda draws, vocabulary, first_word, **others: (
                    first_word + (draws * (vocabulary - first_word)).round().long()
                )
            ),
            breaks=WORDS,
        ),
        Misconception(
            "a target everywhere",
            "this asks for every token; most of them can be read where they stand, and the loss would be about "
            f"copying: where nothing was chosen the target is {NO_TARGET}",
            rule(target=lambda tokens, **others: tokens),
            breaks=TARGETS,
        ),
        Misconception(
            "a target only where <mask> stands",
            "this asks only where <mask> is read; words that were swapped or kept are chosen and asked for too: "
            "without that a model could ignore whatever is not <mask>",
            rule(target=lambda chosen, tokens, **case: torch.where(chosen & masked_below(**case), tokens, NO_TARGET)),
            breaks=TARGETS,
        ),
        Misconception(
            "a target only where something changed",
            "this asks where input and token differ, and forgets the chosen words that were kept: they are asked for "
            "too",
            rule(target=lambda tokens, inputs, **others: torch.where(inputs != tokens, tokens, NO_TARGET)),
            breaks=TARGETS,
        ),
        Misconception(
            "the target is what is read",
            "the targets are taken from what is read, <mask> among them; due is the token that stood there before",
            rule(target=lambda chosen, inputs, **others: torch.where(chosen, inputs, NO_TARGET)),
            breaks=TARGETS,
        ),
        *(
            Misconception(
                f"{number} for no target",
                f"where nothing is due came {number}, asked is {NO_TARGET}, the number that `cross_entropy` leaves out"
                + (": 0 is a token" if number == 0 else ""),
                rule(target=lambda chosen, tokens, number=number, **others: torch.where(chosen, tokens, number)),
                breaks=TARGETS,
            )
            for number in (0, -1)
        ),
        Misconception(
            "<mask> for no target",
            f"where nothing is due came <mask>, which is a token: asked is {NO_TARGET}",
            rule(target=lambda chosen, tokens, mask, **others: torch.where(chosen, tokens, mask)),
            breaks=TARGETS,
        ),
        Misconception(
            "targets turned round",
            f"this asks where nothing was chosen; due is the token at the chosen places, and {NO_TARGET} elsewhere",
            rule(target=lambda chosen, tokens, **others: torch.where(chosen, NO_TARGET, tokens)),
            breaks=TARGETS,
        ),
        Misconception(
            "truth values",
            "this tells which places were chosen, as truth values; the second tensor is to hold the tokens that are "
            f"due there, and {NO_TARGET} elsewhere",
            rule(target=lambda chosen, **others: chosen),
            breaks=TARGETS,
        ),
        Misconception(
            "inputs and targets exchanged",
            "what is read and what is due are exchanged: the inputs come first",
            lambda **case: mask_words(**case)[::-1],
            breaks=TARGETS,
        ),
        Misconception(
            "tokens overwritten",
            "this writes into the caller's own tokens, and the next time the text is masked already; make a new tensor",
            overwritten,
            breaks=UNCHANGED,
        ),
    ),
    outputs=("inputs", "targets"),
)

MASKING = Exercise(
    id="12.1",
    title="The 80/10/10 rule",
    difficulty=2,
    minutes=25,
    tasks=(MASK_WORDS,),
    hints=(
        "Three questions are asked at each place, one after the other: is it chosen, what becomes of it, and which "
        "word takes its place? Which of the answers does the target depend on?",
        "Make the truth values of the chosen first; everything else is joined to them by `&`. The targets need nothing "
        "more. For the inputs begin with the tokens, put the drawn words in by `torch.where`, then <mask>.",
        "A place is chosen where its lot is below `share` and its token is at least `first_word`. The drawn word is "
        "`first_word` plus the whole part of a draw times the number of words. `torch.where(chosen & ..., mask, "
        "...)` takes a number where you would expect a tensor.",
    ),
)
