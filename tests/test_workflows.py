"""What the workflows and the image of a class name is there: targets, commands, files, versions."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from course_lib.__main__ import COMMANDS

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([\w./-]+):(?!=)", MAKEFILE, re.MULTILINE))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SUBCOMMANDS = {name for names in COMMANDS.values() for name in names}

WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")
}
JOBS = {f"{name}: {job}": what for name, workflow in WORKFLOWS.items() for job, what in workflow["jobs"].items()}
STEPS = [step for job in JOBS.values() for step in job["steps"]]
# The notebooks are pushed from what was published, not from a copy of the repository.
SCRIPTS = [step["run"] for step in STEPS if "run" in step and "artifact.tar" not in step["run"]]
MADE_BY_SPHINX = {"_build/html/output.txt"}


def called(program: str, texts: list[str]) -> list[str]:
    """Return the words that follow the name of a program, up to the end of its command."""
    pattern = re.compile(rf"(?:^|[\s(&]){program} ([^|&;()'\n]*)", re.MULTILINE)
    return [word for text in texts for words in pattern.findall(text) for word in words.split()]


def test_every_target_of_make_is_one():
    wanted = called("make", SCRIPTS)
    assert {"test", "book", "pdf"} <= set(wanted) <= TARGETS


def test_every_command_of_the_course_is_one():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    without_comments = re.sub(r"^#.*", "", DOCKERFILE, flags=re.MULTILINE)
    texts = [*SCRIPTS, without_comments, container["postCreateCommand"]]
    wanted = {called("course", [text])[0] for text in texts if called("course", [text])}
    assert {"check", "start"} <= wanted <= SUBCOMMANDS


def test_every_path_is_there_or_made_by_make():
    lines = [line for script in SCRIPTS for line in script.splitlines() if "$" not in line]
    words = {word for line in lines for word in shlex.split(line)}
    given = [step.get("with", {}) for step in STEPS]
    words |= {each[key] for each in given for key in ("path", "cache-dependency-path") if key in each}
    paths = {word for word in words if re.fullmatch(r"[\w.*-]*(/[\w.*-]+)+|[\w-]+\.(txt|md|py|yml)", word)}
    assert {"solutions/*.md", "requirements.txt", "tests/exercises", "_build/html"} <= paths
    made = MADE_BY_SPHINX | set(re.findall(r"[\w./-]+", MAKEFILE))
    assert {path for path in paths - made if not list(ROOT.glob(path))} == set()


@pytest.mark.parametrize("job", JOBS)
def test_a_job_ends_and_uses_only_actions_of_github_by_their_major_version(job):
    assert JOBS[job]["timeout-minutes"] <= 120
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in JOBS[job]["steps"] if "uses" in step)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read_and_does_not_run_twice_at_once(name):
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    assert "cancel-in-progress" in WORKFLOWS[name]["concurrency"]


def test_one_version_of_an_action_is_used_throughout():
    used = {step["uses"] for step in STEPS if "uses" in step}
    assert len(used) == len({action.split("@")[0] for action in used})


def test_the_package_is_tried_on_the_oldest_python_that_it_allows():
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = JOBS["tests: package"]["strategy"]["matrix"]["python"][0]
    assert package["requires-python"].split(",")[0] == f">={oldest}"


@pytest.mark.skipif(sys.platform != "linux", reason="the sed of the workflow's own machine")
def test_the_weekly_run_leaves_no_pin(tmp_path):
    (script,) = [step["run"] for step in STEPS if "pins" in step.get("name", "")]
    file = tmp_path / "requirements.txt"
    file.write_text((ROOT / "requirements.txt").read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, check=True)
    left = file.read_text(encoding="utf-8")
    assert "torch" in left and "jupyter-book<2\n" in left and re.findall(r"^[^#\n;]*==.*", left, re.MULTILINE) == []


def test_the_image_is_built_of_what_is_there():
    folder = ROOT / ".devcontainer"
    built = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))["build"]
    assert (folder / built["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (folder / built["context"]).resolve() == ROOT
    needed = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"/tmp/course/(\S+)", DOCKERFILE)
    assert all((ROOT / name).exists() for name in needed)
    assert named and set(named) | {"course_lib", "exercises", "solutions", "pyproject.toml"} <= set(needed)


def test_the_image_has_a_dated_base_and_leaves_nobody_as_root():
    assert re.search(r"^FROM \S+:\d{4}-\d\d-\d\d$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE)[-1] == "${NB_UID}"
