"""From an exercise and something that answers to a verdict on every property.

Everything that the properties want to know is asked in one round. What is asked, and what the reference says to it,
depends on the task and the seed alone: it is a `Plan`, made once for all submissions of a class. It also keeps what
known mistakes answer, with which a wrong answer is compared.
"""

import contextlib
import itertools
import secrets
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import torch

from course_lib.grading.call import Answer, Answerer, Asked, Round, ask_in_time
from course_lib.grading.checks import ROUNDING, Phase, alike
from course_lib.grading.exercise import Case, Exercise, Mistake, Property, Question, Reply, Task
from course_lib.grading.observations import observe
from course_lib.grading.own_time import OwnCodeUnfinished, OwnWork, in_own_time
from course_lib.grading.problem import Problem
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.worker.attempt import Value
from course_lib.grading.unattended import unattended
from course_lib.project import CourseError

RANDOM_CASES = 10
ASKED_AGAIN = 3  # questions that are put twice
PLANS = 64  # of as many tasks are kept
# The search for a smaller case that fails: so many are drawn, so many of them are tried, so many at a time, for so many
# seconds.
DRAWN, TRIED, AT_ONCE, PATIENCE = 200, 40, 8, 1.0


@dataclass(frozen=True, eq=False)
class Verdict:
    """What was found about one property: None where it holds, else the problem on the smallest case that fails."""

    property: Property
    problem: Problem | None

    @property
    def earned(self) -> int:
        """The points that this verdict gives."""
        return 0 if self.problem else self.property.points


@dataclass(frozen=True, eq=False)
class TaskResult:
    """The verdicts on one task, and the mistake that the answer makes, if it is a known one; or two of them.

    Where it is none that is known, `observed` says what can be seen of it.
    """

    task: Task
    verdicts: tuple[Verdict, ...]
    mistake: Mistake | None
    second_mistake: Mistake | None = None
    observed: str = ""

    @property
    def earned(self) -> int:
        """The points of all verdicts."""
        return sum(verdict.earned for verdict in self.verdicts)


def fresh_seed() -> int:
    """Return a seed that nobody can guess and everybody can type."""
    return secrets.randbelow(100_000)


def draw_cases(task: Task, seed: int) -> list[Case]:
    """Return examples, edge cases and ten random cases, smallest first: the first to fail is the one to show."""
    # The function's name enters the seed, so that one task is given the same cases alone and within its chapter.
    generator = torch.Generator().manual_seed(zlib.crc32(f"{task.function} {seed}".encode()))
    with in_own_time("the drawing of cases", task):
        drawn = [task.cases(generator) for _ in range(RANDOM_CASES)]
    return sorted([*task.examples, *task.edges, *drawn], key=_size)


def judge_task(exercise: Exercise, task: Task, answer: Answerer, seed: int, search: bool = False) -> TaskResult:
    """Judge whatever `answer` speaks for on every property of `task`.

    With `search`, a property that fails is tried on further, smaller cases, and the problem is that on the smallest
    that fails. Nothing else depends on it. What an exercise itself does wrong is raised: it is no verdict. Raises
    CourseError, with the exercise and the case, where something of the exercise does not end.
    """
    with unattended(), _one_thread(), _torch_as_it_begins(), _with_its_number(exercise):
        plan = plan_for(task, seed)
        answers = answer(plan.round)
        found = plan.first_problems(answers)
        problems = _problems(plan, answers, found)
        mistakes = _diagnose(exercise, plan, answers) if any(problems.values()) else ()
        failures = {each: problem for each, problem in found.items() if problem and problem is problems[each]}
        # Where no question at all was answered, one about a smaller case would bring no news.
        if search and failures and any(each.value is not None for each in answers):
            problems |= _on_smaller_cases(task, answer, failures, seed)
        observed = ""
        if any(problems.values()) and not mistakes:
            # It is no verdict: whatever came must not stand in the way of one.
            with contextlib.suppress(Exception), in_own_time("the description", task):
                observed = plan.observed(answers)
    verdicts = tuple(Verdict(each, problems[each]) for each in task.properties)
    return TaskResult(task, verdicts, *(*mistakes, None, None)[:2], observed)


def earns_full_marks(exercise: Exercise, task: Task, answer: Answerer, seed: int) -> bool:
    """Tell whether `answer` earns every point of `task`, and do not ask why where it does not.

    To find out which mistake an answer makes takes several times as long as its verdict. Raises as `judge_task` does.
    """
    with unattended(), _one_thread(), _torch_as_it_begins(), _with_its_number(exercise):
        plan = plan_for(task, seed)
        answers = answer(plan.round)
        return not any(_problems(plan, answers, plan.first_problems(answers)).values())


def _problems(
    plan: "Plan", answers: list[Answer], found: dict[Property, Problem | None]
) -> dict[Property, Problem | None]:
    """Return what stands against each property once all that were found are seen together."""
    problems = dict(found)
    if any(problem for each, problem in found.items() if not each.only_when_right):
        problems |= {each: Problem("later") for each in found if each.only_when_right}
    if not all(problems.values()) and (worthless := plan.idle(answers) or plan.unsteady(answers)):
        problems = {each: problem or worthless for each, problem in problems.items()}
    return problems


@lru_cache(maxsize=PLANS)
def plan_for(task: Task, seed: int) -> "Plan":
    """Return the plan of a task under a seed, made once."""
    return Plan(task, draw_cases(task, seed), task.properties, seed)


class Plan:
    """What these properties ask about these cases, and what the reference answers."""

    def __init__(self, task: Task, cases: list[Case], properties: Iterable[Property], seed: int, again: bool = True):
        self._task, self.cases, self._properties, self._seed = task, cases, tuple(properties), seed
        self._work = OwnWork(task)
        self._known: list[_Known] = []
        self._numbers: dict[tuple, int] = {}
        self._mistaken: dict[Callable, dict[int, Answer]] = {}
        with self._work.in_time():
            for case in cases:  # also where no property asks about it as it is: a diagnosis wants all there is to see
                self._number(Question(case))
            # A check that has asked is kept until its verdict is wanted; it goes on only once, and is then asked anew.
            self._phases = {
                (each, index): self._phase(each, index) for each in self._properties for index in range(len(cases))
            }
            # For each property and case, the numbers of its questions, and the output that each is about.
            self._places = {
                key: [(self._number(asked), asked.output) for asked in phase.questions]
                for key, phase in self._phases.items()
            }
        self._count = len(self._known)
        steady = [number for number, each in enumerate(self._known) if not each.of_new_module]
        repeated = (steady[0], steady[len(steady) // 2], steady[-1])[:ASKED_AGAIN] if again else ()
        self._again = dict(zip(range(self._count, self._count + len(repeated)), repeated, strict=True))

    @cached_property
    def round(self) -> Round:
        """All questions, and then some of them once more."""
        asked = [each.asked for each in self._known]
        return Round(self._task, (*asked, *(asked[first] for first in self._again.values())))

    def first_problems(self, answers: list[Answer]) -> dict[Property, Problem | None]:
        """Return for every property the problem on the first case on which it fails."""
        with self._work.in_time():
            return {each: self._first(each, answers) for each in self._properties}

    def idle(self, answers: list[Answer]) -> Problem | None:
        """Say so where every answer is one number over and over: it would have locality, for one, for nothing."""
        seen = None
        for case, known, answer in zip(self.cases, self._known, answers, strict=False):  # the cases come first
            if answer.value is not None and not _one_number(known.expected):
                if not _one_number(answer.value):
                    return None
                seen = case
        return None if seen is None else Problem("idle", seen)

    def unsteady(self, answers: list[Answer]) -> Problem | None:
        """Say so where a question that was put once more was answered differently: no verdict holds for that."""
        for second, first in self._again.items():
            if answers[first].value is not None and not _equal(answers[second].value, answers[first].value):
                return Problem("unsteady", self._known[first].asked.arguments)
        return None

    def compared(self, answers: list[Answer], gradients: bool = False) -> Iterator[tuple[int, Answer, Value]]:
        """Yield the number of each question with its answer and what is expected: what a diagnosis compares.

        These are the questions without gradients, or with `gradients` those that ask for them. What a new module says
        is left out: it draws its parameters at random.
        """
        for number, (known, answer) in enumerate(zip(self._known, answers, strict=False)):
            if not known.of_new_module and (known.asked.cotangent is not None) == gradients:
                yield number, answer, known.expected

    def mistaken(self, function: Callable, forbidden: Mapping[str, str], number: int) -> Answer:
        """Return what a wrong answer says to the question of this number; it is asked once, whoever is diagnosed."""
        known = self._mistaken.setdefault(function, {})
        if number in known:
            return known[number]
        answer = ask_in_time(function, self._task, self._known[number].asked, forbidden, Limits().step)
        if not (answer.problem and answer.problem.kind == "time"):  # a busy machine may have been the reason
            known[number] = answer
        return answer

    def observed(self, answers: list[Answer]) -> str:
        """Return what can be said of an answer that makes no known mistake."""
        if self.unsteady(answers):
            return (
                "two calls with the same arguments give two answers: it draws at random, keeps something in between, "
                "or computes what the smallest rounding error changes"
            )
        told = [
            (self._known[number].asked.arguments, answer.value, expected, answer.changed)
            for number, answer, expected in self.compared(answers)
        ]
        graded = [
            (known.asked.arguments, answer.gradients, known.expected_gradients)
            for known, answer in zip(self._known, answers, strict=False)
            if known.asked.cotangent is not None and answer.value is not None
        ]
        return observe(self._task, told, graded)

    def _first(self, property: Property, answers: list[Answer]) -> Problem | None:
        for index in range(len(self.cases)):
            places = self._places[property, index]
            problem = next(filter(None, (self._known[n].unfit(answers[n], output) for n, output in places)), None)
            problem = problem or self._verdict(property, index, [self._known[n].reply(answers[n]) for n, _ in places])
            if problem:
                asked = [self._known[number].asked for number, _ in places]
                return replace(problem, asked=tuple(each.arguments for each in asked), cotangent=asked[0].cotangent)
        return None

    def _verdict(self, property: Property, index: int, replies: list[Reply]) -> Problem | None:
        case = self.cases[index]
        phase = self._phases.pop((property, index), None) or self._phase(property, index)
        self._work.at(f"the check “{property.name}”", case)
        try:
            return phase.verdict(replies)
        except Exception as error:
            # What no check foresaw in an answer, if the check can bear the reference's; else the check itself is wrong,
            # which is raised: a fault of ours is never a mark.
            self._phase(property, index).verdict([each.of_reference for each in replies])
            return Problem("incomparable", case, note=f"{type(error).__name__}: {error}")

    def _phase(self, property: Property, index: int) -> Phase:
        self._work.at(f"the check “{property.name}”", self.cases[index])
        return Phase(property.check, self.cases[index])

    def _number(self, question: Question) -> int:
        """Return the number of a question: that of one with the very same arguments, if it was asked already."""
        key = question.gradients, *((name, id(each)) for name, each in question.arguments.items())
        if key not in self._numbers:
            self._numbers[key] = len(self._known)
            self._known.append(_Known(self._work, question, self._seed))
        return self._numbers[key]


class _Known:
    """One question of a plan, with what the reference says to it; it keeps the arguments, and so their ids, alive."""

    def __init__(self, work: OwnWork, question: Question, seed: int):
        self._work, self._task, self._question = work, work.task, question
        told = question.expected
        self.expected: Value = self._referred(question.arguments) if told is None else told
        cotangent = None
        if question.gradients:  # the answer is not told it, so a gradient cannot be right by chance
            output, generator = _first_output(self.expected), torch.Generator().manual_seed(seed)
            cotangent = torch.randn(output.shape, generator=generator, dtype=output.dtype)
        self.asked = Asked(question.arguments, cotangent)

    @property
    def of_new_module(self) -> bool:
        """Whether this is asked of a module with the parameters that it began with."""
        return self._task.constructor is not None and "state" not in self._question.arguments

    @cached_property
    def expected_gradients(self) -> dict[str, torch.Tensor]:
        """The reference's gradients, by the name of the argument, or "state.name"; empty where none are wanted."""
        if self.asked.cotangent is None:
            return {}
        case = self._question.arguments
        given = {name: each for name, each in case.items() if torch.is_tensor(each) and each.is_floating_point()}
        state = {f"state.{name}": each for name, each in case.get("state", {}).items()}
        leaves = {name: each.clone().requires_grad_() for name, each in (given | state).items()}
        parameters = {name.removeprefix("state."): each for name, each in leaves.items() if name in state}
        arguments = case | {name: leaves[name] for name in given} | ({"state": parameters} if state else {})
        output = _first_output(self._referred(arguments))
        found = torch.autograd.grad((output * self.asked.cotangent).sum(), list(leaves.values()), allow_unused=True)
        return {
            name: torch.zeros_like(leaf) if each is None else each
            for (name, leaf), each in zip(leaves.items(), found, strict=True)
        }

    def _referred(self, arguments: Case) -> Value:
        self._work.at("the reference", self._question.arguments)
        return self._task.reference(**arguments)

    def unfit(self, answer: Answer, output: int | None) -> Problem | None:
        """Return why there is nothing to judge: no value, or not of the shapes and kinds that the reference gives.

        With `output`, that tensor of a tuple alone is looked at.
        """
        if answer.value is None:
            return answer.problem
        parts = list(zip(self._task.outputs or ("",), _tuple(answer.value), _tuple(self.expected), strict=True))
        for name, got, expected in parts if output is None else parts[output : output + 1]:
            if got.shape != expected.shape or got.dtype != expected.dtype:
                kind = "shape" if got.shape != expected.shape else "numbers"
                return Problem(kind, self.asked.arguments, where=name, got=got, expected=expected)
        return None

    def reply(self, answer: Answer) -> Reply:
        """Return what a check is sent."""
        return Reply(
            self.asked.arguments,
            answer.value,
            self.expected,
            answer.changed,
            answer.gradients,
            self.expected_gradients,
            self.asked.cotangent,
        )


def _on_smaller_cases(
    task: Task, answer: Answerer, failures: dict[Property, Problem], seed: int
) -> dict[Property, Problem]:
    """Return for each property that fails the problem on the smallest case that is found to fail."""
    found, until = dict(failures), time.monotonic() + PATIENCE
    open_ones = {each for each in failures if failures[each].case is not None}
    cases = _small_cases(task, seed)
    for start in range(0, len(cases), AT_ONCE):
        smaller = cases[start : start + AT_ONCE]
        wanted = [each for each in task.properties if each in open_ones]
        if not wanted or time.monotonic() > until:
            break
        plan = Plan(task, smaller, wanted, seed, again=False)
        for each, problem in plan.first_problems(answer(plan.round)).items():
            if problem and problem.case is not None:
                if _size(problem.case) < _size(failures[each].case):
                    found[each] = problem
                open_ones.discard(each)
    return found


def _small_cases(task: Task, seed: int) -> list[Case]:
    """Return the smallest of many more random cases, one of each shape, smallest first."""
    generator = torch.Generator().manual_seed(zlib.crc32(f"smaller {task.function} {seed}".encode()))
    by_shapes: dict[tuple, Case] = {}
    with in_own_time("the drawing of cases", task):
        drawn = [task.cases(generator) for _ in range(DRAWN)]
    for case in drawn:
        by_shapes.setdefault(tuple(each.shape for each in case.values() if isinstance(each, torch.Tensor)), case)
    return sorted(by_shapes.values(), key=_size)[:TRIED]


def _size(case: Case) -> int:
    """Return how many numbers and letters a reader of the case would have to look at."""
    texts = sum(len(each) for each in case.values() if isinstance(each, str))
    return texts + sum(each.numel() for each in case.values() if isinstance(each, torch.Tensor))


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread: on tensors as small as these, threads take longer to wait for than the work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def _with_its_number(exercise: Exercise) -> Iterator[None]:
    try:
        yield
    except OwnCodeUnfinished as error:
        raise CourseError(f"exercise {exercise.id}: {error}") from None


@contextlib.contextmanager
def _torch_as_it_begins() -> Iterator[None]:
    """Compute in float32 and with gradients, whatever a cell of the notebook in which this runs has set."""
    kind = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        torch.set_default_dtype(kind)


def _diagnose(exercise: Exercise, plan: Plan, answers: list[Answer]) -> tuple[Mistake, ...]:
    """Return the mistake that gives the same answers to every question that was put; or two that do so together."""
    seen, task = list(plan.compared(answers)), plan.round.task
    if all(answer.value is None for _, answer, _ in seen):
        return ()

    def says(function: Callable, asked: Asked) -> Answer:
        return plan.of_mistake(function, asked, exercise.forbidden)

    def makes(function: Callable) -> bool:
        return _same_answers(partial(plan.mistaken, function, exercise.forbidden), seen)

    graded = list(plan.compared(answers, gradients=True))
    made = [each for each in task.mistakes if makes(each.implementation)]
    for each in made:
        if _same_gradients(partial(plan.mistaken, each.implementation, exercise.forbidden), graded):
            return (each,)
    if all(_equal(answer.value, expected) for _, answer, expected in seen):
        return ()  # only the gradients are wrong, and in a way of their own
    if made:
        return (made[0],)
    return next(((one, other) for one, other, both in _pairs(task) if makes(both)), ())


@lru_cache(maxsize=PLANS)
def _pairs(task: Task) -> tuple[tuple[Mistake, Mistake, Callable], ...]:
    """Return every two mistakes that one answer can make, and that answer."""
    pairs = []
    for one, other in itertools.combinations((each for each in task.mistakes if each.make_with), 2):
        with contextlib.suppress(ValueError):  # they change the same lines
            pairs.append((one, other, one.make_with(other)))
    return tuple(pairs)


def _same_answers(mistaken: Callable[[int], Answer], seen: list[tuple[int, Answer, Value]]) -> bool:
    """Tell whether a wrong answer gives equal tensors, fails on the same questions, and changes the same inputs."""
    changed: tuple[set[str], set[str]] = set(), set()
    for number, answer, _ in seen:
        wrong = mistaken(number)
        if not _equal(wrong.value, answer.value):
            return False
        changed[0].update(wrong.changed)
        changed[1].update(answer.changed)
    return changed[0] == changed[1]


def _same_gradients(mistaken: Callable[[int], Answer], seen: list[tuple[int, Answer, Value]]) -> bool:
    """Tell whether a wrong answer gives equal gradients where they are asked for, and none on the same questions."""
    for number, answer, _ in seen:
        wrong = mistaken(number)
        if (wrong.value is None) != (answer.value is None) or wrong.gradients.keys() != answer.gradients.keys():
            return False
        if not all(alike(wrong.gradients[name], each, 10 * ROUNDING) for name, each in answer.gradients.items()):
            return False
    return True


def _one_number(value: Value) -> bool:
    return all(not each.numel() or bool((each.isnan() | (each == each.flatten()[0])).all()) for each in _tuple(value))


def _equal(one: Value | None, other: Value | None) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, tuple) != isinstance(other, tuple) or len(_tuple(one)) != len(_tuple(other)):
        return False
    return all(map(alike, _tuple(one), _tuple(other)))


def _tuple(value: Value) -> tuple[torch.Tensor, ...]:
    return value if isinstance(value, tuple) else (value,)


def _first_output(value: Value) -> torch.Tensor:
    return _tuple(value)[0]
