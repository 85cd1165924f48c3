"""The selective state space: the scan against the loop and torch's own sums, the layer against its formula."""

from math import exp, log1p

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.state_space import LARGEST, SMALLEST, SelectiveStateSpace, scan_by_doubling, scan_step_by_step
from tests.course_lib.parameters import start_anywhere

both_precisions = pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
SCANS = [scan_step_by_step, scan_by_doubling]


def close(one, other, tolerance=1e-12):
    torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)


def draw(time, dtype=torch.float64, rest=(3, 2), seed=0):
    generator = torch.Generator().manual_seed(seed)
    decay = torch.rand(2, time, *rest, dtype=dtype, generator=generator)
    return decay, torch.randn(2, time, *rest, dtype=dtype, generator=generator)


def layer_and_inputs(time, scan=scan_step_by_step):
    torch.manual_seed(0)
    layer = start_anywhere(SelectiveStateSpace(3, 2, scan)).double()
    return layer, torch.randn(2, time, 3, dtype=torch.float64)


@both_precisions
@pytest.mark.parametrize("time", [1, 2, 3, 7, 8, 9, 100, 1025])
def test_the_scan_is_the_loop(time, dtype, tolerance):
    inputs = draw(time, dtype)
    states = scan_by_doubling(*inputs)
    assert states.dtype == dtype
    close(states, scan_step_by_step(*inputs), tolerance)


@pytest.mark.parametrize("scan", SCANS)
@given(time=st.integers(1, 20), rest=st.lists(st.integers(1, 3), max_size=2), seed=st.integers(0, 2**16))
def test_both_have_torchs_sums_and_products_as_special_cases(scan, time, rest, seed):
    decay, update = draw(time, rest=rest, seed=seed)
    close(scan(torch.ones_like(update), update), update.cumsum(dim=1))
    assert torch.equal(scan(torch.zeros_like(update), update), update)
    once = torch.cat([torch.ones_like(update[:, :1]), torch.zeros_like(update[:, 1:])], dim=1)
    close(scan(decay, once), torch.cat([once[:, :1], decay[:, 1:]], dim=1).cumprod(dim=1))


@pytest.mark.parametrize("scan", SCANS)
def test_what_forgets_at_once_and_for_long_stays_finite(scan):
    """Where sums of logarithms would divide by a product that is 0."""
    decay, update = torch.full((1, 3000), 1e-30), torch.ones(1, 3000)
    assert torch.equal(scan(decay, update), torch.ones(1, 3000))


@pytest.mark.parametrize("scan", SCANS)
def test_the_gradients_of_a_scan_are_right_and_the_inputs_are_left_alone(scan):
    inputs = tuple(each.requires_grad_() for each in draw(5))
    before = [each.clone() for each in inputs]
    assert torch.autograd.gradcheck(scan, inputs)
    assert all(torch.equal(*pair) for pair in zip(inputs, before, strict=True))


def layer_by_hand(layer, inputs):
    """The formula for one sequence (time, d_model), number by number."""
    softplus, silu = lambda x: log1p(exp(x)), lambda x: x / (1 + exp(-x))  # noqa: E731
    state = [[0.0] * layer.d_state for _ in range(layer.d_model)]
    outputs = []
    for vector in inputs:
        sizes, gates = layer.to_step_size(vector).tolist(), layer.to_gate(vector).tolist()
        enters, read = layer.to_input_matrix(vector).tolist(), layer.to_output_matrix(vector).tolist()
        hidden = []
        for entry, x in enumerate(vector.tolist()):
            size = softplus(sizes[entry])
            for n in range(layer.d_state):
                rate = exp(layer.log_rate[entry, n].item())
                state[entry][n] = exp(-size * rate) * state[entry][n] + size * enters[n] * x
            found = sum(read[n] * state[entry][n] for n in range(layer.d_state))
            hidden.append(silu(gates[entry]) * (found + layer.skip[entry].item() * x))
        outputs.append(layer.to_output(torch.tensor(hidden, dtype=torch.float64)))
    return torch.stack(outputs)


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("time", [1, 2, 5, 8])
def test_the_layer_is_its_formula(time, scan):
    layer, inputs = layer_and_inputs(time, scan)
    outputs = layer(inputs)
    for sequence in range(2):
        close(outputs[sequence], layer_by_hand(layer, inputs[sequence]))


@both_precisions
@pytest.mark.parametrize("time", [1, 6, 33])
def test_step_by_step_it_gives_what_the_whole_gives(time, dtype, tolerance):
    layer, inputs = layer_and_inputs(time, scan_by_doubling)
    layer, inputs, state, outputs = layer.to(dtype), inputs.to(dtype), None, []
    for vectors in inputs.unbind(dim=1):
        output, state = layer.step(vectors, state)
        outputs.append(output)
        assert state.shape == (2, 3, 2)
    close(torch.stack(outputs, dim=1), layer(inputs), tolerance)


@pytest.mark.parametrize("scan", SCANS)
def test_a_later_input_moves_no_earlier_output(scan):
    layer, inputs = layer_and_inputs(9, scan)
    changed = torch.cat([inputs[:, :5], inputs[:, 5:] + 1], dim=1)
    before, after = layer(inputs), layer(changed)
    assert torch.equal(before[:, :5], after[:, :5])
    assert ((before - after)[:, 5:].abs().amax(dim=-1) > 1e-6).all()


@pytest.mark.parametrize("scan", SCANS)
def test_an_earlier_input_reaches_every_later_output(scan):
    layer, inputs = layer_and_inputs(6, scan)
    moved = torch.autograd.functional.jacobian(layer, inputs[:1])[0, :, :, 0].abs().amax(dim=(1, 3))
    assert torch.equal(moved > 1e-12, torch.ones(6, 6).tril() > 0)


@pytest.mark.parametrize("scan", SCANS)
def test_the_gradients_of_the_layer_are_right(scan):
    layer, inputs = layer_and_inputs(4, scan)
    assert torch.autograd.gradcheck(layer, inputs.requires_grad_())
    names = list(dict(layer.named_parameters()))

    def of_parameters(*values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (inputs.detach(),))

    assert torch.autograd.gradcheck(of_parameters, tuple(layer.parameters()))


def test_a_small_step_passes_an_input_by_and_a_large_one_forgets():
    layer, inputs = layer_and_inputs(1)
    state = torch.randn(2, 3, 2, dtype=torch.float64)
    torch.nn.init.zeros_(layer.to_step_size.weight)
    torch.nn.init.constant_(layer.to_step_size.bias, -60.0)
    close(layer.step(inputs[:, 0], state)[1], state)
    torch.nn.init.constant_(layer.to_step_size.bias, 1000.0)
    close(layer.step(inputs[:, 0], state)[1], layer.step(inputs[:, 0])[1])


def test_it_begins_with_many_step_sizes_and_rates():
    torch.manual_seed(0)
    layer = SelectiveStateSpace(1000, 4)
    sizes = torch.nn.functional.softplus(layer.to_step_size.bias)
    assert 0.999 * SMALLEST < sizes.min() < 1.02 * SMALLEST and 0.98 * LARGEST < sizes.max() < 1.001 * LARGEST
    close(layer.log_rate.exp(), torch.arange(1.0, 5.0).expand(1000, 4), 1e-6)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            lambda: scan_by_doubling(torch.zeros(2, 3), torch.zeros(2, 4)),
            "`decay` has shape (2, 3) and `update` (2, 4)",
        ),
        (lambda: scan_step_by_step(torch.zeros(2, 3), torch.zeros(2, 1)), "expected one shape (batch, time, ...)"),
        (lambda: scan_by_doubling(torch.zeros(3), torch.zeros(3)), "`decay` has shape (3,)"),
        (lambda: scan_step_by_step(torch.zeros(3, 0), torch.zeros(3, 0)), "of at least one step"),
        (lambda: SelectiveStateSpace(4, 2)(torch.zeros(2, 3, 5)), "expected (batch, time, d_model=4)"),
        (lambda: SelectiveStateSpace(4, 2)(torch.zeros(3, 4)), "`inputs` has shape (3, 4)"),
        (lambda: SelectiveStateSpace(4, 2).step(torch.zeros(2, 3, 4)), "expected (batch, d_model=4)"),
        (
            lambda: SelectiveStateSpace(4, 2).step(torch.zeros(2, 4), torch.zeros(1, 4, 2)),
            "`state` has shape (1, 4, 2), expected (batch=2, d_model=4, d_state=2)",
        ),
    ],
)
def test_wrong_arguments_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        wrong()
    assert sentence in str(error.value)
