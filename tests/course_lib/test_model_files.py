import json

import pytest
import torch
from torch import nn

from course_lib import capstone, files, pretrained
from course_lib.model_files import files_of, load_model, save_model

SIZE = {"in_features": 3, "out_features": 2}


@pytest.fixture
def base(tmp_path):
    save_model(nn.Linear(**SIZE), tmp_path / "line.v2", SIZE, {"note": "fünf"})
    return tmp_path / "line.v2"


def test_weights_come_back_rounded_to_half_precision_and_numbers_as_they_are(tmp_path):
    model = nn.BatchNorm1d(4)
    model(torch.rand(8, 4))
    save_model(model, tmp_path / "norm", {"num_features": 4}, {"steps": 1})
    again, said = load_model(tmp_path / "norm", nn.BatchNorm1d)
    assert said == {"configuration": {"num_features": 4}, "steps": 1} and not again.training
    for name, tensor in model.state_dict().items():
        expected = tensor.half().float() if tensor.is_floating_point() else tensor
        assert torch.equal(again.state_dict()[name], expected) and again.state_dict()[name].dtype == tensor.dtype


def test_a_dot_in_the_name_is_part_of_it(base):
    assert sorted(path.name for path in base.parent.iterdir()) == ["line.v2.json", "line.v2.safetensors"]
    assert load_model(base, nn.Linear)[1]["note"] == "fünf"


@pytest.mark.parametrize("moves", [0, 1])
def test_a_write_that_is_cut_off_leaves_no_half_of_a_file(base, monkeypatch, moves):
    settle, done = files._settle, []

    def cut_off(part, path):
        if len(done) == moves:
            raise KeyboardInterrupt
        done.append(path)
        settle(part, path)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(files, "_settle", cut_off)
        save_model(nn.Linear(**SIZE), base, SIZE, {})
    load_model(base, nn.Linear)
    assert len(list(base.parent.iterdir())) == 2


def test_files_that_are_missing_or_broken_are_one_sentence(base):
    weights, content = files_of(base)
    for path in (weights, content):
        whole = path.read_bytes()
        for broken in (b"", whole[:40], b"[]", b"{}", b'{"configuration": 3}', b"\xff\x00", b"[" * 100_000):
            path.write_bytes(broken)
            with pytest.raises(ValueError, match=f"{path.name} is broken: .") as error:
                load_model(base, nn.Linear)
            assert "\n" not in str(error.value)
        path.unlink()
        with pytest.raises(ValueError, match=f"there is no model .*line.v2: {path.name} is missing$"):
            load_model(base, nn.Linear)
        path.write_bytes(whole)


def test_files_of_another_model_are_one_sentence(base):
    with pytest.raises(
        ValueError, match="the configuration is that of another model: .*'normalized_shape'.*line.v2.json"
    ):
        load_model(base, nn.LayerNorm)
    _, content = files_of(base)
    content.write_text(json.dumps({"configuration": {"in_features": 5, "out_features": 2}}))
    with pytest.raises(ValueError, match="the weights are those of another model: .*size mismatch") as error:
        load_model(base, nn.Linear)
    assert "\n" not in str(error.value)


def test_every_reader_says_so(base, tmp_path):
    with pytest.raises(ValueError, match="there is no model .*mine: mine.safetensors and mine.json are missing"):
        capstone.load_caption_transformer(base=tmp_path / "mine")
    for reader in (lambda: capstone.load_caption_transformer(base=base), lambda: pretrained.load("line.v2", tmp_path)):
        with pytest.raises(ValueError, match="the configuration is that of another model"):
            reader()
