"""A drawing made of parts, with a title and a description, and the way it is shown."""

from collections.abc import Sequence
from html import escape
from math import ceil, floor

from course_lib.diagrams.arrows import Arrow
from course_lib.diagrams.groups import Group
from course_lib.diagrams.parts import Part
from course_lib.diagrams.svg import STYLE

MARGIN = 4  # pixels around all parts


class Diagram:
    """A drawing with a title and a description for those who do not see it; shows itself in Jupyter and in the book.

    `narrow` holds the same, arranged anew, for a column in which `parts` would not fit, such as on a telephone. What is
    wider than its column scrolls in a box of its own, which the keyboard reaches. Raises ValueError where parts, title
    or description are missing.
    """

    def __init__(
        self, title: str, description: str, parts: Sequence[Part | Arrow], narrow: Sequence[Part | Arrow] = ()
    ):
        for name, words in (("title", title), ("description", description)):
            if not words.strip():
                raise ValueError(f"`{name}` is {words!r}, expected words that tell what is drawn")
        self.title, self.description = title, description
        self.wide, self.narrow = Group(parts), Group(narrow) if narrow else None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, found from the parts."""
        left, top, right, bottom = _view(self.wide)
        return right - left, bottom - top

    def svg(self) -> str:
        """Return the wide drawing as a file of its own, with its colours."""
        return self._svg(self.wide, "course-diagram", f"<style>{STYLE}</style>")

    def __repr__(self) -> str:
        return f"<Diagram: {self.title}>"

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        if self.narrow is None:
            style, drawn = STYLE, self._svg(self.wide)
        else:
            width, _ = self.size
            wide, narrow = f"from-{width}", f"below-{width}"  # the same for all drawings of this width on a page
            style = f"{STYLE}.course-diagram .{narrow} {{ display: none }}\n@container (max-width: {width - 1}px) {{ "
            style += f".course-diagram .{wide} {{ display: none }} .course-diagram .{narrow} {{ display: block }} }}\n"
            drawn = self._svg(self.wide, wide) + self._svg(self.narrow, narrow)
        label = f'role="region" tabindex="0" aria-label="{escape(self.title)}"'
        return f'<div class="course-diagram" {label}><style>{style}</style>{drawn}</div>'

    def _svg(self, group: Group, look: str = "", style: str = "") -> str:
        left, top, right, bottom = _view(group)
        size = f'viewBox="{left} {top} {right - left} {bottom - top}" width="{right - left}" height="{bottom - top}"'
        words = f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
        start = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" class="{look}" {size}>'
        return f"{start}{words}{style}{group.draw()}</svg>"


def _view(group: Group) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the window that shows a group whole."""
    left, top, right, bottom = group.bounds
    return floor(left) - MARGIN, floor(top) - MARGIN, ceil(right) + MARGIN, ceil(bottom) + MARGIN
