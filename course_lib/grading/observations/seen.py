"""What a diagnosis looks at: the questions that were put, what came, and what was expected."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.grading.checks import alike


@dataclass(frozen=True, eq=False)
class Seen:
    """One question: its arguments, one tensor that came (None: there was no value), and the one that was expected."""

    arguments: dict[str, Any]
    got: torch.Tensor | None
    expected: torch.Tensor

    @property
    def right(self) -> bool:
        """Whether what came is what was expected."""
        return self.got is not None and alike(self.got, self.expected)


def axis_name(axis: int, tensors: Iterable[torch.Tensor]) -> str:
    """Return an axis, counted from the end, in words: from the front where all tensors have as many axes.

    >>> axis_name(1, [torch.ones(2, 3)]), axis_name(3, [torch.ones(2, 3, 4)])
    ('the last axis', 'axis 0')
    >>> axis_name(2, [torch.ones(2), torch.ones(2, 3)])
    'axis -2'
    """
    if axis == 1:
        return "the last axis"
    axes = {each.dim() for each in tensors}
    return f"axis {axes.pop() - axis}" if len(axes) == 1 else f"axis -{axis}"
