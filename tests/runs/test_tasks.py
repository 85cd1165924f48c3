"""Each task from its first step to what one does with the model."""

import csv
import json
import os
import signal
import sys

import pytest
import torch

from course_lib import pretrained
from course_lib.data import corpora, imdb, multi30k
from course_lib.data.text_files import Pairs
from course_lib.models.language_model import LanguageModel
from course_lib.models.recipes import RECIPES
from course_lib.project import CourseError
from course_lib.runs import curves, evaluate, language_models, loop, publish, sample, train
from course_lib.runs.finished import open_run
from tests.runs.examples import TINY, weights, write_pairs

TEXT = "The cat sat on the mat, naïvely. The dog sat on the log.\n" * 30


@pytest.fixture
def file(tmp_path):
    return {
        "translation": write_pairs(tmp_path / "pairs.txt"),
        "classifier": write_pairs(tmp_path / "pairs.txt"),
        "language-model": str(tmp_path / "text.txt"),
    }


def trained(tmp_path, task, **given):
    out = tmp_path / "run"
    given = ({"batch": 7} if task == "captioner" else TINY) | {"steps": 4, "every": 2} | given
    assert train.train(task, out=out, **given) == 0
    return out


@pytest.mark.parametrize("task", ["translation", "classifier", "language-model", "captioner"])
def test_the_embedded_data_end_in_a_folder_with_everything(tmp_path, capsys, monkeypatch, task):
    monkeypatch.setattr(loop, "draw_curves", curves.draw_curves)
    run = trained(tmp_path, task)
    said = capsys.readouterr().out
    with (run / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["0", "2", "4"]
    assert rows[0]["training loss"] == "" and float(rows[1]["training loss"]) > 0
    assert all(bool(row["accuracy"]) == (task != "language-model") for row in rows)
    assert (run / "samples.txt").read_text().count("── step") == 3
    assert (run / "curves.png").read_bytes()[1:4] == b"PNG"
    facts = json.loads((run / "config.json").read_text())
    assert f"{facts['parameters']:,} parameters" in said and "4 steps with batches of 7 on cpu: about" in said
    assert f"course evaluate {run}" in said and f"course sample {run}" in said
    sample.sample(run)
    assert capsys.readouterr().out.strip()


def test_the_same_command_makes_the_same_run(tmp_path):
    first = (trained(tmp_path / "1", "classifier") / "samples.txt").read_text()
    assert first == (trained(tmp_path / "2", "classifier") / "samples.txt").read_text()
    assert first != (trained(tmp_path / "3", "classifier", seed=1) / "samples.txt").read_text()


@pytest.mark.parametrize("vocabulary", ["characters", "byte-pairs"])
def test_a_text_of_ones_own(tmp_path, capsys, file, vocabulary):
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    given = {"data": file["language-model"], "context": 16, "vocabulary": vocabulary, "entries": 270, "dropout": 0.0}
    run = trained(tmp_path, "language-model", **given)
    opened = open_run(run)
    with torch.no_grad():
        opened.model.embed.weight.zero_()  # then every token is as likely, and bits can be counted by hand
    held_out = opened.task.texts["val"]
    tokens = opened.task.vocabulary.encode(held_out)
    first = len(opened.task.vocabulary.decode(tokens[:1]))
    bits = (len(tokens) - 1) * torch.tensor(len(opened.task.vocabulary)).log2().item() / (len(held_out) - first)
    assert opened.task.measure(opened.model).loss == pytest.approx(bits, rel=1e-5)
    assert len(tokens) < len(held_out) or vocabulary == "characters"
    capsys.readouterr()
    evaluate.evaluate(run)
    assert "the best n-gram" in capsys.readouterr().out
    sample.sample(run, prompt="The dog", temperature=0.5, top_k=3, length=5, number=2, seed=1)
    first = capsys.readouterr().out
    assert first.count("The dog") == 2
    sample.sample(run, prompt="The dog", temperature=0.5, top_k=3, length=5, number=2, seed=1)
    assert capsys.readouterr().out == first


def test_pairs_of_ones_own(tmp_path, capsys, file):
    run = trained(tmp_path, "translation", data=file["translation"], vocabulary="words", smoothing=0.1)
    capsys.readouterr()
    evaluate.evaluate(run)
    said = capsys.readouterr().out
    assert "nats a token" in said and "translations right" in said and "BLEU" in said
    sample.sample(run, prompt="one two", beam=3)
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_labels_of_ones_own(tmp_path, capsys):
    (tmp_path / "lines.txt").write_text("".join(f"{'ab'[n % 2]}\t{['yes', 'no'][n % 2]} {n}\n" for n in range(40)))
    run = trained(tmp_path, "classifier", data=str(tmp_path / "lines.txt"))
    capsys.readouterr()
    evaluate.evaluate(run)
    assert "texts right" in capsys.readouterr().out
    sample.sample(run, prompt="yes")
    said = capsys.readouterr().out.split()
    assert sorted(said[1::2]) == ["a", "b"]
    assert sum(float(share.rstrip("%")) for share in said[::2]) == pytest.approx(100, abs=0.2)


REAL = {
    "multi30k": ("translation", {"entries": 300}),
    "imdb": ("classifier", {"entries": 30}),
    "tiny-shakespeare": ("language-model", {"context": 16}),
    "enwik8": ("language-model", {"context": 16, "entries": 280}),
}


@pytest.mark.parametrize("data", REAL)
def test_real_data_go_the_same_way(tmp_path, monkeypatch, capsys, data):
    pairs = Pairs(
        (("a dog runs", "ein Hund rennt"), ("a cat sits on a mat", "eine Katze sitzt auf einer Matte")) * 5, 0
    )
    monkeypatch.setattr(multi30k, "load", lambda split: pairs)
    monkeypatch.setattr(imdb, "load", lambda split: imdb.Reviews(["A fine film.", "A dull one."] * 5, [1, 0] * 5))
    monkeypatch.setattr(corpora, "load", lambda name, split: TEXT)
    task, given = REAL[data]
    run = trained(tmp_path, task, data=data, **given)
    capsys.readouterr()
    evaluate.evaluate(run)
    assert f"{task} on {data}, after 4 of 4 steps" in capsys.readouterr().out


def test_a_captioner_writes_a_picture(tmp_path, capsys):
    run = trained(tmp_path, "captioner")
    sample.sample(run, number=3)
    assert (run / "captions.png").read_bytes()[1:4] == b"PNG"
    evaluate.evaluate(run)
    assert "captions right" in capsys.readouterr().out


def test_a_published_model_is_the_one_that_was_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["course", "train", "language-model", "--out", "one place", "--seed", "3"])
    run = trained(tmp_path, "language-model")
    publish.publish(run, tmp_path / "small")
    model, facts = pretrained.load("small", folder=tmp_path)
    opened = open_run(run)
    tokens = torch.randint(96, (2, 20))
    assert torch.allclose(model(tokens), opened.model(tokens), atol=1e-2) and not model.training
    assert next(model.parameters()).dtype == torch.float32
    assert facts["bits_per_character"] == pytest.approx(opened.task.measure(model, thorough=True).loss, abs=1e-4)
    assert facts["parameters"] == sum(parameter.numel() for parameter in model.parameters())
    assert facts["torch"] == torch.__version__ and facts["command"] == "course train language-model --seed 3"
    with pytest.raises(CourseError, match="exists"):
        publish.publish(run, tmp_path / "small.safetensors")
    publish.publish(run, tmp_path / "small.safetensors", force=True)
    with pytest.raises(ValueError, match="expected one of small"):
        pretrained.load("large", folder=tmp_path)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_run_knows_its_recipe_whoever_takes_it_up(tmp_path, monkeypatch, capsys, recipe):
    step = loop.Loop.step

    def stopped_after_the_second(self):
        result = step(self)
        if self.training.step == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return result

    whole = trained(tmp_path, "language-model", recipe=recipe)
    monkeypatch.setattr(loop.Loop, "step", stopped_after_the_second)
    stopped = tmp_path / "stopped"
    assert train.train("language-model", out=stopped, steps=4, every=2, recipe=recipe, **TINY) == 130
    monkeypatch.setattr(loop.Loop, "step", step)
    assert train.train(None, resume=stopped) == 0
    torch.testing.assert_close(weights(stopped), weights(whole), rtol=0, atol=0)
    opened = open_run(stopped)
    assert opened.settings.recipe == recipe
    due = RECIPES[recipe](len(opened.task.vocabulary), opened.settings.context, 8, 2, 1)
    assert repr(opened.model) == repr(due.eval()) and opened.model.state_dict().keys() == due.state_dict().keys()
    capsys.readouterr()
    sample.sample(stopped, prompt="def ", length=20, seed=1)
    said = capsys.readouterr().out
    sample.sample(whole, prompt="def ", length=20, seed=1)
    assert capsys.readouterr().out == said
    publish.publish(stopped, tmp_path / "small")
    model, facts = pretrained.load("small", folder=tmp_path)
    assert facts["configuration"]["recipe"] == recipe
    tokens = torch.randint(96, (2, 20))
    assert torch.allclose(model(tokens), opened.model(tokens), atol=1e-2)
    assert facts["bits_per_character"] == pytest.approx(opened.task.measure(model, thorough=True).loss, abs=1e-4)


def test_a_run_of_before_there_were_recipes_is_the_default(tmp_path, capsys):
    run = trained(tmp_path, "language-model")
    content = json.loads((run / "config.json").read_text())
    assert content["settings"].pop("recipe") is None
    (run / "config.json").write_text(json.dumps(content))
    assert repr(open_run(run).model) == repr(LanguageModel(96, 96, 8, 2, 1).eval())


def test_options_of_another_task_and_impossible_ones_are_one_sentence(tmp_path):
    run = trained(tmp_path, "classifier")
    with pytest.raises(CourseError, match="only a language model"):
        publish.publish(run, tmp_path / "small")
    for given in ({"temperature": 1.0}, {"beam": 2}, {"top_k": 3}):
        with pytest.raises(CourseError, match="is not for a classifier, which takes `--prompt`"):
            sample.sample(run, **given)
    with pytest.raises(CourseError, match="is not in the vocabulary"):
        sample.sample(run, prompt="the plot was splendid")
    for look in (evaluate.evaluate, sample.sample):
        with pytest.raises(CourseError, match="is no run"):
            look(tmp_path / "nothing")


def test_tensorboard_gets_the_numbers(tmp_path):
    pytest.importorskip("tensorboard")
    run = trained(tmp_path, "classifier", tensorboard=True)
    assert list((run / "tensorboard").glob("events.*"))


def test_a_classifier_without_layers_is_a_bag_of_words(tmp_path):
    run = trained(tmp_path, "classifier", layers=0)
    model = open_run(run).model
    assert not model.blocks and not model.embed.positions


def test_a_quick_look_sees_the_text_from_its_first_to_its_last_character():
    text = "".join(chr(place) for place in range(0x4E00, 0x4E00 + 20_000))
    seen = language_models.pieces(text)
    assert len(seen) == 10_000 and seen[0] == text[0] and ord(text[-1]) - ord(seen[-1]) < 10
    assert all(seen[start : start + 1000] in text for start in range(0, 10_000, 1000))
