"""The wheel is enough for a student: its files, laid out as pip would, in a folder without the repository."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from course_lib.project import root

NEEDS_ALL = "this needs the whole course, of which only the package is installed here: clone its repository and run"
RIGHT = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder of installed packages with the files that hatch would put there, and none of the repository."""
    folder = tmp_path_factory.mktemp("site") / "site-packages"
    shutil.copytree(root() / "course_lib", folder / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    for source, target in forced("standard").items():
        copy = shutil.copytree if (root() / source).is_dir() else shutil.copy
        (folder / target).parent.mkdir(exist_ok=True)
        copy(root() / source, folder / target)
    return folder


def forced(version):
    """Return what the hook adds to a wheel: folders and files of the repository, and their places in it."""
    spec = importlib.util.spec_from_file_location("hatch_build", root() / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    hatchling = ("hatchling", "hatchling.builders", "hatchling.builders.hooks", "hatchling.builders.hooks.plugin")
    missing = {name: type(sys)(name) for name in (*hatchling, "hatchling.builders.hooks.plugin.interface")}
    missing["hatchling.builders.hooks.plugin.interface"].BuildHookInterface = object
    before = {name: sys.modules.get(name) for name in missing}
    sys.modules |= missing
    try:
        spec.loader.exec_module(module)
    finally:
        for name, old in before.items():
            sys.modules.pop(name) if old is None else sys.modules.update({name: old})
    data = {"force_include": {}}
    module.WithTheCourse().initialize(version, data)
    return data["force_include"]


@pytest.fixture
def course(installed, tmp_path):
    """Return a function that runs `course` of the installed package in an empty folder; its code, output, errors."""

    def course(*arguments, folder=tmp_path):
        done = subprocess.run(
            [sys.executable, "-m", "course_lib", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(installed), "NO_COLOR": "1", "COLUMNS": "120"},
        )
        return done.returncode, done.stdout, done.stderr

    return course


def answer(notebook, *sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells)), encoding="utf-8")


def test_a_link_to_the_repository_holds_no_second_copy():
    assert forced("editable") == {} and forced("standard")["solutions"] == "course_lib/shared/solutions"


def test_the_first_ten_minutes_in_an_empty_folder(course, tmp_path):
    code, out, err = course("start", "02")
    own = tmp_path / "my_exercises"
    (sheet,) = own.iterdir()
    assert (code, err) == (0, "") and sheet.read_bytes() == (root() / "exercises" / sheet.name).read_bytes()
    assert f"where   {own}\n" in out and "jupyter lab my_exercises\n" in out

    code, out, _ = course("check", "02.3")
    assert code == 1 and "not written yet: write attend(weights, values)" in " ".join(out.split())
    code, out, _ = course("hint", "02.3")
    assert code == 0 and out.startswith("hint 1 of 3 for 02.3: ")
    answer(sheet, RIGHT)
    assert course("check", "02.3")[0] == 0
    assert course("check", "02.3", folder=own)[0] == 0  # standing in the folder itself, too
    found = json.loads(course("progress", "--json")[1])
    row = next(each for each in found["exercises"] if each["exercise"] == "02.3")
    assert (row["earned"], row["hints_seen"]) == (6, 1)
    assert list(tmp_path.iterdir()) == [own] and list(own.glob("my_*")) == []


def test_a_class_is_graded_and_told(course, tmp_path):
    (tmp_path / "submissions").mkdir()
    answer(tmp_path / "submissions" / "ann.ipynb", RIGHT)
    code, out, _ = course("check", tmp_path / "submissions" / "ann.ipynb")
    assert code == 0 and "6/6    all right" in out
    code, out, err = course("grade", "submissions", "--only", "02.3", "--out", "grades", "--unsafe")
    assert (code, err) == (0, "") and "6/6" in out
    assert course("report", "grades")[0] == course("feedback", "grades")[0] == 0


def test_the_archive_for_gradescope_is_that_of_the_repository(course, tmp_path):
    from course_lib.grading.gradescope import write_archive

    code, out, err = course("gradescope-zip", "--only", "02.3", "--seed", "7", "--out", "ours.zip")
    assert (code, err) == (0, "")
    write_archive(tmp_path / "theirs.zip", ["02.3"], seed=7)
    with zipfile.ZipFile(tmp_path / "ours.zip") as ours, zipfile.ZipFile(tmp_path / "theirs.zip") as theirs:
        assert ours.namelist() == theirs.namelist()
        assert all(ours.read(name) == theirs.read(name) for name in ours.namelist())


@pytest.mark.parametrize(
    "arguments",
    [
        ("sync",),
        ("make-exercises", "--check"),
        ("claims", "02"),
        ("start", "02", "--texts"),
        ("check-exercise", "02.3"),
        ("new-exercise", "02.9", "Another"),
    ],
    ids=" ".join,
)
def test_what_needs_the_repository_says_so_and_writes_nothing(course, tmp_path, arguments):
    code, out, err = course(*arguments)
    assert (code, out) == (2, "") and err.startswith(NEEDS_ALL) and err.count("\n") == 1
    assert list(Path(tmp_path).iterdir()) == []
