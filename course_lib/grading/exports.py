"""The files that are written from a gradebook: for spreadsheets, programs, learning platforms and test viewers.

The same gradebook gives the same bytes: no times, no names of machines, everything sorted. A file appears whole or
not at all.
"""

import hashlib
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from pathlib import Path

from course_lib.files import PART, write_atomically
from course_lib.grading.grade_tables import write_csv, write_jsonl
from course_lib.grading.gradebook import Gradebook
from course_lib.grading.judgements import by_hand, comment_in_words, in_words
from course_lib.grading.matching import Class, class_of
from course_lib.grading.platform_tables import write_canvas, write_moodle
from course_lib.grading.records import GRADED, UNGRADED, Finding, Record, numbered
from course_lib.project import CourseError

NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The names that are the same on every system: short, in lower case, and none that Windows keeps for its devices.
PLAIN_NAME = re.compile(r"(?!(con|prn|aux|nul|com\d|lpt\d)(\.|$))[a-z0-9][a-z0-9._-]{0,99}")


def export(gradebook: Gradebook, folder: Path, formats: Iterable[str]) -> list[Path]:
    """Write the files of these formats into `folder` and return them; raises CourseError for an unknown format."""
    chosen = [FORMATS[each] for each in known(formats)]
    graded = class_of(gradebook)
    for part in folder.rglob(f".*{PART}"):  # of sittings that were killed
        part.unlink()
    for name, write in chosen:
        write(graded, folder / name)
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


def _write_gradescope(graded: Class, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    contents = {folder / f"{file_name(each.submission)}.json": gradescope_results(each) for each in graded.records}
    for path, results in contents.items():
        write_atomically(path, json.dumps(results, indent=2) + "\n")
    for path in folder.glob("*.json"):
        if path not in contents:  # of a submission that is no longer there
            path.unlink()


def _write_junit(graded: Class, path: Path) -> None:
    suites = ElementTree.Element("testsuites")
    for record in graded.records:
        failed = sum(finding.failed for finding in record.findings)
        ungraded = int(record.status == UNGRADED)
        counts = {"tests": len(record.findings) + ungraded, "failures": failed, "errors": ungraded}
        suite = _element(suites, "testsuite", name=record.submission, **counts)
        told = {} if record.status == GRADED else {"status": record.status, "reason": record.reason}
        if decided := by_hand(record):
            told["by hand"] = decided
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


def _element(parent: ElementTree.Element, tag: str, **attributes) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, {name: _for_xml(str(value)) for name, value in attributes.items()})


def _for_xml(text: str) -> str:
    text = NOT_IN_XML.sub("\ufffd", text)
    return "".join(each if each.isprintable() or each in "\t\n\r" else "\ufffd" for each in text)


FORMATS: dict[str, tuple[str, Callable[[Class, Path], None]]] = {
    "csv": ("grades.csv", write_csv),
    "jsonl": ("grades.jsonl", write_jsonl),
    "gradescope": ("gradescope", _write_gradescope),
    "junit": ("junit.xml", _write_junit),
    "moodle": ("grades_moodle.csv", write_moodle),
    "canvas": ("grades_canvas.csv", write_canvas),
}
