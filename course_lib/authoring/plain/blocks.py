"""A text in MyST Markdown as a row of blocks: prose, equations, boxes, and what stays as it is."""

import re
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

PARSER = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin).use(colon_fence_plugin).use(amsmath_plugin)
FENCES = {"fence", "colon_fence"}
EQUATIONS = {"math_block", "math_block_label"}
VERBATIM = {"code_block", "html_block", "amsmath"}
DIRECTIVE = re.compile(r"\{([^{}\s]+)\}\s*(.*)")
OPTION = re.compile(r":([\w-]+):[ \t]*(.*)\n?")


@dataclass(frozen=True)
class Block:
    """Some lines of a text: "prose", "verbatim", "html", "equation", or the name of a directive such as "admonition".

    `content` is what stands inside, `argument` the title of a box, or the label of an equation, or the path of a
    figure; `source` is the whole as it was written.
    """

    kind: str
    content: str
    source: str
    argument: str = ""
    options: dict[str, str] = field(default_factory=dict)


def blocks(text: str) -> list[Block]:
    r"""Return the blocks of `text`, in their order; their sources, joined by line ends, are the text again.

    >>> [(block.kind, block.argument) for block in blocks("Let\n\n$$\nx = 1\n$$ (eq-x)\n\n```{note} Well\nso.\n```")]
    [('prose', ''), ('equation', 'eq-x'), ('prose', ''), ('note', 'Well')]
    """
    lines, found, end = text.split("\n"), [], 0
    for token in PARSER.parse(text):
        if token.type in FENCES | EQUATIONS | VERBATIM:
            first, last = token.map
            found += _prose(lines[end:first])
            found.append(_block(token, "\n".join(lines[first:last])))
            end = last
    return found + _prose(lines[end:])


def _prose(lines: list[str]) -> list[Block]:
    source = "\n".join(lines)
    return [Block("prose", source, source)] if lines else []


def _block(token, source: str) -> Block:
    if token.type in EQUATIONS:
        return Block("equation", token.content.strip(), source, token.info)
    directive = DIRECTIVE.fullmatch(token.info.strip()) if token.type in FENCES else None
    if directive is None:
        return Block("html" if token.type == "html_block" else "verbatim", token.content, source)
    content, options = token.content, {}
    while option := OPTION.match(content):
        options[option[1]] = option[2].strip()
        content = content[option.end() :]
    if directive[1] == "math":
        return Block("equation", content.strip(), source, options.get("label", ""))
    return Block(directive[1], content.strip("\n"), source, directive[2].strip(), options)
