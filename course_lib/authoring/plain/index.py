"""What the pages of the book refer to: numbered figures and equations, titles, and where all of it is published."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook

from course_lib.authoring.contents import pages
from course_lib.authoring.ledger_entries import claims_of, read_ledger
from course_lib.authoring.notebooks import read_notebook
from course_lib.authoring.plain.blocks import Block, blocks
from course_lib.authoring.plain.citations import Bibliography
from course_lib.project import CourseError

NOWHERE = re.compile(r"https://example\.")  # the placeholder of a book without a public home
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
GLOSSARY = "book/glossary"
MODULE = re.compile(r"^\.\. automodule:: (\S+)$", re.MULTILINE)
NOTEBOOK = re.compile(r"(book|exercises)/\d\d_")
CHAPTER = re.compile(r"/(\d\d)_")


@dataclass(frozen=True)
class Place:
    """A figure, an equation or a page: its number or title, and where it stands below the address of the book."""

    words: str
    address: str


class Index:
    """The book in the folder `home`; raises CourseError where a text refers to what is not there."""

    def __init__(self, home: Path):
        config = yaml.safe_load((home / "_config.yml").read_text(encoding="utf-8"))
        contents = yaml.safe_load((home / "_toc.yml").read_text(encoding="utf-8"))
        self.home, self.title = home, config["title"]
        self.repository, self.branch = config["repository"]["url"], config["repository"]["branch"]
        address = config["html"]["baseurl"]
        self.address = None if NOWHERE.match(address) else f"{address.rstrip('/')}/"
        self.bibliography = Bibliography(home / "book/references.bib")
        ledger = home / "book/_data/claims.json"
        self.ledger = read_ledger(ledger) if ledger.exists() else {}  # of a book that has not been measured yet
        self.pages, self.labels, self.terms, self.modules = {}, {}, {}, {}
        numbers = Counter()
        for page in pages(contents):
            notebook = _read(home, page)
            words = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
            title = TITLE.search(words)
            self.pages[page] = Place(title[1] if title else page, f"{page}.html")
            self.modules |= dict.fromkeys(MODULE.findall(words), page)
            if page == GLOSSARY:
                self.terms = {term.lower(): term for term in _terms(notebook)}
            chapter = CHAPTER.search(f"/{page}")
            before = f"{int(chapter[1])}." if chapter else ""
            for kind, label in labels(notebook):
                if label in self.labels:
                    raise CourseError(f"{page} uses the label {label!r} of another page: choose one of its own")
                numbers[before, kind] += 1
                anchor = label if kind == "figure" else f"equation-{label}"
                self.labels[label] = Place(f"{before}{numbers[before, kind]}", f"{page}.html#{anchor}")

    @property
    def notebooks(self) -> list[str]:
        """The pages that have a plain form: chapters and their exercises."""
        return [page for page in self.pages if NOTEBOOK.match(page)]

    def claims(self, page: str) -> list[dict]:
        """Return what a chapter states, with the values of all seeds."""
        return claims_of(self.ledger, page)

    def number(self, label: str) -> str:
        """Return the number of a figure or an equation, such as 5.2."""
        return self._find(label).words

    def link(self, words: str, address: str) -> str:
        """Return `words` with a link to `address` in the published book; where it is not published, the words alone."""
        return f"[{words}]({self.address}{address})" if self.address else words

    def link_source(self, words: str, path: str) -> str:
        """Return `words` with a link to a file of the repository; where the book is not published, the words alone."""
        return f"[{words}]({self.repository}/blob/{self.branch}/{path})" if self.address else words

    def link_label(self, words: str, label: str) -> str:
        """Return `words` with a link to a figure or an equation."""
        return self.link(words, self._find(label).address)

    def term(self, name: str) -> str:
        """Return where a term of the glossary stands."""
        if name.lower() not in self.terms:
            raise CourseError(f"the glossary has no term {name!r}")
        return f"{GLOSSARY}.html#term-{re.sub(r'[^A-Za-z0-9]+', '-', self.terms[name.lower()])}"

    def of_the_library(self, path: str) -> str:
        """Return where a function or class of the library stands, such as "course_lib.masks.causal_mask"."""
        module = path
        while module not in self.modules:
            module, _, last = module.rpartition(".")
            if not last:
                raise CourseError(f"no page of the library describes the module of {path!r}")
        return f"{self.modules[module]}.html#{path}"

    def _find(self, label: str) -> Place:
        if label not in self.labels:
            raise CourseError(f"no figure and no equation of the book has the label {label!r}")
        return self.labels[label]


def labels(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """Yield the kind ("figure" or "equation") and the label of all that is numbered in a page, in its order."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield from _labels(blocks(cell.source))
        elif figure_label(cell):
            yield "figure", figure_label(cell)


def figure_label(cell: NotebookNode) -> str:
    """Return the label of the figure that a code cell shows, "" where it shows none."""
    shown = [output for output in cell.get("outputs", []) if output.output_type in ("display_data", "execute_result")]
    return cell.metadata.get("mystnb", {}).get("figure", {}).get("name", "") if shown else ""


def _labels(found: list[Block]) -> Iterator[tuple[str, str]]:
    for block in found:
        if block.kind == "equation" and block.argument:
            yield "equation", block.argument
        elif block.kind == "figure" and "name" in block.options:
            yield "figure", block.options["name"]
        elif block.kind not in ("prose", "verbatim", "html", "equation"):
            yield from _labels(blocks(block.content))


def _terms(notebook: NotebookNode) -> list[str]:
    found = [block for cell in notebook.cells for block in blocks(cell.source) if block.kind == "glossary"]
    return [line for block in found for line in block.content.split("\n") if line.strip() and not line.startswith(" ")]


def _read(home: Path, page: str) -> NotebookNode:
    if (notebook := home / f"{page}.ipynb").exists():
        return read_notebook(notebook)
    return new_notebook(cells=[new_markdown_cell((home / f"{page}.md").read_text(encoding="utf-8"))])
