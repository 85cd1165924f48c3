"""Finding what was handed in: in a folder, a folder for each student or a file for each student."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.catalogue import Catalogue
from course_lib.grading.notebook_file import LARGEST
from course_lib.project import CourseError

KINDS = (".ipynb", ".py")


@dataclass(frozen=True)
class Found:
    """One submission: the name of its folder or file, and the paths of its notebooks and modules."""

    name: str
    paths: tuple[str, ...]


def find_submissions(folder: Path, out: Path) -> tuple[list[Found], list[str]]:
    """Return the submissions in `folder` by name, and the names of files there that are none.

    Hidden files and folders are passed over, and so is `out`, where the grades go. Raises CourseError where there is
    no submission.
    """
    if not folder.is_dir():
        raise CourseError(f"{folder} is no folder: expected one with a folder or a file for each student")
    found, left = [], []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "__")) or os.path.realpath(entry) == os.path.realpath(out):
            continue
        if entry.is_dir() and not entry.is_symlink():
            found.append(Found(entry.name, tuple(map(str, files_inside(entry)))))
        elif entry.suffix.lower() in KINDS:
            found.append(Found(entry.name, (str(entry),)))
        else:
            left.append(entry.name)
    if not found:
        raise CourseError(f"{folder} holds no submission: expected a folder or a file (.ipynb, .py) for each student")
    return found, left


def chapters_answered(course: Catalogue, found: list[Found]) -> list[str]:
    """Return the chapters of which some submission seems to define a function, seen from its text alone."""
    wanted = {task.function: exercise.id[:2] for exercise in course for task in exercise.tasks}
    seen = set()
    for path in (Path(each) for submission in found for each in submission.paths):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
            text = path.read_bytes().decode(errors="replace")
            seen |= {wanted[name] for name in re.findall(r"\b(?:def|class) (\w+)", text) if name in wanted}
    return sorted(seen)


def files_inside(folder: Path) -> list[Path]:
    """Return the notebooks and modules below a student's folder, without the copies that editors and archives keep."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in KINDS
        and not path.is_dir()
        and not any(part.startswith((".", "__")) for part in path.relative_to(folder).parts)
    )
