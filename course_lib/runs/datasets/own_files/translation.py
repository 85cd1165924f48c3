"""Lines of the reader's own: a source, a tab, and the target."""

from functools import partial

from course_lib.data.text_files import read_pairs
from course_lib.project import CourseError
from course_lib.runs.dataset import Dataset
from course_lib.runs.datasets.own_files import divided


def load(path: str) -> dict[str, list[tuple[str, str]]]:
    """Return the pairs of a file; raises CourseError for a single one."""
    pairs = list(read_pairs(path))
    if len(pairs) < 2:
        raise CourseError(f"{path} has a single pair, expected at least 2: one to train with and one held out")
    kept, held_out = divided(pairs)
    return {"train": kept, "val": held_out, "test": held_out}


def dataset(path: str) -> Dataset:
    """Return the data set of a file."""
    return Dataset(
        task="translation",
        load=partial(load, path),
        defaults={
            "steps": 2000,
            "batch": 64,
            "learning_rate": 1e-3,
            "width": 128,
            "layers": 2,
            "heads": 4,
            "context": 128,
            "dropout": 0.1,
            "smoothing": 0.1,
            "vocabulary": "byte-pairs",
            "entries": 4000,
        },
    )
