"""Where a run computes, on machines that are not here: a Mac is simulated by tensors that refuse float64."""

import pytest
import torch
from torch import nn

from course_lib import positions
from course_lib.project import CourseError
from course_lib.runs import devices, evaluate, train
from course_lib.runs.folder import RunFolder
from course_lib.runs.settings import on_device, settle

SMALL = {
    "language-model": {"context": 16, "vocabulary": None},
    "translation": {},
    "classifier": {"dropout": 0.1},
    "captioner": {},
}


@pytest.fixture
def machine(monkeypatch):
    """Return a function that says what torch finds."""

    def machine(cuda=False, mps=False, processes=1):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
        monkeypatch.setattr(devices, "world_size", lambda: processes)

    return machine


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        ({}, "cpu"),
        ({"cuda": True}, "cuda"),
        ({"mps": True}, "mps"),
        ({"cuda": True, "mps": True}, "cuda"),
        ({"mps": True, "processes": 2}, "cpu"),
        ({"cuda": True, "processes": 2}, "cuda"),
    ],
)
def test_the_fastest_device_is_chosen_and_any_other_can_be_asked_for(machine, there, chosen):
    machine(**there)
    assert devices.choose() == chosen == settle("classifier").device
    assert devices.choose("cpu") == "cpu" and devices.choose(chosen) == chosen


@pytest.mark.parametrize(
    ("there", "wanted", "sentence"),
    [
        ({}, "cuda", "`--device` is 'cuda', but torch finds no GPU here: expected one of cpu"),
        ({"cuda": True}, "mps", "torch finds no graphics of a Mac here: expected one of cuda, cpu"),
        ({"mps": True, "processes": 2}, "mps", "several processes cannot share the graphics of a Mac: expected"),
        ({"mps": True}, "tpu", "`--device` is 'tpu', but there is none of that name: expected one of mps, cpu"),
    ],
)
def test_a_device_that_is_not_there_is_one_sentence_with_those_that_are(machine, there, wanted, sentence):
    machine(**there)
    with pytest.raises(CourseError, match=sentence):
        devices.choose(wanted)


def test_what_a_mac_cannot_do_is_said_and_left_out_when_a_run_goes_on(machine):
    machine(mps=True)
    with pytest.raises(CourseError, match="`--bf16` is faster on a GPU only"):
        settle("classifier", bf16=True)
    with pytest.raises(CourseError, match="`--compile` is for cpu and cuda: leave it out, or add `--device cpu`"):
        settle("translation", compile=True)
    machine(cuda=True)
    begun = settle("translation", compile=True)
    machine(mps=True)
    with pytest.raises(CourseError, match="'cuda', but torch finds no GPU here: expected one of mps, cpu"):
        on_device(begun, None)
    assert on_device(begun, "mps").compile is False


# ---------------------------------------------------------------- a run on a Mac


class OnMac(torch.Tensor):
    """A tensor on the graphics of a Mac, as far as its numbers go: none is of float64, and `cpu` brings it back."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        found = super().__torch_function__(function, types, args, kwargs or {})
        if function is torch.Tensor.cpu:
            return found.as_subclass(torch.Tensor)
        if isinstance(found, OnMac) and found.dtype in (torch.float64, torch.complex128):
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64")
        return found


@pytest.fixture
def mac(machine, monkeypatch):
    """Make `to("mps")` give such tensors; return the list of seeds with which its own draws are started."""
    machine(mps=True)
    seeds, to = [], torch.Tensor.to

    def tensor_to(tensor, *places, **options):
        kept = [each for each in places if str(each) != "mps"]
        moved = to(tensor, *kept, **options) if kept or options else tensor
        return moved if len(kept) == len(places) else moved.as_subclass(OnMac)

    def module_to(module, place):
        for part in module.modules():
            for name, parameter in part._parameters.items():
                if parameter is not None and str(place) == "mps":
                    part._parameters[name] = nn.Parameter(parameter.detach().as_subclass(OnMac))
        return module

    monkeypatch.setattr(torch.Tensor, "to", tensor_to)
    monkeypatch.setattr(nn.Module, "to", module_to)
    monkeypatch.setattr(torch.mps, "manual_seed", seeds.append)
    return seeds


@pytest.mark.parametrize("task", SMALL)
def test_a_run_needs_no_float64_on_a_mac_and_repeats_itself(mac, tmp_path, capsys, task):
    out, again = tmp_path / "run", tmp_path / "again"
    given = SMALL[task] | {"steps": 3, "batch": 4, "width": 8 if task == "captioner" else 16, "every": 3}
    assert train.train(task, out=out, **given) == 0
    assert RunFolder(out).read_configuration()[0].device == "mps"
    assert "steps with batches of 4 on mps" in capsys.readouterr().out
    seeds, mac[:] = list(mac), []
    assert len(set(seeds) - {0}) == 3  # another for each step, beside that of `torch.manual_seed(0)`
    assert train.train(task, out=again, **given) == 0 and mac == seeds
    evaluate.evaluate(out, "mps")
    assert "held-out loss" in capsys.readouterr().out


def test_the_angles_of_positions_are_computed_where_there_is_float64(mac):
    there = positions._turns(8, 6, torch.complex64, torch.device("mps"))
    assert isinstance(there, OnMac) and there.dtype == torch.complex64
    assert torch.equal(there.cpu(), positions._turns(8, 6, torch.complex64, torch.device("cpu")))
