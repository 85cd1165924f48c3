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

NOT_GRADED = "not-graded"  # the tag of a cell that is not part of the answer
# What Jupyter understands and Python does not: `%magic`, `!command`, `x = !command`, `?help`, `help?`.
MAGIC = re.compile(r"^([ \t]*)(?:(?:\w+\s*=\s*)?[%!?].*|[\w.]+\?{1,2}[ \t]*)$", re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """One code cell; `name` says where it is, in words for a message."""

    name: str
    source: str


@dataclass
class Submission:
    """What a file defines when its cells have run, and what stopped any of them."""

    path: Path
    names: dict[str, Any] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)

    def why_missing(self, function: str) -> str:
        """Say that the file does not define `function`, and which cells stopped before their end."""
        sentence = f"{self.path} does not define {function}"
        return f"{sentence}; {'; '.join(self.stopped)}" if self.stopped else sentence


def read(path: Path) -> Submission:
    """Run the code cells of a notebook (.ipynb), a text notebook (.md) or a module (.py) and return what they define.

    Cells tagged `not-graded` and lines that only Jupyter understands are left out; a cell that raises does not keep
    the next from running. Raises CourseError for a file that cannot be read or a cell that is not Python.
    """
    cells = _code_cells(path)
    programmes = [(cell, _compile(cell, path)) for cell in cells]
    submission = Submission(path, {"__name__": "answers"})
    os.environ.setdefault("MPLBACKEND", "agg")  # a figure must not open a window and wait
    for cell, programme in programmes:
        try:
            with unattended():
                exec(programme, submission.names)
        except (Exception, SystemExit) as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if frame.filename == programme.co_filename]
            line = f" in line {own[-1].lineno}" if own else ""
            submission.stopped.append(shorten(f"{cell.name} stopped{line} with {type(error).__name__}: {error}", 240))
    return submission


def _code_cells(path: Path) -> list[Cell]:
    """Return the code cells that count, in order."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path} cannot be read: {_reason(error)}") from error
    if path.suffix == ".py":
        return [Cell("the file", text)]
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
    """Compile one cell, without its magics where it has any; line numbers stay those of the cell."""
    filename = f"<{cell.name} of {path}>"
    linecache.cache[filename] = (len(cell.source), None, cell.source.splitlines(keepends=True), filename)
    try:
        return _quiet_compile(cell.source, filename)
    except (SyntaxError, ValueError):
        pass  # perhaps only Jupyter's own syntax stands in the way
    source = MAGIC.sub(r"\1pass", cell.source)
    if cell.source.lstrip().startswith("%%") and not re.match(r"\s*%%(time|capture)", cell.source):
        source = ""  # the whole cell is for a magic: a shell script, a page of HTML
    try:
        return _quiet_compile(source, filename)
    except SyntaxError as error:
        line = shorten(error.text or "", 60)
        where = f"{cell.name}, line {error.lineno}" if path.suffix != ".py" else f"line {error.lineno}"
        raise CourseError(f"{path} is not Python in {where} (`{line}`): {error.msg}") from error
    except ValueError as error:
        raise CourseError(f"{path} is not Python in {cell.name}: {error}") from error


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
