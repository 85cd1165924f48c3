"""Stated findings: a chapter says what must hold, and stops when it does not; and it says how its rivals did."""

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from IPython.display import display

from course_lib.findings import Findings, Statement
from course_lib.measurements import Measurement, side, standing


class BrokenClaim(AssertionError):
    """What a chapter states does not hold in this run."""


def claim(
    name: str,
    value: float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    cases: int | None = None,
    error: float | None = None,
) -> None:
    """State that the measured `value` keeps to its bound; print one line, raise BrokenClaim when it does not.

    With `cases`, a share is stated with its standard error over so many cases; with `error`, anything else with this
    standard error. Raises ValueError where there is not exactly one bound, and for what cannot be a standard error.

    >>> claim("exact match on fresh scenes", 0.9912, at_least=0.95)
    claim    exact match on fresh scenes: 0.991 (at least 0.95)
    >>> claim("exact match on fresh scenes", 0.316, at_least=0.95, cases=500)
    Traceback (most recent call last):
    course_lib.claims.BrokenClaim: claim "exact match on fresh scenes" does not hold: 0.316 ± 0.021 is not at least 0.95
    """
    _state("claim", name, Measurement(float(value), cases, error), at_least, at_most)


def control(
    name: str,
    value: float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    cases: int | None = None,
    error: float | None = None,
) -> None:
    """State that the version which must fail does fail: the same line and the same errors as `claim`.

    >>> control("uniform attention", 0.28, at_most=0.50)
    control  uniform attention: 0.28 (at most 0.5)
    """
    _state("control", name, Measurement(float(value), cases, error), at_least, at_most)


def opponent(
    name: str,
    value: float,
    *,
    ours: float,
    higher_is_better: bool = True,
    cases: int | None = None,
    error: float | None = None,
    our_error: float | None = None,
) -> None:
    """State what a rival that might win has measured beside `ours`; a rival that wins is a finding, not an error.

    `cases` says from how many cases both shares were counted; `error` and `our_error` are the standard errors of
    other values. Then the line says in standard errors of the difference how far ours is ahead or behind. They are
    computed as if the two had met different cases; on the same cases both share their luck, and the error is smaller.

    Nothing has to hold, so there is no bound. What a page says of the margin is a claim, and is stated as one:
    `claim("ahead of one vector", ours - rival, at_least=0.05)`.

    Raises ValueError for a value that is not finite (a rival that diverged has not been given its chance), where one
    of the two errors is missing, and for what cannot be a standard error.

    >>> opponent("exact captions, one vector", 0.926, ours=0.994, cases=500)
    opponent exact captions, one vector: 0.926 ± 0.012 (ours 0.9940 (497 of 500), ahead by 5.6 standard errors)
    >>> opponent("bits a character, Kneser-Ney", 1.866, ours=1.868, higher_is_better=False)
    opponent bits a character, Kneser-Ney: 1.866 (ours 1.868, behind by 0.002, lower is better)
    """
    if (error is None) != (our_error is None):
        raise ValueError(f'opponent "{name}" got one of error and our_error, expected both or neither')
    theirs, own = Measurement(float(value), cases, error), Measurement(float(ours), cases, our_error)
    for argument, measured in (("value", theirs), ("ours", own)):
        if not math.isfinite(measured.value):
            raise ValueError(f'opponent "{name}": {argument} got {measured.value:g}, expected a finite number')
    lead = own.value - theirs.value if higher_is_better else theirs.value - own.value
    spread = math.hypot(own.standard_error, theirs.standard_error)
    comparison = f"ours {_words(own, 4)}, {standing(lead, spread)}"  # four digits, since rivals may be close
    if not higher_is_better:
        comparison += ", lower is better"
    stands = side(lead, spread)
    beside = {"ahead": "worse", "behind": "better"}.get(stands, stands)  # said of the rival, beside its value
    record(kind="opponent", name=name, value=theirs.value, ours=own.value, higher_is_better=higher_is_better)
    _show(Statement("opponent", name, _words(theirs, 4), comparison, None, beside))


@contextmanager
def findings(caption: str, decimals: int | None = None) -> Iterator[None]:
    """Collect what is stated inside, and show it at the end as one table: HTML in Jupyter, plain text elsewhere.

    With `decimals`, every value without a standard error has so many of them; otherwise each has the digits that count.

    A claim that breaks inside stops the cell after the table, so that a reader sees the whole of it: BrokenClaim names
    all that broke. Raises ValueError where the caption is empty, where nothing is stated inside, and for a table inside
    a table.

    >>> with findings("Captions of 500 fresh scenes"):
    ...     claim("exact", 0.994, at_least=0.95, cases=500)
    ...     control("exact, uniform attention", 0.21, at_most=0.5, cases=500)
    ...     opponent("exact, one vector", 0.926, ours=0.994, cases=500)
    Captions of 500 fresh scenes
    claim     exact                     0.9940 (497 of 500)  at least 0.95 ✓
    control   exact, uniform attention  0.210 ± 0.018        at most 0.5 ✓
    opponent  exact, one vector         0.926 ± 0.012        ours 0.9940 (497 of 500), ahead by 5.6 standard errors
    >>> with findings("Bits a character", decimals=2):
    ...     claim("with positions", 2.604, at_most=2.8)
    ...     control("without", 3.1, at_least=3)
    Bits a character
    claim    with positions  2.60  at most 2.8 ✓
    control  without         3.10  at least 3 ✓
    """
    global _table
    if not caption.strip():
        raise ValueError("caption got an empty text, expected words that say what was measured on what")
    if _table is not None:
        raise ValueError(f'findings "{caption}" stands inside of findings "{_table.caption}": end that one first')
    table = _table = Findings(caption, decimals=decimals)
    try:
        yield
    finally:
        _table = None
        if table.statements:
            display(table)
    if not table.statements:
        raise ValueError(f'findings "{caption}" has no claim, control or opponent inside')
    if broken := [statement for statement in table.statements if statement.holds is False]:
        raise BrokenClaim("; ".join(map(_broken, broken)))


_table: Findings | None = None  # the one that collects at present


def _state(kind: str, name: str, measured: Measurement, at_least: float | None, at_most: float | None) -> None:
    if (at_least is None) == (at_most is None):
        raise ValueError(f'{kind} "{name}" needs exactly one bound: at_least or at_most')
    # A comparison with NaN is False, so a value that could not be computed never holds.
    holds = measured.value >= at_least if at_least is not None else measured.value <= at_most
    bound = f"at least {at_least:g}" if at_least is not None else f"at most {at_most:g}"
    record(kind=kind, name=name, value=measured.value, at_least=at_least, at_most=at_most, holds=holds)
    statement = Statement(kind, name, _words(measured, 3), bound, holds)
    if not holds and _table is None:
        raise BrokenClaim(_broken(statement))
    _show(statement)


def _words(measured: Measurement, digits: int) -> str:
    """Return a value as the open table writes it: the same decimals in each row, where the table asks for that."""
    decimals = None if _table is None else _table.decimals
    bare = measured.cases is None and measured.error is None
    return f"{measured.value:,.{decimals}f}" if bare and decimals is not None else measured.text(digits)


def _broken(statement: Statement) -> str:
    return f'{statement.kind} "{statement.name}" does not hold: {statement.value} is not {statement.comparison}'


def _show(statement: Statement) -> None:
    """Add the statement to the table that is open, or print its line."""
    if _table is None:
        print(statement)
    else:
        _table.statements.append(statement)


def record(**statement) -> None:
    """Append what was measured, by name, to the file that `course claims` collects; where it does not run, do nothing.

    >>> record(kind="trained", name="loss of a model", value=2.5)
    """
    if path := os.environ.get("COURSE_CLAIMS_FILE"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(statement) + "\n")
