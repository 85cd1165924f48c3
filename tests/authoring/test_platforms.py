import json
import subprocess

import pytest

from course_lib.authoring import platforms
from course_lib.project import CourseError, root

ANSWERS = {"asked": "2026-11-23", "machines": {"Abacus": {"3.11": {"torch": "2.9.0", "book": False}}}}


def test_the_table_of_readme_is_what_the_resolver_answered():
    answers = json.loads((root() / platforms.ANSWERS).read_text(encoding="utf-8"))
    readme = (root() / "README.md").read_text(encoding="utf-8")
    assert platforms.with_table(readme, answers) == readme, "run `python -m course_lib.authoring.platforms`"
    assert answers["machines"].keys() == platforms.MACHINES.keys()
    assert all(list(found) == platforms.PYTHONS for found in answers["machines"].values())


def test_what_stands_around_the_table_stays():
    old = f"before\n{platforms.BEGIN}| old |\n{platforms.END}after\n"
    new = platforms.with_table(old, ANSWERS)
    assert new.startswith(f"before\n{platforms.BEGIN}") and new.endswith(f"{platforms.END}after\n")
    assert "| Abacus | torch 2.9.0 |" in new and "old" not in new
    assert platforms.with_table(new, ANSWERS) == new
    with pytest.raises(CourseError, match="no table to replace"):
        platforms.with_table("before\n", ANSWERS)


@pytest.fixture
def resolver(monkeypatch):
    """Return a function that sets what uv says."""

    def resolver(code: int = 0, out: str = "", error: str = ""):
        monkeypatch.setattr(
            subprocess, "run", lambda command, **how: subprocess.CompletedProcess(command, code, out, error)
        )

    return resolver


def test_what_uv_says_is_read(resolver):
    resolver(out="jinja2==3.1.6\ntorch==2.13.0\n")
    assert platforms.ask("pyproject.toml", "aarch64-apple-darwin", "3.11") == {"jinja2": "3.1.6", "torch": "2.13.0"}
    resolver(code=1, error="error: No solution found when resolving dependencies:\n")
    assert platforms.ask("pyproject.toml", "x86_64-apple-darwin", "3.11") == {}


def test_no_answer_is_not_taken_for_no(resolver, monkeypatch):
    resolver(code=2, error="error: dns error")
    with pytest.raises(CourseError, match="no answer, try again: error: dns error"):
        platforms.ask("pyproject.toml", "linux", "3.11")

    def run(*arguments, **how):
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(CourseError, match="pip install uv"):
        platforms.ask("pyproject.toml", "linux", "3.11")


def test_each_machine_and_python_is_asked_for_the_package_and_for_the_book(monkeypatch, tmp_path):
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\n-e .\n")
    (tmp_path / "pyproject.toml").write_text("")

    def ask(requirements, platform, python):
        if requirements == tmp_path / "pyproject.toml":
            return {"torch": f"2.{python}"} if "apple" in platform else {}
        assert requirements.read_text() == "torch==2.13.0"  # uv would build the package for `-e .`
        return {"torch": "2.13.0"} if "linux" in platform else {}  # manylinux

    monkeypatch.setattr(platforms, "ask", ask)
    machines = platforms.ask_all(tmp_path)["machines"]
    assert machines["Mac, Intel"]["3.12"] == {"torch": "2.3.12", "book": False}
    assert machines["Linux, ARM"]["3.14"] == {"torch": None, "book": True}
