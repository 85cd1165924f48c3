"""Every sentence of a chapter that cites a work has its evidence in book/_data/citations.json."""

import functools
import json
import re

import pytest

from course_lib.authoring.notebooks import read_text
from course_lib.project import root

CHAPTERS = [path.stem[:2] for path in sorted((root() / "book" / "text").glob("[0-9][0-9]_*.md"))]
FIELDS = {"chapter", "keys", "sentence", "quotation", "found_at", "verdict"}
VERDICTS = {"supported", "softened", "not found"}
CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")


@functools.cache
def evidence():
    return json.loads((root() / "book/_data/citations.json").read_text("utf-8"))


@functools.cache
def bibliography():
    return set(re.findall(r"^@\w+\{\s*([^,\s]+)", (root() / "book/references.bib").read_text("utf-8"), flags=re.M))


def keys_cited(sentence) -> set[str]:
    return {key.strip() for keys in CITED.findall(sentence) for key in keys.split(",")}


def cited_sentences(path) -> list[str]:
    """Return the sentences of the chapter at `path` that cite a work, each on one line."""
    sentences = []
    for cell in read_text(path).cells:
        if cell.cell_type == "markdown":
            lines = [line for line in cell.source.splitlines() if not re.match(r"`{3,}|:{3,}|:[\w-]+:|#", line)]
            for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
                joined = " ".join(paragraph.split())
                sentences += re.split(r"(?<=[.!?])(?<!et al\.)[\"”)*]*\s+(?=[^a-z\d\s])", joined)
    return [sentence for sentence in sentences if CITED.search(sentence)]


def without_evidence(path) -> list[str]:
    """Return the sentences of the chapter at `path` that cite a work for which they have no entry."""
    entries = [entry for entry in evidence()["sentences"] if entry["chapter"] == path.stem[:2]]
    bare = []
    for sentence in cited_sentences(path):
        known = [entry["keys"] for entry in entries if sentence.startswith(entry["sentence"])]
        if missing := keys_cited(sentence) - {key for keys in known for key in keys}:
            bare.append(f"{', '.join(sorted(missing))}: {sentence}")
    return bare


def outdated(path) -> list[str]:
    """Return the sentences in the file of evidence that the chapter at `path` no longer has."""
    entries = [entry["sentence"] for entry in evidence()["sentences"] if entry["chapter"] == path.stem[:2]]
    return [entry for entry in entries if not any(each.startswith(entry) for each in cited_sentences(path))]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_sentence_that_cites_a_work_has_its_evidence(chapter):
    (path,) = (root() / "book/text").glob(f"{chapter}_*.md")
    assert not (bare := without_evidence(path)), "no evidence for\n" + "\n".join(bare)
    assert not (gone := outdated(path)), "no longer in the chapter:\n" + "\n".join(gone)


def test_a_sentence_without_evidence_is_named(tmp_path):
    known = next(entry for entry in evidence()["sentences"] if entry["chapter"] == "04")
    chapter = tmp_path / "04_of_two_sentences.md"
    chapter.write_text("A claim of\n{cite:t}`nobody1900`, e.g. in Section 2.1.\n\nNo claim. Nor here.\n", "utf-8")
    assert without_evidence(chapter) == ["nobody1900: A claim of {cite:t}`nobody1900`, e.g. in Section 2.1."]
    assert known["sentence"] in outdated(chapter)


@pytest.mark.parametrize("part", ["sentences", "wanted"])
def test_evidence_is_complete_and_short(part):
    for entry in evidence()[part]:
        assert set(entry) == FIELDS, entry
        assert entry["verdict"] in VERDICTS, entry
        assert entry["keys"] and set(entry["keys"]) <= bibliography(), f"not in references.bib: {entry['keys']}"
        whole = entry["sentence"].endswith(".")
        assert whole or len(entry["sentence"].split()) >= 8, f"too short to be told from others: {entry['sentence']}"
        assert len(entry["quotation"].split()) <= 60, f"too long a quotation: {entry['quotation']}"
        if entry["verdict"] != "not found":
            assert entry["quotation"] and entry["found_at"], f"no quotation, or no place: {entry['sentence']}"
