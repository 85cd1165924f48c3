import math

import pytest

from course_lib.measurements import Measurement, standing


@pytest.mark.parametrize(
    ("measurement", "text"),
    [
        (Measurement(0.316, cases=500), "0.316 ± 0.021"),
        (Measurement(0.99, cases=500), "0.9900 ± 0.0044"),
        (Measurement(0.992, cases=500), "0.9920 (496 of 500)"),
        (Measurement(1 / 2892, cases=2892), "0.00035 (1 of 2,892)"),
        (Measurement(0.5, cases=100), "0.500 ± 0.050"),
        (Measurement(0.0, cases=1200), "0 of 1,200"),
        (Measurement(1.0, cases=1), "1 of 1"),
        (Measurement(1.8664, error=0.0133), "1.866 ± 0.013"),
        (Measurement(3.14159, error=0.0996), "3.14 ± 0.10"),
        (Measurement(1234.4, error=56.4), "1,234 ± 56"),
        (Measurement(123456.0, error=1234.0), "123,456 ± 1,234"),
        (Measurement(1234.4, error=2.0), "1,234.4 ± 2.0"),
        (Measurement(1234.4), "1,234"),
        (Measurement(-55021.0), "-55,021"),
        (Measurement(999.6), "1,000"),
        (Measurement(999.4), "999"),
        (Measurement(math.inf), "inf"),
        (Measurement(math.nan), "nan"),
    ],
)
def test_the_value_ends_where_its_error_does(measurement, text):
    assert str(measurement) == text


def test_the_error_of_a_share_is_the_spread_of_many_such_samples():
    shares = [k / 12 for k in range(13)]
    chances = [math.comb(12, k) * 0.25**k * 0.75 ** (12 - k) for k in range(13)]
    spread = math.sqrt(sum(chance * (share - 0.25) ** 2 for share, chance in zip(shares, chances, strict=True)))
    assert Measurement(0.25, cases=12).standard_error == pytest.approx(spread)
    assert Measurement(0.25).standard_error == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"value": 0.5, "cases": 0}, "cases got 0, expected a whole number"),
        ({"value": 0.5, "cases": 2.5}, "cases got 2.5, expected a whole number"),
        ({"value": 94.1, "cases": 500}, "value got 94.1, expected a share from 0 to 1"),
        ({"value": math.nan, "cases": 500}, "value got nan, expected a share"),
        ({"value": 0.5, "error": 0}, "error got 0, expected a standard error above 0"),
        ({"value": 0.5, "error": math.nan}, "error got nan"),
        ({"value": 0.5, "cases": 5, "error": 0.1}, "got cases and error, expected one"),
    ],
)
def test_what_cannot_be_a_standard_error_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Measurement(**arguments)


@pytest.mark.parametrize(
    ("lead", "error", "words"),
    [
        (0.3, 0.1, "ahead by 3.0 standard errors"),
        (-0.9, 0.1, "behind by 9.0 standard errors"),
        (0.29, 0.1, "no clear difference (ahead by 2.9 standard errors)"),
        (-0.1, 0.1, "no clear difference (behind by 1.0 standard errors)"),
        (0, 0.1, "no difference"),
        (-0.0021, 0, "behind by 0.0021"),
        (5391.0, 0, "ahead by 5,391"),
    ],
)
def test_the_standing_in_words(lead, error, words):
    assert standing(lead, error) == words
