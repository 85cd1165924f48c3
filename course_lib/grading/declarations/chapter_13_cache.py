"""Exercise 13.3, the cache: its cases, and right and wrong answers."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case

HIDDEN = -torch.inf
STALE = 30.0  # what is left in the room of an earlier text, far from everything that is new

Rooms = tuple[torch.Tensor, torch.Tensor]


def draw_rooms(generator: torch.Generator) -> Case:
    """Draw rooms that hold some places of texts that begin in different columns, and more places to come."""
    batch, new, spare, d_key, d_value = (
        least + size for least, size in zip((1, 1, 0, 0, 0), sizes(generator, 2, 2, 2, 4, 4), strict=True)
    )
    length = int(torch.randint(0, 4, (), generator=generator))
    rooms = {}
    for name, width in (("key", d_key), ("value", d_value)):
        room = normal(generator, batch, length + new + spare, width)
        room[:, length:] = STALE * room[:, length:].sign()
        rooms[f"{name}_room"] = room
    starts = torch.randint(0, length + new, (batch,), generator=generator)
    starts[0] = 0
    return {
        "query": normal(generator, batch, new, d_key),
        "key": normal(generator, batch, new, d_key),
        "value": normal(generator, batch, new, d_value),
        **rooms,
        "length": length,
        "starts": starts.roll(int(torch.randint(batch, (), generator=generator))),
    }


def equal_lengths(case: Case) -> Case:
    """All texts begin in the first column."""
    return case | {"starts": torch.zeros_like(case["starts"])}


def step(case: Case, number: int) -> Case:
    """One of the new places alone."""
    return case | {name: case[name][:, number : number + 1] for name in ("query", "key", "value")}


def one_token(case: Case) -> Case:
    """The first new place alone, all texts alike, with at least one place before it."""
    single = equal_lengths(step(case, 0))
    if case["length"]:
        return single
    rooms = {name: case[name][:, :1] / STALE for name in ("key_room", "value_room")}
    grown = {name: torch.cat([rooms[name], case[name]], 1) for name in rooms}
    return single | grown | {"length": 1}


def no_padding_asked(case: Case) -> Case:
    """Starts such that every new place belongs to its text."""
    return case | {"starts": case["starts"].clamp(max=case["length"])}


def padding_asked(case: Case) -> Case:
    """A prompt read from the first column on, in which some of the new places stand before their text."""
    starts = torch.full_like(case["starts"], case["query"].shape[1] - 1)
    return case | {"length": 0, "starts": starts}


# ---------------------------------------------------------------- right and wrong answers


def written(room: torch.Tensor, new: torch.Tensor, length: int) -> torch.Tensor:
    """The room with what is new behind what was there."""
    room = room.clone()
    room[:, length : length + new.shape[1]] = new
    return room


def in_order(query, key, length, starts):
    """Text begun, and nothing later than the query: (batch, new, key)."""
    places = torch.arange(key)
    return (places >= starts[:, None, None]) & (places <= torch.arange(length, length + query)[:, None])


def zeros_if_empty(scores, mask):
    """Weights, all of them 0 where nothing may be read."""
    return scores.masked_fill(~mask, HIDDEN).softmax(-1).masked_fill(~mask, 0.0)


def by(
    mask: Callable = in_order,
    weigh: Callable = zeros_if_empty,
    write: Callable = written,
    scale: Callable = lambda key, value: key.shape[-1] ** -0.5,
    give: Callable = lambda output, rooms, case: (output, *rooms),
) -> Callable[..., tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Return attention that reads the room; the options are ways to go wrong."""

    def answer(query, key, value, key_room, value_room, length, starts):
        right = [written(room, new, length) for room, new in ((key_room, key), (value_room, value))]
        scores = query @ right[0].mT * scale(key, value)
        weights = weigh(scores, mask(query.shape[1], key_room.shape[1], length, starts))
        rooms = [write(room, new, length) for room, new in ((key_room, key), (value_room, value))]
        return give(weights @ right[1], rooms, {"key_room": key_room, "value_room": value_room})

    return answer


cached_attention = by()


def masked_by(change: Callable) -> Callable:
    """Return the mask change(places of the keys, places of the queries, starts, length)."""

    def mask(query, key, length, starts):
        places, asking = torch.arange(key), torch.arange(length, length + query)[:, None]
        return change(places, asking, starts[:, None, None], length).expand(len(starts), query, key)

    return mask


def at_the_end(room, new, length):
    """What is new in the last places of the room."""
    room = room.clone()
    room[:, -new.shape[1] :] = new
    return room


def appended(room, new, length):
    """What is there and what is new, and no room left."""
    return torch.cat([room[:, :length], new], 1)


def behind_the_room(room, new, length):
    """What is new behind the whole room."""
    return torch.cat([room, new], 1)


def in_place(room, new, length):
    """Written into the caller's own room."""
    room[:, length : length + new.shape[1]] = new
    return room


def rest_cleared(room, new, length):
    """What is behind the text set to zero."""
    room = written(room, new, length)
    room[:, length + new.shape[1] :] = 0.0
    return room


def by_number(scores, mask):
    """A large negative number for a hidden score."""
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def not_a_number(scores, mask):
    """No care for rows without a key."""
    return scores.masked_fill(~mask, HIDDEN).softmax(-1)


def after_the_softmax(scores, mask):
    """Weights hidden after the softmax."""
    return scores.softmax(-1) * mask
