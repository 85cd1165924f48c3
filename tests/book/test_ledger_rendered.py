"""The page of claims in a browser: chapters far away are not laid out, and keep about the room that they will need."""

import pytest

from tests.book.pages import HTML

HEIGHTS = "() => [...document.querySelectorAll('.ledgers')].map((each) => each.offsetHeight)"
SHOWN = ".ledgers { content-visibility: visible !important }"

pytestmark = pytest.mark.rendered


@pytest.mark.parametrize("width", [390, 800, 1280])
def test_a_chapter_far_away_keeps_about_the_room_that_its_rows_need(browser, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((HTML / "book/claims.html").as_uri())
    kept = page.evaluate(HEIGHTS)
    page.add_style_tag(content=SHOWN)
    needed = page.evaluate(HEIGHTS)
    page.close()
    assert len(kept) > 10 and kept[-1] != needed[-1], "none is left out until it comes near"
    assert sum(kept) == pytest.approx(sum(needed), rel=0.15)
    for room, rows in zip(kept, needed, strict=True):
        assert 0.7 < room / rows < 1.4
