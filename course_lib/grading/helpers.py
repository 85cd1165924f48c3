"""The modules beside an answer that it imports, such as `helper.py`: they travel with it to where it runs."""

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

from course_lib.grading.downloads import read
from course_lib.grading.notebook_file import MOST_CODE, Cell, kind, read_cells
from course_lib.project import CourseError

_IMPORT = re.compile(
    r"(?:^|;)[ \t]*(?:from[ \t]+(\w+)(?:\.[\w.]*)?[ \t]+import\b|import[ \t]+([\w., \t]+))", re.MULTILINE
)


def imported(source: str) -> set[str]:
    """Return the names of the modules that a text imports, without what stands behind a dot.

    >>> sorted(imported("import torch, helper as h\\nfrom tools.layers import f"))
    ['helper', 'tools', 'torch']
    """
    names = set()
    for module, modules in _IMPORT.findall(source):
        names |= {module} if module else {each.split()[0].split(".")[0] for each in modules.split(",") if each.split()}
    return names - {""}


def helpers(path: Path, cells: list[Cell], beside: Iterable[Path]) -> dict[Path, tuple[str, str]]:
    """Return the modules among `beside` that an answer imports, or that these import: of each its name and its text.

    `path` is the answer's own; what lies in another folder is not beside it. Raises CourseError for too much code.
    """
    modules = {
        Path(read(each.name).file_at_first or each.name).stem: each
        for each in beside
        if kind(each) == ".py" and each.parent == path.parent and each != path and not each.name.startswith("__")
    }
    found: dict[Path, tuple[str, str]] = {}
    wanted, size = set().union(*(imported(cell.source) for cell in cells)), 0
    while (names := wanted & modules.keys()) and size <= MOST_CODE:
        name = min(names)
        module = modules.pop(name)
        with contextlib.suppress(CourseError):  # one that cannot be read is missing where it is imported
            (cell,) = read_cells(module)
            found[module] = name, cell.source
            wanted |= imported(cell.source)
            size += len(cell.source)
    if size > MOST_CODE:
        raise CourseError(f"{path} cannot be read: what it imports has more than {MOST_CODE:,} characters of code")
    return found
