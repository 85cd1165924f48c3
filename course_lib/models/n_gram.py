"""Counting: what came after these few characters, the last times that they stood in the text?"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator

import torch


class NGram:
    """Predict a character from the `order` - 1 before it, by counting in a text.

    Where a context was rarely seen, the model of the next shorter one helps out: a context after which u different
    characters came at n positions gives them the share n / (n + u), and leaves u / (n + u) to the shorter context; at
    the end of the chain every one of the `characters` is equally likely. The shares are those of Witten and Bell
    (1991), who go to the shorter context only for what the longer one lacks; here the two are mixed. Raises ValueError
    for an order below 1 or an empty text.

    >>> model = NGram("abracadabra", order=2, characters="abcdr")
    >>> model.probability("b", "a")  # of the 4 times that "a" went on, it was with "b" twice
    0.366...
    """

    def __init__(self, text: str, order: int, characters: str):
        if order < 1 or not text:
            raise ValueError(f"`order` is {order} and the text has {len(text)} characters, expected at least 1 of each")
        self.order, self.characters = order, characters
        self.counts: dict[str, Counter] = defaultdict(Counter)  # context -> how often each character came after it
        for length in range(order):
            for position in range(length, len(text)):
                self.counts[text[position - length : position]][text[position]] += 1

    def probability(self, character: str, context: str) -> float:
        """Return how likely `character` is after `context`, of which the last `order` - 1 characters count."""
        probability = 1 / len(self.characters)
        for seen in self._seen_after(context):
            times, different = seen.total(), len(seen)
            probability = (seen[character] + different * probability) / (times + different)
        return probability

    def probabilities(self, context: str) -> torch.Tensor:
        """Return the `probability` of each of the characters after `context`, all of them at once: (vocab,)."""
        probabilities = [1 / len(self.characters)] * len(self.characters)
        for seen in self._seen_after(context):
            times, different = seen.total(), len(seen)
            probabilities = [
                (seen[character] + different * probability) / (times + different)
                for character, probability in zip(self.characters, probabilities, strict=True)
            ]
        return torch.tensor(probabilities)

    def _seen_after(self, context: str) -> Iterator[Counter]:
        """Yield what came after the last 0, 1, ... characters of `context`, as far as they were seen together."""
        for length in range(min(self.order - 1, len(context)) + 1):
            seen = self.counts.get(context[len(context) - length :])
            if seen is None:  # then no longer context was seen either
                return
            yield seen

    def bits_per_character(self, text: str) -> float:
        """Return the mean of minus the base-2 logarithm of what each character of `text` was given.

        >>> NGram("abab", order=1, characters="ab").bits_per_character("ab")
        1.0
        """
        reach = self.order - 1
        bits = (
            -math.log2(self.probability(character, text[max(0, position - reach) : position]))
            for position, character in enumerate(text)
        )
        return sum(bits) / len(text)
