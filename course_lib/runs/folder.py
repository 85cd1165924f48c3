"""The folder of a run: what it was told, how it went, what it wrote, and where it can be taken up again."""

import csv
import dataclasses
import io
import json
import os
import time
from pathlib import Path

import torch

from course_lib.checkpoints import read_checkpoint, write_checkpoint
from course_lib.files import PART, write_atomically
from course_lib.project import CourseError
from course_lib.runs.settings import Settings
from course_lib.runs.vocabularies import FILE as VOCABULARY

CONFIGURATION, METRICS, SAMPLES = "config.json", "metrics.csv", "samples.txt"
COLUMNS = ("step", "training loss", "held-out loss", "accuracy", "learning rate", "predictions a second")


class RunFolder:
    """The files of one run, at `path`.

    Rows and samples are appended; the checkpoint says how long both files were when it was written. What was appended
    after it belongs to steps that will be taken again, and is cut off when the run goes on.
    """

    def __init__(self, path: Path):
        self.path = path

    @classmethod
    def create(cls, task: str, out: Path | None) -> "RunFolder":
        """Make a new folder, `out` or runs/TASK-DATE-TIME; raises CourseError for one that has something in it."""
        path = out or Path("runs") / f"{task}-{time.strftime('%Y-%m-%d-%H%M%S')}"
        try:
            for number in range(2, 100):
                if out or not path.exists():
                    break
                path = path.with_name(f"{task}-{time.strftime('%Y-%m-%d-%H%M%S')}-{number}")  # two in one second
            if path.exists() and any(path.iterdir()):
                raise CourseError(f"{path} has something in it: name a folder that is new or empty with `--out`")
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CourseError(f"{path} cannot be made: {error.strerror or error}") from error
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Return the folder of a run that exists; raises CourseError for any other."""
        if not (path / CONFIGURATION).is_file():
            raise CourseError(
                f"{path} is no run: it has no {CONFIGURATION} (a run is a folder that `course train` made)"
            )
        return cls(path)

    def write_configuration(self, settings: Settings, facts: dict, vocabulary) -> None:
        """Write settings and facts, and the vocabulary."""
        vocabulary.save(self.path / VOCABULARY)
        content = {"settings": dataclasses.asdict(settings), **facts}
        self.write(CONFIGURATION, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())

    def read_configuration(self) -> tuple[Settings, dict]:
        """Return settings and facts; raises CourseError if they are broken."""
        try:
            content = json.loads((self.path / CONFIGURATION).read_text(encoding="utf-8"))
            return Settings(**content.pop("settings")), content
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise CourseError(f"{self.path / CONFIGURATION} is broken or from another version of the course") from error

    def append_row(self, row: dict[str, float | None]) -> None:
        """Append one row with a value for each of COLUMNS to the metrics; what is None stays empty."""
        values = [row[name] for name in COLUMNS]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self._length(METRICS):
            writer.writerow(COLUMNS)
        writer.writerow("" if value is None else value for value in values)
        self._append(METRICS, text.getvalue())

    def rows(self) -> list[dict[str, float | None]]:
        """Return the metrics, a dictionary for each evaluation."""
        with (self.path / METRICS).open(encoding="utf-8", newline="") as file:
            return [
                {name: float(value) if value else None for name, value in row.items()} for row in csv.DictReader(file)
            ]

    def append_samples(self, step: int, samples: str) -> None:
        """Append what the model writes at this step."""
        self._append(SAMPLES, f"── step {step} ──\n{samples.rstrip()}\n\n")

    def write_checkpoint(self, state: dict[str, torch.Tensor], facts: dict) -> None:
        """Write what is needed to go on, and how long the other files are."""
        lengths = {name: self._length(name) for name in (METRICS, SAMPLES)}
        try:
            write_checkpoint(self.path, state, facts | {"lengths": lengths})
        except OSError as error:
            raise self._cannot_write(error) from error

    def read_checkpoint(self) -> tuple[dict[str, torch.Tensor], dict]:
        """Return the state of the training and the facts; raises CourseError if there is none, or a broken one."""
        try:
            return read_checkpoint(self.path)
        except ValueError as error:
            raise CourseError(str(error)) from error

    def cut(self, facts: dict) -> None:
        """Cut off what was appended after the checkpoint with these facts, and delete what was half written."""
        for part in self.path.glob(f".*{PART}"):
            part.unlink()
        for name, length in facts["lengths"].items():
            if self._length(name) < length:
                raise CourseError(f"{self.path / name} is shorter than the checkpoint says: it was changed or damaged")
            if (self.path / name).exists():
                os.truncate(self.path / name, length)

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all."""
        try:
            write_atomically(self.path / name, content)
        except OSError as error:
            raise self._cannot_write(error) from error

    def _append(self, name: str, text: str) -> None:
        try:
            with (self.path / name).open("ab") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())  # before the checkpoint, which counts on it
        except OSError as error:
            raise self._cannot_write(error) from error

    def _length(self, name: str) -> int:
        path = self.path / name
        return path.stat().st_size if path.exists() else 0

    def _cannot_write(self, error: OSError) -> CourseError:
        return CourseError(f"{self.path} cannot be written: {error.strerror or error}")
