"""Taking turns: every candidate does its work once a round, and each round is a comparison of its own.

What else the machine does slows down whoever is at work. Within one round it slows down all candidates about equally,
so ratios within a round are steadier than times. The clock counts the time that the processor spends on this process
(`time.process_time`), so that work of other processes counts as little as possible.
"""

import gc
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from tqdm import tqdm

LEAST_ROUNDS, MOST_ROUNDS = 7, 201

Clock = Callable[[], float]


def children_too() -> float:
    """Return the seconds of processor time of this process and of the finished processes that it started."""
    return sum(os.times()[:4])


@dataclass(frozen=True)
class Candidate:
    """One way to do the work: `call` is what is timed; it gets what `prepare` returns, which is not."""

    name: str
    call: Callable[..., object]
    prepare: Callable[[], tuple] = tuple

    def turn(self, clock: Clock) -> float:
        """Return how long the work takes once."""
        arguments = self.prepare()
        start = clock()
        self.call(*arguments)
        return clock() - start


@dataclass(frozen=True)
class Spread:
    """The median of some values, and the quartiles: half of the values lie between `lower` and `upper`."""

    lower: float
    median: float
    upper: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread of at least two values.

        >>> Spread.of([5.0, 1.0, 2.0, 4.0, 3.0])
        Spread(lower=2.0, median=3.0, upper=4.0)
        """
        return cls(*quantiles(values, n=4, method="inclusive"))


@dataclass(frozen=True)
class Measured:
    """What came out for one candidate: seconds of a turn, and their ratio to the fastest candidate's in its round."""

    name: str
    seconds: Spread
    ratio: Spread


def interleave(
    candidates: Sequence[Candidate], seconds: float, clock: Clock = time.process_time, title: str = ""
) -> dict[str, list[float]]:
    """Let the candidates take turns, A B C A B C, and return the times of each, one for every round.

    A first round warms up memory and caches, is not counted, and says how many rounds fit into `seconds`.
    """
    first = sum([candidate.turn(clock) for candidate in candidates])
    rounds = max(LEAST_ROUNDS, min(MOST_ROUNDS, int(seconds / first) if first else MOST_ROUNDS))
    times: dict[str, list[float]] = {candidate.name: [] for candidate in candidates}
    collecting = gc.isenabled()
    gc.disable()  # or one of the candidates would pay for what all have left behind
    gc.collect()
    gc.freeze()  # what is here already need not be looked at after every round
    try:
        for _ in tqdm(range(rounds), desc=title, unit="round", leave=False):
            gc.collect()
            for candidate in candidates:
                times[candidate.name].append(candidate.turn(clock))
    finally:
        gc.unfreeze()
        if collecting:
            gc.enable()
    return times


def summarise(times: dict[str, list[float]], beside: Sequence[str] | None = None) -> list[Measured]:
    """Return what came out for each candidate, with its ratios to the fastest.

    The fastest is the candidate that usually takes the smallest part of a round. It is chosen among those named in
    `beside`, if there are any: what is measured in the same rounds without doing the same work is left out there.

    >>> [each.ratio.median for each in summarise({"a": [2.0, 4.0], "b": [1.0, 2.0]})]
    [2.0, 1.0]
    """
    rounds = [sum(each) for each in zip(*times.values(), strict=True)]
    parts = {name: median(mine / whole for mine, whole in zip(times[name], rounds, strict=True)) for name in times}
    fastest = times[min(beside or times, key=parts.get)]
    return [Measured(name, Spread.of(each), ratio_of(each, fastest)) for name, each in times.items()]


def ratio_of(one: Sequence[float], other: Sequence[float]) -> Spread:
    """Return how many times as long `one` takes as `other`: the spread of the ratios of all rounds.

    >>> ratio_of([3.0, 6.0, 9.0], [1.0, 2.0, 3.0]).median
    3.0
    """
    return Spread.of([mine / yours for mine, yours in zip(one, other, strict=True)])
