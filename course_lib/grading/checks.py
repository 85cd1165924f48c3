"""Checks that exercises share: each is a generator of one case, or returns one.

A check yields what it wants to be asked, once, and is sent the replies; see `exercise.Check`. The engine holds every
answer to the shape and the kind of numbers of the reference beforehand, so that what a check then says about values is
never nonsense about a wrong shape.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import torch

from course_lib.grading.exercise import Case, Check, Question, Reference, Reply
from course_lib.grading.problem import Problem
from course_lib.grading.sandbox.worker.attempt import Value

# Room for another order of summation in float32; every declared mistake is wrong by more.
ROUNDING = 1e-5


# ---------------------------------------------------------------- comparing tensors


def differs(got: torch.Tensor, expected: torch.Tensor, tolerance: float = ROUNDING) -> torch.Tensor:
    """Return True where both differ by more than `tolerance` (and ten times that a unit), or `got` is nan.

    Truth values, whole numbers and infinity are not rounded: they differ where they are not equal.

    >>> differs(torch.tensor([1.0, 2.0]), torch.tensor([1.000001, 2.1]))
    tensor([False,  True])
    >>> differs(torch.tensor([torch.inf, 1e30]), torch.tensor(torch.inf))
    tensor([False,  True])
    """
    if not expected.is_floating_point():
        return got != expected
    allowed = expected.abs().mul_(10 * tolerance).add_(tolerance)  # in place, since this is asked often
    # Infinity less itself is nan, which is no more than what is allowed of it, infinity; nor is any other number.
    return torch.where(expected.isinf(), got != expected, ~((got - expected).abs_() <= allowed))


def alike(one: torch.Tensor, other: torch.Tensor, tolerance: float = ROUNDING) -> bool:
    """Tell whether two tensors are of one shape and kind and, up to rounding, of the same numbers; nan equals nan.

    >>> alike(torch.tensor([1.0, torch.nan]), torch.tensor([1.000001, torch.nan])), alike(torch.ones(1), torch.ones(2))
    (True, False)
    """
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    return torch.allclose(one, other, rtol=10 * tolerance, atol=tolerance, equal_nan=True)


def difference(
    case: Case, got: torch.Tensor, expected: torch.Tensor, tolerance: float = ROUNDING, kind: str = "value", **said: str
) -> Problem | None:
    """Return None where both agree up to rounding, else the problem, with the first entry that differs.

    `said` may name what was done to the case, `after`, and of which part of the answer this speaks, `where`.
    """
    if torch.equal(got, expected):  # often so, and seen in a fiftieth of the time that rounding takes
        return None
    wrong = differs(got, expected, tolerance)
    if not wrong.any():
        return None
    if got.numel() <= SHOWN_WHOLE:
        return Problem(kind, case, got=got, expected=expected, **said)
    at = tuple(wrong.nonzero()[0].tolist())
    counts = int(wrong.sum()), got.numel()
    one, other = got[at].item(), expected[at].item()
    return Problem(kind, case, got=one, expected=other, at=at, differ=counts, whole=(got, expected), **said)


SHOWN_WHOLE = 8  # so many numbers can be taken in at a glance; of a larger tensor one entry is shown


def moved(case: Case, first: torch.Tensor, second: torch.Tensor, **said: str) -> Problem | None:
    """Return None where both answers are the same to the last bit, else by how much it moved; see `difference`."""
    if torch.equal(first, second):
        return None
    return Problem("moved", case, got=(second - first).abs().max().item(), expected="exactly 0", **said)


# ---------------------------------------------------------------- checks


def equals(tolerance: float = ROUNDING, reference: Reference | None = None) -> Check:
    """The answer equals the reference up to rounding; with tolerance 0, exactly.

    `reference` is another one than the task's, for a property that looks at one side of the answer only.
    """

    def check(case: Case):
        reply = yield case
        expected = reply.expected if reference is None else reference(**case)
        return difference(case, reply.value, expected, tolerance)

    return check


def sums_to(total: float) -> Check:
    """The entries along the last axis sum to `total`."""

    def check(case: Case):
        reply = yield case
        sums = reply.value.sum(-1)
        wrong = differs(sums, torch.tensor(float(total)))
        if not wrong.any():
            return None
        first = tuple(wrong.nonzero()[0].tolist()) if wrong.dim() else ()
        return Problem("sum", case, got=reply.value[first], expected=total)

    return check


def inputs_unchanged(case: Case):
    """The function leaves its arguments as they were."""
    reply = yield case
    return Problem("changed", case, got=reply.changed) if reply.changed else None


def both(first: Check, second: Check) -> Check:
    """Both hold; the problem is that of the first one that does not."""

    def check(case: Case):
        one, other = Phase(first, case), Phase(second, case)
        replies = yield [*one.questions, *other.questions]
        count = len(one.questions)
        return one.verdict(replies[:count]) or other.verdict(replies[count:])

    return check


def on(change: Callable[[Case], Case], check: Check) -> Check:
    """The check holds on the case that `change` makes of the one that was drawn."""

    def changed(case: Case):
        return (yield from check(change(case)))

    return changed


def not_moved_by(change: Callable[[Case], Case], what: str, kept: Callable[[Value], torch.Tensor]) -> Check:
    """Locality by perturbation: after `change`, described by `what`, the part `kept(answer)` is what it was."""

    def check(case: Case):
        before, after = yield [case, change(case)]
        one, other = kept(before.value), kept(after.value)
        if not differs(other, one).any():
            return None
        return Problem("moved", case, after=what, got=(other - one).abs().max().item(), expected=0)

    return check


def in_convex_hull(values: str) -> Check:
    """Each entry of the answer lies between the least and the greatest along axis 1 of the argument `values`."""

    def check(case: Case):
        reply = yield case
        least, greatest = case[values].amin(1), case[values].amax(1)
        inside = (reply.value >= least - ROUNDING) & (reply.value <= greatest + ROUNDING)  # nan is not inside
        if inside.all():
            return None
        got, low, high = (each[~inside][0].item() for each in (reply.value, least, greatest))
        return Problem("range", case, got=got, expected=(low, high), where=values)

    return check


def of_output(number: int, check: Check) -> Check:
    """The check holds for one tensor of the tuple that comes back; `number` counts from 0."""

    def part(reply: Reply) -> Reply:
        return replace(reply, value=reply.value[number], expected=reply.expected[number])

    def of_one(case: Case):
        phase = Phase(check, case)
        replies = yield [replace(question, output=number) for question in phase.questions]
        return phase.verdict([part(reply) for reply in replies])

    return of_one


def gradients_equal(tolerance: float = 10 * ROUNDING) -> Check:
    """The gradients for all arguments, and for all parameters of a module, equal the reference's.

    The entries of the (first) output are weighted by random numbers that the answer is not told.
    """

    def check(case: Case):
        reply = yield Question(case, gradients=True)
        for name, expected in reply.expected_gradients.items():
            where, got = f"the gradient for {name.removeprefix('state.')}", reply.gradients.get(name)
            if got is None or got.shape != expected.shape or got.dtype != expected.dtype:
                return Problem("gradient", case, where=where, note="none came")
            if problem := difference(case, got, expected, tolerance, kind="gradient", where=where):
                return problem
        return None

    return check


# ---------------------------------------------------------------- the two phases of a check


class Phase:
    """One check of one case: its `questions` first, and when the replies are there, its `verdict`.

    Raises TypeError for a check that does not yield exactly once.
    """

    def __init__(self, check: Check, case: Case):
        self._check = check(case)
        if not isinstance(self._check, Generator):
            raise TypeError(f"{check!r} is no check: expected a function of a case that yields its questions once")
        try:
            asked = next(self._check)
        except StopIteration:
            raise TypeError(f"{check!r} asks nothing: expected a function that yields its questions once") from None
        self._single = not isinstance(asked, (list, tuple))
        each = [asked] if self._single else asked
        self.questions = [one if isinstance(one, Question) else Question(one) for one in each]

    def verdict(self, replies: list[Reply]) -> Problem | None:
        """Return the problem that the check finds in these replies, one for each question; None where it holds."""
        try:
            self._check.send(replies[0] if self._single else replies)
        except StopIteration as end:
            return end.value
        raise TypeError("a check asks twice: expected one `yield`, with all of its questions")


def as_function(module: type[torch.nn.Module], constructor: tuple[str, ...]) -> Reference:
    """Return a class of modules as a function of what makes it, of its parameters ("state"), and of its input."""

    def function(state: dict[str, torch.Tensor], **arguments: Any) -> Value:
        made = module(**{name: arguments.pop(name) for name in constructor})
        return torch.func.functional_call(made, state, kwargs=arguments)

    return function
