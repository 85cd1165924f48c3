"""In what a chapter's text and library differ from those that its executed notebook was made of."""

import json
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from nbformat import NotebookNode

from course_lib.authoring.dependencies import dependencies
from course_lib.authoring.digests import cell_digest, digest
from course_lib.authoring.notebooks import read_notebook, read_text
from course_lib.project import CourseError


@dataclass(frozen=True)
class Difference:
    """Why a notebook is out of step with its text, and whether its cells have to be executed again."""

    reason: str
    execute: bool = True


def find_difference(text: Path, home: Path) -> Difference | None:
    """Return what separates the notebook of `text` from the one that `course sync` would write, None for nothing.

    Cells are executed again where their code changed or what they depend on did. Another sentence, a comment in a cell
    or a caption is a difference that needs no execution.
    """
    if not notebook_of(text).exists():
        return Difference(f"missing, run `course sync {text.stem}`")
    try:
        notebook = read_notebook(notebook_of(text))
    except CourseError:
        return Difference(f"not a notebook, run `course sync {text.stem}`")
    made_from = notebook.metadata.get("course")
    code = code_cells(notebook)
    if not made_from or any(cell.execution_count is None for cell in code if cell.source.strip()):
        return Difference(f"outputs missing, never executed by `course sync {text.stem}`")
    if made_from["cells"] != cells_digest(notebook):
        return Difference("notebook edited by hand")
    wanted = read_text(text)
    before, now = made_from["library"], dependencies(wanted, home)
    changed = sorted(name for name in before | now if before.get(name) != now.get(name))
    reworded = _bare(notebook) != _bare(wanted)
    reasons = _code_changes(code, code_cells(wanted)) if reworded else []
    reasons += [f"library changed: {', '.join(changed)}"] if changed else []
    if reasons:
        return Difference("; ".join(reasons))
    return Difference("text changed (no code to execute)", execute=False) if reworded else None


def notebook_of(text: Path) -> Path:
    """Return where the notebook of a text stands."""
    return text.parent.parent / f"{text.stem}.ipynb"


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells that hold code, in their order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cells_digest(notebook: NotebookNode) -> str:
    """Return a digest of the cells with their outputs, by which an edit of the notebook itself is noticed."""
    return digest(json.dumps(notebook.cells, sort_keys=True))


def _code_changes(before: list[NotebookNode], now: list[NotebookNode]) -> list[str]:
    """Return which code cells changed, by their number in the text, and which went, by that in the notebook."""
    old, new = ([cell_digest(cell.source) for cell in cells] for cells in (before, now))
    changed, removed = [], []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "delete":
            removed += [_name(before, index) for index in range(start, end)]
        elif kind != "equal":
            changed += [_name(now, index) for index in range(new_start, new_end)]
    named = (("code changed", changed), ("code removed", removed))
    return [f"{what}: {', '.join(names)}" for what, names in named if names]


def _name(cells: list[NotebookNode], index: int) -> str:
    first_line = cells[index].source.strip().partition("\n")[0]
    return f"cell {index + 1} (`{first_line}`)"


def _bare(notebook: NotebookNode) -> list[dict]:
    """Return the cells without what execution adds."""
    return [{key: cell[key] for key in cell if key not in ("outputs", "execution_count")} for cell in notebook.cells]
