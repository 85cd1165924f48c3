"""The battery: hostile submissions against the whole grader, behind each lock that this machine offers.

The attacks are in `battery/`, one file each; `battery/README.md` says how they are written. An attack that needs a
large or an odd file is made here. `make test` takes one seed; `COURSE_BATTERY_SEEDS="1 2 3"` in the environment
repeats everything under each of those.
"""

import concurrent.futures
import contextlib
import ctypes
import functools
import json
import multiprocessing
import os
import re
import secrets
import select
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from course_lib.grading.catalogue import catalogue
from course_lib.grading.grader import Settings, grade_submission
from course_lib.grading.records import GRADED, STOPPED, UNREADABLE, Record
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.probe import works
from course_lib.project import root

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="both locks are made of Linux")

BATTERY = Path(__file__).parent / "battery"
TIERS = ("bubblewrap", "landlock")
SEEDS = tuple(map(int, os.environ.get("COURSE_BATTERY_SEEDS", "1").split()))
LIMITS = Limits(wall=3.0, step=1.0)
# A verdict is promised within the wall limit and a second. Where others use the machine at the same time, what its
# worker waits for gets this much more before it counts as late; what the grader itself waits for a core is not counted.
SLACK = 4.0
PATIENCE = 60.0  # seconds beyond the limit after which a grader counts as one that hangs
HONEST = "honest_answers"
# What an attack reaches although it should not, by attack and lock, and why that is borne. A test fails when one of
# these begins to hold. None of them sees, changes or disturbs anything outside its own process.
OWN_MEMORY = "a process cannot keep its own memory from the code that runs in it; this is more work than the exercise"
KNOWN = {
    (attack, tier): reason
    for tier in TIERS
    for attack, reason in {
        "frame_of_its_own_making_about_its_inputs": OWN_MEMORY,
    }.items()
} | {("sizes_of_files_outside", "landlock"): "Landlock does not govern stat(2): no file is opened and no folder listed"}

WATCHED = ("book", "course_lib", "exercises", "solutions", "tests")  # of the repository
ANYBODY_WRITES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/dev", "/dev/mqueue", "/")
SET_CHILD_SUBREAPER = 36  # prctl(2)
BRAG = "got " + "through"  # what an attack says of itself in an error or in what it prints


@dataclass(frozen=True)
class Outside:
    """What an attack may want to reach: a folder, a home, a server, all of our own making."""

    folder: Path
    home: Path
    secret: str
    mark: str
    port: int
    address: str
    visits: list

    def fill_in(self, text: str) -> str:
        """Return the text of an attack with the placeholders replaced."""
        places = {"OUTSIDE": self.folder, "HOME": self.home, "MARK": self.mark, "PORT": self.port}
        places |= {"SOCKET": self.address, "REPOSITORY": root()}
        return re.sub(r"@([A-Z]+)@", lambda found: str(places[found[1]]), text)

    def listing(self) -> dict[str, tuple]:
        """Return every file outside and at home, with its size, time and contents."""
        found = {}
        for path in sorted([*self.folder.rglob("*"), *self.home.rglob("*")]):
            if path.is_relative_to(self.folder / "submissions") and not path.is_relative_to(self.other.parent):
                continue  # where the harness itself writes
            status = path.lstat()
            contents = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns, contents)
        return found

    @property
    def other(self) -> Path:
        """The answers of another student."""
        return self.folder / "submissions" / "another_student" / "answers.py"

    def marks(self) -> list[str]:
        """Return the paths with our mark in their name, where anybody may leave a file."""
        places = [*ANYBODY_WRITES, str(root()), str(root() / "tests"), sys.prefix]
        return [str(path) for place in places for path in Path(place).glob(f"*{self.mark}*")]


@dataclass(frozen=True)
class Submission:
    """What is handed in, the exercises that it is asked for, and the most that it may earn."""

    name: str
    paths: tuple[str, ...]
    asked: tuple[str, ...]
    most: float


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """Make what attacks want to reach, and put the secret into this process's environment and home."""
    folder, home = tmp_path_factory.mktemp("outside"), tmp_path_factory.mktemp("home")
    secret, mark = f"canary-{secrets.token_hex(8)}", f"mark_{secrets.token_hex(4)}"
    (folder / "canary.txt").write_text(secret)
    (home / ".ssh").mkdir()
    for name in (".netrc", ".gitconfig", ".bash_history", ".ssh/id_ed25519"):
        (home / name).write_text(f"password {secret}\n")
    with Visitors(str(folder / "socket")) as visitors:
        made = Outside(folder, home, secret, mark, visitors.port, visitors.address, visitors.visits)
        made.other.parent.mkdir(parents=True)
        made.other.write_text(
            f"# {secret}\ndef attend(weights, values):\n    return (weights[..., None] * values).sum(1)\n"
        )
        (folder / "grades").mkdir()
        with contextlib.closing(sqlite3.connect(folder / "grades" / "gradebook.sqlite")) as gradebook:
            gradebook.execute("create table findings (student, earned, points)")
            gradebook.execute("insert into findings values (?, 0, 6)", [secret])
            gradebook.commit()
        before = _of_the_repository()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COURSE_CANARY", secret)
            patch.setenv("HOME", str(home))
            yield made
        assert _of_the_repository() == before


class Visitors:
    """Servers on this machine that note who comes: TCP, UDP, and Unix sockets with and without a file."""

    def __init__(self, path: str):
        self.visits, self.address = [], f"battery-{secrets.token_hex(4)}"
        self._sockets = [
            socket.create_server(("127.0.0.1", 0)),
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            socket.socket(socket.AF_UNIX),
            socket.socket(socket.AF_UNIX),
        ]
        self.port = self._sockets[0].getsockname()[1]
        self._sockets[1].bind(("127.0.0.1", self.port))
        self._sockets[2].bind(f"\0{self.address}")
        self._sockets[3].bind(path)
        self._end, self._stop = os.pipe()
        for each in self._sockets[2:]:
            each.listen()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Visitors":
        self._thread.start()
        return self

    def __exit__(self, *error) -> None:
        os.close(self._stop)
        self._thread.join()
        for each in self._sockets:
            each.close()
        os.close(self._end)

    def _watch(self) -> None:
        while True:
            for each in select.select([self._end, *self._sockets], [], [])[0]:
                if each == self._end:
                    return
                self.visits.append(str(each.getsockname()))
                with contextlib.suppress(OSError):
                    if each.type == socket.SOCK_DGRAM:
                        each.recv(100)
                    else:
                        each.accept()[0].close()


class Grader:
    """The grader in a process of its own, as `course grade` has several; started anew when an attack has ended it."""

    def __init__(self, tier: str, first: Submission):
        self.tier, self._first = tier, first
        self.start()

    def start(self) -> None:
        """Start the process and, by a first submission, its fork_server."""
        self._pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        settings = Settings(0, self._first.asked, LIMITS, self.tier)
        self._pool.submit(grade_submission, self._first.name, self._first.paths, settings).result(60)
        self.processes = _descendants()

    def grade(self, submission: Submission, seed: int) -> Record:
        """Return the record; raises TimeoutError or BrokenProcessPool where the grader did not survive.

        Its seconds are those of a grader alone on the machine: without the time that it waited for a core.
        """
        waited = self._waited_for_a_core()
        settings = Settings(seed, submission.asked, LIMITS, self.tier)
        future = self._pool.submit(grade_submission, submission.name, submission.paths, settings)
        try:
            record = future.result(LIMITS.wall + PATIENCE)
            return replace(record, seconds=record.seconds - (self._waited_for_a_core() - waited))
        except (TimeoutError, BrokenProcessPool):
            self.close()
            self.start()
            raise

    def _waited_for_a_core(self) -> float:
        (process,) = self._pool._processes
        files = Path(f"/proc/{process}/task").glob("*/schedstat")  # nanoseconds on a core, and waiting for one
        return sum(int(file.read_text().split()[1]) for file in files) / 1e9

    def close(self) -> None:
        """End the process, whatever it is doing."""
        for process in list(self._pool._processes.values()):
            process.kill()
        self._pool.shutdown()


@pytest.fixture(scope="module", params=TIERS)
def grader(request, outside):
    """Start a grader; orphans of its workers become children of this process, where they are seen."""
    if not works(request.param):
        pytest.skip(f"the lock {request.param} does not work here")
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    made = Grader(request.param, _prepare(HONEST, outside))
    yield made
    made.close()
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)


# ---------------------------------------------------------------- attacks that are made here


def _module(folder: Path, source: str | bytes, name: str = "answers.py") -> Path:
    (folder / name).write_bytes(source if isinstance(source, bytes) else source.encode())
    return folder / name


def _notebook(folder: Path, *sources: str, **more) -> Path:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": each} | more for each in sources]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return _module(folder, json.dumps(notebook), "answers.ipynb")


def _link(folder: Path, target: str) -> Path:
    (folder / "answers.py").symlink_to(target.replace("@OUTSIDE@", str(folder.parents[1])))
    return folder / "answers.py"


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "answers.py")
    return folder / "answers.py"


def _socket(folder: Path) -> Path:
    socket.socket(socket.AF_UNIX).bind(str(folder / "answers.py"))
    return folder / "answers.py"


def _folder(folder: Path) -> Path:
    (folder / "answers.py").mkdir()
    return folder / "answers.py"


def _hole(folder: Path) -> Path:
    path = folder / "answers.py"
    path.touch()
    os.truncate(path, 30 << 30)  # takes no room on the disk, and half a minute to read
    return path


def _odd_name(folder: Path, name: bytes) -> Path:
    path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
    path.write_text("def attend(weights, values):\n    raise ValueError\n")
    return path


def _many_files_that_hang(folder: Path) -> tuple[str, ...]:
    paths = [_module(folder, HANGS, f"answers{number}.py") for number in range(6)]
    return tuple(map(str, paths))


HANGS = "import time\nwhile True:\n    try:\n        time.sleep(9)\n    except BaseException:\n        pass\n"
RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)\n"
# A reply of a megabyte about cells that stopped, each of which is to be described by a search through eight megabytes.
MANY_STOPS = """
import fcntl, json, os, struct
stop = {"cell": 0, "line": 1, "error": "x", "message": "y", "broken": False}
head = json.dumps({"defined": [], "stops": [stop] * 13_000}, separators=(",", ":")).encode()
for descriptor in range(3, 64):
    try:
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY:
            data = struct.pack("<II", len(head), 0) + head
            while data:
                data = data[os.write(descriptor, data):]
    except OSError:
        pass
"""
MADE_HERE = {
    "source_of_fifty_megabytes": lambda folder: _module(folder, "#" * (50 << 20)),
    "source_with_zero_bytes": lambda folder: _module(
        folder, b"x = 1\0\0\0\n" + RIGHT.encode().replace(b"attend", b"att\0end")
    ),
    "source_in_latin_1": lambda folder: _module(
        folder, "# -*- coding: latin-1 -*-\n# na\xefve\n".encode("latin-1") + RIGHT.encode()
    ),
    "source_in_utf_16": lambda folder: _module(folder, RIGHT.encode("utf-16")),
    "source_in_utf_7": lambda folder: _module(folder, b"# -*- coding: utf-7 -*-\n+AGkAbQBwAG8AcgB0ACAAbwBz-\n"),
    "source_with_carriage_returns": lambda folder: _module(folder, b"x = 1\r\r\r\n\x0c\x1a\r" * 10_000),
    "source_of_blank_lines": lambda folder: _module(folder, "\n" * 200_000 + "def attend(\n" + "\n" * 200_000),
    "source_of_spaces": lambda folder: _module(folder, "x = = 1\n" + (" " * 2000 + "\n") * 2000 + "\t" * 1_000_000),
    "source_of_words_before_a_magic": lambda folder: _module(
        folder, "a " * 300_000 + "=\n" + "b.c" * 300_000 + "\n!x\n"
    ),
    "source_of_deep_brackets": lambda folder: _module(folder, "(" * 100_000 + ")" * 100_000),
    "source_of_deep_operators": lambda folder: _module(folder, "x = " + "-" * 500_000 + "1\n" + RIGHT),
    "source_of_deep_attributes": lambda folder: _module(folder, "x = a" + ".a" * 500_000 + "\n"),
    "source_of_deep_calls": lambda folder: _module(
        folder, "x = " + "f(" * 90 + ")" * 90 + "\ny = f" + "()" * 300_000 + "\n"
    ),
    "source_of_deep_blocks": lambda folder: _module(
        folder, "".join(" " * n + "if 1:\n" for n in range(2000)) + " " * 2000 + "pass\n"
    ),
    "source_of_deep_formatting": lambda folder: _module(folder, "x = " + 'f"{' * 5000 + "1" + '}"' * 5000 + "\n"),
    "source_of_long_chains": lambda folder: _module(
        folder, "x = " + "1+" * 200_000 + "1\ny = " + " if 1 else ".join(["1"] * 20_000) + "\n"
    ),
    "source_of_huge_numbers": lambda folder: _module(
        folder, "x = " + "9" * 1_000_000 + "\ny = 1e" + "9" * 100_000 + "\nz = 0x" + "f" * 1_000_000
    ),
    "source_of_odd_names": lambda folder: _module(
        folder, "𝐢𝐦𝐩𝐨𝐫𝐭 = 1\ndef 𝔞𝔱𝔱𝔢𝔫𝔡(weights, values):\n    return values * 0\n"
    ),
    "source_of_invisible_letters": lambda folder: _module(
        folder, "def attend(weights, values):\n    return values * 0 #\u202e \u2066 return right\u2069\n"
    ),
    "source_of_many_imports": lambda folder: _module(
        folder, "def attend(weights, values):\n    return missing\n" + "import a\n" * 105_000
    ),
    "source_of_many_stops": lambda folder: _module(folder, "# a comment, and no more\n" * 350_000 + MANY_STOPS),
    "notebook_of_ten_thousand_cells": lambda folder: _notebook(folder, *["x = 1"] * 10_000),
    "notebook_of_ten_thousand_failures": lambda folder: _notebook(folder, *["1 / 0 #" + "x" * 90] * 10_000),
    "notebook_of_ten_thousand_waits": lambda folder: _notebook(folder, *["import time; time.sleep(0.01)"] * 10_000),
    "notebook_of_cells_that_all_hang": lambda folder: _notebook(folder, *["while True: pass"] * 100, RIGHT),
    "notebook_of_deep_json": lambda folder: _module(
        folder, '{"nbformat": 4, "cells": ' + "[" * 200_000, "answers.ipynb"
    ),
    "notebook_of_deep_metadata": lambda folder: _notebook(
        folder, RIGHT.replace("sum", "mean"), metadata={"a": json.loads("[" * 900 + "]" * 900)}
    ),
    "notebook_of_huge_numbers": lambda folder: _module(
        folder, '{"nbformat": ' + "4" * 1_000_000 + "}", "answers.ipynb"
    ),
    "notebook_of_fifty_megabytes": lambda folder: _notebook(folder, RIGHT, outputs=["x" * (50 << 20)]),
    "notebook_of_ten_million_cells": lambda folder: _module(
        folder, '{"nbformat": 4, "cells": [' + "{}," * 10_000_000 + "{}]}", "answers.ipynb"
    ),
    "notebook_of_many_empty_cells": lambda folder: _module(
        folder,
        '{"nbformat": 4, "cells": [' + ",".join(['{"cell_type": "code", "source": ""}'] * 800_000) + "]}",
        "answers.ipynb",
    ),
    "notebook_of_thirty_megabytes": lambda folder: _notebook(folder, "x = 1", outputs=["x" * (30 << 20)]),
    "text_notebook_that_multiplies": lambda folder: _module(
        folder,
        "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 8))
        + "---\n```{code-cell}\nx = 1\n```\n",
        "answers.md",
    ),
    "text_notebook_that_holds_itself": lambda folder: _module(
        folder, "---\na: &a [*a]\n---\n```{code-cell}\nx = 1\n```\n", "answers.md"
    ),
    "text_notebook_that_makes_objects": lambda folder: _module(
        folder,
        "---\na: !!python/object/apply:os.system ['true']\n---\n```{code-cell}\n---\nb: !!python/name:os.system\n"
        "---\nx\n```\n",
        "answers.md",
    ),
    "text_notebook_that_is_no_yaml": lambda folder: _module(
        folder, "---\n{[: !! &*\n---\n```{code-cell}\n:tags: [\nx = 1\n```\n", "answers.md"
    ),
    "text_notebook_of_deep_quotes": lambda folder: _module(
        folder, ">" * 50_000 + " x\n" + "- " * 5_000 + "x\n" + "[" * 50_000, "answers.md"
    ),
    "link_to_a_secret": lambda folder: _link(folder, "@OUTSIDE@/canary.txt"),
    "link_to_another_student": lambda folder: _link(folder, "@OUTSIDE@/submissions/another_student/answers.py"),
    "link_to_a_solution": lambda folder: _link(
        folder, str(root() / "course_lib" / "grading" / "declarations" / "chapter_02.py")
    ),
    "link_to_zeros_without_end": lambda folder: _link(folder, "/dev/zero"),
    "link_to_itself": lambda folder: _link(folder, "answers.py"),
    "link_to_nothing": lambda folder: _link(folder, "nowhere"),
    "pipe_that_nobody_fills": _pipe,
    "socket_for_a_file": _socket,
    "folder_for_a_file": _folder,
    "file_with_a_hole_of_thirty_gigabytes": _hole,
    "file_that_is_empty": lambda folder: _module(folder, ""),
    "file_that_is_gone": lambda folder: folder / "answers.py",
    "name_with_an_escape_sequence": lambda folder: _odd_name(folder, b"\x1b[31mred\n=1+1.py"),
    "name_that_is_no_text": lambda folder: _odd_name(folder, b"\xff\xfe\x80.py"),
    "name_that_is_a_formula": lambda folder: _odd_name(folder, b"=cmd|' C calc'!A0.py"),
    "many_files_that_hang": _many_files_that_hang,
}
FILES = {path.name.partition(".")[0]: path for path in sorted(BATTERY.glob("*.txt"))}


# ---------------------------------------------------------------- the tests


def _cases() -> list:
    cases = []
    for name in [*FILES, *MADE_HERE]:
        for seed in SEEDS:
            cases.append(pytest.param(name, seed, id=f"{name}-{seed}"))
    return cases


@pytest.mark.parametrize(("name", "seed"), _cases())
def test_an_attack_gains_nothing(name, seed, grader, outside, request):
    if reason := KNOWN.get((name, grader.tier)):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    attack, honest = _prepare(name, outside), _prepare(HONEST, outside)
    alone = _alone(grader.tier, honest, seed)
    before, visits = outside.listing(), len(outside.visits)
    try:
        records = [grader.grade(attack, seed) for _ in range(_times(name))]
        after = grader.grade(honest, seed)
    except BrokenProcessPool:
        pytest.fail("the grader was ended")
    except TimeoutError:
        pytest.fail("the grader hangs")
    faults = [fault for record in records for fault in _faults(record, attack, outside)]
    if outside.listing() != before or outside.marks():
        faults.append(f"something changed outside: {_difference(before, outside.listing())} {outside.marks()}")
        _clean(outside)
    if len(outside.visits) > visits:
        faults.append(f"somebody got: {outside.visits[visits:]}")
    if replace(after, seconds=0) != alone:
        faults.append(
            f"the honest submission after it: {after.status}, {after.earned} of {after.points}, {after.reason}"
        )
    ended, left = _ended_and_left(grader.processes)
    if ended:
        faults.append(f"the grader's own processes were ended: {ended}")
    if left:
        faults.append(f"processes were left behind: {left}")
    grader.processes = _descendants()
    for submission in (attack, honest):
        shutil.rmtree(Path(submission.paths[0]).parent)  # else each listing of what is outside is longer than the last
    assert not faults, "\n".join(faults)


def _prepare(name: str, outside: Outside) -> Submission:
    """Write a submission."""
    folder = outside.folder / "submissions" / f"{name}_{secrets.token_hex(6)}"
    folder.mkdir()
    if name in MADE_HERE:
        made = MADE_HERE[name](folder)
        paths = made if isinstance(made, tuple) else (str(made),)
        return Submission(Path(paths[0]).name, paths, ("02.3",), 0)
    text = FILES[name].read_text(encoding="utf-8")
    asked = re.search(r"# exercise: ([\d. ]+)", text)[1].split()
    asked = [
        each.id
        for part in asked
        for each in (catalogue().exercises(part) if "." not in part else [catalogue().find(part)])
    ]
    earns = re.search(r"# earns: (\w+)", text)[1]
    path = folder / FILES[name].name.removesuffix(".txt")
    path.write_text(outside.fill_in(text), encoding="utf-8")
    return Submission(path.name, (str(path),), tuple(asked), float("inf") if earns == "all" else int(earns))


def _times(name: str) -> int:
    return 2 if name in FILES and "# twice" in FILES[name].read_text(encoding="utf-8") else 1


ALONE: dict[tuple[str, int], Record] = {}


def _alone(tier: str, honest: Submission, seed: int) -> Record:
    """Return the record of the honest submission from a grader that has seen no attack; it has full marks."""
    if (tier, seed) not in ALONE:
        known = _descendants()
        fresh = Grader(tier, honest)
        record = ALONE[tier, seed] = replace(fresh.grade(honest, seed), seconds=0)
        fresh.close()
        _ended_and_left(known)
        assert record.earned == record.points and record.status == GRADED
    return ALONE[tier, seed]


def _faults(record: Record, attack: Submission, outside: Outside) -> list[str]:
    """Say what is wrong with the record of an attack, or nothing."""
    faults = []
    due = [
        (exercise, task.function, each.name, each.points)
        for exercise in attack.asked
        for task in catalogue().find(exercise).tasks
        for each in task.properties
    ]
    if [(each.exercise, each.function, each.property, each.points) for each in record.findings] != due:
        faults.append("the findings are not complete")
    if record.status not in (GRADED, STOPPED, UNREADABLE):
        faults.append(f"the verdict is {record.status}: {record.reason}")
    if record.earned > attack.most:
        faults.append(f"{record.earned} points, honestly {attack.most}")
    if attack.most == float("inf") and (record.earned < record.points or record.status != GRADED):
        problems = [each.problem for each in record.findings if each.problem]
        faults.append(f"honest, and {record.earned} of {record.points}: {problems[:2]}")
    if any(each.earned and each.problem for each in record.findings):
        faults.append("points in spite of a problem")
    late = LIMITS.wall + 1 + SLACK
    if record.seconds > late:
        faults.append(f"the verdict got after {record.seconds:.1f} s, later than {late:g} s")
    said = [record.reason, record.output, *(each.problem + each.mistake for each in record.findings)]
    for text in said:
        if outside.secret in text:
            faults.append(f"it saw the secret: {text[:300]}")
        if BRAG in text:
            faults.append(text[text.find(BRAG) - 80 :][:400])
        if line := next((line for line in _solution_lines() if line in text and line not in record.source), None):
            faults.append(f"it saw a worked solution: {line}")
        if any(not each.isprintable() and each != "\n" for each in text):
            faults.append(f"characters that a terminal obeys, or that nothing can encode: {ascii(text)[:300]}")
    if max(map(len, said)) > 20_000:
        faults.append(f"a text of {max(map(len, said))} characters")
    try:
        record.source.encode()
    except UnicodeEncodeError:
        faults.append("a source that nothing can encode")
    return faults


@functools.cache
def _solution_lines() -> set[str]:
    """Return the lines of the worked solutions that are long enough to tell where they come from."""
    text = "".join(path.read_text(encoding="utf-8") for path in (root() / "solutions").glob("*.md"))
    answers = re.findall(r"# BEGIN SOLUTION\n(.*?)# END SOLUTION", text, re.DOTALL)
    return {line.strip() for answer in answers for line in answer.splitlines() if len(line.strip()) > 40}


def _descendants() -> dict[int, str]:
    """Return the living processes below this one, and what they are."""
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                name, _, rest = (entry / "stat").read_text(errors="replace").rpartition(")")
                state, parent = rest.split()[:2]
                if state not in "ZX":
                    parents[int(entry.name)], names[int(entry.name)] = int(parent), name.partition("(")[2]
    found, more = set(), {os.getpid()}
    while more:
        more = {each for each, parent in parents.items() if parent in more} - found
        found |= more
    return {each: names[each] for each in found}


def _ended_and_left(known: dict[int, str]) -> tuple[list[str], list[str]]:
    """Return which of the known processes have ended, and which others are still there a moment after the verdict."""
    end = time.monotonic() + 2
    while True:
        now = _descendants()
        ended = Counter(name for process, name in known.items() if process not in now)
        left = Counter(name for process, name in now.items() if process not in known) - ended  # one was replaced
        if not left or time.monotonic() > end:
            return sorted(ended.elements()), sorted(left.elements())
        time.sleep(0.02)


def _of_the_repository() -> dict[str, tuple]:
    """Return every file of the repository that is not made by a test run, with its size and time."""
    found = {}
    for folder in WATCHED:
        for path in (root() / folder).rglob("*"):
            if "__pycache__" not in path.parts and path.is_file():
                found[str(path)] = (path.stat().st_size, path.stat().st_mtime_ns)
    return found


def _difference(before: dict, after: dict) -> list[str]:
    return sorted({name for name, _ in set(before.items()) ^ set(after.items())})


def _clean(outside: Outside) -> None:
    """Remove what an attack has left, so that the next one is not blamed for it."""
    for path in map(Path, [*outside.marks(), *map(str, outside.folder.rglob(f"*{outside.mark}*"))]):
        with contextlib.suppress(OSError):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def test_every_file_says_what_it_tries_and_earns():
    assert len(FILES) >= 45
    for name, path in FILES.items():
        text = path.read_text(encoding="utf-8")
        assert re.search(r"# (Tries|No attack)", text[:500]), name
        assert re.search(r"# exercise: [\d. ]+", text) and re.search(r"# earns: (\d+|all)", text), name
        assert BRAG not in text, f"{name}: an error quotes lines of the source, which would look like success"


def test_no_tool_takes_an_attack_for_one_of_our_files():
    """An import of these files would run them without any lock; so none of them ends in what an importer looks for."""
    assert not [path.name for path in BATTERY.iterdir() if path.suffix in (".py", ".ipynb")]
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "--quiet", str(BATTERY)],
        cwd=root(),
        capture_output=True,
        text=True,
    )
    assert "no tests collected" in collected.stdout, collected.stdout
