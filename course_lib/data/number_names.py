"""Number names in English and in German, where the ones are said before the tens: forty nine, neun und vierzig."""

import re
from dataclasses import dataclass
from functools import cache

import torch
from num2words import num2words

LARGEST = 999_999
TRAINING, HELD_OUT = 2_000, 1_000  # numbers of the million
PADDING, START, END = 0, 1, 2
_ENGLISH = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand and
"""
# What German writes in one word is taken apart here.
_GERMAN = """
    null ein eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn
    siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend und
"""
VOCABULARY = ("<pad>", "<start>", "<end>", *_ENGLISH.split(), *_GERMAN.split())


@dataclass(frozen=True)
class NumberNames:
    """Numbers with their names in two languages, as indices into VOCABULARY, with PADDING at the end.

    numbers: (pair,). source: (pair, n), the English words. target: (pair, m), the German pieces and END. words:
    (pair, m), what stands before each piece of the target: START, then the target without its last.
    """

    numbers: torch.Tensor
    source: torch.Tensor
    target: torch.Tensor
    words: torch.Tensor

    def __len__(self) -> int:
        return len(self.numbers)


def names(numbers: torch.Tensor) -> NumberNames:
    """Return the names of `numbers` (pair,); raises ValueError for one outside 0 to LARGEST, or for none.

    >>> pair = names(torch.tensor([49]))
    >>> spelled(pair.source[0]), spelled(pair.target[0])
    ('forty nine', 'neun und vierzig <end>')
    """
    if not len(numbers) or numbers.min() < 0 or numbers.max() > LARGEST:
        raise ValueError(f"`numbers` is {numbers.tolist()}, expected some from 0 to {LARGEST}")
    source = [[_INDEX[word] for word in _english(number)] for number in numbers.tolist()]
    target = [[_INDEX[piece] for piece in _german(number)] + [END] for number in numbers.tolist()]
    padded = _pad(target)  # (pair, m)
    start = torch.full((len(numbers), 1), START)  # (pair, 1)
    words = torch.cat([start, padded[:, :-1]], dim=1).masked_fill(padded == PADDING, PADDING)  # (pair, m)
    return NumberNames(numbers, _pad(source), padded, words)


def draw_number_names(number: int, generator: torch.Generator, held_out: bool = False) -> NumberNames:
    """Draw `number` pairs from the TRAINING numbers, or from the HELD_OUT ones; raises ValueError for less than one.

    >>> drawn = draw_number_names(2, torch.Generator().manual_seed(0))
    >>> spelled(drawn.target[1])
    'zwei und vierzig tausend sieben hundert neunzehn <end>'
    """
    if number < 1:
        raise ValueError(f"`number` is {number}, expected at least 1")
    numbers = _NUMBERS[TRAINING:] if held_out else _NUMBERS[:TRAINING]  # (some,)
    return names(numbers[torch.randint(len(numbers), (number,), generator=generator)])


def held_out() -> NumberNames:
    """Return all numbers that are never drawn for training.

    >>> len(held_out())
    1000
    """
    return names(_NUMBERS[TRAINING:])


def spelled(row: torch.Tensor) -> str:
    """Return indices (time,) as words, without the padding.

    >>> spelled(torch.tensor([VOCABULARY.index("neun"), END, PADDING]))
    'neun <end>'
    """
    return " ".join(VOCABULARY[index] for index in row.tolist() if index != PADDING)


def describe() -> None:
    """Print what the set holds and ten pairs.

    >>> describe()  # doctest: +ELLIPSIS
    number_names: 2000 numbers below a million to train with, 1000 held out
      ...
    """
    print(f"number_names: {TRAINING} numbers below a million to train with, {HELD_OUT} held out")
    drawn = draw_number_names(10, torch.Generator().manual_seed(0))
    for source, target in zip(drawn.source, drawn.target, strict=True):
        print(f"  {spelled(source)}\n    {spelled(target)}")


@cache
def _english(number: int) -> list[str]:
    return re.split(r"[ ,-]+", num2words(number, lang="en"))


@cache
def _german(number: int) -> list[str]:
    # num2words writes "dreihunderteinstausend"; in German the s falls away before the thousand.
    return _PIECES.findall(num2words(number, lang="de").replace("einstausend", "eintausend"))


def _pad(rows: list[list[int]]) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [PADDING] * (longest - len(row)) for row in rows])  # (pair, longest)


# The longest piece that fits comes first: "siebzehn" and not "sieben" or "zehn".
_PIECES = re.compile("|".join(sorted(_GERMAN.split(), key=len, reverse=True)))
_INDEX = {token: index for index, token in enumerate(VOCABULARY)}  # no word is the same in both languages
_NUMBERS = torch.randperm(LARGEST + 1, generator=torch.Generator().manual_seed(0))[: TRAINING + HELD_OUT]
