"""Reviews in which only the order of the words tells praise from blame, as in Chapter 10."""

import torch

from course_lib.data import negations
from course_lib.runs.dataset import Dataset
from course_lib.runs.vocabularies import Listed

LABELS = ("blame", "praise")  # in alphabetical order, which is that of their numbers
HELD_OUT = 2000  # reviews


def load() -> dict[str, list[tuple[str, str]]]:
    """Return reviews with pairs of adjectives that are never drawn for training."""
    drawn = negations.draw_reviews(HELD_OUT, torch.Generator().manual_seed(0), held_out=True)
    labels = [LABELS[sentiment] for sentiment in drawn.sentiments.tolist()]
    return {"test": list(zip(labels, map(negations.review, drawn.words), strict=True))}


def draw(number: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return words (number, time), padded, and the numbers of their labels (number,)."""
    drawn = negations.draw_reviews(number, generator)
    return drawn.words, drawn.sentiments


DATASET = Dataset(
    task="classifier",
    load=load,
    defaults={
        "steps": 500,
        "batch": 64,
        "learning_rate": 3e-3,
        "width": 48,
        "layers": 2,
        "heads": 4,
        "context": 9,
    },
    vocabulary=Listed(negations.VOCABULARY, separator=" ", silent=1),
    draw=draw,
    amount="reviews of 44 pairs of adjectives to train with, {held_out} held out of 20 other pairs",
    embedded=True,
)
