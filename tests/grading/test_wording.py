"""Numbers in a report: few digits, and as many as it takes for different numbers to look different."""

import pytest
import torch

from course_lib.grading.checks import difference
from course_lib.grading.problem import KINDS, Problem
from course_lib.grading.wording import _WORDS, describe, describe_case, finding, sentence


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


class TASK:
    """What the sentences ask of a task."""

    function, signature, returns, outputs = "double", "double(numbers)", "twice each number", ()


@pytest.mark.parametrize("size", [1, 20])
@pytest.mark.parametrize("gap", [2e-2, 2e-5, 2e-7])
def test_what_is_got_never_looks_like_what_was_expected(size, gap):
    expected = torch.full((size,), 0.5)
    told = sentence(difference({"numbers": expected}, expected + gap, expected, tolerance=0), TASK)
    got, due = told.rpartition("got ")[2].split(", expected ")
    assert got != due


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (Problem("value", {"n": 1}, got=2.0, expected=3.0), "n = 1: got 2.0, expected 3.0"),
        (
            Problem("value", {"n": 1}, after="n doubled", where="row 0", got="too much", expected=3.0),
            "n = 1, then n doubled: row 0: got too much, expected 3.0",
        ),
        (
            Problem("value", {"n": 1}, got=2.0, expected=3.0, at=(0, 1), differ=(2, 9)),
            "n = 1: 2 of 9 entries differ; at [0, 1] got 2.0, expected 3.0",
        ),
        (Problem("value", {"n": 1}, note="no value was there"), "n = 1: no value was there"),
        (Problem("moved", {"n": 1}, got=0.00012, expected="exactly 0"), "n = 1: the answer moved by 0.00012, expected"),
        (Problem("moved", {"n": 1}, where="row 2", got=0.5, expected=0), "n = 1: row 2 moved by 0.5, expected 0"),
        (Problem("sum", {"n": 1}, got=torch.tensor([0.5, 0.25]), expected=1), "n = 1: a row [0.5, 0.25] sums to 0.75"),
        (
            Problem("range", {"n": 1}, where="values", got=2.0, expected=(0.0, 1.0)),
            "n = 1: got 2.0, but all values there lie between 0.0 and 1.0",
        ),
        (
            Problem("changed", {"n": 1}, got=("n", "m")),
            "n = 1: after the call `n` and `m` held other numbers than before",
        ),
        (
            Problem("shape", {"n": 1}, where="weights", got=torch.ones(2), expected=torch.ones(1, 2)),
            "n = 1: got weights of shape (2,) of float32, expected shape (1, 2) of float32",
        ),
        (
            Problem("numbers", {"n": torch.ones(1)}, got=torch.ones(2).double(), expected=torch.ones(2)),
            "n = [1.0]: got numbers of float64, expected float32, the kind of the arguments",
        ),
        (
            Problem("outputs", {"n": 1}, got="a tuple of 2 tensors"),
            "n = 1: got a tuple of 2 tensors, expected a tensor: twice",
        ),
        (Problem("later"), "counts once the values are right"),
        (Problem("missing", note="mine.py does not define double"), "not found: mine.py does not define double"),
        (Problem("stopped", {"n": 1}, note="double was stopped"), "double was stopped"),
        (
            Problem("forbidden", {"n": 1}, got="torch.softmax"),
            "double used torch.softmax: here it is to be written by hand",
        ),
        (Problem("idle", {"n": 1}), "n = 1: the answer is one number over and over"),
        (Problem("unsteady", {"n": 1}), "n = 1: two calls with these arguments gave two different answers"),
        (Problem("incomparable", {"n": 1}, note="odd"), "n = 1: the answer cannot be compared (odd)"),
    ],
)
def test_every_kind_of_problem_has_its_sentence(problem, said):
    assert sentence(problem, TASK).startswith(said)
    assert finding(problem, TASK) in sentence(problem, TASK)


def test_the_kind_of_the_arguments_is_named_only_where_all_have_it():
    case = {"n": torch.ones(1), "m": torch.ones(1).double()}
    problem = Problem("numbers", case, where="mean", got=torch.ones(2), expected=torch.ones(2).double())
    assert finding(problem, TASK) == "got mean in numbers of float32, expected float64"


def test_no_kind_is_without_words():
    of_faults = {"unwritten", "signature", "parameters", "crash", "time", "no value", "layout", "no gradient"}
    assert set(_WORDS) | of_faults == set(KINDS)


def test_a_few_whole_numbers_are_shown_also_beside_large_tensors():
    case = {"values": torch.zeros(3, 4), "lengths": torch.tensor([1, 2, 0])}
    assert describe_case(case) == "`values` of shape (3, 4), lengths = [1, 2, 0]"
