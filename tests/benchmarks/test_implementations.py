"""Who can be measured; that absence is told; and that the bare loops write what our models write."""

from dataclasses import replace
from types import ModuleType

import pytest
import torch

from benchmarks.flops import SIDE, utilisation
from benchmarks.implementations import ALL, PADDING, START, Sizes, bare, commits, gather, ours
from benchmarks.peers import AbsentError, definitions, folder, module
from benchmarks.results import commit
from benchmarks.rows.writing import check_same

SIZES = Sizes(vocab=20, width=16, heads=2, layers=2, context=12)
PEERS = [name for name, _, peer in ALL if peer is not None]


@pytest.fixture
def peers(tmp_path, monkeypatch):
    monkeypatch.setenv("PEERS_DIR", str(tmp_path))
    return tmp_path


def batch():
    source = torch.randint(START + 1, SIZES.vocab, (3, 6))
    source[1, 4:] = PADDING
    targets = torch.randint(START + 1, SIZES.vocab, (3, 5))
    return source, torch.cat([torch.full((3, 1), START), targets[:, :-1]], dim=1), targets


def test_without_peers_torch_stays_and_who_is_missing_is_told(monkeypatch):
    monkeypatch.delenv("PEERS_DIR", raising=False)
    layers, notes = gather("attention_layer", SIZES)
    assert list(layers) == ["ours", "torch"]
    assert "nanoGPT is left out: PEERS_DIR names no folder." in notes
    assert list(gather("language_model", SIZES)[0]) == ["ours", "torch"]
    assert list(gather("writer", SIZES)[0]) == ["ours", "bare loop"]
    assert list(gather("encoder_decoder", SIZES)[0]) == ["ours", "torch"]
    told = {
        note.partition(" is left out")[0]
        for use in ("language_model", "encoder_decoder")
        for note in gather(use, SIZES)[1]
    }
    assert told == set(PEERS) and commits() == {}


def test_layers_keep_the_shape_and_see_no_future():
    inputs = torch.randn(2, 7, SIZES.width)
    later = torch.cat([inputs[:, :4], torch.randn(2, 3, SIZES.width)], dim=1)
    for layer in gather("attention_layer", SIZES)[0].values():
        output = layer(inputs)
        assert output.shape == inputs.shape
        torch.testing.assert_close(output[:, :4], layer(later)[:, :4])


@pytest.mark.parametrize("use", ["language_model", "encoder_decoder"])
def test_losses_begin_near_that_of_a_guess_and_reach_every_parameter(use):
    source, words, targets = batch()
    guess = torch.tensor(float(SIZES.vocab)).log()
    for model in gather(use, SIZES)[0].values():
        loss = model.loss(words, targets) if use == "language_model" else model.loss(source, words, targets)
        assert abs(loss.item() - guess) < 1.5
        loss.backward()
        assert all(parameter.grad is not None for parameter in model.module.parameters())


def test_the_bare_loop_writes_what_our_language_model_writes():
    sizes = replace(SIZES, vocab=96, width=32, context=40)
    writers = {"ours": gather("writer", sizes)[0]["ours"], "bare loop": gather("writer", sizes)[0]["bare loop"]}
    check_same(writers, sizes.vocab)
    writers["bare loop"] = lambda prompt, length: writers["ours"](prompt.flip(1), length)
    with pytest.raises(ValueError, match="bare loop writes other tokens than ours"):
        check_same(writers, sizes.vocab)
    with pytest.raises(ValueError, match="hardly any different tokens"):
        check_same({"ours": lambda prompt, length: torch.zeros(1, 20 + length)}, sizes.vocab)


def test_the_bare_loop_writes_what_our_encoder_and_decoder_writes():
    model = ours.encoder_decoder(SIZES)
    ours.talkative(model.module, model.module.decoder_norm)
    source = batch()[0]
    written = model.write(source, 8)
    assert len(set(written.flatten().tolist())) > 3
    assert bare.translator(SIZES, model.module)(source, 8).tolist() == written.tolist()
    assert model.write(source, 8, cached=False).tolist() == written.tolist()


def test_torch_writes_for_every_source():
    torch_model = gather("encoder_decoder", SIZES)[0]["torch"]
    torch_model.module.eval()
    assert torch_model.write(batch()[0], 5).shape == (3, 5)


def test_a_peer_is_imported_from_its_folder(peers):
    with pytest.raises(AbsentError, match="no somebody in PEERS_DIR"):
        folder("somebody")
    (peers / "somebody" / "code").mkdir(parents=True)
    (peers / "somebody" / "code" / "their_model_of_a_test.py").write_text("WIDTH = 3\n")
    (peers / "somebody" / "COMMIT").write_text("0123456789abcdef\n")
    assert module("somebody", "their_model_of_a_test", within="code").WIDTH == 3
    assert commit(folder("somebody")) == "0123456789"
    with pytest.raises(AbsentError, match="somebody cannot be imported: No module named 'their_other_model'"):
        module("somebody", "their_other_model", within="code")


def test_definitions_alone_are_executed(peers):
    (peers / "somebody").mkdir()
    code = "import nowhere\nraise SystemExit\n\n\ndef double(x):\n    return FACTOR * x\n\n\nclass Other:\n    pass\n"
    (peers / "somebody" / "model.py").write_text(code)
    given = ModuleType("given")
    given.FACTOR = 2
    definitions("somebody", "model.py", ["double"], given)
    assert given.double(4) == 8 and not hasattr(given, "Other")
    with pytest.raises(AbsentError, match="somebody has no triple in model.py"):
        definitions("somebody", "model.py", ["double", "triple"], given)
    with pytest.raises(AbsentError, match="no chapter.md in somebody"):
        definitions("somebody", "chapter.md", ["double"], given)


def test_definitions_of_a_chapter_are_those_of_its_blocks(peers):
    (peers / "somebody").mkdir()
    block = "```{{.python .input}}\n%%tab {0}\ndef f():\n    return {0!r}\n```\n\n"
    text = "Words.\n\n" + block.format("one") + block.format("two")
    (peers / "somebody" / "chapter.md").write_text(text)
    given = ModuleType("given")
    definitions("somebody", "chapter.md", ["f"], given, fence="%%tab two")
    assert given.f() == "two"


def test_utilisation_counts_six_for_each_parameter_and_token_and_half_of_attention():
    # 10 tokens: 6 * 100 * 10 for the parameters, 6 * 2 layers * width 16 * 5 positions * 10 for attention.
    used = utilisation(100, SIZES, batch=2, time=5, step=2.0, peak=1.0)
    assert used == pytest.approx((6000 + 9600) / 2.0 / (2 * SIDE**3))
