"""What each student gets back: a page and a text, with points, what was found, and the mistake explained.

They are made of the gradebook alone. What a student wrote is hostile until it is escaped: the page is a Jinja template
that escapes all it shows, and the text has been cleaned of what a terminal obeys when it was graded.
"""

import io
import textwrap
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.catalogue import OWN, Catalogue, catalogue
from course_lib.grading.exports import file_name
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.judgements import comment_in_words, in_words
from course_lib.grading.records import Finding, Judgement, Record
from course_lib.grading.reports import templates
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

FOLDER, ARCHIVE = "feedback", "feedback.zip"
WIDTH = 88


@dataclass(frozen=True)
class Part:
    """One exercise of a submission: its points, the explanations of mistakes, and the findings."""

    exercise: str
    title: str
    findings: tuple[Finding, ...]
    comments: tuple[Judgement, ...] = ()  # of a person, on the whole exercise

    @property
    def earned(self) -> int:
        """The points that were earned."""
        return sum(each.earned for each in self.findings)

    @property
    def points(self) -> int:
        """The points that could be earned."""
        return sum(each.points for each in self.findings)

    @property
    def explanations(self) -> list[str]:
        """What known mistakes are told, each once, with the function where there are several."""
        several = len({each.function for each in self.findings}) > 1
        told = (
            (f"{each.function}: " if several else "") + each.explanation
            for each in self.findings
            if each.mistake and each.failed
        )
        return list(dict.fromkeys(told))


def feedback(folder: Path) -> Path:
    """Write feedback/NAME.html and NAME.txt for each submission in a folder of grades, and all into feedback.zip.

    Returns the folder of the pages; raises CourseError where there is no gradebook.
    """
    from course_lib.grading.grade_command import GRADEBOOK

    with Gradebook.open(folder / GRADEBOOK) as gradebook:
        records, course = gradebook.records(), catalogue(gradebook.facts.get("catalogue", OWN))
    files = {}
    for record in records:
        parts = list(_parts(record, course))
        files[f"{file_name(record.submission)}.html"] = as_page(record, parts)
        files[f"{file_name(record.submission)}.txt"] = as_text(record, parts)
    target, archive = folder / FOLDER, io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            write_atomically(target / name, content)
            # Without a date: the same grades give the same archive.
            packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    for path in target.glob("*.*"):
        if path.name not in files:  # of a submission that is no longer there
            path.unlink()
    write_atomically(folder / ARCHIVE, archive.getvalue())
    return target


def as_text(record: Record, parts: list[Part]) -> str:
    """Return the feedback on one submission as text, no line longer than 88 characters."""
    lines = [_points(record)]
    for told in filter(None, [record.reason, *map(comment_in_words, _of_whole(record))]):
        lines += textwrap.wrap(told, WIDTH)
    for part in parts:
        lines += ["", f"{part.exercise}  {part.title}  {part.earned}/{part.points}"]
        for explanation in part.explanations:
            lines += textwrap.wrap(explanation, WIDTH, initial_indent="  ", subsequent_indent="  ")
        for comment in part.comments:
            lines += textwrap.wrap(comment_in_words(comment), WIDTH, initial_indent="  ", subsequent_indent="  ")
        for each in part.findings:
            lines.append(f"  {'FAIL' if each.failed else 'ok':<5} {each.earned}/{each.points}  {each.property}")
            for told in (each.problem, in_words(each)):
                lines += textwrap.wrap(told, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return "\n".join(lines) + "\n"


def as_page(record: Record, parts: list[Part]) -> str:
    """Return the feedback on one submission as a page that asks nobody for anything."""
    environment = templates.environment()
    environment.filters |= {"in_words": in_words, "comment_in_words": comment_in_words}
    page = environment.get_template("feedback.html")
    return page.render(record=record, parts=parts, points=_points(record), comments=_of_whole(record))


def _of_whole(record: Record) -> list[Judgement]:
    return [each for each in record.comments if not each.exercise]


def _points(record: Record) -> str:
    name = shorten(record.submission, 120)
    if record.earned is None:
        return f"{name}: not graded yet"
    return f"{name}: {record.earned} of {record.points} points"


def _parts(record: Record, course: Catalogue) -> Iterator[Part]:
    for exercise, findings in groupby(record.findings, key=attrgetter("exercise")):
        try:
            title = course.find(exercise).title
        except CourseError:  # of another edition of the course
            title = ""
        comments = tuple(each for each in record.comments if each.exercise == exercise)
        yield Part(exercise, title, tuple(findings), comments)
