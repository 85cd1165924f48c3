import json
import os
from pathlib import Path

import pytest
import torch

from course_lib import files
from course_lib.checkpoints import read_checkpoint, write_checkpoint


def test_what_is_written_is_read_and_the_old_is_gone(tmp_path):
    for step in (1, 20):
        tensors = {"weight": torch.full((2, 3), float(step)), "generator": torch.Generator().get_state()}
        write_checkpoint(tmp_path, tensors, {"step": step, "note": "f\u00fcnf"})
    read, facts = read_checkpoint(tmp_path)
    assert facts == {"step": 20, "note": "f\u00fcnf"} and read.keys() == tensors.keys()
    assert all(torch.equal(read[name], tensors[name]) for name in tensors)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-00000020.safetensors", "checkpoint.json"]


def test_tensors_that_are_views_are_written_whole(tmp_path):
    tensor = torch.arange(6.0).view(2, 3)
    write_checkpoint(tmp_path, {"turned": tensor.T, "row": tensor[0]}, {"step": 1})
    read, _ = read_checkpoint(tmp_path)
    assert torch.equal(read["turned"], tensor.T) and torch.equal(read["row"], tensor[0])


@pytest.mark.parametrize("moves", [0, 1])
def test_a_write_that_is_cut_off_leaves_the_old_checkpoint(tmp_path, monkeypatch, moves):
    """Whether it ends before the tensors have their name, or before the facts have theirs."""
    write_checkpoint(tmp_path, {"weight": torch.zeros(2)}, {"step": 1})
    settle, made = files._settle, []

    def cut_off(part, path):
        if len(made) == moves:
            raise KeyboardInterrupt
        made.append(path)
        settle(part, path)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(files, "_settle", cut_off)
        write_checkpoint(tmp_path, {"weight": torch.ones(2)}, {"step": 2})
    tensors, facts = read_checkpoint(tmp_path)
    assert facts == {"step": 1} and torch.equal(tensors["weight"], torch.zeros(2))
    write_checkpoint(tmp_path, {"weight": torch.ones(2)}, {"step": 3})
    assert read_checkpoint(tmp_path)[1] == {"step": 3}


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(os, "fsync", lambda number: order.append("on disk"))
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: (order.append("named"), replace(self, to)))
    write_checkpoint(tmp_path, {"weight": torch.zeros(2)}, {"step": 1})
    assert order == ["on disk", "named"] * 2


def test_each_way_of_being_broken_is_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="there is no checkpoint in .*: checkpoint.json is missing"):
        read_checkpoint(tmp_path)
    write_checkpoint(tmp_path, {"weight": torch.zeros(200)}, {"step": 1})
    facts, tensors = tmp_path / "checkpoint.json", tmp_path / "checkpoint-00000001.safetensors"
    whole, content = facts.read_text(), tensors.read_bytes()
    for broken in (whole[:10], "[]", json.dumps({"step": 1}), "\x00"):
        facts.write_text(broken)
        with pytest.raises(ValueError, match="is broken"):
            read_checkpoint(tmp_path)
    facts.write_text(whole)
    for broken in (content[:50], b"", content[:-1], b"\xff" * 100):
        tensors.write_bytes(broken)
        with pytest.raises(ValueError, match="is broken"):
            read_checkpoint(tmp_path)
    tensors.unlink()
    with pytest.raises(ValueError, match="there is no checkpoint in .*: checkpoint-00000001.safetensors is missing"):
        read_checkpoint(tmp_path)
