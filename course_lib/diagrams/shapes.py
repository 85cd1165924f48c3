"""Boxes, texts, brackets and frames."""

from collections.abc import Sequence

from course_lib.diagrams.groups import Group
from course_lib.diagrams.parts import Part
from course_lib.diagrams.svg import (
    LINE,
    check_role,
    check_side,
    line_of_text,
    lines_of_text,
    rectangle,
    text_height,
    text_width,
    xy,
)


def box(label: str, role: str = "plain", width: float = 0) -> Part:
    """Draw a box with one or several lines of text, as wide as the text unless `width` is larger."""
    check_role(role)
    width, height = max(width, text_width(label) + 20), text_height(label) + 14
    return Part(
        width,
        height,
        rectangle(0, 0, width, height, role, 0.12, 1, 1.6, 7) + lines_of_text(width / 2, 21, label),
    )


def text(words: str, role: str = "plain", strong: bool = False) -> Part:
    """Write one or several lines, centred, in the colour of a role."""
    check_role(role)
    width = text_width(words, strong)
    return Part(
        width, text_height(words), lines_of_text(width / 2, 15, words, look="strong" if strong else "", role=role)
    )


def bracket(part: Part, side: str, label: str) -> Part:
    """Draw a bracket along one side of a part's body, where the part stands now, with a label such as its size.

    With an empty label it says that an arrow which begins there comes from all rows, or columns, and not from one.

    >>> bracket(box("x"), "inside", "d_model")
    Traceback (most recent call last):
    ValueError: `side` is 'inside', expected one of left, right, top, bottom
    """
    check_side(side)
    left, top, right, bottom = part.body
    width, height = text_width(label), text_height(label)
    if side in ("left", "right"):
        length = max(bottom - top, height)
        start, end, first = (length - (bottom - top)) / 2, (length + bottom - top) / 2, (length - height) / 2 + 15
        edge, bar, words = (0, 6, 12) if side == "right" else (width + 12, width + 6, width)
        line = _line(f"M{xy(edge, start)}H{bar}V{end}H{edge}")
        drawn = Part(width + 12, length, line + (lines_of_text(words, first, label, _ANCHOR[side]) if label else ""))
        return drawn.right_of(part, 4) if side == "right" else drawn.left_of(part, 4)
    length = max(right - left, width)
    start, end = (length - (right - left)) / 2, (length + right - left) / 2
    edge, bar, first = (0, 6, 23) if side == "bottom" else (height + 8, height + 2, 15)
    line = _line(f"M{xy(start, edge)}V{bar}H{end}V{edge}")
    drawn = Part(length, height + 8, line + (lines_of_text(length / 2, first, label) if label else ""))
    return drawn.below(part, 4) if side == "bottom" else drawn.above(part, 4)


def frame(parts: Sequence[Part], label: str = "", space: float = 16) -> Part:
    """Draw a dashed frame around parts that belong together, where they stand now; a label in its upper left corner."""
    left, top, right, bottom = Group(parts).bounds
    above = space + LINE * bool(label)
    width, height = right - left + 2 * space, bottom - top + space + above
    drawn = rectangle(0, 0, width, height, "plain", 0.04, 1, 1.4, 12, dashed=True)
    drawn += line_of_text(12, 19, label, "start", "strong") if label else ""
    return Part(width, height, drawn).move(left - space, top - above)


_ANCHOR = {"left": "end", "right": "start"}


def _line(path: str) -> str:
    return f'<path class="line" d="{path}" style="stroke:var(--ink)"/>'
