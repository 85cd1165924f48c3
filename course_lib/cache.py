"""The key-value cache: what was read is not read again.

Under a causal mask, the keys and values of a place never change when more is written behind it. So a model that writes
keeps them, and at each step computes those of the new tokens only.
"""

from collections.abc import Callable

import torch

from course_lib.shapes import check_shape


class KeyValueCache:
    """Keep the keys and values of one attention, in room for `room` places that is made once, at the first append.

    When the room is full, twice as much is made, as Python does for its lists. Raises ValueError for no room.

    >>> cache = KeyValueCache(room=8)
    >>> for new in (3, 1):
    ...     key, value = cache.append(torch.zeros(2, 4, new, 5), torch.zeros(2, 4, new, 5))
    >>> key.shape, cache.length, cache.numbers
    (torch.Size([2, 4, 4, 5]), 4, 640)
    """

    def __init__(self, room: int = 64):
        if room < 1:
            raise ValueError(f"`room` is {room}, expected at least 1 place")
        self.room, self.length = room, 0
        self._key = self._value = torch.empty(0, 0, 0, 0)  # (batch, heads, room, d_head) from the first append on

    @property
    def held(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Key and value of all places so far, each (batch, heads, length, d_head)."""
        return self._key[:, :, : self.length], self._value[:, :, : self.length]

    @property
    def numbers(self) -> int:
        """How many numbers there is room for."""
        return self._key.numel() + self._value.numel()

    def append(self, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Take in keys and values (batch, heads, new, d_head); return those of all places so far.

        Raises ValueError where batch, heads or d_head are not those of what is kept.
        """
        known = {} if not self.length else dict(zip(("batch", "heads"), self._key.shape[:2], strict=True))
        for name, each, kept in (("key", key, self._key), ("value", value, self._value)):
            width = {"d_head": kept.shape[-1]} if self.length else {}
            known |= {"new": check_shape(each, "batch heads new d_head", name, **known, **width)["new"]}
        end = self.length + known["new"]
        self._make_room(end, key, value)
        self._key[:, :, self.length : end] = key
        self._value[:, :, self.length : end] = value
        self.length = end
        return self.held

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows (row,) of the batch, in this order: any of them, any number of times."""
        self._key, self._value = self._key[rows], self._value[rows]  # (row, heads, room, d_head)

    def _make_room(self, places: int, key: torch.Tensor, value: torch.Tensor) -> None:
        """See to it that there is room for so many places, for keys and values like these."""
        if self.length and places <= self._key.shape[2]:
            return
        while self.room < places:
            self.room *= 2
        old = self.held
        self._key, self._value = (each.new_empty(*each.shape[:2], self.room, each.shape[3]) for each in (key, value))
        if self.length:
            self._key[:, :, : self.length], self._value[:, :, : self.length] = old


class BlockCache:
    """What one block keeps: keys and values of its own tokens, and those of the memory, if it reads one."""

    def __init__(self):
        self.own, self.memory = KeyValueCache(), KeyValueCache()

    @property
    def length(self) -> int:
        """How many tokens were read."""
        return self.own.length

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows (row,) of the batch."""
        for cache in (self.own, self.memory):
            if cache.length:
                cache.select(rows)


class CachedScores:
    """Score the next token after tokens (batch, time), of which only those that are new are read.

    The answer is that of reading everything anew; the cache shows in the time alone. Rows may come back in another
    order, or several times, as those of a beam do: each row goes on from a row that it begins with. Where there is
    none, everything is forgotten and read again.

    `read(tokens, caches, origin)` reads new tokens (batch, new) behind what the caches hold, one `BlockCache` for each
    layer, and returns scores (batch, vocabulary); `origin` (batch,) says from which row of the first call each row
    comes.

    >>> reads = []
    >>> def read(tokens, caches, origin):
    ...     reads.append(tokens.shape[1])
    ...     return torch.zeros(len(tokens), 5)
    >>> next_scores = CachedScores(read, layers=0)
    >>> for time in (3, 4, 5):
    ...     scores = next_scores(torch.arange(time).unsqueeze(0))
    >>> reads
    [3, 1, 1]
    """

    def __init__(self, read: Callable[[torch.Tensor, list[BlockCache], torch.Tensor], torch.Tensor], layers: int):
        self._read, self._layers = read, layers
        self._known: torch.Tensor | None = None  # (batch, length): the tokens that the caches hold

    @torch.no_grad()
    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the scores (batch, vocabulary) of the token after tokens (batch, time)."""
        check_shape(tokens, "batch time", "tokens")
        rows = self._rows_to_go_on_from(tokens)
        if rows is None:
            self._known = tokens[:, :0]  # (batch, 0)
            self._caches = [BlockCache() for _ in range(self._layers)]
            self._origin = torch.arange(len(tokens), device=tokens.device)  # (batch,)
        elif len(rows) != len(self._known) or (rows[1:] != rows[:-1] + 1).any():
            self._origin = self._origin[rows]  # (batch,)
            for cache in self._caches:
                cache.select(rows)
        scores = self._read(tokens[:, self._known.shape[1] :], self._caches, self._origin)  # (batch, vocabulary)
        self._known = tokens
        return scores

    def _rows_to_go_on_from(self, tokens: torch.Tensor) -> torch.Tensor | None:
        """Return for each row (batch,) a known one that it begins with, its own one if it can; None if one has none."""
        if self._known is None or self._known.shape[1] >= tokens.shape[1]:
            return None
        begins = tokens[:, None, : self._known.shape[1]] == self._known  # (batch, known, length)
        fits = begins.all(dim=-1)  # (batch, known)
        if fits.shape[0] == fits.shape[1] and fits.diagonal().all():
            return torch.arange(len(fits), device=tokens.device)  # (batch,)
        return fits.int().argmax(dim=1) if fits.any(dim=1).all() else None  # (batch,)
