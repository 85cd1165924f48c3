"""The numbers below a million, from English into German, as in Chapter 9."""

import torch

from course_lib.data import number_names
from course_lib.data.vocabularies import END
from course_lib.runs.dataset import Dataset
from course_lib.runs.vocabularies import Listed

VOCABULARY = Listed(number_names.VOCABULARY, separator=" ", silent=END + 1)


def load() -> dict[str, list[tuple[str, str]]]:
    """Return the pairs that are held out."""
    held_out = number_names.held_out()
    rows = zip(held_out.source, held_out.target, strict=True)
    pairs = [(VOCABULARY.decode(source), VOCABULARY.decode(target)) for source, target in rows]
    return {"val": pairs, "test": pairs}


def draw(number: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return English names (number, n) and German ones (number, m)."""
    drawn = number_names.draw_number_names(number, generator)
    return drawn.source, drawn.target


DATASET = Dataset(
    task="translation",
    load=load,
    defaults={
        "steps": 500,
        "batch": 32,
        "learning_rate": 3e-3,
        "width": 64,
        "layers": 2,
        "heads": 4,
        "context": 32,
    },
    vocabulary=VOCABULARY,
    draw=draw,
    amount=f"{number_names.TRAINING:,} numbers in two languages to train with, {{held_out}} held out",
    expansion=2,
    embedded=True,
)
