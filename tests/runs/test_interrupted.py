"""A run that was killed or stopped and went on ends as one that was left in peace."""

import subprocess
import sys

import pytest
import torch

from course_lib.checkpoints import read_checkpoint
from course_lib.project import root
from tests.runs.examples import rows, write_pairs
from tests.seed import SEED

WAYS = ("step", "samples", "tensors", "facts", "old", "stopped")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    file = write_pairs(folder / "pairs.txt")
    script = root() / "tests" / "runs" / "killing.py"
    environment = {"PYTHONPATH": str(root()), "OMP_NUM_THREADS": "1", "COURSE_TEST_SEED": str(SEED)}
    command = [sys.executable, script, folder, file]
    done = subprocess.run(command, cwd=root(), env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "said.txt").write_text(done.stdout)
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_ends_with_the_same_bits(folder, way):
    expected, _ = read_checkpoint(folder / "whole")
    found, facts = read_checkpoint(folder / way)
    assert facts["step"] == 13
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name


@pytest.mark.parametrize("way", WAYS)
def test_has_every_row_and_sample_once(folder, way):
    assert rows(folder / way) == rows(folder / "whole")
    assert [row.split(",")[0] for row in rows(folder / way)] == ["step", "0", "5", "10", "13"]
    assert (folder / way / "samples.txt").read_text() == (folder / "whole" / "samples.txt").read_text()


def test_leaves_one_checkpoint_and_nothing_half_written(folder):
    expected = sorted(path.name for path in (folder / "whole").iterdir())
    assert expected == [
        "checkpoint-00000013.safetensors",
        "checkpoint.json",
        "config.json",
        "curves.png",
        "metrics.csv",
        "samples.txt",
        "vocabulary.json",
    ]
    for way in WAYS:
        assert sorted(path.name for path in (folder / way).iterdir()) == expected, way


def test_says_how_to_go_on(folder):
    assert f"course train --resume {folder / 'stopped'}" in (folder / "said.txt").read_text()
