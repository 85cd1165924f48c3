"""What every task has to answer, so that one loop can train them all."""

import contextlib
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import torch
from torch import nn

from course_lib.data.vocabularies import Vocabulary, learn_vocabulary
from course_lib.losses import token_losses
from course_lib.project import CourseError
from course_lib.ranks import rank, world_size
from course_lib.runs.datasets import open_dataset
from course_lib.runs.devices import start_draws
from course_lib.runs.settings import Settings
from course_lib.runs.vocabularies import Listed

Batch = tuple[torch.Tensor, ...]  # each (row, ...)


@dataclass(frozen=True)
class Measured:
    """What a model is worth on held-out data: its loss in the task's unit, the fraction that is right, other scores."""

    loss: float
    accuracy: float | None = None
    others: dict[str, float] = field(default_factory=dict)


class TrainingTask(ABC):
    """One kind of model with its data, as `settings` want them; an earlier run brings its `vocabulary` and `labels`.

    unit: of the losses. right: what the accuracy counts. Nothing is read from the disk before it is asked for. What is
    wrong with the data is a CourseError.
    """

    unit = ""
    right: str | None = None

    def __init__(
        self, settings: Settings, vocabulary: Listed | Vocabulary | None = None, labels: list[str] | None = None
    ):
        self.settings, self._vocabulary, self._labels = settings, vocabulary, labels
        self.dataset = open_dataset(settings.task, settings.data)

    @property
    def vocabulary(self) -> Listed | Vocabulary:
        """The vocabulary of an earlier run, that of the data set, or what is learned from the rows to train with."""
        if self._vocabulary is None:
            self._vocabulary = self.dataset.vocabulary
        if self._vocabulary is None:
            kind, entries = self.settings.vocabulary, self.settings.entries
            self._vocabulary = learn_vocabulary(kind, self.training_texts(), entries)
        return self._vocabulary

    @property
    def labels(self) -> list[str] | None:
        """The names of the classes, in the order of their numbers; None where a task has none."""
        return self._labels

    @functools.cached_property
    def token_losses(self) -> Callable[..., torch.Tensor]:
        """`losses_in_float32`, compiled where the model is: step by step, it reads all logits a dozen times."""
        return torch.compile(losses_in_float32, fullgraph=True) if self.settings.compile else losses_in_float32

    def training_texts(self) -> Iterable[str]:
        """Return the texts that a vocabulary is learned from, of a task whose data sets may bring none."""
        raise NotImplementedError

    @abstractmethod
    def make_model(self) -> nn.Module:
        """Return an untrained model."""

    @abstractmethod
    def amount(self) -> str:
        """Return in words how much data there is."""

    @abstractmethod
    def draw(self, number: int, generator: torch.Generator) -> Batch:
        """Return `number` random rows of training data."""

    @abstractmethod
    def losses(self, model: Callable, batch: Batch) -> tuple[torch.Tensor, int]:
        """Return the sum of the losses of the predictions in a batch, in nats, and how many there are."""

    @abstractmethod
    def measure(self, model: nn.Module, thorough: bool = False) -> Measured:
        """Return what the model is worth on some held-out data, or, `thorough`, on all or on the test."""

    @abstractmethod
    def samples(self, model: nn.Module) -> str:
        """Return some lines of what the model makes of held-out data; the same each time for the same model."""

    def in_units(self, loss: float) -> float:
        """Return a training loss, in nats a prediction, in the task's unit."""
        return loss


def batch_losses(task: TrainingTask, net: Callable) -> Callable[[torch.Generator], Iterator[tuple[torch.Tensor, int]]]:
    """Return what `Training` asks for: the losses of this process's rows of a batch, part by part.

    Every process draws the same whole batch and takes each `world_size()`-th row. `net` is the model, or what
    DistributedDataParallel has made of it; it adds up the gradients of all processes once, at the last part.
    """
    settings = task.settings

    def parts_of_a_batch(generator: torch.Generator) -> Iterator[tuple[torch.Tensor, int]]:
        start_draws(settings.device)
        whole = task.draw(settings.batch, generator)
        own = tuple(rows[rank() :: world_size()].to(settings.device) for rows in whole)  # each (row, ...)
        for part in range(settings.accumulate):
            last = part == settings.accumulate - 1
            alone = net.no_sync() if world_size() > 1 and not last else contextlib.nullcontext()
            with alone:
                with torch.autocast(settings.device, torch.bfloat16, enabled=settings.bf16):
                    loss, predictions = task.losses(net, tuple(rows[part :: settings.accumulate] for rows in own))
                # The sum is kept in float64, which the graphics of a Mac have not.
                yield (loss.cpu() if settings.device == "mps" else loss), predictions

    return parts_of_a_batch


def losses_in_float32(logits: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
    """Return `token_losses` in float32, also of logits with half the bits: a loss is a sum of many small numbers."""
    return token_losses(logits.float() if logits.dtype == torch.bfloat16 else logits, targets, smoothing)


def check_batch(settings: Settings) -> None:
    """Raise CourseError unless every part of every process has a row of the batch, and may have only some of them."""
    if settings.task == "captioner" and world_size() * settings.accumulate > 1:
        raise CourseError(
            "the captioner normalises over whole batches, so they cannot be cut: train it in one process, "
            "without `--accumulate`"
        )
    if settings.batch < world_size() * settings.accumulate:
        raise CourseError(
            f"`--batch` is {settings.batch}, expected at least {world_size() * settings.accumulate}: one row for each "
            f"of {world_size()} processes and {settings.accumulate} parts"
        )
