"""`course train`: a training run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from course_lib.commands._torch import importing_torch
from course_lib.runs import datasets

EXAMPLES = ("course train language-model --steps 500", "course train --resume runs/language-model")


MODEL, STEPS, DATA, MACHINE, FILES = "The model", "The steps", "The data", "The machine", "The files"


def _option(panel: str, help: str, default: str | bool, *names: str, **more) -> Any:
    """Return an option in a panel of the help, with what holds where it is not given."""
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=default, **more)


def run(
    name: Annotated[
        str | None, typer.Argument(help="language-model, translation, classifier or captioner.", show_default=False)
    ] = None,
    width: Annotated[int | None, _option(MODEL, "d_model.", "96, 64, 48, 96")] = None,
    layers: Annotated[int | None, _option(MODEL, "Blocks (of each half).", "2")] = None,
    heads: Annotated[int | None, _option(MODEL, "Heads of each block.", "4")] = None,
    context: Annotated[int | None, _option(MODEL, "The longest sequence, in tokens.", "96, 32, 9")] = None,
    dropout: Annotated[float | None, _option(MODEL, "The probability with which a number is dropped.", "0")] = None,
    recipe: Annotated[
        str | None, _option(MODEL, "2017 or today: all parts of that time (language-model).", "parts of both times")
    ] = None,
    steps: Annotated[int | None, _option(STEPS, "How many steps.", "600, 500, 500, 600")] = None,
    batch: Annotated[int | None, _option(STEPS, "Sequences a step, over all processes.", "16, 32, 64, 32")] = None,
    accumulate: Annotated[int | None, _option(STEPS, "Cut each batch into so many parts, to save memory.", "1")] = None,
    learning_rate: Annotated[float | None, _option(STEPS, "The largest learning rate of the run.", "0.003")] = None,
    smoothing: Annotated[float | None, _option(STEPS, "Label smoothing (translation).", "0")] = None,
    every: Annotated[int | None, _option(STEPS, "Steps between evaluations.", "a 10th of all")] = None,
    seed: Annotated[int | None, _option(STEPS, "Another seed is another run.", "0")] = None,
    data: Annotated[
        str | None,
        _option(
            DATA,
            f"{', '.join(datasets.names())}, or a UTF-8 file: text, or lines of source (or label), tab, and "
            "target (or text).",
            "the small data of the chapter",
            metavar="NAME|PATH",
        ),
    ] = None,
    vocabulary: Annotated[str | None, _option(DATA, "characters, words or byte-pairs.", "that of the data")] = None,
    entries: Annotated[int | None, _option(DATA, "The most entries of the vocabulary.", "that of the data")] = None,
    device: Annotated[str | None, _option(MACHINE, "cuda, mps (a Mac) or cpu.", "the first that is there")] = None,
    bf16: Annotated[bool, _option(MACHINE, "Compute with half as many bits, on a GPU.", "no", "--bf16")] = False,
    compiled: Annotated[
        bool, _option(MACHINE, "Compile the model first: a minute or more, then faster steps.", "no", "--compile")
    ] = False,
    out: Annotated[Path | None, _option(FILES, "The folder of the run.", "runs/NAME-DATE-TIME")] = None,
    resume: Annotated[Path | None, _option(FILES, "Go on with a run that was stopped.", False, metavar="RUN")] = None,
    tensorboard: Annotated[bool, _option(FILES, "Write numbers for TensorBoard, too.", "no", "--tensorboard")] = False,
) -> None:
    """Train a model of the course; Ctrl-C stops it, and nothing is lost.

    Rows of defaults are for language-model, translation, classifier, captioner,
    each with the small data of its chapter. Other data bring others.
    """
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
        "recipe": recipe,
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
