"""Building the book from its notebooks, without executing them."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Candidate, children_too, summarise
from benchmarks.results import Row
from course_lib.project import root

TITLE = "Building the book"
ASKED_FOR = True  # a build takes most of a minute
BUILDS = 2


def rows() -> Iterator[Row]:
    """Build it, each time from nothing."""
    times = {"jupyter-book build": [Candidate("", _build).turn(children_too) for _ in range(BUILDS)]}
    yield Row("From nothing", summarise(times), False)


def _build() -> None:
    command = Path(sys.executable).with_name("jupyter-book")
    with tempfile.TemporaryDirectory() as out:
        options = ["build", ".", "--quiet", "--path-output", out]
        subprocess.run(
            [command, *options], cwd=root(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
        )
