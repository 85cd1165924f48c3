import pytest
import torch
from num2words import num2words

from course_lib.data.number_names import (
    END,
    PADDING,
    START,
    VOCABULARY,
    draw_number_names,
    held_out,
    names,
    spelled,
)

MANY = torch.cat([torch.arange(1200), torch.arange(0, 1_000_000, 997), torch.tensor([301_000, 999_999])])


def test_the_pieces_make_up_the_german_name():
    pairs = names(MANY)
    for number, row in zip(MANY.tolist(), pairs.target, strict=True):
        pieces = spelled(row).removesuffix(" <end>").replace(" ", "")
        assert pieces == num2words(number, lang="de").replace("einstausend", "eintausend")


def test_the_words_are_those_of_the_english_name():
    pairs = names(MANY)
    for number, row in zip(MANY.tolist(), pairs.source, strict=True):
        assert spelled(row).split() == num2words(number).replace(",", "").replace("-", " ").split()


def test_the_thousand_takes_the_s_from_the_one():
    assert spelled(names(torch.tensor([301_001])).target[0]) == "drei hundert ein tausend eins <end>"


def test_the_target_is_shifted_right_and_padded():
    pairs = names(torch.tensor([49, 3, 121]))
    for target, words in zip(pairs.target.tolist(), pairs.words.tolist(), strict=True):
        length = target.index(END) + 1
        assert words[:length] == [START, *target[: length - 1]]
        assert set(target[length:]) <= {PADDING} and set(words[length:]) <= {PADDING}
    assert spelled(pairs.target[0]) == "neun und vierzig <end>"


def test_no_word_is_in_both_languages_and_no_place_is_free():
    assert len(set(VOCABULARY)) == len(VOCABULARY)
    used = set(
        torch.cat([names(MANY).source.flatten(), names(MANY).words.flatten(), names(MANY).target.flatten()]).tolist()
    )
    assert used == set(range(len(VOCABULARY)))


def test_training_never_shows_what_is_held_out():
    shown = set(draw_number_names(20_000, torch.Generator().manual_seed(0)).numbers.tolist())
    kept = set(held_out().numbers.tolist())
    assert len(kept) == 1000 and len(shown) == 2000 and not shown & kept
    assert set(draw_number_names(500, torch.Generator().manual_seed(0), held_out=True).numbers.tolist()) <= kept


@pytest.mark.parametrize("numbers", [[-1], [1_000_000], []])
def test_numbers_without_a_name_are_refused(numbers):
    with pytest.raises(ValueError, match="expected some from 0 to 999999"):
        names(torch.tensor(numbers))


def test_drawing_nothing_is_refused():
    with pytest.raises(ValueError, match="`number` is 0"):
        draw_number_names(0, torch.Generator())
