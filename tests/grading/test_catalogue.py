"""The engine knows no course: two invented exercises in a folder outside the repository are checked and graded."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.grading.catalogue import Catalogue, catalogue
from course_lib.project import CourseError

MODULE = '''"""01.{number}: {name} numbers."""

import torch

from course_lib.grading.checks import equals, inputs_unchanged
from course_lib.grading.exercise import Exercise, Property, Task


def draw(generator):
    """Draw up to five numbers."""
    return {{"numbers": torch.randn(int(torch.randint(1, 6, (), generator=generator)), generator=generator)}}


EXERCISE = Exercise(
    title="{title}",
    difficulty=1,
    minutes=5,
    tasks=(
        Task(
            function="{name}",
            parameters=("numbers",),
            returns="the numbers, {name}d",
            cases=draw,
            examples=({{"numbers": torch.tensor([1.0, 3.0])}},),
            reference=lambda numbers: {factor} * numbers,
            properties=(Property("the values", 2, equals()), Property("inputs unchanged", 1, inputs_unchanged)),
            mistakes="""
squared => the values
- return {factor} * numbers
+ return numbers**2
this squares the numbers

overwritten => inputs unchanged
+ return numbers.mul_({factor})
this writes into the caller's own numbers
""",
        ),
    ),
    hints=("Think.", "Multiply.", "`{factor} * numbers`"),
)
'''
SECTION = '''
## 01.{number}

Write `{name}(numbers)`.

```{{code-cell}} ipython3
:tags: [answer]

def {name}(numbers):
    """The numbers, {name}d."""
    # BEGIN SOLUTION
    return {factor} * numbers
    # END SOLUTION
```
'''
EXERCISES = (
    {"number": 1, "name": "double", "title": "Double it", "factor": 2},
    {"number": 2, "name": "halve", "title": "Halve it", "factor": 0.5},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a catalogue of two exercises, and a class of three students."""
    home = tmp_path_factory.mktemp("elsewhere")
    chapter = home / "invented" / "chapter_01"
    chapter.mkdir(parents=True)
    (home / "invented" / "__init__.py").write_text('"""Two exercises."""\n')
    (chapter / "__init__.py").write_text('"""Numbers."""\n')
    for each in EXERCISES:
        (chapter / f"ex{each['number']}_{each['name']}.py").write_text(MODULE.format(**each))
    (chapter / "_shared.py").write_text('raise RuntimeError("a helper is no exercise")\n')
    (home / "invented" / "solutions").mkdir()
    page = "# Solutions: Numbers\n" + "".join(SECTION.format(**each) for each in EXERCISES)
    (home / "invented" / "solutions" / "01_numbers.md").write_text(page)
    (home / "class").mkdir()
    halve = "def halve(numbers):\n    return numbers / 2\n"
    for name, source in (("ann", "2 * numbers"), ("bob", "numbers**2"), ("cyd", "numbers + numbers")):
        (home / "class" / f"{name}.py").write_text(f"def double(numbers):\n    return {source}\n\n\n{halve}")
    return home


def course(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run a command of the course in that folder, which is all that it knows of the catalogue."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "course_lib", *arguments, "--catalogue", "invented"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_file_is_checked_with_an_invented_catalogue(folder):
    right = course(folder, "check", "class/ann.py", "--seed", "1")
    assert right.returncode == 0 and "01.1  Double it" in right.stdout and "6/6    all right" in right.stdout
    wrong = course(folder, "check", "class/bob.py", "--seed", "1")
    assert wrong.returncode == 1 and "this squares the numbers" in wrong.stdout and "4/6    repeat with" in wrong.stdout


def test_hints_and_progress_are_those_of_the_catalogue(folder):
    assert "hint 1 of 3 for 01.2: Think." in course(folder, "hint", "1.2").stdout
    assert (folder / "my_exercises" / ".progress.json").exists()  # and nothing in the repository of the course
    rows = json.loads(course(folder, "progress", "--json").stdout)["exercises"]
    assert [(row["exercise"], row["title"], row["points"]) for row in rows] == [
        ("01.1", "Double it", 3),
        ("01.2", "Halve it", 3),
    ]


def test_a_class_is_graded_and_reported_with_it(folder):
    graded = course(folder, "grade", "class", "--out", "grades", "--seed", "1", "--unsafe")
    assert graded.returncode == 0, graded.stderr
    rows = [json.loads(line) for line in (folder / "grades" / "grades.jsonl").read_text().splitlines()]
    assert [(row["submission"], row["score"], row["max_score"]) for row in rows] == [
        ("ann.py", 6, 6),
        ("bob.py", 4, 6),
        ("cyd.py", 6, 6),
    ]
    assert {test["mistake"] for test in rows[1]["tests"]} == {"", "squared"}
    environment = os.environ | {"PYTHONPATH": f"{Path(__file__).parents[2]}{os.pathsep}{folder}"}
    command = [sys.executable, "-m", "course_lib", "report", "grades"]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    page = (folder / "grades" / "class_report.html").read_text()
    assert "This squares the numbers" in page and "Halve it" in page


def test_an_exercise_is_found_by_its_number_or_refused_in_one_sentence():
    assert catalogue().find("02.3").tasks[0].function == "attend"
    assert catalogue().find("2.3").tasks[0].function == "attend"
    for unknown, names in (("02.9", "02.1"), ("99.1", "00"), ("2.9", "02.1"), ("attend", "02.3")):
        with pytest.raises(CourseError, match=names):
            catalogue().find(unknown)
    assert catalogue().find_task("attend")[0].id == "02.3" and catalogue().find_task("nobody_asks") is None


def test_a_catalogue_that_is_none_is_refused_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(CourseError, match="there is no catalogue 'no_such_package'"):
        Catalogue("no_such_package")
    (tmp_path / "empty_package").mkdir()
    (tmp_path / "empty_package" / "__init__.py").write_text("")
    with pytest.raises(CourseError, match="holds no exercise: expected chapter_01/ex1_name.py"):
        Catalogue("empty_package")
    chapter = tmp_path / "empty_package" / "chapter_01"
    chapter.mkdir()
    (chapter / "__init__.py").write_text("")
    (chapter / "ex1_nothing.py").write_text("")
    with pytest.raises(CourseError, match="ex1_nothing.py defines no EXERCISE"):
        Catalogue("empty_package").find("1.1")
    (chapter / "ex1_again.py").write_text("")
    with pytest.raises(CourseError, match="holds two exercises 01.1"):
        Catalogue("empty_package")


def test_the_engine_imports_nothing_of_this_course():
    folder = Path(__file__).parents[2] / "course_lib" / "grading"
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import course_lib.exercises" not in text and "from course_lib.exercises" not in text, path
        assert "project import root" not in text and "project.root" not in text, path
