"""13.2: attention in tiles, as in FlashAttention."""

from collections.abc import Callable

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, equals, gradients_equal, inputs_unchanged, on
from course_lib.grading.exercise import Case, Check, Exercise, Given, Property, Task

DOT = "query @ key.mT / query.shape[-1] ** 0.5"
DISTANCE = "-(query[..., :, None, :] - key[..., None, :, :]).square().sum(-1)"
TITLE = {DOT: "scaled dot products", DISTANCE: "minus squared distances"}
COMPARE = {kind: Given(title, f"lambda query, key: {kind}") for kind, title in TITLE.items()}
# The same, and no more than so many queries and keys at once.
STRICT = {
    (COMPARE[kind], tile): Given(
        f"{title} of at most {tile} queries and {tile} keys at once",
        f"lambda query, key: (torch._assert(max(query.shape[-2], key.shape[-2]) <= {tile}, "
        "f'got {query.shape[-2]} queries and {key.shape[-2]} keys at once, more than a tile'), "
        f"{kind})[1]",
    )
    for kind, title in TITLE.items()
    for tile in range(1, 5)
}


def tiled_attention(query, key, value, tile, causal, compare):
    """The whole matrix of scores, put together of tiles, and its softmax: what an online softmax is held to."""
    rows = [torch.cat([compare(some, each) for each in key.split(tile, 1)], -1) for some in query.split(tile, 1)]
    scores = torch.cat(rows, 1)
    if causal:
        future = torch.ones(scores.shape[1:], dtype=torch.bool).triu(key.shape[1] - query.shape[1] + 1)
        scores = scores.masked_fill(future, -torch.inf)
    return scores.softmax(-1) @ value


def draw_attention(generator: torch.Generator) -> Case:
    """Draw queries, keys and values, and a tile that divides neither their numbers nor covers all of them."""
    causal = bool(torch.rand((), generator=generator) < 0.5)
    tile, batch = 2 + int(torch.randint(2, (), generator=generator)), sizes(generator, 3)[0]
    query, key = (
        tile * whole + rest
        for whole, rest in zip(sizes(generator, 1, 2), sizes(generator, tile - 1, tile - 1), strict=True)
    )
    d_key, d_value = sizes(generator, 4, 4, least=2)
    return {
        "query": normal(generator, batch, min(query, key) if causal else query, d_key),
        "key": 2 * normal(generator, batch, key, d_key),
        "value": normal(generator, batch, key, d_value),
        "tile": tile,
        "causal": causal,
        "compare": tuple(COMPARE.values())[int(torch.randint(2, (), generator=generator))],
    }


def past_only(case: Case) -> Case:
    """The future hidden, and at most as many queries as keys."""
    if case["causal"]:
        return case
    return case | {"query": case["query"][:, : case["key"].shape[1]], "causal": True}


def whole_tiles(case: Case) -> Case:
    """Numbers of queries and keys that are multiples of the tile; a tile of 1 where there are fewer."""
    tile = case["tile"] if min(case["query"].shape[1], case["key"].shape[1]) >= case["tile"] else 1
    kept = {name: case[name].shape[1] // tile * tile for name in ("query", "key", "value")}
    return case | {name: case[name][:, :number] for name, number in kept.items()} | {"tile": tile}


def strictly(case: Case) -> Case:
    """A comparison that refuses more than a tile."""
    return case | {"compare": STRICT[case["compare"], case["tile"]]}


def by_distance(case: Case) -> Case:
    """A comparison that is no dot product, so that an answer which never calls it is found out."""
    return case if case["compare"] is COMPARE[DISTANCE] else case | {"compare": COMPARE[DISTANCE]}


def far(case: Case) -> Case:
    """Dot products around 20,000 and around -20,000 with queries by turns, all of them whole numbers."""
    query, key = torch.zeros_like(case["query"]), case["key"].clone()
    query[..., ::2, 0], query[..., 1::2, 0] = 256.0, -256.0
    query[1::2, :, 0] *= -1  # where there is one query only, its sign goes by the sequence
    key[..., 0] = 80 + (2 * key[..., 0]).round() / 256
    return in_double(case | {"query": query, "key": key, "causal": False, "compare": COMPARE[DOT]})


def in_double(case: Case) -> Case:
    """The same in numbers of 64 bits."""
    return case | {name: case[name].double() for name in ("query", "key", "value")}


def where(asked: Callable[[Case], bool], check: Check) -> Check:
    """The check on the cases that are `asked` about alone, since tiles take their time."""

    def on_some(case: Case):
        if asked(case):
            return (yield from check(case))
        yield []
        return None

    return on_some


def causal(case: Case) -> bool:
    """The case hides the future."""
    return case["causal"]


def not_causal(case: Case) -> bool:
    """The case hides nothing."""
    return not case["causal"]


def one_text(case: Case) -> bool:
    """The batch is one text, as in the examples."""
    return len(case["query"]) == 1


MISTAKES = """
all keys at once => no more than a tile of queries and a tile of keys are compared at once
- batch, queries, _ = query.shape
+ batch, queries, _ = query.shape
+ tile = max(queries, key.shape[1])
the output is right, and a query was compared with all keys at once, so a row of scores grows with the text; compare one
tile of queries with one tile of keys at a time

compare not used => tiles that do not divide the numbers of queries and keys
- scores = compare(asking, key[:, start : start + tile])
+ scores = asking @ key[:, start : start + tile].mT / query.shape[-1] ** 0.5
these are scaled dot products of your own, and `compare` was not called: it may be something different, and the scores
come from it alone

compare not used, nor scaled => whole tiles, nothing hidden
+ scores = asking @ key[:, start : start + tile].mT
these are dot products of your own, and `compare` was not called: it may be something different, and the scores come
from it alone

divided by the root once more => whole tiles, nothing hidden
+ scores = compare(asking, key[:, start : start + tile]) / query.shape[-1] ** 0.5
the scores of `compare` are divided by the root of d_key here; it has divided already by what there is to divide by

keys in tiles, queries all at once => no more than a tile of queries and a tile of keys are compared at once
- for first in range(0, queries, tile):
- asking = query[:, first : first + tile]
+ for first, asking in [(0, query)]:
the keys are cut and the queries are not: a column of scores still grows with the text; cut both

softmax of each tile, added up => whole tiles, nothing hidden
- new = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
- shrink = torch.exp(maximum - new)
- weights = torch.exp(scores - new)
- total = total * shrink + weights.sum(dim=-1, keepdim=True)
- output = output * shrink + weights @ value[:, start : start + tile]
- maximum = new
+ total = torch.ones_like(total)
+ output = output + scores.softmax(dim=-1).nan_to_num() @ value[:, start : start + tile]
each tile has a softmax of its own here, and the outputs are added up: the weights of a query then sum to the number of
tiles, not to one

softmax of each tile, averaged => whole tiles, nothing hidden
+ total = total + 1
+ output = output + scores.softmax(dim=-1).nan_to_num() @ value[:, start : start + tile]
each tile has a softmax of its own here, and the outputs are averaged: a tile of small scores then weighs as much as one
of great ones

nothing rescaled => whole tiles, nothing hidden
- shrink = torch.exp(maximum - new)
+ shrink = 1.0
sum and output are added to as they are; when the maximum grows, multiply both by exp(old maximum - new maximum) first

output not rescaled => whole tiles, nothing hidden
- output = output * shrink + weights @ value[:, start : start + tile]
+ output = output + weights @ value[:, start : start + tile]
the sum is rescaled when the maximum grows, and the output is not; it was measured from the old maximum too

sum not rescaled => whole tiles, nothing hidden
- total = total * shrink + weights.sum(dim=-1, keepdim=True)
+ total = total + weights.sum(dim=-1, keepdim=True)
the output is rescaled when the maximum grows, and the sum is not; it was measured from the old maximum too

every tile from its own maximum => whole tiles, nothing hidden
- shrink = torch.exp(maximum - new)
- weights = torch.exp(scores - new)
+ shrink = 1.0
+ weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True)).nan_to_num()
every tile is measured from its own maximum, and then all are added up as though it were the same one

no maximum => scores of 10,000 and more, in float64
+ shrink = 1.0
+ weights = torch.exp(scores)
this takes exponentials of the scores as they are: at 10,000 they are infinite, and the quotient is nan

maximum begins at 0 => scores of 10,000 and more, in float64
- maximum = query.new_full((batch, asking.shape[1], 1), float("-inf"))
+ maximum = query.new_zeros(batch, asking.shape[1], 1)
the maximum begins at 0, and stays there where all scores are below: at -10,000 every exponential is then 0, and 0 / 0
is nan; begin with minus infinity

not divided => whole tiles, nothing hidden
- outputs.append(output / total)
+ outputs.append(output)
the output was never divided by the sum of the exponentials

divided after every tile => whole tiles, nothing hidden
- for start in range(0, keys, tile):
+ for start in range(0, keys, tile):
+     output = output / total if start > 0 else output
the output is divided by the sum after every tile, and the next tile is added to it as though it were not; divide once,
after the last

last keys left out => tiles that do not divide the numbers of queries and keys
+ for start in range(0, max(keys - tile, 0) + 1, tile):
the last keys are left out where the tile does not divide their number: `range(0, n, tile)` also begins a tile that is
shorter

last keys left out, or all => tiles that do not divide the numbers of queries and keys
+ for start in range(0, keys // tile * tile, tile):
the last keys are left out where the tile does not divide their number, and all of them where they are fewer than a
tile: `range(0, n, tile)` also begins a tile that is shorter

last queries left out => tiles that do not divide the numbers of queries and keys
- for first in range(0, queries, tile):
+ for first in range(0, max(queries - tile, 0) + 1, tile):
the last queries have no output where the tile does not divide their number: `range(0, n, tile)` also begins a tile that
is shorter

keys counted twice => tiles that do not divide the numbers of queries and keys
- for start in range(0, keys, tile):
+ for start in (max(0, min(each, keys - tile)) for each in range(0, keys, tile)):
the last tile of keys is pulled back to be whole, and some keys are read twice; let it be shorter

filled up with zeros => tiles that do not divide the numbers of queries and keys
- keys, outputs = key.shape[1], []
+ keys, outputs = key.shape[1], []
+ key, value = (torch.nn.functional.pad(each, (0, 0, 0, -keys % tile)) for each in (key, value))
keys are filled up with zeros to a whole tile, and the zeros are attended to: a score of 0 weighs exp(0) = 1; let the
last tile be shorter, or hide them

causal ignored => causal, also with fewer queries than keys
- scores = scores.masked_fill(columns > rearrange(rows, "a -> a 1"), float("-inf"))
`causal` was not used: queries attend to later positions

positions counted within the tile => causal, also with fewer queries than keys
- rows = torch.arange(asking.shape[1]) + first + keys - queries
- columns = torch.arange(scores.shape[-1]) + start
+ rows, columns = torch.arange(asking.shape[1]), torch.arange(scores.shape[-1])
the mask is drawn inside of each tile as though every tile began at position 0: compare positions in the text, to which
the starts of both tiles belong

queries counted from the front => causal, also with fewer queries than keys
- rows = torch.arange(asking.shape[1]) + first + keys - queries
+ rows = torch.arange(asking.shape[1]) + first
query i was taken for position i; where there are fewer queries than keys, the queries are the last positions:
key.shape[1] - query.shape[1] + i

own position hidden => causal, also with fewer queries than keys
- scores = scores.masked_fill(columns > rearrange(rows, "a -> a 1"), float("-inf"))
+ scores = scores.masked_fill(columns >= rearrange(rows, "a -> a 1"), float("-inf"))
a query does not attend to its own position here; only what comes after it is hidden

last key of a tile left out => causal, also with fewer queries than keys
- for start in range(0, keys, tile):
+ for start in range(0, keys, tile):
+     if causal and 0 < start >= keys - queries + first + asking.shape[1] - 1:
+         break
this leaves out a tile of keys that begins at the position of the tile's last query; a query attends to its own position
too: leave out only what begins after it

whole tiles hidden or shown => causal, also with fewer queries than keys
- rows = torch.arange(asking.shape[1]) + first + keys - queries
+ rows = torch.full((asking.shape[1],), asking.shape[1] - 1) + first + keys - queries
tiles after the query's own are left out and its own is read as a whole; within it the positions after the query are to
be hidden too

zero for a score => causal, also with fewer queries than keys
- scores = scores.masked_fill(columns > rearrange(rows, "a -> a 1"), float("-inf"))
+ scores = scores.masked_fill(columns > rearrange(rows, "a -> a 1"), 0.0)
hidden scores were set to 0, which weighs exp(0) = 1; minus infinity weighs nothing

last tile first => causal, also with fewer queries than keys
- for start in range(0, keys, tile):
+ for start in reversed(range(0, keys, tile)):
a tile of keys that is hidden as a whole has a maximum of minus infinity, and -inf less -inf is nan: so it is where the
tiles are taken from the last to the first, and where each has a softmax of its own; begin at position 0, to which all
attend, and carry one maximum from tile to tile

future and past exchanged => causal, also with fewer queries than keys
- scores = scores.masked_fill(columns > rearrange(rows, "a -> a 1"), float("-inf"))
+ scores = scores.masked_fill(columns <= rearrange(rows, "a -> a 1"), float("-inf"))
this hides the past and shows the future

no way back => the gradients are right to nine digits, in float64
- asking = query[:, first : first + tile]
+ asking = query[:, first : first + tile].detach()
the values are right, but no gradient flows back to the queries: somewhere the graph is cut, as by `.detach()`, `.data`,
`.item()` or `torch.no_grad()`

factor without a way back => the gradients are right to nine digits, in float64
- shrink = torch.exp(maximum - new)
+ shrink = torch.exp(maximum - new).detach()
the values are right, but the factor that rescales is cut off (`.detach()`, `torch.no_grad()`) while the exponentials
are not: the maximum cancels out only where both have a gradient, or neither has

numbers of 32 bits => the gradients are right to nine digits, in float64
- return torch.cat(outputs, dim=1)
+ output = torch.zeros(batch, queries, value.shape[-1])
+ output[:] = torch.cat(outputs, dim=1)
+ return output
`torch.zeros(...)` makes a tensor of float32, whatever is written there; `query.new_zeros(...)` takes the dtype of the
queries

queries overwritten => tiles that do not divide the numbers of queries and keys
+ query.mul_(2.0)
+ return torch.cat(outputs, dim=1)
the caller's own queries were changed in place; make new tensors

softmax of each tile, averaged over those that are not hidden => whole tiles, nothing hidden
- new = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
- shrink = torch.exp(maximum - new)
- weights = torch.exp(scores - new)
- total = total * shrink + weights.sum(dim=-1, keepdim=True)
- output = output * shrink + weights @ value[:, start : start + tile]
- maximum = new
+ total = total + (scores > float("-inf")).any(dim=-1, keepdim=True)
+ output = output + scores.softmax(dim=-1).nan_to_num() @ value[:, start : start + tile]
each tile has a softmax of its own here, and the outputs are averaged: a tile of small scores then weighs as much as one
of great ones
"""

EXERCISE = Exercise(
    title="FlashAttention: attention in tiles",
    difficulty=4,
    minutes=50,
    tasks=(
        Task(
            function="tiled_attention",
            parameters=("query", "key", "value", "tile", "causal", "compare"),
            returns="the output, shape (batch, query, d_value)",
            cases=draw_attention,
            examples=(
                {
                    "query": torch.tensor([[[1.0]]]),
                    "key": torch.tensor([[[0.6931], [0.0], [1.3863]]]),
                    "value": torch.tensor([[[1.0], [5.0], [7.0]]]),
                    "tile": 2,
                    "causal": False,
                    "compare": COMPARE[DOT],
                },
                {
                    "query": torch.tensor([[[0.0], [1.0]]]),
                    "key": torch.tensor([[[0.0], [1.0986], [0.0]]]),
                    "value": torch.tensor([[[0.0, 2.0], [4.0, 2.0], [10.0, 7.0]]]),
                    "tile": 4,
                    "causal": True,
                    "compare": COMPARE[DOT],
                },
            ),
            edges=(
                {  # a tile of one, a query in each of two sequences
                    "query": torch.tensor([[[1.0]], [[-2.0]]]),
                    "key": torch.tensor([[[0.5], [1.5]], [[1.0], [0.0]]]),
                    "value": torch.tensor([[[1.0], [5.0]], [[2.0], [-3.0]]]),
                    "tile": 1,
                    "causal": True,
                    "compare": COMPARE[DOT],
                },
                {  # a first tile of queries for which the last tile of keys is hidden; equal scores
                    "query": torch.tensor([[[1.0], [1.0], [2.0]]]),
                    "key": torch.tensor([[[1.0], [1.0], [0.5]]]),
                    "value": torch.tensor([[[1.0, 0.0], [5.0, 2.0], [-4.0, 3.0]]]),
                    "tile": 2,
                    "causal": True,
                    "compare": COMPARE[DISTANCE],
                },
                {  # everything of size one
                    "query": torch.tensor([[[2.0]]]),
                    "key": torch.tensor([[[-1.0]]]),
                    "value": torch.tensor([[[3.0]]]),
                    "tile": 3,
                    "causal": False,
                    "compare": COMPARE[DOT],
                },
            ),
            reference=tiled_attention,
            properties=(
                Property("whole tiles, nothing hidden", 1, where(not_causal, on(whole_tiles, equals()))),
                Property(
                    "tiles that do not divide the numbers of queries and keys",
                    1,
                    where(not_causal, both(both(equals(), on(by_distance, equals())), inputs_unchanged)),
                ),
                Property("causal, also with fewer queries than keys", 2, on(past_only, equals())),
                Property(
                    "no more than a tile of queries and a tile of keys are compared at once", 2, on(strictly, equals())
                ),
                Property("scores of 10,000 and more, in float64", 1, where(causal, on(far, equals()))),
                Property(
                    "the gradients are right to nine digits, in float64",
                    1,
                    where(one_text, on(in_double, both(equals(), gradients_equal(1e-10)))),
                    only_when_right=True,
                ),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "A query has to read every key before its output is known. What three things does it have to remember of the "
        "tiles that it has read, so that it need not see them again?",
        "Two loops, over the tiles of queries and, within, over those of keys. For each tile of queries begin with a "
        "maximum of minus infinity, a sum of 0 and an output of 0. At each tile of keys rescale sum and output by the "
        "same factor, and add what the tile brings. Divide once, when all keys have been read.",
        "With `keepdim=True` maximum and sum keep an axis for the keys, and `output * (maximum - new).exp()` fits. "
        "Position of query i: `key.shape[1] - query.shape[1] + i`; compare a column of such positions with a row of "
        "the keys' positions, both by `torch.arange` from the start to the end of the tile. The key at position 0 is "
        "never hidden, so if you begin there the maximum is finite from the first tile on.",
    ),
)
