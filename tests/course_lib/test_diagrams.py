import re
from xml.etree import ElementTree

import pytest
import torch

from course_lib.diagrams import (
    Diagram,
    Group,
    arrow,
    beside,
    box,
    bracket,
    column,
    frame,
    matrix,
    number,
    stack,
    text,
)

SVG = "{http://www.w3.org/2000/svg}"


def draw(*parts):
    """Return the parsed SVG of these parts."""
    return ElementTree.fromstring(Diagram("A title", "A description", parts).svg())


def words(element):
    return ["".join(each.itertext()) for each in element.iter(f"{SVG}text")]


def test_a_matrix_shows_its_numbers_names_and_shape():
    drawn = draw(matrix(torch.tensor([[1.0, -0.5], [2 / 3, 1e-3]]), "query", "Q", ["cat", "it"], ["a", "b"]))
    assert words(drawn) == ["cat", "it", "a", "b", "1", "−0.5", "0.67", "0.00", "Q (2 × 2)"]


@pytest.mark.parametrize(
    ("value", "written"),
    [(2.0, "2"), (-2, "−2"), (100.0, "100"), (0.1966, "0.20"), (0.1, "0.1"), (-0.0, "0"), (0.999, "1.00"), (True, "1")]
    + [(float("nan"), "NaN"), (float("inf"), "∞"), (torch.tensor(0.1).item(), "0.1")],
)
def test_numbers(value, written):
    assert number(value) == written


def test_cells_are_shaded_by_their_size_and_words_are_not():
    def shades(values):
        return [float(each) for each in re.findall(r"fill-opacity:([\d.]+)", matrix(values).drawn)]

    none, half, all_of_it = shades([[0, -2, 4]])
    assert all_of_it - none == pytest.approx(2 * (half - none), abs=0.02)
    assert none < half < all_of_it < 0.5
    assert shades([["a", "b"]]) == [none, none] == shades([[0, 0]])
    assert shades([[-torch.inf, 1]]) == [none, all_of_it]


def test_masked_cells_are_hatched_and_empty_unless_they_are_minus_infinity():
    values = [[1.0, 7.0], [-torch.inf, 3.0]]
    drawn = draw(matrix(values, mask=torch.tensor([[True, False], [False, True]])))
    assert words(drawn) == ["1", "−∞", "3"]
    assert len(drawn.findall(f".//{SVG}path")) == 2
    assert not draw(matrix(values)).findall(f".//{SVG}path")


def test_a_row_is_framed():
    frames = [
        {name: float(rect.get(name)) for name in ("y", "height")}
        for rect in draw(matrix([[1], [2], [3]], highlight=1)).iter(f"{SVG}rect")
        if "--ink" in rect.get("style")
    ]
    assert frames == [{"y": 27, "height": 30}]


def test_the_size_is_found_from_the_parts():
    first = box("one")
    alone = Diagram("A title", "A description", [first]).size
    assert alone == (round(first.width + 8 + 0.5), first.height + 8)
    second = box("one").right_of(first, gap=50)
    assert Diagram("A title", "A description", [first, second]).size[0] == pytest.approx(alone[0] * 2 + 42, abs=1)
    above = box("one").above(first, gap=30)
    drawing = Diagram("A title", "A description", [first, above])
    assert drawing.size[1] == 2 * first.height + 30 + 8
    assert f'viewBox="-4 {-int(first.height) - 34} ' in drawing.svg()


def test_the_size_has_room_for_arrows_and_their_labels():
    left, right = beside(box("a"), box("b"), gap=40).parts
    plain = Diagram("A title", "A description", [left, right]).size
    around = Diagram("A title", "A description", [left, right, arrow(left, right, sides=("top", "top"), reach=30)]).size
    labelled = Diagram("A title", "A description", [left, right, arrow(left, right, "a label that is long")]).size
    assert around[1] > plain[1] + 30
    assert labelled[0] > plain[0]


def test_the_body_of_a_matrix_is_its_cells():
    left, top, right, bottom = matrix([[1, 2, 3]], title="a title that is long", rows=["name"], columns="abc").body
    assert (right - left, bottom - top) == pytest.approx((3 * 28, 28))


def test_parts_are_aligned_by_their_bodies():
    grid = matrix([[1, 2], [3, 4]], title="a title that is long", rows=["name", "name"])
    for place in ("right_of", "left_of"):
        other = getattr(matrix([[1]]), place)(grid)
        assert other.middle[1] == grid.middle[1]
    for place in ("above", "below"):
        assert getattr(matrix([[1]]), place)(grid).middle[0] == grid.middle[0]
        assert getattr(matrix([[1]]), place)(grid, align="start").body[0] == grid.body[0]
    assert box("x").right_of(grid, align="start").bounds[1] == grid.body[1]


def test_groups_move_as_one_and_arrows_follow():
    upper, lower = box("upper"), box("lower")
    layers = stack(lower, upper)
    before = layers.bounds
    layers.move(100, -7)
    assert layers.bounds == tuple(each + shift for each, shift in zip(before, (100, -7, 100, -7), strict=True))
    (x0, y0), (x1, y1) = layers.parts[-1].corners()
    assert x0 == x1 == lower.middle[0] == upper.middle[0]
    assert upper.bounds[3] < y1 < y0 < lower.bounds[1]
    assert column(box("a"), box("b")).parts[0].bounds[3] + 40 == box("b").height + 40


@pytest.mark.parametrize(
    ("sides", "count"), [(("right", "left"), 2), (("top", "top"), 4), (("left", "left"), 4), (("bottom", "right"), 3)]
)
def test_ways_of_an_arrow(sides, count):
    start, end = box("start"), box("end").right_of(box("start")).move(0, 90)
    corners = arrow(start, end, sides=sides).corners()
    assert len(corners) == count
    for part, side, (x, y) in zip((start, end), sides, (corners[0], corners[-1]), strict=True):
        assert abs(x - part.side(side)[0]) + abs(y - part.side(side)[1]) == 4
    if count > 2:  # each stretch is level or upright
        assert all(a == c or b == d for (a, b), (c, d) in zip(corners, corners[1:], strict=False))


def test_an_arrow_joins_the_sides_that_face_each_other():
    middle = box("middle")
    for place, sides in (
        ("right_of", ("right", "left")),
        ("left_of", ("left", "right")),
        ("below", ("bottom", "top")),
        ("above", ("top", "bottom")),
    ):
        assert arrow(middle, getattr(box("other"), place)(middle)).sides == sides


@pytest.mark.parametrize("side", ["left", "right", "top", "bottom"])
def test_a_bracket_is_as_long_as_the_body_and_outside_of_the_part(side):
    grid = matrix([[1, 2], [3, 4]], title="a title", rows=["name", "name"])
    placed = bracket(grid, side, "d")
    span = (0, 2) if side in ("top", "bottom") else (1, 3)
    assert [placed.bounds[each] for each in span] == pytest.approx([grid.body[each] for each in span])
    outer, own = grid.bounds, placed.bounds
    gaps = {
        "left": outer[0] - own[2],
        "right": own[0] - outer[2],
        "top": outer[1] - own[3],
        "bottom": own[1] - outer[3],
    }
    assert gaps[side] == 4


def test_a_frame_goes_around_its_parts():
    parts = beside(box("a"), box("b\nb"))
    around = frame(parts.parts, "× 2", space=10).bounds
    left, top, right, bottom = parts.bounds
    assert around == (left - 10, top - 30, right + 10, bottom + 10)


def test_what_comes_from_outside_is_escaped():
    hostile = '<script>alert("&")</script>'
    part = matrix([[hostile]], title=hostile, rows=[hostile], columns=[hostile])
    parts = [part, box(hostile).below(part), text(hostile), bracket(part, "right", hostile), frame([part], hostile)]
    drawing = Diagram(hostile, hostile, [*parts, arrow(part, parts[1], hostile)])
    for written in (drawing.svg(), drawing._repr_html_()):
        assert "<script" not in written
        assert f'aria-label="{hostile}' not in written
    drawn = ElementTree.fromstring(drawing.svg())
    assert [each.text for each in drawn[:2]] == [hostile, hostile]
    assert [each.removesuffix(" (1 × 1)") for each in words(drawn)] == [hostile] * 9


def test_letters_get_subscripts_and_names_of_code_do_not():
    tree = draw(text("W_q d_model to_query"))
    assert [each.text for each in tree.iter(f"{SVG}tspan") if each.get("class") == "sub"] == ["q", "model"]
    assert "to_query" in words(tree)[0]


def test_the_same_parts_give_the_same_drawing_and_no_ids():
    def drawing():
        first, second = beside(matrix([[0.3, 1]], "key", "K"), box("x")).parts
        return Diagram("A title", "A description", [first, second, arrow(first, second)], narrow=[box("x")])

    assert drawing()._repr_html_() == drawing()._repr_html_()
    assert not re.search(r"\bid=|url\(", drawing()._repr_html_())


def test_no_colour_is_fixed_outside_of_the_style():
    drawing = Diagram("A title", "A description", [matrix([[1]], "memory", "M"), box("x", "query")])
    _, drawn = drawing.svg().split("</style>")
    assert not re.search(r"#[0-9a-fA-F]{3}|rgb|black|white", drawn)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: matrix([1, 2]), r"`values` has [1, 2], expected a matrix (row, column)"),
        (lambda: matrix(torch.zeros(3)), "`values` has shape (3,), expected a matrix (row, column)"),
        (lambda: matrix(torch.zeros(2, 0)), "`values` has shape (2, 0), expected a matrix (row, column)"),
        (lambda: matrix(torch.zeros(2, 2, 2)), "`values` has shape (2, 2, 2), expected a matrix (row, column)"),
        (lambda: matrix([[1, 2], [3]]), "`values` has [[1, 2], [3]], expected a matrix (row, column)"),
        (lambda: matrix([]), "`values` has [], expected a matrix (row, column)"),
        (lambda: matrix(["ab"]), "`values` has ['ab'], expected a matrix (row, column)"),
        (lambda: matrix([[1]], "blue"), "`role` is 'blue', expected one of plain, query, key, value, weight, memory"),
        (
            lambda: matrix([[1]], columns=["a", "b"]),
            "`columns` has 2 names, expected 1: one for each column of `values`",
        ),
        (lambda: matrix([[1, 2]], mask=[[True]]), "`mask` has shape (1, 1), expected (1, 2), the shape of `values`"),
        (lambda: matrix([[1]], highlight=1), "`highlight` is 1, expected a row from 0 to 0"),
        (lambda: box("x", "red"), "`role` is 'red'"),
        (lambda: text("x", "red"), "`role` is 'red'"),
        (lambda: arrow(box("a"), box("b"), role="red"), "`role` is 'red'"),
        (
            lambda: arrow(box("a"), box("b"), sides=("up", "left")),
            "`side` is 'up', expected one of left, right, top, bo",
        ),
        (lambda: bracket(box("a"), "up", "d"), "`side` is 'up', expected one of left, right, top, bottom"),
        (lambda: box("a").below(box("b"), align="end"), '`align` is \'end\', expected "middle" or "start"'),
        (lambda: beside(), "`parts` is [], expected at least one part"),
        (lambda: Group([]), "`parts` is [], expected at least one part"),
        (lambda: Diagram("A title", "A description", []), "`parts` is [], expected at least one part"),
        (lambda: Diagram(" ", "A description", [box("a")]), "`title` is ' ', expected words that tell what is drawn"),
        (lambda: Diagram("A title", "", [box("a")]), "`description` is '', expected words that tell what is drawn"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_its_words_are_the_same_in_every_run():
    """A notebook keeps them, and a test compares them."""
    assert repr(Diagram("Two boxes", "One beside the other.", [box("a")])) == "<Diagram: Two boxes>"
