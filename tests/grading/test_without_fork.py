"""Windows, simulated: no process is forked, no signal interrupts, and modules of Unix are missing."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from course_lib.grading import command
from course_lib.grading.sandbox import fork_server, probe, tiers
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.worker.attempt import Unfinished, at_most
from course_lib.project import CourseError

ABSENT = ("resource", "fcntl", "pwd", "grp", "termios")
# What Windows lacks is taken away once torch is there, which has its own ways on Windows.
WITHOUT_UNIX = f"""
import os, signal, socket, sys
import nbformat, rich.console, torch, typer
sys.modules |= dict.fromkeys({ABSENT})
for module, names in (
    (os, "fork register_at_fork geteuid getuid set_blocking killpg waitpid"),
    (signal, "setitimer ITIMER_REAL ITIMER_PROF SIGPROF SIGALRM SIGKILL pthread_sigmask"),
    (socket, "send_fds recv_fds"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
sys.platform = "win32"
"""
LOOP = "def attend(weights, values):\n    while True: pass"
TIME = "more than [0-9.]+ seconds (of computing|on the clock)"  # on a busy machine, the clock may be first
RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)"
ROWS = "def map_to_rows(feature_map):\n    return feature_map.flatten(2).mT"


@pytest.fixture
def as_on_windows(monkeypatch):
    monkeypatch.delattr(os, "fork")
    monkeypatch.delattr(signal, "setitimer")
    monkeypatch.setattr(sys, "platform", "win32")


def flat(text):
    return " ".join(text.split())


def in_a_shell(folder, *arguments, wall=30.0):
    """Run `course` with these arguments in a process that has nothing of Unix."""
    programme = f"""{WITHOUT_UNIX}
from course_lib.grading import command
from course_lib.grading.sandbox.limits import Limits
command.LIMITS = Limits(wall={wall}, step=0.3)
sys.argv = ["course", *{arguments!r}]
from course_lib.__main__ import main
main()
"""
    return subprocess.run([sys.executable, "-c", programme], capture_output=True, text=True, cwd=folder, timeout=120)


def test_everything_that_grades_can_be_imported():
    package = Path(command.__file__).parent
    within = package / "sandbox" / "worker"  # of what is there, a process that is forked imports the most, and alone
    others = [path for path in package.rglob("*.py") if not path.is_relative_to(within)]
    paths = [*others, *(within / name for name in ("attempt.py", "cells.py", "frames.py"))]
    places = (path.relative_to(package.parents[1]).with_suffix("").parts for path in paths)
    names = sorted(".".join(parts).removesuffix(".__init__") for parts in places)
    assert len(names) > 40
    programme = WITHOUT_UNIX + f"import importlib\nfor name in {names!r}: importlib.import_module(name)"
    done = subprocess.run([sys.executable, "-c", programme], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_endless_answer_ends_with_the_sentence_of_a_worker(project, run, monkeypatch, as_on_windows):
    monkeypatch.setattr(command, "LIMITS", Limits(wall=20.0, step=0.3))
    project("my_exercises/02_words.ipynb", ROWS, LOOP)
    said = []
    for way in (fork_server.start_strongest, lambda: None):
        monkeypatch.setattr(fork_server, "start_strongest", way)
        code, out, err = run("check", "02.3", "--seed", "1")
        assert (code, err) == (1, "")
        said.append(re.sub(TIME, "more than so long", flat(out)))
    assert said[0] == said[1]
    assert "attend did not end in time, still in line 2 (`while True: pass`): more than so long" in said[0]
    assert "3/3" in run("check", "02.1")[1]  # what else the file holds is checked all the same


def test_an_endless_cell_ends(project, run, monkeypatch, as_on_windows):
    monkeypatch.setattr(fork_server, "start_strongest", lambda: None)
    monkeypatch.setattr(command, "LIMITS", Limits(wall=3.0, step=0.3))
    project("my_exercises/02_words.ipynb", "while True: pass", RIGHT)
    assert run("check", "02.3")[0] == 0
    project("my_exercises/02_words.ipynb", f"while True: pass\n{RIGHT}")
    code, _, err = run("check", "02.3")
    assert code == 2 and "did not end in time; so attend is not defined" in flat(err)


def test_no_process_is_started_and_strangers_are_not_graded(as_on_windows):
    assert not any(map(tiers.possible, tiers.TIERS))
    assert fork_server.start_strongest() is None
    for unsafe in (False, True):
        with pytest.raises(CourseError, match="no process can be forked here.*grade on Linux, which Windows has in"):
            probe.strongest(unsafe)


def test_the_command_in_a_shell(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "loop.py").write_text(LOOP)
    done = in_a_shell(tmp_path, "check", "right.py")
    assert (done.returncode, done.stderr) == (0, "") and "6/6    all right" in done.stdout
    done = in_a_shell(tmp_path, "check", "loop.py")
    assert (done.returncode, done.stderr) == (1, "") and "attend did not end in time, still in line 2" in done.stdout
    done = in_a_shell(tmp_path, "grade", str(tmp_path), "--only", "02.3", "--unsafe")
    assert done.returncode == 2 and done.stderr.startswith("no process can be forked here")
    assert not (tmp_path / "grades").exists()


SWALLOWS = """def attend(weights, values):
    while True:
        try:
            while True: max(1, 2)
        except BaseException: pass
"""


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (SWALLOWS, "attend was stopped: it took"),
        ("import time\ntime.sleep(100)", "while its cells ran, it took"),  # there is no next line to interrupt
    ],
)
def test_what_cannot_be_interrupted_ends_the_command_at_the_wall(tmp_path, source, what):
    (tmp_path / "02_mine.py").write_text(source)
    begun = time.monotonic()
    done = in_a_shell(tmp_path, "check", "02_mine.py", wall=4.0)
    assert done.returncode == 2 and time.monotonic() - begun < 60
    assert done.stderr == f"02_mine.py: {what} longer than 4 seconds, so the check ends here\n"


def test_another_thread_is_interrupted_as_well_and_nothing_comes_afterwards():
    caught = []

    def work():
        try:
            with at_most(0.2):
                while True:
                    pass
        except Unfinished as error:
            caught.append(str(error))
        with at_most(0.3):  # what is quick is left alone, then and later
            caught.append(sum(range(1000)))
        time.sleep(0.5)
        caught.append("at its end")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    assert caught[1:] == [499500, "at its end"] and re.fullmatch(TIME, caught[0])


def test_a_limit_goes_on_after_one_inside_of_it():
    until = time.monotonic() + 30
    with pytest.raises(Unfinished), at_most(0.3):
        with at_most(5):
            pass
        while time.monotonic() < until:
            pass


def test_a_sleep_counts_on_the_clock(as_on_windows):
    with pytest.raises(Unfinished, match="more than 0.5 seconds on the clock"), at_most(0.1):
        while True:
            time.sleep(0.05)
