"""Counting: what came after these few characters in a text, smoothed as by Kneser and Ney."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

UNKNOWN_DISCOUNT = 0.5  # where a text is too small to estimate one


@dataclass(frozen=True)
class _Level:
    """What was counted of the strings of one length. A string is coded as vocab · (id of all but its last) + its last.

    codes: (string,), in rising order, so that the place of a string is its id; shares: (string,), its count less the
    discount, divided by the count of its context; left: (context,), what the discounts leave to the shorter context.
    """

    codes: torch.Tensor
    shares: torch.Tensor
    left: torch.Tensor


class NGram:
    """Predict a character from the `order` - 1 before it by counting in a text, with Kneser-Ney smoothing.

    A discount is taken from each count. What the discounts of a context make up together is given to the prediction of
    the next shorter context, down to the empty one, after which it is spread evenly over the `characters`. In a shorter
    context a string counts once for each different character that stands before it in the text (Kneser and Ney, 1995).
    Counts of 1, of 2 and of more have discounts of their own, by the formula of Chen and Goodman (1999), who call this
    interpolated modified Kneser-Ney smoothing. Raises ValueError for an order below 1, an empty text, and a character
    that is not one of the `characters`.

    >>> model = NGram("abracadabra", order=2, characters="abcdr")
    >>> model.probability("b", "a")  # 2 of 4, less a discount, and a part of what all discounts of "a" leave
    0.42...
    """

    def __init__(self, text: str, order: int, characters: str):
        if order < 1 or not text:
            raise ValueError(f"`order` is {order} and the text has {len(text)} characters, expected at least 1 of each")
        self.order, self.characters = order, characters
        self._index = {character: index for index, character in enumerate(characters)}
        tokens = self._encode(text)  # (position,)
        codes, counts = [], []  # of each length
        contexts = torch.zeros_like(tokens)  # (position,): the empty one
        strings = tokens  # (position,): of each position the id of the string that ends there; none of length 0
        for length in range(1, min(order, len(text) + 1) + 1):
            shorter = strings[1:]  # the string that ends here, without its first character
            found = (contexts * len(characters) + tokens[length - 1 :]).unique(return_inverse=True, return_counts=True)
            codes.append(found[0])  # (string,)
            counts.append(found[2])  # (string,)
            strings = found[1]  # (position,)
            if length > 1:
                without_first = torch.empty_like(codes[-1]).index_copy_(0, strings, shorter)  # (string,)
                counts[-2] = without_first.bincount(minlength=len(codes[-2]))  # how many characters before each
            contexts = strings[:-1]
        sizes = [1, *map(len, codes)]  # how many contexts there are of each length
        self._levels = [
            _level(coded, counted, size, len(characters))
            for coded, counted, size in zip(codes, counts, sizes, strict=False)
            if len(coded)  # no string is longer than the text
        ]

    def probability(self, character: str, context: str) -> float:
        """Return how likely `character` is after `context`, of which the last `order` - 1 characters count."""
        return self._after(self._encode(context).unsqueeze(0))[0, self._encode(character)].item()

    def probabilities(self, context: str) -> torch.Tensor:
        """Return the `probability` of each of the characters after `context`, all of them at once: (vocab,)."""
        return self._after(self._encode(context).unsqueeze(0))[0].float()

    def next_token_logits(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return log-probabilities (batch, vocab) after tokens (batch, time), which are indices into `characters`."""
        return self._after(tokens).log().float()  # (batch, vocab)

    def bits_of_each(self, text: str) -> torch.Tensor:
        """Return minus the base-2 logarithm of what each character of `text` was given: (characters,), float64."""
        tokens = self._encode(text).unsqueeze(0)  # (1, position)
        probabilities = torch.full(tokens.shape, 1 / len(self.characters), dtype=torch.float64)
        for level, contexts, strings in self._walk(tokens):
            shares = level.shares[strings.clamp(min=0)].where(strings >= 0, 0.0)  # (1, position)
            probabilities = shares + _left(level, contexts) * probabilities
        return -probabilities[0].log2()

    def bits_per_character(self, text: str) -> float:
        """Return the mean of minus the base-2 logarithm of what each character of `text` was given.

        >>> NGram("abab", order=1, characters="ab").bits_per_character("ab")
        1.0
        """
        return self.bits_of_each(text).mean().item()

    def _encode(self, text: str) -> torch.Tensor:
        if strange := sorted(set(text) - set(self._index)):
            raise ValueError(f"the text has {strange[0]!r}, expected one of the `characters`")
        return torch.tensor([self._index[character] for character in text], dtype=torch.long)

    def _after(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the probabilities (batch, vocab) after tokens (batch, time), in float64."""
        batch, vocab = len(tokens), len(self.characters)
        tokens = tokens[:, max(0, tokens.shape[1] - self.order + 1) :]
        # One more position, whose context is all of them; which character stands there is not looked at.
        tokens = torch.cat([tokens, tokens.new_zeros(batch, 1)], dim=1)  # (batch, time + 1)
        probabilities = torch.full((batch, vocab), 1 / vocab, dtype=torch.float64)
        for level, contexts, _ in self._walk(tokens):
            last = contexts[:, -1:]  # (batch, 1)
            strings = _find(level, last * vocab + torch.arange(vocab), last >= 0)  # (batch, vocab)
            shares = level.shares[strings.clamp(min=0)].where(strings >= 0, 0.0)  # (batch, vocab)
            probabilities = shares + _left(level, last) * probabilities
        return probabilities

    def _walk(self, tokens: torch.Tensor) -> Iterator[tuple[_Level, torch.Tensor, torch.Tensor]]:
        """Yield each level, and of tokens (batch, time) the ids of the contexts and of the strings that end there.

        Both are (batch, time); -1 stands for what was never seen, and for what would begin before the first token.
        """
        contexts = torch.zeros_like(tokens)
        for level in self._levels:
            strings = _find(level, contexts * len(self.characters) + tokens, contexts >= 0)
            yield level, contexts, strings
            contexts = torch.cat([torch.full_like(tokens[:, :1], -1), strings[:, :-1]], dim=1)


def _level(codes: torch.Tensor, counts: torch.Tensor, size: int, vocab: int) -> _Level:
    """Make a level of the codes and counts (string,) of strings with `size` contexts."""
    contexts = codes // vocab  # (string,)
    taken = _discounts(counts)[counts.clamp(max=3)]  # (string,)
    total, removed = torch.zeros(2, size, dtype=torch.float64)
    total.index_add_(0, contexts, counts.double())
    removed.index_add_(0, contexts, taken)
    left = (removed / total).where(total > 0, 1.0)  # after nothing that was counted, the shorter context says all
    return _Level(codes, (counts - taken) / total.clamp(min=1)[contexts], left)


def _discounts(counts: torch.Tensor) -> torch.Tensor:
    """Return what is taken from counts of 0, of 1, of 2, and of 3 or more: (4,)."""
    _, *numbers = counts.clamp(max=5).bincount(minlength=6)[:5].tolist()  # how many strings were counted once, ...
    discounts = torch.tensor([0.0] + 3 * [UNKNOWN_DISCOUNT], dtype=torch.float64)
    if min(numbers) > 0:
        common = numbers[0] / (numbers[0] + 2 * numbers[1])
        for count in (1, 2, 3):
            estimate = count - (count + 1) * common * numbers[count] / numbers[count - 1]
            if estimate > 0:
                discounts[count] = estimate
    return discounts


def _find(level: _Level, codes: torch.Tensor, possible: torch.Tensor) -> torch.Tensor:
    """Return the ids of codes of any shape, -1 where they are not `possible` or were never seen."""
    ids = torch.searchsorted(level.codes, codes).clamp(max=len(level.codes) - 1)
    return ids.where(possible & (level.codes[ids] == codes), -1)


def _left(level: _Level, contexts: torch.Tensor) -> torch.Tensor:
    """Return what contexts of any shape leave to the shorter one: all of it where they were never seen."""
    return level.left[contexts.clamp(min=0)].where(contexts >= 0, 1.0)
