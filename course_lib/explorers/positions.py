"""What positions add to one score: sinusoids, RoPE and ALiBi, wherever the query stands and however far the key."""

from math import ceil, floor, sqrt

import torch
from IPython.display import HTML

from course_lib.diagrams import number
from course_lib.explorers.charts import label, path
from course_lib.explorers.markup import explorer, table
from course_lib.positions import rotate_by_position, sinusoidal_positions
from course_lib.shapes import check_shape

WIDTH, HEIGHT = 212, 200  # pixels of a panel: three have room side by side, and below one another on a telephone
LEFT, RIGHT, TOP, BOTTOM = 34, 10, 46, 42  # pixels around its plane, for its name, ticks and names of axes
KEY = "Curve: the scores of this query. Band: those of all queries. Dashed: no positions. Bar: what positions change."


def explore_positions(inputs: torch.Tensor, to_query: torch.Tensor, to_key: torch.Tensor, bias: torch.Tensor) -> HTML:
    """Return three panels, one for each encoding; the reader slides the position of a query and the offset of its key.

    inputs (2, d_model) are the vector of the token that asks and of the one that is read; to_query and to_key
    (d_key, d_model) project them; bias (time, time) is what ALiBi adds to each score. The panels are sinusoids, RoPE
    and this bias. The keys stand up to time // 4 before or after the query, so that each position of the query has the
    same offsets. Raises ValueError for a bias of fewer than 8 positions, and for shapes that do not fit.

    >>> shown = explore_positions(torch.eye(2), torch.eye(2), torch.eye(2), torch.full((8, 8), -1.0))
    >>> '"ALiBi": [[-1.0, -1.0, -1.0, -1.0, -1.0]' in shown.data
    True
    """
    d_model = check_shape(inputs, "2 d_model", "inputs")["d_model"]
    d_key = check_shape(to_query, "d_key d_model", "to_query", d_model=d_model)["d_key"]
    check_shape(to_key, "d_key d_model", "to_key", d_key=d_key, d_model=d_model)
    time = check_shape(bias, "time time", "bias")["time"]
    if time < 8:
        raise ValueError(f"`bias` has {time} positions, expected at least 8: offsets reach to a quarter of them")
    asks, is_read, *maps = (each.double() for each in (*inputs, to_query, to_key))  # every processor rounds them alike
    codes = sinusoidal_positions(time, d_model, torch.float64)  # (time, d_model)
    query, key = (maps[0] @ asks).expand(time, -1), (maps[1] @ is_read).expand(time, -1)  # (time, d_key) each
    pairs = {
        "sinusoids": ((asks + codes) @ maps[0].T, (is_read + codes) @ maps[1].T),
        "RoPE": (rotate_by_position(query), rotate_by_position(key)),
        "ALiBi": (query, key),
    }
    squares = {name: one @ other.T / sqrt(d_key) for name, (one, other) in pairs.items()}  # (query, key) each
    alone = round(squares["ALiBi"][0, 0].item(), 3)
    squares["ALiBi"] = squares["ALiBi"] + bias
    reach = time // 4
    scores = {name: _by_offset(square, reach) for name, square in squares.items()}
    every = [alone, *(each for rows in scores.values() for row in rows for each in row)]
    low, high = floor(min(every)), max(ceil(max(every)), floor(min(every)) + 1)
    panels = "".join(_panel(name, rows, alone, reach, low, high) for name, rows in scores.items())
    figure = f'<figure><div class="panels">{panels}</div><figcaption>{KEY}</figcaption></figure>'
    sentence = "slide the query and the offset of its key, and see what positions change with each encoding"
    data = {"scores": scores, "alone": alone, "reach": reach}
    return explorer("positions", data, figure + _table(scores, alone, reach), sentence)


def _by_offset(square: torch.Tensor, reach: int) -> list[list[float]]:
    """Return scores (query, key) as a row for each query that has all offsets, from -reach to reach."""
    queries = range(reach, len(square) - reach)
    return [[round(each, 3) for each in square[i, i - reach : i + reach + 1].tolist()] for i in queries]


def _panel(name: str, rows: list[list[float]], alone: float, reach: int, low: int, high: int) -> str:
    """Return the scores of one encoding against the offset; all panels have the same axis, from `low` to `high`."""
    across, up = (WIDTH - LEFT - RIGHT) / (2 * reach), (HEIGHT - TOP - BOTTOM) / (high - low)
    x0, y0 = LEFT + reach * across, TOP + high * up
    step = ceil((high - low) / 5)
    columns, lines = (-reach, -reach // 2, 0, reach // 2, reach), range(ceil(low / step) * step, high + 1, step)
    grid = "".join(f"M{each} {low}V{high}" for each in columns) + "".join(f"M{-reach} {each}H{reach}" for each in lines)
    names = [label(x0 + each * across, HEIGHT - BOTTOM + 18, number(each)) for each in columns]
    names += [label(LEFT - 8, y0 - each * up + 5, number(each), "end") for each in lines]
    names += [f'<text class="name" x="{x0:.1f}" y="16" text-anchor="middle">{name}</text>']
    names += [label(4, 36, "score", "start"), label(x0, HEIGHT - 6, "offset j − i")]
    edges = [[edge(column) for column in zip(*rows, strict=True)] for edge in (max, min)]
    there = [list(enumerate(edge, start=-reach)) for edge in edges]
    inside = f'<path class="grid" d="{grid}"/><path class="band" d="{path(there[0] + there[1][::-1])}Z"/>'
    inside += f'<path class="level" d="M{-reach} {alone:g}H{reach}"/>'
    inside += f'<path class="curve" d="{path(enumerate(rows[0], start=-reach))}"/>'
    inside += f'<path class="added" d="M-2 {alone:g}V{rows[0][reach - 2]:g}"/>'
    inside += f'<path class="here" d="M-2 {rows[0][reach - 2]:g}h0"/>'
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="The score with {name}, against the offset">'
        f'<g transform="translate({x0:.2f} {y0:.2f}) scale({across:.4f} {-up:.4f})">{inside}</g>{"".join(names)}</svg>'
    )


def _table(scores: dict[str, list[list[float]]], alone: float, reach: int) -> str:
    """Return the score at offset -2 with each encoding: of the first query, and the least and largest of all."""
    at_offset = {name: [row[reach - 2] for row in rows] for name, rows in scores.items()}
    cells = [
        [name, *(f"<td>{number(each)}</td>" for each in (column[0], min(column), max(column)))]
        for name, column in at_offset.items()
    ]
    places = f"of query {reach} for key {reach - 2} and over all queries"
    caption = f"Scores at offset −2, {places} (without positions: {number(alone)})"
    return table(["", f"query {reach}", "lowest", "highest"], cells, caption)
