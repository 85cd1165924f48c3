"""The files that are written from a gradebook: for a spreadsheet, for programs, for Gradescope, for a test viewer.

The same gradebook gives the same bytes: no times, no names of machines, everything sorted. A file appears whole or
not at all.
"""

import csv
import hashlib
import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from course_lib.files import PART, write_atomically
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.judgements import comment_in_words, in_words, outdated_in_words
from course_lib.grading.records import GRADED, UNGRADED, Finding, Record, numbered
from course_lib.project import CourseError

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # a spreadsheet executes a cell that begins with one of these
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The names that are the same on every system: short, in lower case, and none that Windows keeps for its devices.
PLAIN_NAME = re.compile(r"(?!(con|prn|aux|nul|com\d|lpt\d)(\.|$))[a-z0-9][a-z0-9._-]{0,99}")


def export(gradebook: Gradebook, folder: Path, formats: Iterable[str]) -> list[Path]:
    """Write the files of these formats into `folder` and return them; raises CourseError for an unknown format."""
    chosen = [FORMATS[each] for each in known(formats)]
    records = gradebook.records()
    for part in folder.rglob(f".*{PART}"):  # of sittings that were killed
        part.unlink()
    for name, write in chosen:
        write(records, folder / name)
    return [folder / name for name, _ in chosen]


def known(formats: Iterable[str]) -> list[str]:
    """Return each format once, in the order of `FORMATS`; raises CourseError for one that is not there.

    >>> known(["jsonl", "csv", "csv"])
    ['csv', 'jsonl']
    """
    asked = set(formats)
    if unknown := sorted(asked - FORMATS.keys()):
        raise CourseError(f"there is no format {unknown[0]!r} (formats: {', '.join(FORMATS)})")
    return [each for each in FORMATS if each in asked]


def present(folder: Path) -> list[str]:
    """Return the formats that have been written into `folder` before."""
    return [each for each, (name, _) in FORMATS.items() if (folder / name).exists()]


def gradescope_results(record: Record, execution_time: float | None = None) -> dict:
    """Return the contents of Gradescope's results.json; `execution_time` in seconds."""
    results = {
        **({} if record.earned is None else {"score": record.earned}),  # without one, Gradescope says that it failed
        "output": "\n".join(filter(None, [record.reason, *map(comment_in_words, record.comments)])),
        "visibility": "visible",
        "stdout_visibility": "hidden",  # what the grader prints is not for students
        "extra_data": {"submission": record.submission, "digest": record.digest, "status": record.status},
        "tests": [
            {
                "score": finding.earned,
                "max_score": finding.points,
                "status": "failed" if finding.failed else "passed",
                "name": f"{finding.function}: {finding.property}",
                "number": number,
                "output": _explanation(finding),
                "output_format": "text",  # never HTML or Markdown: the words may be the student's
                "tags": [finding.exercise, *filter(None, [finding.mistake])],
                "visibility": "visible",
            }
            for number, finding in numbered(record.findings)
        ],
    }
    return results if execution_time is None else results | {"execution_time": execution_time}


def file_name(submission: str) -> str:
    """Return a name for a file that no other submission gets, on any system; without the ending.

    >>> file_name("lee_ann.ipynb"), file_name("../Lee Ann")
    ('lee_ann.ipynb', '___Lee_Ann@dd1445b866cf2cd5')
    """
    if PLAIN_NAME.fullmatch(submission):
        return submission
    digest = hashlib.sha256(submission.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{re.sub('[^A-Za-z0-9_-]', '_', submission[:60])}@{digest}"  # no plain name has an @


def _write_csv(records: list[Record], path: Path) -> None:
    exercises = list(dict.fromkeys(finding.exercise for record in records for finding in record.findings))
    text = io.StringIO(newline="")
    table = csv.writer(text)
    # "exercise_02.3", since a spreadsheet makes the number 2.3 of "02.3".
    columns = ["submission", "score", "max_score", "status", "reason"]
    by_hand = ["by_hand"] if any(record.judgements for record in records) else []
    table.writerow([*columns, *(f"exercise_{each}" for each in exercises), *by_hand])
    for record in records:
        points = Counter()
        for finding in record.findings:
            points[finding.exercise] += finding.earned
        graded = record.earned is not None  # an empty cell is no mark, and 0 would be one
        score = (record.earned, record.points) if graded else ("", "")
        row = [cell(record.submission), *score, record.status, cell(record.reason)]
        row += [points[each] if graded else "" for each in exercises]
        table.writerow([*row, *(cell(_by_hand(record)) for _ in by_hand)])
    write_atomically(path, text.getvalue())


def _write_jsonl(records: list[Record], path: Path) -> None:
    rows = [
        {
            "submission": record.submission,
            "digest": record.digest,
            "score": record.earned,
            "max_score": None if record.earned is None else record.points,
            "status": record.status,
            "reason": record.reason,
            "tests": [
                {
                    "exercise": finding.exercise,
                    "function": finding.function,
                    "name": finding.property,
                    "score": finding.earned,
                    "max_score": finding.points,
                    "kind": finding.kind,
                    "output": finding.problem,
                    "mistake": finding.mistake,
                    "explanation": finding.explanation,
                    **_judgement(finding),
                }
                for finding in record.findings
            ],
            **({"by_hand": _by_hand(record)} if record.judgements else {}),
        }
        for record in records
    ]
    write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows))


def _write_gradescope(records: list[Record], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    contents = {folder / f"{file_name(record.submission)}.json": gradescope_results(record) for record in records}
    for path, results in contents.items():
        write_atomically(path, json.dumps(results, indent=2) + "\n")
    for path in folder.glob("*.json"):
        if path not in contents:  # of a submission that is no longer there
            path.unlink()


def _write_junit(records: list[Record], path: Path) -> None:
    suites = ElementTree.Element("testsuites")
    for record in records:
        failed = sum(finding.failed for finding in record.findings)
        ungraded = int(record.status == UNGRADED)
        counts = {"tests": len(record.findings) + ungraded, "failures": failed, "errors": ungraded}
        suite = _element(suites, "testsuite", name=record.submission, **counts)
        told = {} if record.status == GRADED else {"status": record.status, "reason": record.reason}
        if by_hand := _by_hand(record):
            told["by hand"] = by_hand
        if told:
            properties = _element(suite, "properties")
            for name, value in told.items():
                _element(properties, "property", name=name, value=value)
        if ungraded:
            case = _element(suite, "testcase", classname=record.submission, name="graded")
            _element(case, "error", message=record.reason)
        for number, finding in numbered(record.findings):
            place = f"{record.submission}.{finding.function}"
            case = _element(suite, "testcase", classname=place, name=f"{number} {finding.property}")
            if finding.failed:
                message = f"{finding.earned} of {finding.points} points"
                _element(case, "failure", message=message).text = _for_xml(_explanation(finding))
    ElementTree.indent(suites)
    content = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    write_atomically(path, content + b"\n")


def _explanation(finding: Finding) -> str:
    named = ": ".join(filter(None, [finding.mistake, finding.explanation]))
    lines = [finding.problem, f"known mistake: {named}" if named else "", in_words(finding)]
    return "\n".join(filter(None, lines))


def _by_hand(record: Record) -> str:
    """Return all that persons decided about a submission, each with the number of its property."""
    told = [f"{number}: {in_words(finding)}" for number, finding in numbered(record.findings) if finding.judgement]
    return "; ".join([*told, *map(comment_in_words, record.comments), *map(outdated_in_words, record.outdated)])


def _judgement(finding: Finding) -> dict:
    """Return what a person decided about a finding, for programs; nothing where nobody did."""
    if finding.judgement is None:
        return {}
    machine = finding.earned if finding.machine is None else finding.machine
    judgement = finding.judgement
    return {
        "by_hand": {"score_of_machine": machine, "comment": judgement.comment, "by": judgement.by, "at": judgement.at}
    }


def cell(text: str) -> str:
    """Return a text that neither a spreadsheet nor a terminal obeys; what a spreadsheet does, it does in any width."""
    text = "".join(each if each.isprintable() or each in "\t\r\n" else "\ufffd" for each in text)
    return f"'{text}" if unicodedata.normalize("NFKC", text).startswith(FORMULA) else text


def _element(parent: ElementTree.Element, tag: str, **attributes) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, {name: _for_xml(str(value)) for name, value in attributes.items()})


def _for_xml(text: str) -> str:
    text = NOT_IN_XML.sub("\ufffd", text)
    return "".join(each if each.isprintable() or each in "\t\n\r" else "\ufffd" for each in text)


FORMATS: dict[str, tuple[str, Callable[[list[Record], Path], None]]] = {
    "csv": ("grades.csv", _write_csv),
    "jsonl": ("grades.jsonl", _write_jsonl),
    "gradescope": ("gradescope", _write_gradescope),
    "junit": ("junit.xml", _write_junit),
}
