"""What the book asks of Sphinx beyond its configuration file."""

import hashlib
import json
import re
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.util.docutils import SphinxDirective

from course_lib.authoring.ledger_entries import claims_of, read_ledger
from course_lib.authoring.library_links import imported, with_links
from course_lib.authoring.light_pages import lighten
from course_lib.authoring.plain.index import NOTEBOOK, Index
from course_lib.authoring.plain.notebook import plain_page
from course_lib.authoring.seeds_in_tables import with_seeds
from course_lib.authoring.style_sheets import names_used
from course_lib.authoring.what_goes_wrong import completed
from course_lib.files import write_atomically
from course_lib.grading.catalogue import catalogue

DEEPER = "going-deeper"  # the part of a chapter that few readers need
FOLD = ('<details class="deeper"><summary>', "</summary>", "</details>")
PLAIN = "notebooks"  # the folder of the built book, and the branch, that hold the plain form
DATA = re.compile(r'(<script type="application/json")>(.*?)</script>', re.DOTALL)  # of an explorer
LARGE = 50_000  # characters: more of an explorer's data than a page should begin with


class FromChapter(SphinxDirective):
    """Show what a cell of a chapter displays, on another page: `{from-chapter} 02_full_name function_it_calls`."""

    required_arguments = 2

    def run(self):
        """Return the HTML of the first cell that calls the function."""
        chapter, function = self.arguments
        file = Path(self.env.srcdir, "book", f"{chapter}.ipynb")
        self.env.note_dependency(str(file))
        for cell in nbformat.read(file, as_version=4).cells:
            if cell.cell_type == "code" and f"{function}(" in cell.source:
                (output,) = cell.outputs
                return [nodes.raw("", output.data["text/html"], format="html")]
        raise self.error(f"no cell of {chapter} calls {function}")


def number_by_chapter(app, env):
    """Number figures, tables and equations within their chapter: Figure 2.1 is the first of chapter 2.

    The number stands in the name of the file (02_full_name); the titles carry it already, so the table of contents is
    not numbered, and Sphinx would count the figures of the whole book in one row.
    """
    titles = env.toc_secnumbers
    chapters = {page: re.search(r"/(\d\d)_", page) for page in env.found_docs}
    env.toc_secnumbers = {page: {"": (int(chapter[1]),)} for page, chapter in chapters.items() if chapter}
    changed = TocTreeCollector().assign_figure_numbers(env)
    env.toc_secnumbers = titles
    return changed


def launch_only_notebooks(app, page, template, context, doctree):
    """Take the Colab and Binder buttons from pages whose source is not an .ipynb: the links would open plain text."""
    if doctree is not None and not str(app.env.doc2path(page)).endswith(".ipynb"):
        buttons = context.get("header_buttons", [])
        buttons[:] = [button for button in buttons if button.get("label") != "launch-buttons"]


def write_plain_notebooks(app, exception):
    """Write the plain form of chapters and exercises beside the pages, where the buttons lead to."""
    if exception is None and app.builder.name == "html":
        index = Index(Path(app.srcdir))
        for page in index.notebooks:
            write_atomically(Path(app.outdir, PLAIN, f"{page}.ipynb"), plain_page(page, index))


def lead_to_plain_notebooks(app, page, template, context, doctree):
    """Let the buttons of chapters and exercises download and open the plain form.

    Colab reads the branch that publishing fills with it, Binder the copies that `course start` makes in its machine.
    """
    if not NOTEBOOK.match(page):
        return
    folder, _, name = page.partition("/")
    branch = context["theme_repository_branch"]
    copied = {"book": "my_exercises/chapters", "exercises": "my_exercises"}[folder]
    buttons = [button for group in context.get("header_buttons", []) for button in group.get("buttons", [])]
    for button in buttons:
        if button.get("label") == "download-source-button":
            button["url"] = f"{context['pathto'](PLAIN, 1)}/{page}.ipynb"
        elif button.get("text") == "Colab":
            button["url"] = button["url"].replace(f"/blob/{branch}/", f"/blob/{PLAIN}/")
        elif button.get("text") == "Binder":
            button["url"] = button["url"].replace(f"/tree/{page}", f"/tree/{copied}/{name}")


def show_seeds(app, page, template, context, doctree):
    """Let the tables of a chapter say what all seeds of the ledger found: the page itself is one of them."""
    if NOTEBOOK.match(page):
        ledger = read_ledger(Path(app.srcdir, "book", "_data", "claims.json"))
        context["body"] = with_seeds(context["body"], claims_of(ledger, page))


def link_library(app, page, template, context, doctree):
    """Let the names of the library in the code of a chapter lead to their place on the library page."""
    if not NOTEBOOK.match(page):
        return
    objects = app.env.get_domain("py").objects

    def address(name):
        if name in objects:
            return f"{context['pathto'](objects[name].docname)}#{objects[name].node_id}"

    cells = nbformat.read(app.env.doc2path(page), as_version=4).cells
    names = imported(cell.source for cell in cells if cell.cell_type == "code")
    context["body"] = with_links(context["body"], names, address)


def keep_data_apart(app, page, template, context, doctree):
    """Put large data of explorers, such as the weights of a model, into files that explorers.js asks for later."""

    def moved(found):
        data = found[2]
        if len(data) < LARGE:
            return found[0]
        name = f"{Path(page).name}_{hashlib.sha256(data.encode()).hexdigest()[:8]}.js"  # a new name for new data
        address = context["pathto"](f"_static/data/{name}", 1)
        write_atomically(Path(app.outdir, "_static", "data", name), f"keptApart[{json.dumps(address)}] = {data};\n")
        return f'{found[1]} data-file="{address}"></script>'

    if app.builder.name == "html" and "body" in context:
        context["body"] = DATA.sub(moved, context["body"])


def let_quizzes_wait(app, page, template, context, doctree):
    """Let a quiz begin before MathJax, which finds its formulas later; jupyterquiz stops where MathJax comes late."""
    if "body" in context:
        context["body"] = context["body"].replace("version[0] ==", "version?.[0] ==")


def complete_solutions(app, page, source):
    """Give the worked solutions their titles and what goes wrong in each, and take away the marks of the answers."""
    if page.startswith("solutions/"):
        source[0] = completed(source[0], catalogue())
        source[0] = re.sub(r"^[ \t]*(?:#|<!--) (?:BEGIN|END) SOLUTION\b.*\n", "", source[0], flags=re.MULTILINE)


def fold_what_goes_deeper(app, doctree, page):
    """Fold each section below "Going deeper": someone who stops before it has learned the chapter."""
    if app.builder.name != "html":
        return
    for part in doctree.findall(nodes.section):
        if DEEPER in part["ids"]:
            for section in part.children:
                if isinstance(section, nodes.section):
                    title, *rest = section.children
                    # The heading stays one, in the line that unfolds.
                    opening, between, closing = (nodes.raw("", tag, format="html") for tag in FOLD)
                    section.children = []
                    section += [opening, title, between, *rest, closing]


def lighten_pages(app, exception):
    """Let a reader see the text first."""
    if exception is None and app.builder.name == "html":
        used = names_used(Path(app.outdir))
        for page in Path(app.outdir).rglob("*.html"):
            if "_static" not in page.relative_to(app.outdir).parts:  # a template of the theme stands there
                lighten(page, used)


def share_handlers(app):
    """Let the one-page build draw what the page-by-page build draws.

    sphinx-exercise registers handlers for `singlehtml` by name, which hides those that others registered for `html`.
    """
    handlers = app.registry.translation_handlers
    handlers["singlehtml"] = handlers.get("html", {}) | handlers.get("singlehtml", {})


def setup(app):
    """Connect the functions above; those that correct another extension run after it."""
    app.add_directive("from-chapter", FromChapter)
    app.connect("builder-inited", share_handlers, priority=0)
    app.connect("source-read", complete_solutions)
    app.connect("env-get-updated", number_by_chapter, priority=900)
    app.connect("doctree-resolved", fold_what_goes_deeper)
    app.connect("html-page-context", launch_only_notebooks, priority=900)
    app.connect("html-page-context", lead_to_plain_notebooks, priority=901)
    app.connect("html-page-context", show_seeds)
    app.connect("html-page-context", link_library)
    app.connect("html-page-context", keep_data_apart)
    app.connect("html-page-context", let_quizzes_wait)
    app.connect("build-finished", write_plain_notebooks)
    # After the theme, which writes the colours of code anew at this event.
    app.connect("build-finished", lighten_pages, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
