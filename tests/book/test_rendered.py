"""Every page of the built book in a real browser, loaded once and looked at from all sides.

A page that is opened as a file can do less than one that a server sends: it reads no other file, and an address from
the root of a site leads it nowhere. So every page is opened as a file, and one for each set of scripts as a site.
"""

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page

from course_lib.authoring.light_pages import FORMULAS_STAND
from tests.book.accessibility import violations
from tests.book.pages import HTML, built_pages, contents

DESKTOP, TELEPHONE = 1280, 390
UNDRAWN = """() => [...document.querySelectorAll(".math")]
    .filter((formula) => !formula.querySelector("mjx-container") || formula.querySelector("mjx-merror"))
    .map((formula) => formula.textContent.trim())"""
# The ink of a letter may pass its box a little, and a box that scrolls cuts it: the bar of a transpose sign was gone.
CUT = """() => [...document.querySelectorAll('mjx-container[display="true"]')]
    .filter((formula) => [...formula.querySelectorAll("mjx-c")].some((letter) =>
        letter.getBoundingClientRect().top < formula.getBoundingClientRect().top + 2))
    .map((formula) => formula.parentElement.textContent.trim())"""
# Lines of code are left to the theme, which thinks about them for a third of a second.
UNREACHED = """() => [...document.querySelectorAll("main *:not(pre, svg *)")]
    .filter((box) => ["auto", "scroll"].includes(getComputedStyle(box).overflowX) && box.clientWidth)
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .filter((box) => box.tabIndex < 0 && !box.querySelector("a, button, input, [tabindex]"))
    .map((box) => box.outerHTML.slice(0, 80))"""
# On a page, an explorer has less room than on the page of its own test: in a fold, behind a line.
CROWDED = """() => [...document.querySelectorAll("[class*=-explorer]")]
    .filter((explorer) => explorer.scrollWidth > explorer.clientWidth + 1)
    .map((explorer) => explorer.className)"""
UNSEEN = "() => [...document.images].filter((image) => !image.naturalWidth).map((image) => image.src)"


def scripts(page: Path) -> tuple[str, ...]:
    """Return which scripts a page has: its own, and those of other files."""
    return tuple(sorted(re.findall(r"<script[^>]*?(?:\ssrc=\"(?:\.\./)*([^\"]*)\"[^>]*)?>", page.read_text("utf-8"))))


# Without a built book there is nothing to list: the entries of the contents then fail, one by one.
# The largest come first: who works beside has something to do until the end.
PAGES = (
    sorted(built_pages(), key=lambda page: page.stat().st_size, reverse=True)
    if HTML.exists()
    else [HTML / f"{page}.html" for page in contents()]
)
ONE_OF_EACH = list({scripts(page): page for page in PAGES if page.exists()}.values())
VISITS = [
    pytest.param(way, name := page.relative_to(HTML).as_posix(), id=f"{name}-{way}")
    for way, pages in (("file", PAGES), ("http", ONE_OF_EACH))
    for page in pages
]


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def addresses():
    """Where the book is, as a site on this machine and as files."""
    built_pages()  # says what to do when there is no book
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=HTML)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield {"http": f"http://127.0.0.1:{server.server_port}", "file": HTML.as_uri()}
        server.shutdown()


@pytest.fixture(scope="module")
def page(browser):
    """One tab for all pages: what they share is read once, and to open a tab takes as long as to load a page."""
    with browser.new_page() as page:
        yield page


@pytest.mark.rendered
@pytest.mark.parametrize(("way", "name"), VISITS)
def test_page_is_sound_from_all_sides(page, addresses, way, name):
    faults = []

    def request(each):
        if not each.url.startswith((addresses[way], "data:", "blob:")):
            faults.append(f"asks another host: {each.url}")

    def console(message):
        if message.type == "error":
            faults.append(f"complains in the console: {message.text}")

    def error(each):
        faults.append(f"has a script that stops: {each}")

    page.set_viewport_size({"width": DESKTOP, "height": 900})
    heard = {"request": request, "console": console, "pageerror": error}
    for event, listener in heard.items():
        page.on(event, listener)
    page.goto(f"{addresses[way]}/{name}")
    page.wait_for_function(FORMULAS_STAND)
    page.evaluate("document.querySelectorAll('details.deeper').forEach((fold) => (fold.open = true))")
    for explorer in page.locator(".explorer:has([data-file])").all():  # its data come when the reader does
        explorer.scroll_into_view_if_needed()
        explorer.locator("input, button").first.wait_for()
    faults += _seen(page, colours=way == "file")  # elements and colours are the same both ways
    for event, listener in heard.items():
        page.remove_listener(event, listener)
    assert not faults, "\n".join(faults)


@pytest.mark.rendered
def test_the_text_does_not_wait_for_the_icons_and_the_explorers_and_their_data():
    """All are large, or many. A new theme may write its tags otherwise: then this finds them where they were."""
    first = (HTML / "book" / "intro.html").read_text(encoding="utf-8")
    tags = re.findall(r"<script[^>]*>", first)
    explorers = [tag for tag in tags if "_explorer.js" in tag]
    assert len(explorers) == 1 and "looking_explorer.js" in explorers[0] and "defer" in explorers[0]
    assert "fontawesome.js" not in first and "MathJax" not in first  # it has no formula
    assert not [tag for tag in tags if "src=" in tag and "defer" not in tag]
    assert len(re.findall(r"<link[^>]*stylesheet[^>]*>", first)) == 1
    with_a_model = (HTML / "book" / "11_generating_text.html").read_text(encoding="utf-8")
    assert 'data-file="../_static/data/11_generating_text_' in with_a_model


@pytest.mark.rendered
def test_formulas_are_drawn_without_being_asked_for_and_all_of_them_before_printing(page):
    page.goto((HTML / "book" / "05_scaling_and_masking.html").as_uri())
    page.locator("mjx-container").first.wait_for(state="attached")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(UNDRAWN) == []


def _seen(page: Page, colours: bool) -> Iterator[str]:
    """Say what is wrong with an open page for who looks at it."""
    yield from (f"does not draw the formula: {formula}" for formula in page.evaluate(UNDRAWN))
    yield from (f"cuts the formula {formula}" for formula in page.evaluate(CUT))
    yield from (f"does not show the picture: {picture}" for picture in page.evaluate(UNSEEN))
    for width in (DESKTOP, TELEPHONE):
        page.set_viewport_size({"width": width, "height": 900})
        own = page.evaluate("document.documentElement.scrollWidth")
        if own != width:
            yield f"is {own} pixels wide in a window of {width}"
        page.evaluate(
            "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
        )  # who watches sizes is told
        yield from (f"scrolls where no keyboard comes to at {width}: {box}" for box in page.evaluate(UNREACHED))
        yield from (f"cuts off an explorer at {width}: {name}" for name in page.evaluate(CROWDED))
    if colours:
        page.set_viewport_size({"width": DESKTOP, "height": 900})
        for scheme, found in violations(page).items():
            yield from (f"breaks a rule of accessibility in the {scheme}: {each}" for each in found)
