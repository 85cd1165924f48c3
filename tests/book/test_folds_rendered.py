"""What goes deeper is folded in the built book, and found by who looks for it."""

import io
import re
import unicodedata

import pytest
from pypdf import PdfReader

from tests.book.pages import HTML, built_pages, contents

pytestmark = pytest.mark.rendered
PAGE = HTML / "book" / "04_queries_keys_values.html"
SECTION = "symmetric-attention-scores"
CHAPTERS = [page for page in contents() if re.match(r"book/\d\d_", page)]
OPEN = "details.deeper[open]"


def letters(text):
    """Return a text without spaces and signs, and without ligatures, which print has."""
    return re.sub(r"\W", "", unicodedata.normalize("NFKC", text))


@pytest.fixture
def page(browser):
    built_pages()  # says what to do when there is no book
    with browser.new_page() as page:
        yield page


def test_each_section_is_one_line_with_its_heading(page):
    page.goto(PAGE.as_uri())
    folds = page.locator("#going-deeper > section > details.deeper")
    assert folds.count() == page.locator("#going-deeper > section").count() > 1 and page.locator(OPEN).count() == 0
    fold = folds.first
    line = fold.locator("summary").first
    title = line.get_by_role("heading").inner_text()
    assert title and fold.bounding_box()["height"] < 80
    line.press("Enter")  # as a keyboard does
    assert page.locator(OPEN).count() == 1 and fold.locator("p").first.is_visible()


def test_a_link_into_a_section_opens_it(page):
    page.goto(f"{PAGE.as_uri()}#{SECTION}")
    page.wait_for_function(f"Math.abs(document.querySelector('#{SECTION} h3').getBoundingClientRect().y) < 300")
    assert page.locator(OPEN).count() == 1
    page.goto(PAGE.as_uri())
    inside = page.locator("details.deeper figure[id]").first
    name = inside.get_attribute("id")
    page.evaluate("(name) => (location.hash = name)", name)
    page.wait_for_selector(OPEN)
    assert inside.is_visible()
    page.evaluate("document.querySelector('details.deeper[open]').open = false")
    page.locator(f"a[href$='#{name}']").first.evaluate("(link) => link.click()")  # to where one already is
    assert inside.is_visible()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_link_into_what_is_folded_opens_it(chapter, page):
    page.goto((HTML / f"{chapter}.html").as_uri())
    closed = page.evaluate(
        """() => [...new Set([...document.querySelectorAll("article a[href^='#']")].map((link) => link.hash))]
            .filter((hash) => {
                document.querySelectorAll("details.deeper").forEach((fold) => { fold.open = false; });
                location.hash = hash;
                window.dispatchEvent(new HashChangeEvent("hashchange"));
                const target = document.getElementById(decodeURIComponent(hash.slice(1)));
                const shown = target.offsetHeight ? target : target.nextElementSibling ?? target.parentElement;
                const fold = shown.matches("details.deeper") ? shown : shown.closest("details.deeper");
                return fold && !fold.open;
            })"""
    )
    assert closed == []


def test_it_is_printed_unfolded_and_folded_again(page):
    page.goto(PAGE.as_uri())
    shown = page.locator("details.deeper p").first.text_content()
    printed = "".join(sheet.extract_text() for sheet in PdfReader(io.BytesIO(page.pdf())).pages)
    assert letters(shown) in letters(printed)
    page.locator(OPEN).first.wait_for(state="detached")  # what comes after printing need not come at once
