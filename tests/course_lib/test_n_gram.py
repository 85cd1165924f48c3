import math
from fractions import Fraction

import pytest
import torch

from course_lib.models.n_gram import NGram

TEXT = "abracadabra"


def by_hand(character, context):
    """Witten and Bell, recursively, with fractions."""
    shorter = by_hand(character, context[1:]) if context else Fraction(1, 5)
    after = [TEXT[i + len(context)] for i in range(len(TEXT) - len(context)) if TEXT[i : i + len(context)] == context]
    if not after:
        return shorter
    different = len(set(after))
    return (after.count(character) + different * shorter) / Fraction(len(after) + different)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_probabilities_are_those_by_hand_and_sum_to_1(order):
    model = NGram(TEXT, order, "abcdr")
    for context in ("", "a", "br", "bra", "zzz", "cab", "rabra"):
        used = context[len(context) - min(order - 1, len(context)) :]
        for character in "abcdr":
            assert model.probability(character, context) == pytest.approx(float(by_hand(character, used)), abs=1e-12)
        assert model.probabilities(context).sum().item() == pytest.approx(1)


def test_bits_are_the_mean_surprise():
    model = NGram(TEXT, 3, "abcdr")
    due = [by_hand(character, "cab"[max(0, place - 2) : place]) for place, character in enumerate("cab")]
    assert model.bits_per_character("cab") == pytest.approx(-sum(math.log2(each) for each in due) / 3)


def test_what_was_never_seen_has_a_share():
    assert 0 < NGram("aaaa", 3, "ab").probability("b", "aa") < 0.1


def test_an_empty_text_or_an_order_of_0_is_refused():
    for text, order in (("", 1), ("a", 0)):
        with pytest.raises(ValueError, match="expected at least 1 of each"):
            NGram(text, order, "a")


def test_one_probability_for_each_character_in_their_order():
    model = NGram(TEXT, 2, "rab")
    assert model.probabilities("a").tolist() == pytest.approx([model.probability(each, "a") for each in "rab"])
    assert model.probabilities("a").dtype == torch.float32
