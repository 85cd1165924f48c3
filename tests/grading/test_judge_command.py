"""`course judge`: what a person decides is kept, shown everywhere, and taken back; what is wrong is one sentence."""

import csv
import json
import xml.etree.ElementTree as ElementTree

import pytest

from course_lib.grading import exports
from course_lib.grading.grade_command import GRADEBOOK
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.records import GRADED, UNGRADED, Finding, Record
from course_lib.grading.reports.feedback import feedback

FINDINGS = (
    Finding("02.3", "attend", "inputs unchanged", 1, 1),
    Finding("02.3", "attend", "one-hot weights", 0, 2, "value", "got 1, expected 2", "mean for sum", "this averages"),
    Finding("02.5", "look", "shape", 1, 1),
    Finding("02.5", "score", "shape", 1, 1),
)


@pytest.fixture
def grades(tmp_path):
    folder = tmp_path / "grades"
    with Gradebook.create(folder / GRADEBOOK, {"seed": "7"}) as gradebook:
        gradebook.add(Record("ann.py", "1", GRADED, "", FINDINGS))
        gradebook.add(Record("bob", "2", GRADED, "", FINDINGS))
        gradebook.add(Record("eve", "3", UNGRADED, "the disk was full", ()))
        exports.export(gradebook, folder, exports.FORMATS)
    return folder


def record(grades, name="ann.py"):
    with Gradebook.open(grades / GRADEBOOK) as gradebook:
        return next(each for each in gradebook.records() if each.submission == name)


def by_hand(grades, name="ann.py"):
    return [each.judgement for each in record(grades, name).findings if each.judgement]


def test_points_and_comment_stand_in_every_file(run, grades):
    before = {path: path.read_bytes() for path in grades.rglob("*") if path.is_file()}
    code, out, err = run(
        *("judge", str(grades), "ann", "02.3", "one-hot weights"),
        *("--points", "2", "--comment", "=our\nmistake", "--by", "Ada"),
    )
    said = "by hand: 2 of 2 points, not 0 (Ada): =our mistake"
    assert (code, err) == (0, "") and said in out and "ann.py: 5 of 5 points" in out
    assert all(
        path.read_bytes() != content for path, content in before.items() if path.name not in ("bob.json", "eve.json")
    )
    header, ann, bob, _ = csv.reader((grades / "grades.csv").open(encoding="utf-8"))
    assert ann[1] == "5" and ann[header.index("by_hand")] == f"02.3.2: {said}" and bob[-1] == ""
    ann, bob, _ = map(json.loads, (grades / "grades.jsonl").read_text().splitlines())
    assert ann["score"] == 5 and ann["tests"][1]["score"] == 2
    assert ann["tests"][1]["by_hand"] | {"at": ""} == {
        "score_of_machine": 0,
        "comment": "=our mistake",
        "by": "Ada",
        "at": "",
    }
    assert "by_hand" not in bob and "by_hand" not in bob["tests"][1]
    results = json.loads((grades / "gradescope" / "ann.py.json").read_text())
    assert results["score"] == 5 and results["tests"][1]["status"] == "passed" and said in results["tests"][1]["output"]
    suite = ElementTree.parse(grades / "junit.xml").getroot()[0]
    assert suite.get("failures") == "0" and said in suite.find("properties/property").get("value")
    folder = feedback(grades)
    page, text = ((folder / f"ann.py.{kind}").read_text(encoding="utf-8") for kind in ("html", "txt"))
    assert "this averages" not in page + text and "FAIL" not in text  # the mistake is forgiven
    assert said in page and said in " ".join(text.split()) and "5 of 5" in text


def test_a_hand_can_take_points_away(run, grades):
    run("judge", str(grades), "ann.py", "2.3.1", "--points", "0", "--comment", "copied", "--by", "Ada")
    suite = ElementTree.parse(grades / "junit.xml").getroot()[0]
    assert suite.get("failures") == "2" and "copied" in suite[1][0].text
    assert "FAIL  0/1  inputs unchanged" in (feedback(grades) / "ann.py.txt").read_text()


def test_what_is_not_named_stays_as_it_was_and_all_can_be_taken_back(run, grades):
    before = (grades / "grades.csv").read_bytes()
    run("judge", str(grades), "ann.py", "02.3.2", "--points", "1", "--by", "Ada")
    run("judge", str(grades), "ann.py", "02.3.2", "--comment", "half", "--by", "Bert")
    (kept,) = by_hand(grades)
    assert (kept.points, kept.comment, kept.by) == (1, "half", "Bert") and kept.at.endswith(" UTC")
    code, out, _ = run("judge", str(grades), "ann.py", "02.3.2", "--withdraw")
    assert code == 0 and "taken back: 1 point, 'half', Bert" in out and "0/2  one-hot weights" in out
    assert by_hand(grades) == [] and (grades / "grades.csv").read_bytes() == before


def test_comments_for_an_exercise_and_for_the_whole(run, grades):
    run("judge", str(grades), "eve", "--comment", "see me", "--by", "Ada")
    run("judge", str(grades), "ann.py", "02.3", "--comment", "nearly", "--by", "Ada")
    assert record(grades, "eve").earned is None and record(grades).earned == 3
    folder = feedback(grades)
    assert "the submission, by hand (Ada): see me" in (folder / "eve.txt").read_text()
    for kind in ("txt", "html"):
        assert "02.3, by hand (Ada): nearly" in (folder / f"ann.py.{kind}").read_text(encoding="utf-8")
    assert json.loads((grades / "gradescope" / "eve.json").read_text())["output"].endswith("see me")


def test_lists(run, grades):
    assert "nothing in" in run("judge", str(grades))[1]
    run("judge", str(grades), "ann.py", "02.3.2", "--points", "2", "--by", "Ada")
    code, out, _ = run("judge", str(grades), "ann.py")
    assert code == 0 and "02.3.2  2/2  one-hot weights" in out and "02.5.2  1/1  shape" in out and "got 1" in out
    assert "02.5" not in run("judge", str(grades), "ann.py", "02.3")[1]
    assert "judged by hand: 1" in run("judge", str(grades))[1]


def test_what_no_longer_applies_is_listed_and_can_be_taken_back(run, grades):
    run("judge", str(grades), "ann.py", "02.3.2", "--points", "2", "--comment", "ours", "--by", "Ada")
    with Gradebook.open(grades / GRADEBOOK) as gradebook:
        gradebook.add(Record("ann.py", "1", GRADED, "", FINDINGS[2:]))
    said = "no longer applies: 02.3 attend, 'one-hot weights', 2 points (Ada): ours"
    assert said in run("judge", str(grades))[1] and said in run("judge", str(grades), "ann.py")[1]
    with Gradebook.open(grades / GRADEBOOK) as gradebook:
        exports.export(gradebook, grades, ["csv"])
        assert said in (grades / "grades.csv").read_text(encoding="utf-8")
        gradebook.drop("ann.py")
    code, out, _ = run("judge", str(grades))
    assert "ann.py: no longer there" in out and said in out
    assert run("judge", str(grades), "ann.py", "02.3", "one-hot weights", "--withdraw")[0] == 0
    assert "nothing in" in run("judge", str(grades))[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["anm.py", "02.3.2", "--points", "1"], "there is no submission 'anm.py'"),
        (["anm.py", "02.3.2", "--points", "1"], "(did you mean ann.py?)"),
        (["ann.py", "02.4", "--comment", "x"], "has no points for exercise 02.4 (did you mean 02."),
        (["ann.py", "two"], "'two' is no exercise: write 02.3"),
        (["ann.py", "02.3.7", "--points", "1"], "there is no property 02.3.7; its properties are 02.3.1 to 02.3.2"),
        (["ann.py", "02.3", "one hot weight", "--points", "1"], "(did you mean one-hot weights?)"),
        (["ann.py", "02.3.2", "one-hot weights"], "02.3.2 is a property already"),
        (["ann.py", "02.5", "shape", "--points", "1"], "name it as 02.5.1 or 02.5.2"),
        (["ann.py", "02.3.2", "--points", "3"], "has 0 to 2 points, not 3"),
        (["ann.py", "02.3.2", "--points=-1"], "has 0 to 2 points, not -1"),
        (["ann.py", "02.3", "--points", "1"], "points are given for a property: name one, such as 02.3.2"),
        (["ann.py", "--comment", " "], "the comment is empty"),
        (["ann.py", "--comment", "x" * 2001], "has 2001 characters"),
        (["ann.py", "02.3.2", "--withdraw"], "nobody has judged 02.3 attend, 'one-hot weights' of ann.py"),
        (["ann.py", "02.3.2", "--withdraw", "--points", "1"], "leave out --points"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_changes_nothing(run, grades, arguments, said):
    before = {path: path.read_bytes() for path in grades.rglob("*") if path.is_file()}
    code, out, err = run("judge", str(grades), *arguments)
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1
    assert {path: path.read_bytes() for path in grades.rglob("*") if path.is_file()} == before


def test_the_login_is_the_name_where_none_is_said(run, grades, monkeypatch):
    monkeypatch.setenv("LOGNAME", "alovelace")
    run("judge", str(grades), "ann.py", "02.3.2", "--points", "2")
    assert by_hand(grades)[0].by == "alovelace"


def test_pages_that_are_older_are_named(run, grades):
    feedback(grades)
    (grades / "class_report.html").write_text("old")
    out = run("judge", str(grades), "ann.py", "02.3.2", "--points", "2")[1]
    assert f"course report {grades}" in out and f"course feedback {grades}" in out
