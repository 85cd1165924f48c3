"""`course start`: copies of the exercises to work in."""

from typing import Annotated

import typer

from course_lib.commands._options import Chapters

EXAMPLES = ("course start 02", "course start 02 03 --texts")


def run(
    chapters: Chapters = None,
    texts: Annotated[bool, typer.Option("--texts", help="Copy the texts of the chapters, too.")] = False,
) -> None:
    """Copy the exercises into my_exercises/ without touching work that is already there."""
    from course_lib.authoring import stubs

    stubs.start(chapters or [], with_texts=texts)
