r"""The known mistakes of a task, written as a text that a teacher can read.

A mistake is a paragraph: its name and the property that it breaks; what is wrong; what to tell the learner.

    no scale => the scores are divided by the root of d_key
    - scores = query @ key.mT / d_key**0.5
    + scores = query @ key.mT
    this leaves out the division by the root of d_key

The lines with `-` stand in the worked answer one below the other, exactly once (comments at their ends and how far they
are indented do not count), and the lines with `+` take their place; without `+` they are left out, and without `-` they
are those of the mistake above. Where one edit does not make the mistake, lines with `=` hold a Python expression
instead, which gives the wrong function; the names of the exercise's module are known in it. A mistake without a
sentence has that of the one above it.
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from course_lib.grading.exercise import Mistake, Task
from course_lib.grading.solutions import WorkedAnswers
from course_lib.project import CourseError

HEAD = re.compile(r"(?P<name>\S.*?)\s+=>\s+(?P<breaks>\S.*)")
MARKS = ("-", "+", "=")
COMMENT = re.compile(r"\s+#.*$")


@dataclass(frozen=True)
class Place:
    """Where a text stands, so that what is wrong in it can be found: a file, and the number of the line before it."""

    file: str
    line: int = 0

    def error(self, line: int, sentence: str) -> CourseError:
        """Return an error about one line of the text, counted from 1."""
        return CourseError(f"{self.file}, line {self.line + line}: {sentence}")


def read_mistakes(task: Task, module: Any, answers: WorkedAnswers | None) -> tuple[Mistake, ...]:
    """Return the mistakes of a task of an exercise's module.

    A patch is laid on the worked answer when the mistake is wanted for the first time; without worked answers, patches
    are left out. Raises CourseError, with file and line, for a text of another form, a property that there is not, or
    two mistakes of one name.
    """
    text, place = task.mistakes, _place(task, module)
    known, mistakes, sentence, before = {each.name for each in task.properties}, [], "", ()
    for start, lines in _paragraphs(text):
        head = HEAD.fullmatch(lines[0])
        if not head:
            raise place.error(start, f"expected `name => property`, got {lines[0]!r}")
        if head["breaks"] not in known:
            raise place.error(start, f"{task.function} has no property {head['breaks']!r} ({'; '.join(sorted(known))})")
        if any(each.name == head["name"] for each in mistakes):
            raise place.error(start, f"a second mistake of {task.function} is called {head['name']!r}")
        marked = {mark: tuple(_unmarked(line) for line in lines[1:] if _mark(line) == mark) for mark in MARKS}
        sentence = " ".join(line.strip() for line in lines[1:] if not _mark(line)) or sentence
        if not sentence:
            raise place.error(start, f"the mistake {head['name']!r} has no sentence")
        before = marked["-"] or before
        if bool(marked["-"] or marked["+"]) == bool(marked["="]) or not (before or marked["="]):
            raise place.error(start, f"{head['name']!r} needs either lines with `-` and `+`, or lines with `=`")
        if answers is None and not marked["="]:
            continue
        edit = start + next(number for number, line in enumerate(lines) if _mark(line))  # the line to look at
        name, breaks, after = head["name"], head["breaks"], marked["+"]
        if marked["="]:
            make = partial(_evaluate, marked["="], vars(module), place, edit)
            mistakes.append(Mistake(name, breaks, sentence, make))
        else:
            make = partial(_patch, task.function, before, after, answers, place, edit)
            make_with = partial(_patch_twice, task.function, before, after, answers)
            mistakes.append(Mistake(name, breaks, sentence, make, before, after, make_with))
    return tuple(mistakes)


def patched(source: str, before: tuple[str, ...], after: tuple[str, ...]) -> str:
    r"""Return `source` with the lines `before`, which stand in it exactly once, replaced by the lines `after`.

    Raises ValueError where they stand in it never or more than once.

    >>> print(patched("def f(x):\n    y = x + 1  # one more\n    return y", ("y = x + 1",), ("y = x",)))
    def f(x):
        y = x
        return y
    """
    lines = source.splitlines()
    plain, wanted = [_plain(line) for line in lines], [_plain(line) for line in before]
    found = [at for at in range(len(lines) - len(wanted) + 1) if plain[at : at + len(wanted)] == wanted]
    if len(found) != 1:
        times = "does not stand" if not found else f"stands {len(found)} times"
        raise ValueError(f"`{' / '.join(before)}` {times} in the worked answer, expected once")
    (at,) = found
    first = lines[at]
    indent = first[: len(first) - len(first.lstrip())]
    new = [indent + line if line.strip() else "" for line in textwrap.dedent("\n".join(after)).splitlines()]
    return "\n".join([*lines[:at], *new, *lines[at + len(wanted) :]])


def _patch(
    function: str, before: tuple[str, ...], after: tuple[str, ...], answers: WorkedAnswers, place: Place, line: int
) -> Callable:
    try:
        return answers.function(function, patched(answers.source(function), before, after))
    except (ValueError, SyntaxError, NameError) as error:
        raise place.error(line, str(error)) from error


def _patch_twice(
    function: str, before: tuple[str, ...], after: tuple[str, ...], answers: WorkedAnswers, other: Mistake
) -> Callable:
    """Return the answer with the patch of another mistake on top; ValueError where its lines are no longer there."""
    once = patched(answers.source(function), before, after)
    try:
        return answers.function(function, patched(once, other.before, other.after))
    except (SyntaxError, NameError) as error:
        raise ValueError(str(error)) from error


def _evaluate(lines: tuple[str, ...], names: dict[str, Any], place: Place, line: int) -> Callable:
    try:
        made = eval("(\n" + "\n".join(lines) + "\n)", names)  # written by the author of the exercise, not by a learner
    except Exception as error:
        raise place.error(line, f"{type(error).__name__}: {error}") from error
    if not callable(made):
        raise place.error(line, f"expected a function after `=`, got {made!r}")
    return made


def _paragraphs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the paragraphs of a text, each with the number of its first line."""
    lines: list[str] = []
    for number, line in enumerate([*textwrap.dedent(text).splitlines(), ""], start=1):
        if line.strip():
            lines.append(line.rstrip())
        elif lines:
            yield number - len(lines), lines
            lines = []


def _mark(line: str) -> str:
    """Return the mark with which a line begins, if it has one."""
    return next((mark for mark in MARKS if line == mark or line.startswith(mark + " ")), "")


def _unmarked(line: str) -> str:
    return line[2:]


def _plain(line: str) -> str:
    return COMMENT.sub("", line).strip()


def _place(task: Task, module: Any) -> Place:
    """Return where the text of a task stands in the file of its module."""
    file = inspect.getsourcefile(module) or module.__name__
    before, found, _ = Path(file).read_text(encoding="utf-8").partition(task.mistakes)
    return Place(file, before.count("\n") if found else 0)
