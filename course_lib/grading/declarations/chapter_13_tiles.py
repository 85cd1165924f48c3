"""Exercise 13.2, attention in tiles: its cases, the comparisons that are given, and right and wrong answers."""

from collections.abc import Callable, Iterator

import torch

from course_lib.grading.declarations.drawing import normal, sizes
from course_lib.grading.exercise import Case, Given

HIDDEN = -torch.inf

DOT = "query @ key.mT / query.shape[-1] ** 0.5"
DISTANCE = "-(query[..., :, None, :] - key[..., None, :, :]).square().sum(-1)"
TITLE = {DOT: "scaled dot products", DISTANCE: "minus squared distances"}
COMPARE = {kind: Given(title, f"lambda query, key: {kind}") for kind, title in TITLE.items()}
LARGEST = 4
# The same, and no more than so many queries and keys at once.
STRICT = {
    (COMPARE[kind], tile): Given(
        f"{title} of at most {tile} queries and {tile} keys at once",
        f"lambda query, key: (torch._assert(max(query.shape[-2], key.shape[-2]) <= {tile}, "
        "f'came {query.shape[-2]} queries and {key.shape[-2]} keys at once, more than a tile'), "
        f"{kind})[1]",
    )
    for kind, title in TITLE.items()
    for tile in range(1, LARGEST + 1)
}


def draw_attention(generator: torch.Generator) -> Case:
    """Draw queries, keys and values, and a tile that divides neither their numbers nor covers all of them."""
    causal = bool(torch.rand((), generator=generator) < 0.5)
    tile, batch = 2 + int(torch.randint(2, (), generator=generator)), sizes(generator, 3)[0]
    query, key = (
        tile * whole + rest
        for whole, rest in zip(sizes(generator, 1, 2), sizes(generator, tile - 1, tile - 1), strict=True)
    )
    d_key, d_value = sizes(generator, 4, 4)
    return {
        "query": normal(generator, batch, min(query, key) if causal else query, d_key),
        "key": 2 * normal(generator, batch, key, d_key),
        "value": normal(generator, batch, key, d_value),
        "tile": tile,
        "causal": causal,
        "compare": tuple(COMPARE.values())[int(torch.randint(2, (), generator=generator))],
    }


def everything_seen(case: Case) -> Case:
    """Nothing hidden."""
    return case | {"causal": False}


def past_only(case: Case) -> Case:
    """The future hidden, and at most as many queries as keys."""
    if case["causal"]:
        return case
    query = case["query"][:, : case["key"].shape[1]]
    return case | {"query": query, "causal": True}


def whole_tiles(case: Case) -> Case:
    """Numbers of queries and keys that are multiples of the tile."""
    query, key = (
        slice(max(case["tile"], case[name].shape[1] // case["tile"] * case["tile"])) for name in ("query", "key")
    )
    cut = {"query": case["query"][:, query], "key": case["key"][:, key], "value": case["value"][:, key]}
    if any(cut[name].shape[1] % case["tile"] for name in cut):  # an example that is smaller than its tile
        return everything_seen(case) | {"tile": 1}
    return everything_seen(case) | cut


def strictly(case: Case) -> Case:
    """A comparison that refuses more than a tile."""
    return case | {"compare": STRICT[case["compare"], case["tile"]]}


UNLIMITED = {strict: compare for (compare, _), strict in STRICT.items()}
COMPARE_DOT = COMPARE[DOT]


def far(case: Case) -> Case:
    """Dot products around 20,000 and around -20,000 with queries by turns, all of them whole numbers."""
    query, key = torch.zeros_like(case["query"]), case["key"].clone()
    query[..., ::2, 0], query[..., 1::2, 0] = 256.0, -256.0
    query[1::2, :, 0] *= -1  # where there is one query only, its sign goes by the sequence
    key[..., 0] = 80 + (2 * key[..., 0]).round() / 256
    return everything_seen(case) | {"query": query, "key": key, "compare": COMPARE_DOT}


def in_double(case: Case) -> Case:
    """The same in numbers of 64 bits."""
    return case | {name: case[name].double() for name in ("query", "key", "value")}


# ---------------------------------------------------------------- right and wrong answers


def cut(number: int, tile: int) -> Iterator[slice]:
    """Tiles, the last one as short as need be."""
    return (slice(first, min(first + tile, number)) for first in range(0, number, tile))


def whole_only(number: int, tile: int) -> Iterator[slice]:
    """Tiles without the last one, if it is shorter; one in any case."""
    return (slice(first, first + tile) for first in range(0, max(number - tile, 0) + 1, tile))


def whole_or_none(number: int, tile: int) -> Iterator[slice]:
    """Tiles without the last one, if it is shorter; none where all are fewer than a tile."""
    return (slice(first, first + tile) for first in range(0, number // tile * tile, tile))


def last_first(number: int, tile: int) -> Iterator[slice]:
    """The last tile first."""
    return reversed(list(cut(number, tile)))


def pulled_back(number: int, tile: int) -> Iterator[slice]:
    """Tiles of one length, the last one beginning before the end of the one before."""
    return (slice(max(0, min(first, number - tile)), first + tile) for first in range(0, number, tile))


def everything(number: int, tile: int) -> Iterator[slice]:
    """All in one."""
    return iter([slice(0, number)])


def past(query: slice, key: slice, queries: int, keys: int) -> torch.Tensor:
    """True where a key of the tile does not stand after the query, the queries being the last of the keys."""
    return torch.arange(queries)[query][:, None] + keys - queries >= torch.arange(keys)[key]


def rescaled(state, scores, value):
    """Maximum, sum and output after one more tile."""
    maximum, total, output = state
    new = torch.maximum(maximum, scores.amax(-1, keepdim=True))
    shrunk, weights = (maximum - new).exp(), (scores - new).exp()
    return new, total * shrunk + weights.sum(-1, keepdim=True), output * shrunk + weights @ value


def by(
    step: Callable = rescaled,
    end: Callable = lambda total, output: output / total,
    query_tiles: Callable = cut,
    key_tiles: Callable = cut,
    seen: Callable = past,
    hide: Callable = lambda scores, seen: scores.masked_fill(~seen, HIDDEN),
    begin: float = HIDDEN,
) -> Callable[..., torch.Tensor]:
    """Return attention in tiles; the options are ways to go wrong."""

    def answer(query, key, value, tile, causal, compare):
        outputs, queries, keys = [], query.shape[1], key.shape[1]
        for rows in query_tiles(queries, tile):
            some = query[:, rows]
            column = some.new_zeros(*some.shape[:2], 1)
            state = column + begin, column, column * value[:, :1]
            for columns in key_tiles(keys, tile):
                scores = compare(some, key[:, columns])
                if causal:
                    scores = hide(scores, seen(rows, columns, queries, keys))
                state = step(state, scores, value[:, columns])
            outputs.append(end(*state[1:]))
        return torch.cat(outputs, 1)

    return answer


tiled_attention = by()


def at_once(query, key, value, tile, causal, compare):
    """The output by the whole matrix of scores, whatever `compare` allows: what tiles are held to."""
    scores = UNLIMITED.get(compare, compare)(query, key)
    if causal:
        scores = scores.masked_fill(~past(slice(None), slice(None), *scores.shape[1:]), HIDDEN)
    return scores.softmax(-1) @ value


def tile_by_itself(state, scores, value):
    """The softmax of each tile alone; the sum counts tiles."""
    maximum, total, output = state
    return maximum, total + 1, output + scores.softmax(-1).nan_to_num() @ value


def output_not_rescaled(state, scores, value):
    """The sum is rescaled, the output is not."""
    new, total, _ = rescaled(state, scores, value)
    return new, total, state[2] + (scores - new).exp() @ value


def total_not_rescaled(state, scores, value):
    """The output is rescaled, the sum is not."""
    new, _, output = rescaled(state, scores, value)
    return new, state[1] + (scores - new).exp().sum(-1, keepdim=True), output


def nothing_rescaled(state, scores, value):
    """Neither is rescaled."""
    new = rescaled(state, scores, value)[0]
    weights = (scores - new).exp()
    return new, state[1] + weights.sum(-1, keepdim=True), state[2] + weights @ value


def own_maximum(state, scores, value):
    """Every tile measured from its own maximum, and added up."""
    maximum, total, output = state
    weights = (scores - scores.amax(-1, keepdim=True)).exp().nan_to_num()
    return maximum, total + weights.sum(-1, keepdim=True), output + weights @ value


def bare(state, scores, value):
    """Exponentials of the scores as they are."""
    maximum, total, output = state
    return maximum, total + scores.exp().sum(-1, keepdim=True), output + scores.exp() @ value


def divided_every_time(state, scores, value):
    """The output divided by the sum after every tile, and not multiplied by it again."""
    new, total, output = rescaled(state, scores, value)
    return new, total, output / total


def zero_padded(query, key, value, tile, causal, compare):
    """Keys and values filled up with zeros to a multiple of the tile."""
    more = -key.shape[1] % tile
    key, value = (torch.nn.functional.pad(each, (0, 0, 0, more)) for each in (key, value))
    queries, keys = query.shape[1], key.shape[1] - more
    seen = lambda rows, columns, *_: past(rows, columns, queries + more, keys + more)[: rows.stop - rows.start]  # noqa
    return by(seen=seen)(query, key, value, tile, causal, compare)


def comparing(change: Callable) -> Callable[..., torch.Tensor]:
    """Return the answer that compares by change(compare)."""

    def answer(query, key, value, tile, causal, compare):
        return tiled_attention(query, key, value, tile, causal, change(compare))

    return answer


def cut_loose(query, key, value, tile, causal, compare):
    """The right output without its graph."""
    return tiled_attention(query.detach(), key, value, tile, causal, compare)


def small_room(query, key, value, tile, causal, compare):
    """The outputs written into room for numbers of 32 bits."""
    room = torch.zeros(*query.shape[:2], value.shape[-1])
    room[:] = tiled_attention(query, key, value, tile, causal, compare)
    return room
