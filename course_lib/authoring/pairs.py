"""Keeping each chapter's text (book/text/*.md) and its executed notebook (book/*.ipynb) in step."""

import asyncio
from pathlib import Path

from nbformat import NotebookNode
from rich.progress import Progress

from course_lib.authoring.dependencies import dependencies
from course_lib.authoring.differences import cells_digest, code_cells, find_difference, notebook_of
from course_lib.authoring.execution import execute, one_kernel_a_core, progress_bars
from course_lib.authoring.notebooks import as_json, find_texts, read_notebook, read_text
from course_lib.files import write_atomically
from course_lib.project import CourseError, root


def sync(chapters: list[str], force: bool, home: Path | None = None) -> int:
    """Execute the chapters whose code or library changed (all of them with `force`); return 1 when one failed.

    Where only the text around the code changed, the outputs are kept and nothing is executed. A chapter that fails
    keeps its old notebook, and the others are still done. Raises CourseError for an unknown chapter. `home` is the
    folder of the course, for tests.
    """
    home = home or root()
    texts = find_texts(home / "book/text", chapters)
    stale, reworded = texts, []
    if not force:
        differences = {text: found for text in texts if (found := find_difference(text, home))}
        stale = [text for text, difference in differences.items() if difference.execute]
        reworded = [text for text in differences if text not in stale]
    for text in reworded:
        _reword(text)
        print(f"{text.stem}: text updated, nothing executed")
    failures = asyncio.run(_execute_all(stale, home)) if stale else []
    for failure in failures:
        print(failure)
    counts = {
        "executed": len(stale) - len(failures),
        "text updated": len(reworded),
        "in step already": len(texts) - len(stale) - len(reworded),
        "failed (old notebook kept)": len(failures),
    }
    print(", ".join(f"{count} {what}" for what, count in counts.items() if count) or "no chapters")
    return 1 if failures else 0


def _reword(text: Path) -> None:
    """Write the notebook of `text` anew with the outputs that it has: no code changed."""
    notebook, old = read_text(text), read_notebook(notebook_of(text))
    for cell, executed in zip(code_cells(notebook), code_cells(old), strict=True):
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count
    _write(text, notebook, old.metadata["course"]["library"])


async def _execute_all(texts: list[Path], home: Path) -> list[str]:
    """Write the executed notebooks of `texts`, several at a time; return a sentence for each that failed."""
    core = one_kernel_a_core()
    with progress_bars() as progress:
        runs = [_execute(text, home, core, progress) for text in texts]
        results = await asyncio.gather(*runs, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, CourseError):
            raise result
    return [str(result) for result in results if result]


async def _execute(text: Path, home: Path, core: asyncio.Semaphore, progress: Progress) -> None:
    """Write the executed notebook of `text`, with a progress bar over its cells."""
    bar = progress.add_task(text.stem, total=len(read_text(text).cells), start=False)
    async with core:
        progress.start_task(bar)
        notebook = read_text(text)
        library = dependencies(notebook, home)  # before it runs: an edit meanwhile leaves the pair out of step
        await execute(text.stem, notebook, home, lambda: progress.advance(bar))
    _write(text, notebook, library)


def _write(text: Path, notebook: NotebookNode, library: dict[str, str]) -> None:
    notebook.metadata["course"] = {"library": library, "cells": cells_digest(notebook)}
    write_atomically(notebook_of(text), as_json(notebook))


def check(chapters: list[str], home: Path | None = None) -> int:
    """Print every pair that is out of step, with the reason, and return 1 if there is one; execute nothing.

    Raises CourseError for an unknown chapter.
    """
    home = home or root()
    texts = find_texts(home / "book/text", chapters)
    found = [(f"book/{notebook_of(text).name}", out_of_step(text, home)) for text in texts]
    if not chapters:
        orphans = set((home / "book").glob("*.ipynb")) - {notebook_of(text) for text in texts}
        found += [(f"book/{path.name}", f"no text, book/text/{path.stem}.md is missing") for path in sorted(orphans)]
    differing = [f"{name}: {reason}" for name, reason in found if reason]
    print("\n".join(differing) or f"all {len(texts)} pairs in step")
    return 1 if differing else 0


def out_of_step(text: Path, home: Path) -> str | None:
    """Return why the notebook of `text` is not what `course sync` would write now, or None where it is."""
    difference = find_difference(text, home)
    return difference and difference.reason
