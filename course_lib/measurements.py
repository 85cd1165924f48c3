"""Measured numbers with their standard errors, and how one of them stands to another."""

import math
from dataclasses import dataclass

FEW = 5  # cases: with fewer, the normal distribution behind a standard error does not fit
CLEAR = 3  # standard errors: over five seeds, chance alone gets that far once in 25 times


@dataclass(frozen=True)
class Measurement:
    """A measured value, and how far it would move from sample to sample: its standard error.

    `cases` is for a share: so many cases were counted, and the standard error is sqrt(p(1 - p) / cases). `error` is the
    standard error of anything else. Raises ValueError for a share outside 0 to 1, for fewer than one case, for an error
    that is not positive, and where both are given.

    >>> print(Measurement(0.316, cases=500))
    0.316 ± 0.021
    >>> print(Measurement(1.8664, error=0.013), Measurement(0.9912))
    1.866 ± 0.013 0.991

    Where fewer than five cases differ from the others, the formula promises too much: there we say what we counted.

    >>> print(Measurement(1.0, cases=1000))
    1,000 of 1,000
    >>> print(Measurement(0.996, cases=500))
    0.9960 (498 of 500)
    """

    value: float
    cases: int | None = None
    error: float | None = None

    def __post_init__(self):
        if self.cases is not None and self.error is not None:
            raise ValueError("got cases and error, expected one of them: with cases, the standard error is computed")
        if self.cases is not None and not (isinstance(self.cases, int) and self.cases >= 1):
            raise ValueError(f"cases got {self.cases!r}, expected a whole number of at least 1")
        if self.cases is not None and not 0 <= self.value <= 1:
            raise ValueError(f"value got {self.value:g}, expected a share from 0 to 1, since cases are given")
        if self.error is not None and not 0 < self.error < math.inf:
            raise ValueError(f"error got {self.error:g}, expected a standard error above 0")

    @property
    def standard_error(self) -> float:
        """The standard error; 0 where none is known."""
        if self.cases is not None:
            return math.sqrt(self.value * (1 - self.value) / self.cases)
        return self.error or 0.0

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int = 3) -> str:
        """Return the value with its standard error; where none is known, the value to so many digits."""
        counted = "" if self.cases is None else f"{round(self.value * self.cases):,} of {self.cases:,}"
        if counted and self.value in (0, 1):
            return counted
        if self.standard_error == 0:
            return in_digits(self.value, digits)
        # The error has two digits, and the value ends where the error does.
        exponent = int(f"{self.standard_error:.1e}".partition("e")[2])
        decimals = max(0, 1 - exponent)
        value, error = (f"{each:,.{decimals}f}" for each in (self.value, self.standard_error))
        if counted and round(min(self.value, 1 - self.value) * self.cases) < FEW:
            return f"{value} ({counted})"
        return f"{value} ± {error}"


def side(lead: float, error: float) -> str:
    """Return in a word or three how we stand to a rival: `lead` is how much better ours is, `error` its standard error.

    Less than three standard errors are no clear difference; where no error is known, it is 0 and any lead counts.

    >>> side(0.068, 0.0123), side(-0.002, 0), side(0.002, 0.0017), side(0, 0)
    ('ahead', 'behind', 'no clear difference', 'no difference')
    """
    if lead == 0:
        return "no difference"
    # The number of standard errors that `standing` shows decides.
    if error > 0 and round(abs(lead) / error, 1) < CLEAR:
        return "no clear difference"
    return _direction(lead)


def standing(lead: float, error: float) -> str:
    """Return the same as `side`, and by how much.

    >>> standing(0.068, 0.0123), standing(-0.002, 0)
    ('ahead by 5.5 standard errors', 'behind by 0.002')
    >>> standing(0.002, 0.0017), standing(0, 0)
    ('no clear difference (ahead by 1.2 standard errors)', 'no difference')
    """
    words = side(lead, error)
    if lead == 0:
        return words
    if error == 0:
        return f"{words} by {in_digits(abs(lead), 3)}"
    distance = f"{abs(lead) / error:.1f} standard errors"
    direction = _direction(lead)
    return f"{words} by {distance}" if words == direction else f"{words} ({direction} by {distance})"


def _direction(lead: float) -> str:
    return "ahead" if lead > 0 else "behind"


def in_digits(value: float, digits: int) -> str:
    """Return a value to so many digits, and from a thousand on as a whole number, since 5.5e+03 is hard to read.

    >>> in_digits(0.12345, 3), in_digits(5501.7, 3), in_digits(999.5, 3)
    ('0.123', '5,502', '1,000')
    """
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.{digits}g}"
