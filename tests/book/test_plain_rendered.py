"""The plain notebooks of the built book: its buttons lead to them, and both give everything the same number."""

import re

import nbformat
import pytest

from course_lib.authoring.plain.index import Index
from course_lib.authoring.plain.notebook import plain_page
from course_lib.project import root
from tests.book.pages import HTML

CHAPTERS = sorted(path.stem for path in (root() / "book/text").glob("[0-9][0-9]_*.md"))
pytestmark = pytest.mark.rendered


def read(page):
    return (HTML / f"{page}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [f"{folder}/{stem}" for folder in ("book", "exercises") for stem in CHAPTERS])
def test_the_buttons_lead_to_the_plain_notebook(page):
    folder, stem = page.split("/")
    copied = {"book": "my_exercises/chapters", "exercises": "my_exercises"}[folder]
    links = re.findall(r'<a href="([^"]*\.ipynb)" target="_blank"', read(page))
    binder, colab, download = (link for link in links if "/edit/" not in link)
    assert binder.startswith("https://mybinder.org/")
    assert binder.endswith(f"=lab/tree/{copied}/{stem}.ipynb")
    assert colab.startswith("https://colab.research.google.com/")
    assert colab.endswith(f"/blob/notebooks/{page}.ipynb")
    assert download == f"../notebooks/{page}.ipynb"
    assert (HTML / "notebooks" / f"{page}.ipynb").exists()


@pytest.mark.parametrize("stem", CHAPTERS)
def test_figures_and_equations_have_the_numbers_of_the_page(stem):
    made = nbformat.read(HTML / f"notebooks/book/{stem}.ipynb", as_version=4)
    text = "\n\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    page = read(f"book/{stem}")
    assert re.findall(r"^\*\*(Figure [\d.]+)\.\*\*", text, re.MULTILINE) == re.findall(
        r'class="caption-number">(Figure [\d.]+) <', page
    )
    assert re.findall(r"\\tag\{([\d.]+)\}", text) == re.findall(r'class="eqno">\(([\d.]+)\)', page)


def test_links_arrive_in_the_book():
    index = Index(root())
    index.address = "https://book.test/"
    pages = [page for page in index.notebooks if page.startswith("book/")]
    link = re.compile(r"https://book\.test/([\w/]+)\.html(?:#([\w.-]+))?")
    found = {(page, *target) for page in pages for target in link.findall(plain_page(page, index))}
    anchors = {target: set(re.findall(r'\bid="([^"]+)"', read(target))) | {""} for _, target, _ in found}
    assert len(anchors) > len(CHAPTERS)
    assert not {(page, target, anchor) for page, target, anchor in found if anchor not in anchors[target]}
