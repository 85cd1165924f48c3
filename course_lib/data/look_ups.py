"""Questions that are answered by finding one thing among several and reading what belongs to it.

Look-ups have one question: 16 pairs of symbols are shown, and the partner of one of them is asked for. In references
every token asks: each has a name, a content, and the name of another token, whose content it wants to know.
"""

from dataclasses import dataclass

import torch

SYMBOLS = 64
NAMES, CONTENTS = 16, 10


@dataclass(frozen=True)
class LookUps:
    """Pairs of symbols, all below SYMBOLS, and one question about each set of pairs.

    first and second: (set, pair), the two symbols of each pair; the first ones all differ within one set. asked:
    (set,), one of the first symbols. answers: (set,), the second symbol of that pair.
    """

    first: torch.Tensor
    second: torch.Tensor
    asked: torch.Tensor
    answers: torch.Tensor

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class References:
    """Sets of tokens that ask each other.

    names: (set, token), below NAMES and all different within one set. requests: (set, token), for each token the name
    of another one. contents: (set, token), below CONTENTS. answers: (set, token), the content of the token asked.
    targets: (set, token), the position at which that token stands.
    """

    names: torch.Tensor
    requests: torch.Tensor
    contents: torch.Tensor
    answers: torch.Tensor
    targets: torch.Tensor

    def __len__(self) -> int:
        return len(self.names)


def draw_look_ups(number: int, generator: torch.Generator, pairs: int = 16) -> LookUps:
    """Draw `number` sets of `pairs` pairs; raises ValueError for less than one, or more pairs than symbols.

    >>> drawn = draw_look_ups(1, torch.Generator().manual_seed(0), pairs=3)
    >>> drawn.first, drawn.second, drawn.asked, drawn.answers
    (tensor([[12, 35, 43]]), tensor([[55, 28, 34]]), tensor([35]), tensor([28]))
    """
    if number < 1 or not 1 <= pairs <= SYMBOLS:
        raise ValueError(f"`number` is {number} and `pairs` {pairs}, expected at least 1, and at most {SYMBOLS} pairs")
    first = _different(number, pairs, SYMBOLS, generator)  # (set, pair)
    second = torch.randint(SYMBOLS, (number, pairs), generator=generator)  # (set, pair)
    position = torch.randint(pairs, (number, 1), generator=generator)  # (set, 1)
    return LookUps(first, second, first.gather(1, position).squeeze(1), second.gather(1, position).squeeze(1))


def draw_references(number: int, generator: torch.Generator, tokens: int = 8) -> References:
    """Draw `number` sets of `tokens` tokens; raises ValueError for fewer than 2 tokens or more than there are names.

    >>> drawn = draw_references(1, torch.Generator().manual_seed(0), tokens=3)
    >>> drawn.names, drawn.requests, drawn.contents, drawn.answers
    (tensor([[12,  2,  3]]), tensor([[ 2,  3, 12]]), tensor([[3, 6, 9]]), tensor([[6, 9, 3]]))
    """
    if number < 1 or not 2 <= tokens <= NAMES:
        raise ValueError(f"`number` is {number} and `tokens` {tokens}, expected at least 1, and 2 to {NAMES} tokens")
    names = _different(number, tokens, NAMES, generator)  # (set, token)
    # One to tokens - 1 positions further on, round in a ring: any other token, and never the token itself.
    steps = torch.randint(1, tokens, (number, tokens), generator=generator)  # (set, token)
    targets = (torch.arange(tokens) + steps) % tokens  # (set, token)
    contents = torch.randint(CONTENTS, (number, tokens), generator=generator)  # (set, token)
    return References(names, names.gather(1, targets), contents, contents.gather(1, targets), targets)


def describe() -> None:
    """Print what the sets hold: ten small look-ups, and one set of references.

    >>> describe()  # doctest: +ELLIPSIS
    look-ups: 16 pairs of 64 symbols, one of them asked for (here: 3 pairs)
      12:55  35:28  43:34   35?  28
    ...
    """
    generator = torch.Generator().manual_seed(0)
    print(f"look-ups: 16 pairs of {SYMBOLS} symbols, one of them asked for (here: 3 pairs)")
    for _ in range(10):
        drawn = draw_look_ups(1, generator, pairs=3)
        pairs = "  ".join(f"{one}:{other}" for one, other in zip(drawn.first[0], drawn.second[0], strict=True))
        print(f"  {pairs}   {drawn.asked.item()}?  {drawn.answers.item()}")
    print(f"references: 8 tokens with {NAMES} names and {CONTENTS} contents, each asking another (here: 4 tokens)")
    drawn = draw_references(1, generator, tokens=4)
    for name, request, content, answer in zip(
        drawn.names[0], drawn.requests[0], drawn.contents[0], drawn.answers[0], strict=True
    ):
        print(f"  token {name} holds {content} and asks token {request}, which holds {answer}")


def _different(number: int, count: int, below: int, generator: torch.Generator) -> torch.Tensor:
    """Draw rows (number, count) of integers that differ within a row: the first of a random order of all."""
    return torch.rand(number, below, generator=generator).argsort(dim=1)[:, :count]
