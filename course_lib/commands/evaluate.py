"""`course evaluate`: what a trained model is worth."""

from typing import Annotated

import typer

from course_lib.commands._options import Run
from course_lib.commands._torch import importing_torch

EXAMPLES = ("course evaluate runs/language-model", "course evaluate runs/translation --device cuda")


def run(run: Run, device: Annotated[str, typer.Option(help="cpu, cuda or mps (a Mac).")] = "cpu") -> None:
    """Measure a trained model on data that it has not seen."""
    with importing_torch():
        from course_lib.runs import evaluate

    evaluate.evaluate(run, device)
