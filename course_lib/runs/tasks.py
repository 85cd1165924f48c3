"""The tasks by their names; each is imported when it is asked for."""

import importlib

from course_lib.runs.settings import Settings
from course_lib.runs.task import TrainingTask

PLACES = {
    "language-model": ("language_models", "LanguageModelling"),
    "translation": ("translation", "Translation"),
    "classifier": ("classifiers", "Classification"),
    "captioner": ("captioners", "Captioning"),
}


def make_task(settings: Settings, vocabulary=None, labels: list[str] | None = None) -> TrainingTask:
    """Return the task that the settings name."""
    module, name = PLACES[settings.task]
    return getattr(importlib.import_module(f"course_lib.runs.{module}"), name)(settings, vocabulary, labels)
