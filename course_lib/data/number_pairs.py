"""A number's name in English and in German in one row: what is hidden on one side can be read from the other."""

from functools import cache

import torch

from course_lib.data import number_names

SPECIAL = ("<pad>", "<mask>", "|")
PADDING, MASK, SEPARATOR = range(len(SPECIAL))
FIRST_WORD = len(SPECIAL)  # from here on, indices are words
LARGEST = 9_999
TRAINING, HELD_OUT = 2_000, 1_000  # numbers of the ten thousand
MAX_LENGTH = 15  # tokens
# The names' own vocabulary begins with padding, start and end, of which a pair needs none but the padding.
VOCABULARY = (*SPECIAL, *number_names.VOCABULARY[number_names.END + 1 :])


def draw_number_pairs(number: int, generator: torch.Generator, held_out: bool = False) -> torch.Tensor:
    """Draw `number` rows (number, MAX_LENGTH) of indices into VOCABULARY: English, SEPARATOR, German, PADDING.

    The numbers are drawn from TRAINING ones, or from HELD_OUT others. Raises ValueError for less than one row.

    >>> spelled(draw_number_pairs(1, torch.Generator().manual_seed(3))[0])
    'three thousand two hundred and one | drei tausend zwei hundert eins'
    """
    if number < 1:
        raise ValueError(f"`number` is {number}, expected at least 1")
    rows = _rows(held_out)  # (pair, MAX_LENGTH)
    return rows[torch.randint(len(rows), (number,), generator=generator)]


def held_out() -> torch.Tensor:
    """Return all rows that are never drawn for training, (1000, MAX_LENGTH).

    >>> len(held_out())
    1000
    """
    return _rows(True)


def spelled(row: torch.Tensor) -> str:
    """Return indices (time,) as words, without the padding.

    >>> spelled(torch.tensor([VOCABULARY.index("nine"), SEPARATOR, MASK, PADDING]))
    'nine | <mask>'
    """
    return " ".join(VOCABULARY[index] for index in row.tolist() if index != PADDING)


def describe() -> None:
    """Print what the set holds and ten rows.

    >>> describe()  # doctest: +ELLIPSIS
    number_pairs: 2000 numbers up to 9999 to train with, 1000 held out
      ...
    """
    print(f"number_pairs: {TRAINING} numbers up to {LARGEST} to train with, {HELD_OUT} held out")
    for row in draw_number_pairs(10, torch.Generator().manual_seed(0)):
        print(f"  {spelled(row)}")


@cache
def _all_rows() -> torch.Tensor:
    """Return the row of every number, the training ones first: (pair, MAX_LENGTH)."""
    numbers = torch.randperm(LARGEST + 1, generator=torch.Generator().manual_seed(0))[: TRAINING + HELD_OUT]
    names = number_names.names(numbers)
    shift = FIRST_WORD - (number_names.END + 1)
    rows = torch.full((len(names), MAX_LENGTH), PADDING)  # (pair, MAX_LENGTH)
    for row, english, german in zip(rows, names.source, names.target, strict=True):
        left = english[english != number_names.PADDING] + shift
        right = german[(german != number_names.PADDING) & (german != number_names.END)] + shift
        pair = torch.cat([left, torch.tensor([SEPARATOR]), right])
        row[: len(pair)] = pair
    return rows


def _rows(held_out: bool) -> torch.Tensor:
    return _all_rows()[TRAINING:] if held_out else _all_rows()[:TRAINING]
