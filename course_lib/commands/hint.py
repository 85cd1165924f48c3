"""`course hint`: one hint more."""

from typing import Annotated

import typer

from course_lib.commands._catalogue import OWN, Package, learner_place
from course_lib.commands._options import AsJson
from course_lib.commands._torch import importing_torch

EXAMPLES = ("course hint 02.3", "course hint 02.3 1")


def run(
    exercise: Annotated[str, typer.Argument(help="An exercise such as 02.3.")],
    number: Annotated[int | None, typer.Argument(help="Show this one again; by default the next.")] = None,
    as_json: AsJson = False,
    package: Package = OWN,
) -> None:
    """Show the next hint for an exercise; each says more than the one before."""
    with importing_torch():
        from course_lib.grading import command

    raise typer.Exit(command.hint(learner_place(package), exercise, number, as_json))
