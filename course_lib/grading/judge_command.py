"""`course judge`: a person's points and comments beside those of the machine."""

import getpass
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import typer

from course_lib.grading import exports
from course_lib.grading.grade_command import GRADEBOOK
from course_lib.grading.grade_said import printable
from course_lib.grading.gradebook import Gradebook, storable
from course_lib.grading.judgements import comment_in_words, in_points, in_words, outdated_in_words
from course_lib.grading.nearest import did_you_mean
from course_lib.grading.records import Finding, Judgement, Record, numbered
from course_lib.grading.reports.class_report import PAGE
from course_lib.grading.reports.feedback import FOLDER
from course_lib.grading.wording import shorten
from course_lib.project import CourseError

NUMBER = re.compile(r"(\d{1,2})\.(\d+)(?:\.(\d+))?")
LONGEST_COMMENT, LONGEST_NAME = 2000, 100  # characters


@dataclass(frozen=True)
class Place:
    """What a judgement is about, and the finding where it is a property that is there."""

    place: tuple[str, str, str]
    finding: Finding | None = None

    @property
    def words(self) -> str:
        """The place as a person says it."""
        exercise, function, property = self.place
        return f"{exercise} {function}, {property!r}" if property else exercise or "the whole submission"


def judge(
    grades: Path,
    submission: str | None = None,
    exercise: str | None = None,
    property: str | None = None,
    points: int | None = None,
    comment: str | None = None,
    by: str | None = None,
    withdraw: bool = False,
) -> int:
    """Keep what a person decides about a submission, take it back, or, with neither, print what there is; return 0.

    `exercise` may be the number of a property, such as 02.3.2. What is not named of an earlier judgement stays as it
    was. Raises CourseError for names that there are not, and for points that the property does not have.
    """
    with Gradebook.open(grades / GRADEBOOK) as gradebook:
        if submission is None:
            _list_all(gradebook)
            return 0
        record = _find_submission(gradebook, submission)
        place = _find_place(record, exercise, property)
        earlier = next((each for each in record.judgements if each.place == place.place), None)
        if withdraw and (points is not None or comment is not None):
            raise CourseError("--withdraw takes a judgement back: leave out --points and --comment")
        if withdraw:
            if earlier is None:
                raise CourseError(f"nobody has judged {place.words} of {record.submission} by hand")
            gradebook.withdraw(record.submission, place.place)
            typer.echo(f"taken back: {_said(earlier)}")
        elif points is None and comment is None:
            _show(record, place)
            return 0
        else:
            gradebook.judge(record.submission, _decided(place, earlier, points, comment, by))
        for each in _records(gradebook):  # a submission that is gone, and of which nothing is left, is not among them
            if each.submission == record.submission:
                _show(each, place)
        written = exports.export(gradebook, grades, exports.present(grades))
    typer.echo(f"written: {', '.join(map(str, [grades / GRADEBOOK, *written]))}")
    commands = {PAGE: "course report", FOLDER: "course feedback"}
    older = [f"{grades / name} ({command} {grades})" for name, command in commands.items() if (grades / name).exists()]
    if older:
        typer.echo(f"still without it, until it is made again: {', '.join(older)}")
    return 0


def _decided(
    place: Place, earlier: Judgement | None, points: int | None, comment: str | None, by: str | None
) -> Judgement:
    """Return the judgement; raises CourseError for one that cannot be."""
    finding = place.finding
    if points is not None and finding is None:
        there = "this property is no longer there" if place.place[2] else "name one, such as 02.3.2"
        raise CourseError(f"points are given for a property: {there}; a comment can be for a whole exercise")
    if points is not None and not 0 <= points <= finding.points:
        raise CourseError(f"{place.words} has 0 to {finding.points} points, not {points}")
    name = _login() if by is None else by
    for what, said, longest in (("comment", comment, LONGEST_COMMENT), ("name", name, LONGEST_NAME)):
        if said is not None and not said.strip():
            raise CourseError(f"the {what} is empty; --withdraw takes a judgement back")
        if said is not None and len(said) > longest:
            raise CourseError(f"the {what} has {len(said)} characters, and {longest} are the most")
    if earlier is not None:
        points = earlier.points if points is None else points
        comment = earlier.comment if comment is None else comment
    at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    clean = shorten(comment or "", LONGEST_COMMENT)  # on one line, and nothing that a terminal obeys
    return Judgement(*place.place, points, clean, shorten(name, LONGEST_NAME), at)


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:  # a container without a list of users
        raise CourseError("say who judges with --by") from error


# ---------------------------------------------------------------- what is meant


def _find_submission(gradebook: Gradebook, name: str) -> Record:
    """Return the record of a submission, also of one that is gone but was judged; raises CourseError."""
    records = {each.submission: each for each in _records(gradebook)}
    wanted = storable(name)
    if wanted in records:
        return records[wanted]
    without_kind = [each for each in records if re.fullmatch(rf"{re.escape(wanted)}\.(ipynb|py)", each)]
    if len(without_kind) == 1:
        return records[without_kind[0]]
    raise CourseError(f"there is no submission {name!r} in {gradebook.path}{did_you_mean(wanted, records)}")


def _records(gradebook: Gradebook) -> list[Record]:
    records, by_hand = gradebook.records(), gradebook.judgements()
    gone = sorted(by_hand.keys() - {each.submission for each in records})
    return records + [Record(name, "", "gone", "", (), judgements=tuple(by_hand[name])) for name in gone]


def _find_place(record: Record, exercise: str | None, property: str | None) -> Place:
    """Return what an exercise or the number of a property, and the name of a property, mean in a record."""
    if exercise is None:
        return Place(("", "", ""))
    found = NUMBER.fullmatch(exercise)
    if not found:
        raise CourseError(f"{exercise!r} is no exercise: write 02.3 for an exercise, or 02.3.2 for its second property")
    id, place_of_property = f"{found[1].zfill(2)}.{int(found[2])}", found[3]
    there = [each for each in numbered(record.findings) if each[1].exercise == id]
    if not there and not any(each.exercise == id for each in record.judgements):
        known = dict.fromkeys(each.exercise for each in record.findings)
        raise CourseError(f"{record.submission} has no points for exercise {id}{did_you_mean(id, known)}")
    if place_of_property is not None:
        if property is not None:
            raise CourseError(f"{exercise} is a property already: leave out {property!r}")
        return _by_number(there, f"{id}.{int(place_of_property)}")
    return Place((id, "", "")) if property is None else _by_name(record, id, there, property)


def _by_number(there: list[tuple[str, Finding]], number: str) -> Place:
    for each, finding in there:
        if each == number:
            return Place((finding.exercise, finding.function, finding.property), finding)
    last = f"; its properties are {there[0][0]} to {there[-1][0]}" if there else ""
    raise CourseError(f"there is no property {number}{last}")


def _by_name(record: Record, exercise: str, there: list[tuple[str, Finding]], property: str) -> Place:
    named = [(number, finding) for number, finding in there if finding.property == property]
    if len(named) > 1:
        numbers = " or ".join(number for number, _ in named)
        raise CourseError(f"several functions of {exercise} have a property {property!r}: name it as {numbers}")
    if named:
        return _by_number(there, named[0][0])
    for each in record.outdated:
        if (each.exercise, each.property) == (exercise, property):
            return Place(each.place)
    raise CourseError(
        f"{exercise} has no property {property!r}{did_you_mean(property, (finding.property for _, finding in there))}"
    )


# ---------------------------------------------------------------- what is said


def _list_all(gradebook: Gradebook) -> None:
    lines = 0
    for record in _records(gradebook):
        if record.judgements:
            typer.echo(f"{printable(record.submission)}{': no longer there' if record.status == 'gone' else ''}")
            for line in _by_hand(record):
                typer.echo(f"  {line}")
                lines += 1
    typer.echo(f"judged by hand: {lines}" if lines else f"nothing in {gradebook.path} is judged by hand")


def _by_hand(record: Record) -> list[str]:
    of_findings = [
        f"{finding.judgement.at}  {number}  {finding.property}: {in_words(finding)}"
        for number, finding in numbered(record.findings)
        if finding.judgement
    ]
    comments = [f"{each.at}  {comment_in_words(each)}" for each in record.comments]
    return [*of_findings, *comments, *(f"{each.at}  {outdated_in_words(each)}" for each in record.outdated)]


def _show(record: Record, place: Place) -> None:
    """Print the points of a submission, of an exercise or of a property, with the numbers by which they are judged."""
    exercise, _, property = place.place
    points = "not graded" if record.earned is None else f"{record.earned} of {record.points} points"
    typer.echo(f"{printable(record.submission)}: {points}")
    for number, finding in numbered(record.findings):
        own = (finding.exercise, finding.function, finding.property)
        if not exercise or own == place.place or (not property and finding.exercise == exercise):
            typer.echo(f"  {number}  {finding.earned}/{finding.points}  {finding.property}")
            for said in filter(None, [finding.problem, in_words(finding)]):
                typer.echo(f"      {said}")
    for each in record.comments:
        if not exercise or each.exercise == exercise:
            typer.echo(f"  {comment_in_words(each)}")
    for each in record.outdated:
        typer.echo(f"  {outdated_in_words(each)}")


def _said(judgement: Judgement) -> str:
    points = "" if judgement.points is None else in_points(judgement.points)
    return ", ".join(filter(None, [points, judgement.comment and f"{judgement.comment!r}", judgement.by]))
