"""One page about the class, to look at before the next lecture: its mistakes, and where points were lost.

The page is one file that asks nobody for anything. What students wrote is hostile until it is escaped, which Jinja does
with all that the template shows; their code is shown without comments, texts and names of their own.
"""

import builtins
import keyword
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import torch
from markupsafe import Markup

from course_lib.grading.catalogue import OWN, Catalogue, catalogue
from course_lib.grading.exercise import Task
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.judgements import comment_in_words, in_words
from course_lib.grading.matching import ROSTER, late, make_class
from course_lib.grading.records import GRADED, Finding, Record, numbered
from course_lib.grading.reports import eye, templates
from course_lib.grading.reports.similarity import LONGEST_SOURCE, find_code
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

PAGE = "class_report.html"
WORD = re.compile(r"\b[^\W\d]\w*")
# A word in an example is shown when it is Python's or torch's, or when so many students use it that it betrays none.
PUBLIC = {"torch", "einops", "rearrange", "reduce", "repeat", *keyword.kwlist, *dir(builtins)}
PUBLIC.update(*map(dir, (torch, torch.Tensor, torch.nn, torch.nn.functional)))
SHARED_BY = 3
LONGEST_EXAMPLE, WIDEST_EXAMPLE = 30, 100  # lines, characters

NOT_WRITTEN = ("unwritten", "missing")  # the kinds of problem of an answer that is not there
CONSEQUENCE = "later"  # that of a property that fails because others do
MOST_UNNAMED = 10
LEAST_UNNAMED = 0.1  # of the class
LONGEST_PROBLEM = 200  # characters


@dataclass(frozen=True)
class Example:
    """How most of those concerned wrote a function: how many wrote it so, and the code without names."""

    students: int
    code: str


@dataclass(frozen=True)
class Held:
    """A known mistake, or a property that fails without one: how many students it concerns, and what to say of it."""

    exercise: str
    title: str
    function: str
    name: str  # of the mistake, or of the property
    sentence: str  # of the exercise, or the problem that most of them got
    students: int
    example: Example | None
    chapter: str
    page: str  # the address of the chapter


@dataclass(frozen=True)
class Cell:
    """The points of one student in one exercise, and what went wrong."""

    earned: int
    points: int
    remark: str
    by_hand: bool = False  # whether a person judged one of its properties

    @property
    def step(self) -> int:
        """Return the colour: 0 for no points, 1 below a half, 2 below three quarters, 3 below all, 4 for all.

        >>> [Cell(earned, 4, "").step for earned in range(5)]
        [0, 1, 2, 3, 4]
        """
        return 1 + sum(self.earned >= share * self.points for share in (0.5, 0.75, 1)) if self.earned else 0


def report(folder: Path, book: str = "") -> Path:
    """Write class_report.html into a folder of grades and return its path; `book` is the address of the book."""
    from course_lib.grading.grade_command import GRADEBOOK

    path = folder / PAGE
    with Gradebook.open(folder / GRADEBOOK) as gradebook:
        write_report(gradebook.records(), gradebook.facts, path, book)
    return path


def write_report(records: list[Record], facts: Mapping[str, str], path: Path, book: str = "") -> None:
    """Write the page; without an address of the book, its links lead to pages in the same folder."""
    environment = templates.environment()
    environment.filters |= {"marked": marked, "shorten": shorten}
    exercises = list(dict.fromkeys(finding.exercise for record in records for finding in record.findings))
    known, words = _words_of_many(records), Words(catalogue(facts.get("catalogue", OWN)), book)
    seen = eye.looks(records, facts, path.parent.resolve())
    marks = [record.earned for record in records if record.earned is not None]
    page = environment.get_template(Path(__file__).with_suffix(".html").name).render(
        records=records,
        facts=sorted((name, value) for name, value in facts.items() if name != ROSTER),
        exercises={exercise: words.title(exercise) for exercise in exercises},
        rows=[(record, _cells(record)) for record in records],
        whole=_cells(Record("", "", "", "", tuple(finding for record in records for finding in record.findings))),
        median=statistics.median(marks) if marks else 0,
        points=max((record.points for record in records), default=0),
        distribution=distribution(records),
        mistakes=mistakes(records, known, words),
        unnamed=unnamed(records, known, words),
        not_written=_not_written(records),
        ungraded=[record for record in records if record.status != GRADED],
        late={record.submission for record in records if late(record)},
        graded=make_class(records, facts),
        looks={eye.TITLES[kind]: list(each) for kind, each in groupby(seen, attrgetter("kind"))},
        by_hand=[(record, told) for record in records if (told := _by_hand(record))],
    )
    path.write_text(page, encoding="utf-8")


# ---------------------------------------------------------------- what the class believes


def mistakes(records: list[Record], known: set[str], words: "Words") -> list[Held]:
    """Return the known mistakes that the class makes, most frequent first."""
    holders: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        told = (each for each in record.findings if each.mistake and each.failed)
        named = ((each.exercise, each.function, each.mistake) for each in told)
        for key in dict.fromkeys(named):
            holders[key].append(record)
    found = [
        Held(
            exercise,
            words.title(exercise),
            function,
            name,
            words.sentence(exercise, function, name),
            len(concerned),
            _example(concerned, function, known, words.task(exercise, function)),
            *words.chapter(exercise),
        )
        for (exercise, function, name), concerned in holders.items()
    ]
    return sorted(found, key=lambda each: (-each.students, each.exercise, each.function, each.name))


def unnamed(records: list[Record], known: set[str], words: "Words") -> list[Held]:
    """Return the properties that many students fail without a known mistake, most frequent first."""
    concerned: dict[tuple[str, str, str], list[tuple[Record, Finding]]] = defaultdict(list)
    for record in records:
        for finding in record.findings:
            beside_the_point = finding.mistake or finding.kind in (*NOT_WRITTEN, CONSEQUENCE)
            if record.status == GRADED and finding.problem and finding.failed and not beside_the_point:
                concerned[finding.exercise, finding.function, finding.property].append((record, finding))
    found = [
        Held(
            exercise,
            words.title(exercise),
            function,
            property,
            shorten(_commonest(finding.problem for _, finding in failures), LONGEST_PROBLEM),
            len(failures),
            _example([record for record, _ in failures], function, known, words.task(exercise, function)),
            *words.chapter(exercise),
        )
        for (exercise, function, property), failures in concerned.items()
        if len(failures) >= max(2, LEAST_UNNAMED * len(records))
    ]
    return sorted(found, key=lambda each: (-each.students, each.exercise, each.function, each.name))[:MOST_UNNAMED]


def _not_written(records: list[Record]) -> dict[str, int]:
    """Return how many students did not write an exercise, for each that somebody did not write."""
    left_out = (
        exercise
        for record in records
        for exercise in {each.exercise for each in record.findings if each.kind in NOT_WRITTEN}
    )
    return dict(sorted(Counter(left_out).items()))


def _example(concerned: list[Record], function: str, known: set[str], task: Task | None) -> Example | None:
    """Return the code in the form in which most of them wrote it; among equals, the shortest."""
    codes = [code for record in concerned if (code := find_code(record.source, function))]
    if not codes:
        return None
    frequency = Counter(code.form for code in codes)
    shown = min(codes, key=lambda code: (-frequency[code.form], len(code.text), code.text))
    of_the_statement = {function, *(task.parameters if task else ())}
    return Example(frequency[shown.form], anonymous(shown.text, known | of_the_statement))


def anonymous(code: str, known: set[str] = frozenset()) -> str:
    """Return code in which each word is replaced that is neither public, nor `known`, nor shorter than three letters.

    >>> anonymous("annas_mean = values.sum(1) / annas_count", {"values"})
    'word_1 = values.sum(1) / word_2'
    """
    others: dict[str, str] = {}

    def shown(match: re.Match) -> str:
        word = match[0]
        if len(word) < 3 or word in PUBLIC or word in known:
            return word
        return others.setdefault(word, f"word_{len(others) + 1}")

    lines = WORD.sub(shown, code).splitlines()
    cut = [line if len(line) <= WIDEST_EXAMPLE else f"{line[: WIDEST_EXAMPLE - 1]}…" for line in lines]
    return "\n".join(cut if len(cut) <= LONGEST_EXAMPLE else [*cut[: LONGEST_EXAMPLE - 1], "…"])


def _words_of_many(records: list[Record]) -> set[str]:
    used = Counter(word for record in records for word in set(WORD.findall(record.source[:LONGEST_SOURCE])))
    return {word for word, count in used.items() if count >= SHARED_BY}


def _commonest(texts: Iterable[str]) -> str:
    frequency = Counter(texts)
    return min(frequency, key=lambda text: (-frequency[text], text))


# ---------------------------------------------------------------- what the exercises and the book say


@dataclass(frozen=True)
class Words:
    """What a catalogue says of its exercises, as far as it still has them, and the pages of a book about them."""

    course: Catalogue
    book: str

    def task(self, exercise: str, function: str) -> Task | None:
        """Return the task; None where the catalogue no longer has it."""
        try:
            return next((task for task in self.course.find(exercise).tasks if task.function == function), None)
        except CourseError:
            return None

    def title(self, exercise: str) -> str:
        """Return the title of an exercise, or nothing."""
        try:
            return self.course.find(exercise).title
        except CourseError:
            return ""

    def sentence(self, exercise: str, function: str, name: str) -> str:
        """Return what the exercise says of a mistake."""
        task = self.task(exercise, function)
        sentence = next((each.sentence for each in task.mistakes if each.name == name), "") if task else ""
        return sentence[:1].upper() + sentence[1:]

    def chapter(self, exercise: str) -> tuple[str, str]:
        """Return name and address of the chapter: pages of chapters have the names of those of the worked answers."""
        try:
            stem = self.course.page(exercise[:2]).stem
        except CourseError:
            return "", ""
        page = f"{self.book.rstrip('/')}/book/{stem}.html" if self.book else f"{stem}.html"
        return stem[3:].replace("_", " ").capitalize(), page


# ---------------------------------------------------------------- points


def _cells(record: Record) -> dict[str, Cell]:
    """Return the points in each exercise."""
    cells = {}
    of_exercise = attrgetter("exercise")
    for exercise, findings in groupby(sorted(record.findings, key=of_exercise), of_exercise):
        findings = list(findings)
        mistakes = dict.fromkeys(each.mistake or each.property for each in findings if each.failed)
        by_hand = [f"{each.property}: {in_words(each)}" for each in findings if each.judgement]
        earned, points = (sum(getattr(each, name) for each in findings) for name in ("earned", "points"))
        cells[exercise] = Cell(earned, points, "; ".join([*mistakes, *by_hand]), bool(by_hand))
    return cells


def _by_hand(record: Record) -> list[str]:
    """Return what persons decided about a submission, as far as it applies."""
    told = [
        f"{number} {each.property}, {in_words(each)}" for number, each in numbered(record.findings) if each.judgement
    ]
    return told + [comment_in_words(each) for each in record.comments]


def distribution(records: list[Record]) -> list[tuple[str, int]]:
    """Return how many have which share of their points, by tenths; all points stand alone.

    >>> records = [Record("", "", GRADED, "", (Finding("", "", "", earned, 20),)) for earned in (0, 1, 19, 20)]
    >>> distribution(records)[0], distribution(records)[9:]
    (('0–9', 2), [('90–99', 1), ('100', 1)])
    """
    counts = Counter(10 * record.earned // record.points for record in records if record.points)
    names = [f"{10 * tenth}–{10 * tenth + 9}" for tenth in range(10)] + ["100"]
    return [(name, counts[tenth]) for tenth, name in enumerate(names)]


def marked(text: str) -> Markup:
    """Return text with what stands in backticks as code, everything escaped.

    >>> marked("`a<b` is"), marked("one ` only")
    (Markup('<code>a&lt;b</code> is'), Markup('one ` only'))
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one backtick has no partner
        return Markup.escape(text)
    return Markup().join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))
