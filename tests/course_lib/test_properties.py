import pytest
import torch

from course_lib.properties import cells_on_object, pointing_rate, receptive_field, row_sum_error


def test_row_sum_error_is_the_worst_row():
    assert row_sum_error(torch.tensor([[0.5, 0.5], [0.9, 0.0], [0.7, 0.7]])) == pytest.approx(0.4)


def test_a_wrong_axis_is_seen():
    scores = torch.randn(4, 6)
    assert row_sum_error(torch.softmax(scores, dim=-1)) < 1e-6 < row_sum_error(torch.softmax(scores, dim=0))


def test_receptive_field_of_one_pixel_and_of_all():
    def pixel(images):
        return images.flatten(2).transpose(1, 2)  # (batch, location, 3)

    def mean(images):
        return images.mean(dim=(2, 3)).unsqueeze(1).expand(-1, 16, -1)

    images = torch.randn(2, 3, 4, 4)
    assert receptive_field(pixel, images, location=6).nonzero().tolist() == [[1, 2]]
    assert receptive_field(mean, images, location=6).all()
    assert not images.requires_grad


def test_pointing_rate_counts_pictures():
    masks = torch.zeros(4, 8, 8, dtype=torch.bool)
    masks[:, 0, 7] = True  # one pixel, in the upper right cell of a 2 x 2 grid
    weights = torch.eye(4)  # each picture looks at another cell
    assert cells_on_object(masks, locations=4).tolist() == [[False, True, False, False]] * 4
    assert pointing_rate(weights, masks) == 0.25


@pytest.mark.parametrize(("locations", "shape"), [(5, (1, 4, 4)), (9, (1, 4, 4)), (4, (4, 4))])
def test_a_grid_that_does_not_fit_is_refused(locations, shape):
    with pytest.raises(ValueError, match="`locations`|`masks`"):
        cells_on_object(torch.zeros(shape, dtype=torch.bool), locations)
