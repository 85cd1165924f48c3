"""The worked answers: read from the pages of solutions, on which each stands between its markers."""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from course_lib.grading.sandbox.worker import cells
from course_lib.project import CourseError

CELL = re.compile(
    r"^```\{code-cell\}[^\n]*\n(?P<options>(?::[^\n]*\n)*)\n?(?P<source>.*?)^```$", re.MULTILINE | re.DOTALL
)
MARKER = re.compile(r"^[ \t]*# (?:BEGIN|END) SOLUTION\n", re.MULTILINE)


class WorkedAnswers:
    """The worked answers on one page of solutions (a text notebook, .md); read when they are wanted.

    Raises CourseError where the page cannot be read, or where one of its cells stops.
    """

    def __init__(self, path: Path):
        self.path = path

    def source(self, function: str) -> str:
        """Return the cell that defines a function or class, without its markers; ValueError where there is none."""
        for options, source in self._cells:
            if "answer" in options and re.search(rf"^(?:def|class) {function}\b", source, re.MULTILINE):
                return MARKER.sub("", source)
        raise ValueError(f"{self.path.name} has no cell tagged `answer` that defines {function}")

    def function(self, name: str, source: str | None = None) -> Any:
        """Return the worked answer, or what `source`, another version of its cell, makes of it."""
        names = dict(self._names)
        if source is not None:
            exec(compile(source, f"<{name}>", "exec"), names)  # written by the author of the exercise
        return names[name]

    def sources(self, others: Mapping[str, str | None]) -> list[str]:
        """Return the graded cells, in order, with `others` in place of those that define these functions."""
        cells = []
        for options, source in self._cells:
            if "not-graded" in options:
                continue
            names = re.findall(r"^(?:def|class) (\w+)", source, re.MULTILINE) if "answer" in options else []
            other = next((others[name] for name in names if others.get(name)), None)
            cells.append(MARKER.sub("", source) if other is None else other)
        return cells

    @cached_property
    def _cells(self) -> list[tuple[str, str]]:
        """Options and source of the code cells. Read without jupytext, whose import takes as long as torch's."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except OSError as error:
            raise CourseError(f"{self.path} cannot be read: {(error.strerror or str(error)).lower()}") from error
        return [(cell["options"], cell["source"]) for cell in CELL.finditer(text)]

    @cached_property
    def _names(self) -> dict[str, Any]:
        """What all graded cells of the page define."""
        names: dict[str, Any] = {"__name__": "answers"}
        stops = cells.run([source for options, source in self._cells if "not-graded" not in options], names)
        if stops:
            raise CourseError(
                f"{self.path}, code cell {stops[0]['cell'] + 1}: {stops[0]['error']}: {stops[0]['message']}"
            )
        return names
