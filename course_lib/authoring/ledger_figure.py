"""The ledger of claims as a reader sees it: a table for each chapter, and one picture of all values."""

import math
import textwrap

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from course_lib.authoring.ledger_entries import bound, holds
from course_lib.figures import WIDTH

LINE = 0.23  # inches: one line of text
LETTERS = 50  # in one line, before the bound at its end
# Shape and filling tell the three apart where colours cannot be seen.
MARKS = {
    "claim": {"marker": "o", "color": "#0072B2"},
    "control": {"marker": "s", "color": "#000000", "markerfacecolor": "#FFFFFF"},
    "broken": {"marker": "X", "color": "#000000", "markerfacecolor": "#D55E00"},
}


def table_of_claims(chapter: dict) -> str:
    """Return one chapter of the ledger as a Markdown table, under a line that says how it was measured."""
    seconds = min(chapter["seconds"])  # what else the machine does can only make it more
    lines = [
        f"**[{chapter['title']}]({chapter['page']})**: measured on {chapter['measured']} under "
        f"{len(chapter['seeds'])} seeds, {seconds:.0f} s for the quickest ({chapter['processor']}, "
        f"Python {chapter['versions']['python']}, torch {chapter['versions']['torch']})",
        "",
        "| statement | bound | worst | spread |",
        "| --- | ---: | ---: | ---: |",
    ]
    for claim in chapter["claims"]:
        name = claim["name"].replace("|", r"\|")
        kind = "control: " if claim["kind"] == "control" else ""
        verdict = "" if holds(claim) else " (**broken**)"
        lines.append(f"| {kind}{name}{verdict} | {bound(claim)} | {claim['worst']:.4g} | {claim['spread']:.2g} |")
    return "\n".join(lines)


def show_ledger(chapters: dict[str, dict]) -> Figure:
    """Draw each claim as a number line: the bound as an upright stroke, the permitted side thick, a mark for each seed.

    A share runs from 0 to 1; any other quantity has the scale that is written at the ends of its line.
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
    axes.legend(handles=_explanation(), ncols=4, loc="upper center", frameon=False, fontsize=11, columnspacing=1.2)
    return figure


def _draw_claim(axes: Axes, claim: dict, depth: float) -> float:
    """Draw the text of a claim and under it its number line; return the depth at which the next one begins."""
    lines = textwrap.wrap(claim["name"], LETTERS)
    axes.text(0, depth, "\n".join(lines), fontsize=12, va="top", parse_math=False)
    axes.text(1, depth, bound(claim), fontsize=12, va="top", ha="right")
    depth += LINE * (len(lines) + 0.7)
    low, high = _scale(claim)
    limit = claim["at_least"] if claim["at_least"] is not None else claim["at_most"]
    stroke = (limit - low) / (high - low)
    permitted = (stroke, 1) if claim["at_least"] is not None else (0, stroke)
    axes.plot((0, 1), (depth, depth), color="#999999", linewidth=1, linestyle="-", zorder=1)
    axes.plot(permitted, (depth, depth), color="#D5D5D5", linewidth=10, linestyle="-", solid_capstyle="butt", zorder=1)
    axes.plot((stroke, stroke), (depth - 0.12, depth + 0.12), color="#000000", linewidth=2.5, linestyle="-", zorder=2)
    middle = (len(claim["values"]) - 1) / 2
    for seed, value in enumerate(claim["values"]):
        kind = claim["kind"] if holds(claim, value) else "broken"
        # What could not be computed stands at the far end of the forbidden side.
        place = (value - low) / (high - low) if math.isfinite(value) else float(claim["at_least"] is None)
        height = depth + 0.035 * (seed - middle)  # one above the other: equal values stay visible
        axes.plot(place, height, markersize=6, linestyle="none", alpha=0.75, zorder=3, **MARKS[kind])
    for end, value in ((-0.025, low), (1.025, high)):
        axes.text(end, depth, f"{value:.2g}", fontsize=10, va="center", ha="right" if end < 0 else "left")
    return depth + 1.6 * LINE


def _scale(claim: dict) -> tuple[float, float]:
    """Return the ends of the number line of a claim: 0 to 1 for shares, else from 0 to the farthest value."""
    limit = claim["at_least"] if claim["at_least"] is not None else claim["at_most"]
    numbers = [0, limit, *filter(math.isfinite, claim["values"])]
    low, high = min(numbers), max(numbers)
    shares = low == 0 and 0.1 <= high <= 1
    return (0, 1) if shares or low == high else (low, high)


def _explanation() -> list[Line2D]:
    """Return the entries of the legend; `broken` is explained although, with luck, it is never seen."""
    seeds = [Line2D([], [], linestyle="none", markersize=6, label=kind, **look) for kind, look in MARKS.items()]
    return [*seeds, Line2D([], [], color="#D5D5D5", linewidth=10, linestyle="-", label="permitted")]
