"""The data sets that `course train TASK --data NAME` knows: one module each, found by its place.

`tiny_shakespeare.py` in this folder is "tiny-shakespeare", and its DATASET says all that a run needs to know. A file of
the reader's own is the data set that `own_files/TASK.py` makes of it. No list names them: a new one is one module more.
"""

import importlib
import pkgutil
from importlib.util import find_spec
from typing import TYPE_CHECKING

from course_lib.project import CourseError

if TYPE_CHECKING:  # `course --help` asks for the names, and must not wait for torch
    from course_lib.runs.dataset import Dataset


def names() -> list[str]:
    """Return the names of all data sets, without importing any.

    >>> "tiny-shakespeare" in names()
    True
    """
    return sorted(_as_option(module.name) for module in pkgutil.iter_modules(__path__) if not module.ispkg)


def find(name: str) -> "Dataset":
    """Return the data set with a name of `names()`.

    >>> find("imdb").task
    'classifier'
    """
    return importlib.import_module(f"{__name__}.{_as_module(name)}").DATASET


def tasks() -> list[str]:
    """Return the tasks that there are data for.

    >>> tasks()
    ['captioner', 'classifier', 'language-model', 'translation']
    """
    return sorted({find(name).task for name in names()})


def of_task(task: str) -> dict[str, "Dataset"]:
    """Return the data sets of a task by their names, the one that comes with the course first.

    >>> list(of_task("translation"))
    ['number-names', 'multi30k']
    """
    found = {name: find(name) for name in names()}
    return {
        name: dataset
        for name, dataset in sorted(found.items(), key=lambda each: not each[1].embedded)
        if dataset.task == task
    }


def own_file(task: str, path: str) -> "Dataset | None":
    """Return the data set that a task makes of the reader's own file; None for a task that reads none.

    >>> own_file("captioner", "pictures.txt") is None
    True
    """
    place = f"{__name__}.own_files.{_as_module(task)}"
    return importlib.import_module(place).dataset(path) if find_spec(place) else None


def open_dataset(task: str, data: str) -> "Dataset":
    """Return the data set with this name, or that of the file at this path; nothing is read yet.

    Raises CourseError for a task that reads no files.
    """
    dataset = find(data) if data in names() else own_file(task, data)
    if dataset is None:
        raise CourseError(f"there is no data set {data} for the {task} (there are: {', '.join(of_task(task))})")
    return dataset


def _as_option(module: str) -> str:
    return module.replace("_", "-")


def _as_module(option: str) -> str:
    return option.replace("-", "_")
