"""A part of a drawing: it knows its size, and is placed relative to other parts."""

from collections.abc import Iterable

from course_lib.diagrams.svg import xy

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


class Part:
    """Something drawn: a rectangle of `width` and `height` pixels, placed relative to other parts.

    `drawn` is its SVG with the upper left corner at (0, 0). `margins` (left, top, right, bottom) is what stands around
    its body, such as names around the cells of a matrix: parts are aligned by their bodies. Each way to place a part
    returns it.

    >>> first, second = Part(20, 10), Part(30, 30)
    >>> second.right_of(first, gap=5).bounds
    (25.0, -10.0, 55.0, 20.0)
    """

    def __init__(self, width: float, height: float, drawn: str = "", margins: Box = (0, 0, 0, 0)):
        self.left, self.top, self.width, self.height = 0.0, 0.0, width, height
        self.drawn, self.margins = drawn, margins

    @property
    def bounds(self) -> Box:
        """Left, top, right and bottom, in pixels."""
        return self.left, self.top, self.left + self.width, self.top + self.height

    @property
    def body(self) -> Box:
        """The bounds without the margins."""
        left, top, right, bottom = self.bounds
        return left + self.margins[0], top + self.margins[1], right - self.margins[2], bottom - self.margins[3]

    @property
    def middle(self) -> Point:
        """The point in the middle of the body."""
        left, top, right, bottom = self.body
        return (left + right) / 2, (top + bottom) / 2

    def side(self, name: str) -> Point:
        """Return the point where an arrow meets this side: outside of the margins, at the middle of the body."""
        x, y = self.middle
        left, top, right, bottom = self.bounds
        return {"left": (left, y), "right": (right, y), "top": (x, top), "bottom": (x, bottom)}[name]

    def move(self, right: float, down: float) -> "Part":
        """Move by so many pixels."""
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

    def draw(self) -> str:
        """Return the SVG, where the part stands."""
        return f'<g transform="translate({xy(self.left, self.top)})">{self.drawn}</g>'

    def _shift(self, other: "Part", axis: int, align: str) -> float:
        """Return by how much to move along an axis, 0 for right and 1 for down, to be aligned with `other`."""
        if align not in ("middle", "start"):
            raise ValueError(f'`align` is {align!r}, expected "middle" or "start"')
        return other.middle[axis] - self.middle[axis] if align == "middle" else other.body[axis] - self.body[axis]


def around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that holds all boxes.

    >>> around([(0, 0, 2, 2), (1, -1, 3, 1)])
    (0, -1, 3, 2)
    """
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)
