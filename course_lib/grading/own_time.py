"""A limit for what an exercise computes itself: a loop without end in our own code must not hang the grader."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from course_lib.grading.sandbox.worker.attempt import Unfinished, at_most
from course_lib.grading.wording import describe_case, shorten
from course_lib.project import CourseError

if TYPE_CHECKING:
    from course_lib.grading.exercise import Case, Task

SECONDS = 10.0  # of computing, for one call: far more than the two that an answer has for the same case
LONGEST_CASE = 200  # characters of the case: the name of the exercise must still fit beside it


class OwnCodeUnfinished(CourseError):
    """Something of an exercise did not end; the message tells what, and on which of our cases."""


@contextlib.contextmanager
def in_own_time(what: str, task: "Task", case: "Case | None" = None) -> Iterator[None]:
    """Interrupt `what` the exercise computes inside, which works on `case`, after `SECONDS` of computing.

    Raises OwnCodeUnfinished, which holds nothing that an answer gave.
    """
    try:
        with at_most(SECONDS):
            yield
    except Unfinished as error:
        on = f", on the case {shorten(describe_case(case), LONGEST_CASE)}" if case else ""
        raise OwnCodeUnfinished(f"{what} of {task.function} did not end: {error}{on}") from None
