"""What is the matter with an answer of the wrong shape or kind, where its numbers tell."""

from collections.abc import Callable, Iterator
from itertools import permutations

import torch

from course_lib.grading.checks import alike
from course_lib.grading.observations.seen import Seen, axis_name

MOST_AXES = 5  # of which all orders are tried


def misshapen(seen: list[Seen]) -> Iterator[str]:
    """Yield what turns the answers into those that are expected, the same in all of `seen`."""

    def everywhere(mend: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> bool:
        return all(_fits(mend, each) for each in seen)

    kinds = {(each.got.dtype, each.expected.dtype) for each in seen if each.got.dtype != each.expected.dtype}
    if len(kinds) == 1 and everywhere(lambda got, expected: got.to(expected.dtype)):
        got, expected = (str(each).removeprefix("torch.") for each in kinds.pop())
        yield f"the numbers are right, but of the kind {got}, where {expected} is expected"
        return
    if everywhere(lambda got, expected: got.reshape(expected.shape)):
        lost = all(each.got.dim() <= each.expected.dim() for each in seen)
        cause = "a bare `squeeze()` drops every axis of size one" if lost else "an axis of size one is left over"
        yield f"the numbers are right and in order, only the shape is not ({cause})"
    axes = {each.expected.dim() for each in seen}
    if len(axes) == 1 and {each.got.dim() for each in seen} == axes and max(axes) <= MOST_AXES:
        for order in permutations(range(max(axes))):
            if everywhere(lambda got, expected, order=order: got.permute(order)):
                yield f"the numbers are right, but the axes are in another order: `permute{order}` would mend it"
                return
    if everywhere(lambda got, expected: got.expand_as(expected)):
        yield "an axis of size one stands where as many copies are expected"
    for axis in range(1, 1 + min(min(axes), MOST_AXES)):
        which = axis_name(axis, (each.expected for each in seen))
        for words, lose in (("added up", torch.sum), ("averaged", torch.mean), ("lost but for its first", _first)):
            if all(_is(each.got, _tried(lose, each.expected, -axis)) for each in seen):
                yield f"{which} of what is expected was {words}"
        if all(each.got.dim() == each.expected.dim() for each in seen):
            if everywhere(lambda got, expected, axis=axis: got.narrow(-axis, 0, expected.shape[-axis])):
                yield f"along {which} more comes than is expected; the first ones are right"
            if all(_begins(each, axis) for each in seen):
                yield f"along {which} less comes than is expected; what comes is right"


def _fits(mend: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], seen: Seen) -> bool:
    try:
        return _is(mend(seen.got, seen.expected), seen.expected)
    except (RuntimeError, IndexError):
        return False


def _is(got: torch.Tensor, wanted: torch.Tensor | None) -> bool:
    return wanted is not None and alike(got, wanted)


def _tried(change: Callable[[torch.Tensor, int], torch.Tensor], tensor: torch.Tensor, axis: int) -> torch.Tensor | None:
    try:
        return change(tensor, axis)
    except (RuntimeError, IndexError):  # no mean of whole numbers, for one
        return None


def _first(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    return tensor.select(axis, 0)


def _begins(seen: Seen, axis: int) -> bool:
    """Tell whether what came is the beginning of what is expected."""
    try:
        return alike(seen.got, seen.expected.narrow(-axis, 0, seen.got.shape[-axis]))
    except (RuntimeError, IndexError):
        return False
