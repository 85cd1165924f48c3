"""Models that were trained beforehand and come with the course, each with the command that made it."""

from pathlib import Path

from course_lib.model_files import WEIGHTS, load_model
from course_lib.models.language_model import LanguageModel
from course_lib.models.recipes import make_language_model

FOLDER = Path(__file__).parent


def load(name: str, folder: Path = FOLDER) -> tuple[LanguageModel, dict]:
    """Return the language model `name` in eval mode, and the facts about it, which `course publish` wrote.

    facts: "command" that made it, "torch" version, "parameters", "bits_per_character" on text it was not trained on,
    "configuration" of the model, "vocabulary", "data". The weights were kept in float16 and come back in float32.
    Raises ValueError that lists what there is for another name, and for files that are broken.

    >>> load("anything", folder=Path("nowhere"))
    Traceback (most recent call last):
    ValueError: `name` is 'anything', expected one of none
    """
    there = sorted(path.name.removesuffix(WEIGHTS) for path in folder.glob(f"*{WEIGHTS}"))
    if name not in there:
        raise ValueError(f"`name` is {name!r}, expected one of {', '.join(there) or 'none'}")
    return load_model(folder / name, make_language_model)
