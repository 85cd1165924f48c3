"""A run that is looked at: its settings, its task and its model as the last checkpoint has it."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from course_lib.project import CourseError
from course_lib.runs.folder import VOCABULARY, RunFolder
from course_lib.runs.settings import Settings, on_device
from course_lib.runs.task import TrainingTask
from course_lib.runs.tasks import make_task
from course_lib.runs.vocabularies import read_vocabulary
from course_lib.seeding import start_reproducibly


@dataclass(frozen=True)
class OpenedRun:
    """What `course evaluate`, `sample` and `publish` need of a run; the model is in eval mode."""

    settings: Settings
    facts: dict
    task: TrainingTask
    model: nn.Module
    step: int


def open_run(path: Path, device: str = "cpu") -> OpenedRun:
    """Return the run in a folder, its model on a device; raises CourseError for anything else."""
    folder = RunFolder.open(path)
    settings, facts = folder.read_configuration()
    settings = on_device(dataclasses.replace(settings, bf16=False, compile=False), device)
    start_reproducibly(settings.seed)
    state, checkpoint = folder.read_checkpoint()
    task = make_task(settings, read_vocabulary(path / VOCABULARY), facts["labels"])
    model = task.make_model()
    weights = {name.removeprefix("model."): tensor for name, tensor in state.items() if name.startswith("model.")}
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise CourseError(f"the checkpoint in {path} does not belong to its {settings.task}") from error
    return OpenedRun(settings, facts, task, model.to(settings.device).eval(), checkpoint["step"])
