"""Third part of exercise 09.3: whether padding at the end of the source moves the scores."""

import torch
from torch.nn.functional import pad

from course_lib.grading.declarations.chapter_09_models import (
    COUNTS,
    COUNTS_PADDING,
    FAINT_PADDING,
    FIRST_ALONE,
    FROM_THE_END,
    FULL,
    MEAN_OVER_ALL,
    NO_CAUSAL_MASK,
    PADDED,
    PADDING_IN_ENCODER,
    PADDING_READ,
    PADDING_READ_LATER,
    ROUNDED,
    SOURCE,
    WORDS,
    draw_sentences,
)
from course_lib.grading.declarations.chapter_09_verdicts import (
    by_sources,
    cancelling,
    how_far_the_padding_reaches,
    ignores_the_padding,
    largest,
    most_probable,
    padded_words,
    tells_apart,
    turned,
)
from course_lib.grading.exercise import Misconception, Property, Task

HIDDEN_OR_READ = "accepts models that hide the padding, rejects those that read it, wherever it enters"
ROUNDING_OR_FAINT = "takes rounding for rounding and a faint influence for one, and minds no other fault"

PADDING = Task(
    function="ignores_the_padding",
    parameters=("model", "source", "words"),
    returns="True where more padding at the end of the source moves no score, else False",
    cases=draw_sentences,
    examples=(
        {"model": COUNTS_PADDING, "source": SOURCE, "words": WORDS},
        {"model": COUNTS, "source": FULL, "words": WORDS},
    ),
    reference=ignores_the_padding,
    properties=(
        Property(
            HIDDEN_OR_READ,
            2,
            tells_apart(PADDED, COUNTS, PADDING_READ, COUNTS_PADDING, PADDING_IN_ENCODER, MEAN_OVER_ALL, FROM_THE_END),
        ),
        Property(
            ROUNDING_OR_FAINT,
            1,
            tells_apart(PADDED, ROUNDED, FAINT_PADDING, PADDING_READ_LATER, NO_CAUSAL_MASK, FIRST_ALONE),
        ),
    ),
    misconceptions=(
        Misconception(
            "words for padding",
            "this puts words where padding stood, and then it is padding no more: a right model reads them; add "
            "columns of padding instead, whose scores are to be those without them",
            by_sources(lambda source: torch.where(source == 0, 2, source)),
            breaks=HIDDEN_OR_READ,
        ),
        Misconception(
            "words added",
            "this changes the words of the source, which a right model reads: words are added at its end, or its last "
            "column is cut off, a word where a sentence fills its row; add columns of padding, the number 0",
            by_sources(lambda source: pad(source, (0, 1), value=1)),
            breaks=HIDDEN_OR_READ,
        ),
        Misconception(
            "padding in front",
            "this puts padding in front, which moves every word to another place, and a right model may mind; add it "
            "at the end",
            by_sources(lambda source: pad(source, (1, 0))),
            breaks=HIDDEN_OR_READ,
        ),
        Misconception(
            "the target padded",
            "this adds padding to the words of the target, and a model passes that reads the padding of the source",
            padded_words,
            breaks=HIDDEN_OR_READ,
        ),
        Misconception(
            "a sentence of padding",
            "this adds a sentence (a row) or nothing at all, and so accepts every model; the columns are axis 1, "
            "`pad(source, (0, 2))`",
            by_sources(lambda source: source),
            breaks=HIDDEN_OR_READ,
        ),
        Misconception(
            "exact equality",
            "this asks for equality to the last digit; with more places a right model may be rounded otherwise: allow "
            "a movement of 0.0001",
            by_sources(tolerance=0.0),
            breaks=ROUNDING_OR_FAINT,
        ),
        Misconception(
            "the first sentence only",
            "this compares the first sentence alone, and a model passes that reads the padding of the others; compare "
            "the scores of all sentences",
            by_sources(far=lambda gaps: largest(gaps[:1])),
            breaks=ROUNDING_OR_FAINT,
        ),
        Misconception(
            "movements that cancel",
            "this looks at the mean movement, and where one score rises as another falls they cancel; look at the "
            "largest absolute one",
            by_sources(far=cancelling, tolerance=0.1),
            breaks=ROUNDING_OR_FAINT,
        ),
        Misconception(
            "the most probable word",
            "this compares the words with the largest scores: padding that does not yet turn the choice stays unseen; "
            "compare the scores",
            by_sources(see=most_probable),
            breaks=ROUNDING_OR_FAINT,
        ),
        Misconception(
            "everything is rounding",
            "this takes so large a movement for rounding that a model passes which reads a twentieth of the padding; "
            "0.0001 is enough",
            by_sources(tolerance=0.2),
            breaks=ROUNDING_OR_FAINT,
        ),
        Misconception(
            "turned round",
            "this is True where padding moves the scores; True was asked for where it moves nothing",
            turned(ignores_the_padding),
            breaks=HIDDEN_OR_READ,
        ),
        Misconception(
            "the movement itself",
            "this is how far a score moved, a number; asked for is the verdict, True or False",
            how_far_the_padding_reaches,
            breaks=HIDDEN_OR_READ,
        ),
    ),
)
