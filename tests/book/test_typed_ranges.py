"""Ranges that a chapter's code draws are typed there, since a reader's copy has no ledger: they are the ledger's."""

import re

from tests.book.test_contract import ledger, root

DRAWN = re.compile(r'^    "[^"]+": \(saved\([^)]*\), (?P<least>-?[\d.]+), (?P<most>-?[\d.]+)\),$', flags=re.M)


def test_the_figure_of_chapter_16_draws_the_ranges_of_its_claims():
    (file,) = (root() / "book" / "text").glob("16_*.md")
    drawn = [(float(row["least"]), float(row["most"])) for row in DRAWN.finditer(file.read_text(encoding="utf-8"))]
    letters = re.compile(r"[A-E]\b.*(in place of|beside RoPE)")
    measured = [claim["values"] for claim in ledger()["16"]["claims"] if letters.match(claim["name"])]
    assert drawn == [(min(values), max(values)) for values in measured]
    assert len(drawn) == 7
