import random

import pytest

from course_lib.authoring.quizzes import show_quiz


@pytest.fixture
def shown(monkeypatch):
    """Return a function that gives what a quiz of one question puts on the page."""

    def show(text: str) -> list[str]:
        pieces = []
        monkeypatch.setattr("jupyterquiz.dynamic.display.display", lambda piece: pieces.append(piece.data))
        show_quiz([{"question": text, "type": "numeric", "answers": [{"type": "value", "value": 2}]}])
        return pieces

    return show


def test_the_same_questions_give_the_same_output_whatever_was_drawn_before(shown):
    random.seed(1)
    frame, script = shown("1 + 1?")
    random.seed(2)
    assert shown("1 + 1?") == [frame, script]
    assert "1 + 1?" in script


def test_two_quizzes_on_one_page_have_names_of_their_own(shown):
    assert shown("1 + 1?")[0] != shown("3 - 1?")[0]


def test_what_the_chapter_draws_does_not_depend_on_the_quiz(shown):
    random.seed(3)
    expected = random.random()
    random.seed(3)
    shown("1 + 1?")
    assert random.random() == expected
