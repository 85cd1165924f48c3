"""Where the files of the course are, and where a learner works on them."""

import contextlib
from pathlib import Path

OWN_FOLDER = "my_exercises"


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
        raise CourseError(
            "this needs the whole course, of which only the package is installed here: clone its repository and run "
            "`pip install -e .` inside it"
        )
    return folder


def shared(name: str) -> Path:
    """Return where the file or folder `name` of the repository is that an installed package has as well.

    >>> shared("solutions").is_dir()
    True
    """
    package = Path(__file__).resolve().parent
    installed = package / "shared" / name  # where hatch_build.py has put it
    return installed if installed.exists() else package.parent / name


def own_folder() -> Path:
    """Return the folder of a learner's own notebooks: the current one, or else my_exercises/.

    That lies in the repository, wherever the learner stands; without a repository, it lies in the current folder.
    """
    here = Path.cwd()
    if here.name == OWN_FOLDER:
        return here
    with contextlib.suppress(CourseError):
        return root() / OWN_FOLDER
    return here / OWN_FOLDER


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
