"""Every drawing in a real browser, without a built book: at two widths, in the light and in the dark."""

from pathlib import Path

import pydata_sphinx_theme
import pytest

from course_lib import diagrams
from course_lib.project import root
from tests.book.accessibility import violations
from tests.drawings import schematics_by_name

FAULTS = Path(__file__).with_name("drawing_faults.js").read_text(encoding="utf-8")
THEME = next(Path(pydata_sphinx_theme.__file__).parent.rglob("pydata-sphinx-theme.css"))
STYLE_SHEETS = [THEME, root() / "book" / "_static" / "course.css"]
# A column of the book is 688 pixels wide in a window of 1280, and 358 in one of 390.
PAGE = """<!DOCTYPE html><html lang="en" {theme}><meta charset="utf-8"><title>Drawings</title><style>{style}
html {{ color-scheme: light dark; background: Canvas }} body {{ margin: 16px }} main {{ max-width: 688px }}</style>
<main class="bd-content"><div class="bd-article"><h1>Drawings</h1>{drawings}</div></main></html>"""
# The second rule is in Sphinx's own basic.css.
BOOK_PAPER = "html, body { background: var(--pst-color-background) !important } figure { padding: 0.5em }"
IN_ITS_PLACE = '<div class="cell_output">{}</div>'
IN_THE_BOOK = (
    '<div class="cell_output"><figure class="align-default"><div class="output text_html">{}</div></figure></div>'
)
TEXTS = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
    const from = svg.getBoundingClientRect();
    return [...svg.querySelectorAll("text")].map((text) => text.getBoundingClientRect())
        .map((box) => [box.left - from.left, box.top - from.top, box.width, box.height])
        .map((numbers) => numbers.map((each) => Math.round(8 * each)));
})"""
COLOURS = """() => [...document.querySelectorAll("text")].map((text) => getComputedStyle(text).fill)"""

pytestmark = pytest.mark.rendered


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        yield page


@pytest.fixture(scope="module")
def drawings():
    return [draw()._repr_html_() for draw in schematics_by_name().values()]


def show(page, drawings, width=1280, scheme="light", theme="", style="", place=IN_ITS_PLACE):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    inner = "".join(map(place.format, drawings))
    page.set_content(PAGE.format(theme=theme, style=style, drawings=inner))


def show_in_the_book(page, drawings, width=1280, scheme="light", theme=None):
    style = "".join(sheet.read_text(encoding="utf-8") for sheet in STYLE_SHEETS) + BOOK_PAPER
    show(page, drawings, width, scheme, f'data-theme="{theme or scheme}"', style, IN_THE_BOOK)


@pytest.mark.parametrize("look", [show, show_in_the_book])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_drawings_can_be_read(page, drawings, width, scheme, look):
    look(page, drawings, width, scheme)
    assert not page.evaluate(FAULTS)


@pytest.mark.parametrize("width", [1280, 390])
def test_schematics_fit_their_column(page, drawings, width):
    show_in_the_book(page, drawings, width)
    columns = page.evaluate("[...document.querySelectorAll('.course-diagram')].map((box) => box.clientWidth)")
    assert set(columns) == {{1280: 688, 390: 358}[width]}
    too_wide = (
        "() => [...document.querySelectorAll('.course-diagram')].filter((box) => box.scrollWidth > box.clientWidth)"
    )
    assert page.evaluate(f"({too_wide})().map((box) => box.ariaLabel)") == []


def test_axe_finds_nothing(page, drawings):
    show(page, drawings)
    assert violations(page) == {"light": [], "dark": []}


def test_drawings_are_the_same_without_the_style_sheets_of_the_book(page, drawings):
    show(page, drawings)
    alone = page.evaluate(TEXTS)
    show_in_the_book(page, drawings)
    assert page.evaluate(TEXTS) == alone


def test_title_and_description_reach_a_screen_reader(page):
    show(page, [simple()])
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    said = [(node["name"]["value"], node["description"]["value"]) for node in nodes if node["role"]["value"] == "image"]
    assert said == [("A title", "A description")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("chosen", ["light", "dark"])
@pytest.mark.parametrize("switch", ['data-theme="{}"', 'data-jp-theme-light="{}"', 'class="vscode-{}"'])
def test_the_switch_of_a_page_decides_before_the_system(page, switch, chosen, scheme):
    show(page, [simple()], scheme=chosen)
    wanted = page.evaluate(COLOURS)
    value = {"light": "true", "dark": "false"}[chosen] if "jp" in switch else chosen
    show(page, [simple()], scheme=scheme, theme=switch.format(value))
    assert page.evaluate(COLOURS) == wanted


def test_light_and_dark_differ(page):
    show(page, [simple()])
    light = page.evaluate(COLOURS)
    show(page, [simple()], scheme="dark")
    assert set(light).isdisjoint(page.evaluate(COLOURS))


def test_the_theme_puts_no_card_under_a_drawing(page):
    show_in_the_book(page, [simple()], scheme="dark")
    ground = "getComputedStyle(document.querySelector('.text_html')).backgroundColor"
    assert page.evaluate(ground) == "rgba(0, 0, 0, 0)"


def test_a_narrow_arrangement_is_shown_where_the_wide_one_would_not_fit(page):
    wide, narrow = diagrams.text("wide " * 12), diagrams.text("narrow")
    drawing = diagrams.Diagram("A title", "A description", [wide], narrow=[narrow])._repr_html_()
    only_wide = diagrams.Diagram("A title", "A description", [diagrams.text("wide " * 12)])._repr_html_()
    visible = "[...document.querySelectorAll('text')].filter((text) => text.checkVisibility())"
    for width, words in ((1280, "wide " * 12), (390, "narrow")):
        show(page, [drawing, only_wide], width)
        assert page.evaluate(f"{visible}.map((text) => text.textContent)") == [words, "wide " * 12]


def test_a_wide_drawing_scrolls_in_its_own_box(page):
    drawing = diagrams.Diagram("A title", "A description", [diagrams.text("wide " * 40)])
    show(page, [drawing._repr_html_()], width=390)
    assert page.evaluate(FAULTS) == []
    page.get_by_role("region", name="A title").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.course-diagram').scrollLeft > 0")


def simple():
    part = diagrams.matrix([[1, -2]], "query", "W_q")
    return diagrams.Diagram("A title", "A description", [part])._repr_html_()


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("<title>A title</title>", "", "undefined: has no title"),
        ("<desc>A description</desc>", "", "A title: has no description"),
        ('y="14"', 'y="-9"', "is cut"),
        ('class="sub"', 'style="font-size: 12px"', "“q” is 12 pixels high"),
        ("1</text>", "1</text><text x='20' y='40'>2</text>", "overlap"),
        ("1</text>", "one word</text>", "“one word” leaves its box"),
        ("--ink: ", "--ink: #888; --other: ", "“1” has a contrast of 2."),
        ('tabindex="0"', "", "the keyboard does not reach"),
        ("</svg>", '<path class="line" d="M0 9H90"/></svg>', "a line crosses “Wq\u200b (1 × 2)”"),
        ("max-width: none", "position: absolute; left: 1200px", "the page is wider than its window"),
        ("display: block", "display: none", "no drawing is shown"),
    ],
)
def test_what_is_wrong_with_a_drawing_is_found(page, old, new, fault):
    show(page, [simple()])
    assert page.evaluate(FAULTS) == []
    assert old in simple()
    show(page, [simple().replace(old, new, 1)])
    assert [each for each in page.evaluate(FAULTS) if fault in each]
