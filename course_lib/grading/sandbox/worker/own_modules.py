"""Modules that a student wrote beside the answer, imported from their text: where answers run, there are no files."""

import importlib.util
import linecache
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import CodeType, ModuleType


class Importer:
    """Finds and runs modules of which it was given the text; Python asks it before it looks for a file."""

    def __init__(self, sources: Mapping[str, str], check: Callable[[CodeType], None]):
        self._sources, self._check = sources, check

    @property
    def names(self) -> list[str]:
        """The names of the modules."""
        return list(self._sources)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how to load one of these modules; None for any other."""
        return importlib.util.spec_from_loader(name, self) if name in self._sources else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making of an empty module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the text of a module; raises what it raises, and ImportError where it is no Python."""
        name = module.__name__
        source, file = self._sources[name], f"{name}.py"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        try:
            programme = compile(source, file, "exec")
        except (SyntaxError, ValueError) as error:
            line = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            raise ImportError(f"{file} is not Python{line}: {getattr(error, 'msg', error)}") from None
        self._check(programme)
        exec(programme, module.__dict__)


def serve(sources: Mapping[str, str], check: Callable[[CodeType], None] = lambda programme: None) -> None:
    """Have these modules, each a name and its text, imported by their names from now on, and no others of this kind.

    What Python has by itself or what is installed keeps its name. `check` raises what is to be raised where a module is
    not to be run.
    """
    own = {name: sources[name] for name in free(sources)}
    earlier = [each for each in sys.meta_path if isinstance(each, Importer)]
    # Those beside this file have short names as well, which are free for a student to use.
    for name in own.keys() | {name for each in earlier for name in each.names}:
        sys.modules.pop(name, None)
    sys.meta_path[:] = [Importer(own, check), *(each for each in sys.meta_path if each not in earlier)]


def free(names: Iterable[str]) -> list[str]:
    """Return those of these names that no module of Python, of the course or of what is installed has."""
    return [name for name in names if not _taken(name)]


def _taken(name: str) -> bool:
    """Tell whether a module of this name is part of Python, of the course, or installed."""
    libraries = [each for each in sys.path if Path(each).name in ("site-packages", "dist-packages")]
    return name in sys.stdlib_module_names or name == "course_lib" or PathFinder.find_spec(name, libraries) is not None
