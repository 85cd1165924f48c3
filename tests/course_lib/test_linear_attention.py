"""Linear attention: its forms against the formula and each other; the delta rule against what it minimises."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from course_lib.cache import KeyValueCache
from course_lib.linear_attention import (
    LinearState,
    delta_rule_step,
    empty_state,
    linear_attention,
    linear_attention_in_chunks,
    linear_attention_step,
    positive_features,
)
from course_lib.masks import causal_mask
from course_lib.multi_head import MultiHeadAttention

both_precisions = pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])


def draw(query=9, key=9, batch=(2, 3), dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (*batch, query, 4), (*batch, key, 4), (*batch, key, 5)
    return tuple(2 * torch.randn(shape, dtype=dtype, generator=generator) for shape in shapes)


def close(one, other, tolerance=1e-12):
    torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)


def one_after_the_other(query, key, value):
    state, outputs = empty_state(key, value), []
    for token in zip(query.unbind(-2), key.unbind(-2), value.unbind(-2), strict=True):
        output, state = linear_attention_step(*token, state)
        outputs.append(output)
    return torch.stack(outputs, dim=-2), state


def test_features_are_positive_and_those_of_torchs_elu():
    entries = torch.linspace(-8, 8, 161, dtype=torch.float64, requires_grad=True)
    features, due = positive_features(entries), functional.elu(entries) + 1
    close(features, due)
    close(*(torch.autograd.grad(each.square().sum(), entries)[0] for each in (features, due)))
    entries = torch.tensor([-40.0, 0.0, 1e30], requires_grad=True)
    far = positive_features(entries)
    close(torch.autograd.grad(far.sum(), entries)[0], torch.tensor([4.2483543e-18, 1.0, 1.0]), 1e-6)
    close(far, torch.tensor([4.2483543e-18, 1.0, 1e30]), 1e-6)
    assert far.min() > 0


@given(query=st.integers(1, 4), key=st.integers(1, 5), masked=st.booleans(), seed=st.integers(0, 2**16))
def test_the_weights_are_shares_of_products_of_features(query, key, masked, seed):
    inputs = draw(query, key, (), seed=seed)
    mask = torch.rand(query, key, generator=torch.Generator().manual_seed(seed)) < 0.5 if masked else None
    output, weights = linear_attention(*inputs, mask)
    elu = lambda x: x + 1 if x > 0 else x.exp()  # noqa: E731
    for i in range(query):
        products = [
            sum(elu(inputs[0][i, d]) * elu(inputs[1][j, d]) for d in range(4)) * (mask is None or mask[i, j])
            for j in range(key)
        ]
        total = sum(products) or 1.0  # nothing to attend to: zeros
        for j in range(key):
            close(weights[i, j], products[j] / total)
        close(output[i], sum(weights[i, j] * inputs[2][j] for j in range(key)))


@both_precisions
@pytest.mark.parametrize("chunk", [1, 2, 4, 9, 64])
def test_all_at_once_in_chunks_and_one_after_the_other_agree(chunk, dtype, tolerance):
    inputs = draw(dtype=dtype)
    parallel, weights = linear_attention(*inputs, causal_mask(9))
    recurrent, state = one_after_the_other(*inputs)
    chunked, end = linear_attention_in_chunks(*inputs, chunk)
    assert parallel.dtype == recurrent.dtype == chunked.dtype == dtype and not weights.triu(1).any()
    close(recurrent, parallel, tolerance)
    close(chunked, parallel, tolerance)
    for part, due in zip(end, state, strict=True):
        close(part, due, 10 * tolerance)  # sums of nine


@given(time=st.integers(1, 12), chunk=st.integers(1, 13), first=st.integers(0, 12), seed=st.integers(0, 2**16))
def test_a_state_goes_on_where_it_stopped(time, chunk, first, seed):
    inputs = draw(time, time, (2,), seed=seed)
    first = max(1, min(first, time - 1))
    whole, end = linear_attention_in_chunks(*inputs, chunk)
    start, state = linear_attention_in_chunks(*(each[:, :first] for each in inputs), chunk)
    if first < time:
        rest, state = linear_attention_in_chunks(*(each[:, first:] for each in inputs), chunk, state)
        start = torch.cat([start, rest], dim=1)
    close(start, whole)
    for part, due in zip(state, end, strict=True):
        close(part, due, 1e-11)


def test_the_state_has_one_size_whatever_the_time():
    for time in (1, 100):
        inputs = draw(time, time)
        state = linear_attention_in_chunks(*inputs, 10)[1]
        assert state.total.shape == (2, 3, 4, 5) and state.normaliser.shape == (2, 3, 4)


@pytest.mark.parametrize("far", [30.0, -30.0])
def test_keys_and_queries_that_are_far_from_0_are_read(far):
    query, key, value = draw(dtype=torch.float32)
    query, key = query + far, key + far
    exact, _ = linear_attention(query.double(), key.double(), value.double(), causal_mask(9))
    for output in (
        linear_attention(query, key, value, causal_mask(9))[0],
        one_after_the_other(query, key, value)[0],
        linear_attention_in_chunks(query, key, value, 4)[0],
    ):
        close(output, exact.float(), 1e-5)


def test_gradients_are_right():
    inputs = tuple(each.requires_grad_() for each in draw(5, 5, (2,)))
    hidden = causal_mask(5) & torch.tensor([False, True, True, True, True])  # the first query sees nothing
    assert torch.autograd.gradcheck(lambda *each: linear_attention(*each, hidden), inputs)
    assert torch.autograd.gradcheck(lambda *each: linear_attention_in_chunks(*each, 2)[0], inputs)
    assert torch.autograd.gradcheck(lambda *each: one_after_the_other(*each)[0], inputs)


def test_heads_that_write_with_a_cache_or_with_a_state_give_what_reading_anew_gives():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, attend=linear_attention).double()
    inputs = torch.randn(3, 6, 8, dtype=torch.float64)
    due, weights = attention(inputs, causal=True)
    assert weights.shape == (3, 2, 6, 6)
    cache = KeyValueCache()
    pieces = [attention(inputs[:, now], cache=cache, causal=True)[0] for now in (slice(0, 3), slice(3, 4), slice(4, 6))]
    close(torch.cat(pieces, dim=1), due)
    query, (key, value) = attention.split(attention.to_query(inputs)), attention.project_memory(inputs)
    found, _ = one_after_the_other(query, key, value)
    close(attention.to_output(attention.merge(found)), due)


def orthogonal_keys(number):
    return torch.linalg.qr(
        torch.randn(number, number, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    )[0]


def test_the_delta_rule_is_a_step_down_the_gradient_of_the_squared_error():
    query, key, value = (each[..., 0, :] for each in draw())
    strength, total = torch.rand(2, 3, dtype=torch.float64), torch.randn(2, 3, 4, 5, dtype=torch.float64)
    total.requires_grad_()
    error = 0.5 * (torch.einsum("bhk,bhkv->bhv", key, total) - value).square().sum()
    gradient = torch.autograd.grad(error, total)[0]
    output, after = delta_rule_step(query, key, value, strength, total)
    close(after, total - strength[..., None, None] * gradient)
    close(output, torch.einsum("bhk,bhkv->bhv", query, after))


def test_the_delta_rule_replaces_a_value_where_linear_attention_averages():
    keys, total = orthogonal_keys(4), torch.zeros(4, 1, dtype=torch.float64)
    for number, value in ((0, 3.0), (1, 5.0), (0, 9.0)):
        value = torch.tensor([value], dtype=torch.float64)
        _, total = delta_rule_step(keys[number], keys[number], value, torch.tensor(1.0), total)
    close(keys @ total, torch.tensor([[9.0], [5.0], [0.0], [0.0]], dtype=torch.float64))
    assert torch.equal(delta_rule_step(keys[2], keys[2], value, torch.tensor(0.0), total)[1], total)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: linear_attention(torch.zeros(3, 4), torch.zeros(3, 5), torch.zeros(3, 2)), "`key` has d_key = 5"),
        (lambda: linear_attention(*draw(), torch.ones(8, 9) > 0), "`mask` has shape (8, 9)"),
        (lambda: linear_attention_in_chunks(*draw(), 0), "`chunk` is 0, expected at least 1"),
        (lambda: linear_attention_in_chunks(*draw(8)), "there are 8 queries and 9 keys, expected as many"),
        (lambda: linear_attention_in_chunks(*draw(), state=empty_state(*draw()[:2])), "expected (2, 3, 4, 5)"),
        (lambda: step_with(torch.zeros(1, 3, 4, 5)), "`total` has shape (1, 3, 4, 5), expected (2, 3, 4, 5)"),
        (lambda: delta_with(torch.zeros(2, 3, 5, 4), torch.zeros(2, 3)), "`total` has shape (2, 3, 5, 4)"),
        (lambda: delta_with(torch.zeros(2, 3, 4, 5), torch.zeros(3)), "`strength` has shape (3,), expected (2, 3)"),
    ],
)
def test_wrong_arguments_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        wrong()
    assert sentence in str(error.value)


def test_a_mask_of_numbers_is_refused():
    with pytest.raises(TypeError, match="`mask` is of torch.float32"):
        linear_attention(*draw(), torch.ones(9, 9))


def step_with(total):
    return linear_attention_step(*(each[..., 0, :] for each in draw()), LinearState(total, total[..., 0]))


def delta_with(total, strength):
    return delta_rule_step(*(each[..., 0, :] for each in draw()), strength, total)
