"""Reviews that praise or blame with the same words: only their order tells which."""

from dataclasses import dataclass

import torch

PRAISE = ("good", "great", "clever", "moving", "funny", "brilliant", "sharp", "warm")
BLAME = ("bad", "awful", "dull", "flat", "boring", "clumsy", "weak", "cold")
SUBJECTS = ("film", "plot", "acting", "script", "ending", "music", "pace", "cast", "dialogue", "story")
OPENERS = ((), ("frankly",), ("we", "thought"))  # they say nothing, but make the lengths differ
VOCABULARY = ("<pad>", "the", "was", "not", "but", *sorted({*PRAISE, *BLAME, *SUBJECTS, *sum(OPENERS, ())}))
PADDING = VOCABULARY.index("<pad>")
MAX_LENGTH = 9  # "we thought the plot was good but not bad"
HELD_OUT = 20  # of the 64 pairs of a praising and a blaming word, these are never drawn for training


@dataclass(frozen=True)
class Reviews:
    """A set of reviews.

    words: (review, MAX_LENGTH), indices into VOCABULARY, with PADDING at the end. lengths: (review,), how many words
    are no padding. sentiments: (review,), 1 for praise and 0 for blame.
    """

    words: torch.Tensor
    lengths: torch.Tensor
    sentiments: torch.Tensor

    def __len__(self) -> int:
        return len(self.words)


def draw_reviews(number: int, generator: torch.Generator, held_out: bool = False) -> Reviews:
    """Draw `number` reviews, half of them praise on average; raises ValueError for less than one.

    A review says "A but not B" or "not B but A", and praises if A does. Exchange the two, and the same bag of words
    says the opposite. With `held_out`, the pairs of adjectives are those that are otherwise never drawn.

    >>> drawn = draw_reviews(1, torch.Generator().manual_seed(0))
    >>> review(drawn.words[0]), drawn.sentiments.item()
    ('frankly the film was warm but not awful', 1)
    """
    if number < 1:
        raise ValueError(f"`number` is {number}, expected at least 1")
    pairs = _PAIRS[:HELD_OUT] if held_out else _PAIRS[HELD_OUT:]  # (pair, 2)
    chosen = pairs[torch.randint(len(pairs), (number,), generator=generator)]  # (review, 2)
    sentiments = torch.randint(2, (number,), generator=generator)  # (review,)
    orders = torch.randint(2, (number,), generator=generator).bool()  # (review,)
    subjects = torch.randint(len(SUBJECTS), (number,), generator=generator)  # (review,)
    openers = torch.randint(len(OPENERS), (number,), generator=generator)  # (review,)
    rows = [
        _indices(PRAISE[praise], BLAME[blame], bool(sentiment), bool(order), SUBJECTS[subject], OPENERS[opener])
        for (praise, blame), sentiment, order, subject, opener in zip(
            chosen.tolist(), sentiments.tolist(), orders.tolist(), subjects.tolist(), openers.tolist(), strict=True
        )
    ]
    lengths = torch.tensor([len(row) for row in rows])  # (review,)
    words = torch.tensor([row + [PADDING] * (MAX_LENGTH - len(row)) for row in rows])  # (review, MAX_LENGTH)
    return Reviews(words, lengths, sentiments)


def review(words: torch.Tensor) -> str:
    """Return indices (length,) as words, without the padding.

    >>> review(torch.tensor([VOCABULARY.index(word) for word in ("the", "plot", "was", "good", "<pad>")]))
    'the plot was good'
    """
    return " ".join(VOCABULARY[index] for index in words.tolist() if index != PADDING)


def describe() -> None:
    """Print what the set holds and ten reviews.

    >>> describe()  # doctest: +ELLIPSIS
    negations: 44 pairs of adjectives to train with, 20 held out; each praises and blames, in two orders
      ...
    """
    print(
        f"negations: {len(_PAIRS) - HELD_OUT} pairs of adjectives to train with, {HELD_OUT} held out; "
        "each praises and blames, in two orders"
    )
    drawn = draw_reviews(10, torch.Generator().manual_seed(0))
    for words, sentiment in zip(drawn.words, drawn.sentiments, strict=True):
        print(f"  {review(words):44} {'praise' if sentiment else 'blame'}")


def _all_pairs() -> torch.Tensor:
    """Return every pair of a praising and a blaming word once, in a fixed random order: (pair, 2)."""
    pairs = torch.cartesian_prod(torch.arange(len(PRAISE)), torch.arange(len(BLAME)))  # (pair, 2)
    return pairs[torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))]


def _indices(praise: str, blame: str, praises: bool, denied_last: bool, subject: str, opener: tuple) -> list[int]:
    said, denied = (praise, blame) if praises else (blame, praise)
    verdict = (said, "but", "not", denied) if denied_last else ("not", denied, "but", said)
    return [_INDEX[word] for word in (*opener, "the", subject, "was", *verdict)]


_PAIRS = _all_pairs()
_INDEX = {word: index for index, word in enumerate(VOCABULARY)}
