"""`course check-exercise`: what is missing in an exercise."""

from typing import Annotated

import typer

EXAMPLES = ("course check-exercise 03.6", "course check-exercise 03.5 03.6 --seeds 20")


def run(
    exercises: Annotated[list[str], typer.Argument(metavar="EXERCISE...", help="Such as 03.6.")],
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, counted from 0.")] = 3,
) -> None:
    """Say in sentences what is missing in exercises before a learner may meet them."""
    from course_lib.authoring.exercise_rules import problems
    from course_lib.grading.catalogue import catalogue
    from course_lib.project import root

    root()  # the tests of an exercise lie there, and are read last
    found = False
    for exercise in exercises:
        sentences = problems(catalogue(), exercise, range(seeds))
        typer.echo(f"{exercise}: {'nothing is missing' if not sentences else ''}".rstrip())
        for sentence in sentences:
            typer.echo(f"  {sentence}")
        found = found or bool(sentences)
    raise typer.Exit(1 if found else 0)
