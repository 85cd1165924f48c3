"""`course progress`: what is done, and what comes next."""

import typer

from course_lib.commands._catalogue import OWN, Package, learner_place
from course_lib.commands._options import AsJson
from course_lib.commands._torch import importing_torch

EXAMPLES = ("course progress", "course progress --json")


def run(as_json: AsJson = False, package: Package = OWN) -> None:
    """Show the points of every exercise at its last check, and what to do next."""
    with importing_torch():
        from course_lib.grading import command

    raise typer.Exit(command.show_progress(learner_place(package), as_json))
