"""People and their submissions: found by what identifies them, in doubt left alone, and given back to the platform."""

import csv
import io
import json

import pytest

from course_lib.grading.exports import export
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.matching import Class, make_class, whose
from course_lib.grading.platform_tables import assignment_column, warnings
from course_lib.grading.records import Finding, Record
from course_lib.grading.roster import names_of, parse, read_roster
from course_lib.project import CourseError

WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade),Feedback comments\r\n"
    'Participant 7,=Bo Lee,bo@x.org,"Submitted, late",,6.00,-,-fine\r\n'
    "Participant 12,Ann Doe,ann@x.org,,4,6.00,-,\r\n"
    "Participant 13,Cy Coe,cy@x.org,,,6.00,-,\r\n"
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Attention (678),Masks (9),Final Score\n"
    ",,,,,Manual Posting,,\n"
    '"    Points Possible",,,,,10.00,3,(read only)\n'
    '"Lee, Bo",7,007,+bo,"One, Two",,1,\n'
    '"Doe, Ann",12,008,ann,One,EX,,\n'
    '"Student, Test",99,,x,One,,,\n'
)


def record(name, earned=4, status="graded"):
    findings = () if status == "ungraded" else (Finding("02.3", "attend", "right", earned, 6),)
    return Record(name, "d", status, "", findings)


@pytest.fixture
def written(tmp_path):
    """Return a function that writes the tables of some records and gives back the rows of one of them."""

    def written(name, roster, *records, assignment=""):
        (tmp_path / "gradebook.sqlite").unlink(missing_ok=True)
        with Gradebook.create(tmp_path / "gradebook.sqlite", {"seed": "7"}) as gradebook:
            for each in records:
                gradebook.add(each)
            gradebook.note("roster", roster)
            gradebook.note("assignment", assignment)
            export(gradebook, tmp_path, ["csv", "jsonl", "moodle", "canvas"])
        text = (tmp_path / name).read_bytes().decode()
        return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else read(text)

    return written


def read(text):
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


# ---------------------------------------------------------------- the table of a teacher


@pytest.mark.parametrize(
    ("text", "names", "numbers"),
    [
        (WORKSHEET, ["=Bo Lee", "Ann Doe", "Cy Coe"], ["7", "12", "13"]),
        (CANVAS, ["Lee, Bo", "Doe, Ann"], ["7", "12"]),
        ("Surname;First name;E-mail\nLee;Bo;bo@x.org\n\n;;\n", ["Bo Lee"], [""]),
        ("LOGIN\tName\nbo\tBo Lee\n", ["Bo Lee"], [""]),
        ("student_id,email\n4711,bo@x.org\n", ["bo@x.org"], ["4711"]),
    ],
)
def test_tables_of_every_kind_are_read(text, names, numbers):
    roster = parse(text)
    assert [each.name for each in roster.people] == names and [each.number for each in roster.people] == numbers


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"points,remark\n1,2\n", "has no column that says who somebody is"),
        (b"", "has no column that says who somebody is"),
        (b"name\n", "names nobody"),
        (b"name,id\nBo,1,2\n", "has more cells in row 2"),
        (b'name,id\n"Bo,1\n', "cannot be read as CSV"),
        (b"name\n\xff\n", "is no text in UTF-8"),
        (None, "cannot be read: no such file"),
    ],
)
def test_a_table_that_is_none_is_one_sentence(tmp_path, content, said):
    path = tmp_path / "people.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CourseError, match=said) as refusal:
        read_roster(path)
    assert str(refusal.value).startswith(str(path)) and "\n" not in str(refusal.value)
    path.write_bytes(b"\xef\xbb\xbfname\nBo")
    assert read_roster(path) == "name\nBo"


def test_what_is_missing_at_the_end_of_a_row_is_empty():
    assert [each.cells for each in parse("name,id,email\nBo\nCy,9\n").people] == [("Bo", "", ""), ("Cy", "9", "")]


def test_an_accent_is_no_end_of_a_word():
    assert names_of("Mu\u0308ller K.") == names_of("müller_k") == {"mullerk", "kmuller"}


# ---------------------------------------------------------------- who handed in what


@pytest.mark.parametrize(
    ("submission", "found"),
    [
        ("Somebody Else_7_assignsubmission_file_", ["Bo Lee"]),  # the number before the name
        ("Ann Doe_99_assignsubmission_file_", ["Ann Doe"]),  # the table may number people in another way
        ("doeann_LATE_99", ["Ann Doe"]),
        ("anon_x8f2k", []),
        ("bo@x.org", ["Bo Lee"]),
        ("BL1.ipynb.json", ["Bo Lee"]),
        ("7.py", ["Bo Lee"]),
        ("Bo_Lee.zip", ["Bo Lee"]),
        ("lee-bo.IPYNB", ["Bo Lee"]),
        ("Çélia d'Été", ["Celia D Ete"]),
        ("bo.py", []),
        ("bo lee 02.py", []),
        ("Jo May", ["Jo May", "May Jo"]),
    ],
)
def test_submissions_find_their_people_and_nobody_is_guessed(submission, found):
    known = "name,id,email,login\nBo Lee,7,bo@x.org,bl1\nAnn Doe,12,ann@x.org,ad\n"
    roster = parse(known + "Celia D Ete,13,,\nJo May,14,,\nMay Jo,15,,\n")
    assert [each.name for each in whose(submission, roster)] == found


def test_who_is_missing_and_what_is_nobody_s():
    roster = parse("name,id\nBo Lee,7\nAnn Doe,12\nJo May,14\nMay Jo,15\nCy Coe,16\n")
    records = [record(name) for name in ("Jo May.py", "ann doe", "ann_doe.ipynb", "bo_lee.py", "zoe.py")]
    graded = Class(records, roster)
    assert [person.name for person in graded.missing] == ["Cy Coe"]
    assert graded.unmatched == {
        "Jo May.py": "it could be that of Jo May and May Jo",
        "ann doe": "Ann Doe has several: ann doe and ann_doe.ipynb",
        "ann_doe.ipynb": "Ann Doe has several: ann doe and ann_doe.ipynb",
        "zoe.py": "nobody of the roster",
    }
    rows = [(person and person.name, each and each.submission) for person, each in graded.rows]
    assert rows[:3] == [("Bo Lee", "bo_lee.py"), ("Ann Doe", None), ("Jo May", None)]
    assert [name for person, name in rows if person is None] == ["Jo May.py", "ann doe", "ann_doe.ipynb", "zoe.py"]


def test_of_two_names_with_one_number_neither_is_entered_and_both_are_named():
    names = [f"{name}_7_assignsubmission_file_" for name in ("Bo Lee", "Zoe")]
    graded = Class([record(name) for name in names], parse("name,id\nBo Lee,7\n"))
    assert graded.unmatched == dict.fromkeys(names, f"Bo Lee has several: {names[0]} and {names[1]}")


# ---------------------------------------------------------------- what the platforms get


def test_moodle_gets_its_worksheet_back_with_the_grades(written):
    rows = written("grades_moodle.csv", WORKSHEET, record("Bo Lee_7_assignsubmission_file_"), record("zoe.py"))
    expected = read(WORKSHEET)
    expected[1][1], expected[1][4] = "'=Bo Lee", "4"
    assert rows == expected  # what identifies people and what the teacher wrote is as it was, and 4 of Ann's stays
    ungraded = written("grades_moodle.csv", WORKSHEET, record("Cy Coe_13_assignsubmission_file_", status="ungraded"))
    assert ungraded[3][4] == ""


def test_moodle_gets_a_worksheet_without_a_roster_too(written):
    header, ann, zoe = written("grades_moodle.csv", "", record("=Ann_12_assignsubmission_file_"), record("zoe.py", 0))
    assert header[:3] == ["Identifier", "Full name", "Email address"]
    assert {"Grade", "Last modified (grade)"} <= set(header)
    assert written("grades_moodle.csv", "name\n=Ann\n")[1][:3] == ["", "'=Ann", ""]
    assert ann[:6] == ["Participant 12", "'=Ann", "", "", "4", "6"] and zoe[:6] == ["", "zoe.py", "", "", "0", "6"]


def test_canvas_gets_one_assignment_and_the_columns_that_it_wants(written):
    rows = written("grades_canvas.csv", CANVAS, record("leebo_7", 0), assignment="Attention")
    assert rows == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Attention (678)"],
        ["    Points Possible", "", "", "", "", "10.00"],
        ["Lee, Bo", "7", "007", "+bo", "One, Two", "0"],
        ["Doe, Ann", "12", "008", "ann", "One", "EX"],
    ]
    one = CANVAS.replace(",Attention (678),Masks (9)", ",Other,Score")
    header, points, bo, _ = written("grades_canvas.csv", one, record("leebo_7"), assignment="Week 3")
    assert (header[5], points[5], bo[5]) == ("Week 3", "6", "4")


def test_canvas_gets_a_gradebook_of_other_rosters_too(written):
    rows = written("grades_canvas.csv", "name,username\nLee Bo,-bl\nCy,cy\n", record("leebo_7"))
    assert rows == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Exercises 02"],
        ["    Points Possible", "", "", "", "", "6"],
        ["Lee Bo", "7", "", "-bl", "", "4"],
        ["Cy", "", "", "cy", "", ""],
    ]
    assert written("grades_canvas.csv", "", record("leebo_7"), record("zoe.py"))[2:] == [
        ["leebo", "7", "", "", "", "4"],
        ["zoe.py", "", "", "", "", "4"],
    ]


@pytest.mark.parametrize("named", ["678", "Attention", "Attention (678)"])
def test_an_assignment_has_a_name_and_a_number(named):
    assert assignment_column(parse(CANVAS), named) == "Attention (678)"
    for wrong, said in (
        ("", "several assignments"),
        ("Softmax", r"no one assignment 'Softmax' \(assignments: Attention"),
    ):
        with pytest.raises(CourseError, match=said):
            assignment_column(parse(CANVAS), wrong)
    assert assignment_column(parse(CANVAS.replace(",Masks (9)", ",Masks")), "") == "Attention (678)"


def test_what_a_platform_would_do_otherwise_is_said():
    records = [record("Bo Lee_7_assignsubmission_file_"), record("zoe.py")]
    formats = ["moodle", "canvas"]
    assert warnings(make_class(records, {"roster": WORKSHEET}), formats) == []
    (said,) = warnings(make_class(records, {"roster": WORKSHEET.replace("6.00", '"100,00"')}), formats)
    assert said.startswith("Moodle has 100 points for this assignment and the exercises 6:")
    (said,) = warnings(make_class(records, {}), formats)
    assert said.startswith("Moodle will pass over 1 of 2 grades:")
    (said,) = warnings(make_class(records, {"roster": CANVAS, "assignment": "678"}), ["canvas"])
    assert said.startswith("Canvas has 10 points")
    assert warnings(make_class(records, {"roster": CANVAS}), ["csv"]) == []


def test_the_tables_have_the_people_in_their_order_and_who_came_late(written):
    records = record("doeann_LATE_12"), record("zoe.py")
    roster = "email,name,id\n=bo,=Bo,7\nann@x.org,Ann,12\n"
    assert written("grades.csv", roster, *records) == [
        [*("email", "name", "id", "submission", "score", "max_score", "status", "reason", "late", "exercise_02.3")],
        ["=bo", "'=Bo", "7", "", "", "", "no submission", "", "", ""],
        ["ann@x.org", "Ann", "12", "doeann_LATE_12", "4", "6", "graded", "", "late", "4"],
        ["", "", "", "zoe.py", "4", "6", "graded", "", "", "4"],
    ]
    bo, ann, zoe = written("grades.jsonl", roster, *records)
    assert bo["person"] == {"email": "=bo", "name": "=Bo", "id": "7"} and bo["submission"] is bo["score"] is None
    assert ann["late"] and not zoe["late"] and zoe["person"] is None and bo["status"] == "no submission"
    doubtful = written("grades.csv", "name\nJo May\nMay Jo\n", record("jo may"))
    assert [row[4] for row in doubtful[1:]] == ["in doubt", "in doubt", "graded"]
