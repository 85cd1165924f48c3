"""A thousand broken notebooks, the same ones each time: the grader neither stops nor loses a row over any of them."""

import copy
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.grading.catalogue import catalogue
from course_lib.grading.grader import Settings, grade_submission
from course_lib.grading.records import GRADED, STOPPED, UNREADABLE
from course_lib.grading.sandbox import probe, tiers
from course_lib.grading.sandbox.limits import Limits

EXERCISE = "02.3"
DUE = [
    (EXERCISE, task.function, each.name, each.points)
    for task in catalogue().find(EXERCISE).tasks
    for each in task.properties
]
LIMITS = Limits(wall=4.0, step=1.0)
CODE = {"cell_type": "code", "execution_count": 1, "metadata": {"tags": []}, "outputs": [], "source": "x = 1\n"}
ANSWER = "def attend(weights, values):\n    return (weights[..., None] * values).sum(1)\n"
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Exercises\n", "Write the answer."]},
        CODE | {"source": ["import torch\n", "x = 1"], "id": "first"},
        CODE | {"source": ANSWER, "outputs": [{"output_type": "stream", "name": "stdout", "text": ["fine\n"]}]},
        CODE | {"source": "print(attend)", "metadata": {"tags": ["not-graded"]}},
    ],
    "metadata": {"kernelspec": {"name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}

# ---------------------------------------------------------------- what can become of a notebook

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),  # nan and the infinities too, which Python writes as JSON does not allow
    st.text(max_size=20),
    st.sampled_from(
        ["\ud800", "\x00", "\x1b[31m", "=1+1", "%%bash", "!ls", "x" * 100_000, "code", "not-graded", 10**400]
    ),
)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
sources = st.one_of(
    values,
    st.lists(leaves, max_size=4),
    st.text(max_size=60),
    st.sampled_from(
        ["x = = 1", "def attend(weights, values): pass", "1 / 0", "exit()", "import nothing", "(" * 300, "\t "]
    ),
)
kinds = st.sampled_from(["code", "markdown", "raw", "heading", "Code", "", None, 3, ["code"], {"code": 1}])


def _places(value, path=()):
    """Return the path of every entry of a notebook."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in entries for place in _places(each, (*path, key)))]


@st.composite
def trees(draw):
    """A notebook of which some entries are others, gone, or there twice."""
    notebook = copy.deepcopy(NOTEBOOK)
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(_places(notebook)[1:] or [("cells",)]))
        holder = notebook
        for key in path[:-1]:
            holder = holder[key]
        change = draw(st.sampled_from(["other", "gone", "twice", "renamed"]))
        if change == "other" or (change == "renamed" and isinstance(holder, list)):
            holder[path[-1]] = draw(values)
        elif change == "gone":
            holder.pop(path[-1], None) if isinstance(holder, dict) else holder.pop(path[-1])
        elif change == "renamed":
            holder[draw(st.text(max_size=6))] = holder.pop(path[-1], None)
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
    cells = notebook.get("cells")
    if isinstance(cells, list):
        for _ in range(draw(st.integers(0, 2))):
            cell = dict(CODE) | {"cell_type": draw(kinds), "source": draw(sources)}
            for key in draw(st.lists(st.sampled_from(sorted(CODE)), max_size=2)):
                cell.pop(key, None)
            cells.insert(draw(st.integers(0, len(cells))), cell)
    return notebook


@st.composite
def files(draw):
    """The bytes of a file: such a notebook as JSON, and then perhaps damaged."""
    text = json.dumps(draw(trees()), ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(text)))
        change = draw(st.sampled_from(["same key again", "number", "deep", "cut", "garbage"]))
        if change == "same key again":
            key = draw(st.sampled_from(["cells", "nbformat", "source", "cell_type", "metadata"]))
            text = text.replace(f'"{key}":', f'"{key}": {json.dumps(draw(leaves))}, "{key}":', 1)
        elif change == "number":
            number = draw(
                st.sampled_from(["NaN", "-Infinity", "1e999", "9" * 5000, "01", "0x1", "1_000", "+1", "-0.0"])
            )
            text = text.replace("4", number, 1)
        elif change == "deep":
            depth = draw(st.sampled_from([100, 900, 995, 1000, 5000, 100_000]))
            text = text.replace("[]", "[" * depth + draw(st.sampled_from(["]" * depth, ""])), 1)
        elif change == "cut":
            text = text[:place]
        else:
            text = text[:place] + draw(st.text(max_size=5)) + text[place:]
    coding = draw(st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-32", "latin-1", "utf-7"]))
    halves = "surrogatepass" if coding not in ("latin-1", "utf-7") else "replace"  # what becomes of half a character
    data = bytearray(text.encode(coding, errors=halves))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3, 20]))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return draw(st.sampled_from([b"", b"", b"", b"\0", b"\xef\xbb\xbf", b"\n\n", b"\x1f\x8b"])) + bytes(data)


# ---------------------------------------------------------------- the test


@pytest.fixture(scope="module")
def tier():
    for each in (tiers.LANDLOCK, tiers.BUBBLEWRAP):
        if probe.works(each):
            return each
    pytest.skip("no lock works here, and what a broken notebook runs is nobody's guess")


SEEN: dict[str, int] = {}


@settings(max_examples=1000, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=files())
def _every_notebook_gets_its_row(tier, data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.ipynb"
        path.write_bytes(data)
        record = grade_submission("student", (str(path),), Settings(1, (EXERCISE,), LIMITS, tier))
    assert [(each.exercise, each.function, each.property, each.points) for each in record.findings] == DUE
    assert record.status in (GRADED, STOPPED, UNREADABLE), record.reason
    assert record.status == GRADED or record.reason
    assert all(each.problem or each.earned == each.points for each in record.findings)
    for text in (record.reason, record.output, record.source, *(each.problem for each in record.findings)):
        text.encode()
    assert len(record.digest) == 64
    SEEN[record.status] = SEEN.get(record.status, 0) + 1
    SEEN["right"] = SEEN.get("right", 0) + (record.earned == record.points)


def test_every_mutated_notebook_gets_its_row(tier):
    SEEN.clear()
    _every_notebook_gets_its_row(tier)
    # The mutations are worth something only where all kinds of verdicts come of them.
    assert SEEN[GRADED] > 50 and SEEN[UNREADABLE] > 250 and SEEN["right"] > 25, SEEN
