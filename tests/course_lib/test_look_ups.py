import pytest
import torch

from course_lib.data import look_ups


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def distinct(rows):
    return all(len(set(row)) == len(row) for row in rows.tolist())


@pytest.mark.parametrize("pairs", [1, 16, 64])
def test_the_answer_stands_beside_the_symbol_that_is_asked_for(pairs):
    drawn = look_ups.draw_look_ups(200, generator(), pairs)
    assert len(drawn) == 200 and drawn.first.shape == drawn.second.shape == (200, pairs)
    assert distinct(drawn.first) and drawn.first.max() < look_ups.SYMBOLS
    for first, second, asked, answer in zip(drawn.first, drawn.second, drawn.asked, drawn.answers, strict=True):
        assert second[first == asked].tolist() == [answer]


def test_every_place_is_asked_for():
    drawn = look_ups.draw_look_ups(2000, generator())
    places = (drawn.first == drawn.asked[:, None]).float().argmax(1).bincount(minlength=16)
    assert places.min() > 70 and places.max() < 180  # 125 each, five standard deviations


@pytest.mark.parametrize("tokens", [2, 8, 16])
def test_a_reference_asks_for_the_content_of_another_token(tokens):
    drawn = look_ups.draw_references(200, generator(), tokens)
    assert len(drawn) == 200 and distinct(drawn.names)
    assert drawn.names.max() < look_ups.NAMES and drawn.contents.max() < look_ups.CONTENTS
    for which in range(200):
        names, contents = drawn.names[which].tolist(), drawn.contents[which].tolist()
        for token, request in enumerate(drawn.requests[which].tolist()):
            target = names.index(request)
            assert target != token and target == drawn.targets[which, token]
            assert drawn.answers[which, token] == contents[target]


def test_every_other_token_is_asked_alike():
    drawn = look_ups.draw_references(4000, generator(), tokens=4)
    shares = torch.nn.functional.one_hot(drawn.targets, 4).float().mean(dim=0)  # (token, target)
    torch.testing.assert_close(shares, (1 - torch.eye(4)) / 3, rtol=0, atol=0.04)  # five standard deviations


@pytest.mark.parametrize("draw", [look_ups.draw_look_ups, look_ups.draw_references])
def test_the_seed_decides_and_impossible_sizes_are_refused(draw):
    assert torch.equal(draw(9, generator()).answers, draw(9, generator()).answers)
    for number, size in ((0, 4), (3, 65), (3, 0)):
        with pytest.raises(ValueError, match="expected at least 1"):
            draw(number, generator(), size)
