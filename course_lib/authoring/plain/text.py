"""MyST Markdown as Markdown that every notebook viewer renders: roles become words, boxes become quotations."""

import posixpath
import re
from collections.abc import Callable

from course_lib.authoring.plain.blocks import Block, blocks
from course_lib.authoring.plain.index import Index
from course_lib.project import CourseError

BOXES = {"admonition", "attention", "caution", "danger", "error", "hint", "important", "margin", "note", "seealso"}
BOXES |= {"sidebar", "tip", "topic", "warning"}
EXPLORER = re.compile(r'<div[^>]*class="[^"]*-explorer\b')
SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
# What stands in a sentence: an escaped character, a role, code, a formula, a link. Roles and links are rewritten.
INLINE = re.compile(
    r"""\\. | \{(?P<role>[\w:+-]+)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)
    | (?P<code>`+)(?!`).+?(?<!`)(?P=code)(?!`) | (?P<formula>\$[^$]+\$)
    | (?<!!)\[(?P<words>[^\[\]]+)\]\((?P<target>[^\s()]+)\)""",
    re.DOTALL | re.VERBOSE,
)
LABEL = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)  # of the heading below
TARGETED = re.compile(r"(?P<words>.+?)\s*<(?P<target>[^<>]+)>", re.DOTALL)


class Writer:
    """Rewrites the texts of one page of the book; remembers which works they cite and which pictures they show.

    Raises CourseError for a role or a directive that has no plain form, and for a reference that leads nowhere.
    """

    def __init__(self, page: str, index: Index):
        self.page, self.index, self.cited, self.pictures = page, index, set(), []

    def text(self, source: str) -> str:
        """Return a text of any length in plain Markdown."""
        return "\n".join(self._block(block) for block in blocks(source))

    def caption(self, label: str, source: str) -> str:
        """Return what stands under a figure."""
        return f"**Figure {self.index.number(label)}.** {self._sentences(source)}"

    def explorer(self, html: str) -> str:
        """Return what is left of a figure that answers to the hand without its scripts, and where it is whole."""
        link = self.index.address and f'<p><a href="{self.index.address}{self.page}.html">Open it in the book.</a></p>'
        return SCRIPT.sub("", html).rstrip() + (f"\n{link}" if link else "")

    def _block(self, block: Block) -> str:
        if block.kind == "prose":
            return "\n\n".join(map(self._sentences, block.content.split("\n\n")))
        if block.kind == "equation":
            return self._equation(block)
        if block.kind == "html" and EXPLORER.search(block.content):
            return self.explorer(block.content)
        if block.kind in ("verbatim", "html"):
            return block.source
        if block.kind in BOXES:
            return self._box(block)
        if block.kind == "figure":
            return self._figure(block)
        if block.kind == "dropdown":
            title = self._sentences(block.argument)
            return f"<details><summary>{title}</summary>\n\n{self.text(block.content)}\n\n</details>"
        if block.kind == "literalinclude":
            code = (self.index.home / self.file(block.argument)).read_text(encoding="utf-8")
            return f"```{block.options.get('language', '')}\n{code.rstrip()}\n```"
        raise CourseError(f"{self.page}: {{{block.kind}}} has no plain form, give it one in {__name__}")

    def file(self, path: str) -> str:
        """Return the path, from the root of the book, of a file that the page names; CourseError for none."""
        # A path with a slash before it begins at the root of the book.
        found = posixpath.normpath(posixpath.join("/", posixpath.dirname(self.page), path)).lstrip("/")
        if not (self.index.home / found).is_file():
            raise CourseError(f"{self.page}: {path!r} is no file of the book")
        return found

    def _equation(self, block: Block) -> str:
        tag = f" \\tag{{{self.index.number(block.argument)}}}" if block.argument else ""
        return f"$$\n{block.content}{tag}\n$$"

    def _box(self, block: Block) -> str:
        """Return a quotation under a bold title; a formula is one line there, or `>` would become a part of it."""
        inside = [
            text.replace("\n", " ") if each.kind == "equation" else text
            for each in blocks(block.content)
            for text in [self._block(each)]
        ]
        title = self._sentences(block.argument) if block.argument else block.kind.capitalize()
        lines = [f"**{title}**", "", *"\n".join(inside).strip().split("\n")]
        return "\n".join(f"> {line}".rstrip() for line in lines)

    def _figure(self, block: Block) -> str:
        """Return a picture that stands in a file, which becomes a part of the notebook, and its caption."""
        self.pictures.append(posixpath.join(posixpath.dirname(self.page), block.argument))
        picture = f"![{block.options.get('alt', '')}](attachment:{posixpath.basename(block.argument)})"
        return f"{picture}\n\n{self.caption(block.options['name'], block.content)}"

    def _sentences(self, source: str) -> str:
        return INLINE.sub(self._inline, LABEL.sub(r'<a id="\1"></a>\n', source))

    def _inline(self, found: re.Match) -> str:
        if found["formula"]:
            return found[0].replace("\n", " ")
        if found["target"]:
            return self._link(found)
        if not found["role"]:
            return found[0]
        if found["role"] not in ROLES:
            raise CourseError(f"{self.page}: {{{found['role']}}} has no plain form, give it one in {__name__}")
        return ROLES[found["role"]](self, " ".join(found["content"].split()))

    def _link(self, found: re.Match) -> str:
        """Return a link to another page; what leads out of the book, or stays in the page, is left as it is."""
        path, hash_sign, anchor = found["target"].partition("#")
        if not path or ":" in path:
            return found[0]
        return self.page_link(self._sentences(found["words"]), re.sub(r"\.(ipynb|md)$", "", path), hash_sign + anchor)

    def page_link(self, words: str, path: str, anchor: str = "") -> str:
        """Return `words`, or the title of the page where there are none, with a link to the page at `path`."""
        # A path with a slash before it begins at the root of the book.
        path_from_root = posixpath.join("/", posixpath.dirname(self.page), path)
        page = self.index.pages.get(posixpath.normpath(path_from_root).lstrip("/"))
        if page is None:
            raise CourseError(f"{self.page}: {path!r} is no page of the book")
        if words and self.index.address is None and words.lower() != page.words.lower():
            words = f"{words} (*{page.words}*)"  # "the next page" says nothing without a link
        return self.index.link(words or page.words, page.address + anchor)


def _cited(writer: Writer, content: str) -> list[str]:
    keys = [key.strip() for key in content.split(",")]
    writer.cited.update(keys)
    return keys


def _term(writer: Writer, content: str) -> str:
    words, target = _parts(content)
    return writer.index.link(f"*{words}*", writer.index.term(target))


def _object(calling: str) -> Callable[[Writer, str], str]:
    """Return the role that names an object of the library; a function has `calling` brackets."""

    def role(writer: Writer, content: str) -> str:
        path = content.removeprefix("~")
        name = path.rpartition(".")[2] if content.startswith("~") else path
        return writer.index.link(f"`{name}{calling}`", writer.index.of_the_library(path))

    return role


def _download(writer: Writer, content: str) -> str:
    words, target = _parts(content)
    return writer.index.link_source(f"`{words}`", writer.file(target))


def _document(writer: Writer, content: str) -> str:
    words, target = _parts(content)
    return writer.page_link(words if words != target else "", target)


def _parts(content: str) -> tuple[str, str]:
    """Return the words and the target of a role: both are the same where only one is given."""
    parts = TARGETED.fullmatch(content)
    return (parts["words"], parts["target"]) if parts else (content, content)


ROLES = {
    "cite:t": lambda writer, content: writer.index.bibliography.textual(_cited(writer, content)),
    "cite:p": lambda writer, content: writer.index.bibliography.parenthetical(_cited(writer, content)),
    "term": _term,
    "numref": lambda writer, label: writer.index.link_label(f"Figure {writer.index.number(label)}", label),
    "eq": lambda writer, label: writer.index.link_label(f"({writer.index.number(label)})", label),
    "doc": _document,
    "download": _download,
    "func": _object("()"),
    "class": _object(""),
}
