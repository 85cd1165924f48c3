"""What a measurement leaves: rows of a table, with what was aimed at, as plain values that a JSON file can hold."""

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from benchmarks.measuring import Measured, Spread
from course_lib.files import write_atomically
from course_lib.project import root

RESULT = root() / "book" / "_data" / "how_fast.json"


@dataclass(frozen=True)
class Goal:
    """A number that was aimed at: `value` is what was measured, and it should be at most, or at least, `bound`."""

    text: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def reached(self) -> bool:
        """Whether the value is on the right side of the bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass(frozen=True)
class Row:
    """One table: candidates that did the same work, or, where they are not `comparable`, work of different kinds."""

    title: str
    measured: list[Measured]
    comparable: bool = True
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def find(self, name: str) -> Measured:
        """Return what came out for one candidate."""
        return next(each for each in self.measured if each.name == name)


@dataclass(frozen=True)
class Family:
    """The rows of one kind of work, and on what and when they were measured; "peers" are projects with commits."""

    title: str
    rows: list[Row]
    conditions: dict[str, str | dict[str, str]]


def conditions() -> dict[str, str]:
    """Return on what is being measured: the machine, the versions, the commit of the course, the day."""
    import torch

    return {
        "processor": _processor(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "course": commit(root()) + (" with changes" if _git(root(), "status", "--porcelain", "course_lib") else ""),
        "date": date.today().isoformat(),
    }


def commit(folder: Path) -> str:
    """Return the commit that is checked out in `folder`, or what its file COMMIT says, shortened; "" if unknown."""
    file = folder / "COMMIT"
    return (file.read_text(encoding="utf-8").strip() if file.exists() else _git(folder, "rev-parse", "HEAD"))[:10]


def _git(folder: Path, *command: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *command], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def read(path: Path = RESULT) -> dict[str, Family]:
    """Return the families of a result file; none where there is no file."""
    if not path.exists():
        return {}
    families = json.loads(path.read_text(encoding="utf-8"))
    return {name: Family(**each | {"rows": [_row(row) for row in each["rows"]]}) for name, each in families.items()}


def write(families: dict[str, Family], path: Path = RESULT) -> None:
    """Write a result file, whole or not at all."""
    write_atomically(
        path, json.dumps(_rounded({name: asdict(each) for name, each in families.items()}), indent=1) + "\n"
    )


def _row(row: dict) -> Row:
    measured = [
        Measured(each["name"], Spread(**each["seconds"]), Spread(**each["ratio"])) for each in row.pop("measured")
    ]
    return Row(measured=measured, goals=[Goal(**each) for each in row.pop("goals")], **row)


def _rounded(value):
    """Return the same with numbers of four digits: more would differ at every run and say nothing."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
