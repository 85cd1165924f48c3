"""Whether an answer is the right one to another question: with an argument left out, exchanged, or scaled."""

from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import torch
from torch.nn import functional

from course_lib.grading.checks import alike
from course_lib.grading.observations.seen import Seen, axis_name

Change = Callable[[torch.Tensor], torch.Tensor]
OF_NUMBERS: dict[str, Change] = {
    "taken with the opposite sign": torch.neg,
    "taken without its signs": torch.abs,
    "cut off below zero": torch.relu,
    "cut off where they are large": lambda each: each.clamp(-50, 50),
    "squared": torch.square,
    "left out, as if it were 0": torch.zeros_like,
    "left out, as if it were 1": torch.ones_like,
    "put through a softmax first": lambda each: each.softmax(-1),
    "brought to length 1 along its last axis first": lambda each: functional.normalize(each, dim=-1),
    "divided by its sum along its last axis first": lambda each: each / each.sum(-1, keepdim=True),
    "averaged over the examples": lambda each: each.mean(0, keepdim=True).expand_as(each),
    "centred along its last axis first": lambda each: each - each.mean(-1, keepdim=True),
}
OF_TRUTH: dict[str, Change] = {
    "taken the other way round": torch.logical_not,
    "left out, as if all of it were True": torch.ones_like,
    "left out, as if all of it were False": torch.zeros_like,
}
OF_ANY: dict[str, Change] = {
    "taken from the first example for all": lambda each: each[:1].expand_as(each),
    "taken from the last example for all": lambda each: each[-1:].expand_as(each),
    "transposed": lambda each: each.mT if each.shape[-1] == each.shape[-2] else each,
}
OF_ONE: dict[str, Callable[[float], float]] = {
    "left out, as if it were 0": lambda each: type(each)(0),
    "left out, as if it were 1": lambda each: type(each)(1),
    "taken as one more": lambda each: each + 1,
    "taken as one less": lambda each: each - 1,
    "taken as 1 divided by it": lambda each: 1 / each,
    "taken as its square": lambda each: each * each,
    "taken as its root": lambda each: each**0.5,
}


def other_questions(seen: list[Seen], reference: Callable[[dict[str, Any]], torch.Tensor]) -> Iterator[str]:
    """Yield which change of an argument explains all of `seen`: the reference then gives what came."""
    for words, change in _changes(seen):
        if all(_explains(each, change, reference) for each in seen):
            yield f"this is the answer with {words}"


def _changes(seen: list[Seen]) -> Iterator[tuple[str, Callable[[dict], dict]]]:
    arguments = seen[0].arguments
    for name, value in arguments.items():
        for words, change in _of(value).items():
            yield f"`{name}` {words}", lambda given, name=name, change=change: given | {name: change(given[name])}
        if torch.is_tensor(value):
            for axis in range(1, 1 + min(value.dim(), 4)):
                turned = f"`{name}` turned round along {axis_name(axis, (each.arguments[name] for each in seen))}"
                yield turned, lambda given, name=name, axis=axis: given | {name: given[name].flip(-axis)}
    for one, other in product(arguments, repeat=2):
        if all(torch.is_tensor(arguments[name]) for name in (one, other)) and arguments[one].is_floating_point():
            for axis in range(1, 1 + min(arguments[other].dim(), 4)):
                which = f"{axis_name(axis, (each.arguments[other] for each in seen))} of `{other}`"
                yield f"`{one}` divided by the root of the length of {which}", _scaled(one, other, axis, -0.5)
                yield f"`{one}` multiplied by the root of the length of {which}", _scaled(one, other, axis, 0.5)
    for one, other in combinations(arguments, 2):
        if type(arguments[one]) is type(arguments[other]):
            yield (
                f"`{one}` and `{other}` exchanged",
                lambda given, one=one, other=other: given | {one: given[other], other: given[one]},
            )


def _scaled(name: str, other: str, axis: int, power: float) -> Callable[[dict], dict]:
    return lambda given: given | {name: given[name] * given[other].shape[-axis] ** power}


def _of(value: Any) -> dict[str, Callable]:
    if torch.is_tensor(value):
        return OF_ANY | (OF_TRUTH if value.dtype == torch.bool else OF_NUMBERS if value.is_floating_point() else {})
    return OF_ONE if isinstance(value, int | float) and not isinstance(value, bool) else {}


def _explains(seen: Seen, change: Callable[[dict], dict], reference: Callable[[dict[str, Any]], torch.Tensor]) -> bool:
    try:
        return alike(seen.got, reference(change(seen.arguments)))
    except Exception:  # an exercise's own code, asked a question that it never meant
        return False
