import pytest

from course_lib.seeding import course_seed


def test_seed_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("COURSE_SEED", "7")
    assert course_seed() == 7
    monkeypatch.delenv("COURSE_SEED")
    assert course_seed() == 0


def test_a_seed_that_is_no_number_is_named(monkeypatch):
    monkeypatch.setenv("COURSE_SEED", "seven")
    with pytest.raises(ValueError, match="COURSE_SEED must be an integer, not 'seven'"):
        course_seed()
