"""Which files the outputs of a notebook depend on: modules of course_lib, and data that it reads."""

import ast
from pathlib import Path

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from course_lib.authoring.notebooks import file_digest

PACKAGE = "course_lib"


def dependencies(notebook: NotebookNode, home: Path) -> dict[str, str]:
    """Return the digest of every file that `notebook` depends on, by its path below `home`.

    These are the modules of course_lib that its cells import, the modules that those import, and so on; and the files
    of book/_data that a cell names.
    """
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    waiting = set().union(*(_imports(_plain_python(cell), home) for cell in cells)) if cells else set()
    found = set()
    while waiting:
        file = waiting.pop()
        found.add(file)
        waiting |= _imports(file.read_text(encoding="utf-8"), home, file) - found
    found |= {file for file in (home / "book/_data").glob("*.*") if any(file.name in cell for cell in cells)}
    return {file.relative_to(home).as_posix(): file_digest(file) for file in sorted(found)}


def _plain_python(cell: str) -> str:
    """Turn the commands of IPython (`%time ...`, `!ls`) into Python, which `ast` can read."""
    return TransformerManager().transform_cell(cell)


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
        parts = name.split(".")
        if parts[0] == PACKAGE:  # importing a.b.c runs a/__init__.py and a/b/__init__.py first
            files |= set().union(*(_files(home, parts[:length]) for length in range(1, len(parts) + 1)))
    return files


def _absolute(node: ast.ImportFrom, home: Path, file: Path | None) -> str:
    """Return the full name of the module that a `from` imports from, also where it begins with dots."""
    if node.level == 0 or file is None:
        return node.module or ""
    package = file.relative_to(home).parts[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def _files(home: Path, parts: list[str]) -> set[Path]:
    path = home.joinpath(*parts)
    return {file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()}
