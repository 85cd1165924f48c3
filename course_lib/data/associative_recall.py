"""Pairs that are told one token after the other, and then all asked for: a test of how much a model can keep.

The pairs are those of `look_ups`, where one question sees all pairs at once. Here they are a sequence for a causal
model: each key with its value behind it, then every key once more, in another order. What a model keeps of the pairs
must answer all questions; a state of fixed size holds only so many.
"""

from dataclasses import dataclass

import torch

from course_lib.data.look_ups import SYMBOLS, draw_look_ups

TOKENS = 2 * SYMBOLS  # the keys, then the values


@dataclass(frozen=True)
class Recalls:
    """A set of rows, each with all of its pairs and then all of its questions.

    tokens: (row, 3 * pairs): key, value, key, value, ..., and then the keys again, in random order. Keys are below
    SYMBOLS and all different within one row, values are from SYMBOLS to TOKENS - 1. answers: (row, pairs), for each
    of the last `pairs` tokens the value that belongs to it.
    """

    tokens: torch.Tensor
    answers: torch.Tensor

    def __len__(self) -> int:
        return len(self.tokens)


def draw_recalls(number: int, generator: torch.Generator, pairs: int = 8) -> Recalls:
    """Draw `number` rows of `pairs` pairs; raises ValueError for less than one, or more pairs than symbols.

    Multi-query associative recall, after Arora et al. (2024), who put the questions at random distances.

    >>> drawn = draw_recalls(1, torch.Generator().manual_seed(0), pairs=3)
    >>> drawn.tokens, drawn.answers
    (tensor([[ 12, 119,  35,  92,  43,  98,  43,  12,  35]]), tensor([[ 98, 119,  92]]))
    """
    drawn = draw_look_ups(number, generator, pairs)
    keys, values = drawn.first, SYMBOLS + drawn.second  # (row, pair)
    order = torch.rand(number, pairs, generator=generator).argsort(dim=1)  # (row, pair): which pair is asked for when
    told = torch.stack([keys, values], dim=-1).flatten(1)  # (row, 2 * pairs)
    return Recalls(torch.cat([told, keys.gather(1, order)], dim=1), values.gather(1, order))


def describe() -> None:
    """Print what the set holds and ten rows.

    >>> describe()  # doctest: +ELLIPSIS
    associative_recall: pairs of 64 keys and 64 values, then every key once more (here: 3 pairs)
      12:97  35:92  43:68   35? 92  43? 68  12? 97
      ...
    """
    print(f"associative_recall: pairs of {SYMBOLS} keys and {SYMBOLS} values, then every key once more (here: 3 pairs)")
    drawn = draw_recalls(10, torch.Generator().manual_seed(0), pairs=3)
    for tokens, answers in zip(drawn.tokens.tolist(), drawn.answers.tolist(), strict=True):
        pairs = "  ".join(f"{key}:{value}" for key, value in zip(tokens[0:6:2], tokens[1:6:2], strict=True))
        questions = "  ".join(f"{key}? {value}" for key, value in zip(tokens[6:], answers, strict=True))
        print(f"  {pairs}   {questions}")
