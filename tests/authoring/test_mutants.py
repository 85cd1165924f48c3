"""A single edit of a worked answer loses points, or a file says why it is right as well."""

import pytest

from course_lib.authoring import exercise_rules as rules
from course_lib.authoring.mutants import mutants, read_equivalent
from course_lib.grading.catalogue import catalogue
from course_lib.project import CourseError

COURSE = catalogue()
SOURCE = """def f(x, y):
    if x.amax() < 1:
        x = x.clone()
    return torch.maximum(x, y - 1).sum(dim=0, keepdim=True)
"""


def test_operators_constants_axes_names_arguments_and_lines_are_edited():
    edits = "\n".join(str(each) for each in mutants(SOURCE))
    for expected in (
        "+ if x.amax() <= 1:",
        "+ if x.amin() < 1:",
        "+ x = x",
        "+ return torch.maximum(x, y + 1).sum(dim=0, keepdim=True)",
        "+ return torch.maximum(y - 1, x).sum(dim=0, keepdim=True)",
        "+ return torch.maximum(x, y - 1).sum(dim=1, keepdim=True)",
        "+ return torch.maximum(x, y - 1).sum(dim=0)",
        "+ return torch.maximum(x, y - 1).mean(dim=0, keepdim=True)",
        "+ return torch.maximum(x, y - 1).sum(dim=0, keepdim=True).squeeze()",
        "+ return torch.maximum(x, 1 - y).sum(dim=0, keepdim=True)",
    ):
        assert expected in edits


def test_a_mutant_is_yielded_once_and_never_the_answer_itself():
    sources = [each.source for each in mutants(SOURCE)]
    assert len(set(sources)) == len(sources) and SOURCE.strip() not in sources


def test_a_survivor_that_no_file_explains_is_reported(monkeypatch):
    exercise = COURSE.find("05.2")
    assert list(rules.mutants_lose_points(COURSE, exercise, range(1))) == []
    monkeypatch.setattr(rules, "read_equivalent", lambda path: {})
    (left,) = rules.mutants_lose_points(COURSE, exercise, range(1))
    assert "causal_weights earns full marks with this edit" in left and "+ time = scores.shape[-2]" in left


def test_an_explanation_of_nothing_is_reported(monkeypatch):
    known = read_equivalent(rules.root() / "tests/exercises/chapter_05/ex2_causal_mask.equivalent.txt")
    monkeypatch.setattr(rules, "read_equivalent", lambda path: known | {("causal_weights", "- a\n+ b"): "why"})
    (left,) = rules.mutants_lose_points(COURSE, COURSE.find("05.2"), range(1))
    assert "there is no such edit of causal_weights" in left


@pytest.mark.parametrize("paragraph", ["f", "f\n- a\n+ b", "f\nwhy", "not a name\n- a\n+ b\nwhy", "f\n+ b\nwhy"])
def test_a_paragraph_of_another_form_is_refused(tmp_path, paragraph):
    (tmp_path / "equivalent.txt").write_text(paragraph, encoding="utf-8")
    with pytest.raises(CourseError, match="expected a function, lines with"):
        read_equivalent(tmp_path / "equivalent.txt")


def test_several_edits_share_a_reason(tmp_path):
    text = "f\n- a\n+ b\n- c\n- d\n+ e\none reason\nin two lines"
    (tmp_path / "equivalent.txt").write_text(text, encoding="utf-8")
    reason = "one reason in two lines"
    assert read_equivalent(tmp_path / "equivalent.txt") == {("f", "- a\n+ b"): reason, ("f", "- c\n- d\n+ e"): reason}
