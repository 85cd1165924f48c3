"""Statements that two numbers compare, true or false: the same words in another order say something else."""

from dataclasses import dataclass

import torch
from num2words import num2words

LARGEST = 99
HELD_OUT = 800  # of the 4,851 pairs of different numbers, these are never drawn for training


def _words_of(number: int) -> tuple[str, ...]:
    return tuple(num2words(number).split("-"))


NUMBERS = {number: _words_of(number) for number in range(1, LARGEST + 1)}
VOCABULARY = ("<pad>", "is", "less", "more", "than", *sorted({word for words in NUMBERS.values() for word in words}))
PADDING = VOCABULARY.index("<pad>")
MAX_LENGTH = 7  # "thirty one is less than ninety nine"


@dataclass(frozen=True)
class Comparisons:
    """A set of statements such as "thirty one is less than nine".

    words: (statement, MAX_LENGTH), indices into VOCABULARY, with PADDING at the end. lengths: (statement,), how many
    words are no padding. truths: (statement,), 1 where the statement is true and 0 where it is false.
    """

    words: torch.Tensor
    lengths: torch.Tensor
    truths: torch.Tensor

    def __len__(self) -> int:
        return len(self.words)


def draw_comparisons(number: int, generator: torch.Generator, held_out: bool = False) -> Comparisons:
    """Draw `number` statements on two different numbers from 1 to 99; raises ValueError for less than one.

    Either number may come first, and "less" and "more" are equally likely, so half of all statements are true. With
    `held_out`, the pairs of numbers are those that are otherwise never drawn, in either order.

    >>> drawn = draw_comparisons(1, torch.Generator().manual_seed(0))
    >>> statement(drawn.words[0]), drawn.truths.item()
    ('thirty nine is less than eighteen', 0)
    """
    if number < 1:
        raise ValueError(f"`number` is {number}, expected at least 1")
    pairs = _PAIRS[:HELD_OUT] if held_out else _PAIRS[HELD_OUT:]  # (pair, 2)
    chosen = pairs[torch.randint(len(pairs), (number,), generator=generator)]  # (statement, 2)
    turned = torch.randint(2, (number, 1), generator=generator).bool()  # (statement, 1)
    chosen = torch.where(turned, chosen.flip(1), chosen)  # (statement, 2)
    says_less = torch.randint(2, (number,), generator=generator).bool()  # (statement,)
    truths = (chosen[:, 0] < chosen[:, 1]) == says_less  # (statement,)
    rows = [_indices(*pair, less) for pair, less in zip(chosen.tolist(), says_less.tolist(), strict=True)]
    lengths = torch.tensor([len(row) for row in rows])  # (statement,)
    words = torch.tensor([row + [PADDING] * (MAX_LENGTH - len(row)) for row in rows])  # (statement, MAX_LENGTH)
    return Comparisons(words, lengths, truths.long())


def statement(words: torch.Tensor) -> str:
    """Return indices (length,) as words, without the padding.

    >>> statement(torch.tensor([VOCABULARY.index(word) for word in ("two", "is", "more", "than", "one", "<pad>")]))
    'two is more than one'
    """
    return " ".join(VOCABULARY[index] for index in words.tolist() if index != PADDING)


def describe() -> None:
    """Print what the set holds and ten statements.

    >>> describe()  # doctest: +ELLIPSIS
    comparisons: 4051 pairs of numbers to train with, 800 held out; each in two orders, with "less" and with "more"
      ...
    """
    print(
        f"comparisons: {len(_PAIRS) - HELD_OUT} pairs of numbers to train with, {HELD_OUT} held out; "
        'each in two orders, with "less" and with "more"'
    )
    drawn = draw_comparisons(10, torch.Generator().manual_seed(0))
    for words, truth in zip(drawn.words, drawn.truths, strict=True):
        print(f"  {statement(words):40} {bool(truth)}")


def _all_pairs() -> torch.Tensor:
    """Return every pair of different numbers once, in a fixed random order: (pair, 2)."""
    pairs = torch.combinations(torch.arange(1, LARGEST + 1))  # (pair, 2)
    return pairs[torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0))]


def _indices(first: int, second: int, less: bool) -> list[int]:
    words = (*NUMBERS[first], "is", "less" if less else "more", "than", *NUMBERS[second])
    return [_INDEX[word] for word in words]


_PAIRS = _all_pairs()
_INDEX = {word: index for index, word in enumerate(VOCABULARY)}
