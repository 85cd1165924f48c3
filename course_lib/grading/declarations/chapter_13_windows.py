"""Exercise 13.4, a sliding window: the mask, and how far several layers of windows reach."""

from collections.abc import Callable

import torch

from course_lib.grading.declarations.drawing import sizes
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import equals, on


def steps_back(query, key):
    """How far each key stands before each query; the queries are the last of the keys."""
    return torch.arange(key - query, key)[:, None] - torch.arange(key)


def where(seen: Callable) -> Callable[..., torch.Tensor]:
    """Return the mask that is True where seen(steps, window), a function of how far a key stands before a query."""
    return lambda query, key, window: seen(steps_back(query, key), window)


window_mask = where(lambda steps, window: (steps >= 0) & (steps < window))


def from_the_front(query, key, window):
    """Queries as though they were the first of the keys."""
    steps = torch.arange(query)[:, None] - torch.arange(key)
    return (steps >= 0) & (steps < window)


def draw_window(generator: torch.Generator) -> Case:
    """Draw numbers of queries and keys, and a window narrower than these."""
    query, more = sizes(generator, 5, 3, least=2)
    key = query + more
    return {"query": query, "key": key, "window": sizes(generator, min(query, key - 2) - 1)[0] + 1}


def all_of_them(case: Case) -> Case:
    """As many queries as keys."""
    return case | {"query": case["key"]}


def wide(case: Case) -> Case:
    """A window wider than the text."""
    return case | {"window": case["key"] + 2}


def narrow(case: Case) -> Case:
    """A window of one place."""
    return case | {"window": 1}


SQUARE = "as many queries as keys"
FEWER = "fewer queries than keys: the queries are the last"
WIDE = "a window wider than the text hides only the future"

MASK = Task(
    function="window_mask",
    parameters=("query", "key", "window"),
    returns="True where a query may attend to a key, shape (query, key)",
    cases=draw_window,
    examples=({"query": 4, "key": 4, "window": 2}, {"query": 2, "key": 5, "window": 3}),
    reference=window_mask,
    properties=(
        Property(SQUARE, 1, on(all_of_them, equals(window_mask))),
        Property(FEWER, 1, equals(window_mask)),
        Property(WIDE, 1, on(wide, equals(window_mask))),
    ),
    misconceptions=(
        Misconception(
            "window not used",
            "`window` was not used: this hides the future, and nothing of the past",
            where(lambda steps, window: steps >= 0),
            breaks=SQUARE,
        ),
        Misconception(
            "future open",
            "this hides what is too long ago and leaves the future open: a key after the query is `window` steps "
            "before it never, so a second condition is needed",
            where(lambda steps, window: steps < window),
            breaks=WIDE,
        ),
        Misconception(
            "window on both sides",
            "this window reaches as far into the future as into the past; a text that is being written has no future",
            where(lambda steps, window: steps.abs() < window),
            breaks=WIDE,
        ),
        Misconception(
            "one place too many",
            "each row sees window + 1 places: the query's own place is one of the window",
            where(lambda steps, window: (steps >= 0) & (steps <= window)),
            breaks=SQUARE,
        ),
        Misconception(
            "one place too few",
            "each row sees window - 1 places: the query's own place and window - 1 before it",
            where(lambda steps, window: (steps >= 0) & (steps < window - 1)),
            breaks=SQUARE,
        ),
        Misconception(
            "own place hidden",
            "the window ends before the query's own place; a place may attend to itself",
            where(lambda steps, window: (steps > 0) & (steps <= window)),
            breaks=SQUARE,
        ),
        Misconception(
            "queries counted from the front",
            "query i was taken for place i; the queries are the last of the places, so query i stands at place key - "
            "query + i",
            from_the_front,
            breaks=FEWER,
        ),
        Misconception(
            "window as a distance that is hidden",
            "this shows what lies outside of the window and hides what lies in it",
            where(lambda steps, window: (steps >= 0) & (steps >= window)),
            breaks=SQUARE,
        ),
        Misconception(
            "True where hidden",
            "the mask is turned round: True means that a key may be attended to",
            where(lambda steps, window: ~((steps >= 0) & (steps < window))),
            breaks=SQUARE,
        ),
        Misconception(
            "blocks in place of a window",
            "the text is cut into blocks of `window` places here, each of which sees itself alone; a window moves "
            "along with the query",
            lambda query, key, window: (
                (steps_back(query, key) >= 0)
                & (torch.arange(key - query, key)[:, None] // window == torch.arange(key) // window)
            ),
            breaks=SQUARE,
        ),
        Misconception(
            "rows for keys",
            "queries and keys are exchanged: a row belongs to a query, a column to a key",
            lambda query, key, window: window_mask(query, key, window).T,
            breaks=SQUARE,
        ),
        Misconception(
            "numbers for truth values",
            "these are numbers, 0 and 1; a mask is boolean, as a comparison makes it (`.bool()`)",
            lambda query, key, window: window_mask(query, key, window).float(),
            breaks=SQUARE,
        ),
    ),
)

# ---------------------------------------------------------------- several layers


def reaching(places: Callable[[torch.Tensor], int]) -> Callable[..., torch.Tensor]:
    """Return the answer that lets each place see itself and places(windows) before it."""

    def answer(windows, time):
        steps = steps_back(time, time)
        return (steps >= 0) & (steps <= int(places(windows)))

    return answer


reach_through_layers = reaching(lambda windows: (windows - 1).sum())


def paths(windows, time):
    """On how many ways each place is reached."""
    ways = torch.eye(time)
    for window in windows.tolist():
        ways = window_mask(time, time, window).float() @ ways
    return ways


def draw_layers(generator: torch.Generator) -> Case:
    """Draw windows of two to four layers, and a time that is longer than they reach."""
    (layers,) = sizes(generator, 4, least=2)
    windows = torch.tensor(sizes(generator, *[4] * layers))
    windows[0], windows[-1] = windows[0] + 1, windows[-1] + 2
    (more,) = sizes(generator, 3)
    return {"windows": windows, "time": int(windows.sum()) + 1 + more}


def one_layer(case: Case) -> Case:
    """The first layer alone."""
    return case | {"windows": case["windows"][:1]}


def all_alike(case: Case) -> Case:
    """Every layer with the window of the last."""
    return case | {"windows": case["windows"][-1:].expand_as(case["windows"]).clone()}


ONE = "one layer reaches as far as its window"
ALIKE = "several layers with one window"
SEVERAL = "each layer with a window of its own"

REACH = Task(
    function="reach_through_layers",
    parameters=("windows", "time"),
    returns="True where the output of a place (row) can depend on the input of another (column), shape (time, time)",
    cases=draw_layers,
    examples=(
        {"windows": torch.tensor([2, 2]), "time": 4},
        {"windows": torch.tensor([3, 1, 2]), "time": 5},
    ),
    reference=reach_through_layers,
    properties=(
        Property(ONE, 1, on(one_layer, equals(reach_through_layers))),
        Property(ALIKE, 1, on(all_alike, equals(reach_through_layers))),
        Property(SEVERAL, 1, equals(reach_through_layers)),
    ),
    misconceptions=(
        Misconception(
            "windows added up",
            "this lets each layer reach `window` places further back; a window holds the place itself, so it reaches "
            "window - 1 further",
            reaching(lambda windows: windows.sum()),
            breaks=ONE,
        ),
        Misconception(
            "windows added up, less one",
            "this adds the windows up and takes one off in the end; each layer's window holds the place itself, so one "
            "is to be taken off for every layer",
            reaching(lambda windows: windows.sum() - 1),
            breaks=ALIKE,
        ),
        Misconception(
            "reach taken for a window",
            "this is one place short: the layers reach `(windows - 1).sum()` places back together, and a window that "
            "reaches so far holds one place more, its own",
            reaching(lambda windows: (windows - 1).sum() - 1),
            breaks=ONE,
        ),
        Misconception(
            "widest window",
            "this reaches as far as the widest window; what one layer has gathered the next one carries further",
            reaching(lambda windows: windows.max() - 1),
            breaks=ALIKE,
        ),
        Misconception(
            "narrowest window",
            "this is what every single layer can see; a place further back is seen by way of a place between, in two "
            "layers",
            reaching(lambda windows: windows.min() - 1),
            breaks=ALIKE,
        ),
        Misconception(
            "last layer alone",
            "this is what the last layer reads; what it reads was made by the layers below, of places further back",
            reaching(lambda windows: windows[-1] - 1),
            breaks=ALIKE,
        ),
        Misconception(
            "first layer alone",
            "this is what the first layer reads; every later one carries it further",
            reaching(lambda windows: windows[0] - 1),
            breaks=ALIKE,
        ),
        Misconception(
            "first window for all layers",
            "this takes the first window for that of all layers: each has its own",
            reaching(lambda windows: len(windows) * (windows[0] - 1)),
            breaks=SEVERAL,
        ),
        Misconception(
            "windows multiplied",
            "this multiplies the windows; by each layer the reach grows by a number of places, it is not multiplied",
            reaching(lambda windows: windows.prod() - 1),
            breaks=ALIKE,
        ),
        Misconception(
            "without any window",
            "this is the whole past: with windows, a place further back than they reach together has no influence",
            reaching(lambda windows: 10**6),
            breaks=ONE,
        ),
        Misconception(
            "future too",
            "this reaches into the future as well: each window looks back, and so do all of them together",
            lambda windows, time: steps_back(time, time).abs() <= int((windows - 1).sum()),
            breaks=ONE,
        ),
        Misconception(
            "turned round",
            "rows and columns are exchanged: a row is the place whose output is asked about, a column the place whose "
            "input may have an influence",
            lambda windows, time: reach_through_layers(windows, time).T,
            breaks=ONE,
        ),
        Misconception(
            "number of paths",
            "this counts by how many paths a place is reached; asked is whether it is reached at all: compare with 0",
            paths,
            breaks=ONE,
        ),
    ),
)

WINDOWS = Exercise(
    id="13.4",
    title="A sliding window",
    difficulty=2,
    minutes=25,
    tasks=(MASK, REACH),
    hints=(
        "At which place does query i stand, if the queries are the last of the places? And how many places back does "
        "a window of one reach?",
        "Make a column of the queries' places and a row of the keys' places; their difference says how many steps "
        "back a key stands. It has to lie between 0 and window - 1. Through layers the steps add up: what place i "
        "reads of place j, place j has read of places before it.",
        "`torch.arange(key - query, key)` holds the places of the queries; give it a second axis with `[:, None]`, "
        "and put two comparisons together by `&`. The layers reach `(windows - 1).sum()` steps back together.",
    ),
)
