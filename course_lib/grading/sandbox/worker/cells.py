"""Running the code cells of a notebook in order, as Jupyter would, without Jupyter."""

import linecache
import re
import traceback
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import CodeType
from typing import Any

# What Jupyter understands and Python does not: `%magic`, `!command`, `x = !command`, `?help`, `help?`.
MAGIC = re.compile(r"^([ \t]*)(?:(?:\w+\s*=\s*)?[%!?].*|[\w.]+\?{1,2}[ \t]*)$", re.MULTILINE)

# Ways round the dispatcher: to torch's machine code, to its text, to what lives in memory, to code made of text.
WAYS_ROUND = """
    ctypes _ctypes cffi gc importlib builtins exec eval compile open modules _refs _decomp _te
    __import__ __globals__ __subclasses__ __loader__ __builtins__
"""
NOT_HERE = "is not to be used where an operator of torch is forbidden"


def run(
    sources: list[str],
    names: dict[str, Any],
    guard: Callable[[], AbstractContextManager] = nullcontext,
    refused: frozenset[str] = frozenset(),
) -> list[dict]:
    """Run `sources` one after the other in `names`, each inside its own `guard()`.

    Returns one entry for each cell that did not come to its end: its number, whether it was no Python at all
    (`broken`), the error, and the line. A cell that stops does not keep the next from running. A cell whose source
    names something `refused` is not run at all.
    """
    stops = []
    for number, source in enumerate(sources):
        filename = f"<cell {number}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        try:
            programme = _compile(source, filename)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line, text = getattr(error, "lineno", None), getattr(error, "text", None)
            stops.append({"cell": number, "broken": True, "line": line, "text": text or ""} | told(error))
            continue
        try:
            with guard():
                refuse(programme, refused)
                exec(programme, names)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == filename]
            stops.append({"cell": number, "broken": False, "line": lines[-1] if lines else None} | told(error))
    return stops


def refuse(programme: CodeType, refused: frozenset[str]) -> None:
    """Raise PermissionError where a compiled programme uses one of these names."""
    if found := sorted(refused & words(programme)):
        raise PermissionError(f"{found[0]} {NOT_HERE}")


def words(programme: CodeType) -> set[str]:
    """Return the names that a compiled programme uses: of variables, attributes and modules, in its functions too."""
    inner = [words(each) for each in programme.co_consts if isinstance(each, CodeType)]
    return {part for name in programme.co_names for part in name.split(".")}.union(*inner)


def told(error: BaseException) -> dict[str, str]:
    """Return the kind and the message of an error, whatever its own `__str__` does."""
    try:
        message = error.msg if isinstance(error, SyntaxError) else str(error)
    except BaseException:
        message = ""
    return {"error": type(error).__name__, "message": str(message)[:2000]}


def _compile(source: str, filename: str) -> CodeType:
    """Compile one cell, without its magics where it has any; line numbers stay those of the cell."""
    try:
        return _quietly(source, filename)
    except (SyntaxError, ValueError):
        pass  # perhaps only Jupyter's own syntax stands in the way
    plain = MAGIC.sub(r"\1pass", source)
    if source.lstrip().startswith("%%") and not re.match(r"\s*%%(time|capture)", source):
        plain = ""  # the whole cell is for a magic: a shell script, a page of HTML
    return _quietly(plain, filename)


def _quietly(source: str, filename: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, filename, "exec")
