"""`course sample`: let a trained model do what it was trained for."""

from pathlib import Path

import torch

from course_lib.decoding import sampling_probabilities
from course_lib.project import CourseError
from course_lib.runs.finished import OpenedRun, open_run

OF_THE_TASK = {
    "language-model": ("prompt", "temperature", "top-k", "top-p", "length", "number", "seed"),
    "translation": ("prompt", "beam"),
    "classifier": ("prompt",),
    "captioner": ("number", "seed", "out"),
}
PICTURE = "captions.png"


def sample(run: Path, **given) -> None:
    """Print what the model of a run makes of `given`: the options of `course sample`, None where they are not given.

    Raises CourseError for a folder that is no run, and for an option that cannot be or is of another task.
    """
    given = {name.replace("_", "-"): value for name, value in given.items() if value is not None}
    opened = open_run(run)
    task = opened.settings.task
    for name in given:
        if name not in OF_THE_TASK[task]:
            options = ", ".join(f"`--{each}`" for each in OF_THE_TASK[task])
            raise CourseError(f"`--{name}` is not for a {task}, which takes {options}")
    for name in ("length", "number", "beam"):
        if given.get(name, 1) < 1:
            raise CourseError(f"`--{name}` is {given[name]}, expected at least 1")
    WAYS[task](opened, run, given)


def _write_on(opened: OpenedRun, run: Path, given: dict) -> None:
    how = {name.replace("-", "_"): given[name] for name in ("temperature", "top-k", "top-p") if name in given}
    try:
        sampling_probabilities(torch.zeros(1), **how)
    except ValueError as error:
        raise CourseError(str(error)) from error
    prompt = given.get("prompt", "\n")
    generator = torch.Generator().manual_seed(given.get("seed", 0))
    for number in range(given.get("number", 1)):
        if number:
            print("────")
        with torch.no_grad():
            print(prompt + opened.task.written(opened.model, prompt, given.get("length", 300), generator, **how))


def _translate(opened: OpenedRun, run: Path, given: dict) -> None:
    if "prompt" not in given:
        print(opened.task.samples(opened.model))
        return
    for text, log_probability in opened.task.searched(opened.model, given["prompt"], given.get("beam", 4)):
        print(f"{log_probability:8.2f}  {text}")
    print("Before each: the logarithm of its probability.")


def _classify(opened: OpenedRun, run: Path, given: dict) -> None:
    if "prompt" not in given:
        print(opened.task.samples(opened.model))
        return
    for label, probability in opened.task.probabilities(opened.model, given["prompt"]).items():
        print(f"{probability:7.1%}  {label}")


def _caption(opened: OpenedRun, run: Path, given: dict) -> None:
    """Write a picture of held-out pictures, drawn by the seed, with what the model says and what is true."""
    from matplotlib.figure import Figure

    from course_lib.figures import WIDTH, use_course_style

    images, captions = opened.task.held_out
    number = given.get("number", 6)
    if number > len(images):
        raise CourseError(f"`--number` is {number}, expected at most {len(images)}: so many pictures are held out")
    chosen = torch.randperm(len(images), generator=torch.Generator().manual_seed(given.get("seed", 0)))[:number]
    written, true = opened.task.written(opened.model, images[chosen]), opened.task.spoken(captions[chosen])
    use_course_style()
    columns = 2
    rows = -(-number // columns)
    figure = Figure(figsize=(WIDTH, 3.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, image, own, caption in zip(axes.flat, images[chosen], written, true, strict=False):
        axis.imshow(image.permute(1, 2, 0).clamp(0, 1).numpy())
        axis.set_title(own if own == caption else f"{own}\n(it is {caption})", fontsize=9)
    path = given.get("out", run / PICTURE)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise CourseError(f"{path} cannot be written: {error}") from error
    right = sum(own == caption for own, caption in zip(written, true, strict=True))
    print(f"{right} of {number} captions are right: {path}")


WAYS = {"language-model": _write_on, "translation": _translate, "classifier": _classify, "captioner": _caption}
