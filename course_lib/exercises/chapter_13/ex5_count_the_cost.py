"""13.5: how many multiplications attention takes, and how many numbers a KV cache contains."""

import torch

from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import difference, equals, of_output, on
from course_lib.grading.exercise import Case, Check, Exercise, Property, Task


def layer_costs(query, key, d_model, heads):
    """Projections of the new positions, and products of each of them with all keys."""
    pairs = query * key
    return torch.tensor([4 * query * d_model**2, pairs * d_model, pairs * d_model, pairs * heads])


def draw_layer(generator: torch.Generator) -> Case:
    """Draw a layer with at least two heads, and fewer queries than keys."""
    query, more, heads, d_head = sizes(generator, 6, 5, 5, 6, least=2)
    return {"query": query, "key": query + more, "d_model": heads * d_head, "heads": heads}


def entries(some: slice) -> Check:
    """Some of the numbers are right."""

    def check(case: Case):
        reply = yield case
        return difference(case, reply.value[some], reply.expected[some])

    return check


LAYER_MISTAKES = """
keys and values of all positions => multiplications of the four projections
- projections = 4 * query * d_model * d_model
+ projections = 2 * query * d_model * d_model + 2 * key * d_model * d_model
this makes keys and values of all `key` positions anew; those of the positions before are in the cache, and only `query`
new ones are to be made

all projections of all positions => multiplications of the four projections
+ projections = 4 * key * d_model * d_model
this projects all `key` positions, four times; only the `query` new ones are projected

three projections => multiplications of the four projections
+ projections = 3 * query * d_model * d_model
this counts three projections; the outputs of the heads go through a fourth, the output projection

parameters for multiplications => multiplications of the four projections
+ projections = 4 * d_model * d_model
this is the number of weights; each of them is used once for every new position

biases counted => multiplications of the four projections
+ projections = 4 * query * (d_model * d_model + d_model)
the biases are added, not multiplied, and do not count here

multiplications and additions => multiplications of the four projections
- return torch.tensor([projections, products, products, heads * query * key])
+ return torch.tensor([2 * projections, 2 * products, 2 * products, heads * query * key])
this counts each addition as well; a multiplication with the addition that follows counts once

every head as wide as the model => multiplications of the scores and of the averages
- products = query * key * d_model
+ products = heads * query * key * d_model
this lets each head compare vectors of d_model numbers; a head has d_model / heads, and all heads together d_model

one head's products => multiplications of the scores and of the averages
+ products = query * key * (d_model // heads)
these are the products of one head; there are `heads` of them

one head alone => multiplications of the scores and of the averages
- products = query * key * d_model
- return torch.tensor([projections, products, products, heads * query * key])
+ products = query * key * (d_model // heads)
+ return torch.tensor([projections, products, products, query * key])
these are the products and the scores of one head; there are `heads` of them

hidden positions left out => multiplications of the scores and of the averages
+ shown = query * (2 * key - query + 1) // 2
+ return torch.tensor([projections, shown * d_model, shown * d_model, heads * shown])
this counts the positions that a causal mask shows; what it hides is computed all the same, and counts

new positions alone compared => multiplications of the scores and of the averages
+ products = query * query * d_model
+ return torch.tensor([projections, products, products, heads * query * query])
this lets the new positions attend to each other alone; they attend to all `key` positions

all positions ask => multiplications of the scores and of the averages
+ products = key * key * d_model
+ return torch.tensor([projections, products, products, heads * key * key])
this gives all `key` positions a query; only the new ones have one

one score for all heads => elements of all score matrices
- return torch.tensor([projections, products, products, heads * query * key])
+ return torch.tensor([projections, products, products, query * key])
this counts one score for each pair of positions; every head has one of its own

scores as wide as vectors => elements of all score matrices
+ return torch.tensor([projections, products, products, query * key * d_model])
this counts d_model numbers for each pair of positions; a score is one number for each head

not whole numbers => multiplications of the four projections
+ return torch.tensor([projections, products, products, heads * query * key]).float()
the dtype is wrong, whole numbers are asked for: `/` makes a float of two of them, `//` does not, and tensors are made
of float32 where no dtype is given

the sum of the three => multiplications of the four projections
+ return torch.tensor([projections + products + products, heads * query * key])
this is the sum of all multiplications and the number of scores; asked are four numbers

half of d_model for a head => multiplications of the scores and of the averages
- products = query * key * d_model
+ products = heads * query * key * (d_model // 2)
this takes every head to be half of `d_model` wide, which is so with two heads; it is `d_model // heads` wide, and all
heads together are `d_model` wide
"""


def numbers_kept(batch, time, d_model, heads, groups, layers):
    """A key and a value for each group, position, text and layer."""
    return torch.tensor(2 * layers * batch * time * groups * (d_model // heads))


def draw_model(generator: torch.Generator) -> Case:
    """Draw a model whose heads share keys and values, and the texts that are kept."""
    batch, time, groups, each, d_head, layers = sizes(generator, 4, 9, 4, 3, 6, 4, least=2)
    heads = groups * each
    model = {"d_model": heads * d_head, "heads": heads, "groups": groups, "layers": layers}
    return {"batch": batch, "time": time, **model}


def nothing_shared(case: Case) -> Case:
    """As many groups as heads."""
    return case | {"groups": case["heads"]}


KEPT_MISTAKES = """
keys alone => keys and values of every head (multi-head attention)
- vectors = 2 * layers * batch * groups * time
+ vectors = layers * batch * groups * time
this counts the keys alone, or the values; both are kept

queries too => keys and values of every head (multi-head attention)
+ vectors = 3 * layers * batch * groups * time
this counts three vectors for each position; a query is used once, for its own position, and not kept

groups not used => keys and values that heads share (grouped-query attention)
+ vectors = 2 * layers * batch * heads * time
`groups` makes no difference here: this keeps as many numbers as if every head had keys and values of its own; heads of
a group share theirs, and those are as wide as one head

each group as wide as the model => keys and values of every head (multi-head attention)
- return torch.tensor(vectors * (d_model // heads))
+ return torch.tensor(vectors * d_model)
this keeps d_model numbers for each group; a key of one head has d_model // heads

sharing the wrong way round => keys and values that heads share (grouped-query attention)
- vectors = 2 * layers * batch * groups * time
+ vectors = 2 * layers * batch * heads * (heads // groups) * time
this keeps more where heads share, heads // groups times as much as all heads; sharing divides

divided by the groups => keys and values of every head (multi-head attention)
- vectors = 2 * layers * batch * groups * time
- return torch.tensor(vectors * (d_model // heads))
+ return torch.tensor(2 * layers * batch * time * (d_model // groups))
this divides d_model by `groups`; there are `groups` keys for each position, each d_model // heads wide

one head => keys and values of every head (multi-head attention)
- vectors = 2 * layers * batch * groups * time
+ vectors = 2 * layers * batch * time
these are the keys and values of one head of every layer; there are `groups` of them

one layer => keys and values of every head (multi-head attention)
+ vectors = 2 * batch * groups * time
these are the keys and values of one layer; every layer keeps its own

one text => keys and values of every head (multi-head attention)
+ vectors = 2 * layers * groups * time
these are the keys and values of one text; each text of the batch has its own

pairs of positions => keys and values of every head (multi-head attention)
+ vectors = 2 * layers * batch * groups * time * time
this grows with the square of the time, as scores do; a cache keeps one key and one value for a position

bytes => keys and values of every head (multi-head attention)
- return torch.tensor(vectors * (d_model // heads))
+ return torch.tensor(4 * vectors * (d_model // heads))
these are the bytes of so many numbers of float32; asked is how many numbers there are

not a whole number => keys and values of every head (multi-head attention)
- return torch.tensor(vectors * (d_model // heads))
+ return torch.tensor(vectors * (d_model // heads)).float()
the dtype is wrong, whole numbers are asked for: `/` makes a float of two of them, `//` does not, and tensors are made
of float32 where no dtype is given
"""


def costs_of_writing(prompt, new, d_model):
    """Both sums over the calls: with a cache one new query each, without it all positions anew."""

    def cost(query, key):
        return 4 * query * d_model**2 + 2 * query * key * d_model

    first, lengths = cost(prompt, prompt), range(prompt + 1, prompt + new)
    cached, plain = sum(cost(1, time) for time in lengths), sum(cost(time, time) for time in lengths)
    return torch.tensor(first + cached), torch.tensor(first + plain)


def draw_text(generator: torch.Generator) -> Case:
    """Draw the lengths of a prompt and of the new text, and a width."""
    prompt, new, d_model = sizes(generator, 7, 6, 9, least=2)
    return {"prompt": prompt, "new": new, "d_model": d_model}


WRITING_MISTAKES = """
last token read => with a cache
- for time in range(prompt + 1, prompt + new):
+ for time in range(prompt + 1, prompt + new + 1):
this has one call too many: the last token is generated and not read again, so `new` tokens take `new` calls, the first
of which reads the prompt

last token read with the cache => with a cache
- return cached, plain
+ return cached + cost(1, prompt + new), plain
with the cache this has one call too many: the call that reads the prompt gives the first new token

last token read without the cache => without a cache
+ return cached, plain + cost(prompt + new, prompt + new)
without the cache this has one call too many: the call that reads the prompt alone gives the first new token

prompt not read => with a cache
+ return cached - cost(prompt, prompt), plain
with the cache, the prompt is missing: its keys and values have to be made before the first new token

prompt without queries => with a cache
- plain = cached.clone()
+ plain, cached = cached, cost(1, prompt)
with the cache, the first call has one query here; all positions of the prompt are new to it, so it has `prompt` queries

prompt read token by token => with a cache
+ plain, cached = cached, sum(cost(1, time) for time in range(1, prompt + 1))
with the cache, the prompt is read token by token here; the prefill is one call, in which all of its scores are
computed, those that the mask hides too

without a prompt => without a cache
- cached = cost(prompt, prompt)
+ prompt = 1
+ cached = cost(prompt, prompt)
`prompt` was not used: this counts a text that begins with one token

own position not read => with a cache
- cached += cost(1, time)
+ cached += cost(1, time - 1)
with the cache, each new position attends to the positions before it alone here; it attends to itself too, one key more

keys projected anew => with a cache
+ cached += cost(1, time) + 2 * (time - 1) * d_model * d_model
with the cache, keys and values of all positions are made anew at each call; they are kept, and only the new position is
projected

last position asks alone => without a cache
- return cached, plain
+ return cached, sum(cost(1, time) for time in range(prompt, prompt + new))
without the cache, each call has one query here; nothing was kept, so every position is projected and has a query again
(the layer above needs its output)

everything projected, last position asks => without a cache
+ later = [(layer_costs(time, time, d_model, 1)[0], time) for time in range(prompt + 1, prompt + new)]
+ return cached, cost(prompt, prompt) + sum(each + 2 * time * d_model for each, time in later)
without the cache, all positions are projected and only the last one has a query here; nothing was kept, so each
position needs its output again in every call (the layer above reads it)

one call at full length => without a cache
- plain += cost(time, time)
+ plain = cost(time, time)
without the cache, this is the cost of the last call alone; every call before it reads a text as well

every call at full length => without a cache
- return cached, plain
+ return cached, new * cost(prompt + new - 1, prompt + new - 1)
without the cache, every call is counted as though the text were finished; it grows by one token a call

half of the scores => without a cache
- return layer_costs(query, key, d_model, 1)[:3].sum()
+ return torch.tensor(4 * query * d_model * d_model + query * (2 * key - query + 1) * d_model)
the mask hides half of the scores, and they are computed all the same: count every query with every key

projections left out => with a cache
+ return layer_costs(query, key, d_model, 1)[1:3].sum()
these are the scores and the averages; the projections, 4 * d_model * d_model for a position, belong to it

scores left out => with a cache
+ return layer_costs(query, key, d_model, 1)[0]
these are the projections; scores and averages, d_model each for a query and a key, belong to it

averages left out => with a cache
+ return layer_costs(query, key, d_model, 1)[:2].sum()
the averages of the values are missing: they take as many multiplications as the scores

the two exchanged => with a cache
- return cached, plain
+ return plain, cached
this returns (without, with); the cost with a cache comes first

not whole numbers => with a cache
+ return cached.float(), plain.float()
the dtype is wrong, whole numbers are asked for: `/` makes a float of two of them, `//` does not, and tensors are made
of float32 where no dtype is given

the keys of the prompt alone => with a cache
- cached += cost(1, time)
+ cached += cost(1, prompt)
with the cache, each new position attends to the prompt alone here; the cache grows by one position at each call, and
all of them are read

everything projected anew => with a cache
+ cached += layer_costs(time, time, d_model, 1)[0] + layer_costs(1, time, d_model, 1)[1:3].sum()
with the cache, the projections of all positions are computed at every call here; only the new position is projected,
and the others are kept
"""

EXERCISE = Exercise(
    title="Count the cost",
    difficulty=2,
    minutes=35,
    tasks=(
        Task(
            function="layer_costs",
            parameters=("query", "key", "d_model", "heads"),
            returns="multiplications of projections, of scores, of averages, and elements of the scores, integers, "
            "shape (4,)",
            cases=draw_layer,
            examples=(
                {"query": 3, "key": 3, "d_model": 4, "heads": 2},
                {"query": 1, "key": 3, "d_model": 4, "heads": 2},
                {"query": 1024, "key": 1024, "d_model": 768, "heads": 12},
            ),
            edges=(
                {"query": 1, "key": 1, "d_model": 1, "heads": 1},  # everything one
                {"query": 2, "key": 3, "d_model": 4, "heads": 4},  # heads of width one
                {"query": 100_000, "key": 100_000, "d_model": 12_288, "heads": 96},  # numbers beyond 32 bits
            ),
            reference=layer_costs,
            properties=(
                Property("multiplications of the four projections", 1, entries(slice(1))),
                Property("multiplications of the scores and of the averages", 1, entries(slice(1, 3))),
                Property("elements of all score matrices", 1, entries(slice(3, 4))),
            ),
            mistakes=LAYER_MISTAKES,
        ),
        Task(
            function="numbers_kept",
            parameters=("batch", "time", "d_model", "heads", "groups", "layers"),
            returns="how many numbers the KV cache of the whole model contains, an integer, shape ()",
            cases=draw_model,
            examples=(
                {"batch": 1, "time": 3, "d_model": 4, "heads": 2, "groups": 1, "layers": 2},
                {"batch": 1, "time": 1024, "d_model": 768, "heads": 12, "groups": 12, "layers": 12},
            ),
            edges=(
                {"batch": 1, "time": 1, "d_model": 1, "heads": 1, "groups": 1, "layers": 1},  # everything one
                {
                    "batch": 2,
                    "time": 3,
                    "d_model": 8,
                    "heads": 4,
                    "groups": 1,
                    "layers": 1,
                },  # all heads share one group
                {
                    "batch": 64,
                    "time": 100_000,
                    "d_model": 12_288,
                    "heads": 96,
                    "groups": 96,
                    "layers": 96,
                },  # beyond 32 bits
            ),
            reference=numbers_kept,
            properties=(
                Property("keys and values of every head (multi-head attention)", 1, on(nothing_shared, equals())),
                Property("keys and values that heads share (grouped-query attention)", 1, equals()),
            ),
            mistakes=KEPT_MISTAKES,
        ),
        Task(
            function="costs_of_writing",
            parameters=("prompt", "new", "d_model"),
            returns="the multiplications of one layer with a cache and without one, two integers, each of shape ()",
            outputs=("cached", "plain"),
            cases=draw_text,
            examples=(
                {"prompt": 2, "new": 3, "d_model": 1},
                {"prompt": 2, "new": 1, "d_model": 3},
                {"prompt": 1, "new": 1024, "d_model": 768},
            ),
            edges=(
                {"prompt": 1, "new": 1, "d_model": 1},  # everything one
                {"prompt": 1, "new": 2, "d_model": 2},  # one later call
                {"prompt": 1_000, "new": 2, "d_model": 12_288},  # numbers beyond 32 bits
            ),
            reference=costs_of_writing,
            properties=(
                Property("with a cache", 2, of_output(0, equals())),
                Property("without a cache", 2, of_output(1, equals())),
            ),
            mistakes=WRITING_MISTAKES,
        ),
    ),
    hints=(
        "For each product of two matrices: how many numbers come out, and how many multiplications does one of them "
        "take? For the text: which calls are made, and what does each of them read?",
        "Rows (query, d_model) times a square matrix take query * d_model * d_model. A head's scores take d_head for "
        "each of query * key numbers, and the heads' widths add up to d_model; the averages take as many. A cache "
        "contains two vectors of d_head for each layer, text, group and position. There are as many calls as new "
        "tokens; add up what each of them costs.",
        "One call: `4 * query * d_model**2 + 2 * query * key * d_model`. With the cache the first call has the prompt "
        "for query and for key, then `query` is 1 and `key` runs from prompt + 1 up to prompt + new - 1; without it "
        "both run from prompt up to prompt + new - 1. `torch.tensor(...)` makes a tensor of an integer.",
    ),
)
