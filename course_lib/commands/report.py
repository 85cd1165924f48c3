"""`course report`: a page about a class."""

from typing import Annotated

import typer

from course_lib.commands._options import Grades
from course_lib.project import CourseError

EXAMPLES = ("course report grades", "course report grades --book https://example.org/book")


def run(
    grades: Grades, book: Annotated[str | None, typer.Option(help="The address of the book, for links.")] = None
) -> None:
    """Write a page about the class: points, and which mistakes it makes."""
    from course_lib.grading.reports import class_report

    page = class_report.report(grades, _published_book() if book is None else book)
    typer.echo(f"The page is here, open it in a browser: {page}")


def _published_book() -> str:
    """Return the address at which `_config.yml` says the book is to be found; without a repository, none."""
    import yaml

    from course_lib.project import root

    try:
        text = (root() / "_config.yml").read_text(encoding="utf-8")
    except CourseError:
        return ""
    return yaml.safe_load(text)["html"]["baseurl"]
