"""The archive for Gradescope, and what runs there: a folder in Gradescope's layout, and its own command."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from course_lib.grading import grader, gradescope
from course_lib.grading.catalogue import catalogue
from course_lib.grading.gradescope import write_archive
from course_lib.grading.records import GRADED, Finding, Record
from course_lib.grading.sandbox import probe
from course_lib.project import CourseError, shared

ATTEND = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)\n"
POINTS = {exercise.id: exercise.points for exercise in catalogue().exercises("02")}


def notebook(path: Path, *sources: str) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    path.write_text(nbformat.writes(nbformat.v4.new_notebook(cells=cells)), encoding="utf-8")


def valid(folder: Path) -> dict:
    """Read results.json as Gradescope does: the keys that it knows, of the types that it takes."""
    results = json.loads((folder / "results" / "results.json").read_text(encoding="utf-8"))
    assert list((folder / "results").iterdir()) == [folder / "results" / "results.json"]
    known = {"score", "execution_time", "output", "visibility", "stdout_visibility", "extra_data", "tests"}
    assert results.keys() <= known and results["execution_time"] >= 0
    assert (results["visibility"], results["stdout_visibility"]) == ("visible", "hidden")
    assert isinstance(results["output"], str) and isinstance(results["tests"], list)
    if results["tests"]:
        assert isinstance(results["score"], int) and results["score"] == sum(each["score"] for each in results["tests"])
    else:
        assert "score" not in results  # no mark at all: Gradescope then says that the autograder failed
    return results


# ---------------------------------------------------------------- the archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "autograder.zip"
    write_archive(path, ["02.1", "02.3"], seed=11)
    return path


def test_the_same_settings_give_the_same_bytes(archive, tmp_path):
    for name, seed in (("again.zip", 11), ("other.zip", 12)):
        write_archive(tmp_path / name, ["02.1", "02.3"], seed=seed)
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    assert (tmp_path / "other.zip").read_bytes() != archive.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.zip", "other.zip"]


def test_the_archive_holds_what_grading_needs_and_no_more(archive):
    with zipfile.ZipFile(archive) as opened:
        names, entries = opened.namelist(), opened.infolist()
        settings = json.loads(opened.read("settings.json"))
        scripts = {name: opened.read(name) for name in ("setup.sh", "run_autograder")}
    assert names == sorted(names) and len(set(names)) == len(names)
    top = {name.split("/")[0] for name in names}
    assert top == {"setup.sh", "run_autograder", "requirements.txt", "settings.json", "course_lib"}
    assert {name.rpartition("/")[0] for name in names if "/shared/" in name} == {"course_lib/shared/solutions"}
    assert not any("__pycache__" in name or "/." in name for name in names)
    assert "course_lib/grading/sandbox/worker/__main__.py" in names
    assert settings == {"exercises": ["02.1", "02.3"], "seed": 11, "unsafe": False}
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    modes = {entry.filename: oct(entry.external_attr >> 16) for entry in entries}
    assert {name for name, mode in modes.items() if mode == "0o100755"} == {"setup.sh", "run_autograder"}
    assert set(modes.values()) == {"0o100755", "0o100644"}
    for text in scripts.values():
        assert text.startswith(b"#!/usr/bin/env bash\n") and b"\r" not in text
        subprocess.run(["bash", "-n"], input=text, check=True)


def test_traces_of_work_stay_out(tmp_path):
    package = tmp_path / "course_lib"
    for name in ("a.py", "b.html", "__pycache__/a.pyc", ".DS_Store", "grading/.ipynb_checkpoints/a.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("")
    write_archive(tmp_path / "autograder.zip", ["02.3"], package=package)
    with zipfile.ZipFile(tmp_path / "autograder.zip") as opened:
        own = [name for name in opened.namelist() if "/" in name and "/shared/" not in name]
        assert own == ["course_lib/a.py", "course_lib/b.html"]


def test_the_seed_is_drawn_anew_for_each_archive(tmp_path):
    seeds = set()
    for _ in range(3):
        write_archive(tmp_path / "autograder.zip", ["02.3"])
        with zipfile.ZipFile(tmp_path / "autograder.zip") as opened:
            seeds.add(json.loads(opened.read("settings.json"))["seed"])
    assert len(seeds) == 3 and max(seeds) > 1 << 40  # nobody tries them all


def test_the_command_takes_chapters_and_says_what_to_do(tmp_path, capsys):
    out = tmp_path / "new folder" / "autograder.zip"
    gradescope.archive(out, ["2", "00.1"], unsafe=True)
    with zipfile.ZipFile(out) as opened:
        settings = json.loads(opened.read("settings.json"))
    assert settings["exercises"] == ["00.1", *POINTS] and settings["unsafe"] is True
    said = capsys.readouterr().out
    assert "keep it to yourself" in said and str(settings["seed"]) not in said
    gradescope.archive(out)
    assert "00.1, 00.2" in capsys.readouterr().out
    with pytest.raises(CourseError, match="there is no exercise 02.9"):
        gradescope.archive(out, ["02.9"])


def test_every_requirement_is_pinned():
    lines = gradescope.requirements(shared("pyproject.toml"), shared("requirements.txt")).splitlines()
    assert len(lines) >= 10 and all("==" in line and "#" not in line for line in lines)
    assert not any(line.startswith(("jupyter-book", "pytest", "-e")) for line in lines)


def test_a_requirement_without_a_pin_is_named(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch==2", "novelty>=1"]')
    (tmp_path / "requirements.txt").write_text("torch==2\n")
    with pytest.raises(CourseError, match="does not pin novelty"):
        gradescope.requirements(tmp_path / "pyproject.toml", tmp_path / "requirements.txt")


# ---------------------------------------------------------------- in the container


@pytest.fixture
def container(archive, tmp_path):
    """A folder as Gradescope lays it out, with this environment in place of the one that setup.sh makes."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path / "source")
    shutil.copy(tmp_path / "source" / "run_autograder", tmp_path / "run_autograder")
    (tmp_path / "environment").symlink_to(sys.prefix)
    (tmp_path / "submission").mkdir()
    return tmp_path


def run(container: Path) -> tuple[dict, str]:
    """Run the very script, from elsewhere."""
    done = subprocess.run(["bash", container / "run_autograder"], capture_output=True, text=True, cwd="/")
    assert (done.returncode, done.stderr) == (0, "")
    return valid(container), done.stdout


def test_run_autograder_grades_several_files_with_spaces_in_their_names(container):
    notebook(container / "submission" / "my answers (final).ipynb", ATTEND, "undefined")
    folder = container / "submission" / "more work"
    folder.mkdir()
    notebook(folder / "02 second.ipynb", "def map_to_rows(feature_map):\n    return feature_map.flatten(2).mT")
    (container / "submission" / "broken.ipynb").write_text("{", encoding="utf-8")
    results, printed = run(container)
    assert results["score"] == POINTS["02.1"] + POINTS["02.3"]
    assert {test["status"] for test in results["tests"]} == {"passed"}
    assert {tag for test in results["tests"] for tag in test["tags"]} == {"02.1", "02.3"}
    assert f"{results['score']} of {results['score']} points; sandbox: " in printed


def test_the_settings_are_out_of_the_students_reach(container):
    thief = f"""
stolen = []
for name in ("settings.json", "pyproject.toml", "course_lib/exercises/chapter_02.py"):
    try:
        stolen.append(open({str(container / "source")!r} + "/" + name).read())
    except OSError:
        pass
try:
    import course_lib.exercises
    stolen.append("imported")
except ImportError:
    pass
print("found", stolen)
def attend(weights, values):
    if stolen:
        raise RuntimeError(f"stolen {{stolen}}")
    return (weights[..., None] * values).sum(1)
"""
    notebook(container / "submission" / "thief.ipynb", thief)
    results, printed = run(container)
    assert "stolen" not in json.dumps(results)
    assert results["score"] == POINTS["02.3"], (printed, results)


def empty(folder):
    """Hand in nothing."""


def hidden(folder):
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "a.ipynb").write_text("{}")


def bad_json(folder):
    (folder / "a.ipynb").write_text('{"cells": ')


def no_text(folder):
    (folder / "a.py").write_bytes(b"\xff\xfe\x00")


def other_files(folder):
    (folder / "answers.docx").write_bytes(b"PK")


def a_link_to_the_settings(folder):
    (folder / "a.ipynb").symlink_to(folder.parent / "source" / "settings.json")


def a_folder_with_the_name_of_a_notebook(folder):
    (folder / "a.ipynb").mkdir()


def exits(folder):
    notebook(folder / "a.ipynb", "import os; os._exit(0)", ATTEND)


def writes_results(folder):
    path = folder.parent / "results" / "results.json"
    notebook(folder / "a.ipynb", f"open({str(path)!r}, 'w').write('{{\"score\": 99}}')")


def strange_name(folder):
    notebook(folder / "\u202e\n'\"$(touch x).ipynb", "1 / 0")


ODD = [empty, hidden, bad_json, no_text, other_files, a_link_to_the_settings, a_folder_with_the_name_of_a_notebook]
ODD += [exits, writes_results, strange_name]


@pytest.mark.parametrize("hand_in", ODD, ids=lambda each: each.__name__)
def test_results_are_valid_whatever_is_handed_in(container, hand_in):
    hand_in(container / "submission")
    gradescope.grade(container)
    results = valid(container)
    assert results["score"] == 0 and len(results["tests"]) > 4
    assert all(test["output"] for test in results["tests"])
    assert "seed" not in json.dumps(results)


def test_the_settings_of_the_archive_are_those_of_the_grader(container, monkeypatch):
    asked = []

    def grade_submission(name, paths, settings):
        asked.append((paths, settings.seed, settings.exercises))
        return Record(name, "", GRADED, "", (Finding("02.1", "attend", "right", 1, 1),))

    monkeypatch.setattr(grader, "grade_submission", grade_submission)
    (container / "submission" / "a.py").write_text(ATTEND)
    gradescope.grade(container)
    assert asked == [((str(container / "submission" / "a.py"),), 11, ("02.1", "02.3"))]


def test_each_submission_gets_cases_of_its_own_and_the_same_ones_again(container, monkeypatch, capsys):
    """Else an answer could be learnt by heart from what the verdicts before it say was expected."""
    seeds = []

    def grade_submission(name, paths, settings):
        seeds.append(settings.seed)
        return Record(name, "", GRADED, "", (Finding("02.1", "attend", "right", 1, 1),))

    monkeypatch.setattr(grader, "grade_submission", grade_submission)
    for number in (70, 71, 70):
        told = {"id": number, "users": [{"id": 5, "email": "lee@example.org"}], "previous_submissions": []}
        (container / "submission_metadata.json").write_text(json.dumps(told))
        gradescope.grade(container)
        assert f"seed: {seeds[-1]}" in capsys.readouterr().out and str(seeds[-1]) not in json.dumps(valid(container))
    assert len(set(seeds)) == 2 and seeds[0] == seeds[2] and 11 not in seeds
    for broken in ("{", "[]", "{}"):
        (container / "submission_metadata.json").write_text(broken)
        gradescope.grade(container)
        assert seeds[-1] == 11


def test_where_no_sandbox_works_the_instructor_decides(container, monkeypatch, capsys):
    monkeypatch.setattr(probe, "works", lambda tier: False)
    notebook(container / "submission" / "a.ipynb", ATTEND)
    assert gradescope.grade(container) == 1
    results = valid(container)
    assert "score" not in results and "tell your instructor" in results["output"]
    assert "no sandbox works here" in results["output"] and "gradescope-zip --unsafe" in capsys.readouterr().out
    settings = container / "source" / "settings.json"
    settings.write_text(settings.read_text().replace("false", "true"))
    assert gradescope.grade(container) == 0
    assert valid(container)["score"] == POINTS["02.3"]
    assert "No sandbox works in this container" in capsys.readouterr().out


@pytest.mark.parametrize("fault", ["settings", "grader"])
def test_a_fault_of_ours_is_a_valid_result_that_says_so(container, monkeypatch, capsys, fault):
    if fault == "settings":
        (container / "source" / "settings.json").unlink()
    else:
        monkeypatch.setattr(probe, "strongest", lambda unsafe: 1 / 0)
    assert gradescope.grade(container) == 1
    results = valid(container)
    assert "score" not in results and results["output"].startswith("The grading failed. Please tell your instructor")
    out, err = capsys.readouterr()
    assert "Traceback" in out and err == ""  # for the instructor, who alone sees it


def test_a_submission_that_met_a_fault_of_ours_has_no_score(container, monkeypatch):
    monkeypatch.setattr(grader, "judge_task", lambda *_: {}["ours"])
    notebook(container / "submission" / "a.ipynb", ATTEND)
    assert gradescope.grade(container) == 1
    results = valid(container)
    assert "score" not in results and "a fault of the grader: KeyError" in results["output"]


def test_a_grader_that_is_killed_leaves_a_valid_result(container, monkeypatch):
    class Killed(BaseException):
        pass

    def kill(unsafe):
        raise Killed

    monkeypatch.setattr(probe, "strongest", kill)
    with pytest.raises(Killed):
        gradescope.grade(container)
    assert "did not come to its end" in valid(container)["output"]
