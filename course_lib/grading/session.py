"""One file that is asked: what it defines, and something that answers for each of its functions.

`SandboxedSession` has workers answer, which is how strangers' files are graded, and how a learner's are checked
wherever that can be done. `InProcessSession` runs the file in this process: for our own files, and for learners on
Windows, where a process cannot be forked.
"""

import contextlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import torch

from course_lib.grading.call import Answer, Answerer, Asked, Round, fitting, no_value, patient, placed
from course_lib.grading.causes import undefined_name
from course_lib.grading.exercise import Exercise, Task
from course_lib.grading.notebook_file import Cell, Stop, Submission, after_running
from course_lib.grading.problem import Problem
from course_lib.grading.sandbox.conversation import Conversation, WorkerStopped
from course_lib.grading.sandbox.fork_server import CannotStart, ForkServer
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.sandbox.worker import cells as running
from course_lib.grading.sandbox.worker import own_modules
from course_lib.grading.sandbox.worker.attempt import at_most, ordinary
from course_lib.grading.sandbox.worker.frames import pack
from course_lib.grading.slow_imports import TRANSFORMS, slow_imports
from course_lib.grading.unattended import unattended
from course_lib.grading.wording import shorten

LONGEST = 20_000  # characters of each, which are more than are ever shown
MOST_TRIED, LONGEST_TRIED = 20, 160
FAULT = (
    "kind",
    "error",
    "message",
    "text",
    "file",
    "got",
    "expected",
)  # what a worker may tell of a call without a value
NO_MODULES: Mapping[str, str] = {}  # beside the file that it could import, each a name and its text


class Session(Protocol):
    """What both kinds of session offer."""

    def submission(self, exercise: Exercise) -> Submission:
        """Return what the file defines, as far as this exercise can see it."""

    def answerer(self, exercise: Exercise, task: Task) -> Answerer:
        """Return what answers for one function of the file."""


class InProcessSession:
    """A file of our own, or a learner's, run in this process, which ends where the file cannot be interrupted."""

    def __init__(self, path: str, cells: list[Cell], limits: Limits, modules: Mapping[str, str] = NO_MODULES):
        os.environ.setdefault("MPLBACKEND", "agg")  # a figure must not open a window and wait
        self._path, self._limits = path, limits
        self.names: dict[str, Any] = {"__name__": "answers"}
        own_modules.serve(modules)
        for name in slow_imports([*(cell.source for cell in cells), *modules.values()]):
            importlib.import_module(name)
        stops = running.run([cell.source for cell in cells], self.names, self._guard)
        self._submission = after_running(path, cells, self.names, stops)

    def submission(self, exercise: Exercise) -> Submission:
        """Return what the file defines."""
        return self._submission

    def answerer(self, exercise: Exercise, task: Task) -> Answerer:
        """Return the function itself, behind the seam."""
        answer = patient(self.names[task.function], task, exercise.forbidden, self._limits.step)

        def explained(asked: Round) -> list[Answer]:
            with self._or_end(f"{task.function} was stopped:"):
                return [_explained(each, self._submission) for each in answer(asked)]

        return explained

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        with self._or_end("while its cells ran,"), unattended(), at_most(self._limits.computing / 2):
            yield

    @contextlib.contextmanager
    def _or_end(self, what: str) -> Iterator[None]:
        """End this process, with a sentence, when the time is over for what runs inside."""

        def end() -> None:
            sys.__stdout__.flush()  # what was reported before
            said = f"{self._path}: {what} it took longer than {self._limits.wall:g} seconds"
            print(f"{said}, so the check ends here", file=sys.__stderr__, flush=True)
            os._exit(2)

        timer = threading.Timer(self._limits.wall, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


class SandboxedSession:
    """A stranger's file, run by workers, all within one span of time; use it in a `with` statement.

    Exercises that forbid operators get a worker of their own in which those are forbidden from the first cell on. There
    is one worker at a time, since two can talk to each other, by the numbers of their threads for one: that in which
    less is forbidden would compute for the other. A worker that breaks a limit costs the function that it was asked
    about; the next function gets a new one.
    """

    def __init__(
        self,
        fork_server: ForkServer,
        path: str,
        cells: list[Cell],
        functions: list[str],
        limits: Limits,
        deadline: float | None = None,
        modules: Mapping[str, str] = NO_MODULES,
    ):
        self._fork_server, self._path, self._cells, self._functions = fork_server, path, cells, functions
        self._limits, self._modules = limits, dict(modules)
        self._deadline = time.monotonic() + limits.wall if deadline is None else deadline
        sources = [*(cell.source for cell in cells), *modules.values()]
        self._slow = slow_imports(sources)
        self._latest: tuple[tuple, Conversation, Submission] | None = None
        self._hopeless: dict[tuple, str] = {}
        self.endings: list[str] = []  # what became of workers that did not last
        self.stops: list[Stop] = []  # of cells, by any worker
        self.tried: dict[str, None] = {}  # what is refused, in the order in which it was tried
        self.output = b""

    def __enter__(self) -> "SandboxedSession":
        return self

    def __exit__(self, *error) -> None:
        self._close()

    def submission(self, exercise: Exercise) -> Submission:
        """Return what the file defines where the operators of `exercise` are forbidden; raises WorkerStopped."""
        return self._worker(exercise.forbidden)[1]

    def answerer(self, exercise: Exercise, task: Task) -> Answerer:
        """Return what puts questions to a worker, and after its end says how it ended."""
        ending: Problem | None = None

        def answer(asked: Round) -> list[Answer]:
            nonlocal ending
            if ending is None:
                try:
                    return self._ask(exercise, asked)
                except WorkerStopped as error:
                    self._close()
                    reason = f"{task.function} was stopped: {error}"
                    self.endings.append(reason)
                    ending = Problem("stopped", note=reason)
            return [Answer(problem=ending)] * len(asked.questions)

        return answer

    def _ask(self, exercise: Exercise, asked: Round) -> list[Answer]:
        conversation, submission = self._worker(exercise.forbidden)
        conversation.send(asked.frame)
        head, reply = conversation.receive()
        self._note_tried(head)
        try:
            tensors: list[dict[str, torch.Tensor]] = [{} for _ in asked.questions]
            for name, each in reply.items():
                number, _, own = name.partition(".")
                tensors[int(number)][own] = each
            return [
                _explained(_believed(told, got, asked.task, question), submission)
                for told, got, question in zip(head["answers"], tensors, asked.questions, strict=True)
            ]
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise WorkerStopped("it replied with something that is no reply") from None

    def _worker(self, forbidden: Mapping[str, str]) -> tuple[Conversation, Submission]:
        """Return the worker for these forbidden operators; raises WorkerStopped where the cells do not let it begin."""
        key = _key(forbidden)
        if key in self._hopeless:
            raise WorkerStopped(self._hopeless[key])
        if self._latest is None or self._latest[0] != key:
            self._close()
            # torch's operators in Python come with its transforms: not where one of them is forbidden.
            preload = [name for name in self._slow if name != TRANSFORMS or not forbidden]
            conversation = Conversation(self._fork_server, self._limits, self._deadline, preload)
            try:
                self._latest = key, conversation, self._begin(conversation, dict(forbidden))
            except BaseException as error:
                self._put_away(conversation)
                if isinstance(error, WorkerStopped):
                    self._hopeless[key] = str(error)
                    self.endings.append(str(error))
                raise
        return self._latest[1:]

    def _begin(self, conversation: Conversation, forbidden: dict[str, str]) -> Submission:
        job = {
            "cells": [cell.source for cell in self._cells],
            "modules": self._modules,
            "functions": self._functions,
            "forbidden": forbidden,
            "memory": self._limits.memory,
            "seconds": self._limits.computing,
            "step": self._limits.step,
            "main": not self._path.endswith(".py"),  # in Jupyter, a cell is the main programme
        }
        conversation.send(pack(job, {}))
        locked, _ = conversation.receive()
        if locked.get("locked") is not True:
            raise CannotStart(f"the lock does not close: {shorten(str(locked.get('message')), 160)}")
        found, _ = conversation.receive()
        self._note_tried(found)
        try:
            submission = after_running(self._path, self._cells, found["defined"], found["stops"])
            self.stops += submission.stops
            return submission
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise WorkerStopped("it replied with something that is no reply") from None

    def _note_tried(self, told: dict) -> None:
        """Keep what a worker says that its submission tried; it may say anything."""
        tried = told.get("tried")
        for each in tried[:MOST_TRIED] if isinstance(tried, list) else []:
            if len(self.tried) < MOST_TRIED:
                self.tried[shorten(str(each), LONGEST_TRIED)] = None

    def _close(self) -> None:
        if self._latest is not None:
            conversation, self._latest = self._latest[1], None
            self._put_away(conversation)

    def _put_away(self, conversation: Conversation) -> None:
        with conversation:
            pass
        self.output += conversation.output


def _key(forbidden: Mapping[str, str]) -> tuple:
    return tuple(sorted(forbidden.items()))


def _explained(answer: Answer, submission: Submission) -> Answer:
    """Return the answer, with its places in words; where it misses a name, it tells of the cell that stopped before."""
    fault = answer.problem.fault if answer.problem else {}
    if file := fault.get("file"):
        answer = placed(answer, submission.place(file))
        fault = answer.problem.fault
    name = undefined_name(fault.get("error", ""), fault.get("message", ""))
    if not name or not (why := submission.why_undefined(name)):
        return answer
    message = f"{fault['message']}, since {why}"
    return replace(answer, problem=replace(answer.problem, fault={**fault, "message": message}))


def _believed(told: dict, got: dict[str, torch.Tensor], task: Task, question: Asked) -> Answer:
    """Return the answer that a reply holds; raises some exception where it holds none."""
    arguments = question.arguments
    if told["fault"] is not None:
        line = told["fault"].get("line")
        fault = {name: str(told["fault"].get(name, ""))[:LONGEST] for name in FAULT}
        return Answer(problem=no_value(fault | {"line": line if isinstance(line, int) else None}, arguments))
    parts = int(told["parts"])
    values = tuple(got[f"value.{number}"] for number in range(min(max(parts, 1), 16)))
    if not all(map(ordinary, values)):  # no worker of ours sends another kind
        raise ValueError("a tensor that an answer may not be")
    after = {name: got[f"argument.{name}"] for name, each in arguments.items() if isinstance(each, torch.Tensor)}
    gradients = {name.removeprefix("gradient."): each for name, each in got.items() if name.startswith("gradient.")}
    if not all(ordinary(each) and each.is_floating_point() for each in gradients.values()):
        raise ValueError("a gradient that there cannot be")
    return fitting(values if parts else values[0], after, gradients, task, arguments)
