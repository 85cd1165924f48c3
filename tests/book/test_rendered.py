"""Every page of the built book in a real browser, as a site and as files.

A page is loaded once for each of the two, and looked at from all sides; the tests read what was seen.
"""

from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.book.accessibility import violations
from tests.book.pages import HTML, built_pages, contents

DESKTOP, TELEPHONE = 1280, 390

# Without a built book there is nothing to list: the entries of the contents then fail, one by one.
PAGES = (
    [page.relative_to(HTML).as_posix() for page in built_pages()]
    if HTML.exists()
    else [f"{p}.html" for p in contents()]
)
# What a page opened as a file cannot do is up to its scripts: those of exercises and solutions are the theme's, so that
# the first of each speaks for all.
FOLDERS = [page.partition("/")[0] for page in PAGES]
FILES = [page for page, folder in zip(PAGES, FOLDERS, strict=True) if folder not in ("exercises", "solutions")]
FILES += [PAGES[FOLDERS.index(folder)] for folder in ("exercises", "solutions") if folder in FOLDERS]
VISITS = [
    pytest.param((page, way), id=f"{page}-{way}", marks=pytest.mark.xdist_group(page))
    for way, pages in (("http", PAGES), ("file", FILES))
    for page in pages
]
pytestmark = [pytest.mark.rendered, pytest.mark.parametrize("visit", VISITS, indirect=True)]


@dataclass
class Visit:
    """What a browser saw on one page."""

    foreign_requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)  # of the console and of scripts
    widths: dict[int, int] = field(default_factory=dict)  # of the page, by that of the window
    violations: dict[str, list[str]] = field(default_factory=dict)  # of accessibility, by colour scheme
    undrawn_formulas: list[str] = field(default_factory=list)
    missing_pictures: list[str] = field(default_factory=list)


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def end_headers(self):
        self.send_header("Cache-Control", "max-age=3600")  # what pages share is fetched once, as from any other server
        super().end_headers()


@pytest.fixture(scope="module")
def addresses():
    """Where the book is, as a site on this machine and as files."""
    built_pages()  # says what to do when there is no book
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=HTML)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield {"http": f"http://127.0.0.1:{server.server_port}", "file": HTML.as_uri()}
        server.shutdown()


@pytest.fixture(scope="module")
def context(browser):
    """One window for all pages: what they share is read once."""
    with browser.new_context(viewport={"width": DESKTOP, "height": 900}) as context:
        yield context


@pytest.fixture(scope="module")
def visit(request, context, addresses):
    page_name, way = request.param
    home = addresses[way]
    visit = Visit()
    page = context.new_page()
    page.on(
        "request", lambda each: each.url.startswith((home, "data:", "blob:")) or visit.foreign_requests.append(each.url)
    )
    page.on("console", lambda message: message.type == "error" and visit.complaints.append(message.text))
    page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    page.goto(f"{home}/{page_name}")
    page.evaluate("window.MathJax?.startup?.promise")
    visit.undrawn_formulas = page.evaluate(
        """() => [...document.querySelectorAll(".math")]
            .filter((formula) => !formula.querySelector("mjx-container") || formula.querySelector("mjx-merror"))
            .map((formula) => formula.textContent.trim())"""
    )
    visit.missing_pictures = page.evaluate(
        "() => [...document.images].filter((image) => !image.naturalWidth).map((image) => image.src)"
    )
    if way == "http":  # the elements and colours of a page are the same when it is opened as a file
        visit.violations = violations(page)
    for width in (DESKTOP, TELEPHONE):
        page.set_viewport_size({"width": width, "height": 900})
        visit.widths[width] = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    return visit


def test_page_asks_no_other_host(visit):
    assert not visit.foreign_requests, "\n".join(visit.foreign_requests)


def test_page_is_silent_in_the_console(visit):
    assert not visit.complaints, "\n".join(visit.complaints)


def test_page_is_no_wider_than_its_window(visit):
    assert visit.widths == {DESKTOP: DESKTOP, TELEPHONE: TELEPHONE}


def test_axe_finds_nothing_in_light_and_dark(visit):
    assert not any(visit.violations.values()), "\n".join(visit.violations["light"] + visit.violations["dark"])


def test_mathematics_is_drawn(visit):
    assert not visit.undrawn_formulas, "\n".join(visit.undrawn_formulas)


def test_pictures_are_shown(visit):
    assert not visit.missing_pictures, "\n".join(visit.missing_pictures)
