"""`course train`: begin a run, or go on with one."""

import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from course_lib.project import CourseError
from course_lib.ranks import rank, world_size
from course_lib.runs.folder import VOCABULARY, RunFolder
from course_lib.runs.loop import Loop
from course_lib.runs.processes import Notes, joined, speaker, together
from course_lib.runs.settings import Settings, on_device, settle
from course_lib.runs.stopping import Stopping
from course_lib.runs.task import TrainingTask, batch_losses, check_batch
from course_lib.runs.tasks import make_task
from course_lib.runs.vocabularies import read_vocabulary
from course_lib.seeding import start_reproducibly
from course_lib.training import Training

WEIGHT_DECAY = 0.01


def train(
    task: str | None,
    resume: Path | None = None,
    out: Path | None = None,
    device: str | None = None,
    tensorboard: bool = False,
    **given,
) -> int:
    """Train a model as told, or go on with the run `resume`; returns the exit code: 0, or 130 if it was stopped.

    `given` are fields of `Settings`, None for the default. Raises CourseError before anything is written for what
    cannot be.
    """

    def work(notes: Notes) -> int:
        if resume is None:
            return _begin(settle(_named(task), device=device, **given), out, tensorboard, notes)
        changed = [f"--{name.replace('_', '-')}" for name, value in {**given, "out": out}.items() if value is not None]
        if changed:
            raise CourseError(f"a run goes on with the settings that it began with: leave out {', '.join(changed)}")
        return _go_on(task, resume, device, tensorboard, notes)

    return together(work)


def _begin(settings: Settings, out: Path | None, tensorboard: bool, notes: Notes) -> int:
    say, began = speaker(), time.perf_counter()
    check_batch(settings)
    board = _board_maker(tensorboard)
    _start(settings)
    task = make_task(settings)
    say(f"Training: {settings.task} on {settings.data}.")
    if rank() == 0:
        # Only this process learns a vocabulary; what is wrong with the data shows before anything is written.
        parameters = sum(parameter.numel() for parameter in task.make_model().parameters())
        task.amount()
        folder = RunFolder.create(settings.task, out)
        facts = {"labels": task.labels, "parameters": parameters, "command": command(), "processes": world_size()}
        folder.write_configuration(settings, facts | {"torch": torch.__version__}, task.vocabulary)
        notes.from_first(lambda: str(folder.path.absolute()))
    else:
        folder = RunFolder(Path(notes.from_first(str)))
        task = make_task(settings, read_vocabulary(folder.path / VOCABULARY), folder.read_configuration()[1]["labels"])
    model, training = _prepare(task)
    loop = Loop(task, model, training, folder, {}, say, board(folder))
    return _run(loop, say, began)


def _go_on(name: str | None, path: Path, device: str | None, tensorboard: bool, notes: Notes) -> int:
    say, began = speaker(), time.perf_counter()
    folder = RunFolder.open(path)
    settings, configuration = folder.read_configuration()
    if name not in (None, settings.task):
        raise CourseError(f"{path} is a run of the {settings.task}, not of the {name}: leave out the name")
    settings = on_device(settings, device)
    check_batch(settings)
    board = _board_maker(tensorboard)
    _start(settings)
    state, facts = folder.read_checkpoint()
    if facts["step"] == settings.steps:
        raise CourseError(f"{path} has taken all its {settings.steps:,} steps: begin another run to go further")
    say(f"Going on with {path} after step {facts['step']:,}.")
    task = make_task(settings, read_vocabulary(path / VOCABULARY), configuration["labels"])
    model, training = _prepare(task)
    try:
        training.restore(state)
    except (RuntimeError, KeyError, ValueError) as error:
        raise CourseError(f"the checkpoint in {path} does not belong to its {settings.task}") from error
    if rank() == 0:
        folder.cut(facts)
    return _run(Loop(task, model, training, folder, facts, say, board(folder)), say, began)


def _named(task: str | None) -> str:
    if task is None:
        raise CourseError("what to train? name it, or name a run to go on with `--resume`")
    return task


def _start(settings: Settings) -> None:
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or a GPU would not repeat itself
    start_reproducibly(settings.seed)


def _prepare(task: TrainingTask) -> tuple[torch.nn.Module, Training]:
    """Return an untrained model, the same in every process, and its training."""
    settings = task.settings
    torch.manual_seed(settings.seed)
    model = task.make_model().to(settings.device)
    # Whole, or not at all: what is compiled in pieces gains little and says so nowhere.
    net = torch.compile(model, fullgraph=True) if settings.compile else model
    losses = batch_losses(task, joined(net))
    return model, Training(
        model, losses, settings.steps, settings.learning_rate, settings.seed, weight_decay=WEIGHT_DECAY
    )


def _run(loop: Loop, say: Callable[[str], None], began: float) -> int:
    task, training, folder = loop.task, loop.training, loop.folder
    parameters = sum(parameter.numel() for parameter in loop.model.parameters())
    left = training.steps - training.step
    say(f"{parameters:,} parameters; {task.amount()}.")
    if loop.evaluated < 0:
        loop.evaluate()
    where = task.settings.device + (f", {world_size()} processes" if world_size() > 1 else "")
    estimate = _duration(loop.estimate())
    say(f"{left:,} steps with batches of {task.settings.batch} on {where}: about {estimate}.")
    say(f"Ctrl-C stops after a step and loses nothing. The run is in {folder.path}")
    with Stopping() as stopping:
        finished = loop.run(stopping)
    if not finished:
        say(f"Stopped after step {training.step:,} of {training.steps:,}. Go on with")
        say(f"  course train --resume {shlex.quote(str(folder.path))}")
        return 130 if world_size() == 1 else 0  # torchrun gives its own
    say(f"Took {training.steps:,} steps; this part lasted {_duration(time.perf_counter() - began)}. Next:")
    say(f"  course evaluate {shlex.quote(str(folder.path))}")
    say(f"  course sample {shlex.quote(str(folder.path))}")
    say(f"The curves are in {folder.path / 'curves.png'}, what the model wrote in {folder.path / 'samples.txt'}")
    return 0


def command() -> str:
    """Return the command that is being run, as one would type it."""
    return "course " + shlex.join(sys.argv[1:])


def _board_maker(wanted: bool):
    """Return what makes for a folder a function that takes numbers for TensorBoard, or None if it is not wanted."""
    if not wanted:
        return lambda folder: None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise CourseError("TensorBoard is not installed: `pip install -e .[tensorboard]`") from error

    def make(folder: RunFolder):
        if rank() > 0:
            return None
        writer = SummaryWriter(folder.path / "tensorboard")

        def board(step: int, row: dict) -> None:
            for name, value in row.items():
                if value is not None and name != "step":
                    writer.add_scalar(name, value, step)
            writer.flush()

        return board

    return make


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    return f"{seconds / 3600:.1f} hours"
