"""The capstone's scenes, its training, and where its weights are kept."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from course_lib.data import scenes
from course_lib.models.picture_writer import Parts, PictureWriter
from course_lib.training import train

REFERENCE = Path(__file__).parent / "reference"  # .safetensors and .json, made by `python -m course_lib.capstone`
PADDING = scenes.START  # what stands behind the end mark; no target is ever the start, so it may be one with padding
BATCH = 64


def fresh_scenes(number: int, seed: int) -> scenes.Scenes:
    """Return `number` scenes of seen combinations that `train_picture_writer` never trains on, whatever its seed."""
    return scenes.make_scenes(number, seed=10 * seed + 2, combinations=scenes.SEEN)


def unseen_scenes(number: int, seed: int) -> scenes.Scenes:
    """Return `number` scenes whose objects are all of combinations that training withholds."""
    return scenes.make_scenes(number, seed=10 * seed + 3, combinations=scenes.UNSEEN)


def train_picture_writer(
    model: PictureWriter, steps: int = 700, seed: int = 0, number: int = 4000, learning_rate: float = 3e-3
) -> list[float]:
    """Train `model` in place on `number` scenes of seen combinations; return the loss of each step.

    The words that are read, and which steps count, are the parts' business. The model ends in eval mode.
    """
    training = scenes.make_scenes(number, seed=10 * seed + 1, combinations=scenes.SEEN)

    def batch_loss(generator: torch.Generator) -> torch.Tensor:
        chosen = torch.randint(number, (BATCH,), generator=generator)  # (batch,)
        targets = training.captions[chosen, 1:]  # (batch, 6)
        return model.loss(training.images[chosen], targets, scenes.START, PADDING)

    return train(model, batch_loss, steps, learning_rate, seed)


def save_picture_writer(model: PictureWriter, base: Path, **facts) -> None:
    """Write BASE.safetensors, the weights in float16, and BASE.json: the configuration, and what `facts` say.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save_picture_writer(PictureWriter(vocabulary=12), Path(folder) / "mine", command="by hand")
    ...     load_picture_writer(base=Path(folder) / "mine").d_model
    64
    """
    half = {
        name: (tensor.half() if tensor.is_floating_point() else tensor).contiguous()
        for name, tensor in model.state_dict().items()
    }
    base.parent.mkdir(parents=True, exist_ok=True)
    save_file(half, base.with_suffix(".safetensors"))
    content = json.dumps({"configuration": model.configuration} | facts, indent=1, ensure_ascii=False)
    base.with_suffix(".json").write_text(content + "\n", encoding="utf-8")


def load_picture_writer(parts: Parts | None = None, base: Path = REFERENCE) -> PictureWriter:
    """Return the writer of these weights made of `parts`, in eval mode: by default the reference solution.

    >>> load_picture_writer().training
    False
    """
    weights = load_file(base.with_suffix(".safetensors"))
    configuration = json.loads(base.with_suffix(".json").read_text(encoding="utf-8"))["configuration"]
    model = PictureWriter(**configuration, parts=parts)
    model.load_state_dict({name: each.float() if each.is_floating_point() else each for name, each in weights.items()})
    return model.eval()
