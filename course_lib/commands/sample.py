"""`course sample`: what a trained model writes."""

from pathlib import Path
from typing import Annotated

import typer

from course_lib.commands._options import Run
from course_lib.commands._torch import importing_torch

EXAMPLES = ('course sample runs/language-model --prompt "The "', 'course sample runs/translation --prompt "forty nine"')


def run(
    run: Run,
    prompt: Annotated[str | None, typer.Option(help="What to go on from, to translate, or to classify.")] = None,
    temperature: Annotated[float | None, typer.Option(help="0 takes the most probable; 1 is as trained.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Draw from so many of the most probable.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw from the most probable that together have this probability.")
    ] = None,
    length: Annotated[int | None, typer.Option(help="How many tokens to write.")] = None,
    number: Annotated[int | None, typer.Option(help="How many texts or pictures.")] = None,
    beam: Annotated[int | None, typer.Option(help="The width of the search for a translation; 4 by default.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed writes something else.")] = None,
    out: Annotated[Path | None, typer.Option(help="The picture to write (captioner).")] = None,
) -> None:
    """Let a trained model write, translate, classify or caption."""
    with importing_torch():
        from course_lib.runs import sample

    sample.sample(
        run,
        prompt=prompt,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        length=length,
        number=number,
        beam=beam,
        seed=seed,
        out=out,
    )
