"""What published models use, part by part, with the source of every cell."""

import json
from html import escape
from pathlib import Path

from IPython.display import HTML

COLUMNS = {
    "normalisation": "normalisation",
    "feed_forward": "feed-forward network",
    "positions": "positions",
    "keys_values": "keys and values",
    "context": "context, tokens",
    "else": "what else",
}
TABLES = (("normalisation", "feed_forward", "positions"), ("keys_values", "context", "else"))  # a telephone shows three


def published_models() -> list[dict]:
    """Return the models, oldest first: name, year, key of the reference, and a value, quotation and place each cell.

    Where only a copy of the source was read, a cell says which (`copy`).

    >>> published_models()[0]["cells"]["positions"]["value"]
    'sinusoids, base 10,000'
    """
    return json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def show_published_models() -> HTML:
    """Return the models as two tables, and below them, folded, a quotation from a source for every cell.

    >>> show_published_models().data.count("<tr>")
    22
    """
    tables = "".join(_table(columns) for columns in TABLES)
    sources = "".join(_sources(model) for model in published_models())
    return HTML(f"{tables}<details><summary>The sources: a quotation for every cell</summary>{sources}</details>")


def _table(columns: tuple[str, ...]) -> str:
    """Return a table with a row for each model and these columns."""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("model", *(COLUMNS[column] for column in columns)))
    rows = [f"<tr>{head}</tr>"]
    for model in published_models():
        values = "".join(f"<td>{escape(model['cells'][column]['value'])}</td>" for column in columns)
        rows.append(f'<tr><th scope="row">{_title(model)}</th>{values}</tr>')
    return f'<table class="table models">{"".join(rows)}</table>'


def _title(model: dict) -> str:
    return f"{escape(model['name'])}, {model['year']}"


def _sources(model: dict) -> str:
    lines = (
        f"<dt>{name}: {escape(cell['value'])}</dt><dd>“{escape(cell['quotation'])}” ({escape(cell['found_at'])})</dd>"
        for name, cell in ((name, model["cells"][column]) for column, name in COLUMNS.items())
    )
    return f"<details><summary>{_title(model)}</summary><dl>{''.join(lines)}</dl></details>"
