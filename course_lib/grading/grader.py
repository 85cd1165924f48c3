"""From the files of one submission to its record: everything that a verdict needs and nothing that is shown."""

import contextlib
import hashlib
import time
from dataclasses import dataclass, replace
from pathlib import Path

from course_lib.grading import events
from course_lib.grading.call import missing
from course_lib.grading.catalogue import OWN, catalogue
from course_lib.grading.collect import KINDS, counted, opened
from course_lib.grading.engine import TaskResult, judge_task
from course_lib.grading.exercise import Exercise
from course_lib.grading.helpers import helpers
from course_lib.grading.notebook_file import LARGEST, Cell, kind, read_cells
from course_lib.grading.problem import Problem
from course_lib.grading.records import GRADED, STOPPED, UNGRADED, UNREADABLE, Event, Finding, Record
from course_lib.grading.reports import learner
from course_lib.grading.sandbox import fork_server
from course_lib.grading.sandbox.conversation import WorkerStopped
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.session import SandboxedSession
from course_lib.grading.wording import sentence, shorten
from course_lib.project import CourseError

LONGEST_PROBLEM = 400  # characters
MOST_ANSWERS = 50  # files of one submission that are run
KEPT_SOURCE = 200_000  # characters


@dataclass(frozen=True)
class Settings:
    """What is the same for every submission of a run, in plain values that can travel to another process."""

    seed: int
    exercises: tuple[str, ...]  # "02.1"
    limits: Limits
    tier: str
    catalogue: str = OWN  # the package of the exercises


def grade_submission(name: str, paths: tuple[str, ...], settings: Settings) -> Record:
    """Grade the files of one submission and return its record, whatever they do.

    Where a submission has several files, each exercise counts where it is best. This process's worker is started at the
    first call and kept; one that fails is replaced once. A fault of ours that comes twice leaves it ungraded.
    """
    start = time.monotonic()
    exercises = [catalogue(settings.catalogue).find(each) for each in settings.exercises]
    try:
        record = _grade(name, paths, exercises, settings)
    except Exception:
        fork_server.forget()
        try:
            record = _grade(name, paths, exercises, settings)
        except Exception as error:
            reason = shorten(f"a fault of the grader: {type(error).__name__}: {error}", LONGEST_PROBLEM)
            record = Record(name, digest(paths), UNGRADED, reason, ())
    return replace(record, seconds=time.monotonic() - start)


def digest(paths: tuple[str, ...]) -> str:
    """Return the SHA-256 of the names and contents of the files, as far as they can be read."""
    whole = hashlib.sha256()
    for path in map(Path, paths):
        whole.update(path.name.encode(errors="surrogateescape") + b"\0")
        with contextlib.suppress(OSError):  # what cannot be read is told when it is to be graded
            if path.is_file() and not path.is_symlink():
                size = path.stat().st_size
                content = path.read_bytes() if size <= LARGEST else str(size).encode()
                whole.update(hashlib.sha256(content).digest())
    return whole.hexdigest()


def _grade(name: str, paths: tuple[str, ...], exercises: list[Exercise], settings: Settings) -> Record:
    mark = digest(paths)
    best: dict[str, tuple[tuple[int, int], list[TaskResult], list[Event]]] = {}
    sources, output, endings, seen = [], b"", [], []
    deadline = time.monotonic() + settings.limits.wall  # for all the files together
    too_long = f"the submission took longer than {settings.limits.wall:g} seconds"
    functions = [task.function for exercise in exercises for task in exercise.tasks]
    with opened(paths) as (files, reasons):
        answers = _answers(files, functions, reasons, deadline, too_long)
    for number, (path, cells, modules) in enumerate(answers):
        late = time.monotonic() > deadline
        if number and (late or number == MOST_ANSWERS):  # the first is begun in any case, and says how it ended
            why = too_long if late else f"{MOST_ANSWERS} are the most"
            endings.append(f"{len(answers) - number} of {len(answers)} files were not run: {why}")
            break
        sources += [cell.source for cell in cells] + list(modules.values())
        worker = fork_server.for_tier(settings.tier)
        with SandboxedSession(worker, path.name, cells, functions, settings.limits, deadline, modules) as session:
            # Those that forbid the same are asked one after the other: of its workers, a session has one at a time.
            for exercise in sorted(exercises, key=lambda exercise: sorted(exercise.forbidden.items())):
                results, rescues = _judge(session, exercise, settings.seed, path, cells)
                rank = sum(result.earned for result in results), _written(exercise, cells)
                if exercise.id not in best or rank > best[exercise.id][0]:
                    best[exercise.id] = rank, results, rescues
        seen += events.of_session(session, path)
        output, endings = output + session.output, endings + session.endings
    if not best:
        reason = shorten("; ".join(reasons), LONGEST_PROBLEM)
        return Record(name, mark, UNREADABLE, reason, _nothing(exercises, reason))
    findings = tuple(each for exercise in exercises for each in _findings(exercise, best[exercise.id][1]))
    status, reason = (STOPPED, shorten("; ".join(dict.fromkeys(endings)), LONGEST_PROBLEM)) if endings else (GRADED, "")
    source = "\n\n".join(dict.fromkeys(sources))[:KEPT_SOURCE].encode(errors="replace").decode()
    seen = events.bounded([*(event for exercise in exercises for event in best[exercise.id][2]), *seen])
    return Record(name, mark, status, reason, findings, source, _shown(output), events=seen)


def _answers(
    files: list[Path], functions: list[str], reasons: list[str], deadline: float, too_long: str
) -> list[tuple[Path, list[Cell], dict]]:
    """Return each file that is an answer, its cells, and the modules that it imports, by name.

    A module that an answer imports is none itself, unless it writes one of `functions`. Why a file cannot be
    read is added to `reasons`, and what there is where there is no answer.
    """
    found, imported = [], set()
    for path in files:
        if kind(path) not in KINDS:
            continue
        try:
            if time.monotonic() > deadline:
                raise CourseError(f"{path} is not read: {too_long}")
            cells = read_cells(path)
            beside = helpers(path, cells, files)
        except CourseError as error:
            reasons.append(shorten(str(error).replace(str(path), path.name), LONGEST_PROBLEM))
            continue
        is_answer = any(cell.defines(function) for cell in cells for function in functions)
        found.append((path, cells, dict(beside.values()), is_answer))
        if is_answer or kind(path) == ".ipynb":
            imported |= beside.keys()
    if not found and not reasons:
        holds = f"it holds {counted(files)}" if files else "it is empty"
        reasons.append(f"there is no notebook (.ipynb) and no module (.py); {holds}")
    return [(path, cells, modules) for path, cells, modules, is_answer in found if is_answer or path not in imported]


def _judge(
    session: SandboxedSession, exercise: Exercise, seed: int, path: Path, cells: list[Cell]
) -> tuple[list[TaskResult], list[Event]]:
    """Judge one exercise, and note what a teacher should see; a function that is not there fails each property."""
    results, seen = [], []
    for task in exercise.tasks:
        try:
            submission = session.submission(exercise)
        except WorkerStopped as error:
            answer = missing(Problem("stopped", note=f"the file was stopped while its cells ran: {error}"))
            results.append(judge_task(exercise, task, answer, seed))
            continue
        found = task.function in submission.defined
        answer = (
            session.answerer(exercise, task)
            if found
            else missing(Problem("missing", note=submission.why_missing(task.function)))
        )
        results.append(judge_task(exercise, task, answer, seed))
        seen += events.of_task(exercise, results[-1], submission, cells, path)
    return results, seen


def _written(exercise: Exercise, cells: list[Cell]) -> int:
    """Count the functions that these cells write: among equals, what is said is about the file that tries."""
    return sum(any(cell.defines(task.function) for cell in cells) for task in exercise.tasks)


def _findings(exercise: Exercise, results: list[TaskResult]) -> list[Finding]:
    return [
        Finding(
            exercise=exercise.id,
            function=result.task.function,
            property=verdict.property.name,
            earned=verdict.earned,
            points=verdict.property.points,
            kind=verdict.problem.kind if verdict.problem else "",
            problem=shorten(sentence(verdict.problem, result.task), LONGEST_PROBLEM) if verdict.problem else "",
            mistake=result.mistake.name if verdict.problem and result.mistake else "",
            explanation="; ".join(learner.diagnosis(result)) if verdict.problem else "",
        )
        for result in results
        for verdict in result.verdicts
    ]


def _nothing(exercises: list[Exercise], reason: str) -> tuple[Finding, ...]:
    """Return the findings on a submission of which nothing could be judged."""
    return tuple(
        Finding(exercise.id, task.function, each.name, 0, each.points, "missing", reason)
        for exercise in exercises
        for task in exercise.tasks
        for each in task.properties
    )


def _shown(output: bytes) -> str:
    """Return what was printed, without what a terminal would obey."""
    text = output.decode(errors="replace")
    return "".join(each if each.isprintable() or each == "\n" else "�" for each in text)
