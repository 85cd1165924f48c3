import pytest
import torch

from course_lib.data import comparisons
from course_lib.data.comparisons import (
    LARGEST,
    MAX_LENGTH,
    NUMBERS,
    PADDING,
    VOCABULARY,
    draw_comparisons,
    statement,
)


def read(text):
    """Return the two numbers of a statement and whether it says that the first is less."""
    names = {" ".join(words): number for number, words in NUMBERS.items()}
    first, rest = text.split(" is ")
    word, second = rest.split(" than ")
    return names[first], names[second], word == "less"


@pytest.fixture(params=[False, True], ids=["training", "held out"])
def drawn(request):
    return draw_comparisons(4000, torch.Generator().manual_seed(1), held_out=request.param)


def test_every_statement_is_what_its_truth_says(drawn):
    for words, length, truth in zip(drawn.words, drawn.lengths, drawn.truths, strict=True):
        first, second, says_less = read(statement(words))
        assert first != second and (first < second) == (says_less == bool(truth))
        assert (words[:length] != PADDING).all() and (words[length:] == PADDING).all()


def test_nothing_but_order_gives_the_truth_away(drawn):
    """Half are true, also of those that begin with the smaller number, and of those that say less."""
    facts = [read(statement(words)) for words in drawn.words]
    truths = drawn.truths.float()
    for group in ([first < second for first, second, _ in facts], [less for *_, less in facts]):
        group = torch.tensor(group)
        assert 0.45 < group.float().mean() < 0.55
        assert 0.45 < truths[group].mean() < 0.55
    assert 0.47 < truths.mean() < 0.53


def test_held_out_pairs_are_never_shown_in_training():
    def pairs(**arguments):
        many = draw_comparisons(20_000, torch.Generator().manual_seed(2), **arguments)
        return {frozenset(read(statement(words))[:2]) for words in many.words}

    training, held_out = pairs(), pairs(held_out=True)
    assert not training & held_out
    assert len(held_out) == comparisons.HELD_OUT and len(training) > 4000


def test_the_same_seed_draws_the_same():
    one, two = (draw_comparisons(20, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(one.words, two.words) and torch.equal(one.truths, two.truths) and len(one) == 20


def test_the_longest_statement_fits_and_the_vocabulary_is_used():
    assert max(len(words) for words in NUMBERS.values()) * 2 + 3 == MAX_LENGTH
    assert len(NUMBERS) == LARGEST and len(set(VOCABULARY)) == len(VOCABULARY)
    many = draw_comparisons(5000, torch.Generator().manual_seed(4))
    assert set(many.words.unique().tolist()) == set(range(len(VOCABULARY)))


def test_less_than_one_statement_is_refused():
    with pytest.raises(ValueError, match="`number` is 0, expected at least 1"):
        draw_comparisons(0, torch.Generator())
