"""`course feedback`: a page and a text for each student."""

import typer

from course_lib.commands._options import Grades

EXAMPLES = ("course feedback grades", "course feedback grades/week_5")


def run(grades: Grades) -> None:
    """Write a page and a text for each student: points, findings, and the mistake explained."""
    from course_lib.grading.reports import feedback

    pages = feedback.feedback(grades)
    typer.echo(f"The pages are in {pages}; all of them to hand back: {grades / feedback.ARCHIVE}")
