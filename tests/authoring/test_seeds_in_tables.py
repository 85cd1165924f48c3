"""The column of the ledger in the tables of a page."""

import re

import pytest

from course_lib.authoring.seeds_in_tables import VERDICT, with_seeds
from course_lib.findings import Findings, Statement
from course_lib.project import root

TABLE = Findings(
    "Scenes & captions",
    [
        Statement("claim", "exact <i>, 500 ± 2", "0.99", "at least 0.95", holds=True),
        Statement("control", "uniform", "0.20", "at most 0.5", holds=True),
        Statement("opponent", "one vector", "0.92", "ours 0.99, ahead by 0.07", None, "worse"),
    ],
)._repr_html_()
LEDGER = [
    {"name": "exact <i>, 500 ± 2", "values": [0.994, 0.98761, 0.99]},
    {"name": "one vector", "higher_is_better": True, "values": [0.9] * 3, "ours": [0.9, 0.92, 0.9]},
]


def rows(page):
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]


def test_each_row_shows_the_range_of_its_own_values():
    head, exact, uniform, opponent = rows(with_seeds(TABLE, LEDGER))
    assert head[1:3] == ["Value", "Range over the seeds"] and head[3].endswith(f">{VERDICT}</a>")
    assert exact[2] == "0.98 to 1.00" and uniform[2] == "" and opponent[2] == "0.90"
    assert [row[3] for row in (exact, uniform, opponent)] == ["", "", "no clear difference"]


def test_the_row_with_which_a_baseline_is_compared_is_marked():
    exact, uniform, opponent = LEDGER[0], {"name": "uniform", "values": [0.2, 0.3, 0.25]}, LEDGER[1]
    for ours, marks in (
        (exact, ["<strong>ours:</strong> ", "<strong>control:</strong> "]),
        (uniform, ["", "<strong>control, ours:</strong> "]),
        ({"values": [0.5] * 3}, ["", "<strong>control:</strong> "]),  # ours stands in another table
    ):
        ledger = [exact, uniform, opponent | {"ours": ours["values"]}]
        _, *names, last = (row[0] for row in rows(with_seeds(TABLE, ledger)))
        assert names == [marks[0] + "exact &lt;i&gt;, 500 ±&nbsp;2", marks[1] + "uniform"]
        assert last == "<strong>baseline:</strong> one vector"


def test_the_verdict_leads_to_its_rule_on_the_page_of_claims():
    (page, section) = re.search(rf'<a href="(.*?)\.html#(.*?)">{VERDICT}</a>', with_seeds(TABLE, LEDGER)).groups()
    text = (root() / "book" / "text" / f"{page}.md").read_text(encoding="utf-8")
    headings = [heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)$", text, re.MULTILINE)]
    assert section in headings


def test_one_run_keeps_the_verdict_of_the_page_and_seeds_replace_it():
    for ours, verdict in (([0.99] * 3, "worse"), ([0.8, 0.81, 0.8], "better")):
        assert rows(with_seeds(TABLE, [LEDGER[1] | {"ours": ours}]))[3][3] == verdict


@pytest.mark.parametrize("page", [TABLE.replace("table findings", "table"), TABLE.replace("exact", "other")])
def test_other_tables_stay_as_they_are(page):
    known = LEDGER[:1]
    assert with_seeds(page, known) == page


def test_counts_have_a_range_of_counts():
    table = Findings("Look-ups", [Statement("claim", "scaled", "2,000 of 2,000", "at least 0.98", holds=True)])
    shown = with_seeds(table._repr_html_(), [{"name": "scaled", "values": [1.0, 0.9995, 0.999]}])
    assert rows(shown)[1][1:] == ["2,000 of 2,000", "1,998 to 2,000"]


def test_what_stands_around_a_table_stays():
    page = f"<p>before</p>{TABLE}<p>between</p>{TABLE}<p>after</p>"
    shown = with_seeds(page, LEDGER)
    assert shown.count("0.98 to 1.00") == 2 and shown.startswith("<p>before</p>") and shown.endswith("<p>after</p>")


def test_a_share_that_is_shown_as_1_has_no_range_from_0():
    table = Findings("Letters", [Statement("claim", "right", "1", "at least 0.97", holds=True)])
    shown = with_seeds(table._repr_html_(), [{"name": "right", "values": [1.0, 0.999909]}])
    assert rows(shown)[1][1:] == ["1", "0.999 to 1.000"]
