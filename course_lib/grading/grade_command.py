"""`course grade`: from a folder of submissions to a gradebook and the files made from it, in one sitting or several."""

import contextlib
import multiprocessing
import os
import platform
import re
import signal
import socket
import statistics
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, wait
from dataclasses import fields
from itertools import islice
from pathlib import Path

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

import course_lib
from course_lib.grading import exports, platform_tables, regrade
from course_lib.grading.archives import folder_of
from course_lib.grading.catalogue import OWN, Catalogue, catalogue
from course_lib.grading.collect import Found, chapters_answered, find_submissions
from course_lib.grading.engine import fresh_seed
from course_lib.grading.gradebook import Gradebook, storable
from course_lib.grading.grader import Settings, digest, grade_submission
from course_lib.grading.matching import ASSIGNMENT, ROSTER, Class, class_of, late
from course_lib.grading.records import GRADED, STOPPED, UNGRADED, UNREADABLE, Record
from course_lib.grading.reports.eye import TITLES, Look, looks
from course_lib.grading.roster import parse, read_roster
from course_lib.grading.sandbox import probe, tiers
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

GRADEBOOK = "gradebook.sqlite"
EDITION = "edition"  # the fact that tells how the exercises were written
IN_FLIGHT = 256  # submissions handed out at a time: enough for a cluster, little enough to hold in memory
CONNECT_WITHIN = 10  # seconds
URGENT = (UNGRADED, STOPPED, UNREADABLE, GRADED)  # what a person should look at first
ROWS_SHOWN, NAMES_SHOWN = 20, 10
BANDS = (0, 20, 40, 60, 80, 100)  # percent; full points stand alone
LOOKS_SHOWN = 5
LONGEST_BAR = 40
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
        workers = stack.enter_context(_workers(jobs, scheduler, executor))
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
        _introduce(course, folder, found, settings)
        work = _left_to_do(gradebook, found, gone)
        formats = exports.known([*formats, *exports.present(out)])  # none is left behind that says something older
        try:
            with _told_to_stop() as told, _progress_bar() as progress:
                for record in progress.track(_graded(work, settings, workers), total=len(work)):
                    gradebook.add(record)
                    if told.is_set():
                        raise KeyboardInterrupt
            written = exports.export(gradebook, out, formats)
        except KeyboardInterrupt:
            typer.echo(f"stopped; {_ways_on(path)}", err=True)
            raise
        except Exception as error:  # a full disk, a pool whose process died, a cluster that went away
            why = shorten(printable(": ".join(filter(None, [type(error).__name__, str(error)]))), 240)
            raise CourseError(f"stopped by {why}; {_ways_on(path)}") from error
        graded, facts = class_of(gradebook), gradebook.facts
        records = graded.records
        _summarise(records)
        regrade.finish(gradebook)
    _compare(graded, formats)
    _for_the_eye(looks(records, facts, out), out)
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
        raise CourseError(f"two submissions have names that read {printable(twice)}: rename one of them")
    _list("passed over, since neither a folder nor .ipynb, .py or .zip", collected.left)
    _list("passed over, since the same student handed it in again later", collected.replaced)
    return collected.found


def _list(what: str, names: list[str]) -> None:
    """Say what is true of these names, where there are any."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    if names:
        typer.echo(f"{what}: {', '.join(map(printable, names[:NAMES_SHOWN]))}{more}")


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
        typer.echo(f"dropped, since it is no longer there: {printable(submission)}")
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


@contextlib.contextmanager
def _workers(jobs: int, scheduler: str | None, executor: Executor | None) -> Iterator[Executor | None]:
    """Yield what does the work, and end what was started for it; None where this process is to do it."""
    if executor is not None:
        yield executor
    elif scheduler is not None:
        with _cluster(scheduler) as client:
            yield client.get_executor()
    elif jobs > 1:
        # Not by fork: this process may have threads. A fork server was not faster, and there is none on some systems.
        pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _end_with_the_parent)
        # All are started here, and Ctrl-C, which the terminal sends to each of them, is left to this process.
        earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        for _ in range(jobs):
            pool.submit(os.getpid)
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
    else:
        yield None


def _end_with_the_parent() -> None:
    """End this process when its parent has, even by a kill: a pool's processes would wait for work for ever."""

    def watch() -> None:
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _cluster(address: str) -> Iterator:
    """Yield a client of the Dask cluster whose scheduler has this address."""
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
    except ImportError as error:
        raise CourseError("--scheduler needs Dask: pip install 'course_lib[dask]'") from error
    try:
        # Asked first whether somebody is there, since a client that finds nobody complains again while it is deleted.
        socket.create_connection(get_address_host_port(address), CONNECT_WITHIN).close()
        client = Client(address, timeout=CONNECT_WITHIN, set_as_default=False)
    except (OSError, ValueError) as error:
        raise CourseError(f"no Dask scheduler answers at {address!r}: expected one such as tcp://host:8786") from error
    with client:
        yield client


# ---------------------------------------------------------------- what is said


def _introduce(course: Catalogue, folder: Path, found: list[Found], settings: Settings) -> None:
    points = sum(course.find(id).points for id in settings.exercises)
    lock = "none (--unsafe)" if settings.tier == tiers.PROCESS else settings.tier
    typer.echo(f"submissions: {len(found)} in {folder}")
    typer.echo(f"exercises: {', '.join(settings.exercises)} ({points} points)")
    typer.echo(f"sandbox: {lock}; limit: {settings.limits.wall:g} s a submission; seed: {settings.seed}")


def _ways_on(path: Path) -> str:
    return f"what is graded is kept in {path}, and the same command with --resume goes on from there"


def _progress_bar() -> Progress:
    """Return a progress bar, which shows only where a person is there to see it."""
    columns = TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def _summarise(records: list[Record]) -> None:
    """Print the submissions that a person should look at first, and how the class did."""
    console = Console(highlight=False)
    urgent = sorted(records, key=lambda record: (URGENT.index(record.status), record.earned or 0, record.submission))
    table = Table(box=None, pad_edge=False)
    table.add_column("submission", no_wrap=True, overflow="ellipsis", max_width=console.width // 2)
    table.add_column("points", no_wrap=True, justify="right")
    table.add_column("status")
    for record in urgent[:ROWS_SHOWN]:
        status = f"{record.status}: {shorten(printable(record.reason), 120)}" if record.reason else record.status
        points = "-" if record.earned is None else f"{record.earned}/{record.points}"
        table.add_row(Text(printable(record.submission)), points, Text(status))
    console.print(table)
    if len(urgent) > ROWS_SHOWN:
        typer.echo(f"... and {len(urgent) - ROWS_SHOWN} more")
    marked = [record for record in records if record.status != UNGRADED]
    if marked:
        typer.echo("\n" + _distribution([record.earned for record in marked], marked[0].points))


def _compare(graded: Class, formats: Sequence[str]) -> None:
    """Print who came late, and where roster and submissions do not agree."""
    _list("late, says the platform", [record.submission for record in graded.records if late(record)])
    if graded.roster:
        people = len(graded.roster.people)
        typer.echo(f"roster: {people} people, {people - len(graded.missing)} with a submission")
        _list("without a submission", [person.name for person in graded.missing])
        for submission, why in graded.unmatched.items():
            typer.echo(f"not entered for anybody: {printable(submission)}: {printable(why)}")
    for sentence in platform_tables.warnings(graded, list(formats)):
        typer.echo(sentence)


def _for_the_eye(seen: list[Look], out: Path) -> None:
    """Print the first of what a teacher should look at, with the commands for it."""
    if not seen:
        return
    kinds = Counter(each.kind for each in seen)
    counted = (f"{title}: {kinds[kind]}" for kind, title in TITLES.items() if kind in kinds)
    typer.echo("\n".join(["\nThese need your eye.", *counted]))
    for each in seen[:LOOKS_SHOWN]:
        about = f"{printable(shorten(each.submission, 60))}{each.exercise and f', {each.exercise}'}"
        typer.echo("\n".join([f"  {about}: {shorten(each.sentence, 400)}", *(f"    {line}" for line in each.commands)]))
    if len(seen) > LOOKS_SHOWN:
        typer.echo(f"  ... and {len(seen) - LOOKS_SHOWN} more, on the page that `course report {out}` writes")
    typer.echo("")


def _distribution(earned: list[int], points: int) -> str:
    """Return mean and median, and how many submissions are in each band of the points.

    >>> print(_distribution([0, 5, 6, 10, 10], 10))
    mean 6.2 of 10, median 6, over 5 submissions
      0 to  19 %    1  #
     20 to  39 %    0
     40 to  59 %    1  #
     60 to  79 %    1  #
     80 to  99 %    0
           100 %    2  ##
    """
    counts = [0] * len(BANDS)
    for each in earned:
        counts[max(number for number, least in enumerate(BANDS) if 100 * each >= least * points)] += 1
    scale = max(1.0, max(counts) / LONGEST_BAR)
    names = [f"{low:>3} to {high - 1:>3} %" for low, high in zip(BANDS, BANDS[1:], strict=False)] + ["       100 %"]
    lines = [
        f"{name} {count:>4}  {'#' * round(count / scale)}".rstrip() for name, count in zip(names, counts, strict=True)
    ]
    summary = f"mean {statistics.mean(earned):.1f} of {points}, median {statistics.median(earned):g}"
    return "\n".join([f"{summary}, over {len(earned)} submissions", *lines])


def printable(text: str) -> str:
    r"""Spell out what a terminal would obey rather than show; a student chose the name.

    >>> print(printable("ann\x1b[2J"))
    ann\x1b[2J
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
