"""That an answer responds to its inputs: a constant would have locality, and rows that sum to one, for nothing."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import torch

from course_lib.grading.checks import difference
from course_lib.grading.exercise import Case, Check

SAME = "before this change the answer was the same, so it has this property for nothing"

# Makes a changed input once, the same tensor for every property that asks: it is then one question.
made_once = lru_cache(maxsize=256)


@made_once
def opposite(tensor: torch.Tensor) -> torch.Tensor:
    """Return minus a tensor."""
    return -tensor


def responds_to(change: Callable[[Case], Case | None], what: str) -> Check:
    """After `change`, described by `what`, the answer is another one, or right; no matter how wrong it is otherwise.

    `change` returns None for a case in which a wrong answer that is worth its points may stay what it was.
    """

    def check(case: Case):
        changed = change(case)
        replies = yield [] if changed is None else [case, changed]
        if not replies or not torch.equal(replies[0].value, replies[1].value):
            return None
        problem = difference(case, replies[1].value, replies[1].expected, after=what)
        return problem and replace(problem, note=SAME)

    return check
