import re
from pydoc_data.topics import topics

import pytest
import torch

from course_lib.data.python_reference import CHARACTERS, decode, draw_passages, encode, text


def paragraphs(text):
    return [each for each in re.split(r"\n\s*\n", text) if each.strip()]


def test_no_paragraph_comes_twice_and_none_is_on_both_sides():
    training, held_out = paragraphs(text()), paragraphs(text(held_out=True))
    assert len(set(training)) == len(training) and len(set(held_out)) == len(held_out)
    assert not set(training) & set(held_out)
    every = {each.strip() for topic in topics.values() for each in re.split(r"\n\s*\n", topic) if each.strip()}
    assert len(training) + len(held_out) >= 0.99 * len(every)


def test_whole_topics_are_held_out():
    """No topic whose paragraphs are its own is torn apart."""
    held_out = text(held_out=True)
    sides = [
        {
            paragraph in held_out
            for paragraph in map(str.strip, re.split(r"\n\s*\n", topics[name]))
            if len(paragraph) > 200
        }
        for name in ("assert", "lambda", "with", "class", "import")
    ]
    assert all(len(side) <= 1 for side in sides)


def test_it_is_written_in_its_characters_and_comes_back():
    assert len(CHARACTERS) == len(set(CHARACTERS)) == 96
    for each in (text(), text(held_out=True)):
        assert set(each) <= set(CHARACTERS) and decode(encode(each)) == each
    with pytest.raises(ValueError, match="the text has .\u20ac."):
        encode("10 \u20ac")


def test_passages_are_pieces_of_the_training_text():
    passages = draw_passages(20, 50, torch.Generator().manual_seed(1))
    assert passages.shape == (20, 51) and all(decode(passage) in text() for passage in passages)
    again = draw_passages(20, 50, torch.Generator().manual_seed(1))
    assert torch.equal(passages, again) and len({decode(passage) for passage in passages}) == 20
    with pytest.raises(ValueError, match="expected at least 1"):
        draw_passages(0, 50, torch.Generator())
