"""Tiny Shakespeare: a million characters of his plays, put together by Karpathy (2015)."""

from course_lib.data import corpora
from course_lib.runs.dataset import Dataset


def load() -> dict[str, str]:
    """Return the three splits, downloaded if need be."""
    return {split: corpora.load("tiny-shakespeare", split) for split in corpora.SPLITS}


DATASET = Dataset(
    task="language-model",
    load=load,
    defaults={
        "steps": 5000,
        "batch": 32,
        "learning_rate": 1e-3,
        "width": 192,
        "layers": 4,
        "heads": 6,
        "context": 256,
        "dropout": 0.2,
        "vocabulary": "characters",
        "entries": 256,
    },
)
