"""`course grade`: from a folder of submissions to a gradebook and the files made from it, in one sitting or several."""

import contextlib
import os
import platform
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from dataclasses import fields
from itertools import islice
from pathlib import Path

import torch
import typer

import course_lib
from course_lib.grading import exports, grade_said, platform_tables, regrade
from course_lib.grading.archives import folder_of
from course_lib.grading.catalogue import OWN, Catalogue, catalogue
from course_lib.grading.collect import Found, chapters_answered, find_submissions
from course_lib.grading.engine import fresh_seed
from course_lib.grading.gradebook import Gradebook, storable
from course_lib.grading.grader import Settings, digest, grade_submission
from course_lib.grading.matching import ASSIGNMENT, ROSTER, class_of
from course_lib.grading.records import UNGRADED, Record
from course_lib.grading.reports.eye import looks
from course_lib.grading.roster import parse, read_roster
from course_lib.grading.sandbox import probe
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.wording import shorten
from course_lib.grading.workers import workers_for
from course_lib.project import CourseError

GRADEBOOK = "gradebook.sqlite"
EDITION = "edition"  # the fact that tells how the exercises were written
IN_FLIGHT = 256  # submissions handed out at a time: enough for a cluster, little enough to hold in memory
_ALONE = threading.Lock()


def grade(
    folder: Path,
    out: Path,
    jobs: int = 1,
    seed: int | None = None,
    only: Sequence[str] = (),
    resume: bool = False,
    formats: Sequence[str] = ("csv", "jsonl"),
    wall: float | None = None,
    unsafe: bool = False,
    scheduler: str | None = None,
    executor: Executor | None = None,
    package: str = OWN,
    roster: Path | None = None,
    assignment: str = "",
    again: bool = False,
) -> int:
    """Grade the submissions in `folder` into `out`, say what was done, and return the exit code.

    0: all graded; 1: some are ungraded, because of a fault of ours; `resume` tries these again. `only` names chapters
    and exercises; `wall` is the time for one submission in seconds; `roster` is a table of the people, and `assignment`
    the one of Canvas's gradebook that takes the points. With `again`, all are graded once more, because an exercise was
    mended, and what changed is said. The work is done by `executor`, else by the Dask cluster of `scheduler`, else by
    `jobs` processes. Raises CourseError for what cannot be done; what is graded by then stays in the gradebook.
    """
    exports.known(formats)
    path = out / GRADEBOOK
    if path.exists() and not (resume or again):
        ways = "add --resume to go on with it, --regrade to grade all again, or name another folder with --out"
        raise CourseError(f"{path} is there already: {ways}")
    if again and not path.exists():
        raise CourseError(f"there is no {path} to grade again: leave out --regrade")
    table = _table(roster, assignment, formats)
    course = catalogue(package)
    asked = _asked(course, seed, only, wall)
    here = _here(probe.strongest(unsafe))
    with contextlib.ExitStack() as stack:
        found = _found(stack.enter_context(folder_of(folder, out)), out)
        workers = stack.enter_context(workers_for(jobs, scheduler, executor))
        if path.exists():
            gradebook = stack.enter_context(_continued(course, path, here, asked, again, resume))
        else:
            gradebook = stack.enter_context(_begun(course, path, here, asked, found))
        for name, value in table.items():
            gradebook.note(name, value)
        gone = _gone(gradebook, found, folder)
        if again and not (resume and regrade.unfinished(gradebook)):
            regrade.begin(gradebook, here | {EDITION: course.edition(gradebook.facts["exercises"].split())})
        settings = _settings(gradebook.facts)
        grade_said.introduce(course, folder, found, settings)
        work = _left_to_do(gradebook, found, gone)
        formats = exports.known([*formats, *exports.present(out)])  # none is left behind that says something older
        try:
            with _told_to_stop() as told, grade_said.progress_bar() as progress:
                for record in progress.track(_graded(work, settings, workers), total=len(work)):
                    gradebook.add(record)
                    if told.is_set():
                        raise KeyboardInterrupt
            written = exports.export(gradebook, out, formats)
        except KeyboardInterrupt:
            typer.echo(f"stopped; {grade_said.ways_on(path)}", err=True)
            raise
        except Exception as error:  # a full disk, a pool whose process died, a cluster that went away
            why = shorten(grade_said.printable(": ".join(filter(None, [type(error).__name__, str(error)]))), 240)
            raise CourseError(f"stopped by {why}; {grade_said.ways_on(path)}") from error
        graded, facts = class_of(gradebook), gradebook.facts
        records = graded.records
        grade_said.summarise(records)
        regrade.finish(gradebook)
    grade_said.compare(graded, formats)
    grade_said.for_the_eye(looks(records, facts, out), out)
    typer.echo(f"written: {', '.join(map(str, [path, *written]))}")
    return 1 if any(record.status == UNGRADED for record in records) else 0


# ---------------------------------------------------------------- what to do


def _table(roster: Path | None, assignment: str, formats: Sequence[str]) -> dict[str, str]:
    """Return the facts about the teacher's table, as far as the command names them."""
    text = read_roster(roster) if roster else ""
    if "canvas" in formats:
        platform_tables.assignment_column(parse(text) if text else None, assignment)
    return ({ROSTER: text} if text else {}) | ({ASSIGNMENT: assignment} if assignment else {})


def _found(folder: Path, out: Path) -> list[Found]:
    """Return the submissions, with whole paths, which workers elsewhere can read as well; say what else lies there."""
    here, there = folder.resolve(), out.resolve()
    if there.is_relative_to(here) and there.parent != here:
        raise CourseError(f"{out} cannot take the grades: it is the folder of the submissions, or part of one of them")
    collected = find_submissions(here, there)
    names = [storable(each.name) for each in collected.found]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CourseError(f"two submissions have names that read {grade_said.printable(twice)}: rename one of them")
    grade_said.list_names("passed over, since neither a folder nor .ipynb, .py or .zip", collected.left)
    grade_said.list_names("passed over, since the same student handed it in again later", collected.replaced)
    return collected.found


def _here(tier: str) -> dict[str, str]:
    """Return the facts about this machine."""
    return {
        "course": course_lib.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "tier": tier,
    }


def _asked(course: Catalogue, seed: int | None, only: Sequence[str], wall: float | None) -> dict[str, str]:
    """Return the facts that the command itself names."""
    asked = {} if seed is None else {"seed": str(seed)}
    asked |= {} if wall is None else {"limit_wall": str(float(wall))}
    asked |= {"exercises": exercises_named(course, only)} if only else {}
    asked |= {"catalogue": course.package}
    return asked


def exercises_named(course: Catalogue, names: Sequence[str]) -> str:
    """Return the exercises that chapters ("02") and exercises ("2.3") name, in order.

    >>> exercises_named(catalogue(), ["2.3", "02.1", "2.3"])
    '02.1 02.3'
    """
    chosen = []
    for name in names:
        chosen += course.exercises(name.zfill(2)) if re.fullmatch(r"\d{1,2}", name) else [course.find(name)]
    return " ".join(sorted({each.id for each in chosen}, key=lambda id: [int(part) for part in id.split(".")]))


def _begun(course: Catalogue, path: Path, here: dict[str, str], asked: dict[str, str], found: list[Found]) -> Gradebook:
    """Return a new gradebook; what the command does not name is decided now, once for the whole run."""
    facts = {f"limit_{each.name}": str(each.default) for each in fields(Limits)}
    facts |= {"seed": str(fresh_seed())} | here | asked
    if "exercises" not in facts:
        answered = chapters_answered(course, found)
        if not answered:
            raise CourseError("no submission defines a function that an exercise asks for: name exercises with --only")
        facts["exercises"] = exercises_named(course, answered)
        typer.echo(f"graded are all exercises of the chapters that submissions answer: {', '.join(answered)}")
    facts[EDITION] = course.edition(facts["exercises"].split())
    return Gradebook.create(path, facts)


def _continued(
    course: Catalogue, path: Path, here: dict[str, str], asked: dict[str, str], again: bool, resume: bool
) -> Gradebook:
    """Return the gradebook of an earlier sitting; raises CourseError where this one would give other marks.

    Where all is graded again, the edition and the machine may be others, and what the command names may not.
    """
    gradebook = Gradebook.open(path)
    facts = gradebook.facts
    if not again or (resume and regrade.unfinished(gradebook)):
        asked = here | asked
    differ = [name for name in asked if name != "platform" and asked[name] != facts.get(name)]
    if differ:
        gradebook.close()
        shown = " and ".join(f"{name} {facts.get(name)}, not {asked[name]}" for name in differ)
        raise CourseError(f"{path} was begun with {shown}: go on as it was begun, or name another folder with --out")
    if EDITION in facts and not again and facts[EDITION] != course.edition(facts["exercises"].split()):
        gradebook.close()
        raise CourseError(f"an exercise was changed since {path} was begun: add --regrade to grade all of it again")
    return gradebook


def _settings(facts: dict[str, str]) -> Settings:
    limits = {each.name: type(each.default)(facts[f"limit_{each.name}"]) for each in fields(Limits)}
    exercises = tuple(facts["exercises"].split())
    return Settings(int(facts["seed"]), exercises, Limits(**limits), facts["tier"], facts["catalogue"])


def _gone(gradebook: Gradebook, found: list[Found], folder: Path) -> list[str]:
    """Return the submissions that are no longer there; raises CourseError where that is all of them."""
    digests = gradebook.digests()
    gone = sorted(digests.keys() - {storable(each.name) for each in found})
    if digests and len(gone) == len(digests):
        raise CourseError(f"{folder} holds none of the submissions that {gradebook.path} is about: is it another one?")
    return gone


def _left_to_do(gradebook: Gradebook, found: list[Found], gone: list[str]) -> list[Found]:
    """Return what is not graded yet, has changed since or met a fault; forget what is no longer there, and say so."""
    digests = gradebook.digests()
    for submission in gone:
        gradebook.drop(submission)
        typer.echo(f"dropped, since it is no longer there: {grade_said.printable(submission)}")
    ungraded = gradebook.with_status(UNGRADED)
    work, again = [], 0
    for each in found:
        known = digests.get(storable(each.name))
        if known is None or storable(each.name) in ungraded or known != digest(each.paths):
            work.append(each)
            again += known is not None
    if digests:
        typer.echo(f"graded before: {len(found) - len(work)}; to be graded: {len(work)}, of these {again} once more")
    return work


# ---------------------------------------------------------------- doing it


def _graded(work: list[Found], settings: Settings, workers: Executor | None) -> Iterator[Record]:
    """Yield the records in the order in which they come; without workers, this process does the work."""
    if workers is None:
        yield from (grade_submission(each.name, each.paths, settings) for each in work)
        return
    rest, waiting = iter(work), set()
    while True:
        for each in islice(rest, IN_FLIGHT - len(waiting)):
            waiting.add(workers.submit(_one_at_a_time, grade_submission, each.name, each.paths, settings))
        if not waiting:
            return
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda each: each.exception() is not None):  # before a failure, what is done
            yield future.result()


def _one_at_a_time(function: Callable, *arguments):
    """Call the function when no other thread of this process does: they would talk to the same sandboxed worker."""
    with _ALONE:
        return function(*arguments)


@contextlib.contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets, so that what is under way ends in good order; a second Ctrl-C does not wait."""
    told = threading.Event()

    def stop(*_) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(2, b"stopping after the submissions under way\n")  # sys.stderr may be that of a submission just now
        told.set()

    earlier = signal.signal(signal.SIGINT, stop)
    try:
        yield told
    finally:
        signal.signal(signal.SIGINT, earlier)
