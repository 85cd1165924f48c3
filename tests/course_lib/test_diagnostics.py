import pytest
import torch

from course_lib.diagnostics import (
    causal_leak,
    cells_on_object,
    gradient_reach,
    jacobian_blocks,
    permutation_error,
    pointing_rate,
    receptive_field,
    row_sum_error,
)


def test_row_sum_error_is_the_worst_row():
    assert row_sum_error(torch.tensor([[0.5, 0.5], [0.9, 0.0], [0.7, 0.7]])) == pytest.approx(0.4)


def test_a_wrong_axis_is_seen():
    scores = torch.randn(4, 6)
    assert row_sum_error(torch.softmax(scores, dim=-1)) < 1e-6 < row_sum_error(torch.softmax(scores, dim=0))


def test_receptive_field_of_one_pixel_and_of_all():
    def pixel(images):
        return images.flatten(2).transpose(1, 2)  # (batch, location, 3)

    def mean(images):
        return images.mean(dim=(2, 3)).unsqueeze(1).expand(-1, 16, -1)

    images = torch.randn(2, 3, 4, 4)
    assert receptive_field(pixel, images, location=6).nonzero().tolist() == [[1, 2]]
    assert receptive_field(mean, images, location=6).all()
    assert not images.requires_grad


def test_pointing_rate_counts_pictures():
    masks = torch.zeros(4, 8, 8, dtype=torch.bool)
    masks[:, 0, 7] = True  # one pixel, in the upper right cell of a 2 x 2 grid
    weights = torch.eye(4)  # each picture looks at another cell
    assert cells_on_object(masks, locations=4).tolist() == [[False, True, False, False]] * 4
    assert pointing_rate(weights, masks) == 0.25


@pytest.mark.parametrize(("locations", "shape"), [(5, (1, 4, 4)), (9, (1, 4, 4)), (4, (4, 4))])
def test_a_grid_that_does_not_fit_is_refused(locations, shape):
    with pytest.raises(ValueError, match="`locations`|`masks`"):
        cells_on_object(torch.zeros(shape, dtype=torch.bool), locations)


ORDER = torch.tensor([3, 0, 2, 1, 4])


@pytest.mark.parametrize(
    "layer", [torch.tanh, lambda x: x - x.mean(1, keepdim=True), lambda x: x.amax(1)[:, None] + 0 * x]
)
def test_layers_that_treat_all_positions_alike_have_no_permutation_error(layer):
    assert permutation_error(layer, torch.randn(2, 5, 3, dtype=torch.float64), ORDER) < 1e-12


@pytest.mark.parametrize(
    "layer", [lambda x: x.cumsum(1), lambda x: x.roll(1, 1), lambda x: x + torch.arange(5.0)[:, None]]
)
def test_layers_that_know_the_order_have_one(layer):
    assert permutation_error(layer, torch.randn(2, 5, 3), ORDER) > 0.1


def test_a_leak_is_seen_wherever_it_is():
    inputs = torch.randn(2, 5, 3)
    assert causal_leak(lambda x: x.cumsum(1), inputs) == 0
    for position in range(4):

        def leaking(x, position=position):
            return torch.cat(
                [x[:, :position], x[:, position : position + 1] + 1e-3 * x[:, 4:], x[:, position + 1 :]], 1
            )

        assert causal_leak(leaking, inputs) > 1e-5


@pytest.mark.parametrize("position", range(4))
def test_a_leak_from_the_next_position_alone_is_seen(position):
    def leaking(x):
        moved = torch.zeros_like(x)
        moved[:, position] = x[:, position + 1]
        return x + moved

    assert causal_leak(leaking, torch.randn(2, 5, 3)) > 0.1


def test_a_layer_that_returns_nan_has_no_leak_of_zero():
    leak = causal_leak(lambda x: x / torch.zeros_like(x) * 0, torch.randn(2, 5, 3))
    assert leak != leak


def test_gradient_reach_of_a_decaying_sum():
    def decaying(x):
        state, states = torch.zeros_like(x[:, 0]), []
        for step in x.unbind(1):
            state = 0.5 * state + step
            states.append(state)
        return torch.stack(states, 1)

    torch.testing.assert_close(
        gradient_reach(decaying, torch.randn(2, 4, 9)), 3 * torch.tensor([0.125, 0.25, 0.5, 1.0])
    )


def test_jacobian_blocks_of_a_linear_map_are_its_coefficients():
    mixing = torch.tensor([[1.0, 0.0, -2.0], [0.0, 0.5, 0.0]])
    assert torch.equal(jacobian_blocks(lambda x: mixing @ x, torch.randn(3, 4)), mixing.abs())


def test_a_wrong_shape_is_named():
    for measure in (causal_leak, gradient_reach):
        with pytest.raises(ValueError, match="`inputs`"):
            measure(torch.tanh, torch.zeros(5, 3))
    with pytest.raises(ValueError, match="`inputs`"):
        jacobian_blocks(torch.tanh, torch.zeros(2, 5, 3))
    with pytest.raises(ValueError, match="`order`"):
        permutation_error(torch.tanh, torch.zeros(2, 4, 3), ORDER)
