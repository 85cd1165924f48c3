"""What an explorer refuses; what it shows stands in tests/book/test_explorers_rendered.py."""

import re
from base64 import b64decode

import numpy
import pytest
import torch

from course_lib.data.negations import VOCABULARY
from course_lib.data.python_reference import CHARACTERS
from course_lib.explorers.cache import explore_cache
from course_lib.explorers.captions import explore_captions
from course_lib.explorers.hiding import explore_hiding
from course_lib.explorers.induction import explore_induction
from course_lib.explorers.looking import explore_looking
from course_lib.explorers.text import explore_text
from course_lib.explorers.weights import packed
from course_lib.models.attention_only import AttentionOnly
from course_lib.models.caption_transformer import CaptionTransformer, Parts
from course_lib.models.classifier import SequenceClassifier
from course_lib.models.language_model import LanguageModel, learned_positions


@pytest.mark.parametrize("locations", [3, 9])
def test_locations_that_do_not_tile_the_picture_are_refused(locations):
    weights = torch.full((1, 1, locations), 1 / locations)
    with pytest.raises(ValueError, match=f"{locations} locations are no square grid over an image with a side of 4"):
        explore_looking(torch.zeros(1, 3, 4, 4), [["red"]], weights)


def unpacked(entry):
    kind = "<f2" if "half" in entry else "<i2"
    numbers = numpy.frombuffer(b64decode(entry.get("half", entry.get("whole"))), kind).astype("float64")
    return torch.tensor(numbers * entry.get("unit", 1)).view(entry["shape"])


def test_what_float16_holds_is_packed_without_loss_and_the_rest_nearly():
    exact, other = torch.randn(2, 7, 30).unbind()
    exact = exact.half().float()
    exact[0, :3] = torch.tensor([0.0, 2.0**-24, -65504.0])  # zero, one that is subnormal, the largest
    result = packed({"a.weight": exact, "b.weight": other, "c.bias": torch.zeros(3)})
    assert "half" in result["a.weight"] and "half" in result["c.bias"] and "whole" in result["b.weight"]
    torch.testing.assert_close(unpacked(result["a.weight"]), exact.half().double(), atol=0, rtol=0)
    largest = other.abs().max().item()
    torch.testing.assert_close(unpacked(result["b.weight"]), other.double(), atol=largest / 65_000, rtol=0)


@pytest.mark.parametrize(
    ("changes", "arguments", "words"),
    [
        ({}, {"prompt": ""}, "`prompt` has 0 characters, expected 1 to 8"),
        ({}, {"prompt": "123456789"}, "`prompt` has 9 characters, expected 1 to 8"),
        ({}, {"layer": 3}, "`layer` is 3 and `head` 1, expected 1 to 2 and 1 to 4"),
        ({}, {"head": 0}, "`layer` is 1 and `head` 0, expected 1 to 2 and 1 to 4"),
        ({"vocab_size": 7}, {}, "must have rotary positions and the 96 characters"),
        ({"make_positions": learned_positions}, {}, "must have rotary positions and the 96 characters"),
    ],
)
def test_a_text_that_cannot_be_explored_is_refused(changes, arguments, words):
    model = LanguageModel(**{"vocab_size": len(CHARACTERS), "max_length": 8} | changes)
    with pytest.raises(ValueError, match=words):
        explore_text(model, **{"prompt": "if x"} | arguments)


def test_signs_of_a_text_are_markup_nowhere():
    shown = explore_text(LanguageModel(vocab_size=len(CHARACTERS), max_length=8), "a<b&\n").data
    assert all(f">{sign}</span>" in shown for sign in ("&lt;", "&amp;", "⏎\n"))


@pytest.mark.parametrize("changes", [{"pool": "max"}, {"padding": -1}, {"vocab_size": 9}, {"classes": 3}])
def test_a_classifier_of_something_else_is_refused(changes):
    model = SequenceClassifier(**{"vocab_size": len(VOCABULARY), "classes": 2} | changes)
    with pytest.raises(ValueError, match=f"expected 'mean', 0, {len(VOCABULARY)} and 2"):
        explore_hiding(model, torch.ones(1, 4, dtype=torch.long))


@pytest.mark.parametrize("prompt", [0, 3])
def test_a_decode_without_two_steps_after_its_prompt_is_refused(prompt):
    with pytest.raises(ValueError, match=f"`prompt` is {prompt}, expected 1 to 2"):
        explore_cache("abcd", prompt, d_model=8, heads=2)


@pytest.mark.parametrize("sequence", ["", "abcabcabc", "ab c", "xyz"])
def test_a_sequence_of_no_tokens_or_too_many_is_refused(sequence):
    with pytest.raises(ValueError, match=f"`sequence` is '{sequence}', expected 1 to 8 letters of abcdefgh"):
        explore_induction(AttentionOnly(vocab_size=8, max_length=8), sequence)


def test_a_model_with_more_tokens_than_letters_is_refused():
    with pytest.raises(ValueError, match="37 tokens, expected at most 36"):
        explore_induction(AttentionOnly(vocab_size=37, max_length=8), "ab")


def test_outlines_are_where_an_earlier_copy_stands_before_the_key():
    shown = explore_induction(AttentionOnly(vocab_size=8, max_length=8), "abcabb").data
    cells = re.findall(r"<i(?: class=\"(\w+)\")? style", shown)  # (query, key), row by row
    outlined = [divmod(number, 6) for number, look in enumerate(cells) if look == "match"]
    assert len(cells) == 36 and outlined == [(3, 1), (4, 2), (5, 2), (5, 5)]
    assert cells.count("future") == 15


@pytest.mark.parametrize("caption", ["red circle", "circle red above blue square", "red circle below blue square"])
def test_a_scene_that_is_none_is_refused(caption):
    with pytest.raises(ValueError, match="expected colour, shape, relation, colour and shape"):
        explore_captions(CaptionTransformer(vocab_size=12).eval(), caption)


def test_a_captioner_that_the_page_cannot_compute_is_refused():
    other = CaptionTransformer(vocab_size=12, parts=Parts(merge_heads=lambda vectors: vectors.flatten(2))).eval()
    with pytest.raises(ValueError, match="made of other parts"):
        explore_captions(other)
    with pytest.raises(ValueError, match="in training mode"):
        explore_captions(CaptionTransformer(vocab_size=12))
