"""Exercise 13.2, attention in tiles: what is verified, and the known mistakes."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.chapter_13_tiles import (
    COMPARE_DOT,
    at_once,
    bare,
    by,
    comparing,
    cut_loose,
    divided_every_time,
    draw_attention,
    everything,
    far,
    in_double,
    last_first,
    nothing_rescaled,
    output_not_rescaled,
    own_maximum,
    past,
    past_only,
    pulled_back,
    small_room,
    strictly,
    tile_by_itself,
    tiled_attention,
    total_not_rescaled,
    whole_only,
    whole_or_none,
    whole_tiles,
    zero_padded,
)
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import Judge, both, equals, gradients_equal, inputs_unchanged, on

WHOLE = "whole tiles, nothing hidden"
REST = "tiles that do not divide the numbers of queries and keys"
CAUSAL = "causal, also with fewer queries than keys"
TILES = "no more than a tile of queries and a tile of keys are compared at once"
FAR = "scores of 10,000 and more, in float64"
GRADIENTS = "the gradients are right to nine digits, in float64"

right = equals(at_once)


def where(asked: Callable[[Case], bool], judge: Judge) -> Judge:
    """The judgement on the cases that are `asked` about alone, since tiles take their time."""
    return lambda call, case: judge(call, case) if asked(case) else None


def causal(case: Case) -> bool:
    """The case hides the future."""
    return case["causal"]


def not_causal(case: Case) -> bool:
    """The case hides nothing."""
    return not case["causal"]


def one_text(case: Case) -> bool:
    """The batch is one text, as in the examples."""
    return len(case["query"]) == 1


TILED = Exercise(
    id="13.2",
    title="Attention in tiles",
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
                    "compare": COMPARE_DOT,
                },
                {
                    "query": torch.tensor([[[0.0], [1.0]]]),
                    "key": torch.tensor([[[0.0], [1.0986], [0.0]]]),
                    "value": torch.tensor([[[0.0, 2.0], [4.0, 2.0], [10.0, 7.0]]]),
                    "tile": 4,
                    "causal": True,
                    "compare": COMPARE_DOT,
                },
            ),
            reference=tiled_attention,
            properties=(
                Property(WHOLE, 1, where(not_causal, on(whole_tiles, right))),
                Property(REST, 1, where(not_causal, both(right, inputs_unchanged))),
                Property(CAUSAL, 2, on(past_only, right)),
                Property(TILES, 2, on(strictly, right)),
                Property(FAR, 1, where(causal, on(lambda case: in_double(far(case)), right))),
                Property(
                    GRADIENTS,
                    1,
                    where(one_text, on(in_double, both(right, gradients_equal(at_once, 1e-10)))),
                    only_when_right=True,
                ),
            ),
            misconceptions=(
                Misconception(
                    "all keys at once",
                    "the output is right, and a query was compared with all keys at once, so a row of scores grows "
                    "with the text; compare one tile of queries with one tile of keys at a time",
                    by(query_tiles=everything, key_tiles=everything),
                    breaks=TILES,
                ),
                Misconception(
                    "compare not used",
                    "these are scaled dot products of your own, and `compare` was not called: it may be something "
                    "different, and the scores come from it alone",
                    lambda query, key, value, tile, causal, compare: tiled_attention(
                        query, key, value, tile, causal, COMPARE_DOT
                    ),
                    breaks=REST,
                ),
                Misconception(
                    "compare not used, nor scaled",
                    "these are dot products of your own, and `compare` was not called: it may be something different, "
                    "and the scores come from it alone",
                    comparing(lambda compare: lambda query, key: query @ key.mT),
                    breaks=WHOLE,
                ),
                Misconception(
                    "divided by the root once more",
                    "the scores of `compare` are divided by the root of d_key here; it has divided already by what "
                    "there is to divide by",
                    comparing(lambda compare: lambda query, key: compare(query, key) / query.shape[-1] ** 0.5),
                    breaks=WHOLE,
                ),
                Misconception(
                    "keys in tiles, queries all at once",
                    "the keys are cut and the queries are not: a column of scores still grows with the text; cut both",
                    by(query_tiles=everything),
                    breaks=TILES,
                ),
                Misconception(
                    "softmax of each tile, added up",
                    "each tile has a softmax of its own here, and the outputs are added up: the weights of a query "
                    "then sum to the number of tiles, not to one",
                    by(tile_by_itself, end=lambda total, output: output),
                    breaks=WHOLE,
                ),
                Misconception(
                    "softmax of each tile, averaged",
                    "each tile has a softmax of its own here, and the outputs are averaged: a tile of small scores "
                    "then weighs as much as one of great ones",
                    by(tile_by_itself),
                    breaks=WHOLE,
                ),
                Misconception(
                    "nothing rescaled",
                    "sum and output are added to as they are; when the maximum grows, multiply both by exp(old maximum "
                    "- new maximum) first",
                    by(nothing_rescaled),
                    breaks=WHOLE,
                ),
                Misconception(
                    "output not rescaled",
                    "the sum is rescaled when the maximum grows, and the output is not; it was measured from the old "
                    "maximum too",
                    by(output_not_rescaled),
                    breaks=WHOLE,
                ),
                Misconception(
                    "sum not rescaled",
                    "the output is rescaled when the maximum grows, and the sum is not; it was measured from the old "
                    "maximum too",
                    by(total_not_rescaled),
                    breaks=WHOLE,
                ),
                Misconception(
                    "every tile from its own maximum",
                    "every tile is measured from its own maximum, and then all are added up as though it were the same "
                    "one",
                    by(own_maximum),
                    breaks=WHOLE,
                ),
                Misconception(
                    "no maximum",
                    "this takes exponentials of the scores as they are: at 10,000 they are infinite, and the quotient "
                    "is nan",
                    by(bare),
                    breaks=FAR,
                ),
                Misconception(
                    "maximum begins at 0",
                    "the maximum begins at 0, and stays there where all scores are below: at -10,000 every exponential "
                    "is then 0, and 0 / 0 is nan; begin with minus infinity",
                    by(begin=0.0),
                    breaks=FAR,
                ),
                Misconception(
                    "not divided",
                    "the output was never divided by the sum of the exponentials",
                    by(end=lambda total, output: output),
                    breaks=WHOLE,
                ),
                Misconception(
                    "divided after every tile",
                    "the output is divided by the sum after every tile, and the next tile is added to it as though it "
                    "were not; divide once, after the last",
                    by(divided_every_time, end=lambda total, output: output),
                    breaks=WHOLE,
                ),
                Misconception(
                    "last keys left out",
                    "the last keys are left out where the tile does not divide their number: `range(0, n, tile)` also "
                    "begins a tile that is shorter",
                    by(key_tiles=whole_only),
                    breaks=REST,
                ),
                Misconception(
                    "last keys left out, or all",
                    "the last keys are left out where the tile does not divide their number, and all of them where "
                    "they are fewer than a tile: `range(0, n, tile)` also begins a tile that is shorter",
                    by(key_tiles=whole_or_none),
                    breaks=REST,
                ),
                Misconception(
                    "last queries left out",
                    "the last queries have no output where the tile does not divide their number: `range(0, n, tile)` "
                    "also begins a tile that is shorter",
                    by(query_tiles=whole_only),
                    breaks=REST,
                ),
                Misconception(
                    "keys counted twice",
                    "the last tile of keys is pulled back to be whole, and some keys are read twice; let it be shorter",
                    by(key_tiles=pulled_back),
                    breaks=REST,
                ),
                Misconception(
                    "filled up with zeros",
                    "keys are filled up with zeros to a whole tile, and the zeros are attended to: a score of 0 weighs "
                    "exp(0) = 1; let the last tile be shorter, or hide them",
                    zero_padded,
                    breaks=REST,
                ),
                Misconception(
                    "causal ignored",
                    "`causal` was not used: queries read what stands after them",
                    by(seen=lambda rows, columns, queries, keys: torch.tensor(True)),
                    breaks=CAUSAL,
                ),
                Misconception(
                    "places counted within the tile",
                    "the mask is drawn inside of each tile as though every tile began at place 0: compare places in "
                    "the text, to which the starts of both tiles belong",
                    by(
                        seen=lambda rows, columns, queries, keys: (
                            torch.arange(rows.stop - rows.start)[:, None] >= torch.arange(columns.stop - columns.start)
                        )
                    ),
                    breaks=CAUSAL,
                ),
                Misconception(
                    "queries counted from the front",
                    "query i was taken for place i; where there are fewer queries than keys, the queries are the last "
                    "places: key.shape[1] - query.shape[1] + i",
                    by(
                        seen=lambda rows, columns, queries, keys: past(rows, columns, keys, keys)[
                            : queries - rows.start
                        ]
                    ),
                    breaks=CAUSAL,
                ),
                Misconception(
                    "own place hidden",
                    "a query does not read its own place here; only what comes after it is hidden",
                    by(
                        seen=lambda rows, columns, queries, keys: (
                            past(rows, columns, queries, keys)
                            & (torch.arange(queries)[rows][:, None] + keys - queries != torch.arange(keys)[columns])
                        )
                    ),
                    breaks=CAUSAL,
                ),
                Misconception(
                    "whole tiles hidden or shown",
                    "tiles after the query's own are left out and its own is read as a whole; within it the places "
                    "after the query are to be hidden too",
                    by(
                        seen=lambda rows, columns, queries, keys: (
                            torch.arange(rows.start, rows.stop)[:, None] // 1 * 0 + rows.stop - 1 + keys - queries
                            >= torch.arange(keys)[columns]
                        )
                    ),
                    breaks=CAUSAL,
                ),
                Misconception(
                    "zero for a score",
                    "hidden scores were set to 0, which weighs exp(0) = 1; minus infinity weighs nothing",
                    by(hide=lambda scores, seen: scores * seen),
                    breaks=CAUSAL,
                ),
                Misconception(
                    "last tile first",
                    "the tiles of keys are taken from the last to the first: one that is hidden as a whole then meets "
                    "a maximum of minus infinity, and -inf less -inf is nan; begin at place 0, which all may read",
                    by(key_tiles=last_first),
                    breaks=CAUSAL,
                ),
                Misconception(
                    "future and past exchanged",
                    "this hides the past and shows the future",
                    by(seen=lambda rows, columns, queries, keys: ~past(rows, columns, queries, keys)),
                    breaks=CAUSAL,
                ),
                Misconception(
                    "no way back",
                    "the values are right, but no gradient flows back to the queries: somewhere the graph is cut, as "
                    "by `.detach()`, `.data`, `.item()` or `torch.no_grad()`",
                    cut_loose,
                    breaks=GRADIENTS,
                ),
                Misconception(
                    "room for 32 bits",
                    "`torch.zeros(...)` makes room for numbers of 32 bits, whatever is written there; "
                    "`query.new_zeros(...)` takes the kind of the queries",
                    small_room,
                    breaks=GRADIENTS,
                ),
                Misconception(
                    "queries overwritten",
                    "the caller's own queries were changed in place; make new tensors",
                    lambda query, key, value, tile, causal, compare: (
                        tiled_attention(query, key, value, tile, causal, compare),
                        query.mul_(2.0),
                    )[0],
                    breaks=REST,
                ),
            ),
        ),
    ),
    hints=(
        "A query has to read every key before its output is known. What three things does it have to remember of the "
        "tiles that it has read, so that it need not see them again?",
        "Two loops, over the tiles of queries and, within, over those of keys. For each tile of queries begin with a "
        "maximum of minus infinity, a sum of 0 and an output of 0. At each tile of keys rescale sum and output by the "
        "same factor, and add what the tile brings. Divide once, when all keys have been read.",
        "With `keepdim=True` maximum and sum keep an axis for the keys, and `output * (maximum - new).exp()` fits. "
        "Place of query i: `key.shape[1] - query.shape[1] + i`; compare a column of such places with a row of the "
        "keys' places, both by `torch.arange` from the start to the end of the tile. The key at place 0 is never "
        "hidden, so if you begin there the maximum is finite from the first tile on.",
    ),
)
