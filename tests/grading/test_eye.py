"""What needs a teacher's eye is shown in the terminal and on the page, with commands that are safe to paste."""

import shlex
from pathlib import Path

import pytest

from course_lib.grading import grade_said
from course_lib.grading.records import ENDLESS, GRADED, REFUSED, RESCUE, Event, Finding, Judgement, Record
from course_lib.grading.reports.class_report import write_report
from course_lib.grading.reports.eye import OUTDATED, command, looks

FACTS = {"seed": "7", "catalogue": "course_lib.exercises"}
FINDING = Finding("02.3", "attend", "values", 0, 2, "value", "got 1")
HAND = Judgement("02.3", "attend", "values", 2, "our <mistake>", "Ada", "2026-11-03 14:05 UTC")
NO_LONGER = Judgement("02.3", "attend", "renamed", 2, "ours", "Ada", "2026-11-03 14:05 UTC")
RECORDS = [
    Record("ann.py", "", GRADED, "", (FINDING,), events=(Event(REFUSED, "", "it tried to <b>", "/s/ann.py"),)),
    Record("bob", "", GRADED, "", (FINDING,), events=(Event(RESCUE, "02.3", "attend: NameError", "/s/bob/x y.py"),)),
    Record(
        "cleo", "", GRADED, "", (FINDING,), events=(Event(ENDLESS, "", "cell 2", "/s/c.py"),), judgements=(NO_LONGER,)
    ),
]


def test_it_comes_kind_by_kind_with_its_commands():
    found = looks(RECORDS, FACTS, Path("grades"))
    assert [(each.kind, each.submission) for each in found] == [
        (RESCUE, "bob"),
        (REFUSED, "ann.py"),
        (ENDLESS, "cleo"),
        (OUTDATED, "cleo"),
    ]
    assert found[0].commands == (
        "course check '/s/bob/x y.py' --all --show --seed 7",
        "course judge grades bob 02.3",
    )
    assert found[3].commands == ("course judge grades cleo",)
    (other, *_) = looks(RECORDS, FACTS | {"catalogue": "mine"}, Path("grades"))
    assert other.commands[0].endswith("--seed 7 --catalogue mine")


@pytest.mark.parametrize(
    "name", ["a; rm -rf .py", "$(id)", "`id`", "it's", "a\nb", "\x1b[2J", "-x", "--by=Eve", "a" * 999]
)
def test_a_command_holds_a_name_as_one_word_or_is_not_there(name):
    made = command("judge", "grades", name)
    assert made == "" or (shlex.split(made) == ["course", "judge", "grades", name] and made.isprintable())
    assert (made == "") == (name in ("a\nb", "\x1b[2J", "-x", "--by=Eve", "a" * 999))


def test_what_one_file_tried_is_one_thing_to_look_at():
    tried = tuple(Event(REFUSED, "", f"it tried {n}", "/s/ann.py") for n in range(6))
    (found,) = looks([Record("ann.py", "", GRADED, "", (FINDING,), events=tried)], FACTS, Path("grades"))
    assert found.sentence == "it tried 0; it tried 1; it tried 2; it tried 3; and 2 more"


def test_no_command_leads_to_a_file_that_was_in_an_archive():
    for file in ("/grades/.unpacked/ann/02.py", "/tmp/course-unpacked-x3/0/02.py"):
        tried = (Event(REFUSED, "", "it tried", file),)
        (found,) = looks([Record("ann.zip", "", GRADED, "", (FINDING,), events=tried)], FACTS, Path("grades"))
        assert found.sentence == "it tried; to check 02.py, unpack its archive first"
        assert found.commands == ("course judge grades ann.zip",)


def test_the_terminal_shows_the_first_and_says_where_the_rest_is(capsys):
    grade_said.for_the_eye(looks(RECORDS * 2, FACTS, Path("grades")), Path("grades"))
    said = capsys.readouterr().out
    assert "These need your eye.\nA small edit may bring points back: 2\nIt tried what the sandbox refuses: 2\n" in said
    assert "  bob, 02.3: attend: NameError\n    course check '/s/bob/x y.py'" in said
    assert "... and 3 more, on the page that `course report grades` writes" in said
    grade_said.for_the_eye([], Path("grades"))
    assert capsys.readouterr().out == ""


def test_the_page_shows_all_and_what_a_hand_judged(tmp_path):
    from course_lib.grading.judgements import judged

    dora = judged(Record("dora", "", GRADED, "", (FINDING,)), [HAND])
    write_report([*RECORDS, dora], FACTS, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "For your eye (4)" in page and "A small edit may bring points back: 1" in page
    assert f"course judge {tmp_path} bob 02.3" in page and "it tried to &lt;b&gt;" in page
    assert (
        "Judged by hand (1)" in page
        and "02.3.1 values, by hand: 2 of 2 points, not 0 (Ada): our &lt;mistake&gt;" in page
    )
    assert page.count("judged by hand</li>") == 1 and page.count('aria-label="judged by hand"') == 1
    assert "no longer applies" in page
    write_report([Record("ann", "", GRADED, "", (FINDING,))], FACTS, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "need your eye" not in page and "udged by hand" not in page


def test_what_a_hand_forgave_is_no_mistake_of_the_class(tmp_path):
    from course_lib.grading.catalogue import catalogue
    from course_lib.grading.judgements import judged
    from course_lib.grading.reports.class_report import Words, mistakes, unnamed

    named = Finding("02.3", "attend", "values", 0, 2, "value", "got 1", "mean for sum")
    words = Words(catalogue(), "")
    for finding, listed in ((named, mistakes), (FINDING, unnamed)):
        records = [Record(name, "", GRADED, "", (finding,)) for name in "abc"]
        assert listed(records, set(), words)[0].students == 3
        assert listed([judged(each, [HAND]) for each in records], set(), words) == []
