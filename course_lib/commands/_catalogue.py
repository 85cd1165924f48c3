"""Whose exercises they are, and where the learner works on them."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from course_lib.project import CourseError

Package = Annotated[
    str, typer.Option("--catalogue", metavar="PACKAGE", help="A package of exercises of your own; see For instructors.")
]
OWN = "course_lib.exercises"


def learner_place(package: str):
    """Return where the learner works: in the repository of this course, or else in the current folder."""
    from course_lib.grading.catalogue import catalogue
    from course_lib.grading.command import Place
    from course_lib.project import root

    with contextlib.suppress(CourseError):  # the package was installed without the rest of the course
        if package == OWN:
            return Place(catalogue(package), root() / "my_exercises")
    return Place(catalogue(package), Path.cwd() / "my_exercises")
