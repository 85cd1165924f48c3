"""Cells of tables that spreadsheets open: text that is nothing but text."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet executes a cell that begins with one of these

# A spreadsheet that separates by semicolons or tabs begins a new cell at each, and at each end of a line: our quotes
# may be none to it. It drops those at the beginning of a cell, so that the first sign after them counts.
BEHIND_A_BORDER = re.compile(r"""(?<=[;\t\r\n])(?=[\s"]*([^\s"]))""")


def cell(text: str) -> str:
    """Return a text that neither a spreadsheet nor a terminal obeys; what a spreadsheet does, it does in any width.

    >>> cell("=1+1"), cell("Ada"), cell("Ada;=1+1")
    ("'=1+1", 'Ada', "Ada;'=1+1")
    """
    text = "".join(each if each.isprintable() or each in "\t\r\n" else "\ufffd" for each in text)
    text = BEHIND_A_BORDER.sub(lambda border: "'" if _begins_a_formula(border[1]) else "", text)
    return f"'{text}" if _begins_a_formula(text) else text


def table(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as text in CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _begins_a_formula(text: str) -> bool:
    return unicodedata.normalize("NFKC", text).startswith(FORMULA)
