"""A text of the reader's own, of which the end is held out."""

from functools import partial

from course_lib.data.text_files import read_text
from course_lib.runs.dataset import Dataset
from course_lib.runs.datasets.own_files import ONE_IN


def load(path: str) -> dict[str, str]:
    """Return the text in two parts, of which the second serves both splits that are held out."""
    text = read_text(path)
    cut = len(text) - len(text) // ONE_IN
    return {"train": text[:cut], "val": text[cut:], "test": text[cut:]}


def dataset(path: str) -> Dataset:
    """Return the data set of a file."""
    return Dataset(
        task="language-model",
        load=partial(load, path),
        defaults={
            "steps": 1000,
            "batch": 16,
            "learning_rate": 2e-3,
            "width": 128,
            "layers": 3,
            "heads": 4,
            "context": 128,
            "dropout": 0.1,
            "vocabulary": "characters",
            "entries": 256,
        },
    )
