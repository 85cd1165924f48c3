"""A quiz in the built book: where the keyboard is can be seen, and what is said of an answer can be heard."""

import pytest

from tests.book.pages import HTML, built_pages

pytestmark = pytest.mark.rendered


@pytest.fixture(scope="module")
def page(browser):
    built_pages()  # says what to do when there is no book
    with browser.new_page() as page:
        page.goto((HTML / "book" / "00_shapes_and_the_soft_argmax.html").as_uri())
        page.locator(".Quiz .MCButton").first.wait_for()
        yield page


def test_the_choice_that_has_the_focus_is_outlined(page):
    outline = "(label) => getComputedStyle(label).outlineStyle"
    choice = page.locator(".Quiz .MCButton").first
    assert choice.evaluate(outline) == "none"
    choice.locator("input").focus()
    assert choice.evaluate(outline) == "solid"


def test_choices_belong_to_their_question_and_feedback_is_spoken(page):
    quiz = page.locator(".Quiz").first
    question = quiz.locator("[id^=quizQn]").inner_text()
    answers = page.get_by_role("group", name=question)
    wrong = answers.locator("label[data-correct=false]").first
    wrong.click()
    assert quiz.get_by_role("status").inner_text() == wrong.get_attribute("data-feedback")


def test_a_quiz_does_not_stop_where_formulas_come_late(browser):
    held, faults = [], []
    with browser.new_page() as page:
        page.route("**/tex-chtml.js*", lambda route: held.append(route))
        page.on("pageerror", lambda error: faults.append(error))
        page.goto((HTML / "book" / "00_shapes_and_the_soft_argmax.html").as_uri(), wait_until="commit")
        page.locator(".Quiz .MCButton").first.wait_for()
        page.wait_for_timeout(1000)  # the quiz looks for MathJax after half a second
        page.evaluate("void window.drawFormulas()")  # or the page has asked for them meanwhile: it does so once
        page.wait_for_function("document.querySelector('script[src*=tex-chtml]')")
        for _ in range(1000):  # the request reaches the test later than the tag that makes it, by a moment or more
            if held:
                break
            page.wait_for_timeout(20)
        (script,) = held
        assert page.locator("mjx-container").count() == 0
        script.continue_()
        page.locator("mjx-container").first.wait_for(state="attached")
    assert not faults
