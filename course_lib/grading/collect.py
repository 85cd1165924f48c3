"""Finding what was handed in: in a folder, a folder for each student or a file for each student."""

import contextlib
import os
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading import downloads
from course_lib.grading.archives import ARCHIVE, DEEPEST, ONE_UNPACKED, unpack
from course_lib.grading.catalogue import Catalogue
from course_lib.grading.downloads import CANVAS, Download
from course_lib.grading.notebook_file import kind, read_cells
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

KINDS = (".ipynb", ".py")
MOST_KINDS = 5  # that are counted in a sentence


@dataclass(frozen=True)
class Found:
    """One submission: the name of its folder or file, or of what a student's downloads have in common; its files."""

    name: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Collected:
    """The submissions by name, and the names of files that are none, or that the same student replaced later."""

    found: list[Found]
    left: list[str]
    replaced: list[str]


def find_submissions(folder: Path, out: Path) -> Collected:
    """Return the submissions in `folder`.

    The files and folders that a platform made of one student's are one submission. Hidden files and folders are passed
    over, and so is `out`, where the grades go. Raises CourseError where there is no submission.
    """
    if not folder.is_dir():
        raise CourseError(f"{folder} is no folder and no zip file: expected one with a folder or a file a student")
    entries = [
        entry
        for entry in sorted(folder.iterdir())
        if not entry.name.startswith((".", "__")) and os.path.realpath(entry) != os.path.realpath(out)
    ]
    told = _told(entries)
    of_platform, found, left, replaced = defaultdict(list), [], [], []
    for entry in entries:
        who = told[entry]
        if who.platform:
            of_platform[who.platform, who.name, who.number or who.submission].append(entry)
        elif (entry.is_dir() and not entry.is_symlink()) or kind(entry) in (*KINDS, ARCHIVE):
            found.append(Found(entry.name, _files_of(entry)))
        else:
            left.append(entry.name)
    for together in of_platform.values():
        kept = _latest(together, told)
        replaced += [entry.name for entry in together if entry not in kept]
        name = told[kept[0]].submission
        found.append(Found(name, tuple(path for entry in kept for path in _files_of(entry))))
    if not found:
        holds = f"; it holds {counted(entries)}" if entries else ""
        expected = "expected a folder or a file (.ipynb, .py, .zip) for each student"
        raise CourseError(f"{folder} holds no submission: {expected}{holds}")
    return Collected(sorted(found, key=lambda each: each.name), left, replaced)


def chapters_answered(course: Catalogue, found: list[Found]) -> list[str]:
    """Return the chapters of which some submission seems to define a function, seen from its code cells alone."""
    wanted = {task.function: exercise.id[:2] for exercise in course for task in exercise.tasks}
    seen = set()
    for submission in found:
        # Whatever goes wrong with one submission is told when it is graded, and does not keep the others from that.
        with contextlib.suppress(Exception), opened(submission.paths) as (files, _):
            for path in files:
                with contextlib.suppress(CourseError):  # what cannot be read answers nothing
                    code = "\n".join(cell.source for cell in read_cells(path)) if kind(path) in KINDS else ""
                    written = re.findall(r"^(?:def|class) (\w+)|^(\w+) *=(?!=)", code, re.MULTILINE)
                    seen |= {wanted[name] for names in written for name in names if name in wanted}
    return sorted(seen)


def files_inside(folder: Path) -> list[Path]:
    """Return the files below a student's folder, without the copies that editors and archives keep.

    What lies deeper than an archive may be is passed over.
    """
    found = []
    for place, folders, names in os.walk(folder):
        parts = len(Path(place).relative_to(folder).parts) + 1  # of the path of what lies in this place
        folders[:] = [each for each in folders if parts < DEEPEST and not each.startswith((".", "__"))]
        found += [Path(place, each) for each in names if not each.startswith((".", "__"))]
    return sorted(found)


@contextlib.contextmanager
def opened(paths: Iterable[str]) -> Iterator[tuple[list[Path], list[str]]]:
    """Give the files of a submission, those in its archives among them, and a sentence on each that cannot be opened.

    An archive within an archive stays closed.
    """
    with tempfile.TemporaryDirectory(prefix=ONE_UNPACKED) as folder:
        files, faults = [], []
        for number, path in enumerate(map(Path, paths)):
            if kind(path) != ARCHIVE:
                files.append(path)
                continue
            inside = Path(folder) / str(number)
            try:
                unpack(path, inside)
                files += files_inside(inside)
            except CourseError as error:
                faults.append(str(error).replace(str(path), path.name))
        yield files, faults


def counted(files: Iterable[Path]) -> str:
    """Say of which kinds these files are, the most frequent first.

    >>> counted(map(Path, ["a.pdf", "b.docx", "c.PDF", "README"]))
    '2 files of kind .pdf, 1 of .docx and 1 without an ending'
    """
    kinds = Counter(kind(path) for path in files)
    rest = sum(count for _, count in kinds.most_common()[MOST_KINDS:])
    told = [
        f"{count} of {shorten(ending, 12)}" if ending else f"{count} without an ending"
        for ending, count in kinds.most_common(MOST_KINDS)
    ] + [f"{rest} of other kinds"] * bool(rest)
    files_of_kind = "file of kind" if kinds.most_common(1)[0][1] == 1 else "files of kind"
    told[0] = re.sub(r"^(\d+) of ", rf"\1 {files_of_kind} ", told[0])
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)


def _files_of(entry: Path) -> tuple[str, ...]:
    inside = files_inside(entry) if entry.is_dir() and not entry.is_symlink() else [entry]
    return tuple(map(str, inside))


def _told(entries: list[Path]) -> dict[Path, Download]:
    """Return what the names of downloads say; other names say nothing, nor do those that only look like Canvas's."""
    told = {entry: downloads.read(entry.name) for entry in entries}
    for entry, each in told.items():
        # Canvas makes no folders, and a file has a name of its own behind what the platform writes.
        if each.platform == CANVAS if entry.is_dir() else not each.file:
            told[entry] = Download()
    uploads = Counter(each.upload for each in told.values() if each.upload)
    people = {each.submission for each in told.values() if each.upload}
    # In `hw_3_2024_ada.py` and `hw_3_2024_bo.py` the numbers are no files', and `hw` is nobody's name.
    if max(uploads.values(), default=0) > 1 or (len(people) == 1 and len(uploads) > 1):
        told = {entry: Download() if each.platform == CANVAS else each for entry, each in told.items()}
    return told


def _latest(entries: list[Path], told: dict[Path, Download]) -> list[Path]:
    """Return the files of one student's last submission: Canvas numbers them in the order in which they came."""
    last = max(entries, key=lambda entry: told[entry].upload)
    newest = {told[entry].file_at_first: entry for entry in sorted(entries, key=lambda entry: told[entry].upload)}
    return [
        entry
        for entry in entries
        if told[entry].platform != CANVAS
        or (newest[told[entry].file_at_first] == entry and told[entry].late == told[last].late)
    ]
