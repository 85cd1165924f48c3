"""What a training run has to know of its data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from course_lib.runs.vocabularies import Listed


@dataclass(frozen=True)
class Dataset:
    """The data of one task.

    task: the name of the task. load: returns the rows by the names of their splits; what a row is, the task says.
    defaults: the `Settings` of a run that is told nothing else, apart from task and data. vocabulary: None for one
    that is learned from the rows to train with, of the kind and size that the defaults name. draw: returns a batch of
    new rows to train with; None where rows of the split "train" are drawn. amount: how much data that is, in words,
    with "{held_out}" for the number of rows held out. expansion: how many times wider than the model its feed-forward
    networks are (translation). embedded: whether it comes with the course; it is the one that is taken where none is
    named, so each task has one.
    """

    task: str
    load: Callable[[], Mapping]
    defaults: Mapping[str, object]
    vocabulary: Listed | None = None
    draw: Callable[[int, torch.Generator], tuple[torch.Tensor, ...]] | None = None
    amount: str = ""
    expansion: int = 4
    embedded: bool = False
