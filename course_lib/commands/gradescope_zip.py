"""`course gradescope-zip`: the autograder for Gradescope."""

from pathlib import Path
from typing import Annotated

import typer

from course_lib.commands._options import Only

EXAMPLES = ("course gradescope-zip --out autograder.zip", "course gradescope-zip --only 02.3 --seed 7")


def run(
    out: Annotated[Path, typer.Option(help="The archive to write.")] = Path("autograder.zip"),
    only: Only = None,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Let the container be the only lock.")] = False,
    seed: Annotated[int | None, typer.Option(help="The seed of the random cases; drawn anew by default.")] = None,
) -> None:
    """Write an archive that grades on Gradescope."""
    from course_lib.grading import gradescope

    gradescope.archive(out, only or (), unsafe, seed)
