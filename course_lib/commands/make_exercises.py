"""`course make-exercises`: the notebooks that learners fill in."""

from typing import Annotated

import typer

EXAMPLES = ("course make-exercises", "course make-exercises --check")


def run(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; fail on drift or a leaked answer.")] = False,
) -> None:
    """Derive exercises/*.ipynb from solutions/*.md."""
    from course_lib.authoring import stubs

    raise typer.Exit(stubs.check() if check else stubs.make())
