"""The terminal's table, the parts of the page, and that the page is made of the result file."""

import re

import matplotlib.pyplot as plt
import pytest

from benchmarks import report, results
from benchmarks.measuring import Measured, Spread
from benchmarks.results import Family, Goal, Row
from benchmarks.rows import NAMES
from course_lib.project import root

PAGE = (root() / "book" / "how_fast_is_it.md").read_text(encoding="utf-8")
FACTS = {"date": "2026-01-01", "processor": "a processor", "torch": "2", "python": "3", "course": "abc"}


@pytest.fixture
def row():
    ours = Measured("ours", Spread(0.011, 0.012, 0.013), Spread(1.1, 1.2, 1.3))
    theirs = Measured("theirs", Spread(0.009, 0.01, 0.011), Spread(1.0, 1.0, 1.0))
    slow = Measured("slow", Spread(0.1, 0.1, 0.1), Spread(10.0, 10.0, 10.0))
    return Row("a step", [ours, slow, theirs], goals=[Goal("ours, to the fastest", 1.2, 1.05)], notes=["A note."])


@pytest.fixture
def family(row):
    peers = {"theirs": "0123456789", "not measured": "9876543210"}
    return Family("Steps", [row, Row("not here", [], notes=["Not measured."])], FACTS | {"peers": peers})


def test_a_table_begins_with_the_fastest_and_its_columns_stand_below_each_other(row):
    assert report.text("Steps", row).splitlines() == [
        "",
        "Steps: a step",
        "  what       time  ratio  half of the rounds",
        "  theirs  10.0 ms   1.00        1.00 to 1.00",
        "  ours    12.0 ms   1.20        1.10 to 1.30",
        "  slow     100 ms  10.00      10.00 to 10.00",
        "  Aim: ours, to the fastest, at most 1.05; it is 1.2, not reached.",
        "  A note.",
    ]


def test_a_value_close_to_its_bound_has_the_digits_that_show_on_which_side_it_is(row):
    peak, answers = Goal("peak", 0.55004, 0.55, at_least=True), Goal("answers", 1499.7, 1500, at_least=True)
    close = Row(row.title, [], goals=[Goal("to the fastest", 1.0021, 1.0), peak, answers])
    assert report.text("Steps", close).splitlines()[2:] == [
        "  Aim: to the fastest, at most 1; it is 1.002, not reached.",
        "  Aim: peak, at least 0.55; it is 0.55, reached.",
        "  Aim: answers, at least 1,500; it is 1,499.7, not reached.",
    ]


def test_the_page_gets_the_same_and_says_on_what_it_was_measured(family):
    written = report.markdown(family)
    assert "| theirs | 10.0 ms | 1.00 | 1.00 to 1.00 |\n| ours | 12.0 ms | 1.20 | 1.10 to 1.30 |\n" in written
    assert "- Not measured." in written
    assert "a processor" in written and "theirs at 0123456789" in written and "9876543210" not in written


def test_work_of_different_kinds_has_no_ratios(row):
    apart = Row(row.title, row.measured, comparable=False)
    assert "| ours | 12.0 ms | 11.0 ms to 13.0 ms |" in report.markdown(Family("Steps", [apart], FACTS | {"peers": {}}))
    assert report.draw(Family("Steps", [apart], FACTS)) is None


def test_the_picture_has_a_panel_for_each_comparison_and_the_fastest_on_top(family):
    figure = report.draw(family)
    (axis,) = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["slow", "ours", "theirs"]  # upwards
    assert [line.get_xdata()[0] for line in axis.lines if len(line.get_xdata()) == 1] == [10.0, 1.2, 1.0]
    plt.close(figure)


@pytest.mark.parametrize(
    ("goal", "reached"),
    [
        (Goal("", 1.05, 1.05), True),
        (Goal("", 1.06, 1.05), False),
        (Goal("", 5.5, 5.5, at_least=True), True),
        (Goal("", 5.4, 5.5, at_least=True), False),
    ],
)
def test_a_bound_belongs_to_the_right_side(goal, reached):
    assert goal.reached is reached


def test_a_result_file_gives_back_what_it_was_given_to_four_digits(tmp_path, family):
    path = tmp_path / "result.json"
    assert results.read(path) == {}
    results.write({"steps": family}, path)
    assert results.read(path) == {"steps": family}
    results.write({"steps": Family("", [Row("", [Measured("a", *2 * [Spread(1 / 3, 2 / 3, 1.0)])])], {})}, path)
    assert results.read(path)["steps"].rows[0].measured[0].seconds == Spread(0.3333, 0.6667, 1.0)


def test_the_parts_of_the_page_are_those_of_the_result_file():
    families = results.read()
    assert set(families) <= set(NAMES) and families
    for name in NAMES:
        part = (report.PARTS / f"{name}.md").read_text(encoding="utf-8")
        expected = report.markdown(families[name]) if name in families else report.NOT_YET
        assert part == expected, "write them again: python -m benchmarks --page"
    assert (report.PARTS / "spread.md").read_text(encoding="utf-8") == report.spread(families)


def test_the_page_shows_everything_that_is_measured():
    assert re.findall(r"^```\{include\} _data/how_fast/(\w+)\.md$", PAGE, re.MULTILINE) == ["spread", *NAMES]
    drawn = [name for name, family in results.read().items() if report.draw(family) is not None]
    plt.close("all")
    assert re.findall(r"_static/how_fast_(\w+)\.png", PAGE) == drawn
    assert all((report.PICTURES / f"how_fast_{name}.png").exists() for name in drawn)
