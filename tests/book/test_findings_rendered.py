"""A table of findings as the book shows it: nothing scrolls on a telephone, and nothing is hard to read in the dark."""

import pytest

from course_lib.authoring.seeds_in_tables import with_seeds
from course_lib.findings import Findings, Statement
from tests.book.accessibility import violations
from tests.book.page_of_the_book import open_page

UNCLEAR = "no clear difference"
TABLE = Findings(
    "Captions of 500 fresh scenes",
    [
        Statement("claim", "exact captions on fresh scenes", "0.9940 ± 0.0035", "at least 0.95", holds=True),
        Statement("control", "exact captions, trained with uniform attention", "0.316 ± 0.021", "at most 0.3", False),
        Statement("opponent", "one vector", "0.926 ± 0.012", "ours 0.9940 ± 0.0035", None, UNCLEAR),
    ],
)
LEDGER = [{"name": statement.name, "values": [0.98761, 0.996]} for statement in TABLE.statements]
BACKGROUND = "() => getComputedStyle(document.querySelector('.text_html')).backgroundColor"

pytestmark = pytest.mark.rendered


@pytest.fixture(scope="module")
def page(browser):
    with open_page(browser, with_seeds(TABLE._repr_html_(), LEDGER)) as page:
        yield page


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_table_fits_its_window(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    table = page.locator("table.findings")
    inner, outer, room = table.evaluate(
        "(each) => [each.scrollWidth, each.clientWidth, each.parentElement.clientWidth]"
    )
    assert inner <= outer <= room <= width
    assert table.locator("td").first.evaluate("(each) => parseFloat(getComputedStyle(each).fontSize)") >= 13
    lines = table.locator("td").evaluate_all("(all) => all.map((each) => each.innerText)")
    assert lines[:3] == ["0.9940 ±\N{NO-BREAK SPACE}0.0035", "0.9876 to 0.9960", ""]
    assert lines[-1] == UNCLEAR


def test_the_table_is_readable_for_everyone_in_the_light_and_in_the_dark(page):
    page.set_viewport_size({"width": 1280, "height": 900})
    assert violations(page) == {"light": [], "dark": []}


def test_there_is_no_pale_sheet_under_it_in_the_dark(page):
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.documentElement.dataset.theme == 'dark'")
    assert page.evaluate(BACKGROUND) == "rgba(0, 0, 0, 0)"


def test_a_table_for_a_screen_reader(page):
    table = page.get_by_role("table", name="Captions of 500 fresh scenes")
    assert table.get_by_role("columnheader").count() == 4
    assert table.get_by_role("rowheader", name="control: exact captions").count() == 1
    assert table.get_by_role("row").count() == 4
