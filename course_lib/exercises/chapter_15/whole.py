"""The whole of chapter 15: a learner's own parts in one model, and which of them is to blame where it fails.

Model, weights, scenes and verdict stay here. A part is a question to whatever answers for the learner's function, so
that it runs where every answer runs. The parts have earned their points in their own chapters: the whole earns none.
"""

import textwrap
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import torch

from course_lib import capstone
from course_lib.exercises.chapter_15._looks import Looks
from course_lib.grading.call import Answer, Asked, Round, in_process
from course_lib.grading.catalogue import catalogue
from course_lib.grading.engine import fresh_seed
from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.notebook_file import read_cells
from course_lib.grading.problem import Problem
from course_lib.grading.reports.learner import LONGEST_PROBLEM, WIDTH, beside, coloured, wrapped
from course_lib.grading.wording import describe_kind, sentence, shorten
from course_lib.models.caption_transformer import Parts
from course_lib.project import CourseError

EXERCISES = {
    "scaled_dot_product_attention": "05.1",
    "split_heads": "06.1",
    "merge_heads": "06.1",
    "sinusoidal_positions": "07.1",
    "layer_norm": "08.1",
    "FeedForward": "08.2",
    "CrossAttention": "09.1",
    "shift_right": "09.2",
    "loss_at_every_step": "09.2",
    "beam_search": "09.4",
}
UNWRITTEN = "not written yet"  # how the report puts it where a part is a stub
OWN_WEIGHTS = "caption_transformer"  # beside the notebooks, where a learner's own were saved

Ask = Callable[[Round], list[Answer]]  # puts a question to a learner's function


def _question_form(name: str) -> tuple[Exercise, Task]:
    """Return the exercise and the task of a part, without the cases that only `check` asks about."""
    exercise = catalogue().find(EXERCISES[name])
    task = next(each for each in exercise.tasks if each.function == name)
    return exercise, replace(task, cases=lambda generator: {}, examples=(), edges=(), properties=())


class Own:
    """A learner's part; once it has failed, the library's answers in its place, and `failed` says how it ended.

    Whoever refuses numbers that are not finite has not failed: there another part is to blame that made them.
    """

    def __init__(self, name: str, ask: Ask):
        self.name, self.failed, self.unwritten = name, "", False
        self._task = _question_form(name)[1]
        self._ask, self._library = ask, getattr(Parts(), name)

    def part(self) -> Callable:
        """Return what enters `Parts`: a function, or a class whose parameters are sent with every question."""
        if not isinstance(self._library, type):
            return lambda **arguments: self._answer(arguments, lambda: self._library(**arguments))
        answer = self._answer

        class Asking(self._library):
            def __init__(self, **made):
                super().__init__(**made)
                self.made = made

            def forward(self, **arguments):
                asked = self.made | {"state": dict(self.state_dict())} | arguments
                return answer(asked, lambda: super(Asking, self).forward(**arguments))

        return Asking

    def _answer(self, arguments: dict[str, Any], by_library: Callable) -> Any:
        expected = by_library()
        if self.failed:
            return expected
        plain = {name: each.detach() if torch.is_tensor(each) else each for name, each in arguments.items()}
        (answer,) = self._ask(Round(self._task, (Asked(plain),)))
        got = answer.value
        if got is None:
            if all(each.isfinite().all() for each in plain.values() if torch.is_tensor(each)):
                self.unwritten = answer.problem.kind == "unwritten"
                self.failed = sentence(answer.problem, self._task)
            return expected
        pairs = zip(*((each,) if torch.is_tensor(each) else each for each in (got, expected)), strict=True)
        for one, other in pairs:
            if describe_kind(one) != describe_kind(other):
                self.failed = f"got {describe_kind(one)}, expected {describe_kind(other)}"
                return expected
        return got


@dataclass
class Whole:
    """What was found: `lines` (what was looked at, what was got, None or a problem), and the parts to blame."""

    own: list[str] = field(default_factory=list)
    library: dict[str, str] = field(default_factory=dict)  # parts that are the library's, and why
    lines: list[tuple[str, str, str | None]] = field(default_factory=list)
    blamed: dict[str, str] = field(default_factory=dict)
    weights: str = ""

    def as_dictionary(self) -> dict:
        """Return what was found, fit for JSON."""
        return {
            "right": self.right,
            "weights": self.weights,
            "lines": [{"look": title, "got": got, "problem": problem} for title, got, problem in self.lines],
            "own": self.own,
            "library": self.library,
            "blamed": [
                {"function": name, "exercise": EXERCISES[name], "reason": why} for name, why in self.blamed.items()
            ],
        }

    def render(self) -> str:
        """Return the report that a learner reads."""
        if not self.own:
            return "the whole: none of the functions of chapters 05 to 09 is written yet of which it is made"
        lines = [beside("the whole: your parts in one model", self.weights)]
        for title, got, problem in self.lines:
            lines.append(beside(f"  {'FAIL' if problem else 'ok':<7}{title}", got))
            lines += wrapped(shorten(problem, LONGEST_PROBLEM)) if problem else []
        for name, reason in self.blamed.items():
            lines += wrapped(f"to blame: {name}: {shorten(reason, LONGEST_PROBLEM)}")
            lines[-1] = beside(lines[-1], f"see: course check {EXERCISES[name]}")
        lines += textwrap.wrap(f"yours: {', '.join(self.own)}", WIDTH)
        if self.library:
            reasons = (f"{name} ({shorten(why, 60)})" for name, why in self.library.items())
            lines += textwrap.wrap(f"the library's: {', '.join(reasons)}", WIDTH)
        return "\n".join(lines)

    @property
    def right(self) -> bool:
        """Whether nothing is wrong; with no part of the learner's own there is nothing that could be."""
        return not self.own or not (self.blamed or any(problem for _, _, problem in self.lines))


def check_folder(folder: Path, open_sessions: Callable, seed: int) -> Whole:
    """Examine the parts that the notebooks of `folder` define; `open_sessions(path, cells, functions)` runs one."""
    asks: dict[str, Ask] = {}
    library: dict[str, str] = {}
    with ExitStack() as stack:
        for chapter, group in groupby(EXERCISES, key=lambda name: EXERCISES[name][:2]):
            names = list(group)
            found = (each for each in folder.glob(f"{chapter}_*") if each.suffix in (".ipynb", ".md", ".py"))
            path = min(found, key=lambda each: (len(each.name), each.name), default=None)
            try:
                if path is None:
                    raise CourseError(f"there is no notebook of chapter {chapter}")
                sessions = stack.enter_context(open_sessions(path, read_cells(path), names))
                for name in names:
                    exercise, task = _question_form(name)
                    submission = sessions.submission(exercise)
                    if name in submission.defined:
                        asks[name] = _asking(sessions, exercise, task)
                    else:
                        library[name] = submission.why_missing(name)
            except CourseError as error:
                library |= {name: str(error) for name in names if name not in asks}
        own_weights = folder / OWN_WEIGHTS
        trained = own_weights.with_suffix(".json").exists() and own_weights.with_suffix(".safetensors").exists()
        try:
            return examine(asks, library, seed, own_weights if trained else capstone.REFERENCE)
        except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
            if not trained:
                raise
            raise CourseError(f"{own_weights}: no weights of this model ({shorten(str(error), 120)})") from error


def whole(*functions: Callable) -> None:
    """Print, in a notebook, what comes of the model made of these functions of its kernel, each known by its name.

    A cell that imports this is to be tagged `not-graded`: where answers are graded there is no model.
    """
    asks: dict[str, Ask] = {}
    for function in functions:
        if function.__name__ not in EXERCISES:
            print(f"{function.__name__} is no part of the model; these are: {', '.join(EXERCISES)}")
            return
        exercise, task = _question_form(function.__name__)
        asks[function.__name__] = in_process(function, task, exercise.forbidden)
    library = {name: "not given" for name in EXERCISES if name not in asks}
    print(coloured(examine(asks, library, fresh_seed()).render()))


def _asking(sessions: Any, exercise: Exercise, task: Task) -> Ask:
    answerer, of_session = None, None

    def ask(asked: Round) -> list[Answer]:
        nonlocal answerer, of_session
        try:
            sessions.submission(exercise)  # a session lasts for some seconds only; this opens the next
        except CourseError as error:
            return [Answer(problem=Problem("stopped", note=str(error)))]
        if of_session is not sessions.latest:
            of_session, answerer = sessions.latest, sessions.latest.answerer(exercise, task)
        return answerer(asked)

    return ask


def examine(asks: dict[str, Ask], library: dict[str, str], seed: int, base: Path = capstone.REFERENCE) -> Whole:
    """Let the parts of `asks`, and the library's for the others, caption fresh scenes, and find what is to blame."""
    owned = {name: Own(name, ask) for name, ask in asks.items()}
    looks = Looks(seed, base)
    whole = Whole(
        library=dict(library), weights="the course's weights" if base == capstone.REFERENCE else "your own weights"
    )
    found = [looks.at(owned, number) for number in range(len(looks.titles))] if owned else []
    if any(own.failed for own in owned.values()):  # perhaps after a look that it spoiled
        found = [looks.at(owned, number) if each[1] else each for number, each in enumerate(found)]
    for name in [name for name, own in owned.items() if own.unwritten]:
        whole.library[name] = UNWRITTEN
        del owned[name]
    whole.own = [name for name in EXERCISES if name in owned]
    if not whole.own:
        return whole
    whole.lines = [(title, *each) for title, each in zip(looks.titles, found, strict=True)]
    if base != capstone.REFERENCE:
        whole.lines.append(looks.weights_alone())
    whole.blamed = {name: owned[name].failed for name in whole.own if owned[name].failed}
    failing = [number for number, (_, problem) in enumerate(found) if problem]
    whole.blamed |= _blame({name: own for name, own in owned.items() if not own.failed}, failing, looks)
    whole.blamed = {name: whole.blamed[name] for name in EXERCISES if name in whole.blamed}
    for name, own in owned.items():  # what fails only later, while others are exchanged
        if own.failed:
            whole.blamed.setdefault(name, own.failed)
    return whole


def _blame(owned: dict[str, Own], failing: list[int], looks: Looks) -> dict[str, str]:
    def right(parts: Iterable[str], numbers: Iterable[int]) -> bool:
        return not any(looks.at({name: owned[name] for name in parts}, number)[1] for number in numbers)

    if not failing:
        return {}
    healing = [each for each in owned if right([name for name in owned if name != each], failing)]
    if healing:
        return dict.fromkeys(healing, "with the library's in its place, these lines are right")
    breaking = [each for each in owned if not right([each], failing)]
    if breaking:
        return dict.fromkeys(breaking, "alone among the library's, it breaks the model")
    return dict.fromkeys(owned, "no part breaks the model alone, and no single exchange mends it")
