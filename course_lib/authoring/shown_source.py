"""The source of the library on a page: how it is shown, and which pages show what.

A page shows what a reader is to learn from: type hints, checks of arguments and examples stay in the file, and no line
is wider than the page. Where source is shown, a comment counts, too: a page is out of step when it changes.
"""

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from IPython.display import Markdown

from course_lib.authoring.digests import digest

PARAGRAPH = "\n\n"  # what stands between two of them
WIDTH = 74  # characters of code that a page shows without scrolling
CHECK = re.compile(r"_?check_")  # how functions are called that only raise
COMMENT_ABOVE = re.compile(r"^( *)# .*(?:\n\1# .*)*", re.MULTILINE)
COMMENT_BESIDE = re.compile(r"^( *)(\S.*?) +# (.*)", re.MULTILINE)
SHOW_SOURCE = {"getsource", "getsourcelines", "show_source"}
SHOW_DOCSTRINGS = {"getdoc", "help"}  # also inherited ones, which are nowhere in the definition itself


def show_source(definition: Callable) -> Markdown:
    """Show a function or class of the library without type hints and checks; of each docstring, the first paragraph.

    A method is shown below the first line of its class.

    >>> print(show_source(_first_paragraph).data)
    ```python
    def _first_paragraph(docstring, indent):
    ...
    """
    lines = inspect.cleandoc("\n" + inspect.getsource(definition)).splitlines()
    if owner := definition.__qualname__.rpartition(".")[0]:  # a method: it stands below the first line of its class
        lines = [_first_line(getattr(inspect.getmodule(definition), owner)), *(f"    {line}" for line in lines)]
    tree = ast.parse("\n".join(lines))
    for first, last, instead in sorted(_changes(tree, lines), reverse=True):
        line = lines[first[0]][: first[1]] + instead + lines[last[0]][last[1] :]
        lines[first[0] : last[0] + 1] = [line] if line.strip() else []
    return Markdown("\n".join(["```python", _no_wider_than_a_page("\n".join(lines)), "```"]))


def _first_line(definition: type) -> str:
    """Return the line that begins a class, of which more is left out than shown."""
    return re.search(r"^class .*:", inspect.getsource(definition), re.MULTILINE)[0] + "  # in part"


def _changes(tree: ast.Module, lines: list[str]) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    """Yield what is replaced: from which line and column, to which, by what text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation:
            yield (node.lineno - 1, node.col_offset + len(node.arg)), _end(node.annotation), ""
        if _only_checks(node):
            yield (node.lineno - 1, node.col_offset), _end(node), ""
        if isinstance(node, ast.FunctionDef):
            yield from (((each.lineno - 1, each.col_offset), _end(each), "") for each in _sizes_for_checks_alone(node))
        if isinstance(node, ast.FunctionDef) and node.returns:
            row = node.returns.lineno - 1
            yield (row, lines[row].rindex(" ->", 0, node.returns.col_offset)), _end(node.returns), ""
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (text := ast.get_docstring(node)):
            place = node.body[0]
            yield (place.lineno - 1, 0), _end(place), _first_paragraph(text, " " * place.col_offset)


def _only_checks(node: ast.AST) -> bool:
    """Return whether a statement does nothing, or raises."""
    if isinstance(node, ast.If):
        return isinstance(node.body[0], ast.Raise) and not node.orelse
    return isinstance(node, ast.Expr) and _is_check(node.value)


def _sizes_for_checks_alone(function: ast.FunctionDef) -> Iterator[ast.Assign]:
    """Yield what keeps the answer of a check, `sizes = check_shape(...)`, for other checks and for nothing else."""
    in_checks = {id(part) for node in ast.walk(function) if _only_checks(node) for part in ast.walk(node)}
    read = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in in_checks
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_check(node.value) and ast.unparse(node.targets[0]) not in read:
            yield node


def _is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and bool(CHECK.match(ast.unparse(node)))


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno - 1, node.end_col_offset


def _first_paragraph(docstring: str, indent: str) -> str:
    """Return the first paragraph of a docstring as a docstring, no wider than a page shows code."""
    words = f'"""{docstring.partition(PARAGRAPH)[0]}"""'
    return textwrap.fill(words, width=WIDTH, initial_indent=indent, subsequent_indent=indent)


def _no_wider_than_a_page(source: str) -> str:
    """Break long lines as ruff does; a reader who has no ruff sees them as they are."""
    if not (ruff := shutil.which("ruff", path=os.pathsep.join([str(Path(sys.executable).parent), os.defpath]))):
        return source
    command = [ruff, "format", "--isolated", "--config=format.skip-magic-trailing-comma=true"]
    command += [f"--line-length={WIDTH}", "-"]
    narrow = COMMENT_BESIDE.sub(_moved_above, COMMENT_ABOVE.sub(_filled, source))
    return subprocess.run(command, input=narrow, capture_output=True, text=True, check=True).stdout.rstrip()


def _filled(comment: re.Match) -> str:
    """Return lines of comment that fit."""
    lines = comment[0].splitlines()
    if max(map(len, lines)) <= WIDTH:
        return comment[0]
    words = " ".join(line.strip().removeprefix("# ") for line in lines)
    return textwrap.fill(words, WIDTH, initial_indent=f"{comment[1]}# ", subsequent_indent=f"{comment[1]}# ")


def _moved_above(line: re.Match) -> str:
    """Return a line with its comment beside it or, where both are too long, above it."""
    indent, code, comment = line.groups()
    if len(line[0]) <= WIDTH or code.startswith("#"):
        return line[0]
    return textwrap.indent(textwrap.fill(comment, WIDTH - len(indent) - 2), f"{indent}# ") + f"\n{indent}{code}"


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
