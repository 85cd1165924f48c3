"""The pages that the table of contents promises, and those that were built."""

from pathlib import Path

import yaml

from course_lib.authoring.contents import pages
from course_lib.project import root

HTML = root() / "_build" / "html"


def contents(part: dict | None = None) -> list[str]:
    """Return the pages that `part` names, without suffix, in order; without a part those of the whole _toc.yml."""
    if part is None:
        part = yaml.safe_load((root() / "_toc.yml").read_text(encoding="utf-8"))
    return pages(part)


def built_pages() -> list[Path]:
    """Return the pages of the built book, without the one that only redirects to the first."""
    if not (HTML / "index.html").exists():
        raise FileNotFoundError(f"there is no built book in {HTML}: run `make book`")
    own = [page for page in HTML.rglob("*.html") if "_static" not in page.relative_to(HTML).parts]
    return sorted(page for page in own if page != HTML / "index.html")
