"""The pieces of SVG that drawings are made of, and how they look: colours, letters, lines."""

import re
from html import escape
from math import ceil, isfinite, isnan

ROLES = ("plain", "query", "key", "value", "weight", "memory")
SIDES = ("left", "right", "top", "bottom")
SIZE, LINE = 14, 20  # pixels: size of the letters, and from line to line

# Each colour is said once, for light and for dark. `color-scheme` follows the switch of the book, of JupyterLab and of
# VS Code, elsewhere the system. The theme of the book puts HTML on a white card in the dark, and space beside figures;
# drawings need neither.
STYLE = """
.course-diagram { color-scheme: light dark; container-type: inline-size; overflow-x: auto; margin: 1rem 0;
  --paper: var(--pst-color-background, var(--jp-layout-color0, light-dark(#ffffff, #121212)));
  --ink: var(--pst-color-text-base, light-dark(#222832, #ced6dd));
  --plain: light-dark(#5a6270, #a4adb8); --query: light-dark(#0067a8, #6cb6ff);
  --key: light-dark(#a34700, #ffa94d); --value: light-dark(#00704f, #4fd1a5);
  --weight: light-dark(#4a4a4a, #b9bcc0); --memory: light-dark(#7a3e9d, #cfa0f0) }
html[data-theme="light"] .course-diagram, [data-jp-theme-light="true"] .course-diagram,
.vscode-light .course-diagram { color-scheme: light }
html[data-theme="dark"] .course-diagram, [data-jp-theme-light="false"] .course-diagram,
.vscode-dark .course-diagram { color-scheme: dark }
html[data-theme] .bd-content div.cell_output div.text_html:has(.course-diagram) { background: none; padding: 0 }
.bd-content div.cell_output figure:has(.course-diagram) { padding: 0 }
svg.course-diagram { background: var(--paper); margin: 0 }
.course-diagram svg { display: block; margin: auto; max-width: none }
.course-diagram text { fill: var(--ink); font-variant-numeric: tabular-nums;
  font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif }
.course-diagram .strong { font-weight: 650 }
.course-diagram .sub { font-size: 13px }
.course-diagram .over-lines { paint-order: stroke; stroke: var(--paper); stroke-width: 6px; stroke-linejoin: round }
.course-diagram .line { fill: none; stroke-width: 1.6px }
"""

# How wide signs are at most, in parts of their size: those of DejaVu Sans, the widest of the usual fonts.
WIDTHS = (
    ("ijlI.,:;|'’! ", 0.34),
    ("frt()[]/-“”", 0.43),
    ("szcJ", 0.56),
    ("ABCEHKNPRSTUVXYZ", 0.72),
    ("mwMWQOGD@%∞√×÷→≤+=<>−✓✗", 0.88),
)
OTHER_WIDTH = 0.64
SUBSCRIPT = re.compile(r"\b([A-Za-z])_(\w+)")


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
    if float(written) == 0:
        written = written.removeprefix("-")
    return written.replace("-", "−")


def line_of_text(x: float, y: float, words: str, anchor: str = "middle", look: str = "", role: str = "plain") -> str:
    """Return a text of one line in the colour of a role, with its baseline at `y`."""
    attributes = f' class="{look}"' if look else ""
    attributes += f' style="fill:var(--{role})"' if role != "plain" else ""
    return f'<text x="{short(x)}" y="{short(y)}" text-anchor="{anchor}"{attributes}>{markup(words)}</text>'


def lines_of_text(
    x: float,
    y: float,
    words: str,
    anchor: str = "middle",
    look: str = "",
    role: str = "plain",
    first_step: float = LINE,
) -> str:
    """Return a text for each line of `words`; `first_step` is from the first line to the second."""
    first, *others = words.split("\n")
    below = (line_of_text(x, y + first_step + n * LINE, line, anchor, look, role) for n, line in enumerate(others))
    return line_of_text(x, y, first, anchor, look, role) + "".join(below)


def markup(words: str) -> str:
    """Escape, and lower what follows a single letter and an underscore.

    >>> markup("W_q < 1")
    'W<tspan class="sub" dy="4">q</tspan><tspan dy="-4">\u200b</tspan> &lt; 1'
    """
    return SUBSCRIPT.sub('\\1<tspan class="sub" dy="4">\\2</tspan><tspan dy="-4">\u200b</tspan>', escape(words))


def text_width(words: str, strong: bool = False) -> float:
    """Return how wide the longest line is at most, in pixels."""
    lines = SUBSCRIPT.sub(r"\1\2", words).split("\n")
    longest = max(
        sum(next((w for signs, w in WIDTHS if sign in signs), OTHER_WIDTH) for sign in line) for line in lines
    )
    return SIZE * longest * (1.12 if strong else 1)


def text_height(words: str) -> float:
    """Return how high the lines are together, in pixels."""
    return LINE * (words.count("\n") + 1)


def rectangle(
    x: float,
    y: float,
    width: float,
    height: float,
    role: str,
    fill: float,
    edge: float,
    thickness: float = 1,
    corner: float = 0,
    dashed: bool = False,
) -> str:
    """Return a rectangle whose inside and edge have the colour of a role, each with an opacity from 0 to 1."""
    style = f"fill:var(--{role});fill-opacity:{short(fill)};stroke:var(--{role});stroke-opacity:{edge}"
    style += f";stroke-width:{thickness}" + (";stroke-dasharray:6 4" if dashed else "")
    size = f'width="{short(width)}" height="{short(height)}" rx="{corner}"'
    return f'<rect x="{short(x)}" y="{short(y)}" {size} style="{style}"/>'


def hatch(x: float, y: float, width: float, height: float, role: str) -> str:
    """Return slanted lines through a cell, 9 pixels apart."""
    path = ""
    for start in range(9, ceil(width + height), 9):  # where the line meets the upper edge, or would
        upper = xy(x + min(start, width), y + max(0, start - width))
        path += f"M{upper}L{xy(x + max(0, start - height), y + min(start, height))}"
    return f'<path d="{path}" style="stroke:var(--{role});stroke-opacity:.45"/>'


def short(value: float) -> str:
    """Write a coordinate with two decimals at most."""
    return f"{round(value, 2):g}"


def xy(x: float, y: float) -> str:
    """Write a point."""
    return f"{short(x)} {short(y)}"


def check_role(role: str) -> None:
    """Raise ValueError unless the book has a colour for this role."""
    if role not in ROLES:
        raise ValueError(f"`role` is {role!r}, expected one of {', '.join(ROLES)}")


def check_side(side: str) -> None:
    """Raise ValueError unless `side` is a side of a part."""
    if side not in SIDES:
        raise ValueError(f"`side` is {side!r}, expected one of {', '.join(SIDES)}")
