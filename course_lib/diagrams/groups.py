"""Parts that are placed together: side by side, one below the other, or as layers with arrows between them."""

from collections.abc import Sequence

from course_lib.diagrams.arrows import Arrow, arrow
from course_lib.diagrams.parts import Box, Part, around


class Group(Part):
    """Several parts, and arrows between them, that are placed as one. Raises ValueError without a part."""

    def __init__(self, parts: Sequence[Part | Arrow]):
        self.parts = list(parts)
        if not any(isinstance(part, Part) for part in self.parts):
            raise ValueError(f"`parts` is {self.parts!r}, expected at least one part")

    @property
    def bounds(self) -> Box:
        """The rectangle around all parts and arrows."""
        return around(part.bounds for part in self.parts)

    @property
    def body(self) -> Box:
        """The rectangle around the bodies of all parts."""
        return around(part.body for part in self.parts if isinstance(part, Part))

    def move(self, right: float, down: float) -> "Group":
        """Move every part by so many pixels; arrows follow."""
        for part in self.parts:
            if isinstance(part, Part):
                part.move(right, down)
        return self

    def draw(self) -> str:
        """Return the SVG of all parts, arrows last."""
        return "".join(part.draw() for part in sorted(self.parts, key=lambda part: isinstance(part, Arrow)))


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
