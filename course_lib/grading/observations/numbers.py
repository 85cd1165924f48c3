"""How the numbers that came are related to those that were expected: twice as large, turned round, a mean."""

import math
from collections.abc import Callable, Iterator

import torch

from course_lib.grading.checks import alike
from course_lib.grading.observations.seen import Seen, axis_name

MOST_AXES = 4
# What became of each number by itself.
OF_EACH: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "is 0": torch.zeros_like,
    "has the opposite sign of the one that is expected": torch.neg,
    "is the square of the one that is expected": torch.square,
    "is the square root of the one that is expected": torch.sqrt,
    "is the exponential of the one that is expected": torch.exp,
    "is the logarithm of the one that is expected": torch.log,
    "is 1 divided by the one that is expected": torch.reciprocal,
    "is 1 less the one that is expected": lambda each: 1 - each,
    "has lost its sign: negative ones became positive": torch.abs,
    "below zero became 0": torch.relu,
    "is rounded to a whole one": torch.round,
    "went through a sigmoid once more": torch.sigmoid,
    "went through a tanh once more": torch.tanh,
}
# What became of all numbers along one axis.
ALONG: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "in the opposite order": lambda each, axis: each.flip(axis),
    "moved on by one place": lambda each, axis: each.roll(1, axis),
    "moved back by one place": lambda each, axis: each.roll(-1, axis),
    "added up one after the other, a running sum": lambda each, axis: each.cumsum(axis),
    "put through a softmax once more": lambda each, axis: each.softmax(axis),
    "replaced by their mean": lambda each, axis: each.mean(axis, keepdim=True).expand_as(each),
    "replaced by their sum": lambda each, axis: each.sum(axis, keepdim=True).expand_as(each),
    "replaced by the first of them": lambda each, axis: each.narrow(axis, 0, 1).expand_as(each),
    "replaced by the last of them": lambda each, axis: each.narrow(axis, -1, 1).expand_as(each),
    "sorted": lambda each, axis: each.sort(axis).values,
    "divided by their sum": lambda each, axis: each / each.sum(axis, keepdim=True),
}


def related(seen: list[Seen]) -> Iterator[str]:
    """Yield how what came follows from what was expected, in the same way in all of `seen`; all have equal shapes."""

    def everywhere(change: Callable[[torch.Tensor], torch.Tensor]) -> bool:
        return all(alike(each.got, changed) for each in seen if (changed := _tried(change, each.expected)) is not None)

    if seen[0].expected.dtype == torch.bool:
        yield from _of_truth(seen)
    if seen[0].expected.is_floating_point():
        yield from (f"each number {words}" for words, change in OF_EACH.items() if everywhere(change))
    if factor := _factor(seen):
        yield f"each number is {factor:.4g} times the one that is expected"
    yield from _size_as_factor(seen)
    if shift := _shift(seen):
        yield f"each number is too {'large' if shift > 0 else 'small'} by {abs(shift):.4g}"
    for axis in range(1, 1 + min(MOST_AXES, min(each.expected.dim() for each in seen))):
        for words, change in ALONG.items():
            if everywhere(lambda each, axis=axis, change=change: change(each, -axis)):
                which = axis_name(axis, (each.expected for each in seen))
                yield f"along {which} the numbers that are expected are {words}"
    if everywhere(lambda each: each.sum().expand_as(each)):
        yield "each number is the sum of all that are expected, over all examples as well"
    if everywhere(lambda each: each.mean().expand_as(each)):
        yield "each number is the mean of all that are expected, over all examples as well"
    if everywhere(lambda each: each.mT if each.dim() > 1 and each.shape[-1] == each.shape[-2] else each):
        yield "the last two axes are exchanged"
    if all(alike(each.got.flatten().sort().values, each.expected.flatten().sort().values) for each in seen):
        yield "the numbers are the right ones, but in other places"


def rounded(seen: list[Seen]) -> Iterator[str]:
    """Yield that whole numbers are right but for their last digits; one that is wrong like this says it all."""
    if not seen[0].expected.is_floating_point() and all(
        torch.allclose(each.got.double(), each.expected.double(), rtol=1e-6, atol=0) for each in seen
    ):
        yield "the first seven digits are right, and no more: float32 holds no more, so count in whole numbers"


def _of_truth(seen: list[Seen]) -> Iterator[str]:
    """Yield what can be said of truth values."""
    if all(torch.equal(each.got, ~each.expected) for each in seen):
        yield "True and False are exchanged"
    wrong = [(each.got, each.expected) for each in seen if not each.right]
    for said in (True, False):
        if all(bool((expected[got != expected] != said).all()) for got, expected in wrong):
            yield f"it says {said} where {not said} is expected, and is never wrong the other way"


def _tried(change: Callable[[torch.Tensor], torch.Tensor], tensor: torch.Tensor) -> torch.Tensor | None:
    try:
        return change(tensor).to(tensor.dtype)
    except (RuntimeError, IndexError):  # no softmax of whole numbers, for one
        return torch.empty(0)


def _numbers(seen: Seen) -> tuple[torch.Tensor, torch.Tensor]:
    return seen.got.double().flatten(), seen.expected.double().flatten()


def _factor(seen: list[Seen]) -> float | None:
    """Return the number that all are multiplied with, the same in all of `seen`."""
    found = [_one_ratio(each) for each in seen]
    known = [each for each in found if each is not None]
    if len(known) < 3 or not all(math.isfinite(each) for each in known):
        return None
    factor = sorted(known)[len(known) // 2]
    same = all(abs(each - factor) <= 1e-3 * abs(factor) for each in known)
    return factor if same and abs(factor) > 1e-6 and abs(factor - 1) > 1e-3 else None


def _one_ratio(seen: Seen) -> float | None:
    """Return the ratio of what came to what was expected: nan where there is not one, None where all are 0."""
    got, expected = _numbers(seen)
    present = expected.abs() > 1e-6
    if not bool((got[~present].abs() <= 1e-5).all()):
        return math.nan
    ratios = got[present] / expected[present]
    if not len(ratios):
        return None
    return ratios[0].item() if bool(((ratios - ratios[0]).abs() <= 1e-3 * ratios[0].abs()).all()) else math.nan


def _size_as_factor(seen: list[Seen]) -> Iterator[str]:
    """Yield which size of an argument all are multiplied with or divided by, or the root of which."""
    ratios = [(each, ratio) for each in seen if (ratio := _one_ratio(each)) is not None]
    if len(ratios) < 3 or any(math.isnan(ratio) for _, ratio in ratios):
        return
    powers = {"multiplied by": 1, "divided by": -1, "multiplied by the root of": 0.5, "divided by the root of": -0.5}
    for name, value in seen[0].arguments.items():
        for axis in range(1, 1 + (value.dim() if torch.is_tensor(value) else 0)):
            sizes = [_size(each, name, axis) for each, _ in ratios]
            if 0 in sizes or len(set(sizes)) < 2:
                continue
            for words, power in powers.items():
                both = zip(ratios, sizes, strict=True)
                if all(abs(ratio - size**power) <= 1e-3 * size**power for (_, ratio), size in both):
                    which = axis_name(axis, (each.arguments[name] for each, _ in ratios))
                    yield f"each number is {words} the length of {which} of `{name}`"


def _size(seen: Seen, name: str, axis: int) -> int:
    value = seen.arguments.get(name)
    return value.shape[-axis] if torch.is_tensor(value) and value.dim() >= axis else 0


def _shift(seen: list[Seen]) -> float | None:
    """Return the number that is added to all, the same in all of `seen`."""
    shifts = []
    for each in seen:
        got, expected = _numbers(each)
        both = got.isfinite() & expected.isfinite()
        if both.any():
            shifts.append((got - expected)[both])
    if len(shifts) < 3:
        return None
    all_of_them = torch.cat(shifts)
    shift = all_of_them[0].item()
    return shift if (all_of_them - shift).abs().max() <= 1e-4 and abs(shift) > 1e-3 else None
