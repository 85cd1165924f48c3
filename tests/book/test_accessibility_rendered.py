"""Texts of one look are judged once; what is wrong with a single text among many is found all the same."""

import pytest
from playwright.sync_api import Error

from tests.book.accessibility import MARK, violations

PAGE = """<!DOCTYPE html><html lang="en"><title>A page</title><style>
html {{ color-scheme: light dark; background: light-dark(white, black); color: light-dark(black, white) }}
pre span {{ color: light-dark(#111, #eee) }}
</style><main><h1>A page</h1><pre>{code}</pre>{more}</main></html>"""
CODE = "".join(f'<span class="a{number}">name_{number}</span><span>.</span> ' for number in range(200))
POSITIONED = '<div style="position: absolute; inset: 0; {}">{}</div>'

pytestmark = pytest.mark.rendered


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        yield page


@pytest.fixture
def look_at(page):
    """Open a page with this code and more, and return what breaks a rule, and how many texts were judged."""

    def look_at(more="", code=CODE):
        page.set_content(PAGE.format(code=code, more=more))
        rules = {scheme: [each.split(":")[0] for each in found] for scheme, found in violations(page).items()}
        return rules, page.locator(f"[{MARK}]").count()

    return look_at


def test_one_text_stands_for_all_of_its_look(look_at):
    assert look_at() == ({"light": [], "dark": []}, 2)  # the heading, and a name


@pytest.mark.parametrize(
    "more",
    [
        '<p>words</p><p style="color: #777">words</p>',
        '<p>words</p><p style="opacity: 0.4">words</p>',
        '<p>words</p><p style="background: #888; color: #aaa">words</p>',
        '<p style="color: #808080; font-size: 30px">words</p><p style="color: #808080">words</p>',
        '<p style="color: gray; background: gray">x</p><p style="color: gray; background: #999">words</p>',
        "<p>words</p>" + POSITIONED.format("background: #777", "") + POSITIONED.format("color: #888", "words"),
        '<label style="color: gray">words <input value="words" style="color: #888; background: #999"></label>',
    ],
)
def test_one_text_that_is_hard_to_read_is_found(look_at, more):
    found, _ = look_at(more)
    assert set(found["light"] + found["dark"]) == {"color-contrast"}


def test_both_colour_schemes_are_judged(look_at):
    style = "<style>pre .a7 {{ color: light-dark({}, {}) }}</style>"
    assert look_at(style.format("#111", "#222"))[0] == {"light": [], "dark": ["color-contrast"]}
    assert look_at(style.format("#eee", "#eee"))[0] == {"light": ["color-contrast"], "dark": []}


def test_words_of_code_that_nobody_judges_become_plain_text_and_the_others_stay_as_they_look(look_at, page):
    look_at("<style>pre .a7 { color: #333 }</style>")
    assert page.locator("pre span").count() == 2
    with pytest.raises(Error, match="looks otherwise without the words before it"):
        look_at("<style>pre span:nth-child(7) { color: #333 }</style>")


def test_the_other_rules_hold_for_every_element(look_at):
    assert look_at('<img src="data:,">' * 2)[0] == {"light": ["image-alt"] * 2, "dark": ["image-alt"] * 2}
