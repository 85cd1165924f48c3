"""The capstone's scenes, its training, and where its weights are kept."""

from functools import partial
from pathlib import Path

import torch

from course_lib.data import scenes
from course_lib.model_files import load_model, save_model
from course_lib.models.caption_transformer import CaptionTransformer, Parts
from course_lib.training import train

REFERENCE = Path(__file__).parent / "reference"  # .safetensors and .json, made by `python -m course_lib.capstone`
PADDING = scenes.START  # what stands behind the end mark; no target is ever the start, so it may be one with padding
BATCH = 64


def fresh_scenes(number: int, seed: int) -> scenes.Scenes:
    """Return `number` scenes of seen combinations on which `train_caption_transformer` never trains, for any seed."""
    return scenes.make_scenes(number, seed=10 * seed + 2, combinations=scenes.SEEN)


def unseen_scenes(number: int, seed: int) -> scenes.Scenes:
    """Return `number` scenes whose objects are all of combinations that training withholds."""
    return scenes.make_scenes(number, seed=10 * seed + 3, combinations=scenes.UNSEEN)


def train_caption_transformer(
    model: CaptionTransformer, steps: int = 700, seed: int = 0, number: int = 4000, learning_rate: float = 3e-3
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


def save_caption_transformer(model: CaptionTransformer, base: Path, **facts) -> None:
    """Write BASE.safetensors, the weights in float16, and BASE.json: the configuration, and what `facts` say.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save_caption_transformer(CaptionTransformer(vocab_size=12), Path(folder) / "mine", command="by hand")
    ...     load_caption_transformer(base=Path(folder) / "mine").d_model
    64
    """
    save_model(model, base, model.configuration, facts)


def load_caption_transformer(parts: Parts | None = None, base: Path = REFERENCE) -> CaptionTransformer:
    """Return the model of these weights made of `parts`, in eval mode: by default the reference solution.

    Raises ValueError in one sentence for files that are missing or broken, and for weights of another model.

    >>> load_caption_transformer().training
    False
    """
    model, _ = load_model(base, partial(CaptionTransformer, parts=parts))
    return model
