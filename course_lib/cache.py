"""The key-value cache: what was read is not read again.

Under a causal mask, the keys and values of a position never change when more is written behind it. So a model that
writes keeps them, and at each step computes those of the new tokens only.
"""

from collections.abc import Callable

import torch

from course_lib.shapes import check_shape


class KeyValueCache:
    """Keep the keys and values of one attention, in tensors of `capacity` positions that are made at the first append.

    When they are full, the capacity is doubled, as Python does for its lists. Raises ValueError for a capacity below 1.

    >>> cache = KeyValueCache(capacity=8)
    >>> for new in (3, 1):
    ...     key, value = cache.append(torch.zeros(2, 4, new, 5), torch.zeros(2, 4, new, 5))
    >>> key.shape, cache.length, cache.numel
    (torch.Size([2, 4, 4, 5]), 4, 640)
    """

    def __init__(self, capacity: int = 64):
        if capacity < 1:
            raise ValueError(f"`capacity` is {capacity}, expected at least 1 position")
        self.capacity, self.length = capacity, 0
        self._key = self._value = torch.empty(0, 0, 0, 0)  # (batch, heads, capacity, d_head) from the first append on

    @property
    def contents(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Key and value of all positions so far, each (batch, heads, length, d_head)."""
        return self._key[:, :, : self.length], self._value[:, :, : self.length]

    @property
    def numel(self) -> int:
        """How many numbers the tensors hold when they are full."""
        return self._key.numel() + self._value.numel()

    def append(self, key: torch.Tensor, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Take in keys and values (batch, heads, new, d_head); return those of all positions so far.

        Raises ValueError where batch, heads or d_head are not those of what is kept.
        """
        known = {} if not self.length else dict(zip(("batch", "heads"), self._key.shape[:2], strict=True))
        for name, each, kept in (("key", key, self._key), ("value", value, self._value)):
            width = {"d_head": kept.shape[-1]} if self.length else {}
            known |= {"new": check_shape(each, "batch heads new d_head", name, **known, **width)["new"]}
        end = self.length + known["new"]
        self._reserve(end, key, value)
        self._key[:, :, self.length : end] = key
        self._value[:, :, self.length : end] = value
        self.length = end
        return self.contents

    def truncate(self, length: int) -> None:
        """Keep the first `length` positions and forget the others, whose places are written again.

        Raises ValueError for a length below 0 or above that of the cache.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"`length` is {length}, expected 0 to {self.length}, the positions that are kept")
        self.length = length

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows (row,) of the batch, in this order: any of them, any number of times."""
        self._key, self._value = self._key[rows], self._value[rows]  # (row, heads, capacity, d_head)

    def _reserve(self, positions: int, key: torch.Tensor, value: torch.Tensor) -> None:
        """Make the tensors long enough for so many positions, for keys and values like these."""
        if self.length and positions <= self._key.shape[2]:
            return
        while self.capacity < positions:
            self.capacity *= 2
        old = self.contents
        self._key, self._value = (
            each.new_empty(*each.shape[:2], self.capacity, each.shape[3]) for each in (key, value)
        )
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

    def truncate(self, length: int) -> None:
        """Keep the first `length` of the own tokens; the memory stays."""
        self.own.truncate(length)

    def select(self, rows: torch.Tensor) -> None:
        """Go on with these rows (row,) of the batch."""
        for cache in (self.own, self.memory):
            if cache.length:
                cache.select(rows)


class CachedDecoder:
    """Give the logits of the token after tokens (batch, time), of which only those that are new are read.

    The answer is that of reading everything anew; the cache shows in the time alone. Rows may come back in another
    order, or several times, as those of a beam do: each row goes on from a row that it begins with. Where there is
    none, everything is forgotten and read again; `step_back`, if it is called before, forgets only what differs.

    `read(tokens, caches, origin)` reads new tokens (batch, new) behind what the caches hold, one `BlockCache` for each
    layer, and returns logits (batch, vocab); `origin` (batch,) says from which row of the first call each row
    comes, and is the same tensor as before until rows change.

    >>> reads = []
    >>> def read(tokens, caches, origin):
    ...     reads.append(tokens.shape[1])
    ...     return torch.zeros(len(tokens), 5)
    >>> next_token_logits = CachedDecoder(read, layers=0)
    >>> for time in (3, 4, 5):
    ...     logits = next_token_logits(torch.arange(time).unsqueeze(0))
    >>> reads
    [3, 1, 1]
    """

    def __init__(self, read: Callable[[torch.Tensor, list[BlockCache], torch.Tensor], torch.Tensor], layers: int):
        self._read, self._layers = read, layers
        self._known: torch.Tensor | None = None  # (batch, length): the tokens that the caches hold

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the logits (batch, vocab) of the token after tokens (batch, time)."""
        check_shape(tokens, "batch time", "tokens")
        return self._logits(tokens).clone()  # what was made in inference mode could not be changed in place

    def step_back(self, tokens: torch.Tensor, last: int = 1) -> None:
        """Forget the positions from which on tokens (batch, time) differ from what is kept, and their `last` ones.

        So a text of which the end was written anew goes on from where it is the same, and `read` gets the `last`
        positions in any case. Every row stays in its place; with another number of rows, everything is forgotten.

        >>> reads = []
        >>> def read(tokens, caches, origin):
        ...     reads.append(tokens.tolist())
        ...     return torch.zeros(len(tokens), 5)
        >>> next_token_logits = CachedDecoder(read, layers=0)
        >>> for text in ([1, 2, 3, 4], [1, 2, 4, 4, 4]):
        ...     next_token_logits.step_back(torch.tensor([text]))
        ...     logits = next_token_logits(torch.tensor([text]))
        >>> reads
        [[[1, 2, 3, 4]], [[4, 4, 4]]]
        """
        check_shape(tokens, "batch time", "tokens")
        if self._known is None or len(tokens) != len(self._known):
            return self._forget(tokens)
        time = min(self._known.shape[1], max(tokens.shape[1] - last, 0))
        differ = (tokens[:, :time] != self._known[:, :time]).any(dim=0)  # (time,)
        length = int(differ.int().argmax()) if differ.any() else time
        self._known = self._known[:, :length]  # (batch, length)
        for cache in self._caches:
            cache.truncate(length)

    @torch.inference_mode()  # as no_grad, and views and versions are not kept track of either
    def _logits(self, tokens: torch.Tensor) -> torch.Tensor:
        if self._known is None or tokens.shape[1] <= self._known.shape[1]:
            self._forget(tokens)
        elif not torch.equal(tokens[:, : self._known.shape[1]], self._known):
            self._find_rows(tokens)
        logits = self._read(tokens[:, self._known.shape[1] :], self._caches, self._origin)  # (batch, vocab)
        self._known = tokens
        return logits

    def _forget(self, tokens: torch.Tensor) -> None:
        """Begin anew with tokens (batch, time), of which none was read."""
        self._known = tokens[:, :0]  # (batch, 0)
        self._caches = [BlockCache() for _ in range(self._layers)]
        self._origin = torch.arange(len(tokens), device=tokens.device)  # (batch,)

    def _find_rows(self, tokens: torch.Tensor) -> None:
        """Let each row of tokens (batch, time) go on from a known one that it begins with; without one, forget all."""
        fits = (tokens[:, None, : self._known.shape[1]] == self._known).all(dim=-1)  # (batch, known)
        if not fits.any(dim=1).all():
            return self._forget(tokens)
        rows = fits.int().argmax(dim=1)  # (batch,)
        self._origin = self._origin[rows]  # (batch,)
        for cache in self._caches:
            cache.select(rows)
