"""What cannot be is said in one sentence, and nothing is written."""

import dataclasses
import errno

import pytest

from course_lib import files
from course_lib.project import CourseError
from course_lib.runs import datasets, sample, train
from course_lib.runs.settings import settle
from tests.runs.examples import write_pairs

WRONG = {
    "there is no 'poet' to train": ("poet", {}),
    "what to train?": (None, {}),
    "imdb is data for the classifier, not for the translation: expected number-names, multi30k, or": (
        "translation",
        {"data": "imdb"},
    ),
    "nowhere.txt is neither a data set nor a file": ("language-model", {"data": "nowhere.txt"}),
    "here is a folder": ("language-model", {"data": "here"}),
    "pairs.txt is a file, but this task reads none": ("captioner", {"data": "pairs.txt"}),
    "a file is neither": ("classifier", {"data": "a file"}),
    "`--steps` is 0": ("classifier", {"steps": 0}),
    "`--batch` is -1": ("classifier", {"batch": -1}),
    "`--every` is 0": ("classifier", {"every": 0}),
    "`--width` is 50": ("classifier", {"width": 50, "heads": 4}),
    "`--layers` is 0": ("translation", {"layers": 0}),
    "`--learning-rate` is nan": ("classifier", {"learning_rate": float("nan")}),
    "`--dropout` is 1": ("classifier", {"dropout": 1.0}),
    "`--smoothing` is not for the classifier": ("classifier", {"smoothing": 0.1}),
    "`--recipe` is not for the translation": ("translation", {"recipe": "2017"}),
    "`--recipe` is 'tomorrow', expected one of 2017, today": ("language-model", {"recipe": "tomorrow"}),
    "`--context` is not for the captioner": ("captioner", {"context": 3}),
    "brings its own vocabulary": ("language-model", {"entries": 300}),
    "`--vocabulary` is 'runes'": ("translation", {"data": "pairs.txt", "vocabulary": "runes"}),
    "`--entries` is 9, expected at least 261": ("translation", {"data": "pairs.txt", "entries": 9}),
    "`--batch` is 2, too few to be cut into 3 parts": ("classifier", {"batch": 2, "accumulate": 3}),
    "the captioner normalises over whole batches": ("captioner", {"accumulate": 2}),
    "`--device` is 'tpu'": ("classifier", {"device": "tpu"}),
    "`--bf16` is faster on a GPU only": ("classifier", {"bf16": True, "device": "cpu"}),
    "line 2 has no tab": ("translation", {"data": "broken.txt"}),
    "has 1 labels in the lines to train with": ("classifier", {"data": "one.txt"}),
    "is too short": ("language-model", {"data": "one.txt", "context": 500}),
    "has something in it": ("classifier", {"out": "here"}),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_wrong_settings_are_one_sentence(tmp_path, sentence):
    name, given = WRONG[sentence]
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "thesis.tex").write_text("years of work")
    write_pairs(tmp_path / "pairs.txt")
    (tmp_path / "broken.txt").write_text("one\ttwo\nthree\n")
    (tmp_path / "one.txt").write_text("good\tone\n" * 20)
    before = sorted(tmp_path.rglob("*"))
    if "out" in given:
        given = given | {"out": tmp_path / given["out"]}
    with pytest.raises(CourseError, match=sentence.replace("?", r"\?")) as raised:
        train.train(name, **given)
    assert "\n" not in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_every_default_can_be(tmp_path):
    file = write_pairs(tmp_path / "pairs.txt")
    for task in datasets.tasks():
        known = datasets.of_task(task)
        files = {file: own} if (own := datasets.own_file(task, file)) else {}
        assert [dataset.embedded for dataset in known.values()] == [True] + [False] * (len(known) - 1)
        for data, dataset in (known | files).items():
            settings = settle(task, data, device="cpu")
            assert dataset.task == task and settings.batch % settings.accumulate == 0
            assert (settings.vocabulary is None) == (dataset.vocabulary is not None)
            assert bool(dataset.draw) == bool(dataset.amount)


def test_what_is_given_counts_and_the_rest_is_the_default():
    settings = settle("language-model", steps=30, width=None, device="cpu")
    default = settle("language-model", data="python-reference", device="cpu")
    assert dataclasses.replace(settings, every=0) == dataclasses.replace(default, steps=30, every=0)
    assert (settings.every, default.steps, default.every) == (3, 600, 60)


def test_a_run_goes_on_with_its_own_settings_and_name(tmp_path):
    out = tmp_path / "run"
    assert train.train("classifier", steps=1, batch=2, width=8, out=out) == 0
    for given, sentence in (
        ({"task": None, "steps": 9, "learning_rate": 0.1}, "leave out --steps, --learning-rate"),
        ({"task": "captioner"}, "is a run of the classifier, not of the captioner"),
        ({"task": None}, "has taken all its 1 steps"),
        ({"task": None, "resume": tmp_path / "other"}, "is no run"),
    ):
        with pytest.raises(CourseError, match=sentence):
            train.train(**{"resume": out} | given)


def test_a_broken_run_is_one_sentence(tmp_path):
    out = tmp_path / "run"
    train.train("classifier", steps=1, batch=2, width=8, out=out)
    for name, sentence in (
        ("checkpoint.json", "checkpoint"),
        ("vocabulary.json", "vocabulary"),
        ("config.json", "no run"),
    ):
        kept = (out / name).read_bytes()
        for content in (kept[: len(kept) // 2], b"[]"):
            (out / name).write_bytes(content)
            with pytest.raises(CourseError, match=f"{name}|{sentence}"):
                sample.sample(out)
        (out / name).unlink()
        with pytest.raises(CourseError, match=f"{name}|{sentence}"):
            sample.sample(out)
        (out / name).write_bytes(kept)


@pytest.mark.parametrize("name", ["vocabulary.json", "config.json", "checkpoint-00000000.safetensors", "curves.png"])
def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch, name):
    settle = files._settle

    def until_it_is_full(part, path):
        if path.name == name:
            raise OSError(errno.ENOSPC, "No space left on device")
        settle(part, path)

    monkeypatch.setattr(files, "_settle", until_it_is_full)
    with pytest.raises(CourseError, match="run.* cannot be written: No space left on device"):
        train.train("classifier", steps=1, batch=2, width=8, out=tmp_path / "run")
    assert not list((tmp_path / "run").glob(".*"))
