"""`course publish`: what a reader needs of a language model, small enough to come with the course."""

import json
import shlex
import time
from pathlib import Path

import torch

from course_lib.model_files import FACTS, WEIGHTS, files_of, in_half_precision, save_model
from course_lib.models.recipes import make_language_model
from course_lib.project import CourseError
from course_lib.runs.finished import open_run


def publish(run: Path, file: Path, force: bool = False) -> None:
    """Write FILE.safetensors, the weights in float16, and FILE.json, the facts; raises CourseError unless it can.

    Bits a character are measured with the weights as they are written, on all of the held-out text.
    """
    opened = open_run(run)
    if opened.settings.task != "language-model":
        raise CourseError(f"{run} is a run of the {opened.settings.task}: only a language model is published")
    base = Path(str(file).removesuffix(WEIGHTS).removesuffix(FACTS))
    weights, facts = files_of(base)
    for path in (weights, facts):
        if path.exists() and not force:
            raise CourseError(f"{path} exists: name another file, or replace it with `--force`")
    if not base.parent.is_dir():
        raise CourseError(f"{base.parent} is no folder")
    task = opened.task
    configuration = {"vocab_size": len(task.vocabulary), **task.configuration()} | {"dropout": 0.0}
    model = make_language_model(**configuration)
    model.load_state_dict(in_half_precision(opened.model))  # as the weights will be read again
    bits = task.measure(model.eval(), thorough=True).loss
    content = {
        "command": anywhere(opened.facts["command"]),
        "steps": opened.step,
        "data": opened.settings.data,
        "held_out": f"{len(task.texts['test']):,} characters",
        "bits_per_character": round(bits, 4),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "torch": opened.facts["torch"],
        "published": time.strftime("%Y-%m-%d"),
        "vocabulary": json.loads((run / "vocabulary.json").read_text(encoding="utf-8")),
    }
    try:
        save_model(model, base, configuration, content)
    except OSError as error:
        raise CourseError(f"{base} cannot be written: {error.strerror or error}") from error
    size = weights.stat().st_size
    print(f"{weights}: {content['parameters']:,} parameters in float16, {size / 1e6:.2f} MB; {facts} says more.")
    print(f"With these weights, {bits:.4f} bits a character on {content['held_out']} that it was not trained on.")
    if torch.__version__ != content["torch"]:
        print(f"It was trained with torch {content['torch']}; here is {torch.__version__}.")


def anywhere(command: str) -> str:
    """Return the command without `--out`: where a run lies does not change what comes of it.

    >>> anywhere("course train language-model --out 'my runs/one' --steps 5")
    'course train language-model --steps 5'
    """
    words = [word for word in shlex.split(command) if not word.startswith("--out=")]
    if "--out" in words:
        place = words.index("--out")
        del words[place : place + 2]
    return shlex.join(words)
