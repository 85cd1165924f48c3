"""Files that are there whole or not at all, whenever the power fails or Ctrl-C comes."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PART = ".part"  # how the names of files end that are not complete


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content`, text in UTF-8, to `path`: whoever interrupts it finds the old file or the new one.

    Folders that are missing are made. Raises OSError where it cannot be written; the old file is then as it was.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "new" / "note.txt", "größer")
    ...     [(path.name, path.read_text("utf-8")) for path in (Path(folder) / "new").iterdir()]
    [('note.txt', 'größer')]
    """
    with complete_or_absent(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def complete_or_absent(path: Path) -> Iterator[Path]:
    """Give a path beside `path`; the file, or folder, that is made there gets the name `path` when the block ends.

    Where the block raises, nothing is left of it. Of two that write the same file at once, neither sees the other's
    bytes, and the file of the one that ends last stays. A killed process may leave `.NAME.SOMETHING.part` behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        yield part
        _settle(part, path)
    finally:
        _remove(part)


def _settle(part: Path, path: Path) -> None:
    """Wait until a file is on the disk, then give it its name in one move."""
    if part.is_file():
        with part.open("rb+") as file:
            os.fsync(file.fileno())  # or after a power failure the name might be there before the bytes
    part.replace(path)


def _remove(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink(missing_ok=True)
