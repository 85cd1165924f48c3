"""What a training run is told, and what it does where it is told nothing."""

import dataclasses
import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from course_lib.models.recipes import RECIPES
from course_lib.project import CourseError
from course_lib.runs import datasets
from course_lib.runs.dataset import Dataset
from course_lib.runs.devices import choose


@dataclass(frozen=True)
class Settings:
    """All that decides how a run turns out; it stands in config.json.

    data: the name of a data set, which has the defaults, or the path of a file. batch: sequences a step, over all
    processes; accumulate: into how many parts they are cut, one after the other. context: the longest sequence, in
    tokens. vocabulary: its kind, of at most `entries` entries; None for data that bring their own. every: steps from
    one evaluation to the next. width: for the captioner, that of its memory. recipe: the parts of the model; None for
    those of `LanguageModel`.
    """

    task: str
    data: str
    steps: int
    batch: int
    learning_rate: float
    width: int
    layers: int
    heads: int
    context: int
    every: int = 0
    dropout: float = 0.0
    accumulate: int = 1
    smoothing: float = 0.0
    seed: int = 0
    vocabulary: str | None = None
    entries: int = 0
    bf16: bool = False
    compile: bool = False
    device: str = "cpu"
    recipe: str | None = None


_SEQUENCES = ("language-model", "translation", "classifier")
# The classifier looks at the lengths of its texts, which no compiled graph can do.
OF_THE_TASK = {
    "recipe": ("language-model",),
    "smoothing": ("translation",),
    "compile": ("language-model", "translation", "captioner"),
} | dict.fromkeys(("context", "dropout", "layers", "heads", "vocabulary", "entries"), _SEQUENCES)
EVALUATIONS = 10  # in a run
CHOICES = ("characters", "words", "byte-pairs")


def settle(task: str, data: str | None = None, device: str | None = None, **given) -> Settings:
    """Return the settings of a run of `task` on `data` (embedded by default), with what is `given` and is not None.

    Raises CourseError for an unknown task, data that is neither a file nor a data set of the task, and a setting that
    cannot be, in one sentence that names it.
    """
    if task not in datasets.tasks():
        raise CourseError(f"there is no {task!r} to train (there are: {', '.join(datasets.tasks())})")
    known = datasets.of_task(task)
    data = next(iter(known)) if data is None else data
    if data in known:
        settings = Settings(task, data, **known[data].defaults)
    else:
        settings = Settings(task, str(Path(data).absolute()), **_of_a_file(task, data).defaults)
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if task not in OF_THE_TASK.get(name, (task,)):
            raise CourseError(f"`--{name}` is not for the {task}: leave it out (it is for {_and(OF_THE_TASK[name])})")
    if settings.vocabulary is None and {"vocabulary", "entries"} & set(given):
        raise CourseError(f"{settings.data} brings its own vocabulary: leave out `--vocabulary` and `--entries`")
    settings = dataclasses.replace(settings, device=choose(device), **given)
    if settings.every == 0 and "every" not in given:
        settings = dataclasses.replace(settings, every=max(1, math.ceil(settings.steps / EVALUATIONS)))
    return checked(settings)


def checked(settings: Settings) -> Settings:
    """Return the settings if a run with them can be; raises CourseError in one sentence if not."""
    for name in ("steps", "batch", "width", "heads", "context", "every", "accumulate"):
        if getattr(settings, name) < 1:
            raise CourseError(f"`--{name}` is {getattr(settings, name)}, expected at least 1")
    if settings.layers < (0 if settings.task == "classifier" else 1):
        raise CourseError(f"`--layers` is {settings.layers}, expected at least 1")
    if settings.width % (2 * settings.heads):
        # Even, because positions are pairs of a sine and a cosine.
        raise CourseError(
            f"`--width` is {settings.width}, expected an even number of columns for each of the {settings.heads} "
            "heads: a multiple of twice their number"
        )
    if not (math.isfinite(settings.learning_rate) and settings.learning_rate > 0):
        raise CourseError(f"`--learning-rate` is {settings.learning_rate}, expected a number above 0")
    for name in ("dropout", "smoothing"):
        if not 0 <= getattr(settings, name) < 1:
            raise CourseError(f"`--{name}` is {getattr(settings, name)}, expected a fraction from 0 to less than 1")
    if not -(2**63) <= settings.seed < 2**63:
        raise CourseError(f"`--seed` is {settings.seed}, expected a number of at most 63 bits")
    if settings.vocabulary is not None and settings.vocabulary not in CHOICES:
        raise CourseError(f"`--vocabulary` is {settings.vocabulary!r}, expected one of {', '.join(CHOICES)}")
    if settings.recipe is not None and settings.recipe not in RECIPES:
        raise CourseError(f"`--recipe` is {settings.recipe!r}, expected one of {', '.join(RECIPES)}")
    least = 261 if settings.vocabulary == "byte-pairs" else 5
    if settings.vocabulary is not None and settings.entries < least:
        raise CourseError(f"`--entries` is {settings.entries}, expected at least {least}")
    if settings.batch < settings.accumulate:
        raise CourseError(f"`--batch` is {settings.batch}, too few to be cut into {settings.accumulate} parts")
    if settings.bf16 and settings.device != "cuda":
        raise CourseError("`--bf16` is faster on a GPU only: leave it out, or add `--device cuda`")
    if settings.compile and not can_compile(settings.device):
        if settings.device == "mps":
            raise CourseError("`--compile` is for cpu and cuda: leave it out, or add `--device cpu`")
        raise CourseError("`--compile` needs a C++ compiler, and there is none here: leave it out, or install g++")
    return settings


def can_compile(device: str) -> bool:
    """Return whether torch can compile a model here: for cuda it brings a compiler along, on a Mac that is too new."""
    compiler = any(map(shutil.which, (os.environ.get("CXX", "g++"), "clang++")))
    return {"cuda": True, "mps": False, "cpu": compiler}[device]


def on_device(settings: Settings, device: str | None) -> Settings:
    """Return the settings of an earlier run for this machine; `device` None is the device that the run had.

    A run that was compiled goes on without where nothing can be compiled: it learns the same.
    """
    settings = dataclasses.replace(settings, device=choose(device or settings.device))
    return checked(dataclasses.replace(settings, compile=settings.compile and can_compile(settings.device)))


def _of_a_file(task: str, data: str) -> Dataset:
    """Return the data set of the reader's own file; raises CourseError for what is none, or not for the task."""
    own = datasets.own_file(task, data)
    if own and Path(data).is_file():
        return own
    expected = f"expected {', '.join(datasets.of_task(task))}" + (", or the path of a UTF-8 file" if own else "")
    if data in datasets.names():
        raise CourseError(f"{data} is data for the {datasets.find(data).task}, not for the {task}: {expected}")
    if Path(data).is_dir():
        raise CourseError(f"{data} is a folder: {expected}")
    reason = "is a file, but this task reads none" if Path(data).exists() else "is neither a data set nor a file"
    raise CourseError(f"{data} {reason}: {expected}")


def _and(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
