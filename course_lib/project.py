"""Where the files of the course are."""

from pathlib import Path


class CourseError(Exception):
    """Something the user can put right; its message is one plain sentence, shown without a stack trace."""


def root() -> Path:
    """Return the folder that holds `_toc.yml`, `book/` and `exercises/`.

    Raises CourseError where the package was installed without the rest of the course.

    >>> (root() / "_toc.yml").exists()
    True
    """
    folder = Path(__file__).resolve().parent.parent
    if not (folder / "_toc.yml").exists():
        raise CourseError(f"no course around {folder}: clone the repository and run `pip install -e .` inside it")
    return folder


def find_chapter(folder: Path, chapter: str, suffix: str) -> Path:
    """Return the one file in `folder` that belongs to `chapter` ("02" or "2"), such as `02_full_name.ipynb`.

    Raises CourseError that lists the chapters there are, when this one is not among them.

    >>> find_chapter(root() / "solutions", "02", ".md").name
    '02_attention_in_image_captioning.md'
    """
    found = sorted(folder.glob(f"{chapter.zfill(2)}_*{suffix}"))
    if not found:
        there = ", ".join(sorted({path.name[:2] for path in folder.glob(f"[0-9][0-9]_*{suffix}")})) or "none"
        raise CourseError(f"there is no chapter {chapter!r} in {folder.name}/ (chapters there: {there})")
    return found[0]
