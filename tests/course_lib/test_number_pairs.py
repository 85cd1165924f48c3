import pytest
import torch

from course_lib.data import number_names
from course_lib.data.number_pairs import (
    FIRST_WORD,
    MAX_LENGTH,
    PADDING,
    SEPARATOR,
    VOCABULARY,
    draw_number_pairs,
    held_out,
    spelled,
)


def test_both_sides_name_the_same_number():
    names = number_names.names(torch.arange(10_000))
    pairs = {
        number_names.spelled(source): number_names.spelled(target).removesuffix(" <end>")
        for source, target in zip(names.source, names.target, strict=True)
    }
    rows = [spelled(row) for row in held_out()]
    assert len(set(rows)) == 1000
    for row in rows:
        english, german = row.split(" | ")
        assert pairs[english] == german


def test_training_never_shows_what_is_held_out():
    drawn = draw_number_pairs(20_000, torch.Generator().manual_seed(0))
    shown, kept = {spelled(row) for row in drawn}, {spelled(row) for row in held_out()}
    assert len(shown) == 2000 and not shown & kept
    assert {spelled(row) for row in draw_number_pairs(200, torch.Generator(), held_out=True)} <= kept


def test_a_row_has_words_one_separator_and_padding_behind():
    rows = held_out()
    assert rows.shape == (1000, MAX_LENGTH) and ((rows == SEPARATOR).sum(dim=1) == 1).all()
    assert ((rows != PADDING).int().diff(dim=1) <= 0).all()
    words = rows[(rows != PADDING) & (rows != SEPARATOR)]
    assert words.min() >= FIRST_WORD and words.max() < len(VOCABULARY)
    assert len(VOCABULARY) == len(set(VOCABULARY))


def test_no_row_is_refused():
    with pytest.raises(ValueError, match="`number` is 0"):
        draw_number_pairs(0, torch.Generator())
