"""Matrices, drawn with their numbers."""

from collections.abc import Sequence
from html import escape
from math import ceil, inf, isfinite

import torch

from course_lib.diagrams.parts import Part
from course_lib.diagrams.svg import (
    LINE,
    SIZE,
    check_role,
    hatch,
    line_of_text,
    markup,
    number,
    rectangle,
    short,
    text_width,
)

CELL = 28  # pixels: height of a cell, and its least width
SHADE = 0.33  # opacity of the cell with the largest number: on a darker one the number would be hard to read
Values = torch.Tensor | Sequence[Sequence[float]] | Sequence[Sequence[str]]


def matrix(
    values: Values,
    role: str = "plain",
    title: str = "",
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    mask: torch.Tensor | Sequence[Sequence[bool]] | None = None,
    highlight: int | None = None,
) -> Part:
    """Draw a matrix (row, column), each cell with its number and shaded by it; words instead of numbers are not shaded.

    The shape is written after the `title`. `mask` (row, column) is True where a cell counts, as everywhere in the book;
    the others are hatched, and empty unless they hold −∞. `highlight` is the number of a row to be framed. Raises
    ValueError for values that are no matrix, an unknown role, and names, a mask or a row that do not fit.

    >>> matrix([[1, 2, 3]], rows=["cat", "it"])
    Traceback (most recent call last):
    ValueError: `rows` has 2 names, expected 1: one for each row of `values`
    """
    check_role(role)
    cells = _as_lists(values)
    height, width = len(cells), len(cells[0])
    for names, size, axis in ((rows, height, "row"), (columns, width, "column")):
        if len(names) not in (0, size):
            raise ValueError(f"`{axis}s` has {len(names)} names, expected {size}: one for each {axis} of `values`")
    counts = torch.ones(height, width) if mask is None else torch.as_tensor(mask)
    if counts.shape != (height, width):
        raise ValueError(f"`mask` has shape {tuple(counts.shape)}, expected {(height, width)}, the shape of `values`")
    if highlight is not None and not 0 <= highlight < height:
        raise ValueError(f"`highlight` is {highlight}, expected a row from 0 to {height - 1}")

    words = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in cells]
    largest = max((_size(cell) for row in cells for cell in row), default=0) or 1
    cell_width = max(CELL, *(ceil(text_width(word)) + 9 for row in (*words, columns) for word in row))
    shape = f" ({shape_of(counts)})"
    beyond = max(0.0, (text_width(title + shape, strong=True) - width * cell_width) / 2) if title else 0.0
    left = max(beyond, *(text_width(name) + 8 for name in rows)) if rows else beyond
    top = (LINE + 4) * bool(title) + LINE * bool(columns)
    x, y = [left + j * cell_width for j in range(width)], [top + i * CELL for i in range(height)]

    drawn = [line_of_text(left - 8, y[i] + CELL / 2 + 5, name, "end") for i, name in enumerate(rows)]
    drawn += [line_of_text(x[j] + cell_width / 2, top - 6, name) for j, name in enumerate(columns)]
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            shade = 0.04 + SHADE * _size(cell) / largest if counts[i, j] else 0
            drawn.append(rectangle(x[j], y[i], cell_width, CELL, role, shade, 0.55))
            if not counts[i, j]:
                drawn.append(hatch(x[j], y[i], cell_width, CELL, role))
            if counts[i, j] or cell == -inf:
                look = "" if counts[i, j] else "over-lines"
                drawn.append(line_of_text(x[j] + cell_width / 2, y[i] + CELL / 2 + 5, words[i][j], look=look))
    if title:
        letter = f'<tspan class="strong" style="fill:var(--{role})">{markup(title)}</tspan>'
        middle = short(left + width * cell_width / 2)
        drawn.append(f'<text x="{middle}" y="{SIZE}" text-anchor="middle">{letter}{escape(shape)}</text>')
    if highlight is not None:
        drawn.append(rectangle(left - 1, y[highlight] - 1, width * cell_width + 2, CELL + 2, "ink", 0, 1, 2.5, 3))
    return Part(left + width * cell_width + beyond, top + height * CELL, "".join(drawn), (left, top, beyond, 0))


def shape_of(tensor: torch.Tensor) -> str:
    """Write the shape as in a title.

    >>> shape_of(torch.zeros(4, 3))
    '4 × 3'
    """
    return " × ".join(map(str, tensor.shape))


def _as_lists(values: Values) -> list[list]:
    """Return the rows of a matrix; raises ValueError for what is none."""
    rows = values.tolist() if isinstance(values, torch.Tensor) else values
    of_one_length = isinstance(rows, Sequence) and all(
        isinstance(row, Sequence) and not isinstance(row, str) and 0 < len(row) == len(rows[0]) for row in rows
    )
    if not of_one_length or not rows or any(isinstance(cell, list | tuple) for row in rows for cell in row):
        shape = f"shape {tuple(values.shape)}" if isinstance(values, torch.Tensor) else repr(values)
        raise ValueError(f"`values` has {shape}, expected a matrix (row, column)")
    return [list(row) for row in rows]


def _size(cell: float | str) -> float:
    """Return by how much a cell is shaded, before division by the largest."""
    return abs(cell) if not isinstance(cell, str) and isfinite(cell) else 0.0
