"""The vocabularies of the embedded data, which are lists, beside those that are learned from a text."""

import json
from collections.abc import Iterable
from pathlib import Path

from course_lib.data.vocabularies import Vocabulary
from course_lib.files import write_atomically
from course_lib.project import CourseError

FILE = "vocabulary.json"


class Listed:
    """Words or characters in a fixed order; the first `silent` of them, such as the padding, are not written out.

    >>> vocabulary = Listed(["<pad>", "one", "two"], separator=" ", silent=1)
    >>> vocabulary.encode("two one"), vocabulary.decode([1, 2, 0])
    ([2, 1], 'one two')
    """

    kind = "listed"

    def __init__(self, entries: Iterable[str], separator: str, silent: int = 0):
        self.entries, self.separator, self.silent = list(entries), separator, silent
        self.number_of = {entry: number for number, entry in enumerate(self.entries)}

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text; raises CourseError for a word or character that is not in the list."""
        parts = text.split() if self.separator else list(text)
        strange = [part for part in parts if self.number_of.get(part, -1) < self.silent]
        if strange:
            some = ", ".join(map(repr, self.entries[self.silent : self.silent + 8]))
            raise CourseError(f"{strange[0]!r} is not in the vocabulary of this run, which knows {some} and so on")
        return [self.number_of[part] for part in parts]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of numbers, without the silent ones."""
        return self.separator.join(self.entries[number] for number in map(int, ids) if number >= self.silent)

    def __len__(self) -> int:
        return len(self.entries)

    def save(self, path: Path) -> None:
        """Write the vocabulary to a JSON file; raises CourseError where it cannot be written."""
        content = {"kind": self.kind, "separator": self.separator, "silent": self.silent, "entries": self.entries}
        try:
            write_atomically(path, json.dumps(content, ensure_ascii=False) + "\n")
        except OSError as error:
            raise CourseError(f"{path} cannot be written: {error.strerror or error}") from error


def read_vocabulary(path: Path) -> Listed | Vocabulary:
    """Return the vocabulary that was saved at `path`; raises CourseError if there is none, or a broken one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] == Listed.kind:
            return Listed(content["entries"], content["separator"], content["silent"])
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CourseError(f"{path} is no vocabulary, or a damaged one") from error
    return Vocabulary.load(path)
