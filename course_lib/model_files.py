"""Trained models in two files: NAME.safetensors, the weights in half precision, and NAME.json, what made them.

The JSON has the "configuration", which are the arguments that the model was made with, and facts about the training.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import nn

from course_lib.files import complete_or_absent

WEIGHTS, FACTS = ".safetensors", ".json"
Model = TypeVar("Model", bound=nn.Module)


def files_of(base: Path) -> tuple[Path, Path]:
    """Return where the weights and the facts of the model `base` are.

    >>> [path.name for path in files_of(Path("gpt.small"))]
    ['gpt.small.safetensors', 'gpt.small.json']
    """
    return base.with_name(base.name + WEIGHTS), base.with_name(base.name + FACTS)


def in_half_precision(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return the weights of a model in float16; whole numbers, such as counts, stay what they are."""
    return {
        name: (tensor.half() if tensor.is_floating_point() else tensor).contiguous()
        for name, tensor in model.state_dict().items()
    }


def save_model(model: nn.Module, base: Path, configuration: Mapping, facts: Mapping) -> None:
    """Write both files of a model; they appear together, one move after the other, or not at all.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save_model(nn.LayerNorm(3), Path(folder) / "norm", {"normalized_shape": 3}, {"steps": 7})
    ...     _, facts = load_model(Path(folder) / "norm", nn.LayerNorm)
    >>> facts
    {'configuration': {'normalized_shape': 3}, 'steps': 7}
    """
    weights, content = files_of(base)
    text = json.dumps({"configuration": dict(configuration)} | dict(facts), indent=1, ensure_ascii=False)
    with complete_or_absent(weights) as part, complete_or_absent(content) as text_part:
        part.write_bytes(save(in_half_precision(model)))
        text_part.write_text(text + "\n", encoding="utf-8")


def load_model(base: Path, make: Callable[..., Model]) -> tuple[Model, dict]:
    """Return what `make(**configuration)` makes, with its weights in float32 and in eval mode, and what the JSON says.

    Raises ValueError in one sentence for files that are missing or broken, and where they are those of another model.

    >>> load_model(Path("nowhere"), nn.Linear)
    Traceback (most recent call last):
    ValueError: there is no model nowhere: nowhere.safetensors and nowhere.json are missing
    """
    weights, content = files_of(base)
    tensors, said = _read(base)
    try:
        inspect.signature(make).bind(**said["configuration"])
    except TypeError as error:
        raise ValueError(f"the configuration is that of another model: {error} (in {content})") from None
    model = make(**said["configuration"])
    try:
        model.load_state_dict(tensors)  # which makes float32 of float16
    except RuntimeError as error:
        faults = " ".join(str(error).split())  # torch gives each a line of its own
        raise ValueError(f"the weights are those of another model: {faults} (in {weights})") from None
    return model.eval(), said


def _read(base: Path) -> tuple[dict[str, torch.Tensor], dict]:
    """Return the weights as they are stored, and what the JSON says."""
    weights, content = files_of(base)
    missing = [path.name for path in (weights, content) if not path.is_file()]
    if missing:
        raise ValueError(f"there is no model {base}: {' and '.join(missing)} {'are' if missing[1:] else 'is'} missing")
    broken = content
    try:
        said = json.loads(content.read_text(encoding="utf-8"))
        if not isinstance(said["configuration"], dict):
            raise TypeError("its configuration is no object")
        broken = weights
        return load_file(weights), said
    except KeyError as error:
        raise ValueError(f"{broken} is broken: it has no {error}") from None
    except (OSError, ValueError, TypeError, RecursionError, SafetensorError) as error:
        raise ValueError(f"{broken} is broken: {error}") from None
