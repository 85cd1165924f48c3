"""Text as numbers and back: by characters, by words, or by pieces made of bytes that often stand together.

The first four numbers mean the same in every vocabulary; the rest is learned from the training text. Byte pairs lose
nothing: decoding gives back any text. Characters lose those that are not in the vocabulary, words also the spaces.
"""

import json
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.project import CourseError

SPECIALS = ("<pad>", "<start>", "<end>", "<unknown>")
PADDING, START, END, UNKNOWN = range(len(SPECIALS))
_SILENT = (PADDING, START, END)


class Vocabulary(ABC):
    """What all kinds can do: encode, decode, say how many entries they have, and be written to a file and read."""

    kind = ""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text; it gets neither START nor END, and a word such as "<end>" is but text."""

    @abstractmethod
    def __len__(self) -> int: ...

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of numbers, without PADDING, START and END; raises ValueError for a number out of range."""
        ids = [int(number) for number in ids]
        strange = [number for number in ids if not 0 <= number < len(self)]
        if strange:
            raise ValueError(f"`ids` holds {strange[0]}, expected 0 to {len(self) - 1}")
        return self._text([number for number in ids if number not in _SILENT])

    def save(self, path: Path | str) -> None:
        """Write the vocabulary to a JSON file, which is there whole or not at all."""
        path = Path(path)
        content = json.dumps({"kind": self.kind, "entries": self._entries()}, ensure_ascii=False)
        try:
            write_atomically(path, content + "\n")
        except OSError as error:
            raise CourseError(f"{path} cannot be written: {error.strerror or error}") from error

    @classmethod
    def load(cls, path: Path | str) -> "Vocabulary":
        """Read what `save` wrote: `Vocabulary.load` any kind, `Words.load` words only; raises CourseError otherwise."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            kind, entries = KINDS[content["kind"]], content["entries"]
        except OSError as error:
            raise CourseError(f"{path} cannot be read: {error.strerror or error}") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise CourseError(f"{path} is no vocabulary, or a damaged one: build it again") from error
        if not issubclass(kind, cls):
            raise CourseError(f"{path} is a vocabulary of {kind.kind}, expected one of {cls.kind}")
        try:
            return kind(entries)
        except ValueError as error:
            raise CourseError(f"{path} is a damaged vocabulary of {kind.kind} ({error}): build it again") from error

    @classmethod
    @abstractmethod
    def learn(cls, texts: Iterable[str], size: int) -> "Vocabulary":
        """Return a vocabulary of at most `size` entries, the four special ones among them, for such texts."""

    @abstractmethod
    def _text(self, ids: list[int]) -> str: ...

    @abstractmethod
    def _entries(self) -> object: ...


class Characters(Vocabulary):
    """One number for each character; of more characters than there is room for, the most frequent ones.

    >>> vocabulary = Characters.learn(["abracadabra"], size=7)
    >>> vocabulary.encode("crab"), vocabulary.decode(vocabulary.encode("crab"))
    ([3, 6, 4, 5], '<unknown>rab')
    """

    kind = "characters"

    def __init__(self, characters: list[str]):
        if not isinstance(characters, list) or not all(
            isinstance(entry, str) and len(entry) == 1 for entry in characters
        ):
            raise ValueError("its entries are not single characters")
        self.characters = [*SPECIALS, *characters]
        self.number_of = {character: number for number, character in enumerate(self.characters)}
        if len(self.number_of) < len(self.characters):
            raise ValueError("it has a character twice")

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> "Characters":
        """Return the size - 4 most frequent characters of the texts, in alphabetical order."""
        counts = Counter()
        for text in _checked(texts, size, least=len(SPECIALS) + 1):
            counts.update(text)
        by_frequency = sorted(counts, key=lambda character: (-counts[character], character))
        return cls(sorted(by_frequency[: size - len(SPECIALS)]))

    def encode(self, text: str) -> list[int]:
        """Return one number for each character."""
        return [self.number_of.get(character, UNKNOWN) for character in text]

    def __len__(self) -> int:
        return len(self.characters)

    def _text(self, ids: list[int]) -> str:
        return "".join(self.characters[number] for number in ids)

    def _entries(self) -> list[str]:
        return self.characters[len(SPECIALS) :]


class Tokenized(Vocabulary):
    """What words and byte pairs share: the package `tokenizers` does the work, one line of text after the other."""

    model = ""

    def __init__(self, entries: dict):
        from tokenizers import Tokenizer  # imported when needed: it is large, and most of the course does without

        try:
            self.tokenizer = Tokenizer.from_str(json.dumps(entries))
        except Exception as error:  # the package raises nothing more specific
            raise ValueError("its entries cannot be read") from error
        numbers = self.tokenizer.get_vocab()
        specials = all(numbers.get(special) == number for number, special in enumerate(SPECIALS))
        if (
            entries["model"].get("type") != self.model
            or not specials
            or set(numbers.values()) != set(range(len(numbers)))
        ):
            raise ValueError("its entries are those of something else")
        # Else a text in which somebody writes about "<end>" would end there.
        self.tokenizer.encode_special_tokens = True

    def encode(self, text: str) -> list[int]:
        """Return the numbers of a text, of any length."""
        return [number for line in _lines([text]) for number in self.tokenizer.encode(line).ids]

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def _text(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def _entries(self) -> dict:
        return json.loads(self.tokenizer.to_str())


class Words(Tokenized):
    """One number for each of the most frequent words and marks of punctuation; decoding puts spaces between them.

    >>> vocabulary = Words.learn(["the cat and the dog", "the end"], size=6)
    >>> vocabulary.encode("and the cow"), vocabulary.decode([5, 4, START, 3])
    ([5, 4, 3], 'and the <unknown>')
    """

    kind, model = "words", "WordLevel"

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> "Words":
        """Return the size - 4 most frequent words of the texts, the most frequent first."""
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers

        texts = _checked(texts, size, least=len(SPECIALS) + 1)
        tokenizer = Tokenizer(models.WordLevel(unk_token=SPECIALS[UNKNOWN]))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        trainer = trainers.WordLevelTrainer(
            vocab_size=size, special_tokens=list(SPECIALS), show_progress=sys.stderr.isatty()
        )
        tokenizer.train_from_iterator(_lines(texts), trainer)
        return cls(json.loads(tokenizer.to_str()))


class BytePairs(Tokenized):
    """Numbers for the 256 bytes and for the sequences that merging the most frequent pairs makes of them.

    >>> vocabulary = BytePairs.learn(["the thin thread"] * 9, size=261)
    >>> len(vocabulary.encode("the")), vocabulary.decode(vocabulary.encode("the naïve"))
    (2, 'the naïve')
    """

    kind, model = "byte-pairs", "BPE"

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> "BytePairs":
        """Return the 256 bytes and the size - 260 merges that shorten the texts most, one after the other."""
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        texts = _checked(texts, size, least=len(SPECIALS) + 256)
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=list(SPECIALS),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=sys.stderr.isatty(),
        )
        tokenizer.train_from_iterator(_lines(texts), trainer)
        return cls(json.loads(tokenizer.to_str()))


KINDS = {kind.kind: kind for kind in (Characters, Words, BytePairs)}


def learn_vocabulary(kind: str, texts: Iterable[str], size: int) -> Vocabulary:
    """Return a vocabulary of "characters", "words" or "byte-pairs"; raises ValueError for another kind.

    >>> len(learn_vocabulary("characters", ["abba"], size=100))
    6
    """
    if kind not in KINDS:
        raise ValueError(f"`kind` is {kind!r}, expected one of {', '.join(KINDS)}")
    return KINDS[kind].learn(texts, size)


def _checked(texts: Iterable[str], size: int, least: int) -> Iterable[str]:
    if size < least:
        raise ValueError(f"`size` is {size}, expected at least {least}")
    if isinstance(texts, str):
        raise ValueError("`texts` is one string, expected several: put it into a list")
    return texts


def _lines(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from text.splitlines(keepends=True)
