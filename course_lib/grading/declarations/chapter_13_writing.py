"""Exercise 13.5, counting costs: its last part, a text written token by token, and the exercise as a whole."""

from collections.abc import Callable, Iterable

import torch

from course_lib.grading.declarations.chapter_13_counts import KEPT, LAYER
from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import equals, of_output

Calls = Callable[[int, int], Iterable[tuple[int, int]]]  # of prompt and new: for each call, queries and keys


def one_call(query, key, d):
    """Projections, scores and averages of one call."""
    return 4 * query * d * d + 2 * query * key * d


def with_cache(prompt, new):
    """The prompt at once, then one new place at a time."""
    return [(prompt, prompt)] + [(1, prompt + step) for step in range(1, new)]


def without_cache(prompt, new):
    """All that there is, at every call."""
    return [(prompt + step, prompt + step) for step in range(new)]


def by(
    cached: Calls = with_cache, plain: Calls = without_cache, cost: Callable[..., int] = one_call
) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """Return the sums of cost(query, key, d_model) over the calls with a cache, and over those without."""

    def answer(prompt, new, d_model):
        return tuple(
            torch.tensor(sum(cost(query, key, d_model) for query, key in calls(prompt, new)))
            for calls in (cached, plain)
        )

    return answer


costs_of_writing = by()


def draw_text(generator: torch.Generator) -> Case:
    """Draw a prompt, how many tokens are written, and a width."""
    prompt, new, d_model = sizes(generator, 7, 6, 9, least=2)
    return {"prompt": prompt, "new": new, "d_model": d_model}


CACHED = "with a cache"
PLAIN = "without a cache"

WRITING = Task(
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
    reference=costs_of_writing,
    properties=(
        Property(CACHED, 2, of_output(0, equals(costs_of_writing))),
        Property(PLAIN, 2, of_output(1, equals(costs_of_writing))),
    ),
    misconceptions=(
        Misconception(
            "last token read",
            "this has one call too many: the last token is written and not read again, so `new` tokens take `new` "
            "calls, the first of which reads the prompt",
            by(
                lambda prompt, new: with_cache(prompt, new + 1),
                lambda prompt, new: without_cache(prompt, new + 1),
            ),
            breaks=CACHED,
        ),
        Misconception(
            "last token read with the cache",
            "with the cache this has one call too many: the call that reads the prompt gives the first new token",
            by(cached=lambda prompt, new: with_cache(prompt, new + 1)),
            breaks=CACHED,
        ),
        Misconception(
            "last token read without the cache",
            "without the cache this has one call too many: the call that reads the prompt alone gives the first new "
            "token",
            by(plain=lambda prompt, new: without_cache(prompt, new + 1)),
            breaks=PLAIN,
        ),
        Misconception(
            "prompt not read",
            "with the cache, the prompt is missing: its keys and values have to be made before the first new token",
            by(cached=lambda prompt, new: with_cache(prompt, new)[1:]),
            breaks=CACHED,
        ),
        Misconception(
            "prompt without queries",
            "with the cache, the first call has one query here; all places of the prompt are new to it, so it has "
            "`prompt` queries",
            by(cached=lambda prompt, new: [(1, prompt + step) for step in range(new)]),
            breaks=CACHED,
        ),
        Misconception(
            "prompt read token by token",
            "with the cache, the prompt is taken token by token here; it is read in one call, in which all of its "
            "scores are computed, those that the mask hides too",
            by(cached=lambda prompt, new: [(1, place) for place in range(1, prompt + 1)] + with_cache(prompt, new)[1:]),
            breaks=CACHED,
        ),
        Misconception(
            "without a prompt",
            "`prompt` was not used: this counts a text that begins with one token",
            by(lambda prompt, new: with_cache(1, new), lambda prompt, new: without_cache(1, new)),
            breaks=PLAIN,
        ),
        Misconception(
            "own place not read",
            "with the cache, each new place reads the places before it alone; it reads itself too, one key more",
            by(cached=lambda prompt, new: [(prompt, prompt)] + [(1, prompt + step - 1) for step in range(1, new)]),
            breaks=CACHED,
        ),
        Misconception(
            "keys projected anew",
            "with the cache, keys and values of all places are made anew at each call; they are kept, and only the "
            "new place is projected",
            lambda prompt, new, d_model: by(
                cost=lambda query, key, d: 2 * query * d * d + 2 * key * d * d + 2 * query * key * d
            )(prompt, new, d_model),
            breaks=CACHED,
        ),
        Misconception(
            "last place asks alone",
            "without the cache, one place asks at each call here; nothing was kept, so every place is projected and "
            "asks again (the layer above needs what it finds)",
            by(plain=lambda prompt, new: [(1, prompt + step) for step in range(new)]),
            breaks=PLAIN,
        ),
        Misconception(
            "one call at full length",
            "without the cache, this is the cost of the last call alone; every call before it reads a text as well",
            by(plain=lambda prompt, new: without_cache(prompt, new)[-1:]),
            breaks=PLAIN,
        ),
        Misconception(
            "every call at full length",
            "without the cache, every call is counted as though the text were finished; it grows by one token a call",
            by(plain=lambda prompt, new: without_cache(prompt, new)[-1:] * new),
            breaks=PLAIN,
        ),
        Misconception(
            "half of the scores",
            "the mask hides half of the scores, and they are computed all the same: count every query with every key",
            by(cost=lambda query, key, d: 4 * query * d * d + query * (2 * key - query + 1) * d),
            breaks=PLAIN,
        ),
        Misconception(
            "projections left out",
            "these are the scores and the averages; the projections, 4 * d_model * d_model for a place, belong to it",
            by(cost=lambda query, key, d: 2 * query * key * d),
            breaks=CACHED,
        ),
        Misconception(
            "scores left out",
            "these are the projections; scores and averages, d_model each for a query and a key, belong to it",
            by(cost=lambda query, key, d: 4 * query * d * d),
            breaks=CACHED,
        ),
        Misconception(
            "averages left out",
            "the averages of the values are missing: they take as many multiplications as the scores",
            by(cost=lambda query, key, d: 4 * query * d * d + query * key * d),
            breaks=CACHED,
        ),
        Misconception(
            "the two exchanged",
            "this returns (without, with); the cost with a cache comes first",
            by(without_cache, with_cache),
            breaks=CACHED,
        ),
        Misconception(
            "not whole numbers",
            "the kind is wrong: `/` makes a float of two whole numbers, `//` does not",
            lambda **named: tuple(each.float() for each in costs_of_writing(**named)),
            breaks=CACHED,
        ),
    ),
)

COSTS = Exercise(
    id="13.5",
    title="Count the cost",
    difficulty=2,
    minutes=35,
    tasks=(LAYER, KEPT, WRITING),
    hints=(
        "For each product of two matrices: how many numbers come out, and how many multiplications does one of them "
        "take? For the text: which calls are made, and what does each of them read?",
        "Rows (query, d_model) times a square matrix take query * d_model * d_model. A head's scores take d_head for "
        "each of query * key numbers, and the heads' widths add up to d_model; the averages take as many. A cache "
        "holds two vectors of d_head for each layer, text, group and place. To write, there are as many calls as new "
        "tokens; add up what each of them costs.",
        "One call: `4 * query * d_model**2 + 2 * query * key * d_model`. With the cache the first call has the prompt "
        "for query and for key, then `query` is 1 and `key` runs from prompt + 1 up to prompt + new - 1; without it "
        "both run from prompt up to prompt + new - 1. `torch.tensor(...)` makes a tensor of an integer.",
    ),
)
