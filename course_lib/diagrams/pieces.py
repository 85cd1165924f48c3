"""Vectors cut into pieces, each in the shade of the head of attention that gets it."""

from course_lib.diagrams.matrices import CELL, SHADE
from course_lib.diagrams.parts import Part
from course_lib.diagrams.svg import line_of_text, rectangle

PIECE = 52  # pixels: width of what a head gets of a vector
SHADES = tuple(0.04 + SHADE * part for part in (0.0, 0.72, 0.3, 1.0))  # of up to four heads: neighbours differ most


def pieces(head: list[list[int]], labels: list[list[str]], framed: list[list[bool]] | None = None) -> Part:
    """Draw a table of pieces of vectors (word, piece) in the shades of their heads, with lines between heads.

    >>> pieces([[0, 1]], [["the", "the"]]).width
    104
    """
    rows, columns = len(head), len(head[0])
    drawn, frames, lines = [], [], ""
    for i in range(rows):
        for j in range(columns):
            x, y = j * PIECE, i * CELL
            drawn.append(rectangle(x, y, PIECE, CELL, "plain", SHADES[head[i][j]], 0.3))
            first = framed is not None and framed[i][j]
            look = "strong" if first else ""
            drawn.append(line_of_text(x + PIECE / 2, y + CELL / 2 + 5, labels[i][j], look=look))
            if first:
                frames.append(rectangle(x + 2, y + 2, PIECE - 4, CELL - 4, "ink", 0, 1, 2.5, 3))
            if j + 1 < columns and head[i][j] != head[i][j + 1]:
                lines += f"M{x + PIECE} {y}V{y + CELL}"
            if i + 1 < rows and head[i][j] != head[i + 1][j]:
                lines += f"M{x} {y + CELL}H{x + PIECE}"
    lines += f"M0 0H{columns * PIECE}V{rows * CELL}H0Z"
    edges = f'<path class="line" d="{lines}" style="stroke:var(--ink)"/>'
    return Part(columns * PIECE, rows * CELL, "".join([*drawn, edges, *frames]))
