"""Zip files of strangers: unpacked within bounds, and nowhere but in a folder of their own."""

import contextlib
import errno
import io
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from course_lib.grading import downloads
from course_lib.grading.notebook_file import LARGEST, kind
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

ARCHIVE = ".zip"
READ = (".ipynb", ".py", ARCHIVE)  # of any other kind only the name counts
UNPACKED, ONE_UNPACKED = ".unpacked", "course-unpacked-"  # folders that are gone when the grading is over
DEEPEST = 32  # parts of a path: Python's own functions call themselves once for each folder
RATIO, RATIO_FROM = 100, 1 << 20  # text becomes ten times smaller; below so many bytes nobody is hurt
ENCRYPTED = 0x1  # a flag of an entry
# An entry of an archive's list of contents: how it begins, its size without name, extra field and comment, and where
# their three lengths stand.
ENTRY, ENTRY_SIZE, ITS_LENGTHS = b"PK\x01\x02", 46, struct.Struct("<28x3H")
OURS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE)  # no fault of who made an archive


@dataclass(frozen=True)
class Bounds:
    """How much may be in an archive: files and folders together, and bytes once they are unpacked.

    What swells far more than text does, or lies too deep, is refused with its archive; where `spare_others`, it is
    left empty or left out by itself.
    """

    files: int
    size: int
    spare_others: bool = False


ONE_STUDENT, WHOLE_CLASS = Bounds(2_000, 1 << 27), Bounds(100_000, 1 << 32, spare_others=True)


def unpack(archive: Path, into: Path, bounds: Bounds = ONE_STUDENT) -> None:
    """Write what an archive holds below `into`: notebooks, modules and archives whole, other files empty.

    Raises CourseError, with nothing to be relied on below `into`, for what is broken, encrypted, larger than `bounds`,
    or would lead out of `into`; OSError where the fault is this machine's.
    """
    if archive.is_symlink() or not archive.is_file():
        raise CourseError(f"{archive} cannot be unpacked: it is a link or no ordinary file")
    try:
        with _ListBounded(io.FileIO(archive)) as file, file.opened(bounds.files) as opened:
            for entry, path in _checked(archive, opened.infolist(), bounds):
                target = into / path
                if entry.is_dir():
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as file:
                    # Of a class, what swells is left empty: it is one student's, and the others are to be graded.
                    if kind(target) in READ and not _swells(entry):
                        with opened.open(entry) as source:
                            file.write(source.read(LARGEST + 1))  # of more, enough to be refused later
    except OSError as error:  # names that are too long, a file where a folder should be
        if error.errno in OURS:
            raise
        raise CourseError(f"{archive} cannot be unpacked: {error.strerror or 'it is broken'}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise CourseError(f"{archive} cannot be unpacked: it is broken ({shorten(str(error), 120)})") from error
    except RuntimeError as error:  # how zipfile says that it does not know a compression
        raise CourseError(f"{archive} cannot be unpacked: it is compressed in an unusual way") from error


class _ListBounded(io.BufferedReader):
    """An archive whose list of contents is counted as zipfile reads it, before that makes an object of each entry.

    Only the list counts. What the archive says of its number of entries need not be true, and zipfile passes over it;
    and in a file that is stored uncompressed, an archive for one, there may stand anything that looks like a list.
    """

    _most: int | None = None

    def opened(self, most: int) -> zipfile.ZipFile:
        """Return the archive; raises CourseError for one of more than `most` entries."""
        self._most = most
        opened = zipfile.ZipFile(self)
        self._most = None  # from now on it is files that are read
        return opened

    def read(self, size: int | None = -1) -> bytes:
        """Read as any file does; raises CourseError for a list that is too long."""
        found = super().read(size)
        if self._most is not None and _entries(found, self._most) > self._most:
            raise CourseError(f"{self.name} is not unpacked: it holds more than {self._most:,} files")
        return found


def _entries(found: bytes, most: int) -> int:
    """Return how many entries of a list these bytes begin with; of more than `most`, one more than that."""
    count = place = 0
    while count <= most and found.startswith(ENTRY, place) and place + ENTRY_SIZE <= len(found):
        count, place = count + 1, place + ENTRY_SIZE + sum(ITS_LENGTHS.unpack_from(found, place))
    return count


def _swells(entry: zipfile.ZipInfo) -> bool:
    """Tell whether an entry becomes far larger than text can, as one does that is made to fill a disk."""
    return entry.file_size > max(RATIO_FROM, RATIO * entry.compress_size)


def _checked(
    archive: Path, entries: list[zipfile.ZipInfo], bounds: Bounds
) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Return each entry with its path; raises CourseError for what is not to be unpacked."""
    size = sum(min(entry.file_size, LARGEST) for entry in entries if kind(Path(entry.filename)) in READ)
    if size > bounds.size:
        raise CourseError(f"{archive} is not unpacked: it would become {size >> 20:,} MB")
    found: dict[PurePosixPath, zipfile.ZipInfo] = {}
    places: set[PurePosixPath] = set()  # one entry can make many folders
    for entry in entries:
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        shown = shorten(entry.filename, 60)
        if path.is_absolute() or ".." in path.parts or not path.parts or PureWindowsPath(path).drive:
            raise CourseError(f"{archive} is not unpacked: the path {shown!r} leads out of it")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise CourseError(f"{archive} is not unpacked: {shown!r} is a link")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise CourseError(f"{archive} is not unpacked: it is compressed in an unusual way")
        if _swells(entry) and not bounds.spare_others:
            raise CourseError(f"{archive} is not unpacked: {shown!r} would become {entry.file_size >> 20:,} MB")
        if entry.flag_bits & ENCRYPTED:
            raise CourseError(f"{archive} is not unpacked: it is encrypted")
        if len(path.parts) > DEEPEST:
            if not bounds.spare_others:
                raise CourseError(f"{archive} is not unpacked: {shown!r} is nested more than {DEEPEST} deep")
            path = PurePosixPath(*path.parts[:DEEPEST])
            entry = zipfile.ZipInfo(f"{path}/")  # of a student whose files all lie deeper, an empty folder is left
        places |= {path, *path.parents[:-1]}
        if len(places) > bounds.files:
            raise CourseError(f"{archive} is not unpacked: it holds more than {bounds.files:,} files and folders")
        if path in found and not entry.is_dir():
            raise CourseError(f"{archive} is not unpacked: it holds two files {shown!r}")
        found[path] = entry
    return [(entry, path) for path, entry in found.items()]


def in_archive(path: str) -> bool:
    """Tell whether a file was in an archive, so that it is there while it is graded, and gone afterwards.

    >>> in_archive("/tmp/course-unpacked-x3/0/02.py"), in_archive("/submissions/ada/02.py")
    (True, False)
    """
    return any(part == UNPACKED or part.startswith(ONE_UNPACKED) for part in Path(path).parts)


@contextlib.contextmanager
def folder_of(submissions: Path, out: Path) -> Iterator[Path]:
    """Give the folder of the submissions: the one that is named, or what a zip of the whole class holds.

    The archive is unpacked within `out`, where workers on other machines can read it, and cleared away afterwards.
    """
    if not (submissions.is_file() and kind(submissions) == ARCHIVE):
        yield submissions
        return
    there, unpacked = out.exists(), out / UNPACKED
    shutil.rmtree(unpacked, ignore_errors=True)  # of a sitting that was killed
    try:
        try:
            unpack(submissions, unpacked, WHOLE_CLASS)
        except OSError as error:
            raise CourseError(f"{submissions} cannot be unpacked into {out}: {error.strerror}") from error
        yield _without_wrapping(unpacked)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
        if not there:
            with contextlib.suppress(OSError):  # where there are grades in it by now
                out.rmdir()


def _without_wrapping(folder: Path) -> Path:
    """Return the folder that holds the submissions, where an archive was made of a folder and not of what is in it."""
    inside = [each for each in folder.iterdir() if not each.name.startswith((".", "__"))]
    if len(inside) == 1 and inside[0].is_dir() and not downloads.read(inside[0].name).platform:
        return inside[0]
    return folder
