"""What the outputs of a notebook depend on beside its own code: modules of course_lib, and data that it reads."""

import ast
import contextlib
import re
from pathlib import Path

from nbformat import NotebookNode

from course_lib.authoring.digests import digest, file_digest, module_digest, plain_python
from course_lib.authoring.shown_source import shown_definitions
from course_lib.exercises.listing import table
from course_lib.project import CourseError

PACKAGE = "course_lib"
LISTING = table.__module__  # its table stands for all that it is made of: exercises may change how they are graded


def dependencies(notebook: NotebookNode, home: Path) -> dict[str, str]:
    """Return the digest of everything that `notebook` depends on, by its name: for a file, the path below `home`.

    These are the modules of course_lib that its cells import, the modules that those import, and so on, in which
    comments do not count; the definitions whose source it shows, in which they do; the lists of exercises that it
    shows; and the files of book/_data that a cell names.
    """
    cells = [plain_python(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    modules = {_path(file, home): file.read_text(encoding="utf-8") for file in _modules(cells, home)}
    data = [file for file in (home / "book/_data").glob("*.*") if any(file.name in cell for cell in cells)]
    found = {path: module_digest(source) for path, source in modules.items()}
    found |= {_path(file, home): file_digest(file) for file in data}
    found |= {f"exercises of chapter {each}": digest(text) for each, text in _lists_of_exercises(cells).items()}
    shown = shown_definitions(cells, lambda module: _file(home, module.split(".")))
    if shown is None:  # any text may be what the page shows
        shown = {path: digest(source) for path, source in modules.items()} | {"cells": digest("\n".join(cells))}
    return dict(sorted((found | shown).items()))


def _path(file: Path, home: Path) -> str:
    return file.relative_to(home).as_posix()


def _modules(cells: list[str], home: Path) -> set[Path]:
    """Return the files of course_lib that `cells` import, directly or through one another."""
    waiting = set().union(*(_imports(cell, home) for cell in cells))
    found = set()
    while waiting:
        file = waiting.pop()
        found.add(file)
        waiting |= _imports(file.read_text(encoding="utf-8"), home, file) - found
    return found


def _lists_of_exercises(cells: list[str]) -> dict[str, str]:
    """Return the tables that `cells` show with show_exercises("NN"), by chapter: a new title makes another page."""
    tables = {}
    for chapter in re.findall(r"""^show_exercises\(["'](\w+)["']\)""", "\n".join(cells), re.MULTILINE):
        with contextlib.suppress(CourseError):  # executing the cell will say so
            tables[chapter] = table(chapter)
    return tables


def _imports(source: str, home: Path, file: Path | None = None) -> set[Path]:
    """Return the files of course_lib that `source`, found in `file`, imports directly."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # executing the cell will say so, and where
        return set()
    names, files = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "import_module" and file:
            files |= set(file.parent.glob("*.py"))  # any of its neighbours may be what is imported by name
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, home, file)
            # `from course_lib import softmax` may name a module or a thing inside course_lib/__init__.py.
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    for name in names:
        if name.startswith(LISTING):
            continue
        parts = name.split(".")
        # Importing a.b.c runs a/__init__.py and a/b/__init__.py first.
        files |= {_file(home, parts[:length]) for length in range(1, len(parts) + 1)} - {None}
    return files


def _absolute(node: ast.ImportFrom, home: Path, file: Path | None) -> str:
    """Return the full name of the module that a `from` imports from, also where it begins with dots."""
    if node.level == 0 or file is None:
        return node.module or ""
    package = file.relative_to(home).parts[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def _file(home: Path, parts: list[str]) -> Path | None:
    """Return the file of a module of course_lib, None where `parts` name none."""
    path = home.joinpath(*parts)
    there = [file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()]
    return there[0] if there and parts[0] == PACKAGE else None
