"""Random symbols that begin again after a while: what comes next can be known only by who looks back and matches."""

from dataclasses import dataclass

import torch

SYMBOLS = 32
SHORTEST = 6  # symbols in the segment that is repeated


@dataclass(frozen=True)
class Repeats:
    """A set of rows, each a random segment said again and again.

    tokens: (row, time + 1), below SYMBOLS: inputs and, one position further on, targets. periods: (row,), how long the
    segment is: from the position with this number on, every token was there before.
    """

    tokens: torch.Tensor
    periods: torch.Tensor

    def __len__(self) -> int:
        return len(self.tokens)


def draw_repeats(number: int, generator: torch.Generator, time: int = 32, period: int | None = None) -> Repeats:
    """Draw `number` rows whose periods are random, from SHORTEST to time / 2, or all equal to `period`.

    Raises ValueError for less than one row, a `time` below twice SHORTEST, or a period that is not from 1 to time / 2.

    >>> drawn = draw_repeats(1, torch.Generator().manual_seed(0), time=12)
    >>> drawn.periods, drawn.tokens
    (tensor([6]), tensor([[15, 21,  0,  3, 27,  3, 15, 21,  0,  3, 27,  3, 15]]))
    """
    if number < 1 or time < 2 * SHORTEST or (period is not None and not 1 <= period <= time // 2):
        raise ValueError(
            f"`number` is {number}, `time` {time} and `period` {period}, expected at least 1, at least {2 * SHORTEST}, "
            "and at most half of `time`"
        )
    if period is None:
        periods = torch.randint(SHORTEST, time // 2 + 1, (number,), generator=generator)  # (row,)
    else:
        periods = torch.full((number,), period)  # (row,)
    segments = torch.randint(SYMBOLS, (number, time // 2), generator=generator)  # (row, longest segment)
    positions = torch.arange(time + 1) % periods[:, None]  # (row, time + 1)
    return Repeats(segments.gather(1, positions), periods)


def describe() -> None:
    """Print what the set holds and ten rows.

    >>> describe()  # doctest: +ELLIPSIS
    repeats: a random segment of 32 symbols, said again and again; a bar where it begins anew
      ...
    """
    print(f"repeats: a random segment of {SYMBOLS} symbols, said again and again; a bar where it begins anew")
    drawn = draw_repeats(10, torch.Generator().manual_seed(0), time=24)
    for tokens, period in zip(drawn.tokens.tolist(), drawn.periods.tolist(), strict=True):
        segments = [tokens[start : start + period] for start in range(0, len(tokens), period)]
        print("  " + " | ".join(" ".join(map(str, segment)) for segment in segments))
