"""The ledger of claims as a reader sees it: a table for each chapter, and one picture of all values."""

import math
import statistics
import textwrap

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from course_lib.authoring.ledger_entries import bound, holds, lead
from course_lib.figures import WIDTH
from course_lib.measurements import CLEAR

LINE = 0.23  # inches: one line of text
LETTERS = 50  # in one line, before the bound at its end
# Shape and filling tell them apart where colours cannot be seen.
MARKS = {
    "claim": {"marker": "o", "color": "#0072B2"},
    "control": {"marker": "s", "color": "#000000", "markerfacecolor": "#FFFFFF"},
    "opponent": {"marker": "^", "color": "#009E73"},
    "broken": {"marker": "X", "color": "#000000", "markerfacecolor": "#D55E00"},
}


def table_of_claims(chapter: dict) -> str:
    """Return one chapter of the ledger as a Markdown table, under a line that says how it was measured.

    Its opponents, if there are any, stand in a second table, with a word on how to read it.
    """
    seconds = min(chapter["seconds"])  # what else the machine does can only make it more
    lines = [
        f"**[{chapter['title']}]({chapter['page']})**: measured on {chapter['measured']} under "
        f"{len(chapter['seeds'])} seeds, {seconds:.0f} s for the quickest ({chapter['processor']}, "
        f"Python {chapter['versions']['python']}, torch {chapter['versions']['torch']})",
        "",
        "| statement | bound | worst | spread |",
        "| --- | ---: | ---: | ---: |",
    ]
    opponents = [claim for claim in chapter["claims"] if claim["kind"] == "opponent"]
    for claim in (each for each in chapter["claims"] if each not in opponents):
        kind = "control: " if claim["kind"] == "control" else ""
        verdict = "" if holds(claim) else " (**broken**)"
        figures = f"{bound(claim)} | {claim['worst']:.4g} | {claim['spread']:.2g}"
        lines.append(f"| {kind}{_name(claim)}{verdict} | {figures} |")
    return "\n".join(lines + (_table_of_opponents(opponents) if opponents else []))


def _table_of_opponents(opponents: list[dict]) -> list[str]:
    lines = [
        "",
        "A baseline is a rival that might win: another method, tuned by itself on the same data. The values are "
        "means over the seeds. The standard error is that of the difference, seed by seed; we call a difference of "
        f"less than {CLEAR} standard errors no clear difference. *One run* says that each seed gave the same two "
        "values, so that nothing was repeated.",
        "",
        "| baseline | its value | ours | ours is |",
        "| --- | ---: | ---: | --- |",
    ]
    for opponent in opponents:
        theirs, ours = (f"{statistics.fmean(opponent[whose]):.4g}" for whose in ("values", "ours"))
        direction = "" if opponent["higher_is_better"] else " (lower is better)"
        lines.append(f"| {_name(opponent)}{direction} | {theirs} | {ours} | {lead(opponent)} |")
    return lines


def _name(claim: dict) -> str:
    return claim["name"].replace("|", r"\|")


def show_ledger(chapters: dict[str, dict]) -> Figure:
    """Draw each claim as a number line: the bound as an upright stroke, the permitted side thick, a mark for each seed.

    On the line of an opponent stand its marks and ours, and no bound. A share runs from 0 to 1; any other quantity has
    the scale that is written at the ends of its line.
    """
    rows = [(entry["title"], claim) for entry in chapters.values() for claim in entry["claims"]]
    figure, axes = plt.subplots(layout="none")
    axes.set_position((0, 0, 1, 1))
    axes.set_axis_off()
    depth, last = 2 * LINE, None  # inches from the upper edge
    for chapter, claim in rows:
        if chapter != last:
            depth += LINE
            axes.text(0, depth, chapter, fontsize=13, weight="bold", va="center")
            depth, last = depth + 1.5 * LINE, chapter
        depth = _draw_claim(axes, claim, depth)
    figure.set_size_inches(WIDTH, depth)
    axes.set(xlim=(-0.11, 1.11), ylim=(depth, 0))
    legend = _explanation([claim for _, claim in rows])
    axes.legend(handles=legend, ncols=len(legend), loc="upper center", frameon=False, fontsize=11, columnspacing=1.2)
    return figure


def _draw_claim(axes: Axes, claim: dict, depth: float) -> float:
    """Draw the text of a claim and under it its number line; return the depth at which the next one begins."""
    lines = textwrap.wrap(claim["name"], LETTERS)
    axes.text(0, depth, "\n".join(lines), fontsize=12, va="top", parse_math=False)
    axes.text(1, depth, _condition(claim), fontsize=12, va="top", ha="right")
    depth += LINE * (len(lines) + 0.7)
    low, high = _scale(claim)
    axes.plot((0, 1), (depth, depth), color="#999999", linewidth=1, linestyle="-", zorder=1)
    if claim["kind"] != "opponent":
        _draw_bound(axes, claim, (_limit(claim) - low) / (high - low), depth)
    kinds = _values_by_kind(claim)
    for row, (kind, values) in enumerate(kinds.items()):
        middle = (len(values) - 1) / 2
        centre = depth + 0.17 * (row - (len(kinds) - 1) / 2)  # ours above the rival's
        for seed, value in enumerate(values):
            look = MARKS[kind if holds(claim, value) else "broken"]
            # What could not be computed stands at the far end of the forbidden side.
            place = (value - low) / (high - low) if math.isfinite(value) else float(claim["at_least"] is None)
            height = centre + 0.035 * (seed - middle)  # one above the other: equal values stay visible
            axes.plot(place, height, markersize=6, linestyle="none", alpha=0.75, zorder=3, **look)
    for end, value in ((-0.025, low), (1.025, high)):
        axes.text(end, depth, f"{value:.2g}", fontsize=10, va="center", ha="right" if end < 0 else "left")
    return depth + 1.6 * LINE


def _draw_bound(axes: Axes, claim: dict, stroke: float, depth: float) -> None:
    """Draw the bound at `stroke`, between 0 and 1, and the side of it that is permitted."""
    permitted = (stroke, 1) if claim["at_least"] is not None else (0, stroke)
    axes.plot(permitted, (depth, depth), color="#D5D5D5", linewidth=10, linestyle="-", solid_capstyle="butt", zorder=1)
    axes.plot((stroke, stroke), (depth - 0.12, depth + 0.12), color="#000000", linewidth=2.5, linestyle="-", zorder=2)


def _condition(claim: dict) -> str:
    """Return what stands to the right of the name: the bound, or which of the two sides wins."""
    if claim["kind"] == "opponent":
        return "higher wins" if claim["higher_is_better"] else "lower wins"
    return bound(claim)


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


def _explanation(claims: list[dict]) -> list[Line2D]:
    """Return the entries of the legend; `broken` is explained although, with luck, it is never seen."""
    opposed = any(claim["kind"] == "opponent" for claim in claims)
    marks = {kind: look for kind, look in MARKS.items() if opposed or kind != "opponent"}
    seeds = [Line2D([], [], linestyle="none", markersize=6, label=kind, **look) for kind, look in marks.items()]
    return [*seeds, Line2D([], [], color="#D5D5D5", linewidth=10, linestyle="-", label="permitted")]
