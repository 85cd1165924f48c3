"""What an explorer refuses; what it shows stands in tests/book/test_explorers_rendered.py."""

import pytest
import torch

from course_lib.explorers.looking import explore_looking


@pytest.mark.parametrize("locations", [3, 9])
def test_locations_that_do_not_tile_the_picture_are_refused(locations):
    weights = torch.full((1, 1, locations), 1 / locations)
    with pytest.raises(ValueError, match=f"{locations} locations are no square grid over an image with a side of 4"):
        explore_looking(torch.zeros(1, 3, 4, 4), [["red"]], weights)
