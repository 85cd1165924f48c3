"""What the charts of explorers share: a line through points, and words at a place."""

from collections.abc import Iterable


def path(points: Iterable[tuple[float, float]]) -> str:
    """Return what draws a line through points (x, y), for the attribute `d` of a path.

    >>> path([(-1, 0.5), (0, 2.0)])
    'M-1 0.5L0 2'
    """
    return "M" + "L".join(f"{x} {y:g}" for x, y in points)


def label(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """Return words at a place of a chart, in pixels; `anchor` says which part of them stands there.

    >>> label(10, 15, "score", "start")
    '<text x="10.0" y="15.0" text-anchor="start">score</text>'
    """
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
