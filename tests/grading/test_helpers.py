"""Modules that a student wrote beside the answer: imported as the student could, as untrusted as the answer."""

import json
import sys

import pytest

from course_lib.grading import command
from course_lib.grading import helpers as grading_helpers
from course_lib.grading.catalogue import catalogue
from course_lib.grading.grader import Settings, grade_submission
from course_lib.grading.helpers import helpers, imported
from course_lib.grading.notebook_file import MOST_CODE, Cell, after_running, read_cells
from course_lib.grading.records import GRADED, STOPPED
from course_lib.grading.sandbox import probe, tiers
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.session import InProcessSession
from course_lib.project import CourseError

RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)\n"
BY_HELPER = "from helper import total\n\ndef attend(weights, values):\n    return total(weights[..., None] * values)\n"
HELPER = "def total(products):\n    return products.sum(1)\n"
LOCKED = [
    pytest.param(tier, marks=pytest.mark.skipif(not probe.works(tier), reason=f"{tier} does not work here"))
    for tier in (tiers.BUBBLEWRAP, tiers.LANDLOCK)
]


def notebook(*sources):
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


@pytest.fixture
def hand_in(tmp_path):
    """Write files and grade them as one submission."""

    def hand_in(files, *exercises, tier=tiers.PROCESS):
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        paths = tuple(str(tmp_path / name) for name in sorted(files))
        return grade_submission("student", paths, Settings(1, exercises or ("02.3",), Limits(10.0, 1.0), tier))

    return hand_in


@pytest.mark.parametrize("tier", [tiers.PROCESS, *LOCKED])
def test_a_notebook_imports_the_module_beside_it(hand_in, tier):
    record = hand_in({"02.ipynb": notebook(BY_HELPER), "helper.py": HELPER}, tier=tier)
    assert record.status == GRADED and record.earned == record.points
    assert "def total" in record.source  # for whoever compares answers


def test_a_helper_may_import_another_and_have_any_name_that_is_free(hand_in):
    """The modules of the worker itself have short names too: `worker`, `cells`, `frames`."""
    files = {
        "02.ipynb": notebook(BY_HELPER.replace("helper", "cells")),
        "cells.py": "import worker as w\ntotal = w.total\n",
        "worker.py": HELPER,
    }
    assert hand_in(files).earned == 6


@pytest.mark.parametrize("name", ["torch", "einops", "json", "numpy", "course_lib"])
def test_a_helper_does_not_take_the_name_of_what_is_there(hand_in, name):
    marked = f"import {name}\nassert not hasattr({name}, 'from_a_student')\n"
    record = hand_in({"02.ipynb": notebook(marked + RIGHT), f"{name}.py": "from_a_student = True\n"})
    assert record.status == GRADED and record.earned == 6


def test_a_helper_is_no_answer_unless_it_writes_one(hand_in):
    crash = "import os\nif __name__ == 'answers':\n    os._exit(3)\n" + HELPER
    record = hand_in({"02.ipynb": notebook(BY_HELPER), "helper.py": crash})
    assert record.status == GRADED and record.earned == 6
    assert hand_in({"02.ipynb": notebook("import helper"), "helper.py": RIGHT}).earned == 6
    assert hand_in({"02.ipynb": notebook("x = 1"), "alone.py": "import os; os._exit(3)"}).status == STOPPED


def test_modules_in_another_folder_are_not_beside(hand_in):
    record = hand_in({"a/02.ipynb": notebook(BY_HELPER), "b/helper.py": HELPER})
    assert record.earned == 0 and "No module named 'helper'" in record.findings[0].problem


def test_a_helper_that_is_no_python_is_named_with_its_line(hand_in):
    record = hand_in({"02.ipynb": notebook(BY_HELPER), "helper.py": "x = 1\ndef total(:"})
    assert "helper.py is not Python in line 2" in record.findings[0].problem


@pytest.mark.parametrize("tier", LOCKED)
def test_hostile_code_in_a_helper_is_contained_as_that_of_a_cell(hand_in, tmp_path, tier):
    secret = tmp_path / "secret"
    secret.write_text("not for you")
    for attack in (
        f"open({str(secret)!r}).read()",
        f"open({str(tmp_path / 'written')!r}, 'w')",
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
        "import os; os.fork()",
        "import course_lib.grading.catalogue",
    ):
        record = hand_in({"02.ipynb": notebook(BY_HELPER), "helper.py": attack + "\n" + HELPER}, tier=tier)
        assert record.earned == 0 and "stopped in line 1" in record.findings[0].problem, attack
    assert not (tmp_path / "written").exists()


def test_a_helper_ends_no_more_than_its_own_worker(hand_in):
    for attack in ("import os; os._exit(7)", "while True: pass", "x = bytearray(1 << 40)"):
        record = hand_in({"02.ipynb": notebook(BY_HELPER), "helper.py": attack + "\n" + HELPER})
        assert record.earned == 0 and record.status in (GRADED, STOPPED)
    assert hand_in({"02.ipynb": notebook(BY_HELPER), "helper.py": HELPER}).earned == 6


def test_what_is_forbidden_in_a_cell_is_forbidden_in_a_helper(hand_in):
    exercise = next(
        each.id for each in catalogue() for task in each.tasks if task.function == "softmax" and each.forbidden
    )
    task = catalogue().find(exercise).tasks[0]
    parameters = ", ".join(task.parameters)
    softmax = f"from helper import soft\ndef {task.function}({parameters}):\n    return soft({task.parameters[0]})\n"
    by_torch = hand_in(
        {"a.ipynb": notebook(softmax), "helper.py": "import torch\nsoft = lambda x: x.softmax(-1)"}, exercise
    )
    assert by_torch.earned == 0
    way_round = hand_in({"a.ipynb": notebook(softmax), "helper.py": "import ctypes\nsoft = None"}, exercise)
    assert "ctypes is not to be used" in way_round.findings[0].problem


def test_helpers_are_read_from_the_text_of_imports(tmp_path):
    for name in ("helper.py", "other.py", "unused.py", "02.py"):
        (tmp_path / name).write_text("import other\nx = 1\n")
    (tmp_path / "02.py").write_text("x = 1; import helper as h, torch\n# import unused\n")
    found = helpers(tmp_path / "02.py", read_cells(tmp_path / "02.py"), tmp_path.glob("*.py"))
    assert sorted(name for name, _ in found.values()) == ["helper", "other"]
    assert imported("from .relative import x\nimported = 1\n") == set()
    (tmp_path / "other.py").write_text("#" * (MOST_CODE - 5))
    with pytest.raises(CourseError, match="what it imports has more than"):
        helpers(tmp_path / "02.py", read_cells(tmp_path / "02.py"), tmp_path.glob("*.py"))


def test_what_is_too_much_is_not_read_to_its_end(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(grading_helpers, "read_cells", lambda path: read.append(path.name) or read_cells(path))
    for number in range(9):
        (tmp_path / f"helper{number}.py").write_text("#" * (MOST_CODE // 2))
    cells = [Cell("code cell 1", "\n".join(f"import helper{number}" for number in range(9)))]
    with pytest.raises(CourseError, match="what it imports has more than"):
        helpers(tmp_path / "02.py", cells, tmp_path.glob("*.py"))
    assert read == ["helper0.py", "helper1.py", "helper2.py"]


def test_a_session_in_this_process_imports_them_too_and_forgets_them(tmp_path):
    path = tmp_path / "02.ipynb"
    path.write_text(notebook(BY_HELPER))
    exercise = catalogue().find("02.3")
    for source, defined in ((HELPER, True), ("total = None", True), ("x = 1", False)):
        submission = InProcessSession(str(path), read_cells(path), Limits(), {"helper": source}).submission(exercise)
        assert ("attend" in submission.defined) == defined
    assert "attend" not in InProcessSession(str(path), read_cells(path), Limits()).submission(exercise).defined
    assert "helper" not in sys.modules


@pytest.mark.parametrize("sandboxed", [True, False])
def test_the_learner_s_own_check_does_the_same(tmp_path, capsys, sandboxed):
    (tmp_path / "02_mine.ipynb").write_text(notebook(BY_HELPER))
    (tmp_path / "helper.py").write_text(HELPER)
    place = command.Place(catalogue(), tmp_path)
    started = command.ForkServer(tiers.PROCESS) if sandboxed else None
    command.check(place, [str(tmp_path / "02_mine.ipynb")], 1, started, as_json=True)
    exercises = json.loads(capsys.readouterr().out)["exercises"]
    assert next(each for each in exercises if each["exercise"] == "02.3")["earned"] == 6


BY_TOTAL = "def attend(weights, values):\n    return total(weights[..., None] * values)\n"
TOO_FAR = "import torch\n\ndef total(products):\n    return torch.softmax(products.sum(7), 0)\n"


@pytest.mark.parametrize("tier", [tiers.PROCESS, *LOCKED])
def test_the_line_of_a_helper_is_told_with_its_cell_or_its_file(hand_in, tier):
    record = hand_in({"02.ipynb": notebook(TOO_FAR, BY_TOTAL)}, tier=tier)
    assert "IndexError in line 4 of code cell 1 (`return torch.softmax(" in record.findings[0].problem
    record = hand_in({"02.ipynb": notebook("from helper import total", BY_TOTAL), "helper.py": TOO_FAR}, tier=tier)
    assert "IndexError in line 4 of helper.py (`return torch.softmax(" in record.findings[0].problem
    endless = "def total(products):\n    while True: pass\n"
    record = hand_in({"02.ipynb": notebook(endless, BY_TOTAL)}, tier=tier)
    assert "still in line 2 of code cell 1 (`while True: pass`)" in record.findings[0].problem


def test_a_place_that_no_worker_of_ours_names_is_not_told():
    read = after_running("02.ipynb", [Cell("code cell 1", "x = 1")], [], [])
    places = [
        read.place(each) for each in ("<cell 0>", "<cell 1>", "<cell -1>", "helper.py", "/etc/a.py", "a b.py", "\x1b")
    ]
    assert places == ["code cell 1", "", "", "helper.py", "", "", ""]
