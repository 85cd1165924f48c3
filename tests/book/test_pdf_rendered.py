"""The built book as one PDF."""

import pytest
from pypdf import PdfReader

from course_lib.authoring.pdf import write_pdf
from tests.book.pages import HTML, built_pages

pytestmark = pytest.mark.rendered
CONTENTS = {
    "root": "book/intro",
    "parts": [{"caption": "Reading", "chapters": [{"file": "book/00_shapes_and_the_soft_argmax.ipynb"}]}],
}


@pytest.fixture(scope="module")
def pdf(tmp_path_factory, browser):
    built_pages()  # says what to do when there is no book
    file = tmp_path_factory.mktemp("printed") / "book.pdf"
    with browser.new_page() as page:
        write_pdf(CONTENTS, HTML, file, page)
    return PdfReader(file)


def test_it_has_an_outline_that_leads_to_the_pages(pdf):
    first, part, (chapter,) = pdf.outline
    assert part["/Title"] == "Reading" and chapter["/Title"].startswith("Chapter 0")
    start = pdf.get_destination_page_number(chapter)
    assert start > pdf.get_destination_page_number(first) == 0
    assert chapter["/Title"] in pdf.pages[start].extract_text()


def test_paper_has_the_text_and_not_what_only_a_screen_can_do(pdf):
    text = "\n".join(page.extract_text() for page in pdf.pages)
    assert "softmax" in text
    assert "Show the code of what follows" not in text and "Move the sliders" not in text


def test_no_sheet_is_nearly_empty_but_the_last_of_a_page(pdf):
    """Where a frame could not break, half-empty sheets were printed before it."""
    words = [len(page.extract_text().split()) for page in pdf.pages]
    last = [pdf.get_destination_page_number(pdf.outline[1]) - 1, len(words) - 1]
    # A footer has the title and the number; a margin alone made a sheet with nothing else.
    assert all(count > (12 if sheet in last else 40) for sheet, count in enumerate(words)), words
