"""The language reference of Python, which comes with the course, character by character."""

from course_lib.data import python_reference
from course_lib.runs.dataset import Dataset
from course_lib.runs.vocabularies import Listed


def load() -> dict[str, str]:
    """Return the text to train on; the chapters that are held out serve both other splits."""
    held_out = python_reference.text(held_out=True)
    return {"train": python_reference.text(), "val": held_out, "test": held_out}


DATASET = Dataset(
    task="language-model",
    load=load,
    defaults={
        "steps": 600,
        "batch": 16,
        "learning_rate": 3e-3,
        "width": 96,
        "layers": 2,
        "heads": 4,
        "context": 96,
    },
    vocabulary=Listed(python_reference.CHARACTERS, separator=""),
    embedded=True,
)
