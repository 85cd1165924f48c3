"""Where an answer is wrong: at which entries, and on which inputs, where all of the others are right."""

from collections.abc import Callable, Iterator

import torch

from course_lib.grading.checks import differs
from course_lib.grading.observations.seen import Seen, axis_name

LEAST = 3  # inputs on each side: fewer may be chance


def entries(seen: list[Seen]) -> Iterator[str]:
    """Yield what the entries that differ have in common, in all of `seen`, which are wrong and of equal shapes."""
    wrong = [differs(each.got, each.expected) for each in seen]
    if all(bool(each.got[where].isnan().all()) for each, where in zip(seen, wrong, strict=True)):
        yield "what differs is nan: 0 / 0, or infinity less infinity"
    if all(bool(each.got[where].isinf().all()) for each, where in zip(seen, wrong, strict=True)):
        yield "what differs is infinite: a division by 0, or an exponential that is too large"
    several = [where for where in wrong if where.numel() > 1]
    if len(several) < LEAST:
        return
    for words, only in _areas(several):
        areas = [only(each) for each in several]
        inside = not any(bool((where & ~area).any()) for where, area in zip(several, areas, strict=True))
        if inside and any(not bool(area.all()) for area in areas):
            yield f"only {words} differ; the others are right"
    if all(each.dim() > 1 for each in several) and all(_first_alone(each) for each in several):
        yield "only the first along axis 0 is right"


def _first_alone(wrong: torch.Tensor) -> bool:
    """Tell whether the first of several examples is right and each of the others is wrong."""
    of_each = wrong.flatten(1).any(1)
    return len(of_each) > 1 and not bool(of_each[0]) and bool(of_each[1:].all())


def _areas(wrong: list[torch.Tensor]) -> Iterator[tuple[str, Callable[[torch.Tensor], torch.Tensor]]]:
    """Yield areas of a tensor by name, each a function from a tensor of its shape to where it is True."""

    def at(axis: int, index: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def area(like: torch.Tensor) -> torch.Tensor:
            made = torch.zeros_like(like)
            made.select(-axis, index).fill_(True)
            return made

        return area

    axes = min(each.dim() for each in wrong)
    for axis in range(1, 1 + min(axes, 4)):
        yield f"the first entries along {axis_name(axis, wrong)}", at(axis, 0)
        yield f"the last entries along {axis_name(axis, wrong)}", at(axis, -1)
    if axes >= 2:
        yield "the entries on the diagonal", lambda like: torch.ones_like(like).tril().triu()
        yield "the entries above the diagonal", lambda like: torch.ones_like(like).triu(1)
        yield "the entries below the diagonal", lambda like: torch.ones_like(like).tril(-1)
        yield "the entries off the diagonal", lambda like: ~torch.ones_like(like).tril().triu()


def inputs(seen: list[Seen]) -> Iterator[str]:
    """Yield which inputs are wrong, where a single thing tells them from those that are right."""
    right = [each.right for each in seen]
    if min(right.count(True), right.count(False)) < LEAST:
        return
    for words, holds in _circumstances(seen):
        found = [_tried(holds, each) for each in seen]
        if None not in found and all(each != fine for each, fine in zip(found, right, strict=True)):
            yield f"of what was tried, it is wrong wherever {words}, and all else is right"


def _circumstances(seen: list[Seen]) -> Iterator[tuple[str, Callable[[Seen], bool]]]:
    for name, value in seen[0].arguments.items():
        if torch.is_tensor(value):
            yield from _of_tensors(name, [each.arguments[name] for each in seen])
        elif isinstance(value, bool):
            yield f"`{name}` is True", lambda each, name=name: each.arguments[name]
            yield f"`{name}` is False", lambda each, name=name: not each.arguments[name]
        elif isinstance(value, int | float):
            for bound in (0, 1, 2):
                yield f"`{name}` is {bound}", lambda each, name=name, bound=bound: each.arguments[name] == bound
                more = f"`{name}` is more than {bound}"
                yield more, lambda each, name=name, bound=bound: each.arguments[name] > bound


def _of_tensors(name: str, values: list[torch.Tensor]) -> Iterator[tuple[str, Callable[[Seen], bool]]]:
    def of(each: Seen) -> torch.Tensor:
        return each.arguments[name]

    axes = min(4, *(each.dim() for each in values))
    for axis in range(1, 1 + axes):
        for size in (1, 2, 3, 4, 5):
            longer = f"{axis_name(axis, values)} of `{name}` is longer than {size}"
            yield longer, lambda each, axis=axis, size=size: of(each).shape[-axis] > size
        single = f"{axis_name(axis, values)} of `{name}` has length 1"
        yield single, lambda each, axis=axis: of(each).shape[-axis] == 1
        for other in range(axis + 1, 1 + axes):
            equal = f"{axis_name(axis, values)} and {axis_name(other, values)} of `{name}` have one length"
            unequal = f"{axis_name(axis, values)} and {axis_name(other, values)} of `{name}` have different lengths"
            yield equal, lambda each, axis=axis, other=other: of(each).shape[-axis] == of(each).shape[-other]
            yield unequal, lambda each, axis=axis, other=other: of(each).shape[-axis] != of(each).shape[-other]
    if values[0].dtype == torch.bool:
        yield f"`{name}` has a False", lambda each: not bool(of(each).all())
        yield f"a row of `{name}` is False throughout", lambda each: not bool(of(each).any(-1).all())
        yield f"rows of `{name}` differ", lambda each: bool((of(each) != of(each)[:1]).any())
        return
    yield f"`{name}` has an entry below zero", lambda each: bool((of(each) < 0).any())
    yield f"`{name}` has an entry that is 0", lambda each: bool((of(each) == 0).any())
    yield f"a row of `{name}` has equal entries", lambda each: bool((of(each).sort(-1).values.diff(dim=-1) == 0).any())
    for bound in (10, 50, 1000):
        large = f"`{name}` has an entry beyond {bound} or −{bound}"
        yield large, lambda each, bound=bound: bool((of(each).abs() > bound).any())


def _tried(holds: Callable[[Seen], bool], seen: Seen) -> bool | None:
    try:
        return holds(seen)
    except (IndexError, RuntimeError):
        return None
