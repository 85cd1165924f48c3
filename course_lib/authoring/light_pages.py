"""Pages that show their text first: one style sheet, the scripts that a page uses, and formulas after the text.

The theme's templates have no options for this.
"""

import re
from pathlib import Path

from course_lib.authoring.style_sheets import address, one_sheet
from course_lib.files import write_atomically

SHEET = re.compile(r'<link [^>]*href="([^"?]*\.css)[^>]*>\n? *')
ICONS = re.compile(r"<script [^>]*/fontawesome\.js[^>]*></script>\n? *")
EXPLORER = re.compile(r"<script [^>]*/(\w+)_explorer\.js[^>]*></script>\n? *")
AT_ONCE = re.compile(r'<script (?![^>]*\bdefer\b)(?=[^>]*\bsrc=")')
NAME = re.compile(r"<script>(DOCUMENTATION_OPTIONS\.pagename = .*?)</script>")
NAME_LATER = r'<script>addEventListener("DOMContentLoaded", () => { \1 });</script>'  # when its script has run
FORMULAS = re.compile(
    r'(<script>window\.MathJax = [^<]*</script>)\s*<script [^>]*src="(([^"]*/)mathjax/tex-chtml\.js)"></script>'
)
# In a browser: asks for all formulas of the page, and is true as soon as they are drawn.
FORMULAS_STAND = "() => !document.querySelector('.math') || window.drawFormulas().then(() => true)"
AFTER_THE_TEXT = r'\1\n    <script defer src="\3formulas.js" data-mathjax="\2"></script>'
CODE = re.compile(r"<pre(?P<rest>[^>]*)>(?P<code>.*?)</pre>", re.DOTALL)
# Names, punctuation and spaces: they have the colour of all text, and are two thirds of the elements of code.
PLAIN = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')
FIRST_FIGURE = re.compile(r"(<figure\b[^>]*>\s*<img )")


def lighten(page: Path, used: frozenset[str]) -> None:
    """Rewrite an HTML file of the book so that a telephone shows its text early; what a reader sees stays.

    Its style sheets become one, with the rules that the names `used` in the book ask for. Icons are letters of a font,
    so the theme's script that draws them again, half a megabyte, is left out, and so are explorers that the page has
    not got. No script is waited for, and where there are formulas, formulas.js draws them after the text. The first
    figure is fetched first. Code says how many lines it has, so that course.css knows how high it is before a browser
    has laid it out; and what has no colour of its own is no element.
    """
    text = page.read_text(encoding="utf-8")
    sheets = SHEET.findall(text)
    if not sheets:  # not a page of the theme
        return
    styles = one_sheet(tuple((page.parent / sheet).resolve() for sheet in sheets), used)
    link = f'<link rel="stylesheet" href="{address(styles, page.parent)}" />\n  '
    start = SHEET.search(text).start()
    text = text[:start] + link + SHEET.sub("", text[start:])
    text = ICONS.sub("", text)
    text = EXPLORER.sub(lambda found: found[0] if f'class="{found[1]}-explorer' in text else "", text)
    text = FORMULAS.sub(AFTER_THE_TEXT if 'class="math' in text else "", text)
    text = FIRST_FIGURE.sub(r'\1fetchpriority="high" ', text, count=1)
    text = CODE.sub(_light_code, text)
    text = NAME.sub(NAME_LATER, AT_ONCE.sub("<script defer ", text))
    write_atomically(page, text)


def _light_code(found: re.Match) -> str:
    lines = found["code"].rstrip("\n").count("\n") + 1
    code = PLAIN.sub(r"\1", found["code"])
    return f'<pre style="--lines: {lines}"{found["rest"]}>{code}</pre>'
