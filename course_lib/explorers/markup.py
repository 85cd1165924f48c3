"""What all explorers are made of: a figure that stands without script, the data behind it, and a sentence."""

import json
from collections.abc import Sequence
from html import escape

from IPython.display import HTML

from course_lib.diagrams.svg import STYLE


def explorer(kind: str, data: object, figure: str, sentence: str) -> HTML:
    """Return the explorer `kind`: `figure` as it begins, `data` for book/_static/KIND_explorer.js, and a sentence.

    The sentence says what the reader can do. Outside the book no script runs, and it says so.

    >>> print(explorer("dot", {"at": 1}, "<svg></svg>", "slide the dot").data.split("</style>")[1])
    <div class="dot-explorer explorer course-diagram"><script type="application/json">{"at": 1}</script>
    <div class="figure"><svg></svg></div>
    <p class="hint">In the rendered book, this figure is interactive: slide the dot.</p></div>
    """
    # "</" would end the script element.
    packed = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")
    return HTML(
        f"<style>{STYLE}</style>"
        f'<div class="{kind}-explorer explorer course-diagram"><script type="application/json">{packed}</script>\n'
        f'<div class="figure">{figure}</div>\n'
        f'<p class="hint">In the rendered book, this figure is interactive: {escape(sentence)}.</p></div>'
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return a table in HTML, with a header for each column and each row; a cell may be markup of `bar`.

    >>> print(table(["", "cat"], [["the", bar(0.5)]], "Weights"))
    <table><caption>Weights</caption>
    <tr><td></td><th scope="col">cat</th></tr>
    <tr><th scope="row">the</th><td class="bar" style="--share: 0.5000">0.50</td></tr></table>
    """
    columns = "".join(f'<th scope="col">{escape(each)}</th>' if each else "<td></td>" for each in head)
    lines = [f'<tr><th scope="row">{escape(first)}</th>{"".join(cells)}</tr>' for first, *cells in rows]
    return f"<table><caption>{escape(caption)}</caption>\n" + "\n".join([f"<tr>{columns}</tr>", *lines]) + "</table>"


def bar(share: float, words: str | None = None) -> str:
    """Return a cell with a number and, under it, a bar as long as `share`, from 0 to 1.

    >>> bar(0.25)
    '<td class="bar" style="--share: 0.2500">0.25</td>'
    """
    return f'<td class="bar" style="--share: {share:.4f}">{f"{share:.2f}" if words is None else escape(words)}</td>'
