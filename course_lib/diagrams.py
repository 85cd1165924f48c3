"""Drawn schematics: matrices of computed numbers, boxes and arrows, as inline SVG in the colours of the page.

A drawing is made of parts. Each part knows its own size and is placed beside another one; an arrow leads from part to
part. Nobody types a coordinate, and the drawing finds its own size:

>>> weights = matrix([[1.0, 0.0], [0.27, 0.73]], "weight", title="A", mask=[[True, False], [True, True]])
>>> values = matrix([[2, -1], [0, 4]], "value", title="V").right_of(weights, gap=70)
>>> drawing = Diagram("Weights meet values", "A is 2 by 2, V is 2 by 2.", [weights, values, arrow(weights, values, "A V")])
>>> drawing.svg()[:49], "−1</text>" in drawing.svg()
('<svg xmlns="http://www.w3.org/2000/svg" role="img', True)

One role has one colour through the whole book; the letter in a title says the same without colour. In a text, `W_q` and
`d_model` get a subscript, and a line break begins a new line. All texts are escaped.
"""

import re
from collections.abc import Sequence
from html import escape
from math import atan2, ceil, cos, floor, hypot, inf, isfinite, isnan, sin

import torch

ROLES = ("plain", "query", "key", "value", "weight", "memory")
SIDES = ("left", "right", "top", "bottom")
SIZE, LINE = 14, 20  # pixels: height of the letters, and from line to line
CELL = 28  # pixels: height of a cell, and its least width
SHADE = 0.38  # opacity of the cell with the largest number: on a darker one the number would be hard to read

# Said once for all themes: `color-scheme` follows the switch of the book, of JupyterLab and of VS Code, else the system.
STYLE = """
.course-diagram { color-scheme: light dark; container-type: inline-size; overflow-x: auto; margin: 1rem 0;
  --paper: var(--pst-color-background, var(--jp-layout-color0, light-dark(#ffffff, #121212)));
  --ink: var(--pst-color-text-base, light-dark(#222832, #ced6dd));
  --plain: light-dark(#5a6270, #a4adb8); --query: light-dark(#0067a8, #6cb6ff); --key: light-dark(#a34700, #ffa94d);
  --value: light-dark(#00704f, #4fd1a5); --weight: light-dark(#4a4a4a, #c4c4c4); --memory: light-dark(#7a3e9d, #cfa0f0) }
html[data-theme="light"] .course-diagram, [data-jp-theme-light="true"] .course-diagram,
.vscode-light .course-diagram { color-scheme: light }
html[data-theme="dark"] .course-diagram, [data-jp-theme-light="false"] .course-diagram,
.vscode-dark .course-diagram { color-scheme: dark }
html[data-theme] .bd-content div.cell_output div.text_html:has(.course-diagram) { background: none; padding: 0 }
svg.course-diagram { background: var(--paper) }
.course-diagram svg { display: block; margin: auto; max-width: none }
.course-diagram text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  fill: var(--ink); font-variant-numeric: tabular-nums }
.course-diagram .strong { font-weight: 650 }
.course-diagram .sub { font-size: 13px }
.course-diagram .over-lines { paint-order: stroke; stroke: var(--paper); stroke-width: 6px; stroke-linejoin: round }
.course-diagram .line { fill: none; stroke-width: 1.6px }
"""


class Part:
    """Something drawn: a rectangle of `width` and `height` pixels, placed relative to other parts.

    `drawn` is its SVG with the left upper corner at (0, 0). `margins` (left, top, right, bottom) is what stands around
    its body, such as names around the cells of a matrix: parts are aligned by their bodies.
    """

    def __init__(self, width: float, height: float, drawn: str = "", margins: tuple[float, ...] = (0, 0, 0, 0)):
        self.left, self.top, self.width, self.height = 0.0, 0.0, width, height
        self.drawn, self.margins = drawn, margins

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom, in pixels."""
        return self.left, self.top, self.left + self.width, self.top + self.height

    @property
    def body(self) -> tuple[float, float, float, float]:
        """The bounds without the margins."""
        left, top, right, bottom = self.bounds
        return left + self.margins[0], top + self.margins[1], right - self.margins[2], bottom - self.margins[3]

    @property
    def middle(self) -> tuple[float, float]:
        """The point in the middle of the body."""
        left, top, right, bottom = self.body
        return (left + right) / 2, (top + bottom) / 2

    def side(self, name: str) -> tuple[float, float]:
        """Return the point where an arrow meets this side: outside of the margins, at the middle of the body."""
        x, y = self.middle
        left, top, right, bottom = self.bounds
        return {"left": (left, y), "right": (right, y), "top": (x, top), "bottom": (x, bottom)}[name]

    def move(self, right: float, down: float) -> "Part":
        """Move by so many pixels; return the part."""
        self.left, self.top = self.left + right, self.top + down
        return self

    def right_of(self, other: "Part", gap: float = 40, align: str = "middle") -> "Part":
        """Move to the right of `other`, with the middles (or, "start", the upper edges) of the bodies level."""
        return self.move(other.bounds[2] + gap - self.bounds[0], self._shift(other, 1, align))

    def left_of(self, other: "Part", gap: float = 40, align: str = "middle") -> "Part":
        """Move to the left of `other`, aligned as in `right_of`."""
        return self.move(other.bounds[0] - gap - self.bounds[2], self._shift(other, 1, align))

    def below(self, other: "Part", gap: float = 40, align: str = "middle") -> "Part":
        """Move below `other`, with the middles (or, "start", the left edges) of the bodies over one another."""
        return self.move(self._shift(other, 0, align), other.bounds[3] + gap - self.bounds[1])

    def above(self, other: "Part", gap: float = 40, align: str = "middle") -> "Part":
        """Move above `other`, aligned as in `below`."""
        return self.move(self._shift(other, 0, align), other.bounds[1] - gap - self.bounds[3])

    def _shift(self, other: "Part", axis: int, align: str) -> float:
        """Return by how much to move along the axis, 0 for right and 1 for down, to be aligned with `other`."""
        if align not in ("middle", "start"):
            raise ValueError(f'`align` is {align!r}, expected "middle" or "start"')
        return other.middle[axis] - self.middle[axis] if align == "middle" else other.body[axis] - self.body[axis]

    def draw(self) -> str:
        """Return the SVG at the place where the part stands."""
        return f'<g transform="translate({_n(self.left)} {_n(self.top)})">{self.drawn}</g>' if self.drawn else ""


class Group(Part):
    """Several parts, and arrows between them, that are placed as one."""

    def __init__(self, parts: Sequence["Part | Arrow"]):
        self.parts = list(parts)
        if not self.parts:
            raise ValueError("`parts` is empty, expected at least one part")

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The rectangle around all parts and arrows."""
        return _around(part.bounds for part in self.parts)

    @property
    def body(self) -> tuple[float, float, float, float]:
        """The rectangle around the bodies of all parts."""
        return _around(part.body for part in self.parts if isinstance(part, Part))

    def move(self, right: float, down: float) -> "Group":
        """Move every part by so many pixels; arrows follow."""
        for part in self.parts:
            if isinstance(part, Part):
                part.move(right, down)
        return self

    def draw(self) -> str:
        """Return the SVG of all parts, arrows last."""
        return "".join(part.draw() for part in sorted(self.parts, key=lambda part: isinstance(part, Arrow)))


class Arrow:
    """An arrow between two parts, which follows them wherever they are moved; made by `arrow`."""

    def __init__(self, start: Part, end: Part, label: str, role: str, sides: tuple[str, str] | None, reach: float):
        self.start, self.end, self.label, self.role, self.sides, self.reach = start, end, label, role, sides, reach

    def _points(self) -> list[tuple[float, float]]:
        """Return the corners of the way, beginning and end included."""
        start, end = self.sides or _facing(self.start, self.end)
        (x0, y0), (x1, y1) = self.start.side(start), self.end.side(end)
        gap = {"left": (-4, 0), "right": (4, 0), "top": (0, -4), "bottom": (0, 4)}
        x0, y0, x1, y1 = x0 + gap[start][0], y0 + gap[start][1], x1 + gap[end][0], y1 + gap[end][1]
        across = ("left", "right")
        if start == end and start in across:  # around what stands between them
            outside = min(x0, x1) - self.reach if start == "left" else max(x0, x1) + self.reach
            return [(x0, y0), (outside, y0), (outside, y1), (x1, y1)]
        if start == end:
            outside = min(y0, y1) - self.reach if start == "top" else max(y0, y1) + self.reach
            return [(x0, y0), (x0, outside), (x1, outside), (x1, y1)]
        if (start in across) != (end in across):  # one corner
            return [(x0, y0), (x1, y0) if start in across else (x0, y1), (x1, y1)]
        return [(x0, y0), (x1, y1)]

    def _label(self) -> tuple[float, float, str, str]:
        """Return where the first line of the label stands, its anchor and its class."""
        points = self._points()
        (x0, y0), (x1, y1) = max(zip(points, points[1:], strict=False), key=lambda pair: hypot(*_minus(*pair)))
        x, y, lines = (x0 + x1) / 2, (y0 + y1) / 2, self.label.count("\n") + 1
        if abs(y1 - y0) < 1:  # the first line above the arrow, all others below it
            return x, y - 9, "middle", "strong"
        if abs(x1 - x0) < 1:
            return x + 10, y + 5 - (lines - 1) * LINE / 2, "start", "strong"
        return x, y + 5 - (lines - 1) * LINE / 2, "middle", "strong cut"

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The rectangle around the way and the label."""
        boxes = [(x - 4, y - 4, x + 4, y + 4) for x, y in self._points()]
        if self.label:
            x, y, anchor, _ = self._label()
            width, lines = _text_width(self.label, strong=True), self.label.count("\n") + 1
            left = x - width / 2 if anchor == "middle" else x
            boxes.append((left, y - SIZE, left + width, y + lines * LINE - 8))
        return _around(boxes)

    def draw(self) -> str:
        """Return the SVG of the line, its head and its label."""
        points = self._points()
        (x0, y0), (x1, y1) = points[0], points[-1]
        colour = f"var(--{self.role})" if self.role != "plain" else "var(--ink)"
        before = points[-2]
        if len(points) > 2:
            path = _rounded(points)
        elif abs(x0 - x1) < 1 or abs(y0 - y1) < 1:
            path = f"M{_n(x0)} {_n(y0)}L{_n(x1)} {_n(y1)}"
        elif (self.sides or _facing(self.start, self.end))[1] in ("left", "right"):
            path = f"M{_n(x0)} {_n(y0)}C{_n((x0 + x1) / 2)} {_n(y0)} {_n((x0 + x1) / 2)} {_n(y1)} {_n(x1)} {_n(y1)}"
            before = (x0, y1)
        else:
            path = f"M{_n(x0)} {_n(y0)}C{_n(x0)} {_n((y0 + y1) / 2)} {_n(x1)} {_n((y0 + y1) / 2)} {_n(x1)} {_n(y1)}"
            before = (x1, y0)
        angle = atan2(y1 - before[1], x1 - before[0])
        corners = [(x1 + 8 * cos(angle + turn) * far, y1 + 8 * sin(angle + turn) * far) for turn, far in HEAD]
        head = " ".join(f"{_n(x)},{_n(y)}" for x, y in corners)
        drawn = f'<path class="line" d="{path}" style="stroke:{colour}"/><polygon points="{head}" style="fill:{colour}"/>'
        if self.label:
            x, y, anchor, look = self._label()
            if look != "strong":  # on the line itself, which is cut there
                width = _text_width(self.label, strong=True)
                cut = (x - width / 2 - 3, y - SIZE, width + 6, LINE * (self.label.count("\n") + 1) - 2)
                drawn += _rectangle(*cut, "paper", 1, 0)
            drawn += _lines(x, y, self.label, anchor, look, self.role, 28 if look == "strong" and anchor == "middle" else LINE)
        return drawn


HEAD = ((0.0, 0.15), (2.7, 1.0), (-2.7, 1.0))  # of an arrow: angle and distance of its three corners from the end


def matrix(
    values: torch.Tensor | Sequence[Sequence[float]] | Sequence[Sequence[str]],
    role: str = "plain",
    title: str = "",
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    mask: torch.Tensor | Sequence[Sequence[bool]] | None = None,
    highlight: int | None = None,
) -> Part:
    """Draw a matrix (row, column), each cell with its number and shaded by it; words instead of numbers are not shaded.

    The shape is written after the `title`. `mask` (row, column) is True where a cell counts, as everywhere in the book;
    the others are hatched, and empty unless they hold −∞. `highlight` is a row to be framed. Raises ValueError for
    values that are no matrix, an unknown role, and names or a mask of another size.

    >>> matrix([[1, 2, 3]], rows=["cat", "it"])
    Traceback (most recent call last):
    ValueError: `rows` has 2 names, expected 1: one for each row of `values`
    """
    _check_role(role)
    cells = values.tolist() if isinstance(values, torch.Tensor) else [list(row) for row in _each_row(values)]
    height, width = len(cells), len(cells[0]) if cells and isinstance(cells[0], list) else 0
    if not width or any(len(row) != width for row in cells):
        raise ValueError(f"`values` is {values!r}, expected a matrix with axes (row, column)")
    for names, size, what in ((rows, height, "row"), (columns, width, "column")):
        if len(names) not in (0, size):
            raise ValueError(f"`{what}s` has {len(names)} names, expected {size}: one for each {what} of `values`")
    seen = torch.ones(height, width, dtype=torch.bool) if mask is None else torch.as_tensor(mask)
    if tuple(seen.shape) != (height, width):
        raise ValueError(f"`mask` has shape {tuple(seen.shape)}, expected {(height, width)}, the shape of `values`")
    if highlight is not None and not 0 <= highlight < height:
        raise ValueError(f"`highlight` is {highlight}, expected a row from 0 to {height - 1}")

    words = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in cells]
    sizes = [abs(cell) for row in cells for cell in row if not isinstance(cell, str) and isfinite(cell)]
    largest = max(sizes, default=0) or 1
    cell_width = max(CELL, *(ceil(_text_width(word)) + 9 for row in (*words, columns) for word in row))
    heading = f"{title} ({height} × {width})" if title else ""
    left = max((_text_width(name) for name in rows), default=0) + 8 * bool(rows)
    overhang = max(0.0, (_text_width(heading, strong=True) - width * cell_width) / 2)
    left, right = max(left, overhang), overhang
    top = LINE * bool(columns) + (LINE + 4) * bool(title)

    drawn = []
    for i in range(height):
        y = top + i * CELL
        if rows:
            drawn.append(_line(left - 8, y + CELL / 2 + 5, rows[i], "end"))
        for j in range(width):
            x, cell, shown = left + j * cell_width, cells[i][j], bool(seen[i, j])
            worth = abs(cell) / largest if not isinstance(cell, str) and isfinite(cell) else 0.0
            shade = SHADE * worth + 0.04 if shown else 0.0
            drawn.append(_rectangle(x, y, cell_width, CELL, role, shade, 0.55))
            if not shown:
                drawn.append(_hatch(x, y, cell_width, CELL, role))
            if shown or cell == -inf:
                drawn.append(_line(x + cell_width / 2, y + CELL / 2 + 5, words[i][j], look="" if shown else "over-lines"))
    drawn += [_line(left + (j + 0.5) * cell_width, top - 6, name) for j, name in enumerate(columns)]
    if title:
        shape = heading.removeprefix(title)
        inner = f'<tspan class="strong" style="fill:var(--{role})">{_markup(title)}</tspan>{escape(shape)}'
        drawn.append(f'<text x="{_n(left + width * cell_width / 2)}" y="{SIZE}" text-anchor="middle">{inner}</text>')
    if highlight is not None:
        frame = (left - 1, top + highlight * CELL - 1, width * cell_width + 2, CELL + 2)
        drawn.append(_rectangle(*frame, "ink", 0, 1, stroke=2.5, round=3))
    return Part(left + width * cell_width + right, top + height * CELL, "".join(drawn), (left, top, right, 0))


def box(label: str, role: str = "plain", width: float | None = None, strong: bool = False) -> Part:
    """Draw a box with one or several lines of text, as wide as the text unless `width` says more."""
    _check_role(role)
    lines = label.count("\n") + 1
    width = max(width or 0, _text_width(label, strong) + 20)
    height = lines * LINE + 14
    words = _lines(width / 2, 21, label, "middle", "strong" if strong else "")
    return Part(width, height, _rectangle(0, 0, width, height, role, 0.12, 1, stroke=1.6, round=7) + words)


def text(words: str, role: str = "plain", strong: bool = False) -> Part:
    """Write one or several lines, centred; in the colour of a role other than plain."""
    _check_role(role)
    width, lines = _text_width(words, strong), words.count("\n") + 1
    return Part(width, lines * LINE, _lines(width / 2, 15, words, "middle", "strong" if strong else "", role))


def point() -> Part:
    """Draw a small dot, where a line divides or where an arrow begins that has no part of its own."""
    return Part(6, 6, '<circle cx="3" cy="3" r="3" style="fill:var(--ink)"/>')


def bracket(part: Part, side: str, label: str) -> Part:
    """Draw a bracket along one side of a part's body, with a label such as its size; it stands where the part stands now.

    >>> bracket(box("x"), "inside", "d_model")
    Traceback (most recent call last):
    ValueError: `side` is 'inside', expected one of left, right, top, bottom
    """
    _check_side(side)
    left, top, right, bottom = part.body
    outer = part.bounds
    width, height = _text_width(label), LINE * (label.count("\n") + 1)
    if side in ("top", "bottom"):
        long, wide = right - left, max(right - left, width)
        start, line = (wide - long) / 2, (8, 2, height + 2) if side == "bottom" else (height, height + 6, 0)
        path = f"M{_n(start)} {line[1]}V{line[0]}H{_n(start + long)}V{line[1]}"
        drawn = _lines(wide / 2, 24 if side == "bottom" else 14, label, "middle", "")
        placed = Part(wide, height + 8, f'<path class="line" style="stroke:var(--ink)" d="{path}"/>{drawn}')
        y = outer[3] + 3 if side == "bottom" else outer[1] - 3 - placed.height
        return placed.move((left + right - wide) / 2, y)
    long, x = bottom - top, 2 if side == "right" else width + 14
    corner = x + 6 if side == "right" else x - 6
    words = _lines(14 if side == "right" else width, (long - height) / 2 + 15, label, "start" if side == "right" else "end")
    path = f"M{_n(x)} 0H{_n(corner)}V{_n(long)}H{_n(x)}"
    placed = Part(width + 16, long, f'<path class="line" style="stroke:var(--ink)" d="{path}"/>{words}')
    return placed.move(outer[2] + 3 if side == "right" else outer[0] - 3 - placed.width, top)


def frame(parts: Sequence[Part], label: str = "", role: str = "plain", space: float = 16) -> Part:
    """Draw a dashed frame around parts that belong together, where they stand now; a label in its upper left corner."""
    _check_role(role)
    left, top, right, bottom = Group(parts).bounds
    above = LINE if label else 0
    width, height = right - left + 2 * space, bottom - top + 2 * space + above
    drawn = _rectangle(0, 0, width, height, role, 0.04, 1, stroke=1.4, round=12, dashed=True)
    drawn += _line(12, 19, label, "start", "strong", role) if label else ""
    return Part(width, height, drawn).move(left - space, top - space - above)


def beside(*parts: Part, gap: float = 40) -> Group:
    """Place each part to the right of the one before it; return all as a group."""
    for before, part in zip(parts, parts[1:], strict=False):
        part.right_of(before, gap)
    return Group(parts)


def column(*parts: Part, gap: float = 40) -> Group:
    """Place each part below the one before it; return all as a group."""
    for before, part in zip(parts, parts[1:], strict=False):
        part.below(before, gap)
    return Group(parts)


def stack(*parts: Part, gap: float = 26) -> Group:
    """Place each part above the one before it, with an arrow from each to the next: layers, from input to output."""
    for before, part in zip(parts, parts[1:], strict=False):
        part.above(before, gap)
    return Group([*parts, *(arrow(before, part) for before, part in zip(parts, parts[1:], strict=False))])


def arrow(
    start: Part,
    end: Part,
    label: str = "",
    role: str = "plain",
    sides: tuple[str, str] | None = None,
    reach: float = 22,
) -> Arrow:
    """Lead an arrow from one part to another, wherever they are moved later.

    `sides` says which side it leaves and which it meets, by default those that face each other; the same side twice
    leads it around what stands between, `reach` pixels outside. The first line of the `label` stands over a level
    arrow, the next below it. Raises ValueError for an unknown role or side.
    """
    _check_role(role)
    for side in sides or ():
        _check_side(side)
    return Arrow(start, end, label, role, sides, reach)


class Diagram:
    """A drawing with a title and a description for those who do not see it; shows itself in Jupyter and in the book.

    `narrow` holds the same, arranged anew, for columns in which `parts` would not fit, such as on a telephone. What is
    wider than its column scrolls in a box of its own, which the keyboard reaches. Raises ValueError without parts, title
    or description.
    """

    def __init__(
        self, title: str, description: str, parts: Sequence[Part | Arrow], narrow: Sequence[Part | Arrow] = ()
    ):
        for name, words in (("title", title), ("description", description)):
            if not words.strip():
                raise ValueError(f"`{name}` is empty, expected words that tell what is drawn")
        self.title, self.description = title, description
        self.wide, self.narrow = Group(parts), Group(narrow) if narrow else None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, found from the parts."""
        left, top, right, bottom = _view(self.wide)
        return right - left, bottom - top

    def svg(self) -> str:
        """Return the drawing as a file of its own, with its colours."""
        return _svg(self.wide, self.title, self.description, "course-diagram", f"<style>{STYLE}</style>")

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        width = self.size[0]
        style, drawn = STYLE, _svg(self.wide, self.title, self.description, f"over-{width}")
        if self.narrow is not None:
            style += f".under-{width} {{ display: none !important }}\n@container (max-width: {width - 1}px) {{\n"
            style += f".over-{width} {{ display: none !important }} .under-{width} {{ display: block !important }} }}\n"
            drawn += _svg(self.narrow, self.title, self.description, f"under-{width}")
        label = f'role="region" tabindex="0" aria-label="{escape(self.title)}"'
        return f'<div class="course-diagram" {label}><style>{style}</style>{drawn}</div>'


def number(value: float) -> str:
    """Write a number as in a cell: a true minus sign, at most two decimals, and none that says nothing.

    >>> number(-3.0), number(0.5), number(2 / 3), number(-0.001), number(float("-inf"))
    ('−3', '0.5', '0.67', '0.00', '−∞')
    """
    if isnan(value):
        return "NaN"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞"
    written = f"{value:.2f}"
    if abs(float(written) - value) < 1e-6:  # nothing was lost: float32 has 7 digits
        written = written.rstrip("0").rstrip(".")
    return ("0" + written[2:] if float(written) == 0 and written[0] == "-" else written).replace("-", "−")


def _svg(group: Group, title: str, description: str, classes: str, style: str = "") -> str:
    left, top, right, bottom = _view(group)
    size = f'viewBox="{left} {top} {right - left} {bottom - top}" width="{right - left}" height="{bottom - top}"'
    words = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="{classes}" {size}>{words}{style}{group.draw()}</svg>'


def _view(group: Group) -> tuple[int, int, int, int]:
    left, top, right, bottom = group.bounds
    return floor(left) - 4, floor(top) - 4, ceil(right) + 4, ceil(bottom) + 4


def _around(boxes) -> tuple[float, float, float, float]:
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _facing(start: Part, end: Part) -> tuple[str, str]:
    """Return the sides of two parts that face each other, those with the larger space between them."""
    left, top, right, bottom = start.bounds
    other_left, other_top, other_right, other_bottom = end.bounds
    spaces = {
        ("right", "left"): other_left - right,
        ("left", "right"): left - other_right,
        ("bottom", "top"): other_top - bottom,
        ("top", "bottom"): top - other_bottom,
    }
    return max(spaces, key=spaces.get)


def _rounded(points: list[tuple[float, float]], radius: float = 9) -> str:
    """Return a path through the points that cuts its corners."""
    path = f"M{_n(points[0][0])} {_n(points[0][1])}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        for other in (before, after):
            x, y = _minus(corner, other)
            part = min(radius, hypot(x, y) / 2) / (hypot(x, y) or 1)
            path += f"{'L' if other == before else f'Q{_n(corner[0])} {_n(corner[1])} '}"
            path += f"{_n(corner[0] + x * part)} {_n(corner[1] + y * part)}"
    return path + f"L{_n(points[-1][0])} {_n(points[-1][1])}"


def _minus(start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
    return end[0] - start[0], end[1] - start[1]


def _rectangle(x, y, width, height, role, fill, line, stroke=1.0, round=0, dashed=False) -> str:
    look = f"fill:var(--{role});fill-opacity:{_n(fill)};stroke:var(--{role});stroke-opacity:{line};stroke-width:{stroke}"
    dash = ";stroke-dasharray:6 4" if dashed else ""
    corners = f' rx="{round}"' if round else ""
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"{corners} style="{look}{dash}"/>'


def _hatch(x, y, width, height, role) -> str:
    """Return slanted lines through a cell, 9 pixels apart."""
    path = ""
    for start in range(9, ceil(width + height), 9):  # where the line meets the upper edge, or would
        x0, y0 = min(start, width), max(0, start - width)
        x1, y1 = max(0, start - height), min(start, height)
        path += f"M{_n(x + x0)} {_n(y + y0)}L{_n(x + x1)} {_n(y + y1)}"
    return f'<path d="{path}" style="stroke:var(--{role});stroke-opacity:.45"/>'


def _lines(x, y, words, anchor="middle", look="", role="plain", step=LINE) -> str:
    """Return a text element for each line; `step` is from the first line to the second."""
    steps = [0, *(step + n * LINE for n in range(words.count("\n")))]
    return "".join(_line(x, y + down, line, anchor, look, role) for down, line in zip(steps, words.split("\n"), strict=True))


def _line(x, y, words, anchor="middle", look="", role="plain") -> str:
    attributes = f' class="{look}"' if look else ""
    attributes += f' style="fill:var(--{role})"' if role != "plain" else ""
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"{attributes}>{_markup(words)}</text>'


SUBSCRIPT = re.compile(r"\b([A-Za-z])_(\w+)")


def _markup(words: str) -> str:
    """Escape, and set as a subscript what follows a single letter and an underscore."""
    lowered = r'\1<tspan class="sub" dy="4">\2</tspan><tspan dy="-4">&#8203;</tspan>'
    return SUBSCRIPT.sub(lowered, escape(words))


def _text_width(words: str, strong: bool = False) -> float:
    """Return how wide the longest line is at most, in pixels: by the widest of the usual fonts, DejaVu Sans."""
    longest = 0.0
    for line in SUBSCRIPT.sub(r"\1\2", words).split("\n"):
        longest = max(longest, sum(next((w for signs, w in WIDTHS if sign in signs), 0.64) for sign in line))
    return SIZE * longest * (1.12 if strong else 1)


WIDTHS = (("ijlI.,:;|'’! ", 0.34), ("frt()[]/-“”", 0.43), ("szcJ", 0.56), ("mwMWQOGD@%∞√×÷→≤+=<>−", 0.88), ("ABCEHKNPRSTUVXYZ", 0.72))


def _each_row(values: Sequence) -> Sequence:
    if not isinstance(values, Sequence) or any(isinstance(row, str) or not isinstance(row, Sequence) for row in values):
        raise ValueError(f"`values` is {values!r}, expected a matrix with axes (row, column)")
    return values


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise ValueError(f"`role` is {role!r}, expected one of {', '.join(ROLES)}")


def _check_side(side: str) -> None:
    if side not in SIDES:
        raise ValueError(f"`side` is {side!r}, expected one of {', '.join(SIDES)}")


def _n(value: float) -> str:
    """Write a coordinate with one decimal at most."""
    return f"{round(value, 2):g}"
