"""`course new-exercise`: the three files of an exercise, with their skeletons."""

from typing import Annotated

import typer

EXAMPLES = ('course new-exercise 03.6 "Double it"', 'course new-exercise 04.7 "A second look"')


def run(
    exercise: Annotated[str, typer.Argument(help="Its number, such as 03.6.")],
    title: Annotated[str, typer.Argument(help='Its title, such as "Double it".')],
) -> None:
    """Write the files of a new exercise and say what comes next."""
    from course_lib.authoring import new_exercise
    from course_lib.grading.catalogue import catalogue
    from course_lib.project import root

    home = root()
    for path in new_exercise.write(catalogue(), home, exercise, title):
        typer.echo(f"written  {path.relative_to(home)}")
    typer.echo(f"next     fill them in; make check-exercise ID={exercise} says what is missing")
