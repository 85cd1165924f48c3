"""Arguments and options that several subcommands share."""

from pathlib import Path
from typing import Annotated

import typer

Chapters = Annotated[
    list[str] | None, typer.Argument(metavar="[CHAPTER]...", help="Chapters such as 02; all by default.")
]
Only = Annotated[
    list[str] | None, typer.Option(help="A chapter (02) or an exercise (02.3); may be given more than once.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for other programmes.")]
Grades = Annotated[Path, typer.Argument(help="A folder that `course grade` wrote.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `course train` made.")]
