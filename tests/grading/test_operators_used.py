import pytest
import torch

from course_lib.grading.operators_used import functions_refused, operators_used
from course_lib.grading.sandbox.worker.refusals import in_python

SCORES = torch.tensor([[0.0, 1.0], [2.0, 3.0]])


def used(names: list[str], function) -> set[str]:
    with operators_used(names) as found:
        function()
    return found & set(names)


@pytest.mark.parametrize(
    "function",
    [
        lambda: torch.nn.Softmax(0)(SCORES),
        lambda: torch.softmax(SCORES, 0, out=torch.empty(2, 2)),
        lambda: torch.vmap(lambda row: row.softmax(0))(SCORES),
        lambda: torch.func.jacrev(lambda scores: scores.softmax(0))(SCORES),
    ],
)
def test_an_operator_is_noted_whatever_it_is_called(function):
    assert used(["aten::_softmax"], function) == {"aten::_softmax"}
    assert used(["aten::_log_softmax"], function) == set()


def test_an_operator_that_only_a_gradient_takes_is_noted():
    names = ["aten::_log_softmax", "aten::_softmax", "aten::exp"]
    inputs = SCORES.clone().requires_grad_()
    output = inputs.logsumexp(0).sum()
    assert used(names, output.backward) == {"aten::exp"}


def test_an_operator_within_one_that_others_look_out_for_is_noted():
    def normalise():
        return torch.nn.functional.layer_norm(SCORES, (2,))

    assert used(["aten::layer_norm"], normalise) == {"aten::layer_norm"}
    assert used(["aten::native_layer_norm"], normalise) == {"aten::native_layer_norm"}


def test_values_and_gradients_are_what_they_are_without_it():
    inputs = SCORES.clone().requires_grad_()
    expected = torch.autograd.grad(inputs.softmax(0)[0].sum(), inputs)[0]
    with operators_used(["aten::_softmax", "aten::_softmax_backward_data"]) as found:
        got = torch.autograd.grad(inputs.softmax(0)[0].sum(), inputs)[0]
    assert torch.equal(got, expected) and found >= {"aten::_softmax", "aten::_softmax_backward_data"}


def test_nothing_is_noted_outside():
    assert used(["aten::_softmax"], lambda: None) == set()
    with operators_used(["aten::_softmax"]) as found:
        pass
    SCORES.softmax(0)
    assert "aten::_softmax" not in found


def test_an_operator_that_this_torch_has_not_is_never_noted():
    assert used(["aten::of_a_later_torch"], lambda: torch.softmax(SCORES, 0)) == set()


def test_a_function_in_python_refuses_by_every_name_and_only_inside():
    from torch.nn.functional import normalize

    with functions_refused({"torch.nn.functional.normalize": "torch's normalize", "aten::_softmax": "torch.softmax"}):
        for call in (normalize, torch.nn.functional.normalize):
            with pytest.raises(RuntimeError, match="torch's normalize .* was used: here it is"):
                call(SCORES)
        torch.softmax(SCORES, 0)
    assert torch.allclose(normalize(SCORES).square().sum(1), torch.ones(2))


def test_a_function_that_this_torch_has_not_is_none():
    assert in_python("torch.nn.functional.of_a_later_torch") is None and in_python("torch.nowhere.at_all") is None
    assert in_python("aten::_softmax") is None
