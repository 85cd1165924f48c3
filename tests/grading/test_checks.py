"""The shared checks find what they are for, and a check that does not keep to its two phases is refused."""

import pytest
import torch

from course_lib.grading.checks import (
    Phase,
    both,
    difference,
    equals,
    gradients_equal,
    in_convex_hull,
    inputs_unchanged,
    moved,
    not_moved_by,
    of_output,
    on,
    sums_to,
)
from course_lib.grading.exercise import Question, Reply
from course_lib.grading.problem import Problem

CASE = {"numbers": torch.tensor([1.0, 2.0])}


def judged(check, value, expected=None, **said):
    """Return the problem that a check finds where every question is answered by `value`."""
    phase = Phase(check, CASE)
    expected = value if expected is None else expected
    return phase.verdict([Reply(each.arguments, value, expected, **said) for each in phase.questions])


def test_a_check_asks_about_one_case_or_several_with_or_without_gradients():
    def several(case):
        replies = yield [case, Question({"numbers": -case["numbers"]}, gradients=True)]
        assert len(replies) == 2

    phase = Phase(several, CASE)
    assert [question.gradients for question in phase.questions] == [False, True]
    assert phase.questions[0].arguments is CASE
    assert phase.verdict([None, None]) is None


def test_a_check_that_never_asks_or_asks_twice_is_refused():
    def silent(case):
        if False:
            yield

    def twice(case):
        yield case
        yield case

    for no_check in (lambda case: None, silent):
        with pytest.raises(TypeError, match="yields its questions once"):
            Phase(no_check, CASE)
    with pytest.raises(TypeError, match="asks twice"):
        judged(twice, torch.ones(2))


def test_equal_answers_have_no_problem_and_different_ones_say_where():
    assert judged(equals(), torch.ones(2)) is None
    assert judged(equals(), torch.ones(2) + 1e-6, torch.ones(2)) is None
    assert judged(equals(0), torch.ones(2) + 1e-6, torch.ones(2)).kind == "value"
    problem = judged(equals(), torch.ones(9), torch.arange(9.0))
    assert (problem.at, problem.got, problem.expected, problem.differ) == ((0,), 1.0, 0.0, (8, 9))
    assert judged(equals(reference=lambda numbers: numbers), CASE["numbers"], torch.ones(2)) is None
    assert judged(equals(), torch.tensor([float("nan"), 1.0]), torch.ones(2)).kind == "value"


def test_rows_that_do_not_sum_to_the_total_are_shown():
    assert judged(sums_to(1), torch.tensor([[0.5, 0.5], [0.1, 0.9]])) is None
    problem = judged(sums_to(1), torch.tensor([[0.5, 0.5], [0.1, 0.8]]))
    assert problem.kind == "sum" and problem.got.tolist() == pytest.approx([0.1, 0.8])
    assert judged(sums_to(1), torch.tensor([0.5, float("nan")])).kind == "sum"


def test_changed_inputs_are_named():
    assert judged(inputs_unchanged, torch.ones(2)) is None
    assert judged(inputs_unchanged, torch.ones(2), changed=("numbers",)).got == ("numbers",)


def test_of_two_checks_the_first_that_fails_is_told():
    wrong = {"value": torch.ones(2), "expected": torch.zeros(2), "changed": ("numbers",)}
    assert judged(both(equals(), inputs_unchanged), **wrong).kind == "value"
    assert judged(both(inputs_unchanged, equals()), **wrong).kind == "changed"
    assert judged(both(equals(), inputs_unchanged), torch.ones(2)) is None


def test_a_check_on_a_changed_case_asks_about_that():
    phase = Phase(on(lambda case: {"numbers": case["numbers"] + 1}, equals()), CASE)
    assert phase.questions[0].arguments["numbers"].tolist() == [2.0, 3.0]


def test_what_a_change_moves_is_measured_and_what_it_may_move_is_not():
    check = not_moved_by(lambda case: {"numbers": 2 * case["numbers"]}, "doubled", lambda answer: answer[:1])
    for after, kind in (([1.0, 5.0], None), ([1.5, 2.0], "moved"), ([float("nan"), 2.0], "moved")):
        phase = Phase(check, CASE)
        values = CASE["numbers"], torch.tensor(after)
        problem = phase.verdict([Reply(each.arguments, v, v) for each, v in zip(phase.questions, values, strict=True)])
        assert (problem and problem.kind) == kind
        assert problem is None or problem.after == "doubled"


def test_to_the_last_bit_is_to_the_last_bit():
    assert moved(CASE, torch.ones(2), torch.ones(2)) is None
    problem = moved(CASE, torch.ones(2), torch.ones(2) + 1e-6, where="row 1")
    assert problem.kind == "moved" and problem.where == "row 1" and 0 < problem.got < 1e-5


def test_an_entry_outside_the_hull_is_told_with_its_bounds():
    case = {"values": torch.tensor([[[0.0], [1.0]]])}
    for value, inside in ((0.5, True), (1.5, False), (float("nan"), False)):
        phase = Phase(in_convex_hull("values"), case)
        answer = torch.tensor([[value]])
        problem = phase.verdict([Reply(case, answer, answer)])
        assert (problem is None) == inside
        assert inside or problem.expected == (0.0, 1.0)


def test_one_tensor_of_a_tuple_is_looked_at():
    pair, other = (torch.ones(2), torch.zeros(2)), (torch.ones(2), torch.ones(2))
    assert judged(of_output(0, equals()), pair, other) is None
    assert judged(of_output(1, equals()), pair, other).kind == "value"


def test_gradients_are_compared_by_name_and_missed_where_none_came():
    answer, expected = torch.ones(2), {"numbers": torch.ones(2)}
    wanted = {"expected_gradients": expected}
    assert judged(gradients_equal(), answer, gradients=expected, **wanted) is None
    assert judged(gradients_equal(), answer, gradients={"numbers": torch.zeros(2)}, **wanted).kind == "gradient"
    assert judged(gradients_equal(), answer, **wanted).note == "none came"


def test_a_problem_has_one_of_the_known_kinds():
    with pytest.raises(ValueError, match="`kind` is 'odd', expected one of value, sum"):
        Problem("odd")
    assert difference(CASE, torch.ones(2), torch.zeros(2), after="halved").after == "halved"


@pytest.mark.parametrize("value", [7.0, -torch.inf, torch.nan])
def test_where_infinity_is_expected_nothing_else_is_right(value):
    expected = torch.tensor([torch.inf, 1.0])
    assert judged(equals(), torch.tensor([value, 1.0]), expected) is not None
    assert judged(equals(), torch.tensor([torch.inf, 1.000001]), expected) is None
