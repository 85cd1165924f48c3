import re

import pytest

from course_lib.authoring.published_models import COLUMNS, TABLES, published_models, show_published_models
from course_lib.project import root

WIDEST = 30  # characters of a cell: more of them would push the table off a page of 1280 pixels


@pytest.mark.parametrize("model", published_models(), ids=lambda model: model["name"])
def test_every_cell_has_its_source(model):
    assert model["cells"].keys() == COLUMNS.keys()
    for column, cell in model["cells"].items():
        assert all(cell[part].strip() for part in ("value", "quotation", "found_at")), column
        assert len(cell["value"]) <= WIDEST, cell["value"]


def test_both_tables_together_have_every_column_once():
    assert [column for columns in TABLES for column in columns] == list(COLUMNS)
    shown = show_published_models().data
    assert all(shown.count(f'<th scope="col">{name}</th>') == 1 for name in COLUMNS.values())


def test_the_ten_models_come_in_the_order_of_their_years_and_are_in_the_bibliography():
    years = [model["year"] for model in published_models()]
    assert len(years) == 10 and years == sorted(years)
    bibliography = (root() / "book/references.bib").read_text("utf-8")
    assert {model["key"] for model in published_models()} <= set(re.findall(r"^@\w+\{([^,\s]+)", bibliography, re.M))


def test_what_is_shown_is_what_is_on_record_and_no_markup_of_a_source_gets_through():
    shown = show_published_models().data
    for model in published_models():
        assert shown.count(f'<th scope="row">{model["name"]}, {model["year"]}</th>') == len(TABLES)
    assert "128 heads, latent 512 + 64" in shown
    assert "<td>405B </td>" not in shown and "&lt;td&gt;405B &lt;/td&gt;" in shown  # the card of Llama 3.1 is in HTML
