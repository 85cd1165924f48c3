"""`course judge`: points and comments by hand."""

from typing import Annotated

import typer

from course_lib.commands._options import Grades

EXAMPLES = (
    "course judge grades ann.ipynb",
    'course judge grades ann.ipynb 02.3.2 --points 2 --comment "the shape was our mistake" --by Ada',
    "course judge grades ann.ipynb 02.3.2 --withdraw",
)


def run(
    grades: Grades,
    submission: Annotated[
        str | None, typer.Argument(help="A submission; without one, all judgements are listed.")
    ] = None,
    exercise: Annotated[
        str | None, typer.Argument(metavar="[NUMBER]", help="An exercise (02.3) or one of its properties (02.3.2).")
    ] = None,
    property: Annotated[str | None, typer.Argument(help="The name of the property, in place of its number.")] = None,
    points: Annotated[int | None, typer.Option(help="What the property earns.")] = None,
    comment: Annotated[str | None, typer.Option(help="What the student is told.")] = None,
    by: Annotated[str | None, typer.Option(help="Your name; without it, the name of your login.")] = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take a judgement back.")] = False,
) -> None:
    """Override the points of one property by hand, or leave a comment; without either, list what there is."""
    from course_lib.grading import judge_command

    raise typer.Exit(judge_command.judge(grades, submission, exercise, property, points, comment, by, withdraw))
