"""From a declaration and something that answers to a verdict on every property."""

import contextlib
import secrets
import zlib
from dataclasses import dataclass

import torch

from course_lib.grading.call import Answer, Answerer, Call, NoAnswer, in_process
from course_lib.grading.exercise import Case, Exercise, Misconception, Property, Task
from course_lib.grading.judges import ROUNDING
from course_lib.grading.unattended import unattended

RANDOM_CASES = 10


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
    cases = [*task.examples, *(task.cases(generator) for _ in range(RANDOM_CASES))]
    return sorted(cases, key=lambda case: sum(each.numel() for each in case.values() if isinstance(each, torch.Tensor)))


def judge_task(exercise: Exercise, task: Task, answer: Answerer, seed: int) -> TaskResult:
    """Judge whatever `answer` speaks for on every property of `task`."""
    cases, call = draw_cases(task, seed), Call(answer)
    with unattended():
        problems = {each.name: _first_problem(each, call, cases) for each in task.properties}
        values_wrong = any(problems[each.name] for each in task.properties if not each.only_when_right)
        if values_wrong:
            problems |= {
                each.name: "counts once the values are right" for each in task.properties if each.only_when_right
            }
        misconception = _diagnose(exercise, task, call, cases) if any(problems.values()) else None
    verdicts = tuple(Verdict(each, problems[each.name]) for each in task.properties)
    return TaskResult(task, verdicts, misconception)


def _first_problem(property: Property, call: Call, cases: list[Case]) -> str | None:
    for case in cases:
        try:
            problem = property.judge(call, case)
        except NoAnswer as error:
            problem = str(error)
        if problem:
            return problem
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
        if _alike([wrong(arguments) for arguments in questions], answers):
            return misconception
    return None


def _alike(some: list[Answer], others: list[Answer]) -> bool:
    """Tell whether both give equal tensors, fail on the same questions, and change the same inputs."""
    changed = [set().union(*(answer.changed for answer in answers)) for answers in (some, others)]
    return changed[0] == changed[1] and all(
        _equal(one.value, other.value) for one, other in zip(some, others, strict=True)
    )


def _equal(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    alike = one.shape == other.shape and one.dtype == other.dtype
    return alike and torch.allclose(one, other, rtol=10 * ROUNDING, atol=ROUNDING, equal_nan=True)
