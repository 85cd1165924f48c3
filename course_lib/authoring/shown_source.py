"""The source of the library on a page, word for word: how it is shown, and which pages show what.

Where source is shown, a comment counts, too: a page is out of step when it changes.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

from IPython.display import Markdown

from course_lib.authoring.digests import digest

SHOW_SOURCE = {"getsource", "getsourcelines", "show_source"}
SHOW_DOCSTRINGS = {"getdoc", "help"}  # also inherited ones, which are nowhere in the definition itself


def show_source(definition: Callable) -> Markdown:
    """Show a function or class of the library as it stands in its file, without the examples of its docstring.

    >>> print(show_source(Path.home).data)
    ```python
    @classmethod
    def home(cls):
    ...
    """
    source = inspect.getsource(definition)
    lines = inspect.cleandoc("\n" + source).splitlines()
    return Markdown("\n".join(["```python", *_without_examples(lines), "```"]))


def _without_examples(lines: list[str]) -> Iterator[str]:
    """Yield lines of Python without those of doctests, which take as much room again and say it twice on a page."""
    inside = False
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith(">>>"):
            inside = True
        elif inside and text.endswith('"""'):
            inside = False
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if not inside and not (text == "" and following.startswith(">>>")):
            yield line


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
