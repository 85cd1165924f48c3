"""`course train --help`: groups, and the defaults that hold."""

import inspect
import re

import pytest
from typer.models import OptionInfo

from course_lib.__main__ import application
from course_lib.commands import train
from course_lib.runs.settings import OF_THE_TASK, settle

TASKS = ("language-model", "translation", "classifier", "captioner")
OPTIONS = {
    name: parameter.annotation.__metadata__[0]
    for name, parameter in inspect.signature(train.run).parameters.items()
    if isinstance(parameter.annotation.__metadata__[0], OptionInfo)
}
NUMBERS = [name for name, option in OPTIONS.items() if re.match(r"\d", str(option.show_default)) and name != "every"]


@pytest.mark.parametrize("name", NUMBERS)
def test_the_defaults_shown_are_those_that_hold(name):
    shown = [float(each) for each in OPTIONS[name].show_default.split(", ")]
    true = [getattr(settle(task), name) for task in TASKS if task in OF_THE_TASK.get(name, TASKS)]
    assert true == (shown * len(true) if len(shown) == 1 else shown)


def test_every_option_says_its_default_in_a_group(monkeypatch, capsys):
    assert len(NUMBERS) >= 10
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit):
        application(["train", "--help"], prog_name="course")
    out = capsys.readouterr().out
    panels = re.split(r"^╭─ ([^─]+) ─+╮$", out, flags=re.M)[1:]
    panels = dict(zip(panels[::2], panels[1::2], strict=True))
    groups = ["The model", "The steps", "The data", "The machine", "The files"]
    assert [name for name in panels if name in groups] == groups
    own = "".join(panels[name] for name in groups)
    options = re.findall(r"^│ (--[\w-]+)", own, flags=re.M)
    assert len(options) == len(set(options)) == len(OPTIONS)
    assert own.count("[default: ") == len(options) - 1 and "--resume" in options  # what is not gone on with, is begun
    assert "--no-bf16" not in out and re.search(r"--batch .*\[default: \(16, 32, 64, 32\)\]", own)


def test_a_recipe_reaches_the_run(monkeypatch):
    seen = {}
    monkeypatch.setattr("course_lib.runs.train.train", lambda *_, **given: seen.update(given) or 0)
    with pytest.raises(SystemExit):
        application(["train", "language-model", "--recipe", "today"], prog_name="course")
    assert seen["recipe"] == "today"
