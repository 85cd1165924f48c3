"""Digests by which a change is noticed: of a text as it stands, and of code as Python understands it."""

import ast
import functools
import hashlib
from pathlib import Path

from IPython.core.displayhook import DisplayHook
from IPython.core.inputtransformer2 import TransformerManager

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)  # what may begin with a docstring


def digest(text: str) -> str:
    """Return the SHA-256 of `text` in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a text file, the same whether its lines end as on Linux or as on Windows."""
    return digest(path.read_text(encoding="utf-8"))


@functools.cache  # one module serves many chapters
def module_digest(source: str) -> str:
    """Return a digest of the code of a module, in which comments, docstrings and formatting do not count.

    >>> module_digest('x = (1 +\\n     2)  # three') == module_digest('"About x."\\n\\nx = 1 + 2')
    True
    """
    try:
        return digest(_canonical(ast.parse(source)))
    except SyntaxError:  # importing the module will say so, and where
        return digest(source)


def cell_digest(source: str) -> str:
    """Return a digest of the code of a cell, in which comments, docstrings and formatting do not count.

    A last line that is a string counts, since Jupyter shows it, and so does a semicolon, which hides the last value.

    >>> cell_digest("x + 1  # one more") == cell_digest("x+1")
    True
    >>> cell_digest("x + 1;") == cell_digest("x + 1")
    False
    """
    try:
        code = _canonical(ast.parse(plain_python(source)).body)
    except SyntaxError:  # executing the cell will say so
        return digest(source)
    return digest(code + (";" if DisplayHook.semicolon_at_end_of_expression(source) else ""))


def plain_python(cell: str) -> str:
    """Turn the commands of IPython (`%time ...`, `!ls`) into Python, which `ast` can read."""
    return TransformerManager().transform_cell(cell)


def _canonical(node) -> str:
    """Return a syntax tree in characters, without docstrings and line numbers.

    Unlike those of `ast.dump`, the characters are the same under every version of Python that the course runs on.
    """
    if isinstance(node, list):
        return f"[{','.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return ascii(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    if isinstance(node, ast.JoinedStr):  # Python 3.12 puts an empty piece of text into some f-strings
        fields["values"] = [each for each in node.values if getattr(each, "value", None) != ""]
    filled = [f"{name}={_canonical(value)}" for name, value in fields.items() if value not in (None, [])]
    return f"{type(node).__name__}({','.join(filled)})"
