"""Keeping each chapter's text (book/text/*.md) and its executed notebook (book/*.ipynb) in step."""

import asyncio
import json
from pathlib import Path

from nbformat import NotebookNode
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from course_lib.authoring.dependencies import dependencies
from course_lib.authoring.execution import execute
from course_lib.authoring.notebooks import (
    as_json,
    digest,
    file_digest,
    find_texts,
    read_notebook,
    read_text,
    write_atomically,
)
from course_lib.project import CourseError, root


def sync(chapters: list[str], force: bool, home: Path | None = None) -> int:
    """Execute the chapters whose text or library changed (all of them with `force`); return 1 when one failed.

    A chapter that fails keeps its old notebook, and the others are still done. Raises CourseError for an unknown
    chapter. `home` is the folder of the course, for tests.
    """
    home = home or root()
    texts = find_texts(home / "book/text", chapters)
    stale = [text for text in texts if force or out_of_step(text, home)]
    failures = []
    for text in stale:
        try:
            _execute(text, home)
        except CourseError as error:
            failures.append(str(error))
    for failure in failures:
        print(failure)
    kept = f", {len(failures)} failed (old notebook kept)" if failures else ""
    print(f"{len(stale) - len(failures)} executed, {len(texts) - len(stale)} in step already{kept}")
    return 1 if failures else 0


def _execute(text: Path, home: Path) -> None:
    """Write the executed notebook of `text`, with a progress bar over its cells."""
    notebook = read_text(text)
    made_from = _origin(text, notebook, home)  # before it runs: who edits a file meanwhile finds the pair out of step
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task(text.stem, total=len(notebook.cells))
        asyncio.run(execute(text.stem, notebook, home, lambda: progress.advance(bar)))
    notebook.metadata["course"] = made_from | {"cells": _cells_digest(notebook)}
    write_atomically(_pair(text), as_json(notebook))


def check(chapters: list[str], home: Path | None = None) -> int:
    """Print every pair that is out of step, with the reason, and return 1 if there is one; execute nothing.

    Raises CourseError for an unknown chapter.
    """
    home = home or root()
    texts = find_texts(home / "book/text", chapters)
    found = [(f"book/{_pair(text).name}", out_of_step(text, home)) for text in texts]
    if not chapters:
        orphans = set((home / "book").glob("*.ipynb")) - {_pair(text) for text in texts}
        found += [(f"book/{path.name}", f"no text, book/text/{path.stem}.md is missing") for path in sorted(orphans)]
    differing = [f"{name}: {reason}" for name, reason in found if reason]
    print("\n".join(differing) or f"all {len(texts)} pairs in step")
    return 1 if differing else 0


def out_of_step(text: Path, home: Path) -> str | None:
    """Return why the notebook of `text` is not what `course sync` would write now, or None where it is."""
    if not _pair(text).exists():
        return f"missing, run `course sync {text.stem}`"
    try:
        notebook = read_notebook(_pair(text))
    except CourseError:
        return f"not a notebook, run `course sync {text.stem}`"
    stored = notebook.metadata.get("course")
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    if not stored or any(cell.execution_count is None for cell in code):
        return f"outputs missing, never executed by `course sync {text.stem}`"
    now = _origin(text, notebook, home)
    if stored["source"] != now["source"]:
        return "text changed"
    if stored["cells"] != _cells_digest(notebook):
        return "notebook edited by hand"
    before, now = stored["library"], now["library"]
    changed = sorted(file for file in before | now if before.get(file) != now.get(file))
    return f"library changed: {', '.join(changed)}" if changed else None


def _pair(text: Path) -> Path:
    return text.parent.parent / f"{text.stem}.ipynb"


def _origin(text: Path, notebook: NotebookNode, home: Path) -> dict:
    """Return digests of what the outputs come from: the text, and the files that its code depends on."""
    return {"source": file_digest(text), "library": dependencies(notebook, home)}


def _cells_digest(notebook: NotebookNode) -> str:
    """Return a digest of the cells with their outputs, by which an edit of the notebook itself is noticed."""
    return digest(json.dumps(notebook.cells, sort_keys=True))
