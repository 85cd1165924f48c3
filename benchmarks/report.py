"""What was measured, in words and pictures: a table on the terminal, and the parts of the book's page.

The page, `book/how_fast_is_it.md`, is written by hand and has no number in it. It includes a Markdown file for each
kind of work and a picture where candidates did the same work; both are made here, of the result file alone.
"""

from dataclasses import replace
from statistics import median

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from benchmarks.measuring import Measured, Spread
from benchmarks.results import Family, Goal, Row
from benchmarks.rows import NAMES
from course_lib.figures import DARK_BLUE, LIGHT_BLUE, WIDTH, use_course_style
from course_lib.files import complete_or_absent, write_atomically
from course_lib.project import root

PARTS = root() / "book" / "_data" / "how_fast"
PICTURES = root() / "book" / "_static"
NOT_YET = "*Not measured yet.*\n"
HEAD = ("what", "time", "ratio", "half of the rounds")


def text(title: str, row: Row) -> str:
    """Return a row for the terminal: a table whose columns stand below each other, goals and notes."""
    lines = ["", f"{title}: {row.title}"]
    if row.measured:
        table = [_head(row), *(_cells(each, row.comparable) for each in in_order(row))]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for cells in table:
            first, *others = (
                cell.rjust(width) if number else cell.ljust(width)
                for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
            )
            lines.append("  " + "  ".join([first, *others]))
    return "\n".join([*lines, *(f"  {_aim(goal)}" for goal in row.goals), *(f"  {note}" for note in row.notes)])


def markdown(family: Family) -> str:
    """Return the tables of one kind of work for the page."""
    parts = []
    for row in family.rows:
        parts.append(f"**{row.title}**")
        if row.measured:
            table = [_head(row), ["---", *["---:"] * (len(_head(row)) - 1)]]
            table += [_cells(each, row.comparable) for each in in_order(row)]
            parts.append("\n".join(f"| {' | '.join(cells)} |" for cells in table))
        if row.goals or row.notes:
            parts.append("\n".join(f"- {line}" for line in [*map(_aim, row.goals), *row.notes]))
    return "\n\n".join([*parts, conditions(family)]) + "\n"


def conditions(family: Family) -> str:
    """Return in a sentence on what a family was measured."""
    facts = family.conditions
    sentence = (
        f"Measured on {facts['date']}: {facts['processor']}, one thread, torch {facts['torch']}, "
        f"Python {facts['python']}, the course at {facts['course']}"
    )
    peers = [f"{name} at {commit}" for name, commit in facts["peers"].items()]
    shown = {each.name for row in family.rows for each in row.measured}
    peers = [peer for peer in peers if peer.split(" at ")[0] in shown]
    return f"*{sentence}{'; ' if peers else ''}{', '.join(peers)}.*"


def spread(families: dict[str, Family]) -> str:
    """Return in a sentence how far times and ratios spread: the median over all that is compared but the fastest."""
    compared = [row for family in families.values() for row in family.rows if row.comparable]
    others = [each for row in compared for each in row.measured if each.ratio.lower < each.ratio.upper]
    times, ratios = (median(_width(getattr(each, name)) for each in others) for name in ("seconds", "ratio"))
    return (
        f"In the tables below, the middle half of an implementation's times is typically {times:.0%} wide, and the "
        f"middle half of its ratios {ratios:.0%}.\n"
    )


def _width(values: Spread) -> float:
    """Return how far the quartiles are apart, as a fraction of the median."""
    return (values.upper - values.lower) / values.median


def in_order(row: Row) -> list[Measured]:
    """Return the candidates of a row: the fastest first where they did the same work, else as they came."""
    return sorted(row.measured, key=lambda each: each.ratio.median) if row.comparable else row.measured


def _head(row: Row) -> list[str]:
    return list(HEAD) if row.comparable else [HEAD[0], HEAD[1], HEAD[3]]


def _cells(each: Measured, comparable: bool) -> list[str]:
    if not comparable:
        spread = f"{duration(each.seconds.lower)} to {duration(each.seconds.upper)}"
        return [each.name, duration(each.seconds.median), spread]
    spread = f"{each.ratio.lower:.2f} to {each.ratio.upper:.2f}"
    return [each.name, duration(each.seconds.median), f"{each.ratio.median:.2f}", spread]


def duration(seconds: float) -> str:
    """Return a time with its unit.

    >>> duration(0.014), duration(0.123), duration(2.5)
    ('14.0 ms', '123 ms', '2.50 s')
    """
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:#.3g}".rstrip(".") + " ms"


def _aim(goal: Goal) -> str:
    side, verdict = ("at least" if goal.at_least else "at most"), ("reached" if goal.reached else "not reached")
    return f"Aim: {goal.text}, {side} {goal.bound:,g}; it is {_value(goal)}, {verdict}."


def _value(goal: Goal) -> str:
    """Return the value with three digits, or with the decimals that show on which side of the bound it is."""
    short = f"{goal.value:,.0f}" if goal.value >= 100 else f"{goal.value:.3g}"
    longer = (f"{goal.value:,.{decimals}f}" for decimals in range(1, 20))
    same_side = (each for each in (short, *longer) if _read(goal, each).reached == goal.reached)
    return next(same_side)


def _read(goal: Goal, value: str) -> Goal:
    """Return the goal as who reads this value sees it."""
    return replace(goal, value=float(value.replace(",", "")))


def draw(family: Family) -> Figure | None:
    """Draw the ratios of one kind of work, a panel for each row that compares at least three; None without one."""
    rows = [row for row in family.rows if row.comparable and len(row.measured) > 2]
    if not rows:
        return None
    use_course_style()
    heights = [len(row.measured) for row in rows]
    figure, axes = plt.subplots(
        len(rows),
        1,
        figsize=(WIDTH, 0.3 * sum(heights) + 0.9 * len(rows)),
        height_ratios=heights,
        sharex=True,
        squeeze=False,
    )
    for axis, row in zip(axes[:, 0], rows, strict=True):
        for place, each in enumerate(reversed(in_order(row))):
            colour = DARK_BLUE if each.name.startswith("ours") else LIGHT_BLUE
            ratio = each.ratio
            axis.plot([ratio.lower, ratio.upper], [place, place], color=colour, linestyle="-", linewidth=5)
            axis.plot(ratio.median, place, "o", color=colour, markersize=8)
        axis.axvline(1.0, color="black", linewidth=0.8, linestyle=":")
        axis.set_yticks(range(len(row.measured)), labels=[each.name for each in reversed(in_order(row))])
        axis.set_ylim(-0.6, len(row.measured) - 0.4)
        axis.set_title(row.title.partition(" (")[0], loc="left")
        axis.set_xscale("log")
    largest = max(each.ratio.upper for row in rows for each in row.measured)
    ticks = [tick for tick in (1, 1.2, 1.5, 2, 3, 5, 7, 10, 20, 30, 50) if tick <= 1.1 * largest]
    if len(ticks) > 7:
        ticks = [tick for tick in ticks if tick not in (1.2, 1.5, 7, 30)]
    axes[-1, 0].set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    axes[-1, 0].minorticks_off()
    axes[-1, 0].set_xlabel("processor time, as a multiple of the fastest")
    return figure


def write_page(families: dict[str, Family]) -> None:
    """Write the tables and the pictures of all that was measured."""
    write_atomically(PARTS / "spread.md", spread(families))
    for name in NAMES:
        family = families.get(name)
        write_atomically(PARTS / f"{name}.md", markdown(family) if family else NOT_YET)
        figure = draw(family) if family else None
        if figure is not None:
            with complete_or_absent(PICTURES / f"how_fast_{name}.png") as part:
                figure.savefig(part, format="png", metadata={"Software": None})
            plt.close(figure)
