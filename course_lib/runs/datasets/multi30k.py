"""Multi30k: captions of photographs, from English into German (Elliott et al., 2016)."""

from course_lib.data import multi30k
from course_lib.runs.dataset import Dataset


def load() -> dict[str, list[tuple[str, str]]]:
    """Return the three splits, downloaded if need be."""
    return {split: list(multi30k.load(split)) for split in multi30k.SPLITS}


DATASET = Dataset(
    task="translation",
    load=load,
    defaults={
        "steps": 10_000,
        "batch": 128,
        "learning_rate": 1e-3,
        "width": 256,
        "layers": 3,
        "heads": 8,
        "context": 128,
        "dropout": 0.1,
        "smoothing": 0.1,
        "vocabulary": "byte-pairs",
        "entries": 8000,
    },
)
