"""How much of the machine a submission may use."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds for one submission; beyond one of them it gets a verdict with the reason, and the grader goes on."""

    wall: float = 30.0  # seconds on the clock for everything that it is asked
    step: float = 2.0  # seconds of computing for one call; an endless loop then loses this call and no more
    memory: int = 1 << 30  # bytes of address space beyond what Python and torch take
    output: int = 1 << 20  # bytes printed
    reply: int = 1 << 24  # bytes in one reply: far more than the answer to any case

    @property
    def computing(self) -> float:
        """Seconds of computing for everything: on a machine that is busy, the clock runs several times faster."""
        return self.wall / 3
