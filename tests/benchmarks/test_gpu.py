"""The row of the GPU, on a processor: a tiny model, and the functions of the card replaced."""

import pytest
import torch
from torch import nn

from benchmarks.implementations import Sizes, gather
from benchmarks.rows import gpu


@pytest.fixture
def compiled(monkeypatch):
    """Make everything tiny; return the list of what is compiled."""
    tiny = {
        "DEVICE": "cpu",
        "BATCH": 2,
        "SIDE": 8,
        "SECONDS": 0,
        "SIZES": Sizes(20, width=16, heads=2, layers=1, context=8),
    }
    for name, value in tiny.items():
        monkeypatch.setattr(gpu, name, value)
    monkeypatch.delenv("PEERS_DIR", raising=False)
    seen = []
    monkeypatch.setattr(torch, "compile", lambda net, **_: seen.append(net) or net)
    return seen


def test_without_a_gpu_it_is_said(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (row,) = gpu.rows()
    assert row.measured == [] and row.notes == ["Not measured: there is no GPU here."]


def test_all_that_is_measured_is_told_with_tokens_and_utilisation(monkeypatch, compiled):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "card of a test")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    (row,) = gpu.rows()
    assert [each.name for each in row.measured] == ["ours", "torch", "ours, compiled"] and row.goals == []
    assert len(compiled) == 2 and compiled[1] is gpu.losses_in_float32
    told = "\n".join(row.notes)
    assert "nanoGPT is left out" in told and "On one card of a test" in told and told.count("ours, compiled: ") == 2


@pytest.mark.parametrize("name", ["ours", "torch", "ours, compiled"])
def test_each_step_changes_the_weights_and_computes_with_half_the_bits(name, compiled):
    made = gather("language_model", gpu.SIZES)[0]
    models = {each: made[each] for each in ("ours", "torch")}
    module, seen = models[name.partition(",")[0]].module, set()
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            layer.register_forward_hook(lambda *call: seen.add(call[2].dtype))
    before = nn.utils.parameters_to_vector(module.parameters()).clone()
    gpu._steps(models)[name]()
    assert not before.equal(nn.utils.parameters_to_vector(module.parameters()))
    assert seen == {torch.bfloat16}
