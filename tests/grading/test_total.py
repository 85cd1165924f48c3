"""`course total`: several gradebooks become one table, deductions are explained, what is wrong is one sentence."""

import csv
from datetime import datetime, timedelta

import pytest

from course_lib.grading.grade_command import GRADEBOOK
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.records import GRADED, UNGRADED, Finding, Judgement, Record
from course_lib.grading.totals.lateness import deduction
from course_lib.grading.totals.settings import LateRule, read_course
from course_lib.project import CourseError

DUE = "2026-11-02T23:59:00+01:00"
COURSE = f"""
[[assignment]]
name = "Week 2"
grades = "week2"
due = {DUE}
submitted = "week2/times.csv"
weight = 1.0

[[assignment]]
name = "Week 3"
grades = "week3"
weight = 3
"""
LATE = """
[late]
per_day = 0.1
grace_minutes = 15
at_most_days = 5
"""


def record(name, earned, status=GRADED, points=10):
    return Record(name, "", status, "", () if status == UNGRADED else (Finding("02.3", "f", "p", earned, points),))


@pytest.fixture
def folder(tmp_path):
    """A course of two weeks: `ann` was late in the first, `bob` did only the first, `cleo` only the second."""
    weeks = {
        "week2": [record("ann.py", 10), record("bob.ipynb", 5), record("eve", 0, UNGRADED)],
        "week3": [record("ann.ipynb", 10, points=20), record("cleo", 20, points=20), record("eve", 20, points=20)],
    }
    for week, records in weeks.items():
        with Gradebook.create(tmp_path / week / GRADEBOOK, {"seed": "7"}) as gradebook:
            for each in records:
                gradebook.add(each)
    (tmp_path / "week2" / "times.csv").write_text(
        "submission,time\nann.py,2026-11-04T03:00:00+01:00\nbob,2026-11-02T22:59:00+00:00\n"
    )
    return tmp_path


@pytest.fixture
def total(run, folder):
    """Run `course total` on a file with this text; return the rows of the table by student, and what was said."""

    def total(text=COURSE + LATE):
        (folder / "course.toml").write_text(text)
        code, out, err = run("total", str(folder / "course.toml"), "--out", str(folder / "totals"))
        assert (code, err) == (0, "")
        with (folder / "totals" / "totals.csv").open(encoding="utf-8", newline="") as file:
            return {row["student"]: row for row in csv.DictReader(file)}, out

    return total


def test_a_row_for_each_student_and_a_column_for_each_assignment(total, folder):
    table, said = total()
    assert list(table) == ["ann", "bob", "cleo", "eve"]
    late = "Week 2: 1 d 3 h late, which is 2 days begun: 20 % of 10 points are taken off, 2 points"
    assert table["ann"] == {
        "student": "ann",
        "Week 2": "8",
        "Week 2, taken off": "2",
        "Week 3": "10",
        "points": "18",
        "max_points": "30",
        "share": "0.5750",  # a quarter of 0.8 and three quarters of 0.5
        "remarks": late,
    }
    assert table["bob"]["share"] == "0.1250" and table["bob"]["remarks"] == "Week 3: not handed in, 0 points"
    assert table["cleo"]["Week 2"] == "0" and table["cleo"]["share"] == "0.7500"
    assert (table["eve"]["Week 2"], table["eve"]["share"], table["eve"]["max_points"]) == ("", "1.0000", "20")
    assert "not graded yet, and left out of the total" in table["eve"]["remarks"]
    page = (folder / "totals" / "totals.html").read_text(encoding="utf-8")
    for words in ("57.5 %", "8/10", "late: −2", late, "20/20", "not handed in", "Lateness takes off 10&nbsp;%"):
        assert words in page
    assert "https:" not in page and "src=" not in page and "4 students, 2 assignments; written:" in said


def test_the_lowest_is_dropped_and_said(total):
    table, _ = total("drop_lowest = 1\n" + COURSE + LATE)
    assert table["ann"]["share"] == "0.8000" and table["ann"]["remarks"].endswith(
        "Week 3: dropped, as the lowest share (50 %)"
    )
    assert (table["bob"]["share"], table["bob"]["points"], table["bob"]["max_points"]) == ("0.5000", "5", "10")
    assert table["eve"]["share"] == "1.0000"  # one always counts


def test_drop_lowest_may_stand_at_the_end(folder):
    (folder / "course.toml").write_text(COURSE + LATE + "drop_lowest = 1\n")
    course = read_course(folder / "course.toml")
    assert course.drop_lowest == 1 and course.late == LateRule(0.1, 15, 5)
    assert course.assignments[0].due == datetime.fromisoformat(DUE) and course.assignments[0].grades == folder / "week2"


def test_points_by_hand_count(total, folder):
    with Gradebook.open(folder / "week3" / GRADEBOOK) as gradebook:
        gradebook.judge("ann.ipynb", Judgement("02.3", "f", "p", 20, "", "Ada", ""))
    assert total()[0]["ann"]["Week 3"] == "20"


@pytest.mark.parametrize(
    ("minutes", "taken", "said"),
    [
        (0, None, None),
        (-60, None, None),
        (15, 0, "15 min late, within the grace of 15 minutes: nothing is taken off"),
        (16, 1, "16 min late, which is 1 day begun: 10 % of 10 points are taken off, 1 point"),
        (24 * 60 + 15, 1, "1 d late, which is 1 day begun"),
        (24 * 60 + 16, 2, "which is 2 days begun: 20 %"),
        (5 * 24 * 60, 5, "5 d late, which is 5 days begun: 50 %"),
        (5 * 24 * 60 + 16, 10, "which is 6 days begun: later than 5 days, all 10 points are taken off"),
    ],
)
def test_lateness(minutes, taken, said):
    found = deduction(10, timedelta(minutes=minutes), LateRule(0.1, 15, 5))
    assert (
        found is None
        if taken is None
        else (found.points == taken and said in found.sentence.replace("1 d 15 min", "1 d"))
    )


def test_lateness_never_takes_more_than_there_is_and_nothing_without_a_rule():
    assert deduction(7, timedelta(days=30), LateRule(0.1)).points == 7
    assert deduction(7, timedelta(days=3), None).points == 0


def test_what_a_teacher_may_not_have_meant_is_said(total, folder):
    (folder / "week2" / "times.csv").write_text(f"submission,time\nann.py,{DUE}\nbobb,{DUE}\n")
    with Gradebook.open(folder / "week3" / GRADEBOOK) as gradebook:
        gradebook.add(record("bob_.py", 20, points=20))
    table, said = total()
    assert "Week 2: there is a time of bobb, and nothing of theirs is graded (did you mean bob?)" in said
    assert "perhaps one student under two names: bob and bob_" in said and said.count("under two names") == 1
    assert "the time is not known, and nothing is taken off" in table["bob"]["remarks"]
    _, said = total(COURSE.replace('submitted = "week2/times.csv"', ""))
    assert "Week 2: `due` is there and `submitted` is not, so nobody is late" in said
    _, said = total(COURSE.replace(f"due = {DUE}", ""))
    assert "Week 2: `submitted` is there and `due` is not, so nobody is late" in said


def test_alike_names_in_one_assignment_are_two_students(total, folder):
    with Gradebook.open(folder / "week2" / GRADEBOOK) as gradebook:
        gradebook.add(record("bob_.py", 5))
    assert "under two names" not in total()[1]


def test_drop_lowest_twice_is_refused(folder):
    (folder / "course.toml").write_text("drop_lowest = 1\n" + COURSE + LATE + "drop_lowest = 1\n")
    with pytest.raises(CourseError, match="`drop_lowest` is there twice"):
        read_course(folder / "course.toml")


def test_names_stay_text(total, folder):
    name = "=1+1<script>alert(1)</script>"
    with Gradebook.open(folder / "week2" / GRADEBOOK) as gradebook:
        gradebook.add(record(name, 10))
    table, _ = total()
    assert f"'{name}" in table and "<script>alert" not in (folder / "totals" / "totals.html").read_text(
        encoding="utf-8"
    )


def test_a_course_in_which_nobody_has_handed_in_has_a_page(total, folder):
    for week in ("week2", "week3"):
        with Gradebook.open(folder / week / GRADEBOOK) as gradebook:
            for name in gradebook.digests():
                gradebook.drop(name)
    assert total()[0] == {}


@pytest.mark.parametrize(
    ("change", "to", "said"),
    [
        ("weight = 3", "weigh = 3", "assignment 2: there is no key `weigh` (did you mean weight?)"),
        ("per_day", "perday", "[late]: there is no key `perday` (did you mean per_day?)"),
        ("[late]", "[Late]", "there is no key `Late` (did you mean late?)"),
        ("weight = 3", "weight = 0", "assignment 2: `weight` is 0, expected a number above 0"),
        ("weight = 3", "weight = true", "`weight` is True, expected a number above 0"),
        ("weight = 3", "weight = nan", "`weight` is nan"),
        ("per_day = 0.1", "per_day = 10", "`per_day` is 10, expected a share from 0 to 1, such as 0.1"),
        ("per_day = 0.1", "", "[late]: `per_day` is missing"),
        ("at_most_days = 5", "at_most_days = 1.5", "`at_most_days` is 1.5, expected a whole number of days"),
        ("at_most_days = 5", "drop_lowest = 2", "`drop_lowest` is 2, and there are 2 assignments"),
        ("at_most_days = 5", "drop_lowest = -1", "`drop_lowest` is -1, expected a whole number"),
        (f"due = {DUE}", "due = 2026-11-02", "`due` is 2026-11-02, expected date and time"),
        (f"due = {DUE}", 'due = "Monday"', "`due` is 'Monday', expected date and time"),
        (f"due = {DUE}", "due = 2026-11-02T23:59:00", "line 2: `due` has no offset from UTC and the time has one"),
        ('name = "Week 3"', 'name = "Week 2"', "two assignments have the `name` 'Week 2'"),
        ('name = "Week 3"', "", "assignment 2: `name` is missing"),
        ('grades = "week3"', 'grades = "week4"', "`grades` of 'Week 3' is"),
        ('grades = "week3"', "grades = 3", "`grades` is 3, expected the folder that `course grade --out` wrote"),
        ("[[assignment]]", "[assignment", "is not TOML"),
        ("times.csv", "time.csv", "time.csv cannot be read: no such file"),
        (COURSE, "x = 1", "there is no key `x`"),
        (COURSE, "", "`assignment` is missing: tables that begin with [[assignment]]"),
        (COURSE, "assignment = 3", "`assignment` is 3, expected tables that begin with [[assignment]]"),
        (COURSE, "assignment = [3]", "assignment 1: expected a table that begins with [[assignment]]"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(run, folder, change, to, said):
    assert change in COURSE + LATE
    (folder / "course.toml").write_text((COURSE + LATE).replace(change, to))
    code, out, err = run("total", str(folder / "course.toml"), "--out", str(folder / "totals"))
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1 and not (folder / "totals").exists()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", "has no column 'submission'"),
        ("submission,when\nann,x\n", "has no column 'time'"),
        ("submission,time\nann,yesterday\n", "line 2: the time is 'yesterday', expected one such as"),
        ("submission,time\nann\n", "line 2: the time is '', expected"),
        (f"submission,time\nann,{DUE}\nann.py,{DUE}\n", "line 3: there is a time of 'ann' already"),
        ("submission,time\nann,2026-11-02T23:59:00\n", "line 2: the time has no offset from UTC and `due` has one"),
    ],
)
def test_times_that_are_none_are_named_by_their_line(run, folder, table, said):
    (folder / "week2" / "times.csv").write_text(table)
    (folder / "course.toml").write_text(COURSE + LATE)
    code, _, err = run("total", str(folder / "course.toml"), "--out", str(folder / "totals"))
    assert code == 2 and said in err and "times.csv" in err and err.count("\n") == 1


def test_two_submissions_of_one_student_are_refused(run, folder):
    with Gradebook.open(folder / "week2" / GRADEBOOK) as gradebook:
        gradebook.add(record("ann.ipynb", 3))
    (folder / "course.toml").write_text(COURSE)
    code, _, err = run("total", str(folder / "course.toml"), "--out", str(folder / "totals"))
    assert code == 2 and "Week 2: 'ann.ipynb' and 'ann.py' are both of 'ann'" in err


def test_a_file_of_times_from_a_spreadsheet_is_read(total, folder):
    text = f"Name,submission,time\nAnn,ann.py,{DUE}\n"
    (folder / "week2" / "times.csv").write_text(text, encoding="utf-8-sig")
    assert total()[0]["ann"]["Week 2"] == "10"
