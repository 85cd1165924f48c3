"""Cells of tables that spreadsheets open: text that is nothing but text."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet executes a cell that begins with one of these

# A spreadsheet that separates by semicolons begins a new cell there.
BEHIND_A_BORDER = re.compile(r"(;)(\s*[=+\-@])")


def cell(text: str) -> str:
    """Return a text that neither a spreadsheet nor a terminal obeys; what a spreadsheet does, it does in any width.

    >>> cell("=1+1"), cell("Ada"), cell("Ada;=1+1")
    ("'=1+1", 'Ada', "Ada;'=1+1")
    """
    text = "".join(each if each.isprintable() or each in "\t\r\n" else "\ufffd" for each in text)
    text = BEHIND_A_BORDER.sub(r"\1'\2", text)
    return f"'{text}" if unicodedata.normalize("NFKC", text).startswith(FORMULA) else text


def table(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as text in CSV."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()
