"""`course sync`: executed notebooks from the texts of the chapters."""

from typing import Annotated

import typer

from course_lib.commands._options import Chapters

EXAMPLES = ("course sync 02", "course sync --check")


def run(
    chapters: Chapters = None,
    check: Annotated[bool, typer.Option("--check", help="Execute nothing; say why a pair differs, and fail.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Execute even where nothing changed.")] = False,
) -> None:
    """Turn book/text/*.md into executed notebooks."""
    from course_lib.authoring import pairs

    raise typer.Exit(pairs.check(chapters or []) if check else pairs.sync(chapters or [], force))
