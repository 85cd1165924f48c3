import pytest
import torch

from course_lib.data.partner_colours import COLOURS, EMPTY, MARKS, SIDE, draw_partners


def test_every_answer_is_the_colour_of_the_other_cell_with_the_mark():
    drawn = draw_partners(40, torch.Generator().manual_seed(0))
    assert len(drawn) == 40
    for image, answers, distances in zip(drawn.images, drawn.answers, drawn.distances, strict=True):
        cells = [(row, column) for row in range(SIDE) for column in range(SIDE)]
        marks = {cell: image[:MARKS, *cell].argmax().item() for cell in cells if image[:MARKS, *cell].any()}
        assert sorted(marks.values()) == sorted([*range(MARKS)] * 2)
        for cell in cells:
            if cell not in marks:
                assert not image[:, *cell].any() and answers[cell] == EMPTY and distances[cell] == 0
                continue
            assert image[:MARKS, *cell].sum() == image[MARKS:, *cell].sum() == 1
            (partner,) = [other for other in marks if marks[other] == marks[cell] and other != cell]
            assert answers[cell] == image[MARKS:, *partner].argmax()
            assert distances[cell] == max(abs(cell[0] - partner[0]), abs(cell[1] - partner[1]))


def test_colours_are_drawn_alike_and_partners_are_near_and_far():
    drawn = draw_partners(500, torch.Generator().manual_seed(0))
    shares = drawn.answers[drawn.answers != EMPTY].bincount() / (500 * 2 * MARKS)
    assert len(shares) == COLOURS and (shares - 1 / COLOURS).abs().max() < 0.02
    assert sorted(drawn.distances.unique().tolist()) == list(range(SIDE))


def test_no_grid_is_refused():
    with pytest.raises(ValueError, match="`number` is 0"):
        draw_partners(0, torch.Generator())
