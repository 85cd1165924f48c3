"""The ledger of claims as a reader sees it: a table for each chapter, with a number line of all values in each row."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator
from html import escape

from course_lib.authoring.ledger_entries import bound, holds, lead
from course_lib.measurements import CLEAR

WIDTH, HEIGHT, EDGE = 150, 32, 6  # of a number line, in pixels; EDGE is left free at both ends
# Shape and filling tell them apart where colours cannot be seen; the colours have enough contrast in light and dark.
STYLE = (
    "<style>.ledger svg{display:block}.ledger td,.ledger th{text-align:left}.ledger .axis{stroke:#888}"
    ".ledger .permitted{stroke:#888;stroke-opacity:.4;stroke-width:9}.ledger .bound{stroke:currentColor;stroke-width:2}"
    ".ledger .claim{fill:#3182bd}.ledger .control{fill:none;stroke:currentColor;stroke-width:1.5}"
    ".ledger .opponent{fill:#2b9a66}.ledger .broken{fill:none;stroke:#d9480f;stroke-width:2}</style>"
)
MARKS = {  # what is drawn from the left end of a mark, or from the top of a triangle: the marks of a line are one path
    "claim": "M{left:.1f} {y:.1f}a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "control": "M{left:.1f} {upper:.1f}h5v5h-5z",
    "opponent": "M{x:.1f} {upper:.1f}l3.5 6h-7z",
    "broken": "M{left:.1f} {upper:.1f}l6 6m0-6l-6 6",
}


def measured(chapter: dict) -> str:
    """Return how a chapter was measured, in Markdown, with a link to it."""
    seconds = min(chapter["seconds"])  # what else the machine does can only make it more
    return (
        f"**[{chapter['title']}]({chapter['page']})**: measured on {chapter['measured']} under "
        f"{len(chapter['seeds'])} seeds, {seconds:.0f} s for the quickest ({chapter['processor']}, "
        f"Python {chapter['versions']['python']}, torch {chapter['versions']['torch']})"
    )


def tables(chapter: dict) -> str:
    """Return the claims and controls of a chapter as a table in HTML, and its opponents as a second one, if it has any.

    A row has a number line: the bound is an upright stroke, the permitted side is thick, and each seed has a mark. On
    the line of an opponent stand its marks, ours above them, and no bound.
    """
    opponents = [claim for claim in chapter["claims"] if claim["kind"] == "opponent"]
    stated = [claim for claim in chapter["claims"] if claim["kind"] != "opponent"]
    head = ("statement", "bound", "values", "worst", "spread")
    parts = [STYLE, _table("Claims and controls", head, map(_row, stated))]
    if opponents:
        head = ("baseline", "its mean", "ours", "values", "ours is")
        caption = (
            "Baselines: rivals that might win. Means over the seeds; the standard error is that of the difference, "
            f"seed by seed, and less than {CLEAR} of them are no clear difference. One run: the seeds gave equal values"
        )
        parts.append(_table(caption, head, map(_row_of_opponent, opponents)))
    return "\n".join([f'<div class="ledgers" style="--rows: {len(chapter["claims"])}">', *parts, "</div>"])


def _table(caption: str, head: tuple[str, ...], rows: Iterator[str]) -> str:
    columns = "".join(f'<th scope="col">{each}</th>' for each in head)
    # It scrolls where it is wider than its window, so the keyboard must reach it, also before it is laid out.
    opened = '<table class="table ledger" tabindex="0">'
    return "\n".join([opened, f"<caption>{caption}</caption>", f"<tr>{columns}</tr>", *rows, "</table>"])


def _row(claim: dict) -> str:
    kind = "<em>control:</em> " if claim["kind"] == "control" else ""
    verdict = "" if holds(claim) else " <strong>(broken)</strong>"
    cells = (bound(claim), _number_line(claim), f"{claim['worst']:.4g}", f"{claim['spread']:.2g}")
    return _cells(f"{kind}{escape(claim['name'])}{verdict}", *cells)


def _row_of_opponent(opponent: dict) -> str:
    theirs, ours = (f"{statistics.fmean(opponent[whose]):.4g}" for whose in ("values", "ours"))
    direction = "" if opponent["higher_is_better"] else " (lower is better)"
    return _cells(f"{escape(opponent['name'])}{direction}", theirs, ours, _number_line(opponent), lead(opponent))


def _cells(name: str, *others: str) -> str:
    return f'<tr><th scope="row">{name}</th>' + "".join(f"<td>{each}</td>" for each in others) + "</tr>"


def _number_line(claim: dict) -> str:
    """Return an SVG of all values, with their numbers for whoever cannot see it."""
    low, high = _scale(claim)

    def place(value: float) -> float:
        # What could not be computed stands at the far end of the forbidden side.
        share = (value - low) / (high - low) if math.isfinite(value) else float(claim["at_least"] is None)
        return EDGE + share * (WIDTH - 2 * EDGE)

    middle = HEIGHT / 2
    parts = [f'<path class="axis" d="M{EDGE} {middle:g}H{WIDTH - EDGE}"/>']
    if claim["kind"] != "opponent":
        stroke = place(_limit(claim))
        end = WIDTH - EDGE if claim["at_least"] is not None else EDGE
        parts.append(f'<path class="permitted" d="M{stroke:.1f} {middle:g}H{end}"/>')
        parts.append(f'<path class="bound" d="M{stroke:.1f} 2V{HEIGHT - 2}"/>')
    words = []
    rows = _values_by_kind(claim)
    for row, (kind, values) in enumerate(rows.items()):
        centre = middle + 14 * (row - (len(rows) - 1) / 2)  # ours above the rival's
        words.append(f"{kind}: " + ", ".join(f"{value:.4g}" for value in values))
        drawn = defaultdict(str)  # by the class of the mark
        for seed, value in enumerate(values):
            x = place(value)
            y = centre + 1.5 * (seed - (len(values) - 1) / 2)  # one above the other: equal values stay visible
            mark = kind if holds(claim, value) else "broken"
            drawn[mark] += MARKS[mark].format(x=x, y=y, left=x - 3, upper=y - 3)
        parts += [f'<path class="{mark}" d="{path}"/>' for mark, path in drawn.items()]
    label = escape("; ".join(words) + f"; the line runs from {low:.3g} to {high:.3g}")
    return (
        f'<svg role="img" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f"<title>{label}</title>{''.join(parts)}</svg>"
    )


def _values_by_kind(claim: dict) -> dict[str, list[float]]:
    """Return the values on a number line by the kind of their mark: above an opponent's, there are ours."""
    if claim["kind"] == "opponent":
        return {"claim": claim["ours"], "opponent": claim["values"]}
    return {claim["kind"]: claim["values"]}


def _limit(claim: dict) -> float:
    return claim["at_least"] if claim["at_least"] is not None else claim["at_most"]


def _scale(claim: dict) -> tuple[float, float]:
    """Return the ends of the number line of a claim: 0 to 1 for shares, else from 0 to the farthest value."""
    numbers = [0] if claim["kind"] == "opponent" else [0, _limit(claim)]
    for values in _values_by_kind(claim).values():
        numbers += filter(math.isfinite, values)
    low, high = min(numbers), max(numbers)
    shares = low == 0 and 0.1 <= high <= 1
    return (0, 1) if shares or low == high else (low, high)
