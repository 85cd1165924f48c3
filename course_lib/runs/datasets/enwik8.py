"""enwik8: the first hundred million bytes of an English Wikipedia, from Mahoney's compression benchmark (2006)."""

from course_lib.data import corpora
from course_lib.runs.dataset import Dataset


def load() -> dict[str, str]:
    """Return the three splits, downloaded if need be."""
    return {split: corpora.load("enwik8", split) for split in corpora.SPLITS}


DATASET = Dataset(
    task="language-model",
    load=load,
    defaults={
        "steps": 20_000,
        "batch": 64,
        "learning_rate": 1e-3,
        "width": 384,
        "layers": 6,
        "heads": 6,
        "context": 256,
        "dropout": 0.1,
        "vocabulary": "byte-pairs",
        "entries": 8192,
    },
)
