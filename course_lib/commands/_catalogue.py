"""Whose exercises they are, and where the learner works on them."""

from pathlib import Path
from typing import Annotated

import typer

from course_lib.project import OWN_FOLDER, own_folder

Package = Annotated[
    str, typer.Option("--catalogue", metavar="PACKAGE", help="A package of exercises of your own; see For instructors.")
]
OWN = "course_lib.exercises"


def learner_place(package: str):
    """Return where the learner works; on another catalogue than that of this course, in the current folder."""
    from course_lib.grading.catalogue import catalogue
    from course_lib.grading.command import Place

    return Place(catalogue(package), own_folder() if package == OWN else Path.cwd() / OWN_FOLDER)
