import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.masks import causal_mask, masked_softmax, padding_mask

sizes = st.integers(1, 7)


@given(n_query=sizes, more=st.integers(0, 5))
def test_a_query_sees_its_own_position_and_those_before_it(n_query, more):
    mask = causal_mask(n_query, n_query + more)
    for row in range(n_query):
        position = more + row
        assert mask[row].tolist() == [key <= position for key in range(n_query + more)]


@pytest.mark.parametrize(("n_query", "n_key"), [(3, 2), (0, 0), (0, 4), (-1, None)])
def test_a_query_that_could_see_nothing_is_refused(n_query, n_key):
    with pytest.raises(ValueError, match="`n_query` is"):
        causal_mask(n_query, n_key)


@given(lengths=st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_padding_is_hidden_from_every_query(lengths):
    mask = padding_mask(torch.tensor(lengths), time=6)
    assert mask.shape == (len(lengths), 1, 6)
    assert mask.sum(dim=(1, 2)).tolist() == lengths
    assert all(not mask[row, 0, length:].any() for row, length in enumerate(lengths))


@pytest.mark.parametrize("lengths", [[7], [-1], [3, 9]])
def test_impossible_lengths_are_refused(lengths):
    with pytest.raises(ValueError, match="`lengths`"):
        padding_mask(torch.tensor(lengths), time=6)


@given(leading=st.lists(st.integers(1, 3), max_size=2), query=sizes, key=sizes, seed=st.integers(0, 2**16))
def test_masked_softmax_is_the_softmax_of_what_is_left(leading, query, key, seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(*leading, query, key, generator=generator, dtype=torch.float64)
    mask = torch.rand(query, key, generator=generator) < 0.6
    weights = masked_softmax(scores, mask)
    for row in range(query):
        allowed = mask[row]
        assert (weights[..., row, ~allowed] == 0).all()
        if allowed.any():
            torch.testing.assert_close(weights[..., row, allowed], scores[..., row, allowed].softmax(-1))


def test_an_empty_row_is_zero_in_value_and_gradient_and_leaves_the_others_alone():
    scores = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.ones(3, 4, dtype=torch.bool)
    mask[1] = False
    weights = masked_softmax(scores, mask)
    (gradient,) = torch.autograd.grad((weights * torch.randn_like(weights)).sum(), scores)
    assert (weights[:, 1] == 0).all() and (gradient[:, 1] == 0).all()
    assert gradient.isfinite().all() and (gradient[:, 0] != 0).any()
    torch.testing.assert_close(weights[:, [0, 2]], scores[:, [0, 2]].softmax(-1))


@pytest.mark.parametrize("gap", [1e2, 1e9, 1e30, float("inf")])
def test_what_is_hidden_has_no_influence_however_large_its_score(gap):
    scores = torch.tensor([[1.0, 2.0, 0.0]])
    mask = torch.tensor([True, True, False])
    hidden = masked_softmax(scores + torch.tensor([0.0, 0.0, gap]), mask)
    assert torch.equal(hidden, masked_softmax(scores, mask))


@pytest.mark.parametrize("low", [-1e9, -1e12, -1e30])
def test_what_is_left_shares_the_whole_however_low_its_scores(low):
    weights = masked_softmax(torch.tensor([[low, low, 0.0]]), torch.tensor([True, True, False]))
    assert torch.equal(weights, torch.tensor([[0.5, 0.5, 0.0]]))


def test_no_nan_comes_up_on_the_way_back_from_an_empty_row():
    scores = torch.randn(1, 3, requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True):
        masked_softmax(scores, torch.zeros(3, dtype=torch.bool)).sum().backward()


def test_gradients_are_right():
    mask = torch.tensor([[True, False, True], [False, False, False]])
    scores = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda each: masked_softmax(each, mask), scores)


def test_the_inputs_are_left_alone():
    scores, mask = torch.randn(3, 3), causal_mask(3)
    before = scores.clone(), mask.clone()
    masked_softmax(scores, mask)
    assert torch.equal(scores, before[0]) and torch.equal(mask, before[1])


@pytest.mark.parametrize(
    ("mask", "error", "said"),
    [
        (torch.ones(3, 3), TypeError, "torch.float32, expected torch.bool"),
        (torch.ones(3, 3, dtype=torch.long), TypeError, "torch.int64"),
        (torch.ones(4, 3, dtype=torch.bool), ValueError, "broadcasts to"),
        (torch.ones(1, 1, 3, 3, dtype=torch.bool), ValueError, "broadcasts to"),
    ],
)
def test_a_mask_that_does_not_fit_is_named(mask, error, said):
    with pytest.raises(error, match=f"`mask`.*{said}"):
        masked_softmax(torch.zeros(2, 3, 3), mask)
