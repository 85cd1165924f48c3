"""Lines of the reader's own: a label, a tab, and the text."""

from functools import partial

from course_lib.data.text_files import read_pairs
from course_lib.project import CourseError
from course_lib.runs.dataset import Dataset
from course_lib.runs.datasets.own_files import ONE_IN, divided


def load(path: str) -> dict[str, list[tuple[str, str]]]:
    """Return the labelled texts of a file; raises CourseError where there are too few labels to train with."""
    kept, held_out = divided(list(read_pairs(path)))
    labels = {label for label, _ in kept}
    if len(labels) < 2:
        raise CourseError(f"{path} has {len(labels)} labels in the lines to train with, expected at least 2")
    strange = [label for label, _ in held_out if label not in labels]
    if strange:
        raise CourseError(
            f"{path} has the label {strange[0]!r} only in lines that are held out (every {ONE_IN}th): "
            "it needs more examples, or the lines another order"
        )
    return {"train": kept, "test": held_out}


def dataset(path: str) -> Dataset:
    """Return the data set of a file."""
    return Dataset(
        task="classifier",
        load=partial(load, path),
        defaults={
            "steps": 1000,
            "batch": 32,
            "learning_rate": 1e-3,
            "width": 64,
            "layers": 2,
            "heads": 4,
            "context": 256,
            "dropout": 0.1,
            "vocabulary": "words",
            "entries": 10_000,
        },
    )
