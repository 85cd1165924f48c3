"""The Python language reference as plain text: it is on every machine that has Python."""

import re
import zlib
from functools import cache
from pydoc_data.topics import topics

import torch

CHARACTERS = ("\n", *map(chr, range(32, 127)))  # the new line and printable ASCII; anything else becomes a space
ONE_IN = 10  # of so many topics, one is held out


@cache
def text(held_out: bool = False) -> str:
    """Return the text to train on, or the text of the topics that are held out.

    A paragraph that stands in several topics is kept only in the first, or the test would contain what training has
    seen. Which topics are held out depends on their names alone, so that the same ones are in every version of Python,
    although their texts change.

    >>> len(text()) > 5 * len(text(held_out=True)) > 100_000
    True
    """
    seen: set[str] = set()
    paragraphs = []
    for name in sorted(topics):
        for paragraph in map(str.strip, re.split(r"\n\s*\n", topics[name])):
            if paragraph and paragraph not in seen:
                seen.add(paragraph)
                if (zlib.crc32(name.encode()) % ONE_IN == 0) == held_out:
                    paragraphs.append(paragraph)
    return re.sub(r"[^\n -~]", " ", "\n\n".join(paragraphs))


def encode(text: str) -> torch.Tensor:
    """Return the characters of `text` as indices into CHARACTERS: (characters,); ValueError for any other one.

    >>> encode("if x:")
    tensor([74, 71,  1, 89, 27])
    """
    strange = sorted(set(text) - set(CHARACTERS))
    if strange:
        raise ValueError(f"the text has {strange[0]!r}, expected printable ASCII and new lines")
    return torch.tensor([_INDEX[character] for character in text])


def decode(tokens: torch.Tensor) -> str:
    """Return indices (characters,) as text.

    >>> decode(encode("if x:"))
    'if x:'
    """
    return "".join(CHARACTERS[token] for token in tokens.tolist())


def draw_passages(number: int, length: int, generator: torch.Generator) -> torch.Tensor:
    """Return passages (number, length + 1) of the training text that begin anywhere; ValueError below 1 of either.

    A passage has one character more than `length`, because each character but the last has a next one to predict.

    >>> draw_passages(4, 64, torch.Generator().manual_seed(0)).shape
    torch.Size([4, 65])
    """
    if number < 1 or length < 1:
        raise ValueError(f"`number` is {number} and `length` {length}, expected at least 1 of each")
    tokens = _training_tokens()
    starts = torch.randint(len(tokens) - length, (number, 1), generator=generator)  # (number, 1)
    return tokens[starts + torch.arange(length + 1)]  # (number, length + 1)


def describe() -> None:
    """Print how much text there is and ten lines of it.

    >>> describe()  # doctest: +ELLIPSIS
    python_reference: ... characters to train with, ... held out, whole topics each
      ...
    """
    print(
        f"python_reference: {len(text()):,} characters to train with, {len(text(held_out=True)):,} held out, "
        "whole topics each"
    )
    for line in text().splitlines()[:10]:
        print(f"  {line}")


@cache
def _training_tokens() -> torch.Tensor:
    return encode(text())  # (characters,)


_INDEX = {character: index for index, character in enumerate(CHARACTERS)}
