from collections import defaultdict

import pytest
import torch

from course_lib.data import negations
from course_lib.data.negations import BLAME, MAX_LENGTH, PADDING, PRAISE, VOCABULARY, draw_reviews, review


@pytest.fixture(params=[False, True], ids=["training", "held out"])
def drawn(request):
    return draw_reviews(4000, torch.Generator().manual_seed(1), held_out=request.param)


def test_a_review_means_what_it_does_not_deny(drawn):
    for words, length, sentiment in zip(drawn.words, drawn.lengths, drawn.sentiments, strict=True):
        told = review(words).split()
        adjectives = [word for word in told if word in PRAISE + BLAME]
        denied = told[told.index("not") + 1]
        said = next(word for word in adjectives if word != denied)
        assert len(adjectives) == 2 and (said in PRAISE) == bool(sentiment) and (denied in PRAISE) != bool(sentiment)
        assert len(told) == length and (words[length:] == PADDING).all()


def test_every_bag_of_words_is_praise_as_often_as_blame(drawn):
    many = draw_reviews(40_000, torch.Generator().manual_seed(2))
    bags = defaultdict(set)
    for words, sentiment in zip(many.words, many.sentiments, strict=True):
        bags[tuple(sorted(words.tolist()))].add(int(sentiment))
    assert sum(both == {0, 1} for both in bags.values()) > 0.95 * len(bags)
    assert 0.47 < drawn.sentiments.float().mean() < 0.53


def test_neither_order_nor_opener_nor_length_gives_it_away(drawn):
    told = [review(words).split() for words in drawn.words]
    sentiments = drawn.sentiments.float()
    for group in ([row[-2] == "but" for row in told], [row[0] == "we" for row in told], [len(r) == 7 for r in told]):
        group = torch.tensor(group)
        assert 0.2 < group.float().mean() < 0.6 and 0.45 < sentiments[group].mean() < 0.55


def test_held_out_pairs_are_never_shown_in_training():
    def pairs(**arguments):
        many = draw_reviews(20_000, torch.Generator().manual_seed(3), **arguments)
        return {frozenset(set(review(words).split()) & {*PRAISE, *BLAME}) for words in many.words}

    training, held_out = pairs(), pairs(held_out=True)
    assert not training & held_out and len(held_out) == negations.HELD_OUT and len(training) == 44


def test_the_longest_is_as_long_as_it_says_and_the_seed_decides():
    one, two = (draw_reviews(200, torch.Generator().manual_seed(4)) for _ in range(2))
    assert torch.equal(one.words, two.words) and one.lengths.max() == MAX_LENGTH and len(one) == 200
    assert len(set(VOCABULARY)) == len(VOCABULARY) and PADDING == 0
    with pytest.raises(ValueError, match="`number` is 0"):
        draw_reviews(0, torch.Generator())
