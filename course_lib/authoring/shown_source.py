"""Which source of the library a page shows to its reader, word for word: there a comment counts, too."""

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

from course_lib.authoring.digests import digest

SHOW_SOURCE = {"getsource", "getsourcelines"}
SHOW_DOCSTRINGS = {"getdoc", "help"}  # also inherited ones, which are nowhere in the definition itself


def shown_definitions(cells: list[str], find_module: Callable[[str], Path | None]) -> dict[str, str] | None:
    """Return the digest of each definition of the library whose source `cells` (in plain Python) show, by its name.

    `find_module` finds the file of a module by its name ("course_lib.attention"). Returns None where what is shown is
    not found in this way: any text may then be shown.
    """
    trees = [tree for tree in map(_parsed, cells) if tree]
    origins = dict(pair for tree in trees for pair in _imported_names(tree))
    shown = {}
    for node in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called not in SHOW_SOURCE | SHOW_DOCSTRINGS:
            continue
        name, *attributes = ast.unparse(node.args[0]).split(".") if node.args else [""]
        module, definition = origins.get(name, ("", ""))
        file = find_module(module)
        source = _find(file.read_text(encoding="utf-8"), [definition, *attributes]) if file else None
        if source is None or called in SHOW_DOCSTRINGS:
            return None
        shown[f"{'.'.join([definition, *attributes])} as shown"] = digest(source)
    return shown


def _parsed(cell: str) -> ast.Module | None:
    try:
        return ast.parse(cell)
    except SyntaxError:  # executing the cell will say so
        return None


def _imported_names(tree: ast.Module) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each name that a `from` makes known in a cell, with its module and its name there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, (node.module or "", alias.name)) for alias in node.names)


def _find(source: str, path: list[str]) -> str | None:
    """Return the lines of a definition such as ["SelfAttention", "forward"], as `inspect` gives them, or None."""
    node = ast.parse(source)
    for name in path:
        inside = [each for each in node.body if getattr(each, "name", None) == name]
        if not inside:
            return None
        node = inside[-1]
    return "".join(inspect.getblock(source.splitlines(keepends=True)[node.lineno - 1 :]))
