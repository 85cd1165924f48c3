import re
from xml.etree import ElementTree

import pytest

from course_lib.authoring.ledger_entries import summarise
from course_lib.authoring.ledger_table import EDGE, WIDTH, measured, tables

LONG = "the word that is said first, on combinations of colour and shape that training never showed"
VALUES = [0.97, 0.90, 0.99]


@pytest.fixture(params=["no opponents", "opponents"])
def chapter(request) -> dict:
    limits = {"exact": (0.95, None), "uniform": (None, 0.5), "error < loops": (None, 1e-5), LONG: (None, -8)}
    scales = {"exact": 1, "uniform": 0.3, "error < loops": 1e-8, LONG: -10}
    statements = {
        seed: [
            {
                "kind": "control" if name == "uniform" else "claim",
                "name": name,
                "value": scale * value,
                "at_least": limits[name][0],
                "at_most": limits[name][1],
            }
            for name, scale in scales.items()
        ]
        for seed, value in enumerate(VALUES)
    }
    for seed, value in enumerate(VALUES) if request.param == "opponents" else ():
        rival = {"kind": "opponent", "higher_is_better": True, "value": value - 0.1, "ours": value}
        bits = {"kind": "opponent", "higher_is_better": False, "value": 1.866, "ours": 1.868}
        statements[seed] += [rival | {"name": LONG.replace("word", "rival")}, bits | {"name": "bits < Kneser–Ney"}]
    return {
        "title": "Looking",
        "page": "02_looking.ipynb",
        "seeds": [0, 1, 2],
        "seconds": [14.0, 15.0, 16.0],
        "measured": "2026-11-21",
        "processor": "A processor",
        "versions": {"python": "3.11.7", "torch": "2.13.0"},
        "claims": summarise(statements),
    }


def rows(chapter) -> list[ElementTree.Element]:
    """The rows of all tables below their heads; each table is well-formed on its own."""
    found = re.findall(r"<table.*?</table>", tables(chapter), re.DOTALL)
    return [row for table in found for row in ElementTree.fromstring(table).findall("tr")[1:]]


def texts(row) -> list[str]:
    """The words of the cells of a row, without those of its number line."""
    return ["".join(cell.itertext()) for cell in row if cell.find("svg") is None]


def drawn(row, kind) -> list[ElementTree.Element]:
    return [each for each in row.iter() if each.get("class") == kind]


def marks(row, kind) -> list[tuple[float, float]]:
    """Where the drawing of each mark of a kind begins: the left end of a dot."""
    begun = [re.findall(r"M([\d.-]+) ([\d.-]+)", each.get("d")) for each in drawn(row, kind)]
    return [(float(x), float(y)) for path in begun for x, y in path]


def share(mark) -> float:
    """Where a dot stands on its line, from 0 to 1."""
    return (mark[0] + 3 - EDGE) / (WIDTH - 2 * EDGE)


def test_it_is_said_how_a_chapter_was_measured(chapter):
    assert measured(chapter).startswith(
        "**[Looking](02_looking.ipynb)**: measured on 2026-11-21 under 3 seeds, 14 s for the quick"
    )


def test_a_row_for_each_claim(chapter):
    exact, uniform, error, reach = rows(chapter)[:4]
    assert texts(exact) == ["exact (broken)", "≥\N{NO-BREAK SPACE}0.95", "0.9", "0.09"]
    assert texts(uniform)[0] == "control: uniform"
    assert texts(error)[0] == "error < loops"
    assert texts(reach)[0] == LONG


@pytest.mark.parametrize("chapter", ["opponents"], indirect=True)
def test_opponents_stand_in_a_table_of_their_own(chapter):
    assert len(re.findall("<table", tables(chapter))) == 2
    rival, bits = rows(chapter)[4:]
    assert texts(rival) == [LONG.replace("word", "rival"), "0.8533", "0.9533", "ahead by 0.1"]
    assert texts(bits) == ["bits < Kneser–Ney (lower is better)", "1.866", "1.868", "behind by 0.002 (one run)"]


@pytest.mark.parametrize("chapter", ["no opponents"], indirect=True)
def test_without_opponents_nothing_speaks_of_them(chapter):
    assert len(re.findall("<table", tables(chapter))) == 1
    assert "aseline" not in tables(chapter)


def test_every_value_has_a_mark_whose_shape_says_what_it_is(chapter):
    exact, uniform, *_ = rows(chapter)
    assert [share(mark) for mark in marks(exact, "claim")] == pytest.approx([0.97, 0.99], abs=1e-3)
    assert len(marks(exact, "broken")) == 1
    assert (len(marks(uniform, "control")), len(marks(uniform, "claim"))) == (3, 0)
    assert len({y for _, y in marks(uniform, "control")}) == 3  # equal values would stay visible


def test_the_permitted_side_begins_at_the_bound(chapter):
    exact, uniform, *_ = rows(chapter)
    for row, limit, end in ((exact, 0.95, WIDTH - EDGE), (uniform, 0.5, EDGE)):
        x = EDGE + limit * (WIDTH - 2 * EDGE)
        assert drawn(row, "permitted")[0].get("d") == f"M{x:.1f} 16H{end}"
        assert drawn(row, "bound")[0].get("d").startswith(f"M{x:.1f} ")


@pytest.mark.parametrize("chapter", ["opponents"], indirect=True)
def test_an_opponents_line_has_its_marks_under_ours_and_no_bound(chapter):
    rival, _ = rows(chapter)[4:]
    assert [share(mark) for mark in marks(rival, "claim")] == pytest.approx(VALUES, abs=1e-3)
    upper = [y for _, y in marks(rival, "opponent")]
    assert len(upper) == 3
    assert max(y for _, y in marks(rival, "claim")) < min(upper)
    assert drawn(rival, "bound") == []


def test_the_numbers_of_a_line_can_be_heard(chapter):
    (line,) = rows(chapter)[1].iter("svg")
    assert line.find("title").text == "control: 0.291, 0.27, 0.297; the line runs from 0 to 1"
