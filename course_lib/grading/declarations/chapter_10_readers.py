"""The classifiers that exercise 10.2 hands over, some of which let padding count, and the batches they read."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Given

Classifier = Callable[[torch.Tensor], torch.Tensor]


def classifier(title: str, scores: str, present: str = "words > 0") -> Given:
    """Return a classifier of padded batches: `scores` is made of `words`, their vectors `x`, and what is `present`.

    A word is a point on three waves; padding, the word 0, is at the crest of all of them.
    """
    return Given(
        title,
        f"lambda words: (lambda x, present: {scores})"
        f"(torch.cos(words[..., None] * torch.tensor([1.0, 2.3, 3.7])), ({present})[..., None])",
    )


POOLED = "(({}) * present).sum(1) / present.sum(1)"
ATTENDED = "(x @ x.mT).masked_fill(~present.mT, -torch.inf).softmax(-1) @ x"
STEPS = "torch.arange(words.shape[1])"

MEAN = classifier("the mean of the words", POOLED.format("x"))
MAXIMUM = classifier("the maximum over the words", "x.masked_fill(~present, -torch.inf).amax(1)")
ATTENTION = classifier("attention, then the mean of the words", POOLED.format(ATTENDED))
FROM_THE_LEFT = classifier(
    "places counted from the left, then the mean of the words", POOLED.format(f"x * torch.cos({STEPS})[:, None]")
)
# Far from zero, so that the order of summation shows. By the first, the last digit of scores near 16; by the second, a
# hundred-thousandth of scores that are not much greater.
SUM_LESS_PADDING, PADDING_TAKEN_OFF = (
    classifier(
        f"the sum of all places less that of the padding{said}",
        f"(({far}).sum(1) - (({far}) * ~present).sum(1)) / present.sum(1){back}",
    )
    for said, far, back in ((", far from zero", "x + 16", ""), (", near zero", "x / 20 + 64", " - 64"))
)
NUMBERS_OF_WORDS, NUMBERS_OF_ALL = (
    Given(
        f"the mean number of {said}, and its opposite",
        f"lambda words: torch.tensor([1.0, -1.0]) * (words.sum(1) / {count})[:, None]",
    )
    for said, count in (("the words", "(words > 0).sum(1)"), ("all places", "words.shape[1]"))
)
MAXIMUM_OF_ALL = classifier("the maximum over all places", "x.amax(1)")
LAST_OF_ALL = classifier("the vector at the last place", "x[:, -1]")
ONE_TOO_MANY = classifier(
    "the mean of the words and one place more", POOLED.format("x"), f"{STEPS} <= (words > 0).sum(1, keepdim=True)"
)
AT_LEAST_FOUR = classifier(
    "the mean of the words, and of at least four places",
    POOLED.format("x"),
    f"{STEPS} < (words > 0).sum(1, keepdim=True).clamp(min=min(4, words.shape[1]))",
)
SHORT_ONES = classifier(
    "the mean of the words, in sentences below four words that of all places",
    POOLED.format("x"),
    "(words > 0) | ((words > 0).sum(1, keepdim=True) < 4)",
)
READS_PADDING = classifier(
    "attention that reads padding, then the mean of the words", POOLED.format("(x @ x.mT).softmax(-1) @ x")
)
MASKED_TOO_LATE = classifier(
    "attention masked behind the softmax, then the mean of the words",
    POOLED.format("((x @ x.mT).softmax(-1) * present.mT) @ x"),
)
WHERE_IN_THE_ROW = classifier(
    "places as a fraction of the row, then the mean of the words",
    POOLED.format(f"x + 3 * ({STEPS} / words.shape[1])[:, None]"),
)
FAINT = classifier(
    "a hundredth for each place of padding", POOLED.format("x") + " + 0.01 * (words == 0).sum(1, keepdim=True)"
)
FAINTER = classifier(
    "a little more than a hundredth where there is padding",
    POOLED.format("x") + " + 0.012 * (words == 0).any(1, keepdim=True)",
)
IGNORE_PADDING = (NUMBERS_OF_WORDS, MEAN, MAXIMUM, ATTENTION, FROM_THE_LEFT, SUM_LESS_PADDING, PADDING_TAKEN_OFF)
SAME = 1e-4  # what the statement takes for rounding


def without_padding(words: torch.Tensor) -> list[torch.Tensor]:
    """Every sentence as a batch of its own."""
    return [row[row > 0][None] for row in words]


def scores_of_each(classify, words):
    """The scores of every sentence, read by itself."""
    return torch.cat([classify(alone) for alone in without_padding(words)])


def draw_sentences(generator: torch.Generator) -> Case:
    """Draw a padded batch: a long sentence first, a short one among the others, padding behind every one of them."""
    others, longest, more = sizes(generator, 2, 3, 2)
    lengths = [longest + 3, *sizes(generator, *[longest + 3] * (others - 1)), *sizes(generator, 3)]
    words = torch.zeros(len(lengths), longest + 3 + more, dtype=torch.long)
    for row, length in enumerate(lengths):
        words[row, :length] = torch.randint(1, 100, (length,), generator=generator)
    return {"classify": NUMBERS_OF_ALL, "words": words}
