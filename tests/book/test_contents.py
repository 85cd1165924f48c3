"""The table of contents holds every chapter, and the built book holds every entry."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from course_lib.project import root
from tests.book.pages import HTML, built_pages, contents

CHAPTERS = sorted(path.stem for path in (root() / "book" / "text").glob("[0-9][0-9]_*.md"))


def test_every_chapter_is_in_the_contents_with_its_exercises_after_it_and_its_solutions_at_the_end():
    assert CHAPTERS, "no chapter in book/text"
    pages = contents()
    reading = [page for stem in CHAPTERS for page in (f"book/{stem}", f"exercises/{stem}")]
    assert [page for page in pages if re.search(r"^(book|exercises)/\d\d_", page)] == reading
    *others, last = yaml.safe_load((root() / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    # `make book SOLUTIONS=0` cuts this part off.
    assert last["caption"] == "Worked solutions"
    assert contents(last) == [f"solutions/{stem}" for stem in CHAPTERS]
    assert not [page for part in others for page in contents(part) if page.startswith("solutions/")]


def test_the_page_of_claims_shows_every_chapter():
    text = (root() / "book" / "text" / "claims.md").read_text(encoding="utf-8")
    for shown in (r'^picture\("(\d\d)"\)$', r'^table\("(\d\d)"\)$', r"name: fig-claims-(\d\d)"):
        assert re.findall(shown, text, re.MULTILINE) == [stem[:2] for stem in CHAPTERS]


@pytest.mark.rendered
@pytest.mark.parametrize("page", contents())
def test_entry_has_a_page(page):
    file = HTML / f"{page}.html"
    assert file.exists(), f"_toc.yml names {page}, but the built book has no page for it"
    assert "<h1" in file.read_text(encoding="utf-8"), f"{page}.html has no title"


class _Parts(HTMLParser):
    """Collects what a page defines (its anchors) and what it refers to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors, self.references, self.pictures = set(), set(), []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        self.references |= {attributes[name] for name in ("href", "src") if attributes.get(name)}
        if tag == "img":
            self.pictures.append((attributes.get("src", ""), attributes.get("alt")))


@pytest.fixture(scope="module")
def parts():
    return {page: _Parts(page) for page in [HTML / "index.html", *built_pages()]}


@pytest.mark.rendered
def test_internal_links_arrive(parts):
    lost = []
    for page, part in parts.items():
        for reference in part.references:
            address = urlsplit(reference)
            if address.scheme or address.netloc:
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            where = page.relative_to(HTML)
            if not target.exists():
                lost.append(f"{where} refers to {reference}, which is not there")
            elif address.fragment and target in parts and unquote(address.fragment) not in parts[target].anchors:
                lost.append(f"{where} refers to {reference}, but that page has no such anchor")
    assert not lost, "\n".join(lost)


@pytest.mark.rendered
def test_pictures_are_described(parts):
    # Where an author wrote no description, Sphinx puts the path of the picture or nothing.
    silent = [
        f"{page.relative_to(HTML)}: {source}"
        for page, part in parts.items()
        for source, alt in part.pictures
        if "_images/" in source and (not (alt or "").strip() or alt.endswith(Path(source).suffix))
    ]
    assert not silent, f"pictures without a description (alt): {silent}"
