import pytest

from course_lib import project
from course_lib.project import CourseError, own_folder


@pytest.fixture
def without_a_repository(monkeypatch):
    def root():
        raise CourseError("only the package is installed")

    monkeypatch.setattr(project, "root", root)


def test_in_a_repository_a_learner_works_there_wherever_they_stand(tmp_path, monkeypatch):
    monkeypatch.setattr(project, "root", lambda: tmp_path / "course")
    monkeypatch.chdir(tmp_path)
    assert own_folder() == tmp_path / "course" / "my_exercises"


def test_without_a_repository_a_learner_works_where_they_stand(tmp_path, monkeypatch, without_a_repository):
    monkeypatch.chdir(tmp_path)
    assert own_folder() == tmp_path / "my_exercises"
    own_folder().mkdir()
    monkeypatch.chdir(own_folder())
    assert own_folder() == tmp_path / "my_exercises"


def test_what_needs_the_repository_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(project, "__file__", str(tmp_path / "course_lib" / "project.py"))
    with pytest.raises(CourseError, match="^this needs the whole course, .* clone its repository .* inside it$"):
        project.root()
