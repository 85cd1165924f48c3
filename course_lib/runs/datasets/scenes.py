"""Pictures of two coloured shapes, as in Chapter 2, drawn anew for each step."""

import torch

from course_lib.data import scenes
from course_lib.runs.dataset import Dataset
from course_lib.runs.vocabularies import Listed

HELD_OUT = 1000  # scenes
SEED_OF_HELD_OUT = 2**40  # no seed of a training batch is as large


def load() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Return the pictures and captions that are held out; the combinations that training withholds occur, too."""
    held_out = scenes.make_scenes(HELD_OUT, seed=SEED_OF_HELD_OUT)
    return {"test": (held_out.images, held_out.captions)}


def draw(number: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return pictures (number, 3, 32, 32) and captions (number, 7) that leave out the withheld combinations."""
    seed = int(torch.randint(SEED_OF_HELD_OUT, (), generator=generator))
    drawn = scenes.make_scenes(number, seed, scenes.SEEN)
    return drawn.images, drawn.captions


DATASET = Dataset(
    task="captioner",
    load=load,
    defaults={
        "steps": 600,
        "batch": 32,
        "learning_rate": 3e-3,
        "width": 96,
        "layers": 1,
        "heads": 1,
        "context": scenes.CAPTION_LENGTH - 1,
    },
    vocabulary=Listed(scenes.VOCABULARY, separator=" ", silent=2),
    draw=draw,
    amount=f"new scenes for each step, without {len(scenes.UNSEEN)} combinations, "
    "and {held_out} scenes of all of them held out",
    embedded=True,
)
