"""What every task has to answer, so that one loop can train them all."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import nn

from course_lib.project import CourseError
from course_lib.ranks import rank, ranks
from course_lib.runs.settings import Settings
from course_lib.runs.vocabularies import Listed, Vocabulary

ONE_IN = 10  # lines of the reader's own file is held out
Batch = tuple[torch.Tensor, ...]  # each (row, ...)


@dataclass(frozen=True)
class Measured:
    """What a model is worth on held-out data: its loss in the task's unit, the share that is right, other scores."""

    loss: float
    accuracy: float | None = None
    others: dict[str, float] = field(default_factory=dict)


class Task(ABC):
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

    @property
    def vocabulary(self) -> Listed | Vocabulary:
        """The vocabulary of the run, learned from the training data when it is new."""
        if self._vocabulary is None:
            self._vocabulary = self.make_vocabulary()
        return self._vocabulary

    @property
    def labels(self) -> list[str] | None:
        """The names of the classes, in the order of their numbers; None where a task has none."""
        return self._labels

    @abstractmethod
    def make_vocabulary(self) -> Listed | Vocabulary:
        """Return the vocabulary of the training data."""

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


def batch_losses(task: Task, net: Callable) -> Callable[[torch.Generator], Iterator[tuple[torch.Tensor, int]]]:
    """Return what `Training` asks for: the losses of this process's rows of a batch, part by part.

    Every process draws the same whole batch and takes each `ranks()`-th row. `net` is the model, or what
    DistributedDataParallel has made of it; it adds up the gradients of all processes once, at the last part.
    """
    settings = task.settings

    def parts_of_a_batch(generator: torch.Generator) -> Iterator[tuple[torch.Tensor, int]]:
        whole = task.draw(settings.batch, generator)
        own = tuple(rows[rank() :: ranks()].to(settings.device) for rows in whole)  # each (row, ...)
        for part in range(settings.accumulate):
            last = part == settings.accumulate - 1
            alone = net.no_sync() if ranks() > 1 and not last else contextlib.nullcontext()
            with alone:
                with torch.autocast(settings.device, torch.bfloat16, enabled=settings.bf16):
                    loss, predictions = task.losses(net, tuple(rows[part :: settings.accumulate] for rows in own))
                yield loss, predictions

    return parts_of_a_batch


def full(scores: torch.Tensor) -> torch.Tensor:
    """Return scores in float32 where they were computed with half the bits: losses are sums of many small numbers."""
    return scores.float() if scores.dtype == torch.bfloat16 else scores


def check_batch(settings: Settings) -> None:
    """Raise CourseError unless every part of every process has a row of the batch, and may have only some of them."""
    if settings.task == "captioner" and ranks() * settings.accumulate > 1:
        raise CourseError(
            "the captioner normalises over whole batches, so they cannot be cut: train it in one process, "
            "without `--accumulate`"
        )
    if settings.batch < ranks() * settings.accumulate:
        raise CourseError(
            f"`--batch` is {settings.batch}, expected at least {ranks() * settings.accumulate}: one row for each "
            f"of {ranks()} processes and {settings.accumulate} parts"
        )


def divided(rows: list) -> tuple[list, list]:
    """Return the rows of a reader's own file to train with, and every tenth, or the last of a few, to hold out.

    >>> divided(list("abcdefghijkl"))
    (['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'k', 'l'], ['j'])
    >>> divided(["a", "b"])
    (['a'], ['b'])
    """
    if len(rows) < ONE_IN:
        return rows[:-1], rows[-1:]
    return [row for number, row in enumerate(rows, start=1) if number % ONE_IN], rows[ONE_IN - 1 :: ONE_IN]
