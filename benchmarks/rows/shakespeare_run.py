"""The whole recipe: 2,000 steps on tiny Shakespeare, by our rules and by nanoGPT's, and the loss that is reached."""

import contextlib
import io
import math
import time
from collections.abc import Callable, Iterator
from types import ModuleType

import torch
from torch import nn
from tqdm import tqdm

from benchmarks.implementations import gather
from benchmarks.measuring import Candidate, ratio_of, summarise
from benchmarks.peers import AbsentError, definitions
from benchmarks.results import Goal, Row
from benchmarks.rows.shakespeare import BATCH, SIZES
from course_lib.data import corpora
from course_lib.losses import token_losses
from course_lib.project import CourseError
from course_lib.runs.datasets import tiny_shakespeare
from course_lib.runs.train import WEIGHT_DECAY
from course_lib.training import Training

TITLE = "nanoGPT's recipe for a CPU, from the first step to the last"
ASKED_FOR = True  # minutes, and a download
STEPS, TURN = 2000, 50  # the two take turns of so many steps
HELD_OUT = 200  # batches

Draw = Callable[[torch.Generator], tuple[torch.Tensor, torch.Tensor]]


def rows() -> Iterator[Row]:
    """Train both, and measure their loss on the same held-out pieces."""
    title = f"{STEPS:,} steps on tiny Shakespeare; a turn is {TURN} of them"
    try:
        draw, draw_held_out = (_drawing(split) for split in ("train", "val"))
    except CourseError as error:
        yield Row(title, [], notes=[f"Not measured: {error}."])
        return
    models, notes = gather("language_model", SIZES)
    steps = {"ours": _course_step(models["ours"].module, draw)}
    if "nanoGPT" in models:
        steps["nanoGPT"] = _nanogpt_step(models["nanoGPT"].module, draw)
    candidates = [Candidate(name, lambda step=step: [step() for _ in range(TURN)]) for name, step in steps.items()]
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in tqdm(range(STEPS // TURN), desc=title, unit="turn", leave=False):
        for candidate in candidates:
            times[candidate.name].append(candidate.turn(time.process_time))
    losses = {name: _held_out_loss(models[name], draw_held_out) for name in steps}
    row = Row(title, summarise(times), notes=[note for note in notes if "nanoGPT" in note])
    for name, loss in losses.items():
        row.notes.append(f"{name}: {sum(times[name]):.0f} s in all, held-out loss {loss:.3f} nats a character.")
    if "nanoGPT" in steps:
        row.goals.append(Goal("ours, to nanoGPT", ratio_of(times["ours"], times["nanoGPT"]).median, 1.0))
        row.goals.append(Goal("held-out loss of ours, in nats", losses["ours"], losses["nanoGPT"]))
    yield row


def _drawing(split: str) -> Draw:
    """Return a function that draws inputs and targets (batch, time) from one split of the text."""
    characters = sorted(set(corpora.load("tiny-shakespeare", "train")))
    number = {character: place for place, character in enumerate(characters)}
    text = torch.tensor([number[character] for character in corpora.load("tiny-shakespeare", split)])

    def draw(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        starts = torch.randint(len(text) - SIZES.context, (BATCH, 1), generator=generator)
        pieces = text[starts + torch.arange(SIZES.context + 1)]  # (batch, time + 1)
        return pieces[:, :-1].contiguous(), pieces[:, 1:].contiguous()

    return draw


def _course_step(model: nn.Module, draw: Draw) -> Callable[[], object]:
    """Return a step with the settings that `course train language-model --data tiny-shakespeare` has by itself."""

    def losses(generator: torch.Generator):
        inputs, targets = draw(generator)
        each = token_losses(model(inputs), targets)  # (batch, time)
        yield each.sum(), each.numel()

    learning_rate = tiny_shakespeare.DATASET.defaults["learning_rate"]
    return Training(model, losses, STEPS, learning_rate, seed=0, weight_decay=WEIGHT_DECAY).advance


def _nanogpt_step(model: nn.Module, draw: Draw) -> Callable[[], None]:
    """Return a step with the settings of its README's run on a CPU, and the schedule of its train.py."""
    schedule = ModuleType("train")
    schedule.__dict__.update(math=math, learning_rate=1e-3, min_lr=1e-4, warmup_iters=100, lr_decay_iters=STEPS)
    try:
        definitions("nanoGPT", "train.py", ["get_lr"], schedule)
    except AbsentError as error:
        raise RuntimeError(f"its model is there, its schedule is not: {error}") from error
    with contextlib.redirect_stdout(io.StringIO()):
        optimiser = model.configure_optimizers(1e-1, 1e-3, (0.9, 0.99), "cpu")
    generator = torch.Generator().manual_seed(0)
    taken = iter(range(STEPS))
    model.train()

    def step() -> None:
        learning_rate = schedule.get_lr(next(taken))
        for group in optimiser.param_groups:
            group["lr"] = learning_rate
        model(*draw(generator))[1].backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


@torch.no_grad()
def _held_out_loss(model, draw: Draw) -> float:
    model.module.eval()
    generator = torch.Generator().manual_seed(1)
    return sum(float(model.loss(*draw(generator))) for _ in range(HELD_OUT)) / HELD_OUT
