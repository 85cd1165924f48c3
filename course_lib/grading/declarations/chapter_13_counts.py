"""First parts of exercise 13.5: what one layer costs, and what a cache keeps."""

from collections.abc import Callable

import torch

from course_lib.grading.call import Call
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Misconception, Property, Task
from course_lib.grading.judges import Judge, answer_like, difference, equals, on
from course_lib.grading.wording import describe_case


def counted(
    projections: Callable = lambda query, key, d: 4 * query * d * d,
    products: Callable = lambda query, key, d, heads: query * key * d,
    numbers: Callable = lambda query, key, heads: heads * query * key,
) -> Callable[..., torch.Tensor]:
    """Return counts by these formulas."""

    def answer(query, key, d_model, heads):
        each = products(query, key, d_model, heads)
        return torch.tensor([projections(query, key, d_model), each, each, numbers(query, key, heads)])

    return answer


layer_costs = counted()


def draw_layer(generator: torch.Generator) -> Case:
    """Draw a layer with at least two heads, and fewer queries than keys."""
    query, more, heads, d_head = sizes(generator, 6, 5, 5, 6, least=2)
    return {"query": query, "key": query + more, "d_model": heads * d_head, "heads": heads}


def entries(places: slice) -> Judge:
    """The judgement on some of the numbers."""

    def judge(call: Call, case: Case) -> str | None:
        answer, expected = answer_like(layer_costs, call, case)
        found = difference(answer[places], expected[places])
        return f"{describe_case(case)}: {found}" if found else None

    return judge


PROJECTIONS = "multiplications of the four projections"
PRODUCTS = "multiplications of the scores and of the averages"
NUMBERS = "numbers in all score matrices"

LAYER = Task(
    function="layer_costs",
    parameters=("query", "key", "d_model", "heads"),
    returns="multiplications of projections, of scores, of averages, and numbers of scores, integers, shape (4,)",
    cases=draw_layer,
    examples=(
        {"query": 3, "key": 3, "d_model": 4, "heads": 2},
        {"query": 1, "key": 3, "d_model": 4, "heads": 2},
        {"query": 1024, "key": 1024, "d_model": 768, "heads": 12},
    ),
    reference=layer_costs,
    properties=(
        Property(PROJECTIONS, 1, entries(slice(1))),
        Property(PRODUCTS, 1, entries(slice(1, 3))),
        Property(NUMBERS, 1, entries(slice(3, 4))),
    ),
    misconceptions=(
        Misconception(
            "keys and values of all places",
            "this makes keys and values of all `key` places anew; those of the places before are in the cache, and "
            "only `query` new ones are to be made",
            counted(projections=lambda query, key, d: 2 * query * d * d + 2 * key * d * d),
            breaks=PROJECTIONS,
        ),
        Misconception(
            "all projections of all places",
            "this projects all `key` places, four times; only the `query` new ones are projected",
            counted(projections=lambda query, key, d: 4 * key * d * d),
            breaks=PROJECTIONS,
        ),
        Misconception(
            "three projections",
            "this counts three projections; what the heads found goes through a fourth, the output's",
            counted(projections=lambda query, key, d: 3 * query * d * d),
            breaks=PROJECTIONS,
        ),
        Misconception(
            "parameters for multiplications",
            "this is the number of weights; each of them is used once for every new place",
            counted(projections=lambda query, key, d: 4 * d * d),
            breaks=PROJECTIONS,
        ),
        Misconception(
            "biases counted",
            "the biases are added, not multiplied, and do not count here",
            counted(projections=lambda query, key, d: 4 * query * (d * d + d)),
            breaks=PROJECTIONS,
        ),
        Misconception(
            "multiplications and additions",
            "this counts each addition as well; a multiplication with the addition that follows counts once",
            lambda query, key, d_model, heads: layer_costs(query, key, d_model, heads) * torch.tensor([2, 2, 2, 1]),
            breaks=PROJECTIONS,
        ),
        Misconception(
            "every head as wide as the model",
            "this lets each head compare vectors of d_model numbers; a head has d_model / heads, and all heads "
            "together d_model",
            counted(products=lambda query, key, d, heads: heads * query * key * d),
            breaks=PRODUCTS,
        ),
        Misconception(
            "one head's products",
            "these are the products of one head; there are `heads` of them",
            counted(products=lambda query, key, d, heads: query * key * (d // heads)),
            breaks=PRODUCTS,
        ),
        Misconception(
            "one head alone",
            "these are the products and the scores of one head; there are `heads` of them",
            counted(
                products=lambda query, key, d, heads: query * key * (d // heads),
                numbers=lambda query, key, heads: query * key,
            ),
            breaks=PRODUCTS,
        ),
        Misconception(
            "hidden places left out",
            "this counts the places that a causal mask shows; what it hides is computed all the same, and counts",
            counted(
                products=lambda query, key, d, heads: query * (2 * key - query + 1) // 2 * d,
                numbers=lambda query, key, heads: heads * (query * (2 * key - query + 1) // 2),
            ),
            breaks=PRODUCTS,
        ),
        Misconception(
            "new places alone compared",
            "this lets the new places read each other alone; they read all `key` places",
            counted(
                products=lambda query, key, d, heads: query * query * d,
                numbers=lambda query, key, heads: heads * query * query,
            ),
            breaks=PRODUCTS,
        ),
        Misconception(
            "all places ask",
            "this lets all `key` places ask; only the new ones have a query",
            counted(
                products=lambda query, key, d, heads: key * key * d,
                numbers=lambda query, key, heads: heads * key * key,
            ),
            breaks=PRODUCTS,
        ),
        Misconception(
            "one score for all heads",
            "this counts one score for each pair of places; every head has one of its own",
            counted(numbers=lambda query, key, heads: query * key),
            breaks=NUMBERS,
        ),
        Misconception(
            "scores as wide as vectors",
            "this counts d_model numbers for each pair of places; a score is one number for each head",
            lambda query, key, d_model, heads: counted(numbers=lambda query, key, heads: query * key * d_model)(
                query, key, d_model, heads
            ),
            breaks=NUMBERS,
        ),
        Misconception(
            "not whole numbers",
            "the kind is wrong: `/` makes a float of two whole numbers, `//` does not",
            lambda **named: layer_costs(**named).float(),
            breaks=PROJECTIONS,
        ),
        Misconception(
            "the sum of the three",
            "this is the sum of all multiplications and the number of scores; asked are four numbers",
            lambda **named: torch.stack([(each := layer_costs(**named))[:3].sum(), each[3]]),
            breaks=PROJECTIONS,
        ),
    ),
)

# ---------------------------------------------------------------- the cache


def kept_by(
    vectors: int = 2,
    width: Callable[[int, int, int], int] = lambda d_model, heads, groups: groups * (d_model // heads),
    places: Callable[[int, int, int], int] = lambda batch, time, layers: layers * batch * time,
) -> Callable[..., torch.Tensor]:
    """Return the number of vectors at each place, times their width, times the number of places."""

    def answer(batch, time, d_model, heads, groups, layers):
        return torch.tensor(vectors * width(d_model, heads, groups) * places(batch, time, layers))

    return answer


numbers_kept = kept_by()


def draw_model(generator: torch.Generator) -> Case:
    """Draw a model whose heads share keys and values, and the texts that are kept."""
    batch, time, groups, each, d_head, layers = sizes(generator, 4, 9, 4, 3, 6, 4, least=2)
    heads = groups * each
    return {
        "batch": batch,
        "time": time,
        "d_model": heads * d_head,
        "heads": heads,
        "groups": groups,
        "layers": layers,
    }


def nothing_shared(case: Case) -> Case:
    """As many groups as heads."""
    return case | {"groups": case["heads"]}


ALL_HEADS = "keys and values of every head"
SHARED = "keys and values that heads share"

KEPT = Task(
    function="numbers_kept",
    parameters=("batch", "time", "d_model", "heads", "groups", "layers"),
    returns="how many numbers the cache of the whole model holds, an integer, shape ()",
    cases=draw_model,
    examples=(
        {"batch": 1, "time": 3, "d_model": 4, "heads": 2, "groups": 1, "layers": 2},
        {"batch": 1, "time": 1024, "d_model": 768, "heads": 12, "groups": 12, "layers": 12},
    ),
    reference=numbers_kept,
    properties=(
        Property(ALL_HEADS, 1, on(nothing_shared, equals(numbers_kept))),
        Property(SHARED, 1, equals(numbers_kept)),
    ),
    misconceptions=(
        Misconception(
            "keys alone",
            "this counts the keys alone, or the values; both are kept",
            kept_by(vectors=1),
            breaks=ALL_HEADS,
        ),
        Misconception(
            "queries too",
            "this counts three vectors for each place; a query is used once, when its place is read, and not kept",
            kept_by(vectors=3),
            breaks=ALL_HEADS,
        ),
        Misconception(
            "groups not used",
            "`groups` was not used: this keeps keys and values for every head, and heads of a group share theirs",
            kept_by(width=lambda d_model, heads, groups: d_model),
            breaks=SHARED,
        ),
        Misconception(
            "each group as wide as the model",
            "this keeps d_model numbers for each group; a key of one head has d_model // heads",
            kept_by(width=lambda d_model, heads, groups: groups * d_model),
            breaks=ALL_HEADS,
        ),
        Misconception(
            "sharing the wrong way round",
            "this keeps more where heads share, heads // groups times as much as all heads; sharing divides",
            kept_by(width=lambda d_model, heads, groups: d_model * heads // groups),
            breaks=SHARED,
        ),
        Misconception(
            "divided by the groups",
            "this divides d_model by `groups`; there are `groups` keys for each place, each d_model // heads wide",
            kept_by(width=lambda d_model, heads, groups: d_model // groups),
            breaks=ALL_HEADS,
        ),
        Misconception(
            "one head",
            "these are the keys and values of one head of every layer; there are `groups` of them",
            kept_by(width=lambda d_model, heads, groups: d_model // heads),
            breaks=ALL_HEADS,
        ),
        Misconception(
            "one layer",
            "these are the keys and values of one layer; every layer keeps its own",
            kept_by(places=lambda batch, time, layers: batch * time),
            breaks=ALL_HEADS,
        ),
        Misconception(
            "one text",
            "these are the keys and values of one text; each text of the batch has its own",
            kept_by(places=lambda batch, time, layers: layers * time),
            breaks=ALL_HEADS,
        ),
        Misconception(
            "pairs of places",
            "this grows with the square of the time, as scores do; a cache keeps one key and one value for a place",
            kept_by(places=lambda batch, time, layers: layers * batch * time * time),
            breaks=ALL_HEADS,
        ),
        Misconception(
            "not a whole number",
            "the kind is wrong: `/` makes a float of two whole numbers, `//` does not",
            lambda **named: numbers_kept(**named).float(),
            breaks=ALL_HEADS,
        ),
    ),
)
