"""What a training run is told, and what it does where it is told nothing."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

from course_lib.project import CourseError


@dataclass(frozen=True)
class Settings:
    """All that decides how a run turns out; it stands in config.json.

    data: a name of DEFAULTS, or the path of a file. batch: sequences a step, over all processes; accumulate: into how
    many parts they are cut, one after the other. context: the longest sequence, in tokens. vocabulary: its kind, of at
    most `entries` entries; the embedded data bring their own. every: steps from one evaluation to the next.
    width: for the captioner, that of its memory.
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
    device: str = "cpu"


FILE = "a file"  # what stands in DEFAULTS for any file of the reader's own
_LONG_TEXT = {"task": "language-model", "vocabulary": "characters", "entries": 256}
_PAIRS = {"task": "translation", "context": 128, "dropout": 0.1, "smoothing": 0.1, "vocabulary": "byte-pairs"}
_LABELLED = {"task": "classifier", "batch": 32, "layers": 2, "heads": 4, "context": 256, "vocabulary": "words"}
# Of each task the embedded data come first; they are what is taken where no data are named.
_ALL = [
    {"task": "language-model", "data": "python-reference", "steps": 600, "batch": 16, "learning_rate": 3e-3}
    | {"width": 96, "layers": 2, "heads": 4, "context": 96},
    _LONG_TEXT
    | {"data": "tiny-shakespeare", "steps": 5000, "batch": 32, "learning_rate": 1e-3}
    | {"width": 192, "layers": 4, "heads": 6, "context": 256, "dropout": 0.2},
    _LONG_TEXT
    | {"data": "enwik8", "steps": 20_000, "batch": 64, "learning_rate": 1e-3}
    | {"width": 384, "layers": 6, "heads": 6, "context": 256, "dropout": 0.1}
    | {"vocabulary": "byte-pairs", "entries": 8192},
    _LONG_TEXT
    | {"data": FILE, "steps": 1000, "batch": 16, "learning_rate": 2e-3}
    | {"width": 128, "layers": 3, "heads": 4, "context": 128, "dropout": 0.1},
    {"task": "translation", "data": "number-names", "steps": 500, "batch": 32, "learning_rate": 3e-3}
    | {"width": 64, "layers": 2, "heads": 4, "context": 32},
    _PAIRS
    | {"data": "multi30k", "steps": 10_000, "batch": 128, "learning_rate": 1e-3}
    | {"width": 256, "layers": 3, "heads": 8, "entries": 8000},
    _PAIRS
    | {"data": FILE, "steps": 2000, "batch": 64, "learning_rate": 1e-3}
    | {"width": 128, "layers": 2, "heads": 4, "entries": 4000},
    {"task": "classifier", "data": "negations", "steps": 500, "batch": 64, "learning_rate": 3e-3}
    | {"width": 48, "layers": 2, "heads": 4, "context": 9},
    _LABELLED
    | {"data": "imdb", "steps": 2000, "learning_rate": 5e-4}
    | {"width": 128, "dropout": 0.2, "entries": 20_000},
    _LABELLED | {"data": FILE, "steps": 1000, "learning_rate": 1e-3} | {"width": 64, "dropout": 0.1, "entries": 10_000},
    {"task": "captioner", "data": "scenes", "steps": 600, "batch": 32, "learning_rate": 3e-3}
    | {"width": 96, "layers": 1, "heads": 1, "context": 6},
]
DEFAULTS: dict[str, dict[str, Settings]] = {}
for _values in _ALL:
    DEFAULTS.setdefault(_values["task"], {})[_values["data"]] = Settings(**_values)
_SEQUENCES = ("language-model", "translation", "classifier")
OF_THE_TASK = {"smoothing": ("translation",)} | dict.fromkeys(
    ("context", "dropout", "layers", "heads", "vocabulary", "entries"), _SEQUENCES
)
EVALUATIONS = 10  # in a run
CHOICES = ("characters", "words", "byte-pairs")


def settle(task: str, data: str | None = None, device: str | None = None, **given) -> Settings:
    """Return the settings of a run of `task` on `data` (embedded by default), with what is `given` and is not None.

    Raises CourseError for an unknown task, data that is neither a file nor a data set of the task, and a setting that
    cannot be, in one sentence that names it.
    """
    if task not in DEFAULTS:
        raise CourseError(f"there is no {task!r} to train (there are: {', '.join(DEFAULTS)})")
    known = DEFAULTS[task]
    data = next(iter(known)) if data is None else data
    if data in known and data != FILE:
        settings = known[data]
    else:
        settings = dataclasses.replace(_of_a_file(task, data), data=str(Path(data).absolute()))
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if task not in OF_THE_TASK.get(name, DEFAULTS):
            raise CourseError(f"`--{name}` is not for the {task}: leave it out (it is for {_and(OF_THE_TASK[name])})")
    if settings.vocabulary is None and {"vocabulary", "entries"} & set(given):
        raise CourseError(f"{settings.data} brings its own vocabulary: leave out `--vocabulary` and `--entries`")
    settings = dataclasses.replace(settings, device=_device(device), **given)
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
            raise CourseError(f"`--{name}` is {getattr(settings, name)}, expected a share from 0 to less than 1")
    if not -(2**63) <= settings.seed < 2**63:
        raise CourseError(f"`--seed` is {settings.seed}, expected a number of at most 63 bits")
    if settings.vocabulary is not None and settings.vocabulary not in CHOICES:
        raise CourseError(f"`--vocabulary` is {settings.vocabulary!r}, expected one of {', '.join(CHOICES)}")
    least = 261 if settings.vocabulary == "byte-pairs" else 5
    if settings.vocabulary is not None and settings.entries < least:
        raise CourseError(f"`--entries` is {settings.entries}, expected at least {least}")
    if settings.batch < settings.accumulate:
        raise CourseError(f"`--batch` is {settings.batch}, too few to be cut into {settings.accumulate} parts")
    if settings.bf16 and settings.device == "cpu":
        raise CourseError("`--bf16` is faster on a GPU only: leave it out, or add `--device cuda`")
    return settings


def on_device(settings: Settings, device: str | None) -> Settings:
    """Return the settings of an earlier run for this machine; `device` None is the device that the run had."""
    return checked(dataclasses.replace(settings, device=_device(device or settings.device)))


def _device(device: str | None) -> str:
    import torch

    there = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    if device is None:
        return there[-1]
    if device not in there:
        reason = "torch finds no GPU here" if device == "cuda" else f"expected one of {', '.join(there)}"
        raise CourseError(f"`--device` is {device!r}, but {reason}")
    return device


def _of_a_file(task: str, data: str) -> Settings:
    """Return the defaults for a file of the reader's own; raises CourseError for what is none, or not for the task."""
    if FILE in DEFAULTS[task] and Path(data).is_file():
        return DEFAULTS[task][FILE]
    names = ", ".join(name for name in DEFAULTS[task] if name != FILE)
    expected = f"expected {names}" + (", or the path of a UTF-8 file" if FILE in DEFAULTS[task] else "")
    for other, sets in DEFAULTS.items():
        if data in sets and data != FILE:
            raise CourseError(f"{data} is data for the {other}, not for the {task}: {expected}")
    if Path(data).is_dir():
        raise CourseError(f"{data} is a folder: {expected}")
    reason = "is a file, but this task reads none" if Path(data).exists() else "is neither a data set nor a file"
    raise CourseError(f"{data} {reason}: {expected}")


def _and(names: tuple[str, ...]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
