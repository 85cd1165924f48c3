"""What every page keeps to, beside tests/book/test_contract.py: CONTRIBUTING.md, "Write a page"."""

import re

import pytest

from tests.book.test_contract import CHAPTERS, notebook, words

DEEPER = "## Going deeper"
pytestmark = pytest.mark.parametrize("stem", CHAPTERS)
STATEMENT = re.compile(r"^\s*(?:claim|control|opponent)\(", re.M)
STATED = re.compile(r"^(?:claim|control|opponent) .*", re.M)


def core(stem):
    """Return the cells before what goes deeper."""
    cells = notebook(stem).cells
    end = next((number for number, cell in enumerate(cells) if DEEPER in cell.source), None)
    assert end is not None, f"no heading {DEEPER!r}: what few readers need stands at the end, under it"
    return cells[:end]


def markdown_of(cells):
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def test_the_core_is_short(stem):
    assert len(words(markdown_of(core(stem)))) <= 2000


def test_a_drawing_comes_before_the_first_formula(stem):
    for cell in core(stem):
        if any("<svg" in output.get("data", {}).get("text/html", "") for output in cell.get("outputs", [])):
            return
        assert cell.cell_type == "code" or "$$" not in cell.source, "a formula comes before any drawing"
    pytest.fail("no cell shows a drawing made by course_lib.diagrams")


def test_the_running_example_is_used(stem):
    assert any(re.search(r"(running|image)_example", cell.source) for cell in core(stem) if cell.cell_type == "code")


def test_the_machine_is_on_the_page(stem):
    assert any("show_source(" in cell.source for cell in core(stem) if cell.cell_type == "code")


def test_what_an_experiment_found_is_one_table(stem):
    for cell in notebook(stem).cells:
        if cell.cell_type == "code" and STATEMENT.search(cell.source):
            assert "hide-input" in cell.metadata.get("tags", []), f"an open cell states claims: {cell.source[:60]}"
        # Outside of a table, a statement prints its line, wherever its call stands.
        printed = "".join(output.get("text", "") for output in cell.get("outputs", []))
        assert not STATED.search(printed), f"a statement outside of `with findings`: {STATED.search(printed)[0]}"


def test_a_rival_that_might_win_stands_in_the_core(stem):
    assert any("opponent" in cell.metadata.get("tags", []) for cell in core(stem))


def test_there_is_a_box_of_todays_practice(stem):
    assert "} Today's practice" in markdown_of(core(stem))


def test_the_opening_says_what_you_need_and_what_you_can_do_afterwards(stem):
    opening = " ".join(markdown_of(core(stem)).partition("\n## ")[0].split())  # wherever its lines break
    for words_ in ("*You need*", "*Afterwards you can*", "*Reading takes*"):
        assert words_ in opening
    assert re.search(r"\*\*[^*]{30,}\*\*", opening), "no bold claim in the opening"
