"""What each student gets back is made of the gradebook, escapes what they wrote, and is the same each time."""

import zipfile

import pytest

from course_lib.grading.grade_command import GRADEBOOK
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.records import GRADED, UNGRADED, UNREADABLE, Finding, Record
from course_lib.grading.reports.feedback import feedback

HOSTILE = "<script>alert(1)</script>"
TOLD = "this averages over the locations; sum the weighted values"
FINDINGS = (
    Finding("02.3", "attend", "one-hot weights", 0, 2, "value", f"got {HOSTILE}", "mean for sum", TOLD),
    Finding("02.3", "attend", "inputs unchanged", 1, 1),
    Finding("77.1", "gone", "of another edition", 1, 1),
)


@pytest.fixture
def grades(tmp_path):
    with Gradebook.create(tmp_path / GRADEBOOK, {"seed": "7"}) as gradebook:
        gradebook.add(Record("ann", "1", GRADED, "", FINDINGS))
        gradebook.add(Record(f"../{HOSTILE}", "2", UNREADABLE, "there is no notebook", FINDINGS[:1]))
        gradebook.add(Record("eve.ipynb", "3", UNGRADED, "the disk was full", ()))
    return tmp_path


def test_a_student_reads_points_findings_and_the_mistake_explained(grades):
    folder = feedback(grades)
    text, page = ((folder / f"ann.{kind}").read_text(encoding="utf-8") for kind in ("txt", "html"))
    for said in ("ann: 2 of 4 points", TOLD, "one-hot weights", "Attend", "of another edition"):
        assert said in text and said in page
    assert text.index(TOLD) < text.index("one-hot weights") and text.count(TOLD) == 1
    assert max(map(len, text.splitlines())) <= 88


def test_what_a_student_wrote_cannot_act_in_a_page_nor_leave_the_folder(grades):
    pages = sorted(feedback(grades).iterdir())
    assert len(pages) == 6 and all(page.parent == grades / "feedback" for page in pages)
    assert all(HOSTILE not in page.read_text(encoding="utf-8") for page in pages if page.suffix == ".html")


def test_who_is_not_graded_has_no_mark(grades):
    text = (feedback(grades) / "eve.ipynb.txt").read_text(encoding="utf-8")
    assert "not graded yet" in text and "the disk was full" in text and "points" not in text


def test_the_archive_holds_the_same_files_and_is_the_same_each_time(grades):
    folder = feedback(grades)
    first = (grades / "feedback.zip").read_bytes()
    (folder / "who_left.html").write_text("old", encoding="utf-8")
    feedback(grades)
    assert (grades / "feedback.zip").read_bytes() == first and not (folder / "who_left.html").exists()
    with zipfile.ZipFile(grades / "feedback.zip") as archive:
        for name in archive.namelist():
            assert archive.read(name) == (folder / name).read_bytes()
        assert len(archive.namelist()) == 6


def test_without_grades_it_is_one_sentence(run, tmp_path):
    code, out, err = run("feedback", str(tmp_path))
    assert code == 2 and out == "" and "there is no gradebook" in err and err.count("\n") == 1


def test_the_command_says_where_they_are(run, grades):
    code, out, err = run("feedback", str(grades))
    assert code == 0 and err == "" and "feedback.zip" in out
