"""The plain form: by examples of a book of two chapters, and of all chapters of this one."""

import ast
import base64
import json
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.authoring.names import names
from course_lib.authoring.notebooks import read_notebook
from course_lib.authoring.plain.index import Index
from course_lib.authoring.plain.notebook import plain_notebook, plain_page
from course_lib.authoring.plain.text import Writer
from course_lib.findings import Findings, Statement
from course_lib.project import CourseError, root

CONFIG = """
title: A book
repository: {{url: "https://git.test/us/book", branch: main}}
html: {{baseurl: "{address}"}}
"""
CONTENTS = """
root: book/intro
parts:
  - chapters: [{file: book/04_four.ipynb}, {file: book/05_five.ipynb}, {file: exercises/05_five.ipynb}]
  - chapters: [{file: book/glossary}, {file: book/library}, {file: book/library_models}]
"""
WORKS = r"""
@article{vaswani2017, author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki}, title = {Attention}, year = {2017},
  journal = {Letters}}
@article{vandenoord2016, author = {van den Oord, A{\"a}ron and Kalchbrenner, Nal}, title = {Sound}, year = {2016},
  journal = {Letters}}
@article{shannon1948, author = {Shannon, Claude E.}, title = {Communication}, year = {1948}, journal = {Letters}}
"""
GLOSSARY = "# Glossary\n\n```{glossary}\nbeam search\n  A way to write.\n\nGELU\n  A curve.\n```\n"
MODULES = "# The library\n\n```{{eval-rst}}\n.. automodule:: course_lib.{}\n   :members:\n```\n"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CLAIMS = [{"name": "scaled", "values": [0.97, 0.99, 0.98]}]
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


FOLDED = {"tags": ["hide-input"], "jupyter": {"source_hidden": True}}  # as `course sync` writes it


def figure(name, caption="So it looks.", metadata=FOLDED):
    options = {"figure": {"name": name, "caption": caption}, "image": {"alt": "A dot."}}
    picture = new_output("display_data", data={"image/png": PIXEL, "text/plain": "<Figure>"})
    return new_code_cell("draw()", metadata=metadata | {"mystnb": options}, outputs=[picture])


def notebook(*cells):
    made = [new_markdown_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    return new_notebook(cells=made, metadata={"kernelspec": KERNEL, "course": {"library": {}}})


def write_book(home, address="https://book.test"):
    four = notebook("# Chapter 4 · Four", "$$\na\n$$ (eq-a)", figure("fig-one"), "$$ b $$ (eq-b)", figure("fig-two"))
    boxed = ":::{note}\n```{math}\n:label: eq-boxed\nc\n```\n:::"
    five = notebook("# Chapter 5 · Five\n\n$$ unnumbered $$", boxed, figure("fig-three"), "$$ d $$ (eq-d)")
    for page, made in (("book/04_four", four), ("book/05_five", five), ("exercises/05_five", notebook("# Exercises"))):
        (home / page).parent.mkdir(exist_ok=True)
        nbformat.write(made, home / f"{page}.ipynb")
    (home / "book/intro.md").write_text("# Welcome\n")
    (home / "book/glossary.md").write_text(GLOSSARY)
    (home / "book/library.md").write_text(MODULES.format("masks"))
    (home / "book/library_models.md").write_text(MODULES.format("cache"))
    (home / "book/references.bib").write_text(WORKS)
    (home / "book/_data").mkdir()
    (home / "book/one_file").mkdir()
    (home / "book/one_file/two.py").write_text("x = 1\n\ny = {x}\n")
    (home / "book/_data/claims.json").write_text(json.dumps({"chapters": {"05": {"claims": CLAIMS}}}))
    (home / "_config.yml").write_text(CONFIG.format(address=address))
    (home / "_toc.yml").write_text(CONTENTS)
    return Index(home)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """A book that is published."""
    return write_book(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="module")
def at_home(tmp_path_factory):
    """The same book, with an address that is a placeholder."""
    return write_book(tmp_path_factory.mktemp("at_home"), "https://example.github.io/book/")


URL = "https://book.test/book"
SENTENCES = {
    "{cite:t}`vaswani2017` do": "Vaswani et al. (2017) do",
    "{cite:t}`vandenoord2016`": "van den Oord and Kalchbrenner (2016)",
    "so {cite:p}`vaswani2017, shannon1948`.": "so (Vaswani et al., 2017; Shannon, 1948).",
    "a {term}`GELU`": f"a [*GELU*]({URL}/glossary.html#term-GELU)",
    "{term}`beams\n<Beam search>`": f"[*beams*]({URL}/glossary.html#term-beam-search)",
    "In {numref}`fig-two`": f"In [Figure 4.2]({URL}/04_four.html#fig-two)",
    "{numref}`fig-three`": f"[Figure 5.1]({URL}/05_five.html#fig-three)",
    "By {eq}`eq-b`": f"By [(4.2)]({URL}/04_four.html#equation-eq-b)",
    "{eq}`eq-boxed`, {eq}`eq-d`": "[(5.1)]({0}-boxed), [(5.2)]({0}-d)".format(f"{URL}/05_five.html#equation-eq"),
    "{func}`~course_lib.masks.causal_mask`": f"[`causal_mask()`]({URL}/library.html#course_lib.masks.causal_mask)",
    "{class}`~course_lib.cache.Cache`": f"[`Cache`]({URL}/library_models.html#course_lib.cache.Cache)",
    "{doc}`04_four`": f"[Chapter 4 · Four]({URL}/04_four.html)",
    "[the *next* page](../exercises/05_five.ipynb)": "[the *next* page](https://book.test/exercises/05_five.html)",
    "[beams](glossary.md#term-beam-search)": f"[beams]({URL}/glossary.html#term-beam-search)",
    "{download}`two.py <one_file/two.py>`": "[`two.py`](https://git.test/us/book/blob/main/book/one_file/two.py)",
    "[a site](https://site.test/a) [below](#here)": "[a site](https://site.test/a) [below](#here)",
    "*{cite:t}`shannon1948`* | `{term}`": "*Shannon (1948)* | `{term}`",
    "``{eq}`eq-a` `` and \\{eq}": "``{eq}`eq-a` `` and \\{eq}",
    "$\\{a\\}$ and $q\n+ k$": "$\\{a\\}$ and $q + k$",
}


@pytest.mark.parametrize(("myst", "plain"), SENTENCES.items(), ids=list(SENTENCES))
def test_a_role_becomes_words(index, myst, plain):
    assert Writer("book/05_five", index).text(myst) == plain


BLOCKS = {
    "$$\n\\frac{a}{b}\n$$ (eq-b)\n\nso": "$$\n\\frac{a}{b} \\tag{4.2}\n$$\n\nso",
    "so\n\n$$ a $$": "so\n\n$$\na\n$$",
    "so\n\n(here)=\n### A head": 'so\n\n<a id="here"></a>\n\n### A head',
    ':::{admonition} "{term}`GELU`"\n:class: misconception\nNo.\n\n- why\n:::': '> **"*GELU*"**\n>\n> No.\n>\n> - why',
    ":::{tip}\n$$\na\n= b\n$$ (eq-a)\n:::": "> **Tip**\n>\n> $$ a = b \\tag{4.1} $$",
    "::::{note}\n:::{tip}\nIn.\n:::\n::::\nout": "> **Note**\n>\n> > **Tip**\n> >\n> > In.\nout",
    "```{dropdown} Going *deeper*\nBy {eq}`eq-a`.\n```": (
        "<details><summary>Going *deeper*</summary>\n\nBy (4.1).\n\n</details>"
    ),
    "```{literalinclude} one_file/two.py\n:language: python\n```": "```python\nx = 1\n\ny = {x}\n```",
    ":::{dropdown} Two\n```{literalinclude} /book/one_file/two.py\n```\n:::": (
        "<details><summary>Two</summary>\n\n```\nx = 1\n\ny = {x}\n```\n\n</details>"
    ),
    "```python\n{eq}`eq-a`\n```": "```python\n{eq}`eq-a`\n```",
    "| a | b |\n|---|---|\n| {eq}`eq-a` | $x$ |": "| a | b |\n|---|---|\n| (4.1) | $x$ |",
    "- {eq}`eq-a`\n\n  ```\n  {eq}`eq-a`\n  ```": "- (4.1)\n\n  ```\n  {eq}`eq-a`\n  ```",
    '<div class="dot-explorer"><p>Slide.</p><script>run()</script></div>': (
        '<div class="dot-explorer"><p>Slide.</p></div>'
    ),
}


@pytest.mark.parametrize(("myst", "plain"), BLOCKS.items(), ids=list(BLOCKS))
def test_a_box_or_an_equation_becomes_what_every_viewer_shows(at_home, myst, plain):
    assert Writer("book/05_five", at_home).text(myst) == plain


def test_without_a_public_book_there_are_words_and_no_links(at_home):
    writer = Writer("book/05_five", at_home)
    text = "{numref}`fig-two`, {term}`GELU`, [the next page](../exercises/05_five.ipynb), {doc}`intro`"
    assert writer.text(text) == "Figure 4.2, *GELU*, the next page (*Exercises*), Welcome"
    assert writer.text("{func}`~course_lib.masks.causal_mask`") == "`causal_mask()`"
    assert writer.text("{doc}`/book/intro`") == "Welcome"
    assert writer.text("{download}`two.py <one_file/two.py>`") == "`two.py`"


@pytest.mark.parametrize(
    ("myst", "said"),
    [
        ("{weather}`rain`", "book/05_five: {weather} has no plain form"),
        ("```{weather}\n```", "book/05_five: {weather} has no plain form"),
        ("{numref}`fig-lost`", "no figure and no equation of the book has the label 'fig-lost'"),
        ("{eq}`eq-lost`", "has the label 'eq-lost'"),
        ("{term}`lost`", "the glossary has no term 'lost'"),
        ("{func}`course_lib.lost.f`", "no page of the library describes the module of 'course_lib.lost.f'"),
        ("{cite:t}`lost2000`", "'lost2000' is cited, and is not in references.bib"),
        ("[a page](lost.md)", "'lost' is no page of the book"),
        ("{doc}`lost`", "'lost' is no page of the book"),
        ("{download}`it <lost.py>`", "book/05_five: 'lost.py' is no file of the book"),
        ("```{literalinclude} lost.py\n```", "book/05_five: 'lost.py' is no file of the book"),
    ],
)
def test_what_has_no_plain_form_or_leads_nowhere_is_refused(index, myst, said):
    with pytest.raises(CourseError, match=re.escape(said)):
        Writer("book/05_five", index).text(myst)


def test_two_pages_with_one_label_are_refused(tmp_path):
    write_book(tmp_path)
    nbformat.write(notebook("# Chapter 5 · Five", figure("fig-one")), tmp_path / "book/05_five.ipynb")
    with pytest.raises(CourseError, match="book/05_five uses the label 'fig-one' of another page"):
        Index(tmp_path)


def plain(index, *cells):
    """Return the cells of a plain notebook behind the one that installs the course."""
    made = plain_notebook(notebook("# Chapter 5 · Five", *cells), "book/05_five", index)
    nbformat.validate(made)
    return made.cells[2:]


def test_a_folded_figure_has_its_caption_below_and_its_description(index):
    cell, caption = plain(index, figure("fig-three", "The {term}`GELU`, $x$; {numref}`fig-one`."))
    assert cell.outputs[0].data["image/png"] == PIXEL
    assert cell.source == "# @title Code of the figure\ndraw()"
    assert (cell.metadata["jupyter"]["source_hidden"], cell.metadata["cellView"]) == (True, "form")
    glossary, four = f"{URL}/glossary.html#term-GELU", f"{URL}/04_four.html#fig-one"
    below, folded = caption.source.split("\n\n", 1)
    assert below == f"**Figure 5.1.** The [*GELU*]({glossary}), $x$; [Figure 4.1]({four})."
    assert folded == "<details><summary>The picture in words</summary>\n\nA dot.\n\n</details>"
    cell, _ = plain(index, figure("fig-three", metadata={"tags": ["claim"]}))
    assert cell.source == "draw()"
    assert not {"jupyter", "cellView"} & set(cell.metadata)


def test_a_quiz_is_questions_with_their_answers_folded(index):
    answers = [
        {"answer": "1", "correct": False, "feedback": "Once more."},
        {"answer": "2", "correct": True, "feedback": "Yes."},
    ]
    questions = [{"question": said, "type": "multiple_choice", "answers": answers} for said in ("1 + 1?", "2 + 2?")]
    script = new_output("display_data", data={"application/javascript": "ask()"})
    source = f"from course_lib import show_quiz\n\nshow_quiz(\n    {questions}\n)"
    first, second = plain(index, new_code_cell(source, outputs=[script], metadata={"tags": ["remove-input"]}))
    assert (first.cell_type, second.source.split("\n")[0]) == ("markdown", "**Question 2.** 2 + 2?")
    question, one, two, summary, *said = filter(None, first.source.split("\n"))
    assert (question, one, two) == ("**Question 1.** 1 + 1?", "- **A.** 1", "- **B.** 2")
    assert summary == "<details><summary>Answer</summary>"
    assert said == ["Right: B.", "- **A.** Once more.", "- **B.** Yes.", "</details>"]


def test_an_explorer_keeps_its_sentence_and_leads_to_the_book(index):
    shown = '<div class="dot-explorer"><svg></svg><script type="application/json">[1]</script>\n<p>Slide.</p></div>'
    script = new_output("display_data", data={"application/javascript": "go()", "text/plain": "<Javascript>"})
    (cell,) = plain(index, new_code_cell("dot()", outputs=[new_output("execute_result", {"text/html": shown}), script]))
    assert [output.data["text/html"] for output in cell.outputs] == [
        '<div class="dot-explorer"><svg></svg>\n<p>Slide.</p></div>\n'
        f'<p><a href="{URL}/05_five.html">Open it in the book.</a></p>'
    ]


def test_a_table_of_findings_says_what_all_seeds_found(index):
    table = Findings("Right answers", [Statement("claim", "scaled", "0.98", "at least 0.9", holds=True)])
    shown = new_output("display_data", data={"text/html": table._repr_html_(), "text/plain": repr(table)})
    (cell,) = plain(index, new_code_cell("state()", outputs=[shown]))
    assert "0.97 to 0.99</td>" in cell.outputs[0].data["text/html"]


def test_a_drawing_becomes_a_picture_that_needs_no_trust(index):
    drawing = '<svg width="30" height="40"><title>Q &amp; K</title><text>7</text></svg>'
    both = {"image/svg+xml": drawing, "text/html": f"<div><style></style>{drawing}</div>"}
    table = new_output("display_data", {"text/html": "<table></table>"})
    (cell,) = plain(index, new_code_cell("draw()", outputs=[new_output("execute_result", both), table]))
    shown = cell.outputs[0].data
    assert shown["image/svg+xml"] == drawing
    picture, address = shown["text/html"].split("data:image/svg+xml;base64,")
    assert picture == '<img alt="Q &amp; K" src="'
    assert base64.b64decode(address.removesuffix('">')).decode() == drawing
    assert cell.outputs[1].data["text/html"] == "<table></table>"


def test_what_a_cell_without_code_says_is_text(index):
    said = new_output("display_data", data={"text/markdown": "| {eq}`eq-a` |", "text/plain": "<Markdown>"})
    tags = {"tags": ["remove-input"]}
    (cell,) = plain(index, new_code_cell("show()", outputs=[said], metadata=tags))
    assert (cell.cell_type, cell.source) == ("markdown", f"| [(4.1)]({URL}/04_four.html#equation-eq-a) |")


def test_a_cell_without_code_stays_where_a_later_one_needs_it(index):
    tags = {"tags": ["remove-input"]}
    cells = [new_code_cell(source, metadata=tags) for source in ("assert True", "model = 1", "from math import pi")]
    made = plain(index, *cells, new_code_cell("print(model)"))
    assert [cell.source.splitlines()[-1] for cell in made] == ["model = 1", "print(model)"]
    assert made[0].metadata["cellView"] == "form"


def test_a_picture_from_a_file_is_a_part_of_the_notebook(tmp_path):
    index = write_book(tmp_path)
    (tmp_path / "book/dot.svg").write_text("<svg/>")
    text = "```{figure} dot.svg\n:name: fig-three\n:alt: A dot.\n\nSo.\n```"
    (cell,) = plain(index, text)
    assert cell.source == "![A dot.](attachment:dot.svg)\n\n**Figure 5.1.** So."
    assert cell.attachments == {"dot.svg": {"image/svg+xml": "PHN2Zy8+"}}


def test_the_last_cell_lists_what_is_cited_by_author(index):
    *_, last = plain(index, "{cite:t}`vaswani2017` {cite:p}`shannon1948, vaswani2017`", "and {cite:t}`vandenoord2016`")
    assert last.source == (
        "## References\n\n"
        "- Claude E. Shannon. Communication. *Letters*, 1948.\n"
        "- Aäron van den Oord and Nal Kalchbrenner. Sound. *Letters*, 2016.\n"
        "- Ashish Vaswani, Noam Shazeer, and Niki Parmar. Attention. *Letters*, 2017."
    )


def test_the_first_cell_installs_the_course_only_where_it_is_missing(index):
    from IPython.core.inputtransformer2 import TransformerManager

    first = plain_notebook(notebook("# Chapter 5 · Five"), "book/05_five", index).cells[0]
    assert first.source.startswith('# "Chapter 5 · Five", of the book "A book"')
    assert '"course_lib @ git+https://git.test/us/book@main"' in first.source
    assert "not-graded" in first.metadata["tags"]
    code = TransformerManager().transform_cell(first.source)
    exec(compile(ast.parse(code), "cell", "exec"), {})  # the course is there: nothing is called that is not
    with pytest.raises(NameError, match="get_ipython"):
        exec(code.replace("import course_lib", "import no_such_course"), {})


# This book.

CHAPTERS = sorted(path.stem for path in (root() / "book/text").glob("[0-9][0-9]_*.md"))
LEFT = re.compile(r"\{[\w:+-]+\}`[^`].*|^\W*(?:`{3,}\{|:{3,}).*|^\(\S+\)=$|\$\$[ \t]*\([\w-]+\)[ \t]*$", re.MULTILINE)


@pytest.fixture(scope="module")
def this_book():
    return Index(root())


@pytest.mark.parametrize("page", [f"{folder}/{stem}" for folder in ("book", "exercises") for stem in CHAPTERS])
def test_no_role_and_no_directive_is_left(this_book, page):
    made = nbformat.reads(plain_page(page, this_book), as_version=4)
    nbformat.validate(made)
    outputs = [output for cell in made.cells for output in cell.get("outputs", [])]
    said = [output.data["text/markdown"] for output in outputs if "text/markdown" in output.get("data", {})]
    said += [cell.source for cell in made.cells if cell.cell_type == "markdown"]
    assert not [left[0] for text in said for left in LEFT.finditer(text)]
    assert not [output for output in outputs if "application/javascript" in output.get("data", {})]
    folded = [cell for cell in made.cells if {"hide-input", "remove-input"} & set(cell.metadata.get("tags", []))]
    assert all(cell.metadata["jupyter"]["source_hidden"] for cell in folded)
    assert not [output for output in outputs if "<script" in output.get("data", {}).get("text/html", "")]


@pytest.mark.parametrize("stem", CHAPTERS)
def test_every_name_that_a_cell_reads_is_still_made(this_book, stem):
    def all_names(cells):
        code = [
            cell for cell in cells if cell.cell_type == "code" and "not-graded" not in cell.metadata.get("tags", [])
        ]
        return (set().union(*each) for each in zip(*(names(cell.source) for cell in code), strict=True))

    made, _ = all_names(read_notebook(root() / f"book/{stem}.ipynb").cells)
    still_made, taken = all_names(nbformat.reads(plain_page(f"book/{stem}", this_book), as_version=4).cells)
    assert made & taken <= still_made


def test_the_search_for_what_is_left_finds_it():
    texts = ["a {cite:t}`b`", "```{note} A\n```", ":::{note}\n:::", "> :::", "(here)=", "$$ a\n$$ (eq-a)"]
    assert all(LEFT.search(text) for text in texts)
    assert not any(LEFT.search(text) for text in ["$\\{a\\}$ `b`", "```python\n{a}\n```", "$$ a \\tag{5.1} $$"])
