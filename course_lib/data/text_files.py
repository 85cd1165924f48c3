"""Text of the reader's own: a file in UTF-8, or one with two columns and a tab between them."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.project import CourseError

# UTF-32 before UTF-16: the mark of the one begins with that of the other.
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


@dataclass(frozen=True)
class Pairs(Sequence[tuple[str, str]]):
    """Pairs of texts, and how many were left out because a text was empty."""

    pairs: tuple[tuple[str, str], ...]
    left_out: int

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index):
        return self.pairs[index]


def read_text(path: Path | str) -> str:
    r"""Return a UTF-8 file as text whose lines end in "\n", without a byte order mark.

    Raises CourseError that names the file, and the line and the byte at which it is not UTF-8; also if it is empty.
    """
    text = decode_text(read_bytes(path), str(path))
    if not text.strip():
        raise CourseError(f"{path} is empty")
    return text


def read_pairs(path: Path | str) -> Pairs:
    """Return the lines "left TAB right" of a UTF-8 file, without spaces around either side.

    Empty lines are left out and counted. Raises CourseError that names the file and the line, counted from 1, for any
    other line than one with a single tab and something on both sides of it.
    """
    pairs, left_out = [], 0
    for number, line in enumerate(read_text(path).removesuffix("\n").split("\n"), start=1):
        columns = [column.strip() for column in line.split("\t")]
        if not any(columns):
            left_out += 1
        elif len(columns) != 2:
            tabs = "no tab" if len(columns) == 1 else f"{len(columns) - 1} tabs"
            raise CourseError(f"{path} line {number} has {tabs}: expected two columns with one tab between them")
        elif not all(columns):
            side = "before" if not columns[0] else "after"
            raise CourseError(f"{path} line {number} has nothing {side} its tab: complete the line or delete it")
        else:
            pairs.append(tuple(columns))
    return Pairs(tuple(pairs), left_out)


def read_bytes(path: Path | str) -> bytes:
    """Return what a file holds; raises CourseError if it is not there or cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror or error}") from error


def decode_text(raw: bytes, name: str) -> str:
    r"""Return UTF-8 bytes as text whose lines end in "\n"; raises CourseError that names `name`, line and byte.

    >>> decode_text(b"\xef\xbb\xbfone\r\ntwo\n", "small.txt")
    'one\ntwo\n'
    >>> decode_text(b"one\nna\xefve\n", "small.txt")
    Traceback (most recent call last):
        ...
    course_lib.project.CourseError: small.txt is not UTF-8 at line 2, byte 7 (it may be Latin-1 or Windows-1252): ...
    """
    for mark, encoding in _MARKS.items():
        if raw.startswith(mark):
            raise CourseError(f"{name} is {encoding}, not UTF-8: save it as UTF-8")
    if raw.count(0) > len(raw) // 10:
        raise CourseError(f"{name} is no UTF-8 text (it may be UTF-16, or no text at all): save it as UTF-8")
    body = raw.removeprefix(codecs.BOM_UTF8)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = error.reason == "unexpected end of data"
        guess = "it ends inside a character" if cut else "it may be Latin-1 or Windows-1252"
        line = _one_line_end(body[: error.start].decode("utf-8")).count("\n") + 1
        byte = len(raw) - len(body) + error.start + 1
        what_to_do = "copy or download it again" if cut else "save it as UTF-8"
        raise CourseError(f"{name} is not UTF-8 at line {line}, byte {byte} ({guess}): {what_to_do}") from error
    return _one_line_end(text)


def _one_line_end(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
