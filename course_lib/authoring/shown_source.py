"""The source of the library on a page, word for word: how it is shown, and which pages show what.

Where source is shown, a comment counts, too: a page is out of step when it changes.
"""

import ast
import inspect
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from IPython.display import Markdown

from course_lib.authoring.digests import digest

PARAGRAPH = "\n\n"  # what stands between two of them
WIDTH = 80  # characters of code that a page shows without scrolling
SHOW_SOURCE = {"getsource", "getsourcelines", "show_source"}
SHOW_DOCSTRINGS = {"getdoc", "help"}  # also inherited ones, which are nowhere in the definition itself


def show_source(definition: Callable) -> Markdown:
    """Show a function or class of the library as it stands in its file; of each docstring, the first paragraph.

    >>> print(show_source(_first_paragraph).data)
    ```python
    def _first_paragraph(docstring: str, indent: str) -> str:
    ...
    """
    lines = inspect.cleandoc("\n" + inspect.getsource(definition)).splitlines()
    for node in reversed(list(ast.walk(ast.parse("\n".join(lines))))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (text := ast.get_docstring(node)):
            place = node.body[0]
            indent = " " * place.col_offset
            lines[place.lineno - 1 : place.end_lineno] = [_first_paragraph(text, indent)]
    return Markdown("\n".join(["```python", _no_wider_than_a_page("\n".join(lines)), "```"]))


def _first_paragraph(docstring: str, indent: str) -> str:
    """Return the first paragraph of a docstring as a docstring, no wider than a page shows code."""
    words = f'"""{docstring.partition(PARAGRAPH)[0]}"""'
    return textwrap.fill(words, width=WIDTH, initial_indent=indent, subsequent_indent=indent)


def _no_wider_than_a_page(source: str) -> str:
    """Break long lines as ruff does; a reader who has no ruff sees them as they are."""
    if not (ruff := shutil.which("ruff", path=os.pathsep.join([str(Path(sys.executable).parent), os.defpath]))):
        return source
    command = [ruff, "format", "--isolated", f"--line-length={WIDTH}", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout.rstrip()


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
