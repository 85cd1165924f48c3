import pytest
import torch

from course_lib.shapes import check_shape


def test_names_sizes_and_numbers():
    assert check_shape(torch.zeros(2, 3, 5), "batch 3 time") == {"batch": 2, "time": 5}
    assert check_shape(torch.zeros(7, 2, 5), "... time") == {"time": 5}
    assert check_shape(torch.zeros(()), "") == {}


@pytest.mark.parametrize(
    ("shape", "pattern", "known"),
    [
        ((2, 3), "batch", {}),
        ((2,), "batch time", {}),
        ((2, 4, 5), "batch 3 time", {}),
        ((2, 3), "batch time", {"batch": 5}),
        ((2, 3), "n n", {}),
        ((), "... n", {}),
    ],
)
def test_refuses_what_does_not_fit(shape, pattern, known):
    with pytest.raises(ValueError, match="`scores` has shape"):
        check_shape(torch.zeros(shape), pattern, "scores", **known)


def test_a_repeated_name_must_repeat_its_size():
    assert check_shape(torch.zeros(3, 3), "n n") == {"n": 3}
