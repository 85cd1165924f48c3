"""The table of contents holds every chapter, and the built book holds every entry."""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from course_lib.project import root
from tests.book.pages import HTML, built_pages, contents

CHAPTERS = sorted(path.stem for path in (root() / "book" / "text").glob("[0-9][0-9]_*.md"))


def test_every_chapter_is_in_the_contents_with_its_exercises_and_its_solutions_below_it():
    assert CHAPTERS, "no chapter in book/text"
    parts = yaml.safe_load((root() / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    chapters = [chapter for part in parts for chapter in part["chapters"]]
    below = [contents(chapter) for chapter in chapters if re.match(r"book/\d\d_", chapter["file"])]
    assert below == [[f"{folder}/{stem}" for folder in ("book", "exercises", "solutions")] for stem in CHAPTERS]


def test_without_solutions_the_contents_name_none():
    command = ["make", "--always-make", "--silent", "SOLUTIONS=0", "_build/without_solutions/_toc.yml"]
    subprocess.run(command, cwd=root(), check=True)
    without = yaml.safe_load((root() / "_build/without_solutions/_toc.yml").read_text(encoding="utf-8"))
    assert contents(without) == [page for page in contents() if not page.startswith("solutions/")]


def test_the_page_of_claims_shows_every_chapter():
    text = (root() / "book" / "text" / "claims.md").read_text(encoding="utf-8")
    assert re.findall(r'^show\("(\d\d)"\)$', text, re.MULTILINE) == [stem[:2] for stem in CHAPTERS]


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
