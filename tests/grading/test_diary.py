"""What a learner has done is kept in one small file, survives damage to it, and is shown as a table."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

from course_lib.grading import diary
from course_lib.grading.catalogue import catalogue
from course_lib.grading.diary import FILE, SET_ASIDE, Checked, Progress

EVERY = [exercise for chapter in catalogue().chapters for exercise in catalogue().exercises(chapter)]
TOTAL = sum(exercise.points for exercise in EVERY)
TODAY = "2026-03-14"


class FixedDate(date):
    """A calendar that stands still: the tests hold at midnight too."""

    @classmethod
    def today(cls):
        return cls.fromisoformat(TODAY)


@pytest.fixture(autouse=True)
def fixed_calendar(monkeypatch):
    monkeypatch.setattr(diary, "date", FixedDate)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "my_exercises"


def some():
    """Return the progress of somebody who is in the middle of it."""
    found = Progress()
    found.note_check("02.1", 3)
    found.note_check("02.2", 4)
    found.note_check("02.2", 3)
    found.note_hint("02.2", 2)
    found.note_hint("02.2", 1)
    return found


def test_what_is_written_is_read(folder):
    assert diary.read(folder) == Progress() and not folder.exists()
    diary.write(folder, some())
    assert diary.read(folder) == some()
    assert [path.name for path in folder.iterdir()] == [FILE]


def test_the_last_check_and_the_best_one_are_kept(folder):
    assert some().checks["02.2"] == Checked(earned=3, best=4, day=TODAY)
    assert some().hints == {"02.2": 2}


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"checks": {}}',
        b'{"checks": [], "hints": {}}',
        b'{"checks": {}, "hints": {"02.3": "2"}}',
        b'{"checks": {}, "hints": {"02.3": true}}',
        b'{"checks": {"02.3": 6}, "hints": {}}',
        b'{"checks": {"02.3": {"earned": 6, "best": 6}}, "hints": {}}',
        b'{"checks": {"02.3": {"earned": "6", "best": 6, "day": "2026-07-17"}}, "hints": {}}',
        b'{"checks": {"02.3": {"earned": 6, "best": 6, "day": "last week"}}, "hints": {}}',
        b'{"checks": {"02.3": {"earned": 6, "best": 6, "day": 3}}, "hints": {}}',
        b'{"checks": {"02.3": {"earned": 6, "best": 6, "day": "2026-07-17", "more": 1}}, "hints": {}}',
    ],
)
def test_a_damaged_file_is_set_aside_with_one_sentence(folder, capsys, damage):
    folder.mkdir()
    (folder / FILE).write_bytes(damage)
    assert diary.read(folder) == Progress()
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "your progress begins anew" in err and SET_ASIDE in err
    assert (folder / SET_ASIDE).read_bytes() == damage and not (folder / FILE).exists()
    diary.write(folder, some())
    assert diary.read(folder) == some() and capsys.readouterr().err == ""


def test_a_folder_in_the_place_of_the_file_is_set_aside_too(folder, capsys):
    (folder / FILE).mkdir(parents=True)
    assert diary.read(folder) == Progress() and capsys.readouterr().err.count("\n") == 1
    diary.write(folder, some())
    assert diary.read(folder) == some()


def test_where_nothing_can_be_written_that_is_one_sentence(folder, capsys):
    folder.write_text("a file in the place of the folder")
    diary.write(folder, some())
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "cannot be written" in err
    assert folder.read_text() == "a file in the place of the folder"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(folder, capsys, monkeypatch):
    diary.write(folder, some())
    monkeypatch.setattr(Path, "replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "disk full")))
    diary.write(folder, Progress())
    assert diary.read(folder) == some() and [path.name for path in folder.iterdir()] == [FILE]
    assert capsys.readouterr().err.endswith("so this is not noted: disk full\n")


# ---------------------------------------------------------------- the overview


def test_the_overview_counts_the_last_check_and_the_best(folder):
    found = diary.overview(catalogue(), some(), {"02"})
    assert (found["earned"], found["best"], found["points"]) == (6, 7, TOTAL)
    rows = {row["exercise"]: row for row in found["exercises"]}
    assert len(rows) == len(EVERY) and list(rows) == sorted(rows)
    assert rows["02.2"] == {
        "exercise": "02.2",
        "title": "Additive attention weights",
        "earned": 3,
        "best": 4,
        "points": 6,
        "hints_seen": 2,
        "hints": 3,
        "checked": TODAY,
    }
    assert rows["02.3"]["earned"] is None and rows["02.3"]["checked"] is None


def full(*chapters):
    found = Progress()
    for row in diary.overview(catalogue(), found, set())["exercises"]:
        if row["exercise"][:2] in chapters:
            found.note_check(row["exercise"], row["points"])
    return found


@pytest.mark.parametrize(
    ("done", "own", "said"),
    [
        (Progress(), set(), "begin chapter 00 with: course start 00"),
        (Progress(), {"02"}, "write 02.1 (Map to rows), then: course check 02.1"),
        (some(), {"02"}, "mend 02.2 (Additive attention weights); for help: course hint 02.2"),
        (full("02"), {"02"}, "begin chapter 03 with: course start 03"),
        (full(*catalogue().chapters[1:]), set(catalogue().chapters[1:]), "begin chapter 00 with: course start 00"),
        (full("02"), {"00", "02"}, "write 00.1 (Six einops puzzles), then: course check 00.1"),
        (
            full(*catalogue().chapters),
            set(catalogue().chapters),
            "nothing is left, all exercises have all their points",
        ),
    ],
)
def test_what_to_do_next(done, own, said):
    assert diary.overview(catalogue(), done, own)["next"] == said


def test_when_all_hints_are_seen_none_is_offered():
    found = some()
    found.note_hint("02.2", 3)
    assert (
        diary.overview(catalogue(), found, {"02"})["next"]
        == "mend 02.2 (Additive attention weights), then: course check 02.2"
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits_and_is_plain_where_there_is_no_terminal(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    diary.show(diary.overview(catalogue(), some(), {"02"}))
    out = capsys.readouterr().out
    lines = [line.rstrip() for line in out.splitlines()]
    assert "\033" not in out and max(map(len, lines[:-1])) <= width and "…" not in out
    assert lines[0].split() == ["exercise", "points", "best", "hints", "last", "check"]
    (row,) = [line for line in lines if line.startswith("02.2")]
    assert re.search(rf" +3/6 +4 +2/3  {TODAY}$", row)
    (row,) = [line for line in lines if line.startswith("02.3")]
    assert re.search(r"Attend +-/6 +- +0/3  -$", row)
    assert any(re.search(r"chapter 02 +6/28 +7$", line) for line in lines)
    assert any(re.search(rf"total +6/{TOTAL} +7$", line) for line in lines)
    assert lines[-1].startswith("next: mend 02.2")
    assert "Additive attention weights" in " ".join(out.split()) or width == 60  # there it takes two lines


def test_colour_on_a_terminal_is_left_out_where_no_color_is_set(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.delenv("NO_COLOR", raising=False)
    diary.show(diary.overview(catalogue(), full("02"), {"02"}))
    assert "\033[32m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    diary.show(diary.overview(catalogue(), full("02"), {"02"}))
    assert "\033[32m" not in capsys.readouterr().out


def test_the_file_is_readable_to_people(folder):
    diary.write(folder, some())
    assert json.loads((folder / FILE).read_text())["checks"]["02.1"] == {"best": 3, "day": TODAY, "earned": 3}
