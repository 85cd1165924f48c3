import pytest
import torch

from course_lib.convolution import ConvFeatures, grid_coordinates
from course_lib.diagnostics import receptive_field


def test_locations_run_row_by_row_and_see_seven_pixels():
    read = ConvFeatures(d_feature=32).eval()
    mask = receptive_field(read, torch.randn(8, 3, 32, 32), location=8 * 2 + 5)  # row 2, column 5
    rows, columns = mask.any(dim=1).nonzero().flatten(), mask.any(dim=0).nonzero().flatten()
    assert (rows.min().item(), rows.max().item()) == (4 * 2 - 3, 4 * 2 + 3)
    assert (columns.min().item(), columns.max().item()) == (4 * 5 - 3, 4 * 5 + 3)


def test_equal_windows_differ_only_by_their_position():
    read = ConvFeatures(d_feature=16).eval()
    features = read(torch.full((1, 3, 32, 32), 0.5))[0]  # (64, 16)
    inner = [8 * 3 + 3, 8 * 4 + 4]  # away from the padding at the border
    assert not torch.allclose(features[inner[0]], features[inner[1]])
    without_position = features - read.position(grid_coordinates(8, 8))
    torch.testing.assert_close(without_position[inner[0]], without_position[inner[1]])


@pytest.mark.parametrize("shape", [(2, 1, 32, 32), (3, 32, 32), (2, 3, 30, 32)])
def test_a_wrong_picture_is_refused(shape):
    with pytest.raises(ValueError, match="`images` has shape"):
        ConvFeatures(8)(torch.zeros(shape))
