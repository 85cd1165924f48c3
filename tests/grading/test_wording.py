"""Numbers in a report: few digits, and as many as it takes for different numbers to look different."""

import pytest
import torch

from course_lib.grading.wording import describe, describe_difference


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.123456, "0.1235"),
        (3.14159, "3.142"),
        (12.3456, "12.346"),
        (10_001.0, "10001.0"),
        (-9_999.5, "-9999.5"),
        (1e-9, "0.0"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (7, "7"),
        (True, "True"),
    ],
)
def test_a_number_is_short_and_keeps_what_stands_before_the_point(value, said):
    assert describe(value) == said


@pytest.mark.parametrize("size", [1, 20])
@pytest.mark.parametrize("gap", [2e-2, 2e-5, 2e-7])
def test_what_came_never_looks_like_what_was_expected(size, gap):
    expected = torch.full((size,), 0.5)
    answer = expected + gap
    told = describe_difference(answer, expected, answer != expected)
    came, due = told.rpartition("came ")[2].split(", expected ")
    assert came != due
