"""Exercise 09.3, three perturbation tests: models are handed over, and the answers say what may move their scores."""

import torch

from course_lib.grading.declarations.chapter_09_models import (
    COUNTS,
    COUNTS_ALL,
    DEAF,
    FAINT_FUTURE,
    FAINT_SOURCE,
    FIRST_ALONE,
    FIRST_SENTENCE_READS,
    FULL,
    LEAK,
    LENGTH_ALONE,
    NEIGHBOUR,
    NEXT_WORD,
    NO_CAUSAL_MASK,
    NO_SOURCE,
    PADDING_READ,
    PAIRS,
    PAIRS_FROM_ONE,
    READ_ONCE,
    ROLLED,
    SOURCE,
    WORDS,
    draw_sentences,
)
from course_lib.grading.declarations.chapter_09_padding import PADDING
from course_lib.grading.declarations.chapter_09_verdicts import (
    all_cuts,
    another,
    by_cuts,
    by_places,
    cancelling,
    hides_the_future,
    how_far_the_future_reaches,
    how_far_the_source_reaches,
    largest,
    most_probable,
    one_column_at_a_time,
    reads_the_source,
    tells_apart,
    turned,
    whole_source,
    words_replaced,
)
from course_lib.grading.exercise import Exercise, Misconception, Property, Task
from course_lib.grading.judges import both, inputs_unchanged

# ---------------------------------------------------------------- the future

WHOLE_FUTURE = "accepts causal models, rejects those that see the whole target"
SOMEWHERE = "finds a step that sees a single later word, whichever"
FAINT_OR_OTHER = "finds what is faint, and minds no other fault"

FUTURE = Task(
    function="hides_the_future",
    parameters=("model", "source", "words"),
    returns="True where no score at a step depends on a later word of the target, else False",
    cases=draw_sentences,
    examples=(
        {"model": COUNTS, "source": SOURCE, "words": WORDS},
        {"model": COUNTS_ALL, "source": FULL, "words": WORDS},
    ),
    reference=hides_the_future,
    properties=(
        Property(WHOLE_FUTURE, 1, both(inputs_unchanged, tells_apart(LEAK, COUNTS, COUNTS_ALL, NO_CAUSAL_MASK))),
        Property(SOMEWHERE, 1, tells_apart(LEAK, NEXT_WORD, PAIRS, PAIRS_FROM_ONE, ROLLED)),
        Property(FAINT_OR_OTHER, 1, tells_apart(LEAK, FAINT_FUTURE, NO_SOURCE, PADDING_READ)),
    ),
    misconceptions=(
        Misconception(
            "a step may not see the word that it reads",
            "this rejects every model: it wants scores to stay where they may move; the word at place t is what step t "
            "*reads*, so with the words from t on replaced, the scores of the steps before t stay, `[:, :t]`",
            by_cuts(lambda time: [(slice(step, None), slice(step + 1)) for step in range(1, time)]),
            breaks=WHOLE_FUTURE,
        ),
        Misconception(
            "the past replaced",
            "this replaces earlier words and wants the scores of later steps to stay, which they must not; replace "
            "later words and look at earlier steps",
            by_cuts(
                lambda time: [(slice(step), slice(step, None)) for step in range(1, time)],
                far=lambda gaps: largest(gaps) * 2,
            ),
            breaks=WHOLE_FUTURE,
        ),
        Misconception(
            "nothing compared",
            "this accepts every model; look at how far the scores of the steps *before* the replaced words have moved",
            by_cuts(lambda time: []),
            breaks=WHOLE_FUTURE,
        ),
        Misconception(
            "the source replaced too",
            "this replaces the source as well, which may move every score; keep the source as it is",
            by_cuts(source_too=True),
            breaks=WHOLE_FUTURE,
        ),
        Misconception(
            "the last word only",
            "this replaces the last word alone, and lets a model pass in which place 0 sees place 1 and place 2 sees "
            "place 3: replace from every place on, one after the other",
            by_cuts(lambda time: all_cuts(time)[-1:]),
            breaks=SOMEWHERE,
        ),
        Misconception(
            "the first step only",
            "this looks at the first step alone, and lets a model pass in which place 1 sees place 2: cut at "
            "every place",
            by_cuts(lambda time: all_cuts(time)[:1]),
            breaks=SOMEWHERE,
        ),
        Misconception(
            "the step before only",
            "this looks only at the step before the word that was replaced, and lets a model pass in which the first "
            "place sees the last; look at all steps before it",
            by_cuts(lambda time: [(slice(step, step + 1), slice(step - 1, step)) for step in range(1, time)]),
            breaks=SOMEWHERE,
        ),
        Misconception(
            "the same words in another order",
            "this puts the later words in another order, and lets a model pass that counts all of them: replace them "
            "by other words",
            by_cuts(change=lambda words: words.flip(1)),
            breaks=WHOLE_FUTURE,
        ),
        Misconception(
            "movements that cancel",
            "this looks at the mean movement, and where one score rises as another falls they cancel; look at the "
            "largest absolute one",
            by_cuts(far=cancelling),
            breaks=WHOLE_FUTURE,
        ),
        Misconception(
            "the most probable word",
            "this compares the words with the largest scores: a leak that does not yet turn the choice stays unseen; "
            "compare the scores",
            by_cuts(see=most_probable),
            breaks=FAINT_OR_OTHER,
        ),
        Misconception(
            "everything is rounding",
            "this takes so large a movement for rounding that a model passes which sees a fiftieth of the last word; "
            "0.0001 is enough",
            by_cuts(tolerance=0.2),
            breaks=FAINT_OR_OTHER,
        ),
        Misconception(
            "turned round",
            "this is True where the future is seen; True was asked for where it is hidden",
            turned(hides_the_future),
            breaks=WHOLE_FUTURE,
        ),
        Misconception(
            "the movement itself",
            "this is how far a score moved, a number; asked for is the verdict, True or False",
            how_far_the_future_reaches,
            breaks=WHOLE_FUTURE,
        ),
    ),
)

# ---------------------------------------------------------------- the source

READ_OR_NOT = "accepts models that read, rejects one that does not"
EVERY_WORD = "rejects models that read one word, or the length alone"
OWN_SOURCE = "each sentence reads its own source, be it once or faintly"

READS = Task(
    function="reads_the_source",
    parameters=("model", "source", "words"),
    returns="True where every word of a source can move the scores of its own sentence, else False",
    cases=draw_sentences,
    examples=(
        {"model": COUNTS, "source": SOURCE, "words": WORDS},
        {"model": NO_SOURCE, "source": FULL, "words": WORDS},
    ),
    reference=reads_the_source,
    properties=(
        Property(READ_OR_NOT, 1, both(inputs_unchanged, tells_apart(DEAF, COUNTS, NO_SOURCE, NO_CAUSAL_MASK))),
        Property(EVERY_WORD, 1, tells_apart(DEAF, FIRST_ALONE, LENGTH_ALONE)),
        Property(OWN_SOURCE, 1, tells_apart(DEAF, NEIGHBOUR, FIRST_SENTENCE_READS, READ_ONCE, FAINT_SOURCE)),
    ),
    misconceptions=(
        Misconception(
            "one word is enough",
            "this is content with one word that counts, and a model passes that reads the first word alone: replace "
            "each word of each source by itself, and want every one to move something",
            by_places(enough=any),
            breaks=EVERY_WORD,
        ),
        Misconception(
            "all words at once",
            "this replaces all words of the source at once, and a model passes that reads the first alone; replace one "
            "at a time",
            whole_source(lambda source: torch.where(source != 0, another(source), 0)),
            breaks=EVERY_WORD,
        ),
        Misconception(
            "words erased",
            "this puts padding for a word, and a model passes that does no more than count the words; put another word",
            by_places(change=torch.zeros_like),
            breaks=EVERY_WORD,
        ),
        Misconception(
            "another order",
            "this puts the source in another order, to which a model may be blind that reads every word; replace the "
            "words, one at a time",
            whole_source(lambda source: source.flip(1)),
            breaks=READ_OR_NOT,
        ),
        Misconception(
            "all sentences at once",
            "this replaces words of all sentences at once, and a model passes that gives each sentence the source of "
            "another; change one sentence, and look at its scores",
            one_column_at_a_time,
            breaks=OWN_SOURCE,
        ),
        Misconception(
            "the first sentence only",
            "this replaces words of the first sentence alone, and a model passes in which the others do not read "
            "their sources: take every word of every source",
            by_places(sentences=1),
            breaks=OWN_SOURCE,
        ),
        Misconception(
            "any sentence",
            "this is content where the scores of *any* sentence move, and a model passes that gives each sentence the "
            "source of another; look at the sentence whose word was replaced",
            by_places(look=lambda gaps, row: gaps),
            breaks=OWN_SOURCE,
        ),
        Misconception(
            "the last step only",
            "this looks at the last step alone, and rejects a model that reads the source at the first step: any step "
            "will do",
            by_places(look=lambda gaps, row: gaps[row, -1]),
            breaks=OWN_SOURCE,
        ),
        Misconception(
            "words of the target",
            "this replaces words of the target, and a model passes that never reads the source; replace words of "
            "`source`",
            words_replaced,
            breaks=READ_OR_NOT,
        ),
        Misconception(
            "movements that cancel",
            "this looks at the mean movement, and where one score rises as another falls they cancel; look at the "
            "largest absolute one",
            by_places(far=cancelling),
            breaks=READ_OR_NOT,
        ),
        Misconception(
            "the most probable word",
            "this compares the words with the largest scores, and rejects models whose choice happens not to turn; "
            "compare the scores",
            by_places(see=most_probable),
            breaks=OWN_SOURCE,
        ),
        Misconception(
            "everything is rounding",
            "this takes so large a movement for rounding that a model which reads faintly is rejected; 0.0001 is "
            "enough",
            by_places(tolerance=0.2),
            breaks=OWN_SOURCE,
        ),
        Misconception(
            "turned round",
            "this is True where a word of the source has no influence; True was asked for where all have one",
            turned(reads_the_source),
            breaks=READ_OR_NOT,
        ),
        Misconception(
            "the movement itself",
            "this is how far a score moved, a number; asked for is the verdict, True or False",
            how_far_the_source_reaches,
            breaks=READ_OR_NOT,
        ),
    ),
)

THREE_TESTS = Exercise(
    id="09.3",
    title="Three perturbation tests",
    difficulty=3,
    minutes=40,
    tasks=(FUTURE, READS, PADDING),
    hints=(
        "Each test keeps one call of the model as it is, changes one thing, calls it again, and compares some of the "
        "scores. What may be changed that must not matter? What must matter?",
        "The future: for each place from 1 on, replace the words from there on, and compare the scores of the steps "
        "before. The source: for each sentence and each of its words, replace that word alone, and see whether any "
        "score of that sentence moved. The padding: two more columns of zeros, and compare everything.",
        "`1 + words % (vocabulary - 1)` puts another word for each; the vocabulary is the last size of the scores; "
        "change a `clone()`. `source.nonzero().tolist()` lists (sentence, place) of the words; "
        "`torch.nn.functional.pad(source, (0, 2))` adds two columns. The gap is `(after - before).abs().max()`.",
    ),
)
