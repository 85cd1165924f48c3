"""13.4: sliding-window attention, and the receptive field of several layers."""

import torch

from course_lib.exercises.drawing import sizes
from course_lib.grading.checks import equals, on
from course_lib.grading.exercise import Case, Exercise, Property, Task


def window_mask(query, key, window):
    """True from the query's own position, the last ones of the keys, to window - 1 before it."""
    ones = torch.ones(query, key, dtype=torch.bool)
    return ones.tril(key - query) & ones.triu(key - query - window + 1)


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


MASK_MISTAKES = """
window not used => as many queries as keys
- return (back >= 0) & (back < window)
+ return back >= 0
`window` was not used: this hides the future, and nothing of the past

future open => a window wider than the text hides only the future
+ return back < window
this hides what is too long ago and leaves the future open: a key after the query is `window` steps before it never, so
a second condition is needed

window on both sides => a window wider than the text hides only the future
+ return back.abs() < window
this window reaches as far into the future as into the past; a text that is being generated has no future

one position too many => as many queries as keys
+ return (back >= 0) & (back <= window)
each query attends to window + 1 positions: the query's own position is one of the window

one position too few => as many queries as keys
+ return (back >= 0) & (back < window - 1)
each query attends to window - 1 positions: the query's own position and window - 1 before it

own position hidden => as many queries as keys
+ return (back > 0) & (back <= window)
the window ends before the query's own position; a position may attend to itself

own position missing => as many queries as keys
+ return (back > 0) & (back < window)
a query attends to the window - 1 positions before it and not to its own, which is one of the window

window cut to the queries => fewer queries than keys: the queries are the last
+ return (back >= 0) & (back < min(window, query))
a window wider than the number of queries is cut to that number here; there are more keys than queries, and the window
counts keys

queries counted from the front => fewer queries than keys: the queries are the last
- own = rearrange(torch.arange(key - query, key), "query -> query 1")
+ own = rearrange(torch.arange(query), "query -> query 1")
query i was taken for position i; the queries are the last of the positions, so query i stands at position key - query +
i

window as a distance that is hidden => as many queries as keys
- return (back >= 0) & (back < window)
+ return (back >= 0) & (back >= window)
this shows what lies outside of the window and hides what lies in it

True where hidden => as many queries as keys
+ return ~((back >= 0) & (back < window))
the mask is turned round: True means that a key may be attended to

blocks in place of a window => as many queries as keys
+ return (back >= 0) & (own // window == torch.arange(key) // window)
the text is cut into blocks of `window` positions here, each of which sees itself alone; a window moves along with the
query

rows for keys => as many queries as keys
+ return ((back >= 0) & (back < window)).T
queries and keys are exchanged: a row belongs to a query, a column to a key

numbers for truth values => as many queries as keys
+ return ((back >= 0) & (back < window)).float()
these are numbers, 0 and 1; a mask is boolean, as a comparison makes it (`.bool()`)

a start below zero => a window wider than the text hides only the future
- own = rearrange(torch.arange(key - query, key), "query -> query 1")
- back = own - torch.arange(key)
- return (back >= 0) & (back < window)
+ mask = torch.zeros(query, key, dtype=torch.bool)
+ for row, own in enumerate(range(key - query, key)):
+     mask[row, own - window + 1 : own + 1] = True
+ return mask
where the window begins before the text, the first index of the slice is below 0, and Python counts it from the end; a
window begins at 0 at the earliest
"""


def reach_through_layers(windows, time):
    """Each layer reaches as far as its window, less the position itself."""
    return window_mask(time, time, int((windows - 1).sum()) + 1)


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


REACH_MISTAKES = """
windows added up => one layer reaches as far as its window
- reach = torch.eye(time, dtype=torch.bool)
- for window in windows.tolist():
- paths = window_mask(time, time, window).int() @ reach.int()
- reach = paths > 0
- return reach
+ return window_mask(time, time, int(windows.sum()) + 1)
this lets each layer reach `window` positions further back; a window holds the position itself, so it reaches window - 1
further

windows added up, less one => several layers with one window
+ return window_mask(time, time, int(windows.sum()))
this adds up the windows as if all were one; each layer's window holds the position itself, so one is to be taken off
for every layer, not once for all

reach taken for a window => one layer reaches as far as its window
+ return window_mask(time, time, int((windows - 1).sum()))
this is one position short: the layers reach `(windows - 1).sum()` positions back together, and a window that reaches so
far holds one position more, its own

reach taken for a window, the own position kept => one layer reaches as far as its window
+ return window_mask(time, time, max(1, int((windows - 1).sum())))

last two layers => several layers with one window
+ below, above = window_mask(time, time, int(windows[-2:][0])), window_mask(time, time, int(windows[-1]))
+ return above if len(windows) == 1 else (above.int() @ below.int()) > 0
this connects the last two layers alone, as where a loop begins anew with each layer: go on with what the layers before
have reached

widest window => several layers with one window
+ return window_mask(time, time, int(windows.max()))
this reaches as far as the widest window; what one layer has gathered the next one carries further

narrowest window => several layers with one window
+ return window_mask(time, time, int(windows.min()))
this is what one layer reaches; a position further back is reached by way of a position between, in two layers

last layer alone => several layers with one window
+ return window_mask(time, time, int(windows[-1]))
this is what the last layer attends to; its inputs were made by the layers below, from positions further back

first layer alone => several layers with one window
+ return window_mask(time, time, int(windows[0]))
this is what the first layer attends to; every later layer carries it further

first window for all layers => each layer with a window of its own
+ return window_mask(time, time, len(windows) * (int(windows[0]) - 1) + 1)
this takes the first window for that of all layers: each has its own

windows multiplied => several layers with one window
+ return window_mask(time, time, int(windows.prod()))
this multiplies the windows; by each layer the reach grows by a number of positions, it is not multiplied

without any window => one layer reaches as far as its window
+ return window_mask(time, time, time)
this is the whole past: with windows, a position further back than they reach together has no influence

future too => one layer reaches as far as its window
- return reach
+ return reach | reach.T
this reaches into the future as well: each window looks back, and so do all of them together

turned round => one layer reaches as far as its window
+ return reach.T
rows and columns are exchanged: a row is the position whose output is asked about, a column the position whose input may
have an influence

number of paths => one layer reaches as far as its window
- paths = window_mask(time, time, window).int() @ reach.int()
- reach = paths > 0
+ reach = window_mask(time, time, window).float() @ reach.float()
this counts by how many paths a position is reached; asked is whether it is reached at all: compare with 0

windows added up, less one for two layers => one layer reaches as far as its window
- reach = torch.eye(time, dtype=torch.bool)
- for window in windows.tolist():
- paths = window_mask(time, time, window).int() @ reach.int()
- reach = paths > 0
- return reach
+ distance = torch.arange(time)[:, None] - torch.arange(time)
+ return (distance >= 0) & (distance < windows.sum() - 1)
this adds up the windows and takes off one, which is right for two layers; every layer's window holds the position
itself, so of `layers` windows together `layers - 1` are taken off
"""

EXERCISE = Exercise(
    title="Sliding-window attention",
    difficulty=2,
    minutes=25,
    tasks=(
        Task(
            function="window_mask",
            parameters=("query", "key", "window"),
            returns="True where a query may attend to a key, shape (query, key)",
            cases=draw_window,
            examples=({"query": 4, "key": 4, "window": 2}, {"query": 2, "key": 5, "window": 3}),
            edges=(
                {"query": 1, "key": 1, "window": 1},  # one position
                {"query": 1, "key": 4, "window": 2},  # one query
                {"query": 3, "key": 3, "window": 1},  # every position by itself
                {"query": 2, "key": 4, "window": 4},  # as wide as the text
            ),
            reference=window_mask,
            properties=(
                Property("as many queries as keys", 1, on(all_of_them, equals())),
                Property("fewer queries than keys: the queries are the last", 1, equals()),
                Property("a window wider than the text hides only the future", 1, on(wide, equals())),
            ),
            mistakes=MASK_MISTAKES,
        ),
        Task(
            function="reach_through_layers",
            parameters=("windows", "time"),
            returns="True where the output of a position (row) can depend on the input of another (column), shape "
            "(time, time)",
            cases=draw_layers,
            examples=({"windows": torch.tensor([2, 2]), "time": 4}, {"windows": torch.tensor([3, 1, 2]), "time": 5}),
            edges=(
                {"windows": torch.tensor([1]), "time": 1},  # one position
                {"windows": torch.tensor([1, 1, 1]), "time": 3},  # every position by itself
                {"windows": torch.tensor([9, 2]), "time": 3},  # wider than the text
            ),
            reference=reach_through_layers,
            properties=(
                Property("one layer reaches as far as its window", 1, on(one_layer, equals())),
                Property("several layers with one window", 1, on(all_alike, equals())),
                Property("each layer with a window of its own", 1, equals()),
            ),
            mistakes=REACH_MISTAKES,
        ),
    ),
    hints=(
        "At which position does query i stand, if the queries are the last of the positions? And how many positions "
        "back does a window of one reach?",
        "Make a column of the queries' positions and a row of the keys' positions; their difference says how many "
        "steps back a key stands. It has to lie between 0 and window - 1. Through layers the steps add up: position i "
        "attends to position j, and position j has attended to positions before it.",
        "`torch.arange(key - query, key)` holds the positions of the queries; give it a second axis with `[:, None]`, "
        "and put two comparisons together by `&`. The layers reach `(windows - 1).sum()` steps back together.",
    ),
)
