"""`course check`: are my answers right?"""

from typing import Annotated

import typer

from course_lib.commands._catalogue import OWN, Package, learner_place
from course_lib.commands._options import AsJson
from course_lib.commands._torch import importing_torch

EXAMPLES = ("course check 02.3", "course check 02 03 --all")


def run(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="Chapters (02), exercises (02.3), or paths of notebooks."),
    ],
    seed: Annotated[int | None, typer.Option(help="Repeat the random cases of an earlier check.")] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Say all about every exercise, and not only about the first that fails."),
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Print the case that fails as code to paste.")] = False,
    as_json: AsJson = False,
    package: Package = OWN,
) -> None:
    """Check exercises and say what is wrong with them."""
    from course_lib.grading.sandbox.fork_server import start_strongest

    started = start_strongest()  # before torch is imported here, so that both imports go on at once
    with importing_torch():
        from course_lib.grading import command

    raise typer.Exit(command.check(learner_place(package), targets, seed, started, as_json, every, show))
