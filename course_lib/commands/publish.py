"""`course publish`: a trained model in a file to share."""

from pathlib import Path
from typing import Annotated

import typer

from course_lib.commands._options import Run
from course_lib.commands._torch import importing_torch

EXAMPLES = ("course publish runs/language-model model", "course publish runs/language-model model --force")


def run(
    run: Run,
    file: Annotated[Path, typer.Argument(help="Where to; .safetensors and .json are added.")],
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Write a language model in float16, with the facts about it."""
    with importing_torch():
        from course_lib.runs import publish

    publish.publish(run, file, force)
