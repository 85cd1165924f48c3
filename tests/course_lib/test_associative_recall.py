import pytest
import torch

from course_lib.data.associative_recall import SYMBOLS, TOKENS, describe, draw_recalls


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("pairs", [1, 8, 64])
def test_every_key_is_told_once_and_asked_for_once_and_its_value_is_the_answer(pairs):
    drawn = draw_recalls(100, generator(), pairs)
    assert len(drawn) == 100 and drawn.tokens.shape == (100, 3 * pairs) and drawn.answers.shape == (100, pairs)
    for tokens, answers in zip(drawn.tokens.tolist(), drawn.answers.tolist(), strict=True):
        keys, values, asked = tokens[0 : 2 * pairs : 2], tokens[1 : 2 * pairs : 2], tokens[2 * pairs :]
        value_of = dict(zip(keys, values, strict=True))
        assert len(value_of) == pairs and sorted(asked) == sorted(keys)
        assert answers == [value_of[key] for key in asked]
        assert max(keys) < SYMBOLS <= min(values) and max(values) < TOKENS


def test_every_pair_is_asked_for_at_every_place_alike():
    drawn = draw_recalls(4000, generator(), pairs=4)
    places = (drawn.tokens[:, 8:, None] == drawn.tokens[:, None, 0:8:2]).float().mean(dim=0)  # (question, pair)
    torch.testing.assert_close(places, torch.full((4, 4), 0.25), rtol=0, atol=0.035)  # five standard deviations


def test_all_symbols_occur():
    drawn = draw_recalls(300, generator())
    assert torch.equal(drawn.tokens.unique(), torch.arange(TOKENS))
    assert torch.equal(drawn.answers.unique(), torch.arange(SYMBOLS, TOKENS))


def test_the_seed_decides_and_impossible_sizes_are_refused():
    assert torch.equal(draw_recalls(9, generator()).tokens, draw_recalls(9, generator()).tokens)
    assert not torch.equal(draw_recalls(9, generator()).tokens, draw_recalls(9, generator(1)).tokens)
    for number, pairs in ((0, 4), (3, 65), (3, 0)):
        with pytest.raises(ValueError, match="expected at least 1"):
            draw_recalls(number, generator(), pairs)


def test_what_is_shown_is_what_is_drawn(capsys):
    describe()
    rows = capsys.readouterr().out.splitlines()[1:]
    assert len(rows) == 10
    for row, tokens, answers in zip(rows, *(vars(draw_recalls(10, generator(), pairs=3)).values()), strict=True):
        told, asked = row.split("   ", 1)
        assert [int(word) for word in told.replace(":", " ").split()] == tokens[:6].tolist()
        keys, values = asked.replace("?", "").split()[0::2], asked.replace("?", "").split()[1::2]
        assert [list(map(int, keys)), list(map(int, values))] == [tokens[6:].tolist(), answers.tolist()]
