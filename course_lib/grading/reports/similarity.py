"""Which submissions answer alike where few others do: a list to read by eye, not a verdict.

A function is compared in its normal form: comments, docstrings, annotations, formatting and the names of variables are
gone. The form is cut into runs of a few tokens. A run that two answers share counts -log2(p) bits, where p is the share
of the others who, having written its beginning, also went on like this: what everybody writes counts for nothing, and a
rare turn counts once, not again for all that follows from it. What the course itself wrote, in the worked answer or in
the stub, does not count.
"""

import ast
import builtins
import json
import math
import re
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from course_lib.grading.catalogue import OWN, Catalogue, catalogue
from course_lib.grading.records import Record
from course_lib.project import CourseError

Run = tuple[str, ...]

# Parsing runs nothing of what it reads, but the parser is recursive. On a text of this length it raises and does not
# crash (seen with a stack of 1 MiB; that of the main thread has 8). Answers have a few hundred characters.
LONGEST_FUNCTION = 6_000
LONGEST_SOURCE = 400_000

RUN = 6  # tokens; a line has about ten
EXPECTED = 0.8  # p where nobody else wrote the beginning: most of what follows is grammar
ALIKE = 0.5  # from this share of their bits on, two answers are said to agree
LEAST_THRESHOLD = 12.0  # bits; in a class of a few nothing is known to be rare
CHANCE = 0.01  # pairs that chance may put on the list of one class
STEP = 0.25  # bits, in which chance is computed


@dataclass(frozen=True)
class Code:
    """A function as it was written, without comments, docstrings and annotations; and `form`, its normal form."""

    text: str
    form: str


@dataclass(frozen=True)
class Agreement:
    """Two answers to one task: which share of their bits both have, and whether their normal forms are equal."""

    exercise: str
    function: str
    share: float
    equal: bool


@dataclass(frozen=True)
class Pair:
    """Two submissions, how many bits they share, and the functions in which they agree."""

    first: str
    second: str
    bits: float
    agreements: tuple[Agreement, ...]


@dataclass(frozen=True)
class Comparison:
    """The pairs from `threshold` on, most alike first; the bits of the next pair below; whose code was not readable."""

    submissions: int
    threshold: float
    pairs: tuple[Pair, ...]
    next_bits: float
    unread: tuple[str, ...]


# ---------------------------------------------------------------- one function


def find_code(source: str, name: str) -> Code | None:
    """Return the last function (or class) `name` at the left margin of `source`, or None where none can be read.

    What stands around it need not be Python: a notebook has magics, and cells that are broken.

    >>> code = find_code("%time\\ndef f(x):\\n    twice = (2*x)  # done\\n    return twice\\n)(", "f")
    >>> print(code.form)
    def f(x):
        name_1 = 2 * x
        return name_1
    """
    source = source[:LONGEST_SOURCE]
    starts = [match.start() for match in re.finditer(rf"^(?:def|class) {name}\b", source, re.MULTILINE)]
    if not starts:
        return None
    piece = source[starts[-1] :][:LONGEST_FUNCTION]
    # The function ends where something else stands at the margin. A bracket or a text may stand there too: then go on.
    ends = [match.start() for match in re.finditer(r"^[^\s#]", piece, re.MULTILINE)][1:6]
    for end in [*ends, len(piece)]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(piece[:end])
            del tree.body[1:]
            _remove_texts(tree)
            text = ast.unparse(tree)
            _number_names(tree)
            return Code(text, ast.unparse(tree))
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # what a hostile text provokes
            continue
    return None


def _remove_texts(tree: ast.Module) -> None:
    """Remove docstrings and other texts that nobody reads, and annotations."""
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            texts = [each for each in body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)]
            node.body = [each for each in body if each not in texts] or [ast.Pass()]
        elif isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef):
            node.returns = None


def _number_names(tree: ast.Module) -> None:
    """Number all names but those of the parameters, which the statement gives, and of Python."""
    function = tree.body[0]
    field = {ast.Name: "id", ast.arg: "arg", ast.FunctionDef: "name"}
    named = [node for node in ast.walk(function) if type(node) in field and node is not function]
    parameters = {node.arg for node in ast.walk(getattr(function, "args", ast.Pass())) if isinstance(node, ast.arg)}
    own = {getattr(node, field[type(node)]) for node in named if not isinstance(getattr(node, "ctx", None), ast.Load)}
    kept = parameters | (set(dir(builtins)) - own)
    numbers: dict[str, str] = {}
    for node in named:
        if (name := getattr(node, field[type(node)])) not in kept:
            setattr(node, field[type(node)], numbers.setdefault(name, f"name_{len(numbers) + 1}"))


# ---------------------------------------------------------------- the class


def compare(records: list[Record], course: Catalogue) -> Comparison:
    """Compare every two submissions, function by function."""
    tasks = sorted({(finding.exercise, finding.function) for record in records for finding in record.findings})
    codes = {task: [find_code(record.source, task[1]) for record in records] for task in tasks}
    likeness = {task: _likeness(answers, _course_runs(course, *task)) for task, answers in codes.items()}
    every = np.triu_indices(len(records), 1)
    bits = sum((of_task[every] for _, of_task in likeness.values()), np.zeros(len(every[0])))
    threshold = _threshold([of_task[every] for _, of_task in likeness.values()], len(bits))
    listed = bits >= threshold
    pairs = []
    for first, second, shared in zip(*(each[listed] for each in (*every, bits)), strict=True):
        agreements = tuple(
            Agreement(*task, round(float(share[first, second]), 3), answers[first].form == answers[second].form)
            for (task, answers), (share, _) in zip(codes.items(), likeness.values(), strict=True)
            if share[first, second] >= ALIKE
        )
        names = records[first].submission, records[second].submission
        pairs.append(Pair(*names, round(float(shared), 1), agreements))
    return Comparison(
        submissions=len(records),
        threshold=threshold,
        pairs=tuple(sorted(pairs, key=lambda pair: (-pair.bits, pair.first, pair.second))),
        next_bits=round(float(bits[~listed].max(initial=0)), 1),
        unread=tuple(each.submission for each, *found in zip(records, *codes.values(), strict=True) if not any(found)),
    )


def _likeness(answers: list[Code | None], course: set[Run]) -> tuple[np.ndarray, np.ndarray]:
    """Return for every two answers to one task which share of their bits both have, and how many bits count."""
    runs = [_runs(answer.form) if answer else set() for answer in answers]
    writers = Counter(run for each in runs for run in each)
    beginners = Counter(beginning for each in runs for beginning in {run[:-1] for run in each})
    weights = {
        # The two who are compared are not evidence of what others write.
        run: -math.log2((max(count - 2, 0) + EXPECTED) / (max(beginners[run[:-1]] - 2, 0) + 1))
        for run, count in writers.items()
        if run not in course
    }
    own = np.array([sum(weights.get(run, 0.0) for run in sorted(each)) for each in runs])
    columns = {run: number for number, run in enumerate(sorted(run for run in weights if writers[run] > 1))}
    table = np.zeros((len(runs), len(columns)))
    for row, each in zip(table, runs, strict=True):
        for run in each & columns.keys():
            row[columns[run]] = math.sqrt(weights[run])
    both = table @ table.T
    either = own[:, None] + own[None, :] - both
    share = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    # Half alike is far less than half the evidence; and no function counts for more than that only these two wrote it.
    return share, np.minimum(share**2 * both, math.log2(max(1, sum(answer is not None for answer in answers))))


def _threshold(bits_of_tasks: list[np.ndarray], pairs: int) -> float:
    """Return from how many bits on chance would give CHANCE pairs, had each function been written by another pair."""
    likely = np.ones(1)  # of 0, 1, 2, ... steps
    for bits in bits_of_tasks:
        likely = np.convolve(likely, np.bincount(np.round(bits / STEP).astype(int), minlength=1) / max(1, pairs))
    expected = pairs * likely[::-1].cumsum()[::-1]
    return max(LEAST_THRESHOLD, STEP * int((expected > CHANCE).sum()))


def _runs(form: str) -> set[Run]:
    """Cut a normal form into all its runs of RUN tokens; within each, names are numbered anew.

    A variable more at the start then changes the runs around it and leaves the rest.
    """
    tokens = re.findall(r"\w+|[^\w\s]", form)
    runs = set()
    for start in range(len(tokens) - RUN + 1):
        run = tokens[start : start + RUN]
        names = list(dict.fromkeys(token for token in run if token.startswith("name_")))
        runs.add(tuple(f"name_{names.index(token)}" if token in names else token for token in run))
    return runs


def _course_runs(course: Catalogue, exercise: str, function: str) -> set[Run]:
    """Return the runs that the course itself wrote: in the worked answer, and in a stub."""
    try:
        worked = find_code(course.answers(exercise[:2]).source(function), function)
    except (CourseError, ValueError):  # the catalogue no longer has this exercise
        return set()
    signature, _, _ = worked.form.partition("\n")
    return _runs(worked.form) | _runs(f"{signature}\n    raise NotImplementedError")


# ---------------------------------------------------------------- the shell


def similarity(folder: Path, as_json: bool = False) -> None:
    """Print the pairs of submissions in a folder of grades that are unusually alike, as a table or as JSON."""
    from course_lib.grading.gradebook import Gradebook

    with Gradebook.open(folder / "gradebook.sqlite") as gradebook:
        comparison = compare(gradebook.records(), catalogue(gradebook.facts.get("catalogue", OWN)))
    if as_json:
        print(json.dumps(asdict(comparison), indent=2))
    else:
        show(comparison)


def show(comparison: Comparison) -> None:
    """Print a table for a person to read."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=False)
    if comparison.pairs:
        table = Table("submission", "and submission", "bits", "functions that agree", title_justify="left")
        for pair in comparison.pairs:
            agreements = ", ".join(
                each.function if each.equal else f"{each.function} ({each.share:.0%})" for each in pair.agreements
            )
            cells = pair.first, pair.second, f"{pair.bits:.1f}", agreements or "none as a whole"
            # Names come from outside: no markup, and nothing that a terminal would obey.
            table.add_row(*(Text("".join(c if c.isprintable() else "\ufffd" for c in cell)) for cell in cells))
        console.print(table)
    found = f"{len(comparison.pairs)} pairs" if len(comparison.pairs) != 1 else "1 pair"
    console.print(
        f"{comparison.submissions} submissions compared; {found} from {comparison.threshold:g} bits on, which is more "
        f"than chance gives in a class like this one; the next pair has {comparison.next_bits:g}."
    )
    if comparison.pairs:
        console.print(
            "A name without a percentage: equal but for names, comments and layout. Read both before you conclude "
            "anything: work in a group that was allowed, a common source and chance make answers alike as well, and "
            "nothing here says who wrote first."
        )
    if comparison.unread:
        console.print(f"Not compared, since no answer could be read: {len(comparison.unread)} (--json names them).")
