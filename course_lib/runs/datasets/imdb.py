"""IMDb: film reviews that praise or blame (Maas et al., 2011)."""

from course_lib.data import imdb
from course_lib.runs.dataset import Dataset

LABELS = ("blame", "praise")


def load() -> dict[str, list[tuple[str, str]]]:
    """Return the reviews of both splits with their labels, downloaded if need be."""
    return {split: _labelled(imdb.load(split)) for split in imdb.SPLITS}


def _labelled(reviews: imdb.Reviews) -> list[tuple[str, str]]:
    return [(LABELS[label], text) for label, text in zip(reviews.labels, reviews.texts, strict=True)]


DATASET = Dataset(
    task="classifier",
    load=load,
    defaults={
        "steps": 2000,
        "batch": 32,
        "learning_rate": 5e-4,
        "width": 128,
        "layers": 2,
        "heads": 4,
        "context": 256,
        "dropout": 0.2,
        "vocabulary": "words",
        "entries": 20_000,
    },
)
