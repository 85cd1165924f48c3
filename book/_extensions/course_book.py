"""What the book asks of Sphinx beyond its configuration file."""

import re

from sphinx.environment.collectors.toctree import TocTreeCollector

from course_lib.authoring.what_goes_wrong import completed
from course_lib.grading.catalogue import catalogue


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


def complete_solutions(app, page, source):
    """Give the worked solutions their titles and what goes wrong in each, and take away the marks of the answers."""
    if page.startswith("solutions/"):
        source[0] = completed(source[0], catalogue())
        source[0] = re.sub(r"^[ \t]*(?:#|<!--) (?:BEGIN|END) SOLUTION\b.*\n", "", source[0], flags=re.MULTILINE)


def share_handlers(app):
    """Let the one-page build draw what the page-by-page build draws.

    sphinx-exercise registers handlers for `singlehtml` by name, which hides those that others registered for `html`.
    """
    handlers = app.registry.translation_handlers
    handlers["singlehtml"] = handlers.get("html", {}) | handlers.get("singlehtml", {})


def setup(app):
    """Connect the functions above; those that correct another extension run after it."""
    app.connect("builder-inited", share_handlers, priority=0)
    app.connect("source-read", complete_solutions)
    app.connect("env-get-updated", number_by_chapter, priority=900)
    app.connect("html-page-context", launch_only_notebooks, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
