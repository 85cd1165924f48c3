import re
from xml.etree import ElementTree

import pytest

from course_lib.findings import Findings, Statement

CAPTION = "Scenes & captions <of 500>"
STATEMENTS = [
    Statement("claim", "exact <i>", "0.9940 ± 0.0035", "at least 0.95", holds=True),
    Statement("control", "uniform & even", "0.80", "at most 0.5", holds=False),
    Statement(
        "opponent", "one vector", "0.926 ± 0.012", "ours 0.9940 ± 0.0035, ahead by 5.6 standard errors", None, "worse"
    ),
]


@pytest.fixture
def table() -> Findings:
    return Findings(CAPTION, STATEMENTS)


def test_plain_text_has_a_line_for_each_statement_that_begins_with_its_kind(table):
    caption, *lines = repr(table).splitlines()
    assert caption == CAPTION
    assert [line.split()[0] for line in lines] == ["claim", "control", "opponent"]
    assert lines[0].endswith("at least 0.95 ✓") and lines[1].endswith("at most 0.5 ✗")
    assert lines[2].endswith(STATEMENTS[2].comparison) and lines[2].index("ours") == lines[0].index("at least")


def cells(table) -> list[list[str]]:
    """The words of each row of the HTML, which is well-formed enough to be read as XML."""
    root = ElementTree.fromstring(table._repr_html_().replace("&nbsp;", " "))
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def test_html_has_the_kind_in_words_and_a_bound_only_where_it_is_broken(table):
    assert cells(table) == [
        ["What was measured", "Value", "Compared with ours, the baseline is"],
        ["exact <i>", "0.9940 ± 0.0035", ""],
        ["control: uniform & even", "0.80 ✗ not at most 0.5", ""],
        ["baseline: one vector", "0.926 ± 0.012", "worse"],
    ]


def test_html_without_an_opponent_has_two_columns():
    assert cells(Findings(CAPTION, STATEMENTS[:2]))[:2] == [
        ["What was measured", "Value"],
        ["exact <i>", "0.9940 ± 0.0035"],
    ]


def test_html_names_its_rows_columns_and_itself(table):
    root = ElementTree.fromstring(table._repr_html_().replace("&nbsp;", " "))
    assert root.find("caption").text == CAPTION
    assert [cell.get("scope") for cell in root.iter("th")] == ["col"] * 3 + ["row"] * 3
    # An error does not part from its sign at the end of a line.
    assert len(re.findall("±&nbsp;", table._repr_html_())) == 2
