"""`course claims`: the ledger of what the chapters claim."""

from typing import Annotated

import typer

from course_lib.commands._options import Chapters

EXAMPLES = ("course claims 02", "course claims 02 09 --seeds 5")


def run(
    chapters: Chapters = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, counted from 0.")] = 5,
) -> None:
    """Execute chapters under several seeds and write the ledger of claims."""
    from course_lib.authoring import measure_claims

    raise typer.Exit(measure_claims.measure(chapters or [], seeds))
