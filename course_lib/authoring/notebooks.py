"""Text notebooks (MyST Markdown) and Jupyter notebooks, written so that changing one line is a small diff."""

from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from course_lib.authoring.digests import cell_digest, digest
from course_lib.project import CourseError, find_chapter

FOLDED = {"hide-input", "remove-input"}


def read_text(path: Path) -> NotebookNode:
    """Return the text notebook at `path` as a Jupyter notebook without outputs.

    The cells are named c0, c1, ... in their order, because jupytext would draw new names at every reading. Code that
    the book folds is folded in JupyterLab, too.
    """
    notebook = jupytext.read(path)
    notebook.metadata = NotebookNode(kernelspec={"name": "python3", "display_name": "Python 3", "language": "python"})
    for cell in notebook.cells:
        if is_folded(cell):
            cell.metadata["jupyter"] = {"source_hidden": True}
    number_cells(notebook)
    return notebook


def is_folded(cell: NotebookNode) -> bool:
    """Return whether the book shows what a cell puts out, and its code at a click or not at all."""
    return bool(FOLDED & set(cell.metadata.get("tags", [])))


def number_cells(notebook: NotebookNode) -> None:
    """Name the cells c0, c1, ... in their order."""
    notebook.nbformat_minor = 5  # the first version in which cells have names
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"c{index}"


def as_json(notebook: NotebookNode) -> str:
    """Return the file that holds `notebook`; raises nbformat.ValidationError where Jupyter could not open it."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def code_digest(path: Path) -> str:
    """Return a digest of the code in a text notebook: what was measured does not change with a sentence."""
    return digest("\n".join(cell_digest(cell.source) for cell in read_text(path).cells if cell.cell_type == "code"))


def find_texts(folder: Path, chapters: list[str]) -> list[Path]:
    """Return the text notebooks in `folder` that `chapters` name, by number ("02") or stem; without names, all.

    Raises CourseError for a name that belongs to no file.
    """
    if not chapters:
        return sorted(folder.glob("*.md"))
    return sorted({_find_text(folder, chapter) for chapter in chapters})


def _find_text(folder: Path, chapter: str) -> Path:
    by_stem = folder / f"{chapter}.md"
    return by_stem if by_stem.exists() else find_chapter(folder, chapter, ".md")


def read_notebook(path: Path) -> NotebookNode:
    """Return the Jupyter notebook at `path`; raises CourseError where the file holds none."""
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # whatever is wrong with the file, the reader of the message needs its name
        raise CourseError(f"{path.name} cannot be read as a notebook: {str(error).splitlines()[0]}") from None
