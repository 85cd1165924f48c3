"""Files from the network: downloaded once, checked against what they must be, and kept in one folder.

That folder is the environment variable COURSE_DATA, or the cache of the operating system. Whatever goes wrong is a
CourseError of one sentence, and leaves the folder as it was: a file or an unpacked archive is there whole or not at
all.
"""

import errno
import gzip
import hashlib
import lzma
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import BinaryIO
from urllib.parse import urlsplit

import pooch
from requests import exceptions
from tqdm.auto import tqdm

from course_lib.files import complete_or_absent
from course_lib.project import CourseError

LARGEST = 2 << 30  # bytes: nothing unpacks to more, however small it was packed
MOST_MEMBERS = 200_000  # of an archive; the largest of this course has 100,000

# What the readers of the standard library raise on a file that is cut off or damaged.
_OF_FORMATS = (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, lzma.LZMAError)
_DAMAGE = (*_OF_FORMATS, EOFError, ValueError, RuntimeError)
# The reader of bzip2 says no more than OSError; damage may also lead beyond the file, or to names that cannot be.
_ERRNO_OF_DAMAGE = (None, errno.EINVAL, errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST)


@dataclass(frozen=True)
class Source:
    """Files of one data set: `name` is their folder in the cache, `url` what stands before each file's name.

    checksums: for each file's name "md5:..." or "sha256:...".
    """

    name: str
    url: str
    checksums: Mapping[str, str]

    def file(self, name: str) -> tuple[str, str, str]:
        """Return what `fetch` asks for: the file's name in the cache, its address and its checksum.

        >>> Source("numbers", "https://example.org/", {"one.gz": "md5:0123"}).file("one.gz")
        ('numbers/one.gz', 'https://example.org/one.gz', 'md5:0123')
        """
        return f"{self.name}/{name}", self.url + name, self.checksums[name]


def cache_folder() -> Path:
    """Return the folder that keeps downloads: COURSE_DATA, or one in the cache of the operating system."""
    return Path(os.environ.get("COURSE_DATA") or pooch.os_cache("attention-course")).expanduser()


def fetch(name: str, url: str, checksum: str, folder: Path | None = None) -> Path:
    """Return where the file `name` is in `folder` (by default the cache), after downloading it if it is not there.

    checksum: "md5:..." or "sha256:..." of the file. A file that is there already is checked again, and downloaded
    again if it is damaged. Raises CourseError where there is no network, no such file, another file, or no room.
    """
    if checksum.partition(":")[0] not in ("md5", "sha256"):
        raise ValueError(f"`checksum` is {checksum!r}, expected 'md5:...' or 'sha256:...'")
    path = Path(folder or cache_folder()).absolute() / name
    try:
        return Path(pooch.retrieve(url, checksum, fname=path.name, path=path.parent, downloader=_download))
    except exceptions.HTTPError as error:
        reason = f"the server answered {error.response.status_code} ({error.response.reason})"
    except (exceptions.ChunkedEncodingError, exceptions.ContentDecodingError):
        reason = "the connection broke off before the end"
    except exceptions.SSLError:
        reason = f"the certificate of {urlsplit(url).netloc} was not accepted"
    except exceptions.RequestException:
        reason = f"no answer from {urlsplit(url).netloc}"
    except OSError as error:
        raise _cannot_write(path.parent, error) from error
    except ValueError as error:
        raise CourseError(
            f"{name} as it came from {url} is not the file that this course expects ({checksum}), and was not kept: "
            "run this again, and if it stays so, the file has changed where it is published"
        ) from error
    raise CourseError(
        f"{name} could not be downloaded from {url}, because {reason}: check the network and run this again, "
        f"or bring the file to {path} in another way"
    )


def fetch_gzip(name: str, url: str, checksum: str) -> bytes:
    """Return what the gzip file `name` holds, after downloading it if need be; raises CourseError as `fetch` does."""
    path = fetch(name, url, checksum)
    try:
        with gzip.open(path) as opened:
            content = opened.read(LARGEST + 1)
    except _DAMAGE as error:
        raise _refused(path, "it is cut off or damaged") from error
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST:
        raise _refused(path, f"it unpacks to more than {LARGEST:,} bytes")
    return content


def fetch_archive(name: str, url: str, checksum: str, within: tuple[str, ...] = ("",)) -> Path:
    """Return the folder with what the tar or zip file `name` holds, after downloading and unpacking it if need be.

    within: what the names of the wanted members begin with; the others are left out. Raises CourseError as `fetch`
    does, and for an archive that is damaged, too large, or would write anywhere but below its own folder.
    """
    # Another version of the archive, or another choice from it, is another folder.
    which = hashlib.sha256(repr((checksum, within)).encode()).hexdigest()[:8]
    folder = cache_folder().absolute() / f"{name}-{which}"
    if folder.exists():
        return folder
    archive = fetch(name, url, checksum)
    try:
        with complete_or_absent(folder) as unpacked:
            unpacked.mkdir()
            _unpack(archive, unpacked, within)
    except _DAMAGE as error:
        raise _refused(archive, "it is cut off or damaged") from error
    except OSError as error:
        if folder.exists():
            return folder  # another process has unpacked the same archive meanwhile
        if error.errno in _ERRNO_OF_DAMAGE:
            raise _refused(archive, "it is cut off or damaged") from error
        raise _cannot_write(folder.parent, error) from error
    return folder


@dataclass(frozen=True)
class _Member:
    """One entry of an archive, and how to open it for reading."""

    name: str
    size: int
    is_folder: bool
    is_file: bool
    open: Callable[[], BinaryIO]


def _unpack(archive: Path, folder: Path, within: tuple[str, ...]) -> None:
    total = 0
    for number, member in enumerate(_members(archive), start=1):
        # As Windows reads names, both slashes divide and drives count: the stricter reading, wherever this runs.
        place = PureWindowsPath(member.name)
        if place.anchor or ".." in place.parts or not member.name.isprintable():
            raise _refused(archive, f"its member {member.name!r} would leave the folder")
        if not (member.is_file or member.is_folder):
            raise _refused(archive, f"its member {member.name!r} is a link or a device")
        total += member.size
        if total > LARGEST or number > MOST_MEMBERS:
            raise _refused(archive, f"it unpacks to more than {LARGEST:,} bytes or {MOST_MEMBERS:,} files")
        if member.is_file and place.as_posix().startswith(within):
            target = folder.joinpath(*place.parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            with member.open() as source, target.open("wb") as written:
                shutil.copyfileobj(source, written)


def _members(archive: Path) -> Iterator[_Member]:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                kind = stat.S_IFMT(entry.external_attr >> 16)  # 0 where it was packed on Windows
                is_file = not entry.is_dir() and kind in (0, stat.S_IFREG)
                yield _Member(entry.filename, entry.file_size, entry.is_dir(), is_file, partial(opened.open, entry))
    else:
        with tarfile.open(archive) as opened:
            for entry in opened:
                yield _Member(entry.name, entry.size, entry.isdir(), entry.isreg(), partial(opened.extractfile, entry))


def _download(url: str, path: str, _: object) -> None:
    """Write what is at `url` into `path`, as pooch asks for it, with a progress bar where there is a terminal."""
    with tqdm(total=1, desc=urlsplit(url).path.rpartition("/")[2], unit="B", unit_scale=True, disable=None) as bar:
        # Unasked, a server may compress once more what is compressed; asked, it says how many bytes will come.
        as_it_is = {"Accept-Encoding": "identity"}
        pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16, headers=as_it_is)(url, path, None)


def _refused(path: Path, why: str) -> CourseError:
    """Remove a file that is as it was published and yet no good, and return what to say about it."""
    path.unlink(missing_ok=True)
    return CourseError(f"{path} cannot be used, because {why}: it was removed, so that the next run downloads it anew")


def _cannot_write(folder: Path, error: OSError) -> CourseError:
    why = error.strerror or getattr(error.__cause__, "strerror", None) or type(error).__name__
    return CourseError(
        f"the cache {folder} cannot be written ({why}): make room there, "
        "or name another folder in the environment variable COURSE_DATA"
    )
