"""The style sheets of a built book as one, with the rules that its pages can use: a telephone waits for it."""

import hashlib
import logging
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tinycss2
from fontTools.subset import Subsetter
from fontTools.ttLib import TTFont

from course_lib.files import write_atomically

logging.getLogger("fontTools").setLevel(logging.WARNING)  # else it tells of each table of a font

IMPORT = re.compile(r'@import "([^"]+)";')
ADDRESS = re.compile(r"(?<=url\()[\"']?(?!data:|#)([^\"')]+)[\"']?(?=\))")
NAMED = re.compile(r'\b(?:class|id)="([^"]*)"')
INSIDE = re.compile(r"<script\b[^>]*>(.*?)</script>", re.DOTALL)
WORD = re.compile(r"[A-Za-z_][\w-]*")
HOLDS_RULES = ("media", "supports")
# A font of icons in its two formats: icons are letters in an area of Unicode that belongs to nobody.
ICON_FONT = re.compile(r'url\(([^()]*/fa-[\w-]+)\.woff2\) ?format\("woff2"\), ?url\(\1\.ttf\) ?format\("truetype"\)')
ICON = re.compile("[\ue000-\uf8ff]")


@cache
def one_sheet(sheets: tuple[Path, ...], used: frozenset[str]) -> Path:
    """Write the style sheets into one beside the first, named after what it holds, and return its path.

    A rule stays if all classes and ids that it names are among the names `used`, and a font keeps the icons that rules
    show.
    """
    home = sheets[0].parent
    text = _of_use("\n".join(_complete(sheet, home) for sheet in sheets), used)
    icons = "".join(sorted(set(ICON.findall(text))))
    text = ICON_FONT.sub(lambda found: f'url({_with_icons(home, found[1], icons)}) format("woff")', text)
    file = home / f"book.{hashlib.sha256(text.encode()).hexdigest()[:8]}.css"
    write_atomically(file, text)
    return file


def names_used(home: Path) -> frozenset[str]:
    """Return the classes and ids of all pages below `home`, and all words of scripts, which may add classes."""
    names = set()
    for page in home.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for found in NAMED.findall(text):
            names.update(found.split())
        for script in INSIDE.findall(text):
            names.update(WORD.findall(script))
    for script in (home / "_static").rglob("*.js"):
        if "mathjax" not in script.parts:  # it brings its own styles
            names.update(WORD.findall(script.read_text(encoding="utf-8")))
    return frozenset(names)


def address(file: Path, folder: Path) -> str:
    """Return how a file is addressed from a folder."""
    return Path(os.path.relpath(file, folder)).as_posix()


def _with_icons(home: Path, font: str, icons: str) -> str:
    """Write a font with these icons alone beside the full one, and return its address as seen from `home`."""
    full = home / f"{font}.ttf"
    content = TTFont(full, recalcTimestamp=False)
    subsetter = Subsetter()
    subsetter.populate(text=icons)
    subsetter.subset(content)
    content.flavor = "woff"
    content.save(full.with_suffix(".woff"))
    return f"{font}.woff"


def _complete(sheet: Path, home: Path) -> str:
    """Return a style sheet with those that it imports, and with addresses as seen from `home`."""
    text = sheet.read_text(encoding="utf-8")
    text = ADDRESS.sub(lambda found: address(sheet.parent / found[1], home), text)
    return IMPORT.sub(lambda found: _complete((sheet.parent / found[1]).resolve(), home), text)


def _of_use(text: str, used: frozenset[str]) -> str:
    """Return the rules of a style sheet whose classes and ids are all among the names."""
    kept = []
    for rule in tinycss2.parse_rule_list(text, skip_comments=True, skip_whitespace=True):
        content = tinycss2.serialize(rule.content or []).strip() if rule.type != "error" else ""
        if rule.type == "qualified-rule":
            selectors = [each for each in _parts(rule.prelude) if used.issuperset(_names(each))]
            if selectors:
                kept.append(f"{','.join(tinycss2.serialize(each).strip() for each in selectors)}{{{content}}}")
        elif rule.type == "at-rule" and rule.lower_at_keyword in HOLDS_RULES:
            if inner := _of_use(content, used):
                kept.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        else:
            kept.append(rule.serialize())
    return "\n".join(kept)


def _parts(prelude: list) -> Iterator[list]:
    """Yield what stands between the commas of a list of selectors."""
    part = []
    for token in prelude:
        if token == ",":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _names(selector: list) -> Iterator[str]:
    """Yield the classes and ids of a selector, without those in the brackets of `:not()` and the like."""
    before = None
    for token in selector:
        if token.type == "hash" or (token.type == "ident" and before == "."):
            yield token.value
        before = token
