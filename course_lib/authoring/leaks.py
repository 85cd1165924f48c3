"""Finding lines of an answer in what learners are given.

`stubs` cuts answers out between markers. This module must notice when that goes wrong, so it does not trust the markers
alone: what a function with an answer does below its docstring is the answer too, wherever the markers stand.
"""

import ast
import re

from nbformat import NotebookNode

# One call on plain names and numbers: an idiom of the library, which may be part of a longer expression anywhere.
IDIOM = re.compile(r"[\w.]+\([\w=., -]*\)")
FENCED = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)
# Lines that say nothing about an answer, because they stand in many functions.
TRIVIAL = re.compile(
    r"""
    .* :                                 # the header of a loop or a branch
    | (from|import) [ ] .*
    | (return [ ] | \w+ [ ]=[ ])? [\w.]+ \(?  # a bare name; the opening line of a longer expression
    | [\w, ()]+ [ ]=[ ] [\w.]+ \.shape  # sizes
    | super\(\)\.__init__\(\)            # every module begins with it
    | .{0,7}                             # closing brackets and the like
    """,
    re.VERBOSE,
)


def leaked_lines(solutions: NotebookNode, exercises: NotebookNode) -> list[str]:
    """Return the lines of an answer in `solutions` that can be read in `exercises`, anywhere in a cell, also in a hint.

    A line that the author also shows as a whole outside the answers is no leak: the code of a worked example (in a
    fence) and of cells that nobody has to fill in is there on purpose, and signatures and docstrings are not part of
    an answer. Inside a sentence the same line is a leak: a reader could copy it.
    """
    shown = _shown_lines(solutions)
    given = [" ".join(cell.source.split()) for cell in exercises.cells]
    secret = [line for line in _answer_lines(solutions) if line not in shown]
    return [line for line in dict.fromkeys(secret) if any(_stands_in(line, text) for text in given)]


def _answer_lines(solutions: NotebookNode) -> list[str]:
    lines = []
    for cell in solutions.cells:
        marked = _between_markers(cell.source)
        if cell.cell_type == "markdown":  # a formula or half a sentence may well be said twice, a sentence not
            lines += [line for line in map(_one_space, marked) if len(line) >= 30]
        else:
            code = map(_without_comment, marked + _function_bodies(cell))
            lines += [form for line in code if not TRIVIAL.fullmatch(line) for form in _forms(line)]
    return lines


def _forms(line: str) -> list[str]:
    """Return what to look for: a line that returns something is given away by what it returns alone."""
    returned = line.removeprefix("return ")
    return [line] if IDIOM.fullmatch(returned) else [returned]


def _shown_lines(solutions: NotebookNode) -> set[str]:
    shown = []
    for cell in solutions.cells:
        if cell.cell_type == "markdown":
            fenced = [line for fence in FENCED.finditer(cell.source) for line in fence[0].splitlines()]
            hidden = set(_between_markers(cell.source))
            shown += [line for line in fenced if line not in hidden]
        elif not _is_answer(cell):
            shown += cell.source.splitlines()
    return set(map(_without_comment, shown))


def _between_markers(source: str) -> list[str]:
    """Return the lines between BEGIN SOLUTION and END SOLUTION, to the end of the cell where the second is missing."""
    inside, found = False, []
    for line in source.splitlines():
        if "BEGIN SOLUTION" in line or "END SOLUTION" in line:
            inside = "BEGIN" in line
        elif inside:
            found.append(line)
    return found


def _function_bodies(cell: NotebookNode) -> list[str]:
    """Return the lines below the docstring of every function in `cell` that holds an answer."""
    if not _is_answer(cell):
        return []
    lines, found = cell.source.splitlines(), []
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            whole = lines[node.lineno - 1 : node.end_lineno]
            if body and any("BEGIN SOLUTION" in line for line in whole):
                found += lines[body[0].lineno - 1 : node.end_lineno]
    return found


def _is_answer(cell: NotebookNode) -> bool:
    return "answer" in cell.metadata.get("tags", [])


def _one_space(line: str) -> str:
    return " ".join(line.split())


def _without_comment(line: str) -> str:
    """Return the line without the shapes that are noted behind it."""
    return _one_space(line.partition("  #")[0])


def _stands_in(line: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(line)}(?!\w)", text) is not None
