"""What a chapter states, as a reader sees it: one line for a statement, one table for those of an experiment."""

import html
from dataclasses import dataclass, field

HEADINGS = ("What was measured", "Value", "Compared with ours, the baseline is")
MARKS = {"control": "control", "opponent": "baseline"}  # in the field's words; a claim is what a reader expects
LEFT = 'style="text-align: left"'  # Jupyter sets the cells of a table to the right


@dataclass(frozen=True)
class Statement:
    """One claim, control or opponent in words; `holds` is None where nothing has to hold.

    >>> print(Statement("control", "uniform attention", "0.28", "at most 0.5", holds=True))
    control  uniform attention: 0.28 (at most 0.5)
    """

    kind: str
    name: str
    value: str
    comparison: str
    holds: bool | None
    beside: str = ""  # for an opponent: how it stands to ours, in a word or three

    def __str__(self) -> str:
        return f"{self.kind:8} {self.name}: {self.value} ({self.comparison})"

    @property
    def verdict(self) -> str:
        """The last column in a terminal: the bound and whether the value keeps to it, or how ours compares."""
        return self.comparison + {True: " ✓", False: " ✗", None: ""}[self.holds]


@dataclass
class Findings:
    """The table of an experiment: HTML in Jupyter and in the book, and plain text in a terminal.

    With `decimals`, values without a standard error are written with so many. The text has the bound of every
    statement. The HTML is for readers: a bound is shown where the value breaks it, and the page of claims lists all.

    >>> Findings("On 500 scenes", [Statement("claim", "exact captions", "0.991", "at least 0.95", holds=True)])
    On 500 scenes
    claim  exact captions  0.991  at least 0.95 ✓
    """

    caption: str
    statements: list[Statement] = field(default_factory=list)
    decimals: int | None = None

    def __repr__(self) -> str:
        rows = [(each.kind, each.name, each.value, each.verdict) for each in self.statements]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([self.caption, *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        columns = 3 if any(each.beside for each in self.statements) else 2
        headings = "".join(f'<th scope="col" {LEFT}>{heading}</th>' for heading in HEADINGS[:columns])
        rows = "\n".join(f"<tr>{''.join(_cells(each)[:columns])}</tr>" for each in self.statements)
        return (
            f'<table class="table findings">\n<caption {LEFT}>{_escaped(self.caption)}</caption>\n'
            f"<thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
        )


def _cells(statement: Statement) -> tuple[str, str, str]:
    """Return the cells of one row; the kinds that a reader does not expect are marked by a word."""
    mark = f"<strong>{MARKS[statement.kind]}:</strong> " if statement.kind in MARKS else ""
    value = _escaped(statement.value)
    if statement.holds is False:
        value += f" <strong>✗ not {_escaped(statement.comparison)}</strong>"
    return (
        f'<th scope="row" {LEFT}>{mark}{_escaped(statement.name)}</th>',
        f"<td {LEFT}>{value}</td>",
        f"<td {LEFT}>{_escaped(statement.beside)}</td>",
    )


def _escaped(text: str) -> str:
    return html.escape(text).replace("± ", "±&nbsp;")
