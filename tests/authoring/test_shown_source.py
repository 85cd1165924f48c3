"""The source of the library as a page shows it."""

from course_lib.attention import SelfAttention
from course_lib.authoring import shown_source


def test_of_each_docstring_the_first_paragraph_is_shown_and_nothing_is_wider_than_a_page():
    shown = shown_source.show_source(SelfAttention).data
    assert "three linear maps decide" in shown
    assert ">>>" not in shown and "an experiment or a learner" not in shown
    assert "Return the output" in shown  # the docstring of a method
    assert max(map(len, shown.splitlines())) <= shown_source.WIDTH


def test_without_ruff_the_code_is_shown_as_it_stands(monkeypatch):
    narrow = shown_source.show_source(SelfAttention).data
    monkeypatch.setattr(shown_source.shutil, "which", lambda *_, **__: None)
    wide = shown_source.show_source(SelfAttention).data
    assert wide != narrow and "".join(wide.split()).replace(",)", ")") == "".join(narrow.split()).replace(",)", ")")
