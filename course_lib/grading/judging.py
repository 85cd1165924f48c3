"""From a declaration and something that answers to a verdict on every property."""

import contextlib
import secrets
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch

from course_lib.grading.call import Answer, Answerer, Call, NoAnswer, in_process
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.isolation.inside.attempt import Value
from course_lib.grading.judges import ROUNDING
from course_lib.grading.unattended import unattended
from course_lib.grading.wording import describe_case, shorten

RANDOM_CASES = 10
ASKED_AGAIN = 3  # questions that are put twice
# The search for a smaller case that fails: so many are drawn, so many of them are tried, for so many seconds.
DRAWN, TRIED, PATIENCE = 200, 40, 1.0


@dataclass(frozen=True)
class Verdict:
    """What was found about one property: None where it holds, else the sentence on the smallest case that fails."""

    property: Property
    problem: str | None

    @property
    def earned(self) -> int:
        """The points that this verdict gives."""
        return 0 if self.problem else self.property.points


@dataclass(frozen=True)
class TaskResult:
    """The verdicts on one task, and the misconception that the answer equals, if it equals one."""

    task: Task
    verdicts: tuple[Verdict, ...]
    misconception: Misconception | None

    @property
    def earned(self) -> int:
        """The points of all verdicts."""
        return sum(verdict.earned for verdict in self.verdicts)


def fresh_seed() -> int:
    """Return a seed that nobody can guess and everybody can type."""
    return secrets.randbelow(100_000)


def draw_cases(task: Task, seed: int) -> list[Case]:
    """Return the fixed examples and ten random cases, smallest first: the first to fail is the one to show."""
    # The function's name enters the seed, so that one task is given the same cases alone and within its chapter.
    generator = torch.Generator().manual_seed(zlib.crc32(f"{task.function} {seed}".encode()))
    return sorted([*task.examples, *(task.cases(generator) for _ in range(RANDOM_CASES))], key=_size)


def judge_task(exercise: Exercise, task: Task, answer: Answerer, seed: int, search: bool = False) -> TaskResult:
    """Judge whatever `answer` speaks for on every property of `task`.

    With `search`, a property that fails is tried on further, smaller cases, and the sentence is about the smallest that
    fails. Nothing else depends on it.
    """
    with unattended(), _one_thread():
        cases, call = draw_cases(task, seed), Call(answer, seed)
        first = {each.name: _first_failure(each, call, cases) for each in task.properties}
        problems = {name: failure.problem if failure else None for name, failure in first.items()}
        values_wrong = any(problems[each.name] for each in task.properties if not each.only_when_right)
        if values_wrong:
            problems |= {
                each.name: "counts once the values are right" for each in task.properties if each.only_when_right
            }
        if not all(problems.values()) and (worthless := _idle(task, call, cases) or _unsteady(call)):
            problems = {name: problem or worthless for name, problem in problems.items()}
        misconception = _diagnose(exercise, task, call, cases) if any(problems.values()) else None
        failures = {name: each for name, each in first.items() if each and each.problem == problems[name]}
        # Where no question at all was answered, one about a smaller case would bring no news.
        if search and failures and any(answer.value is not None for _, answer in call.record):
            problems |= _on_smaller_cases(task, call, failures, seed)
    verdicts = tuple(Verdict(each, problems[each.name]) for each in task.properties)
    return TaskResult(task, verdicts, misconception)


@dataclass(frozen=True)
class _Failure:
    """A case on which a property does not hold, and the sentence on it."""

    case: Case
    problem: str


def _first_failure(property: Property, call: Call, cases: Iterable[Case]) -> _Failure | None:
    for case in cases:
        try:
            problem = property.judge(call, case)
        except NoAnswer as error:
            problem = str(error)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:  # what no judge foresaw in an answer
            problem = f"{describe_case(case)}: the answer cannot be compared ({shorten(str(error), 120)})"
        if problem:
            return _Failure(case, problem)
    return None


def _on_smaller_cases(task: Task, call: Call, failures: dict[str, _Failure], seed: int) -> dict[str, str]:
    """Return for each property that fails the sentence on the smallest case that is found to fail."""
    cases, until, problems = _small_cases(task, seed), time.monotonic() + PATIENCE, {}
    for property in task.properties:
        if failure := failures.get(property.name):
            smaller = (case for case in cases if _size(case) < _size(failure.case) and time.monotonic() < until)
            problems[property.name] = (_first_failure(property, call, smaller) or failure).problem
    return problems


def _small_cases(task: Task, seed: int) -> list[Case]:
    """Return the smallest of many more random cases, one of each shape, smallest first."""
    generator = torch.Generator().manual_seed(zlib.crc32(f"smaller {task.function} {seed}".encode()))
    by_shapes: dict[tuple, Case] = {}
    for _ in range(DRAWN):
        case = task.cases(generator)
        by_shapes.setdefault(tuple(each.shape for each in case.values() if isinstance(each, torch.Tensor)), case)
    return sorted(by_shapes.values(), key=_size)[:TRIED]


def _size(case: Case) -> int:
    return sum(each.numel() for each in case.values() if isinstance(each, torch.Tensor))


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread: on tensors as small as these, threads take longer to wait for than the work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _idle(task: Task, call: Call, cases: list[Case]) -> str | None:
    """Say so where every answer is one number over and over: it would have locality, for one, for nothing."""
    seen = None
    for case in cases:
        expected = call.expected(task.reference, case)
        with contextlib.suppress(NoAnswer):
            if not _one_number(expected):
                seen = call(case)
                if not _one_number(seen):
                    return None
    if seen is None:
        return None
    return f"{describe_case(case)}: the answer is one number over and over, whatever the input"


def _one_number(value: Value) -> bool:
    tensors = (value,) if isinstance(value, torch.Tensor) else value
    return all(bool((each.isnan() | (each == each.flatten()[:1])).all()) for each in tensors)


def _unsteady(call: Call) -> str | None:
    """Say so where a question that is put once more is answered differently: no verdict holds for such a function."""
    asked = call.record
    for arguments, answer in asked[:: max(1, len(asked) // (ASKED_AGAIN - 1))] + asked[-1:]:
        again = call.ask_again(arguments)
        if answer.value is not None and not _equal(again.value, answer.value):
            return f"{describe_case(arguments)}: two calls with these arguments gave two different answers"
    return None


def _diagnose(exercise: Exercise, task: Task, call: Call, cases: list[Case]) -> Misconception | None:
    """Return the misconception that gives the same answers to every question that was put."""
    for case in cases:  # a property stops at its first failure, but a diagnosis wants all there is to see
        with contextlib.suppress(NoAnswer):
            call.ask(case)
    questions = [arguments for arguments, _ in call.record]
    answers = [answer for _, answer in call.record]
    if all(answer.value is None for answer in answers):
        return None
    for misconception in task.misconceptions:
        wrong = in_process(misconception.implementation, task, exercise.forbidden)
        if _alike([wrong(arguments, None) for arguments in questions], answers):
            return misconception
    return None


def _alike(some: list[Answer], others: list[Answer]) -> bool:
    """Tell whether both give equal tensors, fail on the same questions, and change the same inputs."""
    changed = [set().union(*(answer.changed for answer in answers)) for answers in (some, others)]
    return changed[0] == changed[1] and all(
        _equal(one.value, other.value) for one, other in zip(some, others, strict=True)
    )


def _equal(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, tuple) or isinstance(other, tuple):
        return (
            isinstance(one, tuple)
            and isinstance(other, tuple)
            and len(one) == len(other)
            and all(map(_equal, one, other))
        )
    alike = one.shape == other.shape and one.dtype == other.dtype
    return alike and torch.allclose(one, other, rtol=10 * ROUNDING, atol=ROUNDING, equal_nan=True)
