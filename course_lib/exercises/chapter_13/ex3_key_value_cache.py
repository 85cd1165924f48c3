"""13.3: attention with a key-value cache."""

import torch

from course_lib.exercises.drawing import normal, sizes
from course_lib.grading.checks import both, difference, equals, inputs_unchanged, of_output, on
from course_lib.grading.exercise import Case, Exercise, Property, Task

OUTPUTS = ("output", "key_cache", "value_cache")
STALE = 30.0  # contents of the cache left by an earlier text, far from everything that is new


def cached_attention(query, key, value, key_cache, value_cache, length, starts):
    """The new keys and values written into copies of the caches, and attention that reads these."""
    end = length + key.shape[1]
    keys = torch.cat([key_cache[:, :length], key, key_cache[:, end:]], 1)
    values = torch.cat([value_cache[:, :length], value, value_cache[:, end:]], 1)
    positions = torch.arange(keys.shape[1])
    hidden = (positions < starts[:, None, None]) | (positions > torch.arange(length, end)[:, None])
    scores = (query @ keys.mT * key.shape[-1] ** -0.5).masked_fill(hidden, -torch.inf)
    return scores.softmax(-1).masked_fill(hidden, 0.0) @ values, keys, values


def draw_caches(generator: torch.Generator) -> Case:
    """Draw caches with some positions of texts that begin in different columns, and more positions to come."""
    batch, new, spare, d_key, d_value = (
        least + size for least, size in zip((1, 1, 0, 0, 0), sizes(generator, 2, 2, 2, 4, 4), strict=True)
    )
    length = int(torch.randint(0, 4, (), generator=generator))
    caches = {}
    for name, width in (("key", d_key), ("value", d_value)):
        cache = normal(generator, batch, length + new + spare, width)
        cache[:, length:] = STALE * cache[:, length:].sign()
        caches[f"{name}_cache"] = cache
    starts = torch.randint(0, length + new, (batch,), generator=generator)
    starts[0] = 0
    return {
        "query": normal(generator, batch, new, d_key),
        "key": normal(generator, batch, new, d_key),
        "value": normal(generator, batch, new, d_value),
        **caches,
        "length": length,
        "starts": starts.roll(int(torch.randint(batch, (), generator=generator))),
    }


def equal_lengths(case: Case) -> Case:
    """All texts begin in the first column."""
    return case | {"starts": torch.zeros_like(case["starts"])}


def step(case: Case, number: int) -> Case:
    """One of the new positions alone."""
    return case | {name: case[name][:, number : number + 1] for name in ("query", "key", "value")}


def one_token(case: Case) -> Case:
    """The first new position alone, all texts alike, with at least one position before it."""
    single = equal_lengths(step(case, 0))
    if case["length"]:
        return single
    caches = ("key_cache", "value_cache")
    grown = {name: torch.cat([case[name][:, :1] / STALE, case[name]], 1) for name in caches}
    return single | grown | {"length": 1}


def no_padding_asked(case: Case) -> Case:
    """Starts such that every new position belongs to its text."""
    return case | {"starts": case["starts"].clamp(max=case["length"])}


def padding_asked(case: Case) -> Case:
    """A prompt read from the first column on, in which some of the new positions stand before their text."""
    starts = torch.full_like(case["starts"], case["query"].shape[1] - 1)
    return case | {"length": 0, "starts": starts}


def token_by_token(case: Case):
    """The new positions one at a time: the output of each is right, and so are its caches for the next."""
    state, asked = no_padding_asked(case), []
    for number in range(case["query"].shape[1]):
        asked.append(step(state, number))
        _, keys, values = cached_attention(**asked[-1])
        state = state | {"key_cache": keys, "value_cache": values, "length": state["length"] + 1}
    for reply in (yield asked):
        read = reply.arguments["length"] + 1  # so many positions the next one reads
        for where, got, expected in zip(
            ("output", "key_cache", "value_cache"), reply.value, reply.expected, strict=True
        ):
            if problem := difference(reply.arguments, got[:, :read], expected[:, :read], where=where):
                return problem
    return None


output = of_output(0, equals())

MISTAKES = """
whole capacity read => one new token: its output
- mask = begun & past
+ mask = begun
queries attend to the whole cache, also to the contents behind the text, left from an earlier one; hide every position
after the query's own

new tokens read each other => several new tokens: none reads a later one
- past = positions <= rearrange(own, "new -> new 1")
+ past = positions < end
the last new token is right, and those before it attend to later positions: a prefill needs the causal mask too

queries counted from the front => one new token: its output
+ past = positions <= rearrange(own - length, "new -> new 1")
query i was taken for position i; `length` positions stand before, so it stands at position length + i

queries counted from the end of the cache => one new token: its output
+ past = positions <= rearrange(own - end + keys.shape[1], "new -> new 1")
the queries were taken for the last positions of the whole cache, and attend to the contents that an earlier text left
behind; query i stands at position length + i

new positions not read => one new token: its output
+ past = positions < length
queries attend to the positions before and to none of the new ones; a position attends to itself too, so write to the
cache first and attend then

own position hidden => one new token: its output
+ past = positions < rearrange(own, "new -> new 1")
a query attends to the positions before its own here; it attends to its own position too

new positions alone => one new token: its output
- mask = begun & past
+ mask = begun & past & (positions >= length)
queries attend to the new positions alone; they attend to those that were in the caches before as well

starts ignored => texts that begin in different columns
+ mask = past
`starts` was not used: queries attend to the padding before their text

padding at the end => texts that begin in different columns
- begun = positions >= rearrange(starts, "batch -> batch 1 1")
+ begun = positions < end - rearrange(starts, "batch -> batch 1 1")
`starts` was taken for how many positions are hidden at the end; it is the column in which the text begins, and what
stands before it is hidden

starts for lengths => one new token: its output
+ begun = positions < rearrange(starts, "batch -> batch 1 1")
`starts` was taken for the length of a text; it is the column in which it begins

first position of the text hidden => one new token: its output
+ begun = positions > rearrange(starts, "batch -> batch 1 1")
the first position of each text is hidden; the text begins *at* its start

last padding read => texts that begin in different columns
+ begun = positions >= rearrange(starts, "batch -> batch 1 1") - 1
the column before each text's start is read too; the text begins at its start

one start for all => texts that begin in different columns
+ begun = positions >= starts[0]
all texts were given the start of the first one of the batch

nothing to read => a position before its text has an output of exactly 0
- weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1).masked_fill(~mask, 0.0)
+ weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
a position before its text has no key to attend to, and the softmax of nothing is nan; give such a row weights of 0

mean of everything => a position before its text has an output of exactly 0
+ weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
with a large negative number in place of minus infinity, the output of a position with no key is the mean of the whole
cache; give such a row weights of 0

mask after the softmax => one new token: its output
+ weights = scores.softmax(dim=-1) * mask
the weights are hidden after the softmax, and what is left does not sum to one; hide the scores

no scale => one new token: its output
- scores = einsum(query, keys, "batch new d, batch position d -> batch new position") / key.shape[-1] ** 0.5
+ scores = einsum(query, keys, "batch new d, batch position d -> batch new position")
the dot products are not divided by the root of d_key

written to the front => the caches contain the new keys and values from `length` on, and else what they did
- return weights @ values, keys, values
+ parts = (key_cache, key), (value_cache, value)
+ return weights @ values, *(torch.cat([new, cache[:, new.shape[1] :]], dim=1) for cache, new in parts)
what is new was written to the first positions of the caches, over what stood there; it belongs at position `length`

written to the end => the caches contain the new keys and values from `length` on, and else what they did
+ parts = (key_cache, key), (value_cache, value)
+ return weights @ values, *(torch.cat([cache[:, : -new.shape[1]], new], dim=1) for cache, new in parts)
what is new was written to the last positions of the caches; it belongs at position `length`, right behind what is there

written one position too far => the caches contain the new keys and values from `length` on, and else what they did
+ parts = (key_cache, key), (value_cache, value)
+ longer = (torch.cat([old[:, : length + 1], new, old[:, end + 1 :]], dim=1)[:, : old.shape[1]] for old, new in parts)
+ return weights @ values, *longer
a position was left free between what was there and what is new: position `length` is the first free one

caches cut off => the caches contain the new keys and values from `length` on, and else what they did
+ return weights @ values, keys[:, :end], values[:, :end]
the caches that came back end with the text; return them whole, with the capacity that they had

caches made longer => the caches contain the new keys and values from `length` on, and else what they did
+ return weights @ values, torch.cat([key_cache, key], dim=1), torch.cat([value_cache, value], dim=1)
what is new was put behind the whole cache, which grew; its capacity is fixed: write from position `length` on

rest cleared => the caches contain the new keys and values from `length` on, and else what they did
+ keys[:, end:] = values[:, end:] = 0.0
+ return weights @ values, keys, values
the contents behind the text were set to 0; they are hidden by the mask, and need not be written

nothing kept => one token at a time gives what all at once give
+ return weights @ values, key_cache.clone(), value_cache.clone()
the output is right, and the caches came back without the new keys and values: the next token will not find them

caches exchanged => the caches contain the new keys and values from `length` on, and else what they did
+ return weights @ values, values, keys
this returns the values' cache before the keys' cache

last output alone => several new tokens: none reads a later one
+ return (weights @ values)[:, -1:], keys, values
this is the output of the last new token; each of the new ones has one

caller's caches written => inputs unchanged
- keys, values = key_cache.clone(), value_cache.clone()
+ keys, values = key_cache, value_cache
this writes into the caches that were given, and two continuations of one text would overwrite each other here:
`clone()` them first

new tokens read each other, and padding nothing => several new tokens: none reads a later one
- mask = begun & past
+ mask = begun & (positions < end) & (rearrange(own, "new -> new 1") >= rearrange(starts, "batch -> batch 1 1"))
the last new token is right, and those before it attend to later positions: a prefill needs the causal mask too

width of the values => one new token: its output
- scores = einsum(query, keys, "batch new d, batch position d -> batch new position") / key.shape[-1] ** 0.5
+ scores = einsum(query, keys, "batch new d, batch position d -> batch new position") / value.shape[-1] ** 0.5
this divides by the root of the width of the values; a score is a sum over the entries of a query and a key, so it is
divided by the root of d_key
"""

EXERCISE = Exercise(
    title="The key–value cache",
    difficulty=3,
    minutes=40,
    tasks=(
        Task(
            function="cached_attention",
            parameters=("query", "key", "value", "key_cache", "value_cache", "length", "starts"),
            returns="the output (batch, new, d_value), the keys' cache and the values' cache, each as long as it came",
            outputs=OUTPUTS,
            cases=draw_caches,
            examples=(
                {
                    "query": torch.tensor([[[1.0]]]),
                    "key": torch.tensor([[[1.0986]]]),
                    "value": torch.tensor([[[8.0]]]),
                    "key_cache": torch.tensor([[[0.0], [30.0], [30.0]]]),
                    "value_cache": torch.tensor([[[4.0], [30.0], [30.0]]]),
                    "length": 1,
                    "starts": torch.tensor([0]),
                },
                {
                    "query": torch.tensor([[[0.0], [0.0]], [[0.0], [0.0]]]),
                    "key": torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]),
                    "value": torch.tensor([[[2.0, 1.0], [4.0, 3.0]], [[5.0, 0.0], [7.0, 6.0]]]),
                    "key_cache": torch.full((2, 4, 1), 30.0),
                    "value_cache": torch.full((2, 4, 2), 30.0),
                    "length": 0,
                    "starts": torch.tensor([0, 1]),
                },
            ),
            edges=(
                {  # caches that are full afterwards; two texts, of which one begins with the new token
                    "query": torch.tensor([[[1.0]], [[2.0]]]),
                    "key": torch.tensor([[[0.5]], [[1.0]]]),
                    "value": torch.tensor([[[8.0]], [[3.0]]]),
                    "key_cache": torch.tensor([[[0.0], [30.0]], [[1.5], [30.0]]]),
                    "value_cache": torch.tensor([[[4.0], [30.0]], [[-2.0], [30.0]]]),
                    "length": 1,
                    "starts": torch.tensor([0, 1]),
                },
                {  # empty caches of one position
                    "query": torch.tensor([[[1.0, 0.0]]]),
                    "key": torch.tensor([[[0.5, 2.0]]]),
                    "value": torch.tensor([[[8.0]]]),
                    "key_cache": torch.tensor([[[30.0, -30.0]]]),
                    "value_cache": torch.tensor([[[30.0]]]),
                    "length": 0,
                    "starts": torch.tensor([0]),
                },
                {  # what an earlier text left behind has a score far above all others
                    "query": torch.tensor([[[1.0]]]),
                    "key": torch.tensor([[[0.5]]]),
                    "value": torch.tensor([[[8.0]]]),
                    "key_cache": torch.tensor([[[0.0], [2.0], [1000.0]]]),
                    "value_cache": torch.tensor([[[4.0], [1.0], [30.0]]]),
                    "length": 1,
                    "starts": torch.tensor([0]),
                },
            ),
            reference=cached_attention,
            properties=(
                Property(
                    "the caches contain the new keys and values from `length` on, and else what they did",
                    2,
                    both(of_output(1, equals(0)), of_output(2, equals(0))),
                ),
                Property("one new token: its output", 1, on(one_token, output)),
                Property("several new tokens: none reads a later one", 2, on(equal_lengths, output)),
                Property("one token at a time gives what all at once give", 1, token_by_token),
                Property("texts that begin in different columns", 2, on(no_padding_asked, output)),
                Property("a position before its text has an output of exactly 0", 1, on(padding_asked, output)),
                Property("inputs unchanged", 1, inputs_unchanged, only_when_right=True),
            ),
            mistakes=MISTAKES,
        ),
    ),
    hints=(
        "Three questions for every position of the cache: does the text of this row begin there or before, is it no "
        "later than the query's own position, and was anything ever written there? Which of them does one comparison "
        "settle?",
        "Clone both caches and write the new rows at positions length to length + new. Attend with the whole caches, "
        "and a mask of shape (batch, new, max_length) that shows the positions from the row's start up to the query's "
        "own. What was never written lies behind every query. A row with no key comes out of the softmax as "
        "nan.",
        "With `positions = torch.arange(max_length)`, compare `positions >= starts[:, None, None]`, and `positions <=` "
        "a column of the queries' positions, `length` to `length + new`; put them together by `&`. After the softmax, "
        "`masked_fill(~mask, 0.0)` takes the nan away.",
    ),
)
