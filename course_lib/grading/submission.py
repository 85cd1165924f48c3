"""Reading an answer from a file: its code cells, and the functions that they define."""

import json
import linecache
import os
import re
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

from course_lib.grading.unattended import unattended
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

WHOLE_FILE = "the file"
NOT_GRADED = "not-graded"  # the tag of a cell that is not part of the answer
# What Jupyter understands and Python does not: `%magic`, `!command`, `x = !command`, `?help`, `help?`.
MAGIC = re.compile(r"^([ \t]*)(?:(?:\w+\s*=\s*)?[%!?].*|[\w.]+\?{1,2}[ \t]*)$", re.MULTILINE)


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

    def defines(self, function: str) -> bool:
        """Tell whether a function of this name is written here, whether or not the cell comes to its end."""
        return re.search(rf"^\s*def {function}\b", self.source, re.MULTILINE) is not None


@dataclass(frozen=True)
class Stop:
    """A cell that did not come to its end, and why, in one sentence."""

    cell: Cell
    sentence: str


@dataclass
class Submission:
    """What a file defines when its cells have run; which cells are `broken`, no Python, and which `stopped`."""

    path: Path
    names: dict[str, Any] = field(default_factory=dict)
    broken: list[Stop] = field(default_factory=list)
    stopped: list[Stop] = field(default_factory=list)

    def why_missing(self, *functions: str) -> str:
        """Say that the file does not define `functions`, after the cause where a cell is to blame."""
        stops = self.broken + self.stopped
        lost = [name for name in functions if any(stop.cell.defines(name) for stop in stops)]
        absent = [name for name in functions if name not in lost]
        blamed = [stop for stop in stops if absent or any(stop.cell.defines(name) for name in lost)]
        sentence = "; ".join(stop.sentence for stop in blamed)
        if lost:
            sentence += f"; so {' and '.join(lost)} {'is' if len(lost) == 1 else 'are'} not defined"
        if absent:
            sentence += f"{'; it' if sentence else ''} does not define {' or '.join(absent)}"
        return f"{self.path}: {sentence}" if blamed else f"{self.path}{sentence}"


def read(path: Path) -> Submission:
    """Run the code cells of a notebook (.ipynb), a text notebook (.md) or a module (.py) and return what they define.

    Cells tagged `not-graded` and lines that only Jupyter understands are left out; a cell that raises or is not
    Python does not keep the next from running. Raises CourseError for a file that cannot be read or holds no Python.
    """
    cells = _code_cells(path)
    submission = Submission(path, {"__name__": "answers"})
    os.environ.setdefault("MPLBACKEND", "agg")  # a figure must not open a window and wait
    for cell in cells:
        try:
            programme = _compile(cell, path)
        except (SyntaxError, ValueError) as error:
            submission.broken.append(Stop(cell, _why_broken(cell, error)))
            continue
        try:
            with unattended():
                exec(programme, submission.names)
        except (Exception, SystemExit) as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if frame.filename == programme.co_filename]
            line = f" in line {own[-1].lineno}" if own else ""
            sentence = shorten(f"{cell.title} stopped{line} with {type(error).__name__}: {error}", 240)
            submission.stopped.append(Stop(cell, sentence))
    if submission.broken and len(submission.broken) == len(cells):
        raise CourseError(f"{path}: {submission.broken[0].sentence}")
    return submission


def _code_cells(path: Path) -> list[Cell]:
    """Return the code cells that count, in order."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read: {_reason(error)}") from error
    if path.suffix == ".py":
        return [Cell(WHOLE_FILE, text)]
    if path.suffix not in (".ipynb", ".md"):
        raise CourseError(f"{path} is no notebook: expected a file that ends in .ipynb, .md or .py")
    try:
        code = _from_text_notebook(text) if path.suffix == ".md" else _from_notebook(text)
    except ValueError as error:
        raise CourseError(f"{path} cannot be read as a notebook: {_reason(error)}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path} cannot be read as a notebook: its cells are not those of a notebook") from error
    return [Cell(f"code cell {n}", source) for n, (source, tags) in enumerate(code, start=1) if NOT_GRADED not in tags]


def _from_notebook(text: str) -> list[tuple[str, list[str]]]:
    """Return source and tags of the code cells of a notebook.

    A notebook is a small JSON file. nbformat would read it as well, but importing nbformat takes as long as importing
    torch, and a learner would wait for both.
    """
    notebook = json.loads(text)
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4:
        raise ValueError("it is not a notebook of format 4, the one that Jupyter writes")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [("".join(cell["source"]), cell["metadata"].get("tags", [])) for cell in code]  # source: text or lines


def _from_text_notebook(text: str) -> list[tuple[str, list[str]]]:
    """Return source and tags of the code cells of a notebook in MyST Markdown."""
    import jupytext  # slow to import, and wanted for this kind of file only

    cells = jupytext.reads(text, fmt="md:myst").cells
    return [(cell.source, cell.metadata.get("tags", [])) for cell in cells if cell.cell_type == "code"]


def _compile(cell: Cell, path: Path) -> CodeType:
    """Compile one cell, without its magics where it has any; line numbers stay those of the cell.

    Raises SyntaxError or ValueError for a cell that is not Python.
    """
    filename = f"<{cell.name} of {path}>"
    linecache.cache[filename] = (len(cell.source), None, cell.source.splitlines(keepends=True), filename)
    try:
        return _quiet_compile(cell.source, filename)
    except (SyntaxError, ValueError):
        pass  # perhaps only Jupyter's own syntax stands in the way
    source = MAGIC.sub(r"\1pass", cell.source)
    if cell.source.lstrip().startswith("%%") and not re.match(r"\s*%%(time|capture)", cell.source):
        source = ""  # the whole cell is for a magic: a shell script, a page of HTML
    return _quiet_compile(source, filename)


def _why_broken(cell: Cell, error: SyntaxError | ValueError) -> str:
    if not isinstance(error, SyntaxError):
        return f"{cell.title} is not Python: {error}"
    return f"{cell.title} is not Python in line {error.lineno} (`{shorten(error.text or '', 60)}`): {error.msg}"


def _quiet_compile(source: str, filename: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, filename, "exec")


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    if isinstance(error, UnicodeDecodeError):
        return "it is not text in UTF-8"
    return shorten(str(error).splitlines()[0] if str(error) else type(error).__name__, 160)
