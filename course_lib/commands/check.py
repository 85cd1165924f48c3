"""`course check`: are my answers right?"""

from typing import Annotated

import typer

from course_lib.commands._catalogue import OWN, Package, learner_place
from course_lib.commands._options import AsJson
from course_lib.commands._torch import importing_torch


def run(
    target: Annotated[str, typer.Argument(help="A chapter (02), an exercise (02.3), or the path of a notebook.")],
    seed: Annotated[int | None, typer.Option(help="Repeat the random cases of an earlier check.")] = None,
    as_json: AsJson = False,
    package: Package = OWN,
) -> None:
    """Check exercises and say what is wrong with them."""
    from course_lib.grading.sandbox.fork_server import start_strongest

    started = start_strongest()  # before torch is imported here, so that both imports go on at once
    with importing_torch():
        from course_lib.grading import command

    raise typer.Exit(command.check(learner_place(package), target, seed, started, as_json))
