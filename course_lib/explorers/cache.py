"""A decode step by step, without and with a key–value cache: which rows are computed, and what that costs."""

from collections.abc import Sequence
from html import escape

from IPython.display import HTML

from course_lib.costs import Cost, attention_cost
from course_lib.explorers.markup import explorer, table

BEGIN = 2  # steps after the prompt: where the explorer begins


def explore_cache(tokens: Sequence[str], prompt: int, d_model: int, heads: int) -> HTML:
    """Return an explorer in which the reader steps through a decode and compares it without and with a cache.

    The first `prompt` of `tokens` are read in one step; each of the others is written in one more step, and read in the
    next. For each step the explorer shows which rows of K and V are computed and which are read from the cache, and the
    multiply-adds of one attention layer by `attention_cost`. Raises ValueError for a prompt that leaves less than two
    tokens to write, and where `attention_cost` does.

    >>> shown = explore_cache(["a", "b", "c", "d"], prompt=2, d_model=8, heads=2)
    >>> shown.data.count(">computed<"), shown.data.count(">read<")  # of 4 rows, without a cache and with one
    (5, 3)
    >>> '<th scope="row">all steps so far</th><td>2,768</td><td>1,200</td>' in shown.data
    True
    """
    if not 1 <= prompt <= len(tokens) - BEGIN:
        raise ValueError(
            f"`prompt` is {prompt}, expected 1 to {len(tokens) - BEGIN}: {BEGIN} tokens or more are written"
        )
    times = range(prompt, len(tokens) + 1)  # how many tokens are read at each step
    without = [attention_cost(time, time, d_model, heads) for time in times]
    cached = [without[0], *(attention_cost(1, time, d_model, heads) for time in times[1:])]
    step = BEGIN
    read = times[step]
    rows = []
    for position, token in enumerate(tokens):
        states = ["computed", "computed" if position == read - 1 else "read"] if position < read else ["", ""]
        rows.append([token, *(f'<td class="{state}">{state}</td>' for state in states)])
    columns = ["token", "without a cache", "with a cache"]
    figure = table(columns, rows, f"Step {step + 1}: rows of K and V, one for each token")
    figure += table(["multiply-adds", *columns[1:]], _costs(without, cached, step), "What the step costs in one layer")
    data = {
        "tokens": list(tokens),
        "prompt": prompt,
        "step": step,
        "without": [_parts(cost) for cost in without],
        "cached": [_parts(cost) for cost in cached],
    }
    return explorer(
        "cache", data, f'<div class="two-tables">{figure}</div>', "step through a decode, and watch the rows"
    )


def _parts(cost: Cost) -> list[int]:
    return [cost.projections, cost.scores + cost.averages, cost.multiply_adds]


def _costs(without: list[Cost], cached: list[Cost], step: int) -> list[list[str]]:
    """Return the rows of the table of costs at a step."""
    names = ["projections", "scores and averages", "this step", "all steps so far"]
    columns = [
        [*_parts(costs[step]), sum(cost.multiply_adds for cost in costs[: step + 1])] for costs in (without, cached)
    ]
    return [
        [escape(name), *(f"<td>{each:,}</td>" for each in pair)] for name, *pair in zip(names, *columns, strict=True)
    ]
