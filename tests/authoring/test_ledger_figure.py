import matplotlib.pyplot as plt
import pytest

from course_lib.authoring.ledger_entries import summarise
from course_lib.authoring.ledger_figure import MARKS, show_ledger, table_of_claims
from course_lib.figures import use_course_style

LONG = "the word that is said first, on combinations of colour and shape that training never showed"
VALUES = [0.97, 0.90, 0.99]


@pytest.fixture(params=["no opponents", "opponents"])
def chapter(request) -> dict:
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
    for seed, value in enumerate(VALUES) if request.param == "opponents" else ():
        rival = {"kind": "opponent", "higher_is_better": True, "value": value - 0.1, "ours": value}
        bits = {"kind": "opponent", "higher_is_better": False, "value": 1.866, "ours": 1.868}
        statements[seed] += [rival | {"name": LONG.replace("word", "rival")}, bits | {"name": "bits | Kneser–Ney"}]
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
    head, _, _, _, exact, uniform, error, reach = table_of_claims(chapter).splitlines()[:8]
    assert head.startswith("**[Looking](02_looking.ipynb)**: measured on 2026-11-21 under 3 seeds, 14 s for the quick")
    assert exact == "| exact (**broken**) | ≥\N{NO-BREAK SPACE}0.95 | 0.9 | 0.09 |"
    assert uniform.startswith("| control: uniform |")
    assert error.startswith(r"| error \| loops |")
    assert "broken" not in uniform + error + reach


@pytest.mark.parametrize("chapter", ["opponents"], indirect=True)
def test_opponents_stand_in_a_table_of_their_own(chapter):
    blank, explanation, _, _, _, rival, bits = table_of_claims(chapter).splitlines()[8:]
    assert (blank, explanation[:30]) == ("", "A baseline is a rival that mig")
    assert rival == f"| {LONG.replace('word', 'rival')} | 0.8533 | 0.9533 | ahead by 0.1 |"
    assert bits == r"| bits \| Kneser–Ney (lower is better) | 1.866 | 1.868 | behind by 0.002 (one run) |"


@pytest.mark.parametrize("chapter", ["no opponents"], indirect=True)
def test_without_opponents_nothing_speaks_of_them(chapter, figure):
    assert len(table_of_claims(chapter).splitlines()) == 4 + len(chapter["claims"])
    assert legend(figure) == ["claim", "control", "broken", "permitted"]


def legend(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def lines(figure, kind) -> list:
    return [line for line in figure.axes[0].lines if line.get_marker() == MARKS[kind]["marker"]]


def marks(figure, kind) -> list[float]:
    """The places of the marks of one kind; the legend's have no place."""
    return [line.get_xdata()[0] for line in lines(figure, kind)]


@pytest.mark.parametrize("chapter", ["no opponents"], indirect=True)
def test_every_value_has_a_mark_whose_shape_says_what_it_is(figure):
    assert marks(figure, "claim")[:2] == pytest.approx([0.97, 0.99])
    assert marks(figure, "broken") == pytest.approx([0.90])
    assert marks(figure, "control") == pytest.approx([0.3 * value for value in VALUES])
    assert len(marks(figure, "claim")) == 2 + 3 + 3
    assert len({look["marker"] for look in MARKS.values()}) == len(MARKS)


@pytest.mark.parametrize("chapter", ["opponents"], indirect=True)
def test_an_opponents_line_has_its_marks_and_ours_and_no_bound(chapter, figure):
    assert marks(figure, "opponent")[:3] == pytest.approx([value - 0.1 for value in VALUES])
    assert marks(figure, "claim")[8:11] == pytest.approx(VALUES)
    # Equal values of both sides stay visible: the depth of ours, which counts from above, is less.
    depths = {kind: [line.get_ydata()[0] for line in lines(figure, kind)] for kind in ("claim", "opponent")}
    assert max(depths["claim"][8:11]) < min(depths["opponent"][:3])
    assert legend(figure) == ["claim", "control", "opponent", "broken", "permitted"]
    bounds = [line for line in figure.axes[0].lines if line.get_linewidth() == 2.5]
    assert len(bounds) == len(chapter["claims"]) - 2
    beside = [
        text.get_text() for text in figure.axes[0].texts if text.get_ha() == "right" and text.get_fontsize() == 12
    ]
    assert beside[-2:] == ["higher wins", "lower wins"]


def test_the_picture_can_be_read_in_print_and_on_a_telephone(figure):
    figure.canvas.draw()
    assert figure.get_facecolor() == (1, 1, 1, 1)
    assert figure.get_size_inches()[0] == 6.5
    assert all(text.get_fontsize() >= 9 for text in figure.findobj(plt.Text) if text.get_text())
    edge = figure.bbox
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert edge.x0 <= box.x0 and box.x1 <= edge.x1, text.get_text()
    box = figure.axes[0].get_legend().get_window_extent()
    assert edge.x0 <= box.x0 and box.x1 <= edge.x1, "the legend"


def test_texts_do_not_overlap(figure):
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    overlapping = [(a, b) for index, a in enumerate(boxes) for b in boxes[:index] if a.overlaps(b)]
    assert not overlapping
