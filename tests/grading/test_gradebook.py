"""The gradebook keeps what it is given, whatever students write, and is whole after a kill at any moment."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.grading import gradebook_tables
from course_lib.grading.gradebook import Gradebook, storable
from course_lib.grading.gradebook_tables import VERSION
from course_lib.grading.records import ENDLESS, Event, Finding, Judgement, Record
from course_lib.project import CourseError, root

FINDINGS = (
    Finding("02.3", "attend", "one-hot weights", 2, 2),
    Finding("02.10", "mask", "rows sum to one", 0, 3, "weights = [1.0]: came 2.0, expected 1.0", "softmax forgotten"),
    Finding("02.1", "map_to_rows", "shape", 1, 1),
)
ANN = Record("ann.py", "e3b0", "graded", "", FINDINGS, "def attend():\n    pass\n", "hello\n", 0.25)
BOB = Record("bob", "aa11", "stopped", "it took longer than 2 seconds", FINDINGS[:1])


@pytest.fixture
def gradebook(tmp_path):
    with Gradebook.create(tmp_path / "gradebook.sqlite", {"seed": "7", "tier": "landlock"}) as gradebook:
        yield gradebook


def test_what_is_added_comes_back_sorted_by_name_and_outlives_the_program(gradebook):
    gradebook.add(BOB)
    gradebook.add(ANN)
    with Gradebook.open(gradebook.path) as again:
        assert again.records() == [ANN, BOB]  # the findings in their order, which is not that of their names
        assert again.digests() == {"ann.py": "e3b0", "bob": "aa11"}
        assert again.facts == {"seed": "7", "tier": "landlock"}
        assert again.with_status("stopped") == {"bob"} and again.with_status("fault") == set()
    assert [path.name for path in gradebook.path.parent.iterdir()] == ["gradebook.sqlite"]


def test_a_record_replaces_the_earlier_one_and_can_be_dropped(gradebook):
    gradebook.add(ANN)
    gradebook.add(BOB)
    better = replace(ANN, digest="ffff", findings=FINDINGS[:1])
    gradebook.add(better)
    assert gradebook.records() == [better, BOB]
    gradebook.drop("ann.py")
    assert gradebook.records() == [BOB] and "ann.py" not in gradebook.digests()
    with sqlite3.connect(gradebook.path) as plain:
        assert plain.execute("SELECT count(*) FROM findings").fetchone() == (1,)


def test_a_record_that_cannot_be_kept_leaves_the_earlier_one(gradebook):
    gradebook.add(ANN)
    with pytest.raises(sqlite3.Error):
        gradebook.add(replace(ANN, digest="ffff", findings=(*FINDINGS, replace(FINDINGS[0], points={}))))
    assert gradebook.records() == [ANN]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a\0b", r"a\x00b"),
        ("\udc80.py", r"\udc80.py"),
        ("\ud83d\ude00", r"\ud83d\ude00"),
        ("\x1b[2J\x07\x7f\x85\u2028\ufeff\uffff", "\x1b[2J\x07\x7f\x85\u2028\ufeff\uffff"),
        ("'); DROP TABLE submissions; --", "'); DROP TABLE submissions; --"),
        ("", ""),
    ],
)
def test_hostile_text_is_kept_and_its_row_found_again(gradebook, name, kept):
    finding = Finding(name, name, name, 0, 1, name, name)
    for digest in ("1", "2"):
        gradebook.add(Record(name, digest, "graded", name, (finding,), name, name))
    expected = Record(kept, "2", "graded", kept, (Finding(kept, kept, kept, 0, 1, kept, kept),), kept, kept)
    assert gradebook.records() == [expected] and gradebook.digests() == {kept: "2"}
    with sqlite3.connect(gradebook.path) as plain:  # a reader that stops at NUL sees all of it
        assert plain.execute("SELECT CAST(source AS BLOB) FROM submissions").fetchone()[0] == kept.encode()
    gradebook.drop(name)
    assert gradebook.records() == []


@given(st.text(st.characters(exclude_categories=[])))
def test_storable_text_can_be_written_anywhere_and_stays_as_it_is(text):
    kept = storable(text)
    assert kept.encode().decode() == kept == storable(kept) and "\0" not in kept
    if "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text):
        assert kept == text


def test_names_are_sorted_as_python_sorts_them(gradebook):
    names = ["b", "B", "a", "é", "\U0001f600", "\uffff", "10", "9", "a b", "a.b"]
    for name in names:
        gradebook.add(replace(ANN, submission=name))
    assert [record.submission for record in gradebook.records()] == sorted(names)


def test_an_instructor_can_read_the_tables_with_any_tool(gradebook):
    gradebook.add(ANN)
    with sqlite3.connect(gradebook.path) as plain:
        assert dict(plain.execute("SELECT name, value FROM facts")) == {"seed": "7", "tier": "landlock"}
        assert plain.execute("SELECT submission, status, seconds FROM submissions").fetchall() == [
            ("ann.py", "graded", 0.25)
        ]
        lost = "SELECT exercise, points - earned FROM findings WHERE problem != '' AND submission = 'ann.py'"
        assert plain.execute(lost).fetchall() == [("02.10", 3)]


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def _of_another_version(path: Path) -> Path:
    Gradebook.create(path, {}).close()
    return _database(path, f"PRAGMA user_version = {VERSION + 1}")


def _too_old(path: Path) -> Path:
    Gradebook.create(path, {}).close()
    return _database(path, "PRAGMA user_version = 1")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path, "there is no gradebook"),
        (lambda path: path.mkdir() or path, "there is no gradebook"),
        (lambda path: _write(path, b""), "is no gradebook"),
        (lambda path: _write(path, b"submission,score\n" * 100), "cannot be read as a gradebook"),
        (lambda path: _write(path, b"SQLite format 3\0" + b"\xff" * 4000), "cannot be read as a gradebook"),
        (lambda path: _database(path, "CREATE TABLE facts (name, value)"), "is no gradebook"),
        (_of_another_version, f"is of version {VERSION + 1}, and this edition of the course knows {VERSION}"),
        (_too_old, "is of version 1, too old to be read: grade once more, with another folder as --out"),
    ],
)
def test_what_is_no_gradebook_is_refused_in_one_sentence(tmp_path, make, said):
    with pytest.raises(CourseError) as refusal:
        Gradebook.open(make(tmp_path / "100% #1?.sqlite"))
    assert said in str(refusal.value) and "\n" not in str(refusal.value)


def test_create_takes_no_file_away(tmp_path):
    path = tmp_path / "gradebook.sqlite"
    Gradebook.create(path, {"seed": "1"}).close()
    with pytest.raises(CourseError, match="exists already"):
        Gradebook.create(path, {"seed": "2"})
    with Gradebook.open(path) as gradebook:
        assert gradebook.facts == {"seed": "1"}
    with pytest.raises(CourseError, match="cannot be written"):
        Gradebook.create(path / "below" / "gradebook.sqlite", {})


def test_a_half_made_gradebook_of_a_killed_run_is_in_nobody_s_way(tmp_path):
    part = tmp_path / ".gradebook.sqlite.0123abcd.part"
    part.write_bytes(b"half")
    with Gradebook.create(tmp_path / "gradebook.sqlite", {"seed": "1"}) as gradebook:
        gradebook.add(ANN)
        assert gradebook.records() == [ANN]


OF_VERSION_2 = f"""
PRAGMA application_id = {0x41545447};
PRAGMA user_version = 2;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE submissions (
    submission TEXT PRIMARY KEY, digest TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL,
    source TEXT NOT NULL, output TEXT NOT NULL, seconds REAL NOT NULL
);
CREATE TABLE findings (
    submission TEXT NOT NULL REFERENCES submissions ON DELETE CASCADE, number INTEGER NOT NULL,
    exercise TEXT NOT NULL, function TEXT NOT NULL, property TEXT NOT NULL, earned INTEGER NOT NULL,
    points INTEGER NOT NULL, kind TEXT NOT NULL, problem TEXT NOT NULL, mistake TEXT NOT NULL,
    PRIMARY KEY (submission, number)
);
INSERT INTO facts VALUES ('seed', '7');
INSERT INTO submissions VALUES ('ann.py', 'e3b0', 'graded', '', 'source', '', 0.5);
INSERT INTO findings VALUES ('ann.py', 0, '02.3', 'attend', 'right', 1, 2, 'value', 'got 1', 'mean for sum');
"""
FOUND_BY_VERSION_2 = Finding("02.3", "attend", "right", 1, 2, "value", "got 1", "mean for sum")


@pytest.fixture
def of_version_2(tmp_path):
    path = tmp_path / "gradebook.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(OF_VERSION_2)
    connection.close()
    return path


def test_an_earlier_gradebook_is_brought_to_this_version_after_a_copy(of_version_2, capsys):
    before = of_version_2.read_bytes()
    with Gradebook.open(of_version_2) as gradebook:
        (ann,) = gradebook.records()
        assert ann == Record("ann.py", "e3b0", "graded", "", (FOUND_BY_VERSION_2,), "source", "", 0.5)
        assert gradebook.facts == {"seed": "7", "catalogue": "course_lib.exercises"}
        gradebook.add(replace(ANN, events=EVENTS))
        gradebook.judge("ann.py", HAND)
    said = capsys.readouterr().err
    kept = of_version_2.with_name("gradebook_version_2_1.sqlite")
    assert f"was of version 2 and now is of {VERSION}" in said and str(kept) in said
    with sqlite3.connect(kept) as plain:
        assert plain.execute("PRAGMA user_version").fetchone() == (2,)
    kept.replace(of_version_2)
    assert of_version_2.read_bytes()[100:] == before[100:]  # but for counters in the header, SQLite copies every byte
    Gradebook.open(of_version_2).close()
    Gradebook.open(of_version_2).close()
    assert len(list(of_version_2.parent.iterdir())) == 2  # the second time there was nothing to do


def test_a_gradebook_that_cannot_be_upgraded_is_as_it_was(of_version_2, monkeypatch):
    monkeypatch.setitem(gradebook_tables.STEPS, 3, "CREATE TABLE judgements (submission); CREATE TABLE facts (x);")
    with pytest.raises(CourseError, match="cannot be brought from version 2 to 4.*it is as it was"):
        Gradebook.open(of_version_2)
    with sqlite3.connect(of_version_2) as plain:
        assert plain.execute("PRAGMA user_version").fetchone() == (2,)
        assert "explanation" not in [column[1] for column in plain.execute("PRAGMA table_info(findings)")]


HAND = Judgement("02.10", "mask", "rows sum to one", 3, "our mistake", "Ada", "2026-11-03 14:05 UTC")
EVENTS = (Event(ENDLESS, "", "code cell 2 did not end in time", "ann.py"),)


def test_what_a_hand_decided_counts_and_outlives_a_new_grading(gradebook):
    gradebook.add(ANN)
    gradebook.judge("ann.py", HAND)
    (ann,) = gradebook.records()
    assert (ann.earned, ann.findings[1].machine, ann.findings[1].judgement) == (6, 0, HAND)
    assert [each.failed for each in ann.findings] == [False] * 3 and not ann.outdated
    better = replace(ANN, digest="ffff", findings=(FINDINGS[0], replace(FINDINGS[1], earned=3, problem="")))
    gradebook.add(better)
    assert gradebook.records()[0].findings[1].machine == 3
    gradebook.judge("ann.py", replace(HAND, points=0))
    assert gradebook.records()[0].earned == 2 and gradebook.records()[0].findings[1].failed
    gradebook.drop("ann.py")
    gradebook.add(better)
    assert gradebook.records()[0].earned == 2  # a submission that comes back finds its judgement
    gradebook.withdraw("ann.py", HAND.place)
    assert gradebook.records() == [better] and gradebook.judgements() == {}


@pytest.mark.parametrize("mended", [{"property": "renamed"}, {"points": 2}, {"exercise": "02.9"}])
def test_a_judgement_whose_property_is_gone_is_kept_and_told(gradebook, mended):
    gradebook.add(replace(ANN, findings=(replace(FINDINGS[1], **mended),)))
    gradebook.judge("ann.py", HAND)
    (ann,) = gradebook.records()
    assert ann.earned == 0 and ann.outdated == (HAND,) and ann.findings[0].judgement is None


def test_comments_are_no_points(gradebook):
    gradebook.add(ANN)
    of_property = replace(HAND, points=None)
    whole = Judgement("", "", "", None, "well done", "Ada", "")
    for each in (of_property, whole):
        gradebook.judge("ann.py", each)
    (ann,) = gradebook.records()
    assert ann.earned == 3 and ann.comments == (whole,) and not ann.outdated
    assert ann.findings[1].judgement == of_property and ann.findings[1].machine is None and ann.findings[1].failed


def test_events_come_back(gradebook):
    gradebook.add(replace(ANN, events=EVENTS))
    gradebook.add(replace(ANN, events=EVENTS))
    assert gradebook.records()[0].events == EVENTS


ADDS_FOR_EVER = """
import sys
from dataclasses import replace
from pathlib import Path
from itertools import count
from course_lib.grading import gradebook_tables
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.records import Finding, Record

path = Path(sys.argv[1])
gradebook = Gradebook.open(path) if path.exists() else Gradebook.create(path, {"seed": "7"})
print("begun", flush=True)
for number in count():
    name = f"student {number % 40}"
    findings = tuple(Finding("02.3", "attend", f"property {n}", 1, 2, "value", f"digest {number}") for n in range(20))
    gradebook.add(Record(name, f"digest {number}", "graded", "", findings, "source " * 1000))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_kill_at_any_moment_leaves_whole_records(tmp_path):
    path, moments = tmp_path / "gradebook.sqlite", random.Random(0)
    for _ in range(12):
        command = [sys.executable, "-c", ADDS_FOR_EVER, str(path)]
        with subprocess.Popen(command, cwd=root(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(moments.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            assert process.stderr.read() == b""
        with Gradebook.open(path) as gradebook:
            records = gradebook.records()
            assert gradebook.facts == {"seed": "7"}
        for record in records:
            assert [finding.problem for finding in record.findings] == [record.digest] * 20
    assert records
    with sqlite3.connect(path) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_fact_can_be_noted_later_and_again(tmp_path):
    path = tmp_path / "gradebook.sqlite"
    with Gradebook.create(path, {"seed": "7"}) as gradebook:
        gradebook.note("roster", "name")
        gradebook.note("roster", "name\0\nBo")
    with Gradebook.open(path) as gradebook:
        assert gradebook.facts == {"seed": "7", "roster": "name\\x00\nBo"}
