"""What is handed in: the code cells of a file, and what became of them when they ran."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from course_lib.grading.causes import cause
from course_lib.grading.nearest import ALIKE, nearest
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

WHOLE_FILE = "the file"
NOT_GRADED = "not-graded"  # the tag of a cell that is not part of the answer
LARGEST = 1 << 25  # bytes; a notebook with many pictures has a tenth of that
MOST_CELLS, MOST_CODE = 1000, 1_000_000  # characters of code, which are searched again and again
LONGEST_IMPORT = 1000  # characters
MOST_VALUES = 1_000_000  # in the file of a notebook; pictures are one each
MOST_NAMES = 200  # written in the file, among which one is looked for that was meant: each takes its time
MOST_STOPS = 50  # cells that did not come to their end; of more, the first are told


@dataclass(frozen=True)
class Cell:
    """One code cell; `name` says where it is, in words for a message."""

    name: str
    source: str

    @property
    def title(self) -> str:
        """The name, and what to look for, since Jupyter does not number cells: a function, else the first line."""
        if self.name == WHOLE_FILE:
            return self.name
        shown = re.search(r"^def \w+", self.source, re.MULTILINE) or re.search(r"^[^\s#].*", self.source, re.MULTILINE)
        return f"{self.name} (`{shorten(shown[0], 40)}`)" if shown else self.name

    def defines(self, name: str) -> bool:
        """Tell whether this function or class is written here, whether or not the cell comes to its end."""
        return name in self._defined

    def gives(self, name: str) -> bool:
        """Tell whether this cell, had it come to its end, would have given something this name."""
        return name in self._given

    @cached_property  # read once: many functions are looked for, and each call of an answer may miss another name
    def _defined(self) -> frozenset[str]:
        found = re.findall(r"^[ \t]*(?:def|class) (\w+)|^(\w+)\s*=(?!=)", self.source, re.MULTILINE)
        return frozenset(chain.from_iterable(found))

    @cached_property
    def _given(self) -> frozenset[str]:
        imports = re.findall(rf"^[ \t]*(?:import|from) (.{{,{LONGEST_IMPORT}}})", self.source, re.MULTILINE)
        return self._defined.union(re.findall(r"\w+", "\n".join(imports)))


@dataclass(frozen=True)
class Stop:
    """A cell that did not come to its end, and why, in one sentence; `broken` where it is no Python at all."""

    cell: Cell
    sentence: str
    broken: bool
    error: str = ""  # the name of its class


@dataclass(frozen=True)
class Submission:
    """What a file defines now that its cells have run, and the cells that did not come to their end."""

    path: str
    defined: frozenset[str]
    stops: tuple[Stop, ...]
    written: tuple[str, ...] = ()  # the names of all functions and classes in its cells
    cells: tuple[str, ...] = ()  # the names of its cells

    @property
    def broken(self) -> tuple[Stop, ...]:
        """The cells that are no Python."""
        return tuple(stop for stop in self.stops if stop.broken)

    def why_undefined(self, name: str) -> str:
        """Return the sentence about the cell that would have defined `name`, had it not stopped before; else ""."""
        return next((stop.sentence for stop in self.stops if stop.cell.gives(name)), "")

    def place(self, file: str) -> str:
        """Return in words where a line stands, of which `worker.cells` or `worker.own_modules` named the file.

        What neither of them can have named gives "".
        """
        if cell := re.fullmatch(r"<cell ([0-9]{1,4})>", file):
            return self.cells[int(cell[1])] if int(cell[1]) < len(self.cells) else ""
        return file if re.fullmatch(r"\w+\.py", file) else ""

    def lost(self, function: str) -> bool:
        """Tell whether a function is written in a cell that did not come to its end."""
        return any(stop.cell.defines(function) for stop in self.stops)

    def why_missing(self, *functions: str) -> str:
        """Say that the file does not define `functions`, after the cause where a cell is to blame."""
        lost = [name for name in functions if self.lost(name)]
        absent = [name for name in functions if name not in lost]
        blamed = [stop for stop in self.stops if absent or any(stop.cell.defines(name) for name in lost)]
        blamed.sort(key=lambda stop: not stop.broken)
        sentence = "; ".join(stop.sentence for stop in blamed[:4])
        if lost:
            sentence += f"; so {' and '.join(lost)} {'is' if len(lost) == 1 else 'are'} not defined"
        if absent:
            sentence += f"{'; it' if sentence else ''} does not define {' or '.join(absent)}"
            written = [name for name in self.written[:MOST_NAMES] if name not in self.defined]
            near = {name: nearest(name, written, ALIKE) for name in absent}
            meant = [f"{found} is meant for {name}" for name, found in near.items() if found]
            sentence += f" (perhaps {', and '.join(meant)})" if meant else ""
        return f"{self.path}: {sentence}" if blamed else f"{self.path}{sentence}"


def after_running(path: str, cells: list[Cell], defined: Iterable[Any], stops: Iterable[Any]) -> Submission:
    """Return what is known of a file from what `worker.cells` told, which may have come from a stranger.

    Raises an exception of some kind for what is no such report.
    """
    told = []
    for stop in islice(stops, MOST_STOPS):
        cell, error, message = cells[stop["cell"]], str(stop["error"]), str(stop["message"])
        line = int(stop["line"]) if stop["line"] is not None else None
        if stop["broken"]:
            text = f" (`{shorten(str(stop['text']), 60)}`)" if stop["text"] else ""
            where = f" in line {line}{text}" if line is not None else ""
            sentence = f"{cell.title} is not Python{where}: {shorten(message, 160)}"
        else:
            where = f" in line {line}" if line is not None else ""
            found = cause(error, message)
            why = f"{where}: {found}" if found else f"{where} with {error}: {message}"
            what = "did not end in time" if error == "Unfinished" else f"stopped{why}"
            sentence = shorten(f"{cell.title} {what}", 240)
        told.append(Stop(cell, sentence, bool(stop["broken"]), error))
    written = tuple(re.findall(r"^(?:def|class) (\w+)", "\n".join(cell.source for cell in cells), re.MULTILINE))
    return Submission(path, frozenset(map(str, defined)), tuple(told), written, tuple(cell.name for cell in cells))


def kind(path: Path) -> str:
    """Return the ending that says how to read a file; browsers and platforms make `.ipynb.json` of `.ipynb`.

    >>> kind(Path("02_attention.ipynb.json")), kind(Path("HELPER.PY")), kind(Path("answers"))
    ('.ipynb', '.py', '')
    """
    return ".ipynb" if path.name.lower().endswith(".ipynb.json") else path.suffix.lower()


def read_cells(path: Path) -> list[Cell]:
    """Return the code cells of a notebook (.ipynb), a text notebook (.md) or a module (.py), in order.

    Cells tagged `not-graded` are left out. Raises CourseError for a file that cannot be read.
    """
    if kind(path) not in (".ipynb", ".md", ".py"):
        raise CourseError(f"{path} is no notebook: expected a file that ends in .ipynb, .md or .py")
    text = _text(path)
    if kind(path) == ".py":
        return _of_reasonable_size(path, [Cell(WHOLE_FILE, text)])
    try:
        code = _from_text_notebook(text) if kind(path) == ".md" else _from_notebook(text)
    except (ValueError, RecursionError) as error:
        raise CourseError(f"{path} cannot be read as a notebook: {_reason(error)}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path} cannot be read as a notebook: its cells are not those of a notebook") from error
    if len(code) > MOST_CELLS:
        raise CourseError(f"{path} cannot be read: it has more than {MOST_CELLS:,} code cells")
    cells = [Cell(f"code cell {n}", source) for n, (source, tags) in enumerate(code, start=1) if NOT_GRADED not in tags]
    return _of_reasonable_size(path, cells)


def _of_reasonable_size(path: Path, cells: list[Cell]) -> list[Cell]:
    if sum(len(cell.source) for cell in cells) > MOST_CODE:
        raise CourseError(f"{path} cannot be read: it has more than {MOST_CODE:,} characters of code")
    return cells


def _text(path: Path) -> str:
    """Return the text of an ordinary file of reasonable size; raises CourseError."""
    try:
        # A link could point at anything, and reading a pipe could wait for ever.
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise CourseError(f"{path} cannot be read: it is a link or no ordinary file")
        if path.stat().st_size > LARGEST:
            raise CourseError(f"{path} cannot be read: it has more than {LARGEST >> 20} MB")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read: {_reason(error)}") from error


def _from_notebook(text: str) -> list[tuple[str, list[str]]]:
    """Return source and tags of the code cells of a notebook.

    A notebook is a small JSON file. nbformat would read it as well, but importing nbformat takes as long as importing
    torch, and a learner would wait for both.
    """
    if sum(map(text.count, ",[{")) > MOST_VALUES:  # each becomes an object, of some hundred bytes
        raise ValueError(f"it holds more than {MOST_VALUES:,} values")
    notebook = json.loads(text)
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4:
        raise ValueError("it is not a notebook of format 4, the one that Jupyter writes")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [("".join(cell["source"]), _tags(cell)) for cell in code]  # source: text or lines


def _tags(cell: dict) -> list[str]:
    tags = cell.get("metadata", {}).get("tags", [])
    return tags if isinstance(tags, list) else []


def _from_text_notebook(text: str) -> list[tuple[str, list[str]]]:
    """Return source and tags of the code cells of a notebook in MyST Markdown."""
    import jupytext  # slow to import, and wanted for this kind of file only

    cells = jupytext.reads(text, fmt="md:myst").cells
    return [(cell.source, cell.metadata.get("tags", [])) for cell in cells if cell.cell_type == "code"]


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    if isinstance(error, UnicodeDecodeError):
        return "it is not text in UTF-8"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return shorten(str(error).splitlines()[0] if str(error) else type(error).__name__, 160)
