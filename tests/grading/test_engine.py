"""A failure is shown on the smallest case that can be found, and the search for it changes no verdict."""

import dataclasses

import pytest
import torch

from course_lib.grading import engine, own_time
from course_lib.grading.call import Answer, in_process, missing
from course_lib.grading.catalogue import catalogue
from course_lib.grading.checks import equals, moved
from course_lib.grading.engine import RANDOM_CASES, TRIED, draw_cases, judge_task
from course_lib.grading.exercise import Exercise, Mistake, Property, Task
from course_lib.grading.problem import Problem
from course_lib.grading.sandbox.limits import Limits
from course_lib.grading.wording import sentence
from course_lib.project import CourseError

COURSE = catalogue()
FIRST_MISTAKES = [
    pytest.param(exercise, task, id=f"{exercise.id}-{task.function}") for exercise in COURSE for task in exercise.tasks
]


def double(numbers):
    """Twice each number."""
    return 2 * numbers


def draw(generator):
    """Draw up to sixty numbers."""
    return {"numbers": torch.randn(int(torch.randint(1, 61, (), generator=generator)), generator=generator)}


DOUBLE = Task(
    function="double",
    parameters=("numbers",),
    returns="twice each number",
    cases=draw,
    examples=({"numbers": torch.ones(8)},),
    reference=double,
    properties=(Property("doubled", 1, equals()), Property("doubled again", 1, equals())),
    mistakes=(),
)


def still(case):
    """Ask whether the answer stays as it is when all numbers grow."""
    first, second = yield [case, {"numbers": case["numbers"] + 1}]
    return moved(case, first.value, second.value)


STILL = dataclasses.replace(DOUBLE, properties=(Property("still", 1, still),))
DOUBLING = Exercise(id="99.1", title="Double", difficulty=1, minutes=1, tasks=(DOUBLE,), hints=("twice",))


def wrong_from(size):
    """Return an answer that is wrong for `size` numbers or more."""
    return lambda numbers: 2 * numbers + (len(numbers) >= size)


def judged(answer, seed=0, search=True, task=DOUBLE):
    """Return the result and the number of questions that were put."""
    asked, answering = [], in_process(answer, task)

    def counted(questions):
        asked.extend(questions.questions)
        return answering(questions)

    return judge_task(DOUBLING, task, counted, seed, search=search), len(asked)


def shown(result):
    """Return how many numbers the case of the first failing property holds."""
    return len(next(verdict.problem for verdict in result.verdicts if verdict.problem).case["numbers"])


def told(result):
    """Return the sentences on a result."""
    return [sentence(verdict.problem, result.task) if verdict.problem else None for verdict in result.verdicts]


@pytest.mark.parametrize("size", [3, 7, 12, 25])
def test_the_smallest_case_that_fails_is_shown(size):
    for seed in range(5):
        assert size <= shown(judged(wrong_from(size), seed)[0]) <= size + 2  # not every size is drawn


def test_without_the_search_it_is_the_smallest_of_the_cases_drawn():
    found = [shown(judged(wrong_from(12), seed, search=False)[0]) for seed in range(5)]
    assert min(found) >= 12 and max(found) > 14


def test_the_search_repeats_with_its_seed():
    results = [judged(wrong_from(12), 3)[0] for _ in range(2)]
    assert told(results[0]) == told(results[1])
    assert told(judged(wrong_from(12), 4)[0]) != told(results[0])


@pytest.mark.parametrize(("exercise", "task"), FIRST_MISTAKES)
def test_verdicts_and_names_are_the_same_with_and_without_the_search(exercise, task):
    answer = in_process(task.mistakes[0].implementation, task, exercise.forbidden)
    plain, searched = (judge_task(exercise, task, answer, 0, search=search) for search in (False, True))
    assert [each.earned for each in plain.verdicts] == [each.earned for each in searched.verdicts]
    assert plain.mistake is searched.mistake
    for one, other in zip(plain.verdicts, searched.verdicts, strict=True):
        assert bool(one.problem) == bool(other.problem)
        if one.problem:
            assert (one.problem.kind == "later") == (other.problem.kind == "later")


def test_right_answers_are_asked_no_more_than_without_it():
    assert judged(double)[1] == judged(double, search=False)[1]


def test_few_more_questions_are_put_where_nothing_smaller_fails():
    greatest = max(len(case["numbers"]) for case in draw_cases(DOUBLE, 0))
    more = judged(wrong_from(greatest), 0)[1] - judged(wrong_from(greatest), 0, search=False)[1]
    assert 0 < more <= TRIED  # both properties fail, and ask about the same cases


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(missing(Problem("missing", note="there is none")), id="missing"),
        pytest.param(in_process(lambda values: values, DOUBLE), id="signature"),
        pytest.param(missing(Problem("stopped", note="double was stopped")), id="stopped"),
    ],
)
def test_what_is_never_answered_is_not_asked_again(answer):
    for seed in range(5):
        rounds = []

        def counted(asked, rounds=rounds):
            rounds.append(asked)
            return answer(asked)

        plain = judge_task(DOUBLING, DOUBLE, counted, seed)
        searched = judge_task(DOUBLING, DOUBLE, counted, seed, search=True)
        assert told(plain) == told(searched) and len(rounds) == 2


def test_a_task_is_asked_in_one_round():
    rounds = []

    def counted(asked):
        rounds.append(asked)
        return in_process(double, DOUBLE)(asked)

    assert judge_task(DOUBLING, DOUBLE, counted, 0, search=True).earned == 2
    (asked,) = rounds
    cases = RANDOM_CASES + len(DOUBLE.examples) + len(DOUBLE.edges)
    assert len(asked.questions) == cases + engine.ASKED_AGAIN  # both properties ask the same


def test_a_plan_is_made_once_for_all_submissions():
    drawn = []
    task = dataclasses.replace(DOUBLE, cases=lambda generator: drawn.append(1) or draw(generator))
    for _ in range(3):
        judge_task(DOUBLING, task, in_process(double, task), 7)
    assert len(drawn) == RANDOM_CASES


def test_a_known_mistake_is_asked_once_for_all_answers_that_are_diagnosed():
    asked = []

    def tripled(numbers):
        asked.append(1)
        return 3 * numbers

    task = dataclasses.replace(DOUBLE, mistakes=(Mistake("tripled", "doubled", "three times", lambda: tripled),))
    results = [judge_task(DOUBLING, task, in_process(lambda numbers: 3 * numbers, task), 7) for _ in range(3)]
    assert [result.mistake.name for result in results] == ["tripled"] * 3
    assert len(asked) == RANDOM_CASES + len(DOUBLE.examples)


@pytest.mark.parametrize("task", [DOUBLE, STILL], ids=["double", "still"])
@pytest.mark.parametrize("answer", [double, wrong_from(3), wrong_from(70), torch.zeros_like, torch.rand_like])
def test_full_marks_are_those_of_the_verdicts(answer, task):
    judged = judge_task(DOUBLING, task, in_process(answer, task), 0)
    full = engine.earns_full_marks(DOUBLING, task, in_process(answer, task), 0)
    assert full == (judged.earned == task.points)


def test_a_fault_of_the_exercise_is_no_verdict():
    def broken(case):
        yield case
        raise KeyError("a fault of ours")

    task = dataclasses.replace(DOUBLE, properties=(Property("broken", 1, broken),))
    with pytest.raises(KeyError, match="a fault of ours"):
        judge_task(DOUBLING, task, in_process(double, task), 0)


def endless(*arguments, **named):
    while True:
        pass


def endless_on_long_ones(numbers):
    return endless() if len(numbers) > 9 else 2 * numbers


def endless_check(case):
    yield case
    endless()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reference": endless_on_long_ones}, "the reference of double did not end.*on the case `numbers` of"),
        ({"cases": endless}, "the drawing of cases of double did not end"),
        (
            {"properties": (Property("odd", 1, endless_check),)},
            "the check “odd” of double did not end.*on the case numbers = ",
        ),
    ],
)
def test_what_an_exercise_never_ends_is_an_error_that_names_it_and_the_case(monkeypatch, change, said):
    monkeypatch.setattr(own_time, "SECONDS", 0.2)
    task = dataclasses.replace(DOUBLE, **change)
    with pytest.raises(CourseError, match=f"^exercise 99.1: {said}"):
        judge_task(DOUBLING, task, in_process(double, task), 0)


def test_a_known_mistake_that_never_ends_is_not_the_one(monkeypatch):
    monkeypatch.setattr(engine, "Limits", lambda: Limits(step=0.1))
    task = dataclasses.replace(DOUBLE, mistakes=(Mistake("endless", "doubled", "it never ends", lambda: endless),))
    result, _ = judged(lambda numbers: 3 * numbers, search=False, task=task)
    assert result.mistake is None and result.earned == 0


def test_an_answer_of_another_shape_or_kind_is_told_before_any_property_looks():
    for answer, kind in (
        (lambda numbers: 2 * numbers[:, None], "shape"),
        (lambda numbers: numbers.double(), "numbers"),
    ):
        assert {each.problem.kind for each in judged(answer)[0].verdicts} == {kind}


def test_an_answer_that_changes_its_mind_earns_nothing():
    calls = []

    def unsteady(numbers):
        calls.append(numbers)
        return 2 * numbers if len(calls) <= RANDOM_CASES + 1 else 3 * numbers

    result = judged(unsteady, search=False)[0]
    assert result.earned == 0 and {each.problem.kind for each in result.verdicts} == {"unsteady"}


def test_an_answer_of_one_number_earns_nothing_for_what_it_does_not_move():
    task = dataclasses.replace(DOUBLE, properties=(Property("still", 1, still), Property("doubled", 1, equals())))
    result = judged(lambda numbers: torch.zeros_like(numbers), search=False, task=task)[0]
    assert result.earned == 0 and result.verdicts[0].problem.kind == "idle"


def test_an_answer_that_takes_its_time_is_not_asked_on_and_on(monkeypatch):
    monkeypatch.setattr(engine, "PATIENCE", -1.0)
    assert told(judged(wrong_from(12))[0]) == told(judged(wrong_from(12), search=False)[0])


def test_a_stop_on_the_way_keeps_the_sentence_and_the_verdict():
    """A worker that is gone repeats how it ended: that is no finding about a smaller case."""
    right, rounds = in_process(double, DOUBLE), []
    ending = Problem("stopped", note="double was stopped")

    def answer(asked):
        rounds.append(asked)
        answers = right(asked)
        large = [len(each.arguments["numbers"]) >= 12 for each in asked.questions]
        return [
            Answer(problem=ending) if each or len(rounds) > 1 else one for each, one in zip(large, answers, strict=True)
        ]

    result = judge_task(DOUBLING, DOUBLE, answer, 0, search=True)
    assert told(result) == ["double was stopped"] * 2


def stumbles_over(what, error):
    """Return a check that raises `error` where `what(reply)` holds, and finds nothing elsewhere."""

    def check(case):
        reply = yield case
        if what(reply):
            raise error
        return None

    return check


@pytest.mark.parametrize("error", [TypeError("odd"), OverflowError("odd"), RuntimeError("odd"), KeyError("odd")])
def test_an_answer_that_no_check_foresaw_loses_the_property_and_a_check_that_is_wrong_gives_no_verdict(error):
    def odd(numbers):
        return 2 * numbers + float("inf")

    foreseen = stumbles_over(lambda reply: reply.value.isinf().any(), error)
    task = dataclasses.replace(DOUBLE, properties=(Property("doubled", 1, foreseen),))
    (verdict,) = judged(odd, task=task)[0].verdicts
    assert verdict.problem.kind == "incomparable" and type(error).__name__ in verdict.problem.note
    assert judged(double, task=task)[0].earned == 1
    task = dataclasses.replace(DOUBLE, properties=(Property("doubled", 1, stumbles_over(lambda reply: True, error)),))
    for answer in (odd, double):
        with pytest.raises(type(error), match="odd"):
            judged(answer, task=task)


def test_a_check_that_asks_twice_is_no_verdict():
    def asks_twice(case):
        yield case
        yield case

    task = dataclasses.replace(DOUBLE, properties=(Property("doubled", 1, asks_twice),))
    with pytest.raises(TypeError, match="asks twice"):
        judged(double, task=task)


def test_one_thread_computes_and_the_others_are_given_back():
    threads, seen = torch.get_num_threads(), []
    try:
        torch.set_num_threads(3)
        judged(lambda numbers: seen.append(torch.get_num_threads()) or 2 * numbers)
        assert set(seen) == {1} and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)


def test_a_property_that_counts_only_with_right_values_is_searched_by_itself():
    def attend(weights, values):
        answer = (weights[..., None] * values).sum(1)
        if values.numel() > 8:
            values.zero_()
        return answer

    exercise = COURSE.find("02.3")
    task = exercise.tasks[0]
    sizes = []
    for search in (False, True):
        result = judge_task(exercise, task, in_process(attend, task), 1, search=search)
        (problem,) = [each.problem for each in result.verdicts if each.problem]
        assert problem.kind == "changed"
        sizes.append(sum(each.numel() for each in problem.case.values()))
    assert sizes[1] < sizes[0]


def test_tasks_whose_cases_hold_other_things_than_tensors_are_searched_too():
    task = dataclasses.replace(
        DOUBLE,
        cases=lambda generator: DOUBLE.cases(generator) | {"factor": 2, "state": {"weight": torch.ones(3)}},
        examples=(),
        reference=lambda numbers, factor, state: factor * numbers,
        properties=(Property("multiplied", 1, equals()),),
    )
    result, _ = judged(lambda numbers, factor, state: factor * numbers + (len(numbers) >= 12), task=task)
    assert told(result)[0].startswith("`numbers` of shape (12,), factor = 2, parameters of our own: 12 of 12")


# ---------------------------------------------------------------- the diagnosis


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda weights: weights.detach(), "no way back"),
        (lambda weights: 2 * weights - weights.detach(), None),  # doubled, and no graph is cut
        (lambda weights: weights + 0 * (0 * weights).sqrt(), None),  # nan on the way back
    ],
)
def test_a_wrong_gradient_is_named_by_its_numbers(change, name):
    """Where all values are right, a mistake is named only if its gradients are those of the answer."""
    exercise, task = COURSE.find_task("scaled_dot_product_attention")

    def answer(query, key, value, mask):
        scores = query @ key.mT / query.shape[-1] ** 0.5
        weights = change(scores.masked_fill(~mask, float("-inf")).softmax(dim=-1))
        return weights @ value, weights

    result = judge_task(exercise, task, in_process(answer, task), 0)
    assert [verdict.property.name for verdict in result.verdicts if verdict.problem] == ["the gradients are right"]
    assert (result.mistake.name if result.mistake else None) == name


def test_two_known_mistakes_in_one_answer_are_both_named():
    exercise, task = COURSE.find_task("scaled_dot_product_attention")

    def no_scale_and_mask_turned_round(query, key, value, mask):
        weights = (query @ key.mT).masked_fill(mask, float("-inf")).softmax(dim=-1)
        return weights @ value, weights

    result = judge_task(exercise, task, in_process(no_scale_and_mask_turned_round, task), 0)
    assert result.mistake.name == "no scale" and result.second_mistake.name == "mask turned round (-inf)"
