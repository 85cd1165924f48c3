"""`course grade`: one sitting or many, one process or many, the same files in the end.

Most of these runs grade by a fake, since what is tested is the loop around it; the last two grade in the sandbox, and
are killed.
"""

import contextlib
import errno
import functools
import hashlib
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from rich.console import Console

from course_lib.grading import grade_command, grade_said
from course_lib.grading.catalogue import catalogue
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.grader import digest
from course_lib.grading.records import GRADED, STOPPED, UNGRADED, UNREADABLE, Finding, Record
from course_lib.grading.unattended import unattended
from course_lib.project import CourseError, root

RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)\n"
ALL = ("csv", "jsonl", "gradescope", "junit", "moodle", "canvas")


def fake_grade(name, paths, settings):
    """Give points by the text of the file and the seed; a function of this module, so that it can be sent elsewhere."""
    text = "".join(Path(path).read_text() for path in paths)
    if "ends its process" in text and multiprocessing.parent_process():
        os._exit(1)
    time.sleep(0.02 if "slow" in text else 0)
    drawn = hashlib.sha256(f"{text} {settings}".encode()).digest()[0]
    findings = tuple(
        Finding(each, "f", "right", drawn % 7, 7, "" if drawn % 7 == 6 else text) for each in settings.exercises
    )
    status = UNGRADED if "fault" in text else GRADED
    return Record(
        name, digest(paths), status, "a reason" if status == UNGRADED else "", findings, text, text, time.time()
    )


@pytest.fixture
def fake(monkeypatch):
    """Grade by the fake; return the names in the order in which this process graded them."""
    graded = []

    @functools.wraps(fake_grade)
    def remember(name, paths, settings):
        graded.append(name)
        return fake_grade(name, paths, settings)

    monkeypatch.setattr(grade_command, "grade_submission", remember)
    monkeypatch.setattr(grade_command.probe, "strongest", lambda unsafe: "landlock")
    return graded


@pytest.fixture
def handed_in(tmp_path):
    folder = tmp_path / "submissions"
    folder.mkdir()
    for name in ("ann", "Bob Lee", "cleo", "dan", "eve", "finn"):
        (folder / f"{name}.py").write_text(f"# {name}\n{RIGHT}")
    return folder


def contents(out):
    """Return every file but the gradebook, in which the seconds differ, and of that all but the seconds."""
    files = {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.name != "gradebook.sqlite"
    }
    with Gradebook.open(out / "gradebook.sqlite") as gradebook:
        return files | {"facts": gradebook.facts, "digests": gradebook.digests()}


def grade(folder, out, **options):
    return grade_command.grade(folder, out, **{"seed": 7, "only": ["02"], "formats": ALL} | options)


# ---------------------------------------------------------------- one sitting


def test_a_run_says_what_it_does_and_writes_what_it_was_asked_for(fake, handed_in, tmp_path, capsys):
    (handed_in / "notes\x1b[2J.txt").write_text("no submission")
    assert grade(handed_in, tmp_path / "grades") == 0
    out, err = capsys.readouterr()
    assert err == "" and "\x1b" not in out
    points = sum(exercise.points for exercise in catalogue().exercises("02"))
    assert f"submissions: 6 in {handed_in}\n" in out
    assert f"exercises: 02.1, 02.2, 02.3, 02.4, 02.5 ({points} points)\n" in out
    assert "sandbox: landlock; limit: 30 s a submission; seed: 7\n" in out
    assert r"neither a folder nor .ipynb, .py or .zip: notes\x1b[2J.txt" in out
    assert "over 6 submissions" in out and "graded before" not in out
    written = ["gradebook.sqlite", "grades.csv", "grades.jsonl", "gradescope", "junit.xml"]
    written += ["grades_moodle.csv", "grades_canvas.csv"]
    assert out.splitlines()[-1] == "written: " + ", ".join(str(tmp_path / "grades" / name) for name in written)
    assert sorted(path.name for path in (tmp_path / "grades").iterdir()) == sorted(written)
    assert fake == ["Bob Lee.py", "ann.py", "cleo.py", "dan.py", "eve.py", "finn.py"]


def test_the_record_says_how_it_came_about(fake, handed_in, tmp_path):
    grade(handed_in, tmp_path / "grades", wall=3)
    facts = contents(tmp_path / "grades")["facts"]
    assert facts.keys() >= {"course", "torch", "python", "platform", "limit_memory"}
    assert (facts["seed"], facts["tier"], facts["limit_wall"]) == ("7", "landlock", "3.0")
    assert facts["exercises"] == "02.1 02.2 02.3 02.4 02.5"


def test_without_only_the_chapters_are_those_that_are_answered(fake, handed_in, tmp_path, capsys):
    grade(handed_in, tmp_path / "grades", only=())
    assert "chapters that submissions answer: 02\n" in capsys.readouterr().out
    assert contents(tmp_path / "grades")["facts"]["exercises"].split()[0] == "02.1"
    (handed_in / "zoe.py").write_text("def channels_last(images):\n    return images")
    grade(handed_in, tmp_path / "others", only=())
    assert contents(tmp_path / "others")["facts"]["exercises"].split()[0] == "00.1"
    for path in handed_in.iterdir():
        path.write_text("x = 1")
    with pytest.raises(CourseError, match="name exercises with --only"):
        grade(handed_in, tmp_path / "nothing", only=())
    assert not (tmp_path / "nothing").exists()


def test_exercises_may_be_named_in_any_order(fake, handed_in, tmp_path):
    grade(handed_in, tmp_path / "one", only=["2.3", "00", "02.1"])
    grade(handed_in, tmp_path / "other", only=["02.1", "0", "02.3", "00.1"])
    assert contents(tmp_path / "one") == contents(tmp_path / "other")
    named = contents(tmp_path / "one")["facts"]["exercises"].split()
    assert named[0] == "00.1" and named[-2:] == ["02.1", "02.3"] and named == sorted(set(named))


def test_without_a_seed_one_is_drawn_and_told(fake, handed_in, tmp_path, capsys):
    grade(handed_in, tmp_path / "grades", seed=None)
    assert f"seed: {contents(tmp_path / 'grades')['facts']['seed']}\n" in capsys.readouterr().out


def test_a_fault_is_exit_code_1_and_shown_first(fake, handed_in, tmp_path, capsys):
    (handed_in / "zoe.py").write_text("fault")
    assert grade(handed_in, tmp_path / "grades") == 1
    lines = capsys.readouterr().out.splitlines()
    header = next(number for number, line in enumerate(lines) if line.split() == ["submission", "points", "status"])
    assert lines[header + 1].split()[0] == "zoe.py" and lines[header + 1].rstrip().endswith("ungraded: a reason")


@pytest.mark.parametrize("width", [80, 120])
def test_the_summary_fits_shows_the_urgent_first_and_obeys_no_name(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    records = [Record(f"student {n:03}", "", GRADED, "", (Finding("02.3", "f", "p", n % 11, 10),)) for n in range(66)]
    for status, name in ((UNREADABLE, "z1"), (STOPPED, "z2"), (UNGRADED, "z3 \x1b[2J[red]" + "long" * 50)):
        records.append(Record(name, "", status, "a long reason " * 20, (Finding("02.3", "f", "p", 0, 10),)))
    grade_said.summarise(records)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width and "\x1b" not in out
    assert re.findall(r"^(z\d|student)", out, re.MULTILINE)[:5] == ["z3", "z2", "z1", "student", "student"]
    assert r"z3 \x1b[2J[red]long" in out and "... and 49 more" in out
    assert "mean 4.9 of 10, median 5, over 68 submissions" in out  # a fault of ours is no mark of theirs
    assert "       100 %    6  ######" in out


def test_a_progress_bar_is_for_terminals(monkeypatch):
    assert grade_said.progress_bar().disable
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    bar = grade_said.progress_bar()
    assert not bar.disable and bar.console.stderr and isinstance(bar.console, Console)


def test_grades_in_the_folder_of_the_submissions_are_no_submission(fake, handed_in, capsys):
    out = handed_in / "grades"
    assert grade(handed_in, out) == 0
    before = contents(out)
    assert grade(handed_in, out, resume=True) == 0
    assert contents(out) == before and "grades" not in before["digests"]


@pytest.mark.parametrize("out", [".", "ann/grades"])
def test_grades_within_a_submission_are_refused(fake, handed_in, out):
    (handed_in / "ann").mkdir()
    with pytest.raises(CourseError, match="cannot take the grades"):
        grade(handed_in, handed_in / out)
    assert fake == [] and len(list(handed_in.rglob("*"))) == 7


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"formats": ["csv", "xlsx"]}, "there is no format 'xlsx'"),
        ({"only": ["02.77"]}, "there is no exercise 02.77"),
        ({"only": ["77"]}, "there are no exercises for chapter '77'"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "no Dask scheduler answers at 'tcp://127.0.0.1:1'"),
        ({"scheduler": "cluster"}, "no Dask scheduler answers at 'cluster'"),
    ],
)
def test_a_run_that_cannot_begin_leaves_nothing_behind(fake, handed_in, tmp_path, capfd, options, said):
    if "scheduler" in options:
        pytest.importorskip("distributed")
    with pytest.raises(CourseError) as refusal:
        grade(handed_in, tmp_path / "grades", **options)
    assert said in str(refusal.value) and "\n" not in str(refusal.value)
    assert not (tmp_path / "grades").exists() and fake == [] and capfd.readouterr().err == ""


def test_a_folder_that_cannot_be_written_is_one_sentence(fake, handed_in, tmp_path):
    (tmp_path / "grades").write_text("a file")
    with pytest.raises(CourseError, match="cannot be written"):
        grade(handed_in, tmp_path / "grades")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_would_share_a_row_are_refused(fake, handed_in, tmp_path):
    for name in (b"x\xff.py", rb"x\udcff.py"):
        Path(os.fsdecode(os.fsencode(handed_in) + b"/" + name)).write_text(RIGHT)
    with pytest.raises(CourseError, match="two submissions have names that read"):
        grade(handed_in, tmp_path / "grades")
    (handed_in / r"x\udcff.py").unlink()
    assert grade(handed_in, tmp_path / "grades") == 0
    assert grade(handed_in, tmp_path / "grades", resume=True) == 0
    assert fake.count("x\udcff.py") == 1 and r"x\udcff.py" in contents(tmp_path / "grades")["digests"]


# ---------------------------------------------------------------- several sittings


def stopping_after(count, error):
    """Return a fake that grades `count` submissions and then raises."""
    left = iter(range(count))

    def grade_submission(name, paths, settings):
        if next(left, None) is None:
            raise error
        return fake_grade(name, paths, settings)

    return grade_submission


@pytest.mark.parametrize("count", range(7))
def test_stopped_at_any_record_and_gone_on_with_the_files_are_the_same(
    fake, handed_in, tmp_path, monkeypatch, capsys, count
):
    grade(handed_in, tmp_path / "undisturbed")
    out = tmp_path / "grades"
    with monkeypatch.context() as trouble:
        trouble.setattr(grade_command, "grade_submission", stopping_after(count, OSError(errno.EIO, "broken disk")))
        if count < 6:
            with pytest.raises(CourseError) as stop:
                grade(handed_in, out)
            assert f"stopped by OSError: [Errno {errno.EIO}] broken disk; what is graded is kept in" in str(stop.value)
            assert [path.name for path in out.iterdir()] == ["gradebook.sqlite"]
        else:
            grade(handed_in, out)
    capsys.readouterr()
    fake.clear()
    assert grade(handed_in, out, resume=True) == 0
    assert len(fake) == 6 - count and contents(out) == contents(tmp_path / "undisturbed")
    assert (f"graded before: {count}; to be graded: {6 - count}, of these 0 once more" in capsys.readouterr().out) == (
        count > 0
    )


def test_resume_takes_from_the_gradebook_what_the_command_does_not_name(fake, handed_in, tmp_path):
    out = tmp_path / "grades"
    grade(handed_in, out, seed=None, only=(), wall=3)
    before = contents(out)
    assert grade(handed_in, out, seed=None, only=(), resume=True) == 0
    assert grade(handed_in, out, seed=int(before["facts"]["seed"]), only=["2"], wall=3.0, resume=True) == 0
    assert contents(out) == before and len(fake) == 6


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 8}, "seed 7, not 8:"),
        ({"only": ["02.3", "02.1"]}, "exercises 02.1 02.2 02.3 02.4 02.5, not 02.1 02.3:"),
        ({"wall": 5, "seed": 9}, "seed 7, not 9 and limit_wall 30.0, not 5.0:"),
        ({"tier": "bubblewrap"}, "tier landlock, not bubblewrap:"),
        ({"version": "9.9"}, "not 9.9:"),
    ],
)
def test_resume_names_what_would_give_other_marks_and_changes_nothing(
    fake, handed_in, tmp_path, monkeypatch, change, said
):
    out = tmp_path / "grades"
    grade(handed_in, out)
    before = contents(out)
    (handed_in / "ann.py").unlink()
    if "tier" in change:
        monkeypatch.setattr(grade_command.probe, "strongest", lambda unsafe: change["tier"])
    if "version" in change:
        monkeypatch.setattr(grade_command.course_lib, "__version__", change["version"])
    with pytest.raises(CourseError) as refusal:
        grade(handed_in, out, resume=True, **{key: change[key] for key in change.keys() - {"tier", "version"}})
    assert said in str(refusal.value) and "\n" not in str(refusal.value) and contents(out) == before


def test_what_changed_is_graded_again_and_what_is_gone_is_dropped(fake, handed_in, tmp_path, capsys):
    out = tmp_path / "grades"
    grade(handed_in, out)
    (handed_in / "ann.py").write_text("# ann, once more\n" + RIGHT)
    (handed_in / "dan.py").unlink()
    (handed_in / "gus.py").write_text("# gus\n" + RIGHT)
    fake.clear()
    capsys.readouterr()
    assert grade(handed_in, out, resume=True) == 0
    said = capsys.readouterr().out
    assert fake == ["ann.py", "gus.py"] and "dropped, since it is no longer there: dan.py\n" in said
    assert "graded before: 4; to be graded: 2, of these 1 once more\n" in said
    grade(handed_in, tmp_path / "undisturbed")
    assert contents(out) == contents(tmp_path / "undisturbed")


def test_files_of_an_earlier_sitting_are_brought_up_to_date_as_well(fake, handed_in, tmp_path):
    out = tmp_path / "grades"
    grade(handed_in, out, formats=["csv", "gradescope"])
    (handed_in / "dan.py").unlink()
    grade(handed_in, out, formats=["jsonl"], resume=True)
    assert "dan" not in (out / "grades.csv").read_text() and not (out / "gradescope" / "dan.py.json").exists()
    assert (out / "grades.jsonl").exists() and not (out / "junit.xml").exists()


def test_a_fault_is_given_another_try(fake, handed_in, tmp_path):
    (handed_in / "zoe.py").write_text("fault")
    out = tmp_path / "grades"
    assert grade(handed_in, out) == 1
    fake.clear()
    assert grade(handed_in, out, resume=True) == 1 and fake == ["zoe.py"]


def test_another_folder_is_not_taken_for_all_submissions_gone(fake, handed_in, tmp_path):
    out = tmp_path / "grades"
    grade(handed_in, out)
    before = contents(out)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "zoe.py").write_text(RIGHT)
    with pytest.raises(CourseError, match="holds none of the submissions"):
        grade(tmp_path / "other", out, resume=True)
    assert contents(out) == before


def test_an_existing_gradebook_is_not_written_over(fake, handed_in, tmp_path):
    out = tmp_path / "grades"
    grade(handed_in, out)
    before = contents(out)
    with pytest.raises(CourseError, match="--regrade to grade all again, or name another folder with --out"):
        grade(handed_in, out, seed=8)
    assert contents(out) == before


def test_resume_where_nothing_was_begun_begins(fake, handed_in, tmp_path):
    grade(handed_in, tmp_path / "one", resume=True)
    grade(handed_in, tmp_path / "other")
    assert contents(tmp_path / "one") == contents(tmp_path / "other")


def test_a_gradebook_of_something_else_is_left_alone(fake, handed_in, tmp_path):
    (tmp_path / "grades").mkdir()
    path = tmp_path / "grades" / "gradebook.sqlite"
    path.write_text("shopping list")
    with pytest.raises(CourseError, match="cannot be read as a gradebook"):
        grade(handed_in, tmp_path / "grades", resume=True)
    assert path.read_text() == "shopping list"


def test_ctrl_c_lets_the_submission_under_way_come_to_its_end(fake, handed_in, tmp_path, monkeypatch, capfd):
    def interrupted(name, paths, settings):
        if name == "cleo.py":
            with unattended():
                signal.raise_signal(signal.SIGINT)
        return fake_grade(name, paths, settings)

    out, before = tmp_path / "grades", signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as terminal, pytest.raises(KeyboardInterrupt):
        terminal.setattr(grade_command, "grade_submission", interrupted)
        grade(handed_in, out)
    said = capfd.readouterr().err.splitlines()
    assert said[0] == "stopping after the submissions under way"
    assert said[1].startswith("stopped; what is graded is kept in") and "--resume" in said[1] and len(said) == 2
    assert list(contents(out)["digests"]) == ["Bob Lee.py", "ann.py", "cleo.py"]
    assert signal.getsignal(signal.SIGINT) is before
    grade(handed_in, out, resume=True)
    grade(handed_in, tmp_path / "undisturbed")
    assert contents(out) == contents(tmp_path / "undisturbed")


def test_a_second_ctrl_c_does_not_wait(fake, handed_in, tmp_path, monkeypatch, capfd):
    def hanging(name, paths, settings):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("not reached")

    monkeypatch.setattr(grade_command, "grade_submission", hanging)
    with pytest.raises(KeyboardInterrupt):
        grade(handed_in, tmp_path / "grades")
    assert "what is graded is kept" in capfd.readouterr().err


def test_a_full_disk_loses_nothing(fake, handed_in, tmp_path, monkeypatch):
    out = tmp_path / "grades"
    (handed_in / "eve.py").write_text("# " + "long " * 100_000)
    with monkeypatch.context() as disk:
        original = Gradebook.open.__func__

        def with_little_room(cls, path):
            gradebook = original(cls, path)
            gradebook._connection.execute("PRAGMA max_page_count = 60")
            return gradebook

        disk.setattr(Gradebook, "open", classmethod(with_little_room))
        with pytest.raises(CourseError, match="stopped by OperationalError: database or disk is full; what is graded"):
            grade(handed_in, out)
    assert list(contents(out)["digests"]) == ["Bob Lee.py", "ann.py", "cleo.py", "dan.py"]
    with monkeypatch.context() as disk:

        def fsync(descriptor):
            raise OSError(errno.ENOSPC, "No space left on device")

        disk.setattr(os, "fsync", fsync)
        with pytest.raises(CourseError, match="No space left on device; what is graded is kept"):
            grade(handed_in, out, resume=True)
    fake.clear()
    grade(handed_in, out, resume=True)
    assert fake == []
    grade(handed_in, tmp_path / "undisturbed")
    assert contents(out) == contents(tmp_path / "undisturbed")


# ---------------------------------------------------------------- more than one process


@pytest.fixture
def sendable(fake, monkeypatch):
    """Grade by the fake itself, which can travel to another process."""
    monkeypatch.setattr(grade_command, "grade_submission", fake_grade)


def many(handed_in):
    for number in range(40):
        (handed_in / f"student {number}.py").write_text(f"# {number}{' slow' if number % 10 == 0 else ''}\n{RIGHT}")


class LastFirst(Executor):
    """Holds four at a time, finishes first what it was given last, and counts how much it ever held."""

    def __init__(self):
        self.held, self.most = [], 0

    def submit(self, function, *arguments):
        future = Future()
        self.held.append((future, function, arguments))
        self.most = max(self.most, len(self.held))
        return future

    def finish(self, count):
        for left in range(count, 0, -1):
            while len(self.held) < min(4, left):
                time.sleep(0.001)
            future, function, arguments = self.held.pop()
            future.set_result(function(*arguments))


def test_results_in_any_order_give_the_same_files_and_few_are_in_flight(fake, handed_in, tmp_path, monkeypatch):
    monkeypatch.setattr(grade_command, "IN_FLIGHT", 4)
    many(handed_in)
    executor = LastFirst()
    threading.Thread(target=executor.finish, args=[46], daemon=True).start()
    assert grade(handed_in, tmp_path / "one", executor=executor) == 0
    assert executor.most == 4 and fake[0] == "dan.py"
    fake.clear()
    grade(handed_in, tmp_path / "other")
    assert fake[0] == "Bob Lee.py" and contents(tmp_path / "one") == contents(tmp_path / "other")


class Immediate(Executor):
    """Does everything at once, and fails at one submission."""

    def submit(self, function, *arguments):
        future = Future()
        if "cleo.py" in arguments:
            future.set_exception(MemoryError())
        else:
            future.set_result(function(*arguments))
        return future


def test_what_is_done_when_something_fails_is_kept(fake, handed_in, tmp_path):
    with pytest.raises(CourseError, match="stopped by MemoryError; what is graded is kept"):
        grade(handed_in, tmp_path / "grades", executor=Immediate())
    assert len(contents(tmp_path / "grades")["digests"]) == 5


def test_threads_of_one_process_take_turns(fake, handed_in, tmp_path, monkeypatch):
    inside = threading.Lock()

    def alone(name, paths, settings):
        assert inside.acquire(blocking=False)
        time.sleep(0.005)
        inside.release()
        return fake_grade(name, paths, settings)

    monkeypatch.setattr(grade_command, "grade_submission", alone)
    with ThreadPoolExecutor(4) as executor:
        assert grade(handed_in, tmp_path / "grades", executor=executor) == 0


def test_a_pool_of_processes_gives_the_same_files_and_is_gone_afterwards(sendable, handed_in, tmp_path, capfd):
    many(handed_in)
    grade(handed_in, tmp_path / "one")
    assert grade(handed_in, tmp_path / "two", jobs=2) == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert capfd.readouterr().err == "" and multiprocessing.active_children() == []


def test_a_pool_that_breaks_is_one_sentence_and_loses_nothing(sendable, handed_in, tmp_path, capfd):
    many(handed_in)
    (handed_in / "zoe.py").write_text("ends its process")
    out = tmp_path / "grades"
    with pytest.raises(CourseError, match=r"stopped by BrokenProcessPool: .*what is graded is kept in .* --resume"):
        grade(handed_in, out, jobs=2)
    assert capfd.readouterr().err == "" and multiprocessing.active_children() == []
    assert contents(out)["digests"]
    grade(handed_in, out, resume=True)
    grade(handed_in, tmp_path / "undisturbed")
    assert contents(out) == contents(tmp_path / "undisturbed")


def test_a_dask_cluster_gives_the_same_files(sendable, handed_in, tmp_path, capfd):
    distributed = pytest.importorskip("distributed")
    many(handed_in)
    grade(handed_in, tmp_path / "one")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "protocol": "tcp"}
    with distributed.LocalCluster(**options, host="127.0.0.1", dashboard_address=None) as cluster:
        assert grade(handed_in, tmp_path / "two", scheduler=cluster.scheduler_address) == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert capfd.readouterr().err == ""


def test_a_scheduler_without_dask_is_one_sentence(fake, handed_in, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CourseError, match=r"--scheduler needs Dask: pip install 'course_lib\[dask\]'"):
        grade(handed_in, tmp_path / "grades", scheduler="tcp://127.0.0.1:8786")


# ---------------------------------------------------------------- platforms, rosters and archives


@pytest.fixture
def roster(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,id\nBo\x1b Lee,8\nCleo,9\nZoe,10\n")
    return path


def test_what_roster_and_submissions_do_not_agree_on_is_said(fake, handed_in, roster, tmp_path, capsys):
    for name in ("doeeve_LATE_8_9001_a.py", "doeeve_LATE_8_9002_a-1.py", "roezoe_10_9003_a.pdf"):
        (handed_in / name).write_text("")
    grade(handed_in, tmp_path / "grades", roster=roster, formats=["csv", "moodle"])
    said = capsys.readouterr().out
    assert "passed over, since the same student handed it in again later: doeeve_LATE_8_9001_a.py\n" in said
    assert "late, says the platform: doeeve_LATE_8\n" in said
    assert "roster: 3 people, 3 with a submission\n" in said and "without a submission:" not in said
    assert "not entered for anybody: dan.py: nobody of the roster\n" in said
    assert "Moodle will pass over 3 of 3 grades" in said
    (handed_in / "cleo.py").unlink()
    grade(handed_in, tmp_path / "others", roster=roster)
    assert "\nwithout a submission: Cleo\n" in capsys.readouterr().out


def test_a_roster_is_kept_for_later_sittings_and_can_be_replaced(fake, handed_in, roster, tmp_path):
    out = tmp_path / "grades"
    grade(handed_in, out, formats=["csv"])
    assert "Cleo" not in (out / "grades.csv").read_text()
    grade(handed_in, out, formats=["canvas"], resume=True, roster=roster, assignment="Week 3")
    before = contents(out)
    assert "Cleo" in before["grades.csv"].decode() and "Week 3" in before["grades_canvas.csv"].decode()
    grade(handed_in, out, formats=["canvas"], resume=True)
    assert contents(out) == before and len(fake) == 6
    roster.write_text("name\nFinn\n")
    grade(handed_in, out, resume=True, roster=roster)
    assert "Finn" in (out / "grades.csv").read_text() and "Cleo" not in (out / "grades.csv").read_text()


def test_a_roster_that_does_not_fit_stops_the_run_before_it_begins(fake, handed_in, roster, tmp_path):
    for content, said in (("points\n1\n", "has no column"), ("Student,ID,Section,A (1),B (2)\nx,1,s,,\n", "several")):
        roster.write_text(content)
        with pytest.raises(CourseError, match=said):
            grade(handed_in, tmp_path / "grades", roster=roster)
    assert fake == [] and not (tmp_path / "grades").exists()


def test_a_zip_of_the_class_gives_the_grades_of_its_folder(fake, handed_in, tmp_path, capsys):
    archive = shutil.make_archive(tmp_path / "class", "zip", handed_in)
    grade(handed_in, tmp_path / "one")
    grade(Path(archive), tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert f"submissions: 6 in {archive}\n" in capsys.readouterr().out
    grade(Path(archive), tmp_path / "two", resume=True)
    assert len(fake) == 12 and contents(tmp_path / "one") == contents(tmp_path / "two")
    (tmp_path / "broken.zip").write_text("no archive")
    with pytest.raises(CourseError, match="broken.zip cannot be unpacked"):
        grade(tmp_path / "broken.zip", tmp_path / "three")
    with pytest.raises(CourseError, match="there is no exercise"):
        grade(Path(archive), tmp_path / "three", only=["02.77"])
    assert not (tmp_path / "three").exists()


# ---------------------------------------------------------------- in the sandbox, and killed

SITTING = """
import os, random, signal, sys, time
from pathlib import Path
from course_lib.grading import exports, grade_command
from course_lib.grading.gradebook import Gradebook


def tell(place, name, mark, after=False):
    function = getattr(place, name)

    def told(*arguments):
        if not after:
            os.write(2, mark)
        result = function(*arguments)
        if after:
            os.write(2, mark)
        return result

    setattr(place, name, told)


def sitting(jobs):
    tell(Gradebook, "create", b"c")
    tell(grade_command, "_graded", b"g")
    tell(Gradebook, "add", b".", after=True)
    tell(exports, "export", b"e")
    options = {"seed": 7, "only": ["02.3"], "resume": True, "formats": ["csv", "jsonl", "gradescope", "junit"]}
    grade_command.grade(Path(sys.argv[1]), Path(sys.argv[2]), jobs, **options)


"""

KILLED_MANY_TIMES = f"""{SITTING}
moments = random.Random(0)
for _ in range(20):
    ours, theirs = os.pipe()
    child = os.fork()  # it need not import torch again
    if child == 0:
        os.dup2(theirs, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sitting(jobs=1)
        os._exit(0)
    os.close(theirs)
    for _ in range(moments.randrange(8)):
        if os.read(ours, 1) in b"ce":  # a gradebook is being made, or the files are being written
            break
    time.sleep(moments.choice([0, 0.003, 0.06]) * moments.random())
    os.kill(child, signal.SIGKILL)
    print(os.waitpid(child, 0)[1], flush=True)
    os.close(ours)
"""

ONE_SITTING = f"""{SITTING}
if __name__ == "__main__":
    try:
        sitting(jobs=2)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.fixture(scope="module")
def sandboxed(tmp_path_factory):
    """Return a folder of sixty submissions and the grades that an undisturbed run gives them."""
    if sys.platform != "linux":
        pytest.skip("needs a sandbox")
    folder = tmp_path_factory.mktemp("submissions")
    undisturbed = tmp_path_factory.mktemp("grades")
    wrong = RIGHT.replace(".sum(1)", ".sum(0)"), RIGHT.replace("weights[..., None] * ", ""), "x = 1", "def attend(:"
    for number in range(60):
        text = wrong[number // 3 % 4] if number % 3 == 0 else RIGHT
        (folder / f"student {number:02}.py").write_text(f"# {number}\n{text}")
    assert grade(folder, undisturbed, only=["02.3"]) == 0
    return folder, undisturbed


def environment(scratch):
    """Return the environment of a run that is killed, and so cannot clear away its temporary files."""
    return os.environ | {"PYTHONPATH": str(root()), "TMPDIR": str(scratch)}


def test_twenty_kills_at_any_moment_leave_no_trace(sandboxed, tmp_path):
    folder, undisturbed = sandboxed
    out, rows = tmp_path / "grades", []
    command = [sys.executable, "-c", KILLED_MANY_TIMES, str(folder), str(out)]
    with subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as killer:
        for status in killer.stdout:
            assert int(status) in (0, signal.SIGKILL)
            rows.append(len(contents(out)["digests"]) if (out / "gradebook.sqlite").exists() else 0)
    assert len(rows) == 20 and rows == sorted(rows) and any(0 < each < 60 for each in rows) and rows[-1] > 0
    assert grade(folder, out, only=["02.3"], resume=True) == 0
    assert contents(out) == contents(undisturbed)


def running():
    """Return the processes that are no zombies, each with its parent."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            found |= {int(folder.name): int(parent)} if state != "Z" else {}
    return found


def test_ctrl_c_and_a_kill_of_two_processes_leave_none_behind(sandboxed, tmp_path):
    folder, undisturbed = sandboxed
    out, script = tmp_path / "grades", tmp_path / "sitting.py"
    script.write_text(ONE_SITTING)
    begin = functools.partial(
        subprocess.Popen,
        [sys.executable, str(script), str(folder), str(out)],
        env=environment(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a group of its own, to all of which a terminal would send Ctrl-C
    )
    for until, end in (
        (b"cg", lambda sitting: os.killpg(sitting.pid, signal.SIGINT)),
        (b"g.....", subprocess.Popen.kill),
    ):
        with begin() as sitting:
            assert sitting.stderr.read(len(until)) == until
            started, parents = {sitting.pid}, running()
            while more := {each for each, parent in parents.items() if parent in started} - started:
                started |= more
            end(sitting)
            said = "" if sitting.wait() == -signal.SIGKILL else sitting.stderr.read().decode()
        assert len(started) >= 4  # itself, the fork_server that tried the lock, two workers
        deadline = time.monotonic() + 60
        while started & running().keys() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not started & running().keys()
        if sitting.returncode != -signal.SIGKILL:
            assert re.fullmatch(r"stopping after the submissions under way\n\.+stopped; what is .* there\n", said)
            assert sitting.returncode == 130
    assert 6 <= len(contents(out)["digests"]) < 60
    assert grade(folder, out, only=["02.3"], resume=True) == 0
    assert contents(out) == contents(undisturbed)
