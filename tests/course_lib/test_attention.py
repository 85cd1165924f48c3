import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.attention import AdditiveAttention, DotAttention, UniformAttention
from course_lib.diagnostics import row_sum_error

sizes = st.integers(1, 6)


def loops(attention, query, key, value):
    """One batch entry at a time, one location at a time."""
    contexts, rows = [], []
    for b in range(len(query)):
        scores = torch.stack(
            [
                attention.score.weight[0]
                @ torch.tanh(
                    attention.project_query.weight @ query[b]
                    + attention.project_query.bias
                    + attention.project_key.weight @ key[b, location]
                )
                for location in range(key.shape[1])
            ]
        )
        weights = torch.softmax(scores, dim=0)
        contexts.append(sum(weight * row for weight, row in zip(weights, value[b], strict=True)))
        rows.append(weights)
    return torch.stack(contexts), torch.stack(rows)


@given(batch=sizes, location=sizes, d_query=sizes, d_key=sizes, d_value=sizes, seed=st.integers(0, 2**16))
def test_additive_attention_equals_loops(batch, location, d_query, d_key, d_value, seed):
    torch.manual_seed(seed)
    attention = AdditiveAttention(d_query, d_key, d_hidden=4).double()
    query, key, value = (
        torch.randn(shape, dtype=torch.float64)
        for shape in ((batch, d_query), (batch, location, d_key), (batch, location, d_value))
    )
    context, weights = attention(query, key, value)
    torch.testing.assert_close((context, weights), loops(attention, query, key, value))
    assert row_sum_error(weights) < 1e-12


def test_gradients_are_right():
    attention = AdditiveAttention(3, 2, d_hidden=4).double()
    arguments = [
        torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3), (2, 5, 2), (2, 5, 4))
    ]
    assert torch.autograd.gradcheck(attention, arguments)


def test_the_query_steers():
    attention = AdditiveAttention(3, 2, d_hidden=8)
    key = torch.randn(1, 5, 2)
    weights = [attention(direction * torch.ones(1, 3), key, key)[1] for direction in (-1, 1)]
    assert not torch.allclose(*weights)


def test_permuting_the_locations_permutes_the_weights_and_keeps_the_context():
    attention, order = AdditiveAttention(3, 2, d_hidden=8), torch.randperm(6)
    query, key, value = torch.randn(2, 3), torch.randn(2, 6, 2), torch.randn(2, 6, 4)
    context, weights = attention(query, key, value)
    moved_context, moved_weights = attention(query, key[:, order], value[:, order])
    torch.testing.assert_close(moved_weights, weights[:, order])
    torch.testing.assert_close(moved_context, context)


def test_uniform_attention_is_the_mean_whatever_the_query():
    value = torch.randn(2, 5, 3)
    context, weights = UniformAttention()(torch.randn(2, 7), torch.randn(2, 5, 4), value)
    torch.testing.assert_close(context, value.mean(dim=1))
    assert torch.equal(weights, torch.full((2, 5), 0.2))


@pytest.mark.parametrize("attention", [AdditiveAttention(3, 2, d_hidden=4), DotAttention(), UniformAttention()])
@pytest.mark.parametrize(
    ("shapes", "culprit"),
    [
        (((2, 3, 1), (2, 5, 2), (2, 5, 4)), "`query`"),
        (((2, 3), (3, 5, 2), (2, 5, 4)), "`key`"),
        (((2, 3), (2, 5, 2), (2, 6, 4)), "`value`"),
    ],
)
def test_a_wrong_shape_is_named(attention, shapes, culprit):
    with pytest.raises(ValueError, match=culprit):
        attention(*(torch.zeros(shape) for shape in shapes))


def test_dot_attention_is_the_softmax_of_dot_products():
    query, key, value = torch.randn(2, 3), torch.randn(2, 5, 3), torch.randn(2, 5, 4)
    context, weights = DotAttention()(query, key, value)
    expected = torch.stack([(key[row] @ query[row]).softmax(0) for row in range(2)])
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(context, torch.stack([expected[row] @ value[row] for row in range(2)]))


def test_dot_attention_names_widths_that_differ_where_additive_scores_take_them():
    query, key = torch.zeros(2, 8), torch.zeros(2, 5, 6)
    with pytest.raises(ValueError, match="`key` has d_key = 6 but `query` has 8"):
        DotAttention()(query, key, key)
    assert AdditiveAttention(8, 6, d_hidden=4)(query, key, key)[0].shape == (2, 6)
