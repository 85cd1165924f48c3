"""Whatever a learner's function does, what comes back is a verdict in a plain sentence."""

import dataclasses
import re
import sys

import numpy
import pytest
import torch

from course_lib.grading.call import in_process
from course_lib.grading.catalogue import catalogue
from course_lib.grading.engine import judge_task
from course_lib.grading.wording import sentence

ATTEND = catalogue().find("02.3")


def problems(function, number: str = "02.3", seed: int = 0) -> dict[str, str | None]:
    exercise = catalogue().find(number)
    result = judge_task(exercise, exercise.tasks[0], in_process(function, exercise.tasks[0], exercise.forbidden), seed)
    return {
        verdict.property.name: sentence(verdict.problem, result.task) if verdict.problem else None
        for verdict in result.verdicts
    }


def test_a_right_answer_has_no_problem():
    assert not any(problems(ATTEND.tasks[0].reference).values())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda weights, values: None, ["got nothing (is `return` missing?)", "context, shape (batch, d_value)"]),
        (lambda weights, values: 3.0, ["got a float", "expected a tensor"]),
        (lambda weights, values: [1, 2], ["got a list"]),
        (lambda weights, values: numpy.zeros(3), ["got an ndarray"]),
        (lambda weights, values: 3, ["got an int"]),
        (lambda weights, values: (values, weights), ["got a tuple"]),
        (lambda weights, values: (values, (weights, 3)), ["got a tuple inside the tuple"]),
        (lambda weights, values: (values, None), ["got None inside the tuple"]),
        (lambda weights, values: values, ["got shape (2, 1, 1) of float32", "expected shape (2, 1) of float32"]),
        (lambda weights, values: values.sum(1).double(), ["got numbers of float64, expected float32"]),
        (lambda weights, values: values.sum(1) > 0, ["got numbers of bool, expected float32"]),
        (lambda weights, values: values.sum(1) * float("nan"), ["nan", "expected [[2.0], [5.0]]"]),
        (lambda weights, values: values.sum(1) / 0, ["inf"]),
        (lambda weights, values: values.sum(1).to_sparse(), ["sparse", "expected an ordinary one"]),
        (lambda weights, values: values.sum(1).to("meta"), ["on meta", "expected an ordinary one on the cpu"]),
        (lambda weights, values: weights @ torch.zeros(7, 7), ["stopped with RuntimeError", "line", "values = [[["]),
        (lambda weights, values: sys.exit(), ["`exit()` ends the programme"]),
        (lambda weights, values: input(), ["`input()` waits for somebody"]),
        (lambda w, v: v, ["expected the signature attend(weights, values), got attend(w, v)"]),
        (lambda: 1, ["expected the signature attend(weights, values), got attend()"]),
        (lambda weights, values, scale: values, ["expected the signature", "scale"]),
        (torch.softmax, ["stopped with TypeError"]),
        (3, ["TypeError"]),
    ],
)
def test_a_wrong_answer_is_told_in_a_plain_sentence(function, said):
    told = problems(function)["the sum of the weighted values"]
    assert "\n" not in told and "Traceback" not in told
    for part in said:
        assert part in told


def test_endless_recursion_is_a_problem_like_any_other():
    def attend(weights, values):
        return attend(weights, values)

    assert "RecursionError" in problems(attend)["the sum of the weighted values"]


def test_torch_s_own_not_implemented_is_not_taken_for_the_stub():
    def attend(weights, values):
        raise NotImplementedError("no kernel for this kind")

    assert "no kernel for this kind" in problems(attend)["the sum of the weighted values"]


def test_points_for_inputs_count_only_where_the_values_are_right():
    def attend(weights, values):
        return values.sum(1)

    assert problems(attend)["inputs unchanged"] == "counts once the values are right"


def test_a_change_in_place_is_named_with_its_argument():
    def attend(weights, values):
        answer = (weights[..., None] * values).sum(1)
        weights.zero_()
        return answer

    found = problems(attend)
    assert "after the call `weights` held other numbers" in found.pop("inputs unchanged")
    assert not any(found.values())


@pytest.mark.parametrize("number", ["00.1", "00.3", "02.1", "02.2", "02.4"])
def test_a_change_in_place_costs_points_where_it_is_no_property_of_its_own(number):
    task = catalogue().find(number).tasks[0]

    def overwriting(**arguments):
        answer = task.reference(**{name: value.clone() for name, value in arguments.items()})
        next(iter(arguments.values())).mul_(2)
        return answer

    assert any(found and "held other numbers" in found for found in problems(overwriting, number).values())


def test_an_input_that_is_reshaped_in_place_is_noticed():
    def channels_last(images):
        return images.transpose_(1, 2).transpose_(2, 3).clone()

    assert "held other numbers" in problems(channels_last, "00.1")["every number in its place"]


def test_an_input_that_is_given_other_numbers_to_hold_is_noticed():
    def attend(weights, values):
        weights.data = weights.double()
        return (weights[..., None].float() * values).sum(1)

    assert "`weights` held other numbers" in problems(attend)["inputs unchanged"]


@pytest.mark.parametrize(
    "softmax",
    [
        lambda scores, temperature: torch.softmax(scores / temperature, -1),
        lambda scores, temperature: torch.nn.functional.log_softmax(scores / temperature, -1).exp(),
        lambda scores, temperature: torch.nn.Softmax(-1)(scores / temperature),
        lambda scores, temperature: getattr(torch.ops.aten, "_soft" + "max")(scores / temperature, -1, False),
        lambda scores, temperature: torch.nn.functional.softmin(-scores / temperature, -1),
    ],
)
def test_torch_s_own_softmax_is_refused_below_python(softmax):
    found = problems(softmax, "00.2")
    assert all(found.values())
    for name in ("rows sum to one", "weights follow exp(score / temperature)", "scores of 10,000 stay finite"):
        assert re.match(r"softmax used torch\.(log_)?softmax \(aten::_(log_)?softmax\)", found[name])


def test_a_refused_operator_cannot_be_hidden_by_catching():
    def softmax(scores, temperature):
        try:
            return torch.softmax(scores / temperature, -1)
        except Exception:
            return scores

    assert all(problems(softmax, "00.2").values())


def test_what_the_function_prints_and_warns_is_not_shown(capsys):
    def attend(weights, values):
        print("weights", weights)
        print("values", values, file=sys.stderr)
        return (weights[..., None] * values).sum(1)

    assert not any(problems(attend).values())
    assert capsys.readouterr() == ("", "")


def test_an_unknown_mistake_is_not_given_a_name():
    task = ATTEND.tasks[0]
    result = judge_task(ATTEND, task, in_process(lambda weights, values: values.sum(1) + 7, task), 0)
    assert result.earned == 0 and result.mistake is None


def test_only_who_overwrites_the_same_input_is_told_so():
    def attend(weights, values):
        answer = (weights[..., None] * values).sum(1)
        weights.zero_()
        return answer

    task = ATTEND.tasks[0]
    assert judge_task(ATTEND, task, in_process(attend, task), 0).mistake is None  # "values overwritten" is another


def test_an_answer_that_never_comes_is_given_no_name():
    def stub(weights, values):
        raise NotImplementedError

    always_raises = dataclasses.replace(ATTEND.tasks[0].mistakes[0], make=lambda: lambda **arguments: 1 / 0)
    task = dataclasses.replace(ATTEND.tasks[0], mistakes=(always_raises,))
    assert judge_task(ATTEND, task, in_process(stub, task), 0).mistake is None
