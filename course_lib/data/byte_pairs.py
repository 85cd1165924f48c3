"""Byte-pair encoding by hand: a token is a byte, or two tokens that often stood beside each other.

Tokens 0 to 255 are the bytes of UTF-8, and every merge makes the next number: the first one 256. Nothing is unknown,
because every text consists of bytes. `BytePairs` in `vocabularies` is what the course trains with: the package
`tokenizers` does the same there, fast, and merges nothing across the border of a word.
"""

import math
from collections import Counter
from collections.abc import Iterable

BYTES = 256


def learn_merges(text: str, merges: int) -> list[tuple[int, int]]:
    """Return the pairs of tokens that are to be merged, at most `merges` of them, in the order in which to merge them.

    Each is the pair that stands in the text most often, once all merges before it were made. Of pairs that are as
    frequent, it is the one with the smaller first token, and of those the one with the smaller second. There are fewer
    than `merges` where no pair is left that occurs twice. After Gage (1994), and Sennrich, Haddow and Birch (2016).
    Raises ValueError for a negative number.

    >>> merges = learn_merges("the thin thread", merges=2)
    >>> [tuple(map(token_bytes(merges).__getitem__, pair)) for pair in merges]
    [(b't', b'h'), (b' ', b'th')]
    """
    if merges < 0:
        raise ValueError(f"`merges` is {merges}, expected 0 or more")
    tokens, learned = list(text.encode()), []
    while len(learned) < merges:
        counts = Counter(zip(tokens, tokens[1:], strict=False))
        pair = min(counts, key=lambda each: (-counts[each], each), default=None)
        if pair is None or counts[pair] < 2:
            break
        tokens = _merge(tokens, pair, BYTES + len(learned))
        learned.append(pair)
    return learned


def encode(text: str, merges: list[tuple[int, int]]) -> list[int]:
    """Return the tokens of a text: its bytes, on which all merges are made in the order in which they were learned.

    >>> encode("the the", merges=[(116, 104), (256, 101)])
    [257, 32, 257]
    """
    tokens = list(text.encode())
    for number, pair in enumerate(merges):
        tokens = _merge(tokens, pair, BYTES + number)
    return tokens


def decode(tokens: Iterable[int], merges: list[tuple[int, int]]) -> str:
    """Return the text of tokens; bytes that are no UTF-8, as a model may write them, become �.

    Raises ValueError for a token that is neither a byte nor made by one of the merges.

    >>> decode([257, 32, 257], merges=[(116, 104), (256, 101)])
    'the the'
    """
    known, pieces = token_bytes(merges), []
    for token in tokens:
        if not 0 <= token < len(known):
            raise ValueError(f"`tokens` holds {token}, expected 0 to {len(known) - 1}")
        pieces.append(known[token])
    return b"".join(pieces).decode(errors="replace")


def token_bytes(merges: list[tuple[int, int]]) -> list[bytes]:
    """Return the bytes that each token stands for.

    Raises ValueError where a merge is made of a token that there is not yet.

    >>> token_bytes([(116, 104), (256, 101)])[256:]
    [b'th', b'the']
    """
    pieces = [bytes([byte]) for byte in range(BYTES)]
    for first, second in merges:
        if not (0 <= first < len(pieces) and 0 <= second < len(pieces)):
            raise ValueError(f"`merges` makes {len(pieces)} of {first} and {second}, expected smaller numbers")
        pieces.append(pieces[first] + pieces[second])
    return pieces


def bits_per_byte(nats_per_token: float, tokens: int, text_bytes: int) -> float:
    """Return the bits that a model needs for a byte of text, from its mean loss on the tokens of this text, in nats.

    Losses per token cannot be compared where one token stands for more text than the other; bits per byte can. Raises
    ValueError for less than one token or byte.

    >>> bits_per_byte(nats_per_token=2 * math.log(2), tokens=10, text_bytes=40)
    0.5
    """
    if tokens < 1 or text_bytes < 1:
        raise ValueError(f"`tokens` is {tokens} and `text_bytes` {text_bytes}, expected at least 1")
    return nats_per_token / math.log(2) * tokens / text_bytes


def _merge(tokens: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Write `new` for every occurrence of the pair, from left to right: of three equal tokens, the first two."""
    merged, position = [], 0
    while position < len(tokens):
        found = tuple(tokens[position : position + 2]) == pair
        merged.append(new if found else tokens[position])
        position += 2 if found else 1
    return merged
