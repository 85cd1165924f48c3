import math
from collections import Counter

import pytest
import torch

from course_lib.data import python_reference as reference
from course_lib.models.n_gram import NGram

TEXT = "abracadabra"


def kneser_ney(text, order, characters):
    """Interpolated modified Kneser-Ney with dictionaries of strings: the slow specification. Returns p(x, context)."""
    counts = {n: Counter(text[i : i + n] for i in range(len(text) - n + 1)) for n in range(1, order + 1)}
    for n in range(1, order):
        counts[n] = Counter(longer[1:] for longer in counts[n + 1])  # how many different characters stand before each
    discounts = {}
    for n in counts:
        how_many = Counter(counts[n].values())
        discounts[n] = dict.fromkeys((1, 2, 3), 0.5)
        if all(how_many[each] for each in (1, 2, 3, 4)):
            common = how_many[1] / (how_many[1] + 2 * how_many[2])
            for each in (1, 2, 3):
                estimate = each - (each + 1) * common * how_many[each + 1] / how_many[each]
                discounts[n][each] = estimate if estimate > 0 else 0.5

    def probability(x, context, n):
        if n == 0:
            return 1 / len(characters)
        shorter = probability(x, context[1:], n - 1)
        after = {string[-1]: count for string, count in counts[n].items() if string[:-1] == context}
        if not after:
            return shorter
        taken = {each: discounts[n][min(count, 3)] for each, count in after.items()}
        own = (after[x] - taken[x]) / sum(after.values()) if x in after else 0
        return own + sum(taken.values()) / sum(after.values()) * shorter

    def of_last(x, context):
        context = context[len(context) - min(order - 1, len(context)) :]
        return probability(x, context, len(context) + 1)

    return of_last


@pytest.mark.parametrize("order", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("source", ["a word", "the manual", "one letter"])
def test_probabilities_are_those_of_the_slow_specification(order, source):
    text = {"a word": TEXT, "the manual": reference.text()[2000:5000], "one letter": "aaaa"}[source]
    characters = "".join(sorted({*text, "z"}))
    slow, model = kneser_ney(text, order, characters), NGram(text, order, characters)
    contexts = ["", text[0], text[:3], text[-3:], text[1:9], "z", "z" + text[:2], text[:2] + "z", text[-9:]]
    for context in contexts:
        expected = [slow(x, context) for x in characters]
        assert sum(expected) == pytest.approx(1)
        assert model.probabilities(context).tolist() == pytest.approx(expected, abs=1e-6)
        assert model.probability(text[0], context) == pytest.approx(slow(text[0], context), abs=1e-12)
        assert model.probability("z", context) > 0


def test_after_every_context_the_probabilities_sum_to_1():
    model = NGram(reference.text()[:20_000], 6, reference.CHARACTERS)
    tokens = reference.encode(reference.text(held_out=True)[:3000]).unfold(0, 8, 1)  # (context, time)
    sums = model.next_token_logits(tokens).double().exp().sum(dim=-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-5, rtol=0)


def test_counts_of_1_of_2_and_of_more_have_discounts_of_their_own():
    # After "a": once b, twice c, five times d. Strings of length 2 that occur once, twice, ...: all four kinds exist.
    text = "ab" + "ac" * 2 + "ad" * 5 + "bbbb" + "cc" + "dbd"
    model, slow = NGram(text, 2, "abcd"), kneser_ney(text, 2, "abcd")
    assert model.probabilities("a").tolist() == pytest.approx([slow(x, "a") for x in "abcd"], abs=1e-6)


def test_bits_are_those_of_the_probabilities():
    model, fresh = NGram(TEXT, 3, "abcdr"), "cabbraad"
    expected = [-math.log2(model.probability(x, fresh[:i])) for i, x in enumerate(fresh)]
    assert model.bits_of_each(fresh).tolist() == pytest.approx(expected)
    assert model.bits_per_character(fresh) == pytest.approx(sum(expected) / len(fresh))


def test_logits_of_a_batch_are_logarithms_of_probabilities():
    model, contexts = NGram(TEXT, 3, "rabcd"), ["rabra", "ccdab"]
    tokens = torch.tensor([["rabcd".index(x) for x in context] for context in contexts])
    expected = torch.stack([model.probabilities(context) for context in contexts]).log()
    torch.testing.assert_close(model.next_token_logits(tokens), expected)


def test_orders_up_to_10_are_counted_in_the_whole_text_and_pay_less_and_less():
    fresh = reference.text(held_out=True)
    bits = [NGram(reference.text(), order, reference.CHARACTERS).bits_per_character(fresh) for order in (1, 3, 6, 10)]
    assert bits == sorted(bits, reverse=True)
    assert bits[-1] < 2


def test_an_empty_text_or_an_order_of_0_is_refused():
    for text, order in (("", 1), ("a", 0)):
        with pytest.raises(ValueError, match="expected at least 1 of each"):
            NGram(text, order, "a")


def test_a_character_that_is_not_one_of_the_characters_is_refused():
    with pytest.raises(ValueError, match="'b', expected one of the `characters`"):
        NGram("ab", 1, "a")
    with pytest.raises(ValueError, match="'z'"):
        NGram("ab", 2, "ab").probability("a", "z")
