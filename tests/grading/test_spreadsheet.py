"""Cells that no spreadsheet takes for a formula, whatever it takes for the border between two cells."""

import csv
import io
import unicodedata

import pytest

from course_lib.grading.spreadsheet import cell, table

FORMULAS = ("=1+1", "+1", "-1", "@sum", "＝1", " =1")
BORDERS = (";", ';"', ';""', '; "', "\t", '\t"', "\n", '\n"', "\r\n")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_begins_like_a_formula_behind_any_border(formula, border, delimiter):
    name = cell(f"x{border}{formula};y.py")
    text = table([[name, "3"], ["Ada", name, "3"]])
    cells = [each for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) for each in row]
    assert not [each for each in cells if unicodedata.normalize("NFKC", each).lstrip(' "').startswith(tuple("=+-@"))]


def test_a_text_without_a_formula_stays_as_it_is():
    for text in ('Ada "the first"; a = b', "Ada;\tB-\n1 + 1", "Ada;"):
        assert cell(text) == text
