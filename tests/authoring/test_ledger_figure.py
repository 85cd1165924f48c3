import matplotlib.pyplot as plt
import pytest

from course_lib.authoring.ledger_entries import summarise
from course_lib.authoring.ledger_figure import MARKS, show_ledger, table_of_claims
from course_lib.figures import use_course_style

LONG = "the word that is said first, on combinations of colour and shape that training never showed"
VALUES = [0.97, 0.90, 0.99]


@pytest.fixture
def chapter() -> dict:
    limits = {"exact": (0.95, None), "uniform": (None, 0.5), "error | loops": (None, 1e-5), LONG: (None, -8)}
    scales = {"exact": 1, "uniform": 0.3, "error | loops": 1e-8, LONG: -10}
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


@pytest.fixture
def figure(chapter):
    with plt.rc_context():
        use_course_style()
        figure = show_ledger({"02": chapter})
        yield figure
        plt.close(figure)


def test_the_table_links_to_the_chapter_and_has_a_row_for_each_claim(chapter):
    head, _, _, _, exact, uniform, error, reach = table_of_claims(chapter).splitlines()
    assert head.startswith("**[Looking](02_looking.ipynb)**: measured on 2026-11-21 under 3 seeds, 14 s for the quick")
    assert exact == "| exact (**broken**) | ≥\N{NO-BREAK SPACE}0.95 | 0.9 | 0.09 |"
    assert uniform.startswith("| control: uniform |")
    assert error.startswith(r"| error \| loops |")
    assert "broken" not in uniform + error + reach


def marks(figure, kind) -> list[float]:
    """The places of the marks of one kind; the legend's have no place."""
    lines = [line for line in figure.axes[0].lines if line.get_marker() == MARKS[kind]["marker"]]
    return [line.get_xdata()[0] for line in lines]


def test_every_value_has_a_mark_whose_shape_says_what_it_is(figure):
    assert marks(figure, "claim")[:2] == pytest.approx([0.97, 0.99])
    assert marks(figure, "broken") == pytest.approx([0.90])
    assert marks(figure, "control") == pytest.approx([0.3 * value for value in VALUES])
    assert len(marks(figure, "claim")) == 2 + 3 + 3
    assert len({look["marker"] for look in MARKS.values()}) == 3


def test_the_picture_can_be_read_in_print_and_on_a_telephone(figure):
    figure.canvas.draw()
    assert figure.get_facecolor() == (1, 1, 1, 1)
    assert figure.get_size_inches()[0] == 6.5
    assert all(text.get_fontsize() >= 9 for text in figure.findobj(plt.Text) if text.get_text())
    edge = figure.bbox
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert edge.x0 <= box.x0 and box.x1 <= edge.x1, text.get_text()


def test_texts_do_not_overlap(figure):
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    overlapping = [(a, b) for index, a in enumerate(boxes) for b in boxes[:index] if a.overlaps(b)]
    assert not overlapping
