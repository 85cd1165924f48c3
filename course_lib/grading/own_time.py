"""A limit for what an exercise computes itself: a loop without end in our own code must not hang the grader."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from course_lib.grading.sandbox.worker.attempt import Unfinished, at_most
from course_lib.grading.wording import describe_case, shorten
from course_lib.project import CourseError

if TYPE_CHECKING:
    from course_lib.grading.exercise import Case, Task

SECONDS = 10.0  # of computing: far more than the two that an answer has for one call
LONGEST_CASE = 200  # characters of the case: the name of the exercise must still fit beside it


class OwnCodeUnfinished(CourseError):
    """Something of an exercise did not end; the message tells what, and on which of our cases."""


class OwnWork:
    """What an exercise computes for one `task`, and where it is: so a message can say what did not end.

    One limit stands around many computations, each of which says what it is: to set a limit takes longer than most of
    them.
    """

    def __init__(self, task: "Task"):
        self.task = task
        self._what, self._case = "the work", None

    def at(self, what: str, case: "Case | None" = None) -> None:
        """Say `what` is computed next, and on which case."""
        self._what, self._case = what, case

    @contextlib.contextmanager
    def in_time(self) -> Iterator[None]:
        """Interrupt what is computed inside after `SECONDS` of computing.

        Raises OwnCodeUnfinished, which holds nothing that an answer gave.
        """
        try:
            with at_most(SECONDS):
                yield
        except Unfinished as error:
            on = f", on the case {shorten(describe_case(self._case), LONGEST_CASE)}" if self._case else ""
            raise OwnCodeUnfinished(f"{self._what} of {self.task.function} did not end: {error}{on}") from None


@contextlib.contextmanager
def in_own_time(what: str, task: "Task") -> Iterator[None]:
    """Interrupt `what` the exercise computes inside, as `OwnWork.in_time` does."""
    work = OwnWork(task)
    work.at(what)
    with work.in_time():
        yield
