"""Judgement by hand beside the machine's: kept apart, put together when something is shown."""

from collections.abc import Iterable
from dataclasses import replace

from course_lib.grading.records import Finding, Judgement, Record, numbered


def judged(record: Record, judgements: Iterable[Judgement]) -> Record:
    """Return the record as it counts: a person's points take the place of the machine's, which are still told.

    >>> finding = Finding("02.3", "attend", "the values", 0, 2, "value", "got 1, expected 2")
    >>> hand = Judgement("02.3", "attend", "the values", 2, "the shape was our mistake", "Ada", "2026-11-03 14:05 UTC")
    >>> shown = judged(Record("ann", "", "graded", "", (finding,)), [hand])
    >>> shown.earned, in_words(shown.findings[0])
    (2, 'by hand: 2 of 2 points, not 0 (Ada): the shape was our mistake')
    """
    judgements = tuple(judgements)
    at = {each.place: each for each in judgements}
    findings = (_judged(each, at.get((each.exercise, each.function, each.property))) for each in record.findings)
    return replace(record, findings=tuple(findings), judgements=judgements)


def _judged(finding: Finding, judgement: Judgement | None) -> Finding:
    if judgement is None or not applies(judgement, finding):
        return finding
    if judgement.points is None:
        return replace(finding, judgement=judgement)
    return replace(finding, judgement=judgement, earned=judgement.points, machine=finding.earned)


def applies(judgement: Judgement, finding: Finding) -> bool:
    """Tell whether a property may have the points that a person gave it: an exercise can be mended in between."""
    return judgement.points is None or judgement.points <= finding.points


def in_words(finding: Finding) -> str:
    """Return what a person decided about this finding, in one line; nothing where nobody did."""
    given = finding.judgement
    if given is None:
        return ""
    if finding.machine is None:
        return f"comment by hand ({given.by}): {given.comment}"
    than = f", not {finding.machine}" if finding.machine != finding.earned else ", as the machine gave"
    said = f": {given.comment}" if given.comment else ""
    return f"by hand: {finding.earned} of {in_points(finding.points)}{than} ({given.by}){said}"


def comment_in_words(comment: Judgement) -> str:
    """Return what a person said of an exercise or of the whole submission."""
    return f"{comment.exercise or 'the submission'}, by hand ({comment.by}): {comment.comment}"


def in_points(points: int) -> str:
    """Return a number of points in words.

    >>> in_points(1), in_points(2)
    ('1 point', '2 points')
    """
    return f"{points} point" if points == 1 else f"{points} points"


def outdated_in_words(judgement: Judgement) -> str:
    """Return a judgement for which there is no property any more."""
    points = "" if judgement.points is None else f", {in_points(judgement.points)}"
    said = f": {judgement.comment}" if judgement.comment else ""
    place = f"{judgement.exercise} {judgement.function}, {judgement.property!r}"
    return f"no longer applies: {place}{points} ({judgement.by}){said}"


def by_hand(record: Record) -> str:
    """Return all that persons decided about a submission, each with the number of its property."""
    told = [f"{number}: {in_words(finding)}" for number, finding in numbered(record.findings) if finding.judgement]
    return "; ".join([*told, *map(comment_in_words, record.comments), *map(outdated_in_words, record.outdated)])


def for_programs(finding: Finding) -> dict:
    """Return what a person decided about a finding, fit for JSON; nothing where nobody did."""
    if finding.judgement is None:
        return {}
    machine = finding.earned if finding.machine is None else finding.machine
    given = finding.judgement
    return {"by_hand": {"score_of_machine": machine, "comment": given.comment, "by": given.by, "at": given.at}}
