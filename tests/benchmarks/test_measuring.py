"""Turns, ratios and spreads, by a clock that only moves when it is told to."""

import gc

import pytest

from benchmarks.measuring import LEAST_ROUNDS, MOST_ROUNDS, Candidate, Spread, interleave, ratio_of, summarise


class FakeClock:
    """Shows the seconds that have been spent."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def spend(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return FakeClock()


def test_candidates_take_turns_and_the_first_round_does_not_count(clock):
    turns = []

    def working(name, seconds):
        def call():
            first = name not in turns
            turns.append(name)
            clock.spend(10 * seconds if first else seconds)

        return Candidate(name, call)

    times = interleave([working("a", 1.0), working("b", 2.0)], seconds=240.0, clock=clock)
    assert turns == ["a", "b"] * 9  # the first round took 30 seconds: 8 of those fit
    assert times == {"a": [1.0] * 8, "b": [2.0] * 8}


@pytest.mark.parametrize(("each", "rounds"), [(1000.0, LEAST_ROUNDS), (1e-6, MOST_ROUNDS), (0.0, MOST_ROUNDS)])
def test_there_are_enough_rounds_and_not_too_many(clock, each, rounds):
    (times,) = interleave([Candidate("a", lambda: clock.spend(each))], seconds=1.0, clock=clock).values()
    assert len(times) == rounds


def test_preparation_is_not_timed_and_is_handed_over(clock):
    handed_over = []

    def prepare():
        clock.spend(100.0)
        return "cache", 3

    def call(*arguments):
        handed_over.append(arguments)
        clock.spend(0.5)

    assert Candidate("a", call, prepare).turn(clock) == 0.5
    assert handed_over == [("cache", 3)]


def test_nothing_is_collected_during_a_turn_and_everything_is_as_before_afterwards(clock):
    collecting = []

    def call():
        collecting.append(gc.isenabled())
        if len(collecting) == 4:
            raise RuntimeError("a candidate that fails")

    assert gc.isenabled()
    with pytest.raises(RuntimeError, match="a candidate that fails"):
        interleave([Candidate("a", call)], seconds=1.0, clock=clock)
    assert collecting == [True, False, False, False] and gc.isenabled()


def test_a_ratio_is_that_of_one_round_whatever_the_machine_did_meanwhile():
    busy = [1.0, 4.0, 2.0, 1.0, 3.0]  # how much slower everything was
    times = {"ours": [3.0 * each for each in busy], "theirs": [2.0 * each for each in busy]}
    ours, theirs = summarise(times)
    assert (theirs.ratio, ours.ratio) == (Spread(1.0, 1.0, 1.0), Spread(1.5, 1.5, 1.5))
    assert ours.seconds == Spread(3.0, 6.0, 9.0)


def test_the_median_is_not_moved_by_one_disturbance():
    assert ratio_of([2.0, 2.0, 2.0, 2.0, 200.0], [1.0] * 5).median == 2.0


def test_the_fastest_is_chosen_among_those_that_do_the_same_work():
    times = {"product": [1.0, 1.0], "ours": [4.0, 4.0], "theirs": [2.0, 2.0]}
    ratios = {each.name: each.ratio.median for each in summarise(times, beside=["ours", "theirs"])}
    assert ratios == {"product": 0.5, "ours": 2.0, "theirs": 1.0}


def test_the_fastest_is_who_wins_most_rounds_not_who_was_lucky_once():
    times = {"a": [10.0, 10.0, 1.0, 1.0, 10.0], "b": [11.0, 9.0, 1.1, 1.1, 11.0]}
    assert {each.name: each.seconds.median for each in summarise(times)} == {"a": 10.0, "b": 9.0}
    assert {each.name: each.ratio.median for each in summarise(times)} == {"a": 1.0, "b": pytest.approx(1.1)}


def test_ratios_of_different_numbers_of_rounds_make_no_sense():
    with pytest.raises(ValueError, match="zip"):
        ratio_of([1.0, 2.0], [1.0, 2.0, 3.0])
