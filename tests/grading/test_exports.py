"""What is written from a gradebook: for spreadsheets, programs, Gradescope and test viewers, always the same bytes."""

import csv
import errno
import json
import os
import random
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.grading import exports
from course_lib.grading.exports import FORMATS, export, file_name, gradescope_results
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.records import Finding, Record
from course_lib.project import CourseError

WRONG = Finding("02.10", "mask", "rows sum to one", 0, 3, "sum", "got 2.0, expected 1.0", "softmax forgotten")
RIGHT = (Finding("02.3", "attend", "one-hot weights", 2, 2), Finding("02.3", "attend", "inputs unchanged", 1, 1))
ANN = Record("ann.py", "e3b0", "graded", "", (*RIGHT, WRONG), "source", "printed", 0.25)
BOB = Record("Bob Lee", "aa11", "ungraded", "a fault of the grader: KeyError", (), seconds=3.0)
CYD = Record("cyd.py", "77c0", "graded", "", (replace(RIGHT[0], earned=1, kind="value", problem="got 1"), WRONG))
HOSTILE = "=1+1\0\x1b\x0b\ud800\uffff</testsuite>]]>&\u2028\r\n\"',;"


@pytest.fixture
def write(tmp_path):
    """Return a function that makes a gradebook of some records and writes formats from it into a folder."""

    def write(*records, formats=tuple(FORMATS), folder="grades"):
        folder = tmp_path / folder
        path = folder / "gradebook.sqlite"
        path.unlink(missing_ok=True)
        with Gradebook.create(path, {"seed": "7"}) as gradebook:
            for record in records:
                gradebook.add(record)
            assert export(gradebook, folder, formats) == [
                folder / FORMATS[each][0] for each in FORMATS if each in formats
            ]
        return folder

    return write


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".sqlite"
    }


def rows(folder):
    with (folder / "grades.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, strict=True))


def test_the_table_for_a_spreadsheet(write):
    assert rows(write(ANN, BOB, formats=["csv"])) == [
        ["submission", "score", "max_score", "status", "reason", "late", "exercise_02.3", "exercise_02.10"],
        ["Bob Lee", "", "", "ungraded", "a fault of the grader: KeyError", "", "", ""],
        ["ann.py", "3", "6", "graded", "", "", "3", "0"],
    ]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "\n=1", '=HYPERLINK("http://a,b")'])
def test_no_cell_is_a_formula(write, name):
    for record in (replace(ANN, submission=name), replace(ANN, reason=name)):
        _, row = rows(write(record, formats=["csv"]))
        assert name in [cell.replace("'", "") for cell in row] and not any(
            cell.startswith(tuple("=+-@\t\r\n")) for cell in row
        )


def test_cells_come_back_whole_however_they_read(write):
    name = 'Łukasz "the, comma"; 山田\n太郎\ré'
    assert rows(write(replace(ANN, submission=name, reason=name), formats=["csv"]))[1][:5] == [
        *(name, "3", "6", "graded", name)
    ]


def test_no_cell_is_obeyed_by_a_terminal(write):
    name = "\x1b[2J\u202e"
    assert rows(write(replace(ANN, submission=name), formats=["csv"]))[1][0] == "�[2J�"


def test_a_row_for_programs(write):
    text = (write(ANN, BOB, formats=["jsonl"]) / "grades.jsonl").read_text(encoding="ascii")
    bob, ann = map(json.loads, text.splitlines())
    assert bob["submission"] == "Bob Lee" and bob["reason"] == BOB.reason and bob["status"] == "ungraded"
    assert bob["score"] is None and bob["max_score"] is None and bob["tests"] == []
    assert ann | {"tests": ann["tests"][2:]} == {
        "submission": "ann.py",
        "digest": "e3b0",
        "score": 3,
        "max_score": 6,
        "status": "graded",
        "reason": "",
        "late": False,
        "tests": [
            {
                "exercise": "02.10",
                "function": "mask",
                "name": "rows sum to one",
                "score": 0,
                "max_score": 3,
                "kind": "sum",
                "output": "got 2.0, expected 1.0",
                "mistake": "softmax forgotten",
                "explanation": "",
            }
        ],
    }


def test_gradescope_gets_its_own_keys_and_no_other():
    results = gradescope_results(ANN)
    assert results | {"tests": results["tests"][1:]} == {
        "score": 3,
        "output": "",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"submission": "ann.py", "digest": "e3b0", "status": "graded"},
        "tests": [
            {
                "score": 1,
                "max_score": 1,
                "status": "passed",
                "name": "attend: inputs unchanged",
                "number": "02.3.2",
                "output": "",
                "output_format": "text",
                "tags": ["02.3"],
                "visibility": "visible",
            },
            {
                "score": 0,
                "max_score": 3,
                "status": "failed",
                "name": "mask: rows sum to one",
                "number": "02.10.1",
                "output": "got 2.0, expected 1.0\nknown mistake: softmax forgotten",
                "output_format": "text",
                "tags": ["02.10", "softmax forgotten"],
                "visibility": "visible",
            },
        ],
    }
    assert gradescope_results(BOB)["output"] == BOB.reason
    unnamed = gradescope_results(replace(ANN, findings=(replace(WRONG, mistake=""),)))["tests"][0]
    assert unnamed["status"] == "failed" and unnamed["output"] == WRONG.problem and unnamed["tags"] == ["02.10"]
    assert gradescope_results(ANN, execution_time=1.5) == results | {"execution_time": 1.5}


def test_gradescope_s_folder_holds_the_submissions_that_there_are(write):
    folder = write(ANN, BOB, replace(ANN, submission="../../escaped"), formats=["gradescope"])
    assert len(list((folder / "gradescope").iterdir())) == 3 and not list(folder.parent.glob("*escaped*"))
    assert json.loads((folder / "gradescope" / "ann.py.json").read_text()) == gradescope_results(ANN)
    (folder / "gradescope" / "notes.txt").write_text("an instructor's own")
    (folder / "gradescope" / ".gone.json.0123abcd.part").write_text("of a killed run")
    write(ANN, formats=["gradescope"])
    assert sorted(path.name for path in (folder / "gradescope").iterdir()) == ["ann.py.json", "notes.txt"]


SAFE = re.compile(r"[A-Za-z0-9_@-][A-Za-z0-9._@-]{0,120}")


@pytest.mark.parametrize(
    "names",
    [
        ("Ann", "ann", "ANN"),
        ("é", unicodedata.normalize("NFD", "é"), "e", "_"),
        ("a b", "a_b", "a/b", "a\\b", "a\0b", "a\nb", "a\udc80b", "a\udc81b"),
        ("..", ".", "", " ", ".hidden", "con", "con.py", "nul", "com1", "-rf", "a" * 100, "a" * 101, "a" * 102),
        ("a", "a.", "a ", "a.json", "a.py", "a.py.json"),
        ("x y", file_name("x y")),  # a student who knows how the names are made
    ],
)
def test_file_names_are_safe_and_differ_on_every_system(names):
    made = [file_name(name) for name in names]
    assert len({unicodedata.normalize("NFC", name).casefold() for name in made}) == len(names)
    assert all(SAFE.fullmatch(name) for name in made)
    assert not any(name.split(".")[0] in ("con", "nul", "com1") for name in made)


ANY_TEXT = st.text(st.characters(exclude_categories=[]))


@given(ANY_TEXT, ANY_TEXT)
def test_no_two_submissions_share_a_file(one, other):
    assert SAFE.fullmatch(file_name(one))
    assert (file_name(one).casefold() == file_name(other).casefold()) == (one == other)


def test_junit_is_understood_by_a_parser(write):
    suites = ElementTree.parse(write(ANN, BOB, formats=["junit"]) / "junit.xml").getroot()
    bob, ann = suites
    assert ann.attrib == {"name": "ann.py", "tests": "3", "failures": "1", "errors": "0"}
    assert bob.attrib == {"name": "Bob Lee", "tests": "1", "failures": "0", "errors": "1"}
    assert {each.get("name"): each.get("value") for each in bob.iter("property")} == {
        "status": "ungraded",
        "reason": "a fault of the grader: KeyError",
    }
    cases = ann.findall("testcase")
    assert [case.get("name") for case in cases] == [
        "02.3.1 one-hot weights",
        "02.3.2 inputs unchanged",
        "02.10.1 rows sum to one",
    ]
    assert [len(case) for case in cases] == [0, 0, 1]
    assert cases[2][0].attrib == {"message": "0 of 3 points"} and "got 2.0, expected 1.0" in cases[2][0].text
    assert bob.findall("testcase")[0][0].tag == "error"


def test_hostile_text_breaks_no_format(write):
    finding = Finding("02.3", HOSTILE, HOSTILE, 0, 1, HOSTILE, HOSTILE, HOSTILE)
    folder = write(Record(HOSTILE, "e3b0", "stopped", HOSTILE, (finding,)))
    assert len(rows(folder)) == 2
    assert json.loads((folder / "grades.jsonl").read_text())["tests"][0]["output"].startswith("=1+1")
    (suite,) = ElementTree.parse(folder / "junit.xml").getroot()
    assert "</testsuite>]]>&" in suite.get("name") and "\ufffd" in suite.get("name")
    assert len(list((folder / "gradescope").iterdir())) == 1


def test_every_format_has_the_same_bytes_whatever_the_order_and_the_time(write, monkeypatch):
    records = [replace(ANN, submission=f"student {number}", digest=str(number)) for number in range(20)]
    first = contents(write(*records))
    assert len(first) == 25
    random.Random(0).shuffle(records)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    slower = [replace(record, seconds=9.0, output="printed now") for record in records]
    assert contents(write(*slower, folder="other")) == first


def test_a_gradebook_without_records_gives_empty_files(write):
    assert rows(write()) == [["submission", "score", "max_score", "status", "reason", "late"]]


def test_a_file_is_the_old_one_until_the_new_one_is_whole(write, monkeypatch):
    folder = write(CYD, formats=["csv", "jsonl", "junit"])
    before = contents(folder)

    def fsync(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    with Gradebook.open(folder / "gradebook.sqlite") as gradebook:
        gradebook.add(ANN)
        with monkeypatch.context() as full_disk:
            full_disk.setattr(os, "fsync", fsync)
            for each in ("csv", "jsonl", "junit"):
                with pytest.raises(OSError, match="No space left"):
                    export(gradebook, folder, [each])
        assert contents(folder) == before
        export(gradebook, folder, ["csv", "jsonl", "junit"])
    after = contents(folder)
    assert after.keys() == before.keys() and all(after[name] != before[name] for name in before)


def test_what_is_ungraded_has_no_mark_in_any_format(write):
    folder = write(ANN, BOB)
    header, bob, ann = rows(folder)
    assert bob[:4] == ["Bob Lee", "", "", "ungraded"] and bob[5:] == ["", "", ""]
    assert ann[1:3] == ["3", "6"] and header[1:3] == ["score", "max_score"]
    results = gradescope_results(BOB)
    assert "score" not in results and results["tests"] == [] and "KeyError" in results["output"]


def test_an_unknown_format_is_refused_before_anything_is_written(write, tmp_path):
    with pytest.raises(
        CourseError, match=r"no format 'xlsx' \(formats: csv, jsonl, gradescope, junit, moodle, canvas\)"
    ):
        write(ANN, formats=["csv", "xlsx"])
    assert not (tmp_path / "grades" / "grades.csv").exists()


def test_formats_that_are_present_are_named(write):
    assert exports.present(write(ANN, formats=["junit", "gradescope"])) == ["gradescope", "junit"]
    assert exports.present(write(folder="other")) == list(FORMATS)


def test_what_a_killed_sitting_left_is_removed(write):
    folder = write(ANN)
    for name in (".grades.csv.0a1b.part", "gradescope/.b.json.2c3d.part"):
        (folder / name).write_text("half")
    before = contents(write(ANN))
    assert before and not any(name.endswith(".part") for name in before)
