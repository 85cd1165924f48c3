"""The skeleton of a new exercise keeps all rules, but for what its author is to write."""

import importlib
import re
import sys

import pytest

from course_lib.authoring import exercise_rules, new_exercise
from course_lib.authoring.notebooks import as_json
from course_lib.authoring.stubs import derive
from course_lib.grading.catalogue import Catalogue
from course_lib.project import CourseError, root

STILL = "still to be written"
PACKAGE = "invented_exercises"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A course of two exercises in a folder of its own: 03.1, and 03.2 that `new-exercise` made."""
    chapter, page = tmp_path / PACKAGE / "chapter_03", tmp_path / "solutions" / "03_invented.md"
    chapter.mkdir(parents=True)
    page.parent.mkdir()
    (tmp_path / "exercises").mkdir()
    (tmp_path / PACKAGE / "__init__.py").write_text(
        f"from pathlib import Path\n\nSOLUTIONS = Path({str(page.parent)!r})\n", encoding="utf-8"
    )
    words = {"id": "03.1", "title": "First", "title_small": "first", "name": "first"}
    (chapter / "__init__.py").touch()
    (chapter / "ex1_first.py").write_text(new_exercise.MODULE.format(**words), encoding="utf-8")
    head = (root() / "solutions/03_self_attention_without_parameters.md").read_text(encoding="utf-8").split("\n## ")[0]
    page.write_text(head.removesuffix("+++\n") + new_exercise.PAGE.format(**words), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(exercise_rules, "root", lambda: tmp_path)
    new_exercise.write(Catalogue(PACKAGE), tmp_path, "3.2", "Double it")
    importlib.invalidate_caches()
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


def in_step(home) -> Catalogue:
    """Write the notebook for learners as `course make-exercises` does, and return the catalogue."""
    catalogue, page = Catalogue(PACKAGE), home / "solutions/03_invented.md"
    (home / "exercises/03_invented.ipynb").write_text(as_json(derive(page, catalogue.find)), encoding="utf-8")
    return catalogue


def test_the_skeleton_keeps_every_rule_but_for_what_is_to_be_written(home):
    problems = exercise_rules.problems(in_step(home), "03.2")
    assert problems and all(STILL in problem for problem in problems), problems
    module = "chapter_03/ex2_double_it.py"
    for file in (f"/{PACKAGE}/{module}", f"tests/exercises/{module}", "03_invented.md"):
        assert any(file in problem for problem in problems), file


def test_what_was_written_is_no_longer_asked_for(home):
    for path in home.rglob("*"):
        if path.is_file() and path.suffix in (".py", ".md"):
            text = path.read_text(encoding="utf-8")
            path.write_text(re.sub(r"<<([^<>]+)>>", lambda found: found[1], text), encoding="utf-8")
    assert exercise_rules.problems(in_step(home), "03.2") == []


def test_a_number_that_is_taken_is_refused(home):
    with pytest.raises(CourseError, match=r"there is an exercise 03\.2 already: Double it"):
        new_exercise.write(Catalogue(PACKAGE), home, "03.2", "Another")
