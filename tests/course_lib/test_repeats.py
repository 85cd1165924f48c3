import pytest
import torch

from course_lib.data.repeats import SHORTEST, SYMBOLS, draw_repeats


def test_from_the_period_on_every_token_was_there_before():
    drawn = draw_repeats(300, torch.Generator().manual_seed(0), time=32)
    assert drawn.tokens.shape == (300, 33) and len(drawn) == 300
    for tokens, period in zip(drawn.tokens, drawn.periods, strict=True):
        assert torch.equal(tokens[period:], tokens[:-period])
    assert sorted(set(drawn.periods.tolist())) == list(range(SHORTEST, 17))
    assert len(drawn.tokens.unique()) == SYMBOLS


def test_a_fixed_period_is_that_of_every_row():
    drawn = draw_repeats(50, torch.Generator().manual_seed(0), time=32, period=9)
    assert (drawn.periods == 9).all() and torch.equal(drawn.tokens[:, 9:], drawn.tokens[:, :-9])
    assert (drawn.tokens[:, 8:] != drawn.tokens[:, :-8]).any()


@pytest.mark.parametrize("wrong", [{"number": 0}, {"time": 11}, {"period": 0}, {"period": 17}])
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(ValueError, match="`number` is"):
        draw_repeats(**{"number": 3, "generator": torch.Generator(), "time": 32} | wrong)
