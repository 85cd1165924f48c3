"""From scores to weights: exponentials and their fractions as bars, at three temperatures."""

import torch

from course_lib.data.running_example import TOKENS, K, Q
from course_lib.diagrams import Arrow, Diagram, Part, arrow, number
from course_lib.diagrams.svg import line_of_text, rectangle

SCORES = (Q @ K.T)[TOKENS.index("itself")] / 2  # (key,): 0, 4, 3, 2
TEMPERATURES = (2.0, 1.0, 0.5)
HEIGHT = 56  # pixels: of the highest bar of a row
DOWN, ACROSS = ("bottom", "top"), ("right", "left")


def scores_to_softmax() -> Diagram:
    """Draw Chapter 0: four scores are divided by a temperature, exponentiated and divided by their sum, three times.

    >>> print(scores_to_softmax().description.rpartition(". ")[2])
    At the temperature 0.5 the exponentials are 1, 2981, 403, 54.6, and the weights 0.00, 0.87, 0.12, 0.02.
    """
    exponentials = [(SCORES / temperature).exp() for temperature in TEMPERATURES]  # (key,) each
    weights = [(SCORES / temperature).softmax(dim=-1) for temperature in TEMPERATURES]  # (key,) each

    def bars(cell: float, divided: bool) -> tuple[Part, list[tuple[Part, Part]]]:
        """Return the bars of the scores, and for each temperature those of the exponentials and the weights.

        `divided` writes above the weights by what the exponentials are divided, where no arrow says so.
        """
        columns = []
        for temperature, exponential, weight in zip(map(number, TEMPERATURES), exponentials, weights, strict=True):
            name = f"÷ {_short(exponential.sum())}: weights p" if divided else "weights p"
            above = _bars(exponential, f"T = {temperature}: exp(s / {temperature})", "plain", cell, exponential.max())
            columns.append((above, _bars(weight, name, "weight", cell, 1.0)))
        return _bars(SCORES, "scores s", "plain", cell, SCORES.max()), columns

    start, columns = bars(46, divided=False)
    arrows: list[Arrow] = []
    for (upper, lower), before, exponential in zip(columns, [None, *columns], exponentials, strict=False):
        if before:
            upper.right_of(before[0], 44)
        lower.below(upper, 44)
        arrows.append(arrow(upper, lower, f"÷ sum {_short(exponential.sum())}", sides=DOWN))
    start.above(columns[1][0], 44)
    arrows += [arrow(start, upper, sides=DOWN) for upper, _ in columns]
    wide = [start, *(part for pair in columns for part in pair), *arrows]

    start, rows = bars(40, divided=True)
    above = start
    for left, right in rows:
        left.below(above, 26)
        right.right_of(left, 30)
        above = left
    start.move((rows[0][1].bounds[2] - start.bounds[2]) / 2, 0)
    arrows = [arrow(left, right, sides=ACROSS) for left, right in rows]
    narrow = [start, *(part for pair in rows for part in pair), *arrows]
    return Diagram(
        "From scores to the softmax, at three temperatures",
        f"Above, four bars for the scores that “itself” gives to {', '.join(TOKENS)}: {_listed(SCORES)}. Below, three "
        "columns, one for each temperature. In each, the scores are divided by the temperature and exponentiated, and "
        "the exponentials are divided by their sum. "
        + " ".join(
            f"At the temperature {number(temperature)} the exponentials are {_listed(exponential)}, and the weights "
            f"{_listed(weight)}."
            for temperature, exponential, weight in zip(TEMPERATURES, exponentials, weights, strict=True)
        ),
        wide,
        narrow=narrow,
    )


def _bars(values: torch.Tensor, title: str, role: str, cell: float, largest: float | torch.Tensor) -> Part:
    """Draw a bar for each token, with its number above and its name below; the largest value would fill the height."""
    width, ground = cell * len(TOKENS), 24 + 20 + HEIGHT
    drawn = line_of_text(width / 2, 14, title, look="strong", role=role)
    for at, (name, value) in enumerate(zip(TOKENS, values.tolist(), strict=True)):
        high, middle = HEIGHT * value / float(largest), cell * (at + 0.5)
        drawn += rectangle(middle - cell * 0.32, ground - high, cell * 0.64, high, role, 0.45, 1)
        drawn += line_of_text(middle, ground - high - 5, _short(value))
        drawn += line_of_text(middle, ground + 17, name)
    drawn += rectangle(0, ground, width, 0, "ink", 0, 1, 1.2)
    return Part(width, ground + 22, drawn)


def _short(value: float | torch.Tensor) -> str:
    """Write two decimals below 10 and three digits above.

    >>> _short(7.389), _short(54.598), _short(2980.96), _short(4.0)
    ('7.39', '54.6', '2981', '4')
    """
    value = float(value)
    return number(value) if value < 10 else f"{value:.1f}".rstrip("0").rstrip(".") if value < 100 else f"{value:.0f}"


def _listed(row: torch.Tensor) -> str:
    return ", ".join(map(_short, row.tolist()))
