"""The whole book as one PDF: a browser prints each page, and the pages are put together in the order of the contents.

`python -m course_lib.authoring.pdf CONTENTS HTML PDF`, which `make pdf` runs after building the book.
"""

import io
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

import yaml
from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter
from tqdm.auto import tqdm

from course_lib.authoring.browser import launch
from course_lib.authoring.contents import pages
from course_lib.authoring.light_pages import FORMULAS_STAND

# A header and a footer know no style sheet of the page.
SMALL = "font: 8px sans-serif; color: #555; width: 100%; margin: 0 16mm; display: flex; justify-content: space-between"
FOOTER = '<div style="{style}"><span>{title}</span><span class="pageNumber"></span></div>'
MARGIN = {"top": "16mm", "bottom": "18mm", "left": "16mm", "right": "16mm"}


def parts(contents: dict) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each part of the contents, or "", and its pages; the first page belongs to none."""
    yield "", pages({"root": contents["root"]})
    yield from ((part.get("caption", ""), pages(part)) for part in contents["parts"])


def write_pdf(contents: dict, built: Path, file: Path, page: Page) -> None:
    """Print the pages of a built book in a tab of a browser; write one PDF with an outline of parts and pages."""
    writer = PdfWriter()
    progress = tqdm(total=len(pages(contents)), desc="printing", unit="page")
    for part, names in parts(contents):
        above = None
        for name in names:
            title, printed = _printed(page, built / f"{name}.html")
            start = len(writer.pages)
            for sheet in PdfReader(io.BytesIO(printed)).pages:
                writer.add_page(sheet)
            if part and above is None:
                above = writer.add_outline_item(title=part, page_number=start)
            writer.add_outline_item(title=title, page_number=start, parent=above)
            progress.update()
    progress.close()
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as stream:
        writer.write(stream)


def _printed(page: Page, file: Path) -> tuple[str, bytes]:
    """Return the title of a page and the PDF of it, in the light."""
    page.emulate_media(media="print", color_scheme="light")
    page.goto(file.resolve().as_uri())
    page.wait_for_function(FORMULAS_STAND)
    title = page.locator("h1").first.inner_text().removesuffix("#").strip()
    footer = FOOTER.format(style=SMALL, title=escape(title))
    return title, page.pdf(
        format="A4",
        margin=MARGIN,
        print_background=True,
        scale=0.85,  # then drawings stand as on a wide screen
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=footer,
    )


if __name__ == "__main__":
    toc, html, pdf = map(Path, sys.argv[1:])
    with sync_playwright() as playwright, launch(playwright) as browser, browser.new_page() as page:
        write_pdf(yaml.safe_load(toc.read_text(encoding="utf-8")), html, pdf, page)
    print(f"The book as a PDF: {pdf.resolve()} ({pdf.stat().st_size / 1e6:.0f} MB, {len(PdfReader(pdf).pages)} pages)")
