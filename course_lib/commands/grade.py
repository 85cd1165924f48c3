"""`course grade`: a gradebook for a class."""

from pathlib import Path
from typing import Annotated

import typer

from course_lib.commands._catalogue import OWN, Package
from course_lib.commands._options import Only

EXAMPLES = (
    "course grade submissions --out grades --jobs 2",
    "course grade submissions --out grades --resume",
    "course grade submissions.zip --out grades --roster worksheet.csv --format csv,moodle",
    "course grade submissions --out grades --regrade",
)


def run(
    submissions: Annotated[Path, typer.Argument(help="A folder with a folder or a file for each student, or a zip.")],
    out: Annotated[Path, typer.Option(help="Where the gradebook and the tables go.")] = Path("grades"),
    only: Only = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Repeat the random cases of an earlier run.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the gradebook that is there.")] = False,
    regrade: Annotated[
        bool, typer.Option("--regrade", help="Grade all again with the same seed, and say which marks changed.")
    ] = False,
    formats: Annotated[
        str, typer.Option("--format", help="Any of csv,jsonl,gradescope,junit,moodle,canvas.")
    ] = "csv,jsonl",
    roster: Annotated[Path | None, typer.Option(help="A table of the people, such as your platform exports.")] = None,
    assignment: Annotated[str, typer.Option(help="The assignment in Canvas that takes the points.")] = "",
    wall: Annotated[float | None, typer.Option(min=1, help="Seconds for one submission.")] = None,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="Grade also where no sandbox works.")] = False,
    scheduler: Annotated[str | None, typer.Option(help="The address of a Dask cluster that runs.")] = None,
    package: Package = OWN,
) -> None:
    """Grade a folder of notebooks and modules, in a sandbox."""
    from course_lib.grading import grade_command

    chosen = [each.strip() for each in formats.split(",")]
    code = grade_command.grade(
        submissions,
        out,
        jobs,
        seed,
        only or (),
        resume,
        chosen,
        wall,
        unsafe,
        scheduler,
        package=package,
        roster=roster,
        assignment=assignment,
        again=regrade,
    )
    raise typer.Exit(code)
