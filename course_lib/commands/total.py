"""`course total`: one table of a whole course."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = ("course total course.toml --out totals",)


def run(
    settings: Annotated[
        Path, typer.Argument(metavar="COURSE.TOML", help="Names the assignments, their weights and due times.")
    ],
    out: Annotated[Path, typer.Option(help="Where the table and the page go.")] = Path("totals"),
) -> None:
    """Put the gradebooks of several assignments into one table, with lateness and weights."""
    from course_lib.grading.totals import total_command

    raise typer.Exit(total_command.total(settings, out))
