"""What a teacher should see of a submission is noted, within bounds, whatever the submission does about it."""

import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.grading.grader import Settings, grade_submission
from course_lib.grading.records import ENDLESS, REFUSED, RESCUE
from course_lib.grading.sandbox import probe, tiers
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.worker import attempts

TIERS = [
    pytest.param(tier, marks=pytest.mark.skipif(not probe.works(tier), reason=f"{tier} does not work here"))
    for tier in (tiers.BUBBLEWRAP, tiers.LANDLOCK)
]
LIMITS = Limits(wall=20.0, step=0.5)  # the first of a process also waits for torch to be imported
RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)\n"


@pytest.fixture
def seen(tmp_path):
    """Grade one file on 02.3; return kind, exercise and sentence of its events, and its points."""

    def seen(source, tier=tiers.PROCESS, exercise="02.3"):
        path = tmp_path / "ann.py"
        path.write_text(source)
        record = grade_submission("ann.py", (str(path),), Settings(1, (exercise,), LIMITS, tier))
        assert all(each.file == str(path) for each in record.events)
        return [(each.kind, each.exercise, each.sentence) for each in record.events], record.earned

    return seen


QUIET = """
import os, socket, subprocess
def attempt(act):
    try:
        act()
    except Exception:
        pass
attempt(lambda: open("/secrets/key"))
attempt(lambda: open("notes.txt", "w"))
attempt(lambda: os.remove("/usr/lib/x"))
attempt(lambda: socket.create_connection(("example.org", 80)))
attempt(lambda: subprocess.run(["ls"]))
attempt(lambda: os.kill(os.getppid(), 9) if os.environ.get("NOWHERE") else os.killpg(999999, 9))
attempt(lambda: open(os.devnull, "w"))
open(os.devnull).close()
open(os.__file__).close()
"""
TRIED = [
    "it tried to read the file /secrets/key",
    "it tried to write the file notes.txt",
    "it tried to change a file /usr/lib/x",
    "it tried to open a connection example.org",
    "it tried to start a process ls",
    "it tried to send a signal",
]


@pytest.mark.parametrize("tier", TIERS)
def test_what_is_refused_is_told_though_the_error_is_caught(seen, tier):
    found, earned = seen(QUIET + RIGHT, tier)
    assert found == [(REFUSED, "", each) for each in TRIED]
    assert earned == 6  # and costs nothing


def test_what_a_call_tries_is_told_as_well(seen):
    found, _ = seen(RIGHT.replace("    return", "    open('cases.txt')\n    return"))
    assert found == [(REFUSED, "", "it tried to read the file cases.txt")]


def test_a_cell_that_reads_the_code_of_a_function_is_told(seen):
    code = "layer.__closure__[0].cell_contents.__code__"
    reads = f"def is_equivariant(layer, inputs):\n    return 'mean' in {code}.co_names\n"
    assert (REFUSED, "", "it tried to read the code of a function") in seen(reads, exercise="03.3")[0]
    used_by_python = "import inspect\ninspect.signature(lambda x: x)\n"
    assert seen(used_by_python + RIGHT) == ([], 6)


def test_to_watch_a_frame_being_asked_for_its_code_does_not_ask_again():
    """Each answer that raises is asked where it stopped: a hook that asks, too, is called as deep as Python goes."""
    watched = (
        "import sys, attempts\n"
        "attempts.watch([])\n"
        "seen = []\n"
        "sys.addaudithook(lambda event, _: seen.append(event))\n"
        "sys._getframe().f_code\n"
        "print(seen.count('object.__getattr__'))\n"
    )
    folder = Path(attempts.__file__).parent
    told = subprocess.run([sys.executable, "-c", watched], cwd=folder, capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"


@pytest.mark.parametrize(
    ("count", "name"), [(15_000, "f'{n}\x1b[2J' + 'a' * 90"), (30, "f'{n}\x1b[2J' + 'a' * 100_000")]
)
def test_very_many_attempts_and_very_long_names_are_bounded(seen, count, name):
    """Unbounded, they would be more than a reply may hold, and cost the points."""
    many = f"for n in range({count}):\n    try: open({name})\n"
    found, earned = seen(many + "    except Exception: pass\n" + RIGHT)
    assert len(found) == attempts.MOST and max(len(sentence) for _, _, sentence in found) < 150 and earned == 6
    assert not any("\x1b" in sentence for _, _, sentence in found)


@pytest.mark.parametrize("call", ["sys.audit('open')", "sys.audit('os.remove', 3.5)", "sys.audit('open', 3.5, 'r', 0)"])
def test_an_attempt_of_an_odd_kind_stops_nobody(seen, call):
    assert seen(f"import sys\n{call}\n{RIGHT}")[1] == 6


def test_a_worker_that_tells_nonsense_is_not_believed(seen):
    for told in ("7", "'text'", "{1: 2}", "[['x'] * 9] * 99", "None"):
        source = f"import sys\nsys.modules['attempts'].taken = lambda: {told}\n"
        found, earned = seen(source + RIGHT)
        assert len(found) <= 20 and earned == 6


def test_a_cell_without_end_is_told(seen):
    found, _ = seen("import time\n" + RIGHT + "while True: pass\n")
    assert found == [(ENDLESS, "", "the file did not end in time")]


def test_words_that_are_refused_beside_forbidden_operators_are_told(seen):
    found, _ = seen("import ctypes\n", exercise="02.3")
    assert not found
    found, _ = seen("import ctypes\ndef stable_softmax(scores): pass\n", exercise="00.2")
    assert (REFUSED, "") in {(kind, exercise) for kind, exercise, _ in found} and "ctypes is not to be used" in str(
        found
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (RIGHT.replace("attend", "atend"), "(perhaps atend is meant for attend)"),
        (
            RIGHT.replace("attend", "weighted_sum"),
            "(perhaps weighted_sum, which takes the same arguments, is meant for",
        ),
        (RIGHT.replace("weights[", "unit(weights)["), "attend stopped with NameError in line 2"),
        ("import helpers\n" + RIGHT, "No module named 'helpers', where answers are checked"),
        (RIGHT.replace("):", ")"), "is not Python in line 1"),
    ],
)
def test_points_that_a_small_edit_may_bring_back(seen, source, said):
    (found,), earned = seen(source)
    assert found[:2] == (RESCUE, "02.3") and said in found[2] and earned == 0


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n",
        "def attend(weights, values):\n    raise NotImplementedError\n",
        RIGHT,
        RIGHT.replace("sum(1)", "sum(0)"),
        RIGHT.replace(
            "    return", "    if values.min() > 5:\n        helper()\n    return"
        ),  # some points, and no name
    ],
)
def test_what_no_small_edit_mends_is_not_listed(seen, source):
    assert seen(source)[0] == []
