"""`course start`: copies of the exercises to work in."""

from course_lib.commands._options import Chapters


def run(chapters: Chapters = None) -> None:
    """Copy the exercises into my_exercises/ without touching work that is already there."""
    from course_lib.authoring import stubs

    stubs.start(chapters or [])
