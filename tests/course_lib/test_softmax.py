import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.softmax import softmax, softmax_jacobian, softmax_step_by_step

both = pytest.mark.parametrize("softmax", [softmax, softmax_step_by_step])


@both
@given(
    leading=st.lists(st.integers(1, 4), max_size=2),
    n=st.integers(1, 9),
    temperature=st.just(1.0) | st.floats(0.05, 20),
    scale=st.sampled_from([1.0, 1e2, 1e4]),
    seed=st.integers(0, 2**16),
)
def test_equals_torch(softmax, leading, n, temperature, scale, seed):
    scores = scale * torch.randn(*leading, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(softmax(scores, temperature), torch.softmax(scores / temperature, dim=-1))


@both
def test_gradient_is_right(softmax):
    scores = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert all(torch.autograd.gradcheck(lambda s, t=t: softmax(s, t), scores) for t in (0.7, 1.0))


@both
def test_minus_infinity_gets_no_weight(softmax):
    weights = softmax(torch.tensor([1.0, float("-inf"), 1.0]))
    assert torch.equal(weights, torch.tensor([0.5, 0.0, 0.5]))


@both
@pytest.mark.parametrize("temperature", [0, -1, float("nan")])
def test_temperature_must_be_positive(softmax, temperature):
    with pytest.raises(ValueError, match="`temperature`"):
        softmax(torch.zeros(2), temperature)


@both
def test_scores_must_have_an_axis(softmax):
    with pytest.raises(ValueError, match="`scores` has shape"):
        softmax(torch.tensor(1.0))


@both
def test_input_is_left_alone(softmax):
    scores = torch.randn(4)
    before = scores.clone()
    softmax(scores, 0.5)
    assert torch.equal(scores, before)


@given(n=st.integers(1, 7), seed=st.integers(0, 2**16))
def test_jacobian_equals_autograd(n, seed):
    scores = torch.randn(2, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    expected = torch.stack([torch.autograd.functional.jacobian(softmax, row) for row in scores])
    torch.testing.assert_close(softmax_jacobian(softmax(scores)), expected)


@both
def test_nothing_overflows_at_a_low_temperature(softmax):
    """Scores are subtracted before the division: the other order would divide 3e38 out of float32."""
    assert torch.equal(softmax(torch.tensor([3e38, 3e38]), temperature=0.1), torch.tensor([0.5, 0.5]))


def test_with_nothing_left_to_share_the_weights_are_nan():
    assert softmax(torch.full((3,), float("-inf"))).isnan().all()
