"""A data set is one module, and its place is all that has to be right."""

import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.project import CourseError, root
from course_lib.runs import datasets, evaluate, sample, train
from course_lib.runs.settings import settle

INVENTED = {
    "language-model": '''
def load():
    return {"train": "to be or not to be " * 9, "val": "or not", "test": "not to be"}
MORE = {"defaults": DEFAULTS | {"vocabulary": "characters", "entries": 20}}
''',
    "translation": '''
def load():
    pairs = [("a b", "b a"), ("b c", "c b")] * 5
    return {"train": pairs, "val": pairs[:1], "test": pairs[:1]}
MORE = {"defaults": DEFAULTS | {"vocabulary": "words", "entries": 20}}
''',
    "classifier": '''
def load():
    return {"test": [("no", "cold"), ("yes", "warm")]}
def draw(number, generator):
    words = torch.randint(1, 3, (number, 1), generator=generator)
    return words, words[:, 0] - 1
MORE = {
    "defaults": DEFAULTS, "draw": draw, "vocabulary": Listed(["<pad>", "cold", "warm"], " ", 1),
    "amount": "two words for ever, {held_out} held out",
}
''',
    "captioner": '''
def draw(number, generator):
    bright = torch.randint(2, (number,), generator=generator)
    captions = torch.stack([torch.zeros_like(bright), 2 + bright, torch.ones_like(bright)], dim=1)
    return bright.view(-1, 1, 1, 1).expand(-1, 3, 32, 32).float(), captions
def load():
    return {"test": draw(9, torch.Generator().manual_seed(1))}
MORE = {
    "defaults": DEFAULTS, "draw": draw, "vocabulary": Listed(["<start>", "<end>", "dark", "bright"], " ", 2),
    "amount": "grey pictures, {held_out} held out",
}
''',
}  # fmt: skip
FRAME = """
import torch
from course_lib.runs.dataset import Dataset
from course_lib.runs.vocabularies import Listed
DEFAULTS = {{"steps": 2, "batch": 4, "learning_rate": 1e-3, "width": 8, "layers": 1, "heads": 2, "context": 5}}
{functions}
DATASET = Dataset(task={task!r}, load=load, **MORE)
"""


@pytest.fixture
def invent(tmp_path, monkeypatch):
    """Write a module of a data set into a folder beside those of the course, without a word about it anywhere."""
    folder = tmp_path / "more"
    folder.mkdir()
    monkeypatch.setattr(datasets, "__path__", [*datasets.__path__, str(folder)])
    made = []

    def write(name, task):
        (folder / f"{name}.py").write_text(FRAME.format(task=task, functions=INVENTED[task]))
        made.append(name)

    yield write
    for name in made:
        sys.modules.pop(f"{datasets.__name__}.{name}", None)
        if hasattr(datasets, name):
            delattr(datasets, name)


@pytest.mark.parametrize("task", INVENTED)
def test_an_invented_data_set_is_found_trained_on_and_sampled(invent, tmp_path, capsys, task):
    invent("quite_new", task)
    run = tmp_path / "run"
    assert train.train(task, data="quite-new", out=run) == 0
    said = capsys.readouterr().out
    assert f"Training: {task} on quite-new." in said and "2 steps with batches of 4" in said and "held out" in said
    evaluate.evaluate(run)
    sample.sample(run)
    assert f"{task} on quite-new, after 2 of 2 steps" in capsys.readouterr().out


def test_an_invented_data_set_is_named_with_the_others(invent):
    before = datasets.names()
    invent("quite_new", "captioner")
    assert datasets.names() == sorted([*before, "quite-new"])
    with pytest.raises(CourseError, match="quite-new is data for the captioner, not for the classifier"):
        settle("classifier", data="quite-new")
    with pytest.raises(CourseError, match="expected scenes, quite-new$"):
        settle("captioner", data="else")
    assert settle("captioner", device="cpu").data == "scenes"


def test_each_module_of_the_folder_is_a_data_set():
    modules = [file for file in Path(datasets.__file__).parent.glob("*.py") if file.stem != "__init__"]
    assert len(datasets.names()) == len(modules) > 5
    assert {task: list(datasets.of_task(task)) for task in datasets.tasks()} == {
        "captioner": ["scenes"],
        "classifier": ["negations", "imdb"],
        "language-model": ["python-reference", "enwik8", "tiny-shakespeare"],
        "translation": ["number-names", "multi30k"],
    }


def test_a_run_on_data_that_are_no_longer_there_is_one_sentence(invent, tmp_path):
    invent("quite_new", "captioner")
    train.train("captioner", data="quite-new", out=tmp_path / "run")
    (tmp_path / "more" / "quite_new.py").unlink()
    with pytest.raises(CourseError, match="there is no data set quite-new for the captioner"):
        sample.sample(tmp_path / "run")


def test_help_names_them_without_importing_torch():
    code = "import sys; from course_lib import __main__; print(sorted({'torch', 'pooch'} & set(sys.modules)))"
    for arguments, expected in ((("-c", code), "[]\n"), (("-m", "course_lib", "train", "--help"), "tiny-shakespeare")):
        done = subprocess.run([sys.executable, *arguments], cwd=root(), capture_output=True, text=True, check=True)
        assert expected in done.stdout
