"""Pages that show their text first: one style sheet, the scripts that a page uses, and formulas after the text.

The theme's templates have no options for this.
"""

import hashlib
import os
import re
from functools import cache
from pathlib import Path

from course_lib.files import write_atomically

SHEET = re.compile(r'<link [^>]*href="([^"?]*\.css)[^>]*>\n? *')
IMPORT = re.compile(r'@import "([^"]+)";')
ADDRESS = re.compile(r"(?<=url\()[\"']?(?!data:|#)([^\"')]+)[\"']?(?=\))")
ICONS = re.compile(r"<script [^>]*/fontawesome\.js[^>]*></script>\n? *")
EXPLORER = re.compile(r"<script [^>]*/(\w+)_explorer\.js[^>]*></script>\n? *")
FORMULAS = re.compile(r'<script [^>]*src="([^"]*/tex-chtml\.js)"></script>')
# In a browser: true as soon as all formulas of the page are drawn.
FORMULAS_STAND = "() => !document.querySelector('.math') || window.MathJax?.startup?.promise?.then(() => true)"
AFTER_THE_TEXT = """<script>addEventListener("load", () => {{
      document.head.append(Object.assign(document.createElement("script"), {{ src: "{}" }}));
    }});</script>"""


def lighten(page: Path) -> None:
    """Rewrite an HTML file of the book so that a telephone shows its text early; what a reader sees stays.

    Its style sheets become one. Icons are letters of a font, so the theme's script that draws them again, half a
    megabyte, is left out, and so are explorers that the page has not got. MathJax begins when the text is there.
    """
    text = page.read_text(encoding="utf-8")
    sheets = SHEET.findall(text)
    if not sheets:  # not a page of the theme
        return
    styles = one_sheet(tuple((page.parent / sheet).resolve() for sheet in sheets))
    link = f'<link rel="stylesheet" href="{_address(styles, page.parent)}" />\n  '
    start = SHEET.search(text).start()
    text = text[:start] + link + SHEET.sub("", text[start:])
    text = ICONS.sub("", text)
    text = EXPLORER.sub(lambda found: found[0] if f'class="{found[1]}-explorer' in text else "", text)
    text = FORMULAS.sub(lambda found: AFTER_THE_TEXT.format(found[1]), text)
    write_atomically(page, text)


@cache
def one_sheet(sheets: tuple[Path, ...]) -> Path:
    """Write the style sheets into one beside the first, named after what it holds, and return its path."""
    home = sheets[0].parent
    text = "\n".join(_complete(sheet, home) for sheet in sheets)
    file = home / f"book.{hashlib.sha256(text.encode()).hexdigest()[:8]}.css"
    write_atomically(file, text)
    return file


def _complete(sheet: Path, home: Path) -> str:
    """Return a style sheet with those that it imports, and with addresses as seen from `home`."""
    text = sheet.read_text(encoding="utf-8")
    text = ADDRESS.sub(lambda found: _address(sheet.parent / found[1], home), text)
    return IMPORT.sub(lambda found: _complete((sheet.parent / found[1]).resolve(), home), text)


def _address(file: Path, folder: Path) -> str:
    return Path(os.path.relpath(file, folder)).as_posix()
