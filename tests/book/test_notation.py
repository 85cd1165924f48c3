"""One symbol, one meaning: the formulas of the pages against the tables of `book/notation.md`.

No test reads what a symbol means where it stands: that a page uses it as its row says is for a reader to judge.

A symbol is a letter, with its accent, and what stands below it. It is explained where a table has it as written
(`d_k`), or has its letter and, for every letter below, a number that can count (`q_i`: `q` and `i`). Primes mark
another thing of the same kind, and what stands above is read like the rest of the formula.
"""

import re
from typing import NamedTuple

import pytest

from course_lib.project import root

BOOK = root() / "book"
PAGES = {int(path.name[:2]): path for path in sorted((BOOK / "text").glob("[0-9][0-9]_*.md"))}

# Greek letters and the few commands that are letters themselves; every other command is an operator or a sign.
LETTER = (
    r"\\(?:alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|phi|varphi"
    r"|chi|psi|omega|Gamma|Delta|Theta|Lambda|Sigma|Phi|Psi|Omega|ell)(?![a-zA-Z])|[a-zA-Z]"
)
ACCENT = r"\\(?:hat|tilde|bar)\s*"
BELOW = r"\{(?:[^{}]|\{[^{}]*\})*\}|\\[a-zA-Z]+|[^\s{}\\]"
SYMBOL = re.compile(rf"(?P<letter>(?:{ACCENT})?(?:{LETTER}))'*(?:_(?P<below>{BELOW}))?|\\[a-zA-Z]+")
# Words inside a formula: names of functions and of environments.
WORDS = re.compile(r"\\(?:text|mathrm|operatorname|mathbb|begin|end)\{[^{}]*\}")

# In the first column of a table, what a symbol depends on: the row does not explain it.
ARGUMENT = re.compile(r"\([^()]*\)")


class Symbol(NamedTuple):
    """A letter with its accent, and what stands below it, without braces and spaces."""

    letter: str
    below: str = ""


def formulas(text: str) -> list[str]:
    """What stands between dollars, in captions too, but not in code within a sentence."""
    prose = re.sub(r"`[^`\n]*`", "", text)
    return [long or short for long, short in re.findall(r"\$\$(.+?)\$\$|\$([^$]+)\$", prose, re.DOTALL)]


def symbols(formula: str) -> set[Symbol]:
    """The symbols of one formula; those of an index are not among them."""
    found = SYMBOL.finditer(WORDS.sub("\\\\word ", formula))
    return {
        Symbol(re.sub(r"\s", "", match["letter"]), re.sub(r"[\s{}']|\\[,;]", "", match["below"] or ""))
        for match in found
        if match["letter"]
    }


def letters(index: str) -> set[Symbol]:
    """The letters that stand in an index, each as a symbol of its own."""
    return {Symbol(symbol.letter) for symbol in symbols(index)}


class Row(NamedTuple):
    """One row of a table: its symbols, whether they are numbers, and what it says."""

    symbols: set[Symbol]
    counts: bool
    meaning: str


def table(heading: str) -> list[Row]:
    """The rows of the table under a heading of notation.md; none where there is no such heading."""
    _, _, below = NOTATION.partition(f"\n## {heading}\n")
    rows = [line.split("|")[1:-1] for line in below.partition("\n## ")[0].splitlines() if line.startswith("| $")]
    return [
        Row(set().union(*map(symbols, formulas(ARGUMENT.sub("", signs)))), "number" in shape, meaning)
        for signs, _, shape, meaning in rows
    ]


NOTATION = (BOOK / "notation.md").read_text(encoding="utf-8")
SHARED = table("Symbols with one meaning")
OWN = {chapter: table(f"Chapter {chapter} alone") for chapter in PAGES}


def on_the_page(chapter: int) -> set[Symbol]:
    """The symbols of all formulas of a chapter."""
    return set().union(*map(symbols, formulas(PAGES[chapter].read_text(encoding="utf-8"))))


def numbers(rows: list[Row]) -> set[Symbol]:
    """The letters that can count: those of the rows that say "number" in place of a shape."""
    return {Symbol(symbol.letter) for row in rows if row.counts for symbol in row.symbols}


def without_index(rows: list[Row], counting: set[Symbol]) -> set[Symbol]:
    """The symbols of some rows: q for q_i, but d_k and W_1 as written, for k counts nothing and 1 is a name here."""
    return {
        Symbol(symbol.letter) if set() < letters(symbol.below) <= counting else symbol
        for row in rows
        for symbol in row.symbols
    }


def is_explained(symbol: Symbol, rows: list[Row]) -> bool:
    """Whether a row has the symbol as written, or one has its letter and others the numbers that stand below it."""
    known = without_index(rows, numbers(rows))
    as_written = any(symbol in row.symbols for row in rows)
    return as_written or (Symbol(symbol.letter) in known and letters(symbol.below) <= numbers(rows))


def second_meanings(row: Row) -> set[Symbol]:
    """The symbols of a row of a chapter's own table that the shared table has too."""
    return without_index([row], numbers(SHARED)) & without_index(SHARED, numbers(SHARED))


@pytest.mark.parametrize("chapter", PAGES)
def test_each_symbol_of_a_chapter_is_explained(chapter):
    unknown = {symbol for symbol in on_the_page(chapter) if not is_explained(symbol, SHARED + OWN[chapter])}
    assert not unknown, f"notation.md does not explain {sorted(unknown)}"


@pytest.mark.parametrize("chapter", PAGES)
def test_each_symbol_of_a_chapters_own_table_stands_on_its_page(chapter):
    page = on_the_page(chapter)
    absent = {symbol for row in OWN[chapter] for symbol in row.symbols if symbol not in page}
    assert not absent, f"Chapter {chapter} has no {sorted(absent)}"


@pytest.mark.parametrize("chapter", PAGES)
def test_a_second_meaning_names_the_first(chapter):
    silent = [second_meanings(row) for row in OWN[chapter] if "elsewhere" not in row.meaning]
    assert not any(silent), f"rows that do not say what the symbol means elsewhere: {sorted(set().union(*silent))}"


@pytest.mark.parametrize("chapter", PAGES)
def test_no_table_explains_a_symbol_twice(chapter):
    for rows in (SHARED, OWN[chapter]):
        every = [symbol for row in rows for symbol in row.symbols]
        assert len(every) == len(set(every)), sorted({s for s in every if every.count(s) > 1})


def test_the_chapters_without_second_meanings_are_named():
    kept = [str(chapter) for chapter in PAGES if not any(map(second_meanings, OWN[chapter]))]
    assert f"In Chapters {', '.join(kept[:-1])} and {kept[-1]} these symbols mean this and nothing else." in NOTATION
