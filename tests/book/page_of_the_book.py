"""A page as Jupyter Book makes it around what a cell shows, without building a book."""

from pathlib import Path

import pydata_sphinx_theme
import sphinx_book_theme
from playwright.sync_api import Browser, Page

from course_lib.project import root

STYLES = [
    Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/styles/theme.css",
    Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/styles/pydata-sphinx-theme.css",
    Path(sphinx_book_theme.__file__).parent / "theme/sphinx_book_theme/static/styles/sphinx-book-theme.css",
    root() / "book/_static/course.css",
    root() / "book/_static/explorers.css",
]
# The theme's script chooses the colours.
PAGE = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><script>
const scheme = matchMedia("(prefers-color-scheme: dark)");
const follow = () => {{ document.documentElement.dataset.theme = scheme.matches ? "dark" : "light" }};
scheme.addEventListener("change", follow);
follow();
</script>{scripts}<main class="bd-main"><div class="bd-content"><div class="bd-article-container">
<article class="bd-article"><h1>A page</h1><div class="cell"><div class="cell_output">
<div class="output text_html">{shown}</div></div></div></article></div></div></main></html>"""


def open_page(browser: Browser, shown: str, scripts: tuple[str, ...] = ()) -> Page:
    """Return an open page that shows HTML as a cell's output does, with scripts of book/_static."""
    sources = [(root() / "book/_static" / script).read_text(encoding="utf-8") for script in scripts]
    sources = [source.replace("</script", "<\\/script") for source in sources]  # in a comment, it would end the script
    page = browser.new_page()
    page.set_content(PAGE.format(shown=shown, scripts="".join(f"<script>{source}</script>" for source in sources)))
    page.set_default_timeout(5000)  # but not for content: a page may hold the weights of a model, 2 MB
    for style in STYLES:
        page.add_style_tag(content=style.read_text(encoding="utf-8"))
    return page
