"""Arrows between the parts of a drawing."""

from math import atan2, cos, hypot, sin

from course_lib.diagrams.parts import Box, Part, Point, around
from course_lib.diagrams.svg import (
    LINE,
    SIZE,
    check_role,
    check_side,
    lines_of_text,
    rectangle,
    short,
    text_height,
    text_width,
    xy,
)

SPACE = 4  # pixels between an arrow and what it joins
OUTWARD = {"left": (-1, 0), "right": (1, 0), "top": (0, -1), "bottom": (0, 1)}
HEAD = ((0.0, 1.0), (2.7, 8.0), (-2.7, 8.0))  # angle and distance in pixels of its three corners, seen from the end


class Arrow:
    """An arrow between two parts, which follows them wherever they are moved; made by `arrow`."""

    def __init__(self, start: Part, end: Part, label: str, role: str, sides: tuple[str, str] | None, reach: float):
        self.start, self.end, self.label, self.role, self._sides, self.reach = start, end, label, role, sides, reach

    @property
    def sides(self) -> tuple[str, str]:
        """The side that the arrow leaves and the one that it meets."""
        return self._sides or _facing(self.start.bounds, self.end.bounds)

    def corners(self) -> list[Point]:
        """Return the points between which the arrow runs straight: two, or a curve between two."""
        (x0, y0), (x1, y1) = (
            (part.side(side)[0] + SPACE * OUTWARD[side][0], part.side(side)[1] + SPACE * OUTWARD[side][1])
            for part, side in zip((self.start, self.end), self.sides, strict=True)
        )
        leaves, meets = self.sides
        level = leaves in ("left", "right")
        if leaves == meets and level:  # around what stands between them
            outside = min(x0, x1) - self.reach if leaves == "left" else max(x0, x1) + self.reach
            return [(x0, y0), (outside, y0), (outside, y1), (x1, y1)]
        if leaves == meets:
            outside = min(y0, y1) - self.reach if leaves == "top" else max(y0, y1) + self.reach
            return [(x0, y0), (x0, outside), (x1, outside), (x1, y1)]
        if level != (meets in ("left", "right")):
            return [(x0, y0), (x1, y0) if level else (x0, y1), (x1, y1)]
        return [(x0, y0), (x1, y1)]

    @property
    def bounds(self) -> Box:
        """The rectangle around the arrow and its label, in pixels."""
        boxes = [(x - SPACE, y - SPACE, x + SPACE, y + SPACE) for x, y in self.corners()]
        if self.label:
            x, y, anchor, _, gap = self._label()
            width = text_width(self.label, strong=True)
            left = x - width / 2 if anchor == "middle" else x
            boxes.append((left, y - SIZE, left + width, y + gap + text_height(self.label) - SIZE - LINE + 6))
        return around(boxes)

    def draw(self) -> str:
        """Return the SVG of the line, its head and its label."""
        colour = "var(--ink)" if self.role == "plain" else f"var(--{self.role})"
        path, before = self._path()
        x1, y1 = self.corners()[-1]
        angle = atan2(y1 - before[1], x1 - before[0])
        head = " ".join(f"{short(x1 + far * cos(angle + a))},{short(y1 + far * sin(angle + a))}" for a, far in HEAD)
        line = (
            f'<path class="line" d="{path}" style="stroke:{colour}"/><polygon points="{head}" style="fill:{colour}"/>'
        )
        return line + (self._draw_label() if self.label else "")

    def _path(self) -> tuple[str, Point]:
        """Return the path, and a point from which its last stretch comes."""
        corners = self.corners()
        (x0, y0), (x1, y1) = corners[0], corners[-1]
        if len(corners) > 2:
            return _rounded(corners), corners[-2]
        if _is_straight(corners):
            return f"M{xy(x0, y0)}L{xy(x1, y1)}", (x0, y0)
        if self.sides[0] in ("left", "right"):
            middle = (x0 + x1) / 2
            return f"M{xy(x0, y0)}C{xy(middle, y0)} {xy(middle, y1)} {xy(x1, y1)}", (middle, y1)
        middle = (y0 + y1) / 2
        return f"M{xy(x0, y0)}C{xy(x0, middle)} {xy(x1, middle)} {xy(x1, y1)}", (x1, middle)

    def _label(self) -> tuple[float, float, str, bool, float]:
        """Return x, y and anchor of the label's first line, whether it is on the arrow, and the step to the next."""
        corners = self.corners()
        (x0, y0), (x1, y1) = max(zip(corners, corners[1:], strict=False), key=lambda pair: _distance(*pair))
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        centred = y + 5 - (text_height(self.label) - LINE) / 2
        if abs(y1 - y0) < 1:  # the first line above the arrow, the others below it
            return x, y - 9, "middle", False, LINE + 8
        if abs(x1 - x0) < 1:  # beside it; one line nearer to its head, since arrows from one part begin together
            return x + 10, centred + ((y1 - y0) / 8 if text_height(self.label) == LINE else 0), "start", False, LINE
        return x, centred, "middle", True, LINE

    def _draw_label(self) -> str:
        x, y, anchor, on_the_arrow, gap = self._label()
        words = lines_of_text(x, y, self.label, anchor, "strong", self.role, gap)
        if not on_the_arrow:
            return words
        width = text_width(self.label, strong=True) + 6
        return rectangle(x - width / 2, y - SIZE, width, text_height(self.label) + 2, "paper", 1, 0) + words


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
    leads it around what stands between, `reach` pixels outside. The first line of the `label` stands above a level
    arrow, the next below it. Raises ValueError for an unknown role or side.
    """
    check_role(role)
    for side in sides or ():
        check_side(side)
    return Arrow(start, end, label, role, sides, reach)


def _facing(start: Box, end: Box) -> tuple[str, str]:
    """Return the sides of two rectangles that face each other, those with the larger space between them."""
    spaces = {
        ("right", "left"): end[0] - start[2],
        ("left", "right"): start[0] - end[2],
        ("bottom", "top"): end[1] - start[3],
        ("top", "bottom"): start[1] - end[3],
    }
    return max(spaces, key=spaces.get)


def _is_straight(corners: list[Point]) -> bool:
    (x0, y0), (x1, y1) = corners
    return abs(x0 - x1) < 1 or abs(y0 - y1) < 1


def _distance(start: Point, end: Point) -> float:
    return hypot(end[0] - start[0], end[1] - start[1])


def _rounded(corners: list[Point], radius: float = 9) -> str:
    """Return a path through the corners that rounds them."""
    path = f"M{xy(*corners[0])}"
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        path += f"L{xy(*_towards(corner, before, radius))}Q{xy(*corner)} {xy(*_towards(corner, after, radius))}"
    return path + f"L{xy(*corners[-1])}"


def _towards(start: Point, end: Point, pixels: float) -> Point:
    """Return the point so many pixels from start to end, at most half of the way."""
    part = min(0.5, pixels / (_distance(start, end) or 1))
    return start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])
