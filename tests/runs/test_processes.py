"""Two processes with half of each batch, or one with its halves one after the other: always the same training."""

import json
import subprocess
import sys

import pytest
import torch

from course_lib.project import root
from course_lib.runs import stopping, train
from tests.runs.examples import TINY, rows, weights, write_pairs

LAST = 20
OPTIONS = TINY | {"steps": LAST + 4, "every": LAST // 2, "vocabulary": "words", "dropout": 0.0}


@pytest.fixture(autouse=True)
def precise():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def torchrun(*arguments):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {"PYTHONPATH": str(root()), "OMP_NUM_THREADS": "1", "PATH": ""}
    return subprocess.run([*launcher, *arguments], cwd=root(), env=environment, capture_output=True, text=True)


def until_the_last(monkeypatch, **options):
    """Train in one process, and stop after LAST steps."""
    with monkeypatch.context() as patched:
        asked = []
        patched.setattr(stopping.Stopping, "wanted", lambda _: asked.append(0) or len(asked) > LAST)
        assert train.train("translation", **OPTIONS, **options) == 130


def assert_equal(first, second):
    expected = weights(second)
    for name, tensor in weights(first).items():
        assert (tensor - expected[name]).abs().max() < 1e-5, name
    numbers = zip(rows(first)[1:], rows(second)[1:], strict=True)
    for one, other in numbers:
        for own, true in zip(one.split(","), other.split(","), strict=True):
            assert own == true or abs(float(own) - float(true)) < 1e-5


def test_two_processes_follow_one_and_one_goes_on_with_their_run(tmp_path, monkeypatch):
    file = write_pairs(tmp_path / "pairs.txt")
    together, alone = tmp_path / "together", tmp_path / "alone"
    done = torchrun(str(root() / "tests" / "runs" / "two_processes.py"), str(together), file, str(LAST))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("--resume") == 1
    assert json.loads((together / "checkpoint.json").read_text())["step"] == LAST
    until_the_last(monkeypatch, data=file, out=alone)
    assert_equal(together, alone)
    assert train.train(None, resume=together) == train.train(None, resume=alone) == 0
    assert_equal(together, alone)


def test_a_batch_in_parts_is_the_same_batch(tmp_path):
    file = write_pairs(tmp_path / "pairs.txt")
    for parts in (1, 2):
        train.train("translation", data=file, accumulate=parts, out=tmp_path / str(parts), **OPTIONS)
    assert_equal(tmp_path / "1", tmp_path / "2")


def test_an_error_is_said_once(tmp_path):
    done = torchrun("-m", "course_lib", "train", "translation", "--batch", "1", "--out", str(tmp_path / "none"))
    assert done.returncode != 0
    assert (done.stdout + done.stderr).count("`--batch` is 1, expected at least 2") == 1
    assert not (tmp_path / "none").exists()
