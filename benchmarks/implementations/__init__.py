"""Every implementation that can be measured, brought to the same sizes, in fp32 and without dropout.

A module says what it can do by the functions that it defines. Each takes `Sizes`, and raises `AbsentError` where the
project is not there:

    attention_layer      a causal layer with its projections: inputs (batch, time, width) -> the same shape
    language_model       `Trainable`: loss(tokens (batch, time), targets (batch, time)) -> the mean loss
    writer               write(prompt (batch, time), length) -> (batch, time + length), greedily
    encoder_decoder      `Translator`: loss(source, words, targets), and write(source, length), greedily

What differs between the projects beyond their code stands in a comment of each module.
"""

import contextlib
import importlib
import io
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from benchmarks.peers import AbsentError, folder
from benchmarks.results import commit

PADDING, START = 0, 1  # tokens of the encoder-decoder rows

# The name that a table shows, the module here, and the folder in PEERS_DIR (None: no peer).
ALL = (
    ("ours", "ours", None),
    ("torch", "torch_modules", None),
    ("bare loop", "bare", None),
    ("nanoGPT", "nanogpt", "nanoGPT"),
    ("minGPT", "mingpt", "minGPT"),
    ("x-transformers", "x_transformers", "x-transformers"),
    ("former", "former", "former"),
    ("LLMs-from-scratch", "llms_from_scratch", "LLMs-from-scratch"),
    ("labml", "labml", "labml"),
    ("Annotated Transformer", "annotated", "annotated-transformer"),
    ("d2l", "d2l", "d2l-en"),
)


@dataclass(frozen=True)
class Sizes:
    """How large a model is; `context` is the longest sequence, and the feed-forward layers have `hidden` columns."""

    vocab: int
    width: int
    heads: int
    layers: int
    context: int

    @property
    def hidden(self) -> int:
        """The width of the feed-forward layers."""
        return 4 * self.width


@dataclass(frozen=True)
class Trainable:
    """A module, and what its loss on a batch is."""

    module: nn.Module
    loss: Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Translator(Trainable):
    """An encoder and decoder, and how it writes (batch, length) tokens for a source (batch, n)."""

    write: Callable[[torch.Tensor, int], torch.Tensor]


def gather(function: str, sizes: Sizes) -> tuple[dict[str, object], list[str]]:
    """Return by name what every implementation that defines `function` makes of these sizes, and who is absent, why."""
    made, notes = {}, []
    for name, module, _ in ALL:
        try:
            make = getattr(importlib.import_module(f"{__name__}.{module}"), function, None)
            if make is None:
                continue
            torch.manual_seed(0)
            with contextlib.redirect_stdout(io.StringIO()):  # some say how many parameters they have
                made[name] = make(sizes)
        except AbsentError as error:
            notes.append(f"{name} is left out: {error}.")
    return made, notes


def without_dropout(module: nn.Module) -> nn.Module:
    """Return the module with every dropout in it set to 0, for projects whose constructors do not reach all of them."""
    for each in module.modules():
        if isinstance(each, nn.Dropout):
            each.p = 0.0
    return module


def commits() -> dict[str, str]:
    """Return the commit of every peer that is there."""
    found = {}
    for name, _, peer in ALL:
        if peer is not None:
            with contextlib.suppress(AbsentError):
                found[name] = commit(folder(peer))
    return found
