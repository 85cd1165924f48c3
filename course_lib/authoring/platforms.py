"""The table of README that says on which machines the course can be installed, as a resolver answers.

`python -m course_lib.authoring.platforms` asks uv (`pip install uv`; minutes, with the network), keeps the answers in
book/_data/platforms.json, and writes the table. Nothing is installed: uv reads which files PyPI has.
"""

import json
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import product
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.project import CourseError, root

ANSWERS = Path("book/_data/platforms.json")
BEGIN, END = "<!-- platforms: made by course_lib.authoring.platforms -->\n", "<!-- end of platforms -->"
# The machine as a reader would say it, and as uv does.
MACHINES = {
    "Linux, x86-64": "x86_64-manylinux_2_28",
    "Linux, ARM": "aarch64-manylinux_2_28",
    "Mac, Apple silicon": "aarch64-apple-darwin",
    "Mac, Intel": "x86_64-apple-darwin",
    "Windows, x86-64": "x86_64-pc-windows-msvc",
    "Windows, ARM": "aarch64-pc-windows-msvc",
}
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
OLDEST_MACOS = "14.0"


def ask(requirements: Path, platform: str, python: str) -> dict[str, str]:
    """Return which version of each package would be installed; none at all where they cannot be installed together.

    Raises CourseError where there is no uv, or it found no network.
    """
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:"]
    command += ["--no-binary", "docopt"]  # pure Python, of which PyPI has the source alone
    command += ["--python-platform", platform, "--python-version", python, str(requirements)]
    environment = os.environ | {"MACOSX_DEPLOYMENT_TARGET": OLDEST_MACOS}
    try:
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CourseError("there is no `uv` to ask: run `pip install uv`, and this again") from None
    if answer.returncode == 0:
        return dict(re.findall(r"^([\w.-]+)==(\S+)", answer.stdout, re.MULTILINE))
    if "No solution found" in answer.stderr:
        return {}
    raise CourseError(f"uv gave no answer, try again: {answer.stderr.strip()}")


def ask_all(home: Path) -> dict:
    """Return, for each machine and Python, the newest torch with the package, and whether the book's pins go."""
    lines = (home / "requirements.txt").read_text(encoding="utf-8").splitlines()
    cells = list(product(MACHINES, PYTHONS))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:  # uv waits for the network
        book = Path(folder, "requirements.txt")
        book.write_text("\n".join(line for line in lines if not line.startswith("-e")), encoding="utf-8")
        asked = [(MACHINES[machine], python) for machine, python in cells]
        for_package = pool.map(lambda each: ask(home / "pyproject.toml", *each), asked)
        for_book = pool.map(lambda each: ask(book, *each), asked)
        machines = {machine: {} for machine in MACHINES}
        for (machine, python), package, pins in zip(cells, for_package, for_book, strict=True):
            machines[machine][python] = {"torch": package.get("torch"), "book": bool(pins)}
    return {"asked": date.today().isoformat(), "machines": machines}


def table(answers: dict) -> str:
    """Return the answers as a table in Markdown.

    >>> print(table({"asked": "2026-11-23", "machines": {"Mac": {"3.11": {"torch": "2.15.0", "book": True}}}}))
    | | Python 3.11 |
    | --- | --- |
    | Mac | book, torch 2.15.0 |
    <BLANKLINE>
    Asked on 2026-11-23.
    """
    pythons = list(next(iter(answers["machines"].values())))
    lines = ["| | " + " | ".join(f"Python {python}" for python in pythons) + " |", "| --- |" + " --- |" * len(pythons)]
    for machine, found in answers["machines"].items():
        lines.append(f"| {machine} | " + " | ".join(_cell(**found[python]) for python in pythons) + " |")
    return "\n".join([*lines, "", f"Asked on {answers['asked']}."])


def _cell(torch: str | None, book: bool) -> str:
    """Return what one machine can install with one Python.

    >>> _cell("2.15.0", True), _cell("2.9.0", False), _cell(None, False)
    ('book, torch 2.15.0', 'torch 2.9.0', 'no')
    """
    return ", ".join(["book"] * book + [f"torch {torch}"] * bool(torch)) or "no"


def with_table(readme: str, answers: dict) -> str:
    """Return the text of README with this table between its two markers."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise CourseError(f"README.md has no table to replace: write the lines {BEGIN.strip()} and {END} where it goes")
    return f"{before}{begin}\n{table(answers)}\n\n{end}{after}"


def main() -> None:
    """Ask, keep the answers, and write the table."""
    home = root()
    answers, readme = ask_all(home), home / "README.md"
    text = with_table(readme.read_text(encoding="utf-8"), answers)
    write_atomically(home / ANSWERS, json.dumps(answers, indent=1) + "\n")
    write_atomically(readme, text)
    print(table(answers))


if __name__ == "__main__":
    main()
