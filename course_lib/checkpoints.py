"""What a training run needs to be taken up again, in two files of which no half is ever left behind."""

import json
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from course_lib.files import write_atomically

FACTS, TENSORS = "checkpoint.json", "checkpoint-{step:08d}.safetensors"


def write_checkpoint(folder: Path, tensors: dict[str, torch.Tensor], facts: dict) -> None:
    """Write `tensors` as safetensors and `facts`, which hold a "step", as JSON into `folder`, both or neither.

    The tensors get a file of their own for each step. Then the facts, which name that file, take the place of the old
    ones in one move, and only then are older tensors deleted. Whenever the power fails, the facts belong to the tensors
    that they name.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_checkpoint(Path(folder), {"weight": torch.ones(2)}, {"step": 7})
    ...     read_checkpoint(Path(folder))
    ({'weight': tensor([1., 1.])}, {'step': 7})
    """
    name = TENSORS.format(step=facts["step"])
    own = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
    write_atomically(folder / name, save(own))
    content = json.dumps(facts | {"tensors": name}, indent=1, ensure_ascii=False)
    write_atomically(folder / FACTS, content + "\n")
    for old in folder.glob(TENSORS.format(step=0).replace("00000000", "*")):
        if old.name != name:
            old.unlink()


def read_checkpoint(folder: Path) -> tuple[dict[str, torch.Tensor], dict]:
    """Return the tensors and the facts that were written last; ValueError in one sentence if there are none, or broken.

    >>> read_checkpoint(Path("nowhere"))
    Traceback (most recent call last):
    ValueError: there is no checkpoint in nowhere: checkpoint.json is missing
    """
    name = FACTS
    try:
        facts = json.loads((folder / name).read_text(encoding="utf-8"))
        name = facts.pop("tensors")
        return load_file(folder / name), facts
    except FileNotFoundError:
        raise ValueError(f"there is no checkpoint in {folder}: {name} is missing") from None
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, AttributeError, TypeError, SafetensorError) as error:
        raise ValueError(f"the checkpoint in {folder} is broken: {error}") from None
