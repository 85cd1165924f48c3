"""`check`, `hint` and `progress` in a notebook: what is shown, what is noted, and what does not end."""

import json
import subprocess
import sys
import time

import nbformat
import pytest
import torch
from nbclient import NotebookClient

from course_lib.grading import check, hint, notebook, progress
from course_lib.grading.catalogue import catalogue
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.worker import attempt


def late(weights, values):
    print("weights of shape", tuple(weights.shape))
    return (weights[..., None] * values).mean(dim=1)


def named(function, name="attend"):
    function.__name__ = name
    return function


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    folder = tmp_path / notebook.OWN_FOLDER
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(notebook, "_EARNED", {})
    return folder


def noted(folder):
    return json.loads((folder / ".progress.json").read_text(encoding="utf-8"))


def test_passing_in_a_notebook_of_one_s_own_is_progress(own_folder, capsys):
    check(named(lambda weights, values: (weights[..., None] * values).sum(dim=1)))
    assert noted(own_folder)["checks"]["02.3"]["earned"] == 6
    check(named(late))
    assert [noted(own_folder)["checks"]["02.3"][name] for name in ("earned", "best")] == [0, 6]
    hint("02.3"), hint("02.3")
    out = capsys.readouterr().out
    assert "hint 1 of 3" in out and 'the next says more: hint("02.3")' in out
    assert "hint 2 of 3" in out and noted(own_folder)["hints"] == {"02.3": 2}
    progress()
    assert "02.3" in capsys.readouterr().out


def test_the_points_of_several_functions_add_up(own_folder):
    for name, function in (
        ("numerical_gradient", lambda function, inputs, step: torch.zeros_like(inputs)),
        ("gradient_is_right", lambda function, gradient, inputs: True),
    ):
        check(named(function, name))
    earned = notebook._EARNED["08.5"]
    assert set(earned) == {"numerical_gradient", "gradient_is_right"}
    assert noted(own_folder)["checks"]["08.5"]["earned"] == sum(earned.values())


def test_nothing_is_noted_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(named(late))
    assert list(tmp_path.iterdir()) == []


def test_what_an_answer_prints_on_the_failing_case_is_shown_once(own_folder, capsys):
    check(named(late))
    assert capsys.readouterr().out.count("attend printed: weights of shape") == 1


def test_an_endless_loop_ends_with_the_sentence_that_the_shell_gives(own_folder, capsys, monkeypatch):
    monkeypatch.setattr(notebook, "Limits", lambda: Limits(step=0.2))
    monkeypatch.setattr(attempt, "ON_THE_CLOCK", 1000)  # on a busy machine that limit would strike first

    def attend(weights, values):
        while True:
            weights = weights + 1

    check(attend)
    out = " ".join(capsys.readouterr().out.split())
    assert "attend did not end in time, still in line" in out and "more than 0.2 seconds of computing" in out
    assert out.count("did not end") == 1


def test_time_that_others_use_is_not_counted(own_folder, capsys, monkeypatch):
    monkeypatch.setattr(notebook, "Limits", lambda: Limits(step=0.2))

    def attend(weights, values):
        time.sleep(0.02)
        return (weights[..., None] * values).sum(dim=1)

    check(attend)
    assert "6/6" in capsys.readouterr().out


def test_an_interrupt_shows_no_frame_of_ours(own_folder, capsys):
    def attend(weights, values):
        raise KeyboardInterrupt

    check(attend)
    assert capsys.readouterr().out == "Interrupted: attend was not checked.\n"


def test_in_jupyter_the_report_is_html_with_the_text_beside_it(own_folder, monkeypatch):
    shown = []
    monkeypatch.setattr(notebook, "_show", shown.append)
    check(named(late))
    (report,) = shown
    bundle = report._repr_mimebundle_()
    assert bundle["text/plain"].startswith("02.3  Attend") and 'hint: hint("02.3")' in bundle["text/plain"]
    assert bundle["text/html"].count('class="wrong"') and "this case as code" in bundle["text/html"]


@pytest.mark.parametrize(
    "change", [lambda: torch.set_grad_enabled(False), lambda: torch.set_default_dtype(torch.float64)]
)
def test_what_a_cell_sets_for_the_whole_notebook_costs_no_points(own_folder, capsys, change):
    grad, kind = torch.is_grad_enabled(), torch.get_default_dtype()
    try:
        change()
        check(catalogue().answers("05").function("scaled_dot_product_attention"))
    finally:
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(kind)
    assert "10/10    all right" in capsys.readouterr().out


def test_what_is_no_exception_ends_in_a_verdict(own_folder, capsys):
    def attend(weights, values):
        raise type("Odd", (BaseException,), {})("odd")

    check(attend)
    assert "attend stopped with Odd: odd" in " ".join(capsys.readouterr().out.split())


def test_one_who_sleeps_is_woken(own_folder, capsys, monkeypatch):
    monkeypatch.setattr(notebook, "Limits", lambda: Limits(step=0.1))

    def attend(weights, values):
        time.sleep(1000)

    check(attend)
    assert "more than 0.5 seconds on the clock" in " ".join(capsys.readouterr().out.split())


def test_what_torch_imports_for_its_transforms_is_imported_before_the_time_of_an_answer():
    """In a new process, where nothing has imported it; Jupyter keeps the texts of the cells in `In`."""
    code = """
import sys
from course_lib.grading import check
def attend(weights, values):
    seen.append("torch._dynamo" in sys.modules)
    return (weights[..., None] * values).sum(dim=1)
seen, In = [], ["from torch import func"]
check(attend)
print(seen[0])
In = 3  # a learner's own
check(attend)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "True" in ended.stdout.splitlines()


def test_in_a_real_kernel_a_line_of_a_helper_and_an_interrupt_are_told(own_folder):
    """What only a kernel shows: the numbers of cells, and a signal from the button that interrupts."""
    (own_folder / "helper.py").write_text("def total(products):\n    return products.sum(7)\n")
    answer = "def attend(weights, values):\n    return total(weights[..., None] * values)\n"
    interrupted = "import os, signal\ndef attend(weights, values):\n    os.kill(os.getpid(), signal.SIGINT)\n"
    sources = [
        "from course_lib.grading import check\n\ndef total(products):\n    print('seen')\n    return products.sum(7)",
        f"{answer}check(attend)",
        "from helper import total\ncheck(attend)",
        f"{interrupted}    while True:\n        pass\ncheck(attend)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in sources])
    NotebookClient(book, timeout=120, resources={"metadata": {"path": str(own_folder)}}).execute()
    shown = [[each.get("text") or each.data["text/plain"] for each in cell.outputs] for cell in book.cells]
    told = [" ".join(" ".join(each).split()) for each in shown]
    assert "in line 5 of cell In[1] (`return products.sum(7)`)" in told[1] and "attend printed: seen" in told[1]
    assert "in line 2 of helper.py (`return products.sum(7)`)" in told[2]
    assert "Interrupted: attend was not checked." in told[3]
