"""The terms of the glossary and the pages of the book."""

import re

import pytest

from course_lib.project import root

GLOSSARY = (
    (root() / "book/glossary.md").read_text(encoding="utf-8").partition("```{glossary}\n")[2].partition("\n```")[0]
)
ENTRIES = [entry.split("\n") for entry in GLOSSARY.strip("\n").split("\n\n")]
PAGES = {
    int(path.name[:2]): re.sub(r"\s+", " ", path.read_text(encoding="utf-8")).lower()
    for path in (root() / "book/text").glob("[0-9][0-9]_*.md")
}


def test_entries_stand_in_alphabetical_order():
    first = [entry[0].lower() for entry in ENTRIES]
    assert first == sorted(first)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0])
def test_a_term_is_used_in_the_chapters_that_its_entry_names(entry):
    *terms, meaning = entry
    chapters = re.search(r" Chapters? (\d+)(?: and (\d+))?\.$", meaning)
    assert chapters, f"{terms[0]} does not say in which chapter it is introduced"
    for chapter in filter(None, chapters.groups()):
        assert any(term.lower() in PAGES[int(chapter)] for term in terms), f"Chapter {chapter} has no {terms[0]}"


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if len(entry) > 2], ids=lambda entry: entry[0])
def test_a_second_term_is_named_as_our_own(entry):
    _, own, meaning = entry
    assert f"also called *{own}* here" in meaning
