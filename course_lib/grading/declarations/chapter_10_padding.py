"""Exercise 10.2, padding invariance: a classifier is handed over, and the answer says whether padding counts in it."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.chapter_10_readers import (
    AT_LEAST_FOUR,
    ATTENTION,
    FAINT,
    FAINTER,
    FROM_THE_LEFT,
    IGNORE_PADDING,
    LAST_OF_ALL,
    MASKED_TOO_LATE,
    MAXIMUM,
    MAXIMUM_OF_ALL,
    MEAN,
    NUMBERS_OF_ALL,
    NUMBERS_OF_WORDS,
    ONE_TOO_MANY,
    PADDING_TAKEN_OFF,
    READS_PADDING,
    SAME,
    SHORT_ONES,
    SUM_LESS_PADDING,
    WHERE_IN_THE_ROW,
    Classifier,
    draw_sentences,
    scores_of_each,
    without_padding,
)
from course_lib.grading.exercise import Case, Exercise, Given, Misconception, Property, Task
from course_lib.grading.judges import Judge, answer_like, both, difference, inputs_unchanged
from course_lib.grading.wording import describe_case, describe_kind

# ---------------------------------------------------------------- the scores of each sentence by itself


def right_for(*classifiers: Given) -> Judge:
    """The scores are the reference's, for every one of these classifiers."""

    def judge(call: Call, case: Case) -> str | None:
        questions = [case if each is case["classify"] else case | {"classify": each} for each in classifiers]
        for asked, (answer, expected) in [(each, answer_like(scores_of_each, call, each)) for each in questions]:
            if found := difference(answer, expected):
                return f"{describe_case(asked)}: {found}"
        return None

    return judge


def rearranged(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the scores of each sentence by itself, without padding, and changed."""
    return lambda classify, words: torch.cat([classify(change(alone)) for alone in without_padding(words)])


def emptied(classify, words):
    """The padding of the caller's words overwritten."""
    scores = scores_of_each(classify, words)
    words[words == 0] = -1
    return scores


BY_ITSELF, IN_ORDER = "each sentence without its padding", "its words, and the sentences, in their order"

ALONE = Task(
    function="scores_of_each",
    parameters=("classify", "words"),
    returns="the scores of every sentence, read by itself and without padding, shape (batch, classes)",
    cases=draw_sentences,
    examples=({"classify": NUMBERS_OF_ALL, "words": torch.tensor([[6, 2, 4, 0], [8, 0, 0, 0]])},),
    reference=scores_of_each,
    properties=(
        Property(BY_ITSELF, 2, both(right_for(NUMBERS_OF_ALL, READS_PADDING), inputs_unchanged)),
        Property(IN_ORDER, 1, right_for(FROM_THE_LEFT, LAST_OF_ALL)),
    ),
    misconceptions=(
        Misconception(
            "the batch as it is",
            "this hands the classifier the padded batch as it is; cut the padding off every sentence first",
            lambda classify, words: classify(words),
            breaks=BY_ITSELF,
        ),
        Misconception(
            "cut to the longest",
            "this cuts off what is padding in *every* sentence, and the shorter ones keep theirs; read each by itself",
            lambda classify, words: classify(words[:, : int((words > 0).sum(1).max())]),
            breaks=BY_ITSELF,
        ),
        Misconception(
            "cut to the shortest",
            "this cuts all sentences to the length of the shortest, and the others lose words; read each by itself",
            lambda classify, words: classify(words[:, : int((words > 0).sum(1).min())]),
            breaks=BY_ITSELF,
        ),
        Misconception(
            "one place of padding left",
            "this leaves one place of padding behind every sentence: n words are `row[:n]`",
            rearranged(lambda alone: torch.nn.functional.pad(alone, (0, 1))),
            breaks=BY_ITSELF,
        ),
        Misconception(
            "first word lost",
            "this loses the first word of every sentence",
            rearranged(lambda alone: alone[:, 1:] if alone.shape[1] > 1 else alone),
            breaks=BY_ITSELF,
        ),
        Misconception(
            "words sorted",
            "this puts the words of a sentence into the order of their numbers (so does `unique`, which also drops "
            "repeated words); their order is part of the sentence",
            rearranged(lambda alone: alone.sort(1).values),
            breaks=IN_ORDER,
        ),
        Misconception(
            "from back to front",
            "this reads every sentence from back to front",
            rearranged(lambda alone: alone.flip(1)),
            breaks=IN_ORDER,
        ),
        Misconception(
            "one axis too many",
            "the scores of one sentence come as (1, classes), and stacking them gives (batch, 1, classes); "
            "`torch.cat` joins them along the axis that they have",
            lambda classify, words: scores_of_each(classify, words)[:, None],
            breaks=BY_ITSELF,
        ),
        Misconception(
            "one sentence only",
            "this returns the scores of one sentence; put all of them into one tensor, (batch, classes)",
            lambda classify, words: scores_of_each(classify, words)[0],
            breaks=BY_ITSELF,
        ),
        Misconception(
            "the chosen class",
            "this returns the class with the greatest score; the scores themselves are asked for",
            lambda classify, words: scores_of_each(classify, words).argmax(1),
            breaks=BY_ITSELF,
        ),
        Misconception(
            "words overwritten",
            "this writes into the caller's own words; `row[row > 0]` makes a new tensor",
            emptied,
            breaks=BY_ITSELF,
        ),
    ),
)

# ---------------------------------------------------------------- does padding count?

Pair = tuple[torch.Tensor, torch.Tensor]


def verdict(compare: Callable[[Classifier, torch.Tensor], Pair], agree: Callable[..., bool]):
    """Return the test that asks whether agree(one, other) of the two scores that `compare` makes."""
    return lambda classify, words: torch.tensor(bool(agree(*compare(classify, words))))


def in_the_batch_and_alone(classify, words) -> Pair:
    """The padded batch against each sentence by itself."""
    return classify(words), scores_of_each(classify, words)


def padded_more(classify, words) -> Pair:
    """More padding against as much as there was."""
    return classify(torch.nn.functional.pad(words, (0, 3))), classify(words)


def probabilities(classify, words) -> Pair:
    """The softmax of the scores in the batch and of those alone."""
    return classify(words).softmax(1), scores_of_each(classify, words).softmax(1)


def padded_to_the_longest(classify, words) -> Pair:
    """All the padding against only as much as the batch needs."""
    return classify(words[:, : int((words > 0).sum(1).max())]), classify(words)


def padded_on_the_left(classify, words) -> Pair:
    """Padding in front of the words."""
    moved = [
        torch.nn.functional.pad(alone[0], (words.shape[1] - alone.shape[1], 0)) for alone in without_padding(words)
    ]
    return classify(torch.stack(moved)), classify(words)


def other_words_for_padding(classify, words) -> Pair:
    """Padding replaced by a word."""
    return classify(words.masked_fill(words == 0, 50)), classify(words)


def within(tolerance: float) -> Callable[..., bool]:
    """No score differs by more."""
    return lambda one, other: ((one - other).abs() <= tolerance).all()


ignores_padding = verdict(in_the_batch_and_alone, within(SAME))


def tells_apart(*classifiers: Given) -> Judge:
    """The verdict is right about the classifier of the case, and about these."""

    def judge(call: Call, case: Case) -> str | None:
        questions = [case | {"classify": each} for each in classifiers if each is not case["classify"]]
        for asked, answer in [(each, call(each)) for each in (case, *questions)]:
            if answer.shape or answer.dtype != torch.bool:
                return f"{describe_case(asked)}: came {describe_kind(answer)}, expected True or False"
            right = asked["classify"] in IGNORE_PADDING
            if bool(answer) != right:
                return f"{describe_case(asked)}: came {bool(answer)}, expected {right}"
        return None

    return judge


POOLING, READING = "finds padding in the pooling", "finds padding in the attention"
ROUNDING, SOME = (
    "takes rounding for rounding, and a hundredth for a leak",
    "finds padding that counts in some sentences",
)
PLACES = "leaves the words where they stand"

VERDICT = Task(
    function="ignores_padding",
    parameters=("classify", "words"),
    returns="True where padding changes no score of any sentence, else False",
    cases=draw_sentences,
    examples=(
        {"classify": NUMBERS_OF_ALL, "words": torch.tensor([[6, 2, 4, 8, 0], [8, 0, 0, 0, 0]])},
        {"classify": NUMBERS_OF_WORDS, "words": torch.tensor([[6, 2, 4, 8, 0], [8, 0, 0, 0, 0]])},
    ),
    reference=ignores_padding,
    properties=(
        Property(POOLING, 2, tells_apart(NUMBERS_OF_WORDS, NUMBERS_OF_ALL, MAXIMUM, MAXIMUM_OF_ALL)),
        Property(READING, 2, tells_apart(ATTENTION, READS_PADDING, MASKED_TOO_LATE)),
        Property(PLACES, 1, tells_apart(FROM_THE_LEFT, WHERE_IN_THE_ROW)),
        Property(SOME, 1, tells_apart(MEAN, AT_LEAST_FOUR, SHORT_ONES, ONE_TOO_MANY)),
        Property(ROUNDING, 1, tells_apart(SUM_LESS_PADDING, PADDING_TAKEN_OFF, FAINT, FAINTER)),
    ),
    misconceptions=(
        Misconception(
            "more padding only",
            "this pads a batch further that is padded already; where one place of padding does all the harm, such as "
            "in a maximum, more of it changes nothing: compare with the sentence that has *no* padding",
            verdict(padded_more, within(SAME)),
            breaks=POOLING,
        ),
        Misconception(
            "cut to the longest only",
            "this cuts the batch to its longest sentence, and the others keep their padding; a classifier in which "
            "padding counts for short sentences alone goes through: read each sentence by itself",
            verdict(padded_to_the_longest, within(SAME)),
            breaks=SOME,
        ),
        Misconception(
            "one place less",
            "this takes one column off, and most sentences keep padding; a classifier in which the first places of "
            "padding do all the harm goes through: compare with the sentence that has *no* padding",
            verdict(lambda classify, words: (classify(words[:, :-1]), classify(words)), within(SAME)),
            breaks=SOME,
        ),
        Misconception(
            "words moved to the right",
            "this moves the words, by padding on the left, and a classifier that looks at the order from the left is "
            "turned away although padding counts for nothing in it",
            verdict(padded_on_the_left, within(SAME)),
            breaks=PLACES,
        ),
        Misconception(
            "nothing passes",
            "this turns every classifier away, the right ones too; so does a word that is written where padding stood, "
            "since the sentence has more words then; if you call `scores_of_each`, mend that first",
            verdict(other_words_for_padding, within(SAME)),
            breaks=POOLING,
        ),
        Misconception(
            "exact equality",
            "this asks for equality to the last digit; a sum of other length is rounded otherwise: allow a difference "
            "of 1e-4",
            verdict(in_the_batch_and_alone, torch.equal),
            breaks=ROUNDING,
        ),
        Misconception(
            "allclose as it is",
            "`torch.allclose` by itself allows hardly any difference near zero (atol=1e-8), less than float32 rounds; "
            "give it `atol=1e-4`",
            verdict(in_the_batch_and_alone, torch.allclose),
            breaks=ROUNDING,
        ),
        Misconception(
            "differences that cancel",
            "this sums or averages the differences, in which those above zero and those below cancel; look at the "
            "largest absolute one",
            verdict(in_the_batch_and_alone, lambda one, other: (one - other).mean().abs() <= SAME),
            breaks=POOLING,
        ),
        Misconception(
            "everything is rounding",
            "this allows so large a difference that a hundredth for every place of padding passes; 1e-4 is enough",
            verdict(in_the_batch_and_alone, within(0.15)),
            breaks=ROUNDING,
        ),
        Misconception(
            "a hundredth is rounding",
            "this lets a difference of a hundredth pass for rounding, and a leak may be no larger; 1e-4 is enough",
            verdict(in_the_batch_and_alone, within(0.0121)),
            breaks=ROUNDING,
        ),
        Misconception(
            "probabilities compared",
            "this compares probabilities; a leak that moves all scores of a sentence alike leaves them as they are: "
            "compare the scores",
            verdict(probabilities, lambda one, other: ((one - other).abs() <= SAME).all()),
            breaks=ROUNDING,
        ),
        Misconception(
            "chosen classes compared",
            "this compares the class with the greatest score; padding may move every score and leave that class where "
            "it is: compare the scores",
            verdict(in_the_batch_and_alone, lambda one, other: torch.equal(one.argmax(1), other.argmax(1))),
            breaks=ROUNDING,
        ),
        Misconception(
            "first sentence only",
            "this looks at the first sentence alone; padding may count only in another one",
            verdict(in_the_batch_and_alone, lambda one, other: ((one[0] - other[0]).abs() <= SAME).all()),
            breaks=SOME,
        ),
        Misconception(
            "one sentence is enough",
            "this is True where *some* sentence is as it was; all must be: `all`, not `any`",
            verdict(in_the_batch_and_alone, lambda one, other: ((one - other).abs() <= SAME).all(1).any()),
            breaks=SOME,
        ),
        Misconception(
            "too large only",
            "the absolute value is missing: padding that lowers scores passes",
            verdict(in_the_batch_and_alone, lambda one, other: (one - other).max() <= SAME),
            breaks=PLACES,
        ),
        Misconception(
            "too small only",
            "the absolute value is missing: padding that raises scores passes",
            verdict(in_the_batch_and_alone, lambda one, other: (other - one).max() <= SAME),
            breaks=POOLING,
        ),
        Misconception(
            "turned into its opposite",
            "this is True where padding counts",
            lambda classify, words: ~ignores_padding(classify, words),
            breaks=POOLING,
        ),
        Misconception(
            "everything passes",
            "this lets every classifier pass: perhaps the same scores are compared with themselves (if you call "
            "`scores_of_each`, mend that first)",
            verdict(lambda classify, words: (classify(words), classify(words)), torch.equal),
            breaks=READING,
        ),
        Misconception(
            "the difference itself",
            "this returns the largest difference, a number; asked is the verdict, True or False",
            lambda classify, words: (classify(words) - scores_of_each(classify, words)).abs().max(),
            breaks=POOLING,
        ),
    ),
)

PADDING = Exercise(
    id="10.2",
    title="Padding invariance",
    difficulty=3,
    minutes=30,
    tasks=(ALONE, VERDICT),
    hints=(
        "What would the classifier say of a sentence that had never been in a batch? And if a batch is padded already, "
        "what does one learn by padding it further?",
        "Go through the rows. Keep the words of a row, make a batch of one of them, call the classifier, and join what "
        "it says. The verdict compares all of these scores with those of the padded batch, by the largest absolute "
        "difference, and leaves room for rounding.",
        "`row[row > 0]` are the words of a row, and `[None]` makes a batch of one; `torch.cat` joins a list of tensors "
        "of shape (1, classes). For the verdict, ask whether the largest entry of `.abs()` of the difference is at "
        "most 0.0001.",
    ),
)
