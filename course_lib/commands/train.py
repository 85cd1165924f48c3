"""`course train`: a training run."""

from pathlib import Path
from typing import Annotated

import typer

from course_lib.commands._torch import importing_torch
from course_lib.runs import datasets

EXAMPLES = ("course train language-model --steps 500", "course train --resume runs/language-model")


def run(
    name: Annotated[
        str | None, typer.Argument(help="language-model, translation, classifier or captioner.", show_default=False)
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            help=f"{', '.join(datasets.names())}, or a UTF-8 file: text, or lines of source (or label), tab, and "
            "target (or text). By default, the small data of the chapter.",
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="How many steps.")] = None,
    batch: Annotated[int | None, typer.Option(help="Sequences a step, over all processes.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="The largest learning rate of the run.")] = None,
    width: Annotated[int | None, typer.Option(help="d_model.")] = None,
    layers: Annotated[int | None, typer.Option(help="Blocks (of each half).")] = None,
    heads: Annotated[int | None, typer.Option(help="Heads of each block.")] = None,
    context: Annotated[int | None, typer.Option(help="The longest sequence, in tokens.")] = None,
    dropout: Annotated[float | None, typer.Option(help="The probability with which a number is dropped.")] = None,
    smoothing: Annotated[float | None, typer.Option(help="Label smoothing (translation).")] = None,
    accumulate: Annotated[int | None, typer.Option(help="Cut each batch into so many parts, to save memory.")] = None,
    vocabulary: Annotated[str | None, typer.Option(help="characters, words or byte-pairs.")] = None,
    entries: Annotated[int | None, typer.Option(help="The most entries of the vocabulary.")] = None,
    every: Annotated[int | None, typer.Option(help="Steps between evaluations; by default a 10th of all.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed is another run.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; by default cuda where there is one.")] = None,
    bf16: Annotated[bool, typer.Option("--bf16", help="Compute with half as many bits, on a GPU.")] = False,
    compiled: Annotated[
        bool, typer.Option("--compile", help="Compile the model first: a minute or more, then faster steps.")
    ] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write numbers for TensorBoard, too.")] = False,
    out: Annotated[Path | None, typer.Option(help="The folder of the run; by default runs/NAME-DATE-TIME.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="Go on with a run that was stopped.")] = None,
) -> None:
    """Train a model of the course; Ctrl-C stops it, and nothing is lost."""
    given = {
        "data": data,
        "steps": steps,
        "batch": batch,
        "learning_rate": learning_rate,
        "width": width,
        "layers": layers,
        "heads": heads,
        "context": context,
        "dropout": dropout,
        "smoothing": smoothing,
        "accumulate": accumulate,
        "vocabulary": vocabulary,
        "entries": entries,
        "every": every,
        "seed": seed,
        "bf16": bf16 or None,
        "compile": compiled or None,
    }
    with importing_torch():
        from course_lib.runs import train

    raise typer.Exit(train.train(name, resume, out, device, tensorboard, **given))
