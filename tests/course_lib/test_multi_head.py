"""Multi-head attention: held to one head at a time, and to the properties that heads must keep."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from course_lib.attention import scaled_dot_product_attention
from course_lib.cache import KeyValueCache
from course_lib.diagnostics import causal_leak, permutation_error, row_sum_error
from course_lib.masks import causal_mask, padding_mask
from course_lib.multi_head import MultiHeadAttention, merge_heads, repeat_heads, split_heads
from course_lib.normalisation import LayerNorm
from course_lib.positions import rotate_by_position
from tests.course_lib.parameters import start_anywhere

size = st.integers(1, 4)
seeds = st.integers(0, 2**16)


def one_head_at_a_time(attention, inputs, memory, mask):
    """Each head by its own rows of the projections; what each adds to the output, by its own columns of the last."""
    output, weights = attention.to_output.bias, []
    for head in range(attention.heads):
        rows = slice(head * attention.d_head, (head + 1) * attention.d_head)
        query, key, value = (
            vectors @ projection.weight[rows].mT + projection.bias[rows]
            for vectors, projection in (
                (inputs, attention.to_query),
                (memory, attention.to_key),
                (memory, attention.to_value),
            )
        )
        found, looked = scaled_dot_product_attention(query, key, value, mask)
        output = output + found @ attention.to_output.weight[:, rows].mT
        weights.append(looked)
    return output, torch.stack(weights, dim=1)


@given(batch=size, query=size, key=size, heads=size, d_head=size, d_memory=size, wide=st.booleans(), seed=seeds)
def test_is_the_sum_of_its_heads(batch, query, key, heads, d_head, d_memory, wide, seed):
    torch.manual_seed(seed)
    d_model = heads * d_head
    attention = MultiHeadAttention(d_model, heads, d_head=d_model if wide else None, d_memory=d_memory).double()
    inputs = torch.randn(batch, query, d_model, dtype=torch.float64)
    memory = torch.randn(batch, key, d_memory, dtype=torch.float64)
    mask = torch.rand(batch, query, key) < 0.7
    output, weights = attention(inputs, memory, mask)
    torch.testing.assert_close((output, weights), one_head_at_a_time(attention, inputs, memory, mask))
    assert weights.shape == (batch, heads, query, key)


def grouped(heads=6, few=2, d_memory=None, **arguments):
    """An attention whose heads share keys and values, and one whose heads have copies of them."""
    torch.manual_seed(0)
    shared = start_anywhere(MultiHeadAttention(12, heads, d_memory=d_memory, key_value_heads=few, **arguments)).double()
    copied = MultiHeadAttention(12, heads, d_memory=d_memory, **arguments).double()
    parameters = dict(shared.state_dict())
    for name in parameters:
        if name.startswith(("to_key", "to_value")):
            parts = parameters[name].chunk(few)  # few parts, each of d_head rows
            parameters[name] = torch.cat([part for part in parts for _ in range(heads // few)])
    copied.load_state_dict(parameters)
    return shared, copied


@pytest.mark.parametrize("few", [1, 2, 3, 6])
@pytest.mark.parametrize(
    "arguments", [{}, {"rotate": rotate_by_position}, {"bias": False, "normalise_heads": LayerNorm}]
)
def test_heads_that_share_keys_and_values_are_heads_with_copies_of_them(few, arguments):
    shared, copied = grouped(few=few, **arguments)
    inputs, mask = torch.randn(3, 5, 12, dtype=torch.float64), torch.rand(3, 5, 5) < 0.7
    for causal in (False, True):
        output, weights = shared(inputs, mask=mask, causal=causal)
        torch.testing.assert_close((output, weights), copied(inputs, mask=mask, causal=causal), atol=1e-12, rtol=0)
        fused, nothing = shared(inputs, mask=mask, causal=causal, need_weights=False)
        torch.testing.assert_close(fused, output, atol=1e-12, rtol=0)
        assert weights.shape == (3, 6, 5, 5) and nothing is None


@pytest.mark.parametrize("few", [1, 2, 3])
def test_heads_that_share_read_as_torch_s_grouped_queries_do(few):
    shared, _ = grouped(few=few, d_memory=7)
    inputs, memory = torch.randn(3, 5, 12, dtype=torch.float64), torch.randn(3, 4, 7, dtype=torch.float64)
    query, key, value = (
        layer(vectors).unflatten(-1, (-1, 2)).transpose(1, 2)
        for layer, vectors in ((shared.to_query, inputs), (shared.to_key, memory), (shared.to_value, memory))
    )
    found = functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    expected = shared.to_output(found.transpose(1, 2).flatten(-2))
    for need_weights in (False, True):
        output, _ = shared(inputs, memory, need_weights=need_weights)
        torch.testing.assert_close(output, expected, atol=1e-12, rtol=0)


def test_as_many_keys_and_values_as_heads_is_the_default():
    made = []
    for arguments in ({}, {"key_value_heads": 4, "normalise_heads": None, "bias": True}):
        torch.manual_seed(0)
        made.append(MultiHeadAttention(8, heads=4, **arguments))
    first, second = (attention.state_dict() for attention in made)
    assert (
        list(first)
        == list(second)
        == [f"to_{name}.{part}" for name in ("query", "key", "value", "output") for part in ("weight", "bias")]
    )
    assert all(torch.equal(first[name], second[name]) for name in first)
    inputs = torch.randn(2, 5, 8)
    assert torch.equal(made[0](inputs)[0], made[1](inputs)[0])


@pytest.mark.parametrize("few", [1, 2])
def test_the_cache_holds_the_few_keys_and_values_and_changes_no_answer(few):
    shared, _ = grouped(few=few, rotate=rotate_by_position, normalise_heads=LayerNorm)
    inputs, cache = torch.randn(3, 7, 12, dtype=torch.float64), KeyValueCache(capacity=8)
    whole, _ = shared(inputs, causal=True)
    parts = [shared(inputs[:, a:b], cache=cache, causal=True)[0] for a, b in ((0, 3), (3, 4), (4, 7))]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-12, rtol=0)
    assert cache.contents[0].shape == cache.contents[1].shape == (3, few, 7, 2)
    assert cache.numel == 2 * 3 * few * 8 * 2


@pytest.mark.parametrize("need_weights", [False, True])
def test_queries_and_keys_are_normalised_and_then_turned(need_weights):
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, heads=2, normalise_heads=LayerNorm, rotate=rotate_by_position)
    start_anywhere(attention).double()
    inputs = torch.randn(3, 5, 8, dtype=torch.float64)
    query, key, value = (
        split_heads(layer(inputs), 2) for layer in (attention.to_query, attention.to_key, attention.to_value)
    )
    norms = attention.query_norm, attention.key_norm
    query, key = (
        rotate_by_position(functional.layer_norm(vectors, (4,), norm.gain, norm.bias))
        for vectors, norm in zip((query, key), norms, strict=True)
    )
    found = functional.scaled_dot_product_attention(query, key, value)
    output, _ = attention(inputs, need_weights=need_weights)
    torch.testing.assert_close(output, attention.to_output(merge_heads(found)), atol=1e-12, rtol=0)
    assert norms[0] is not norms[1] and norms[0].gain.shape == (4,)


def test_normalised_heads_look_alike_however_long_the_inputs_are():
    inputs = torch.randn(3, 5, 8, dtype=torch.float64)
    for normalise_heads, alike in ((LayerNorm, True), (None, False)):
        attention = MultiHeadAttention(8, heads=2, normalise_heads=normalise_heads, bias=False).double()
        weights, of_long = attention(inputs)[1], attention(100 * inputs)[1]
        assert ((weights - of_long).abs().max() < 0.01) == alike


def test_without_biases_zero_inputs_have_a_zero_output():
    attention = start_anywhere(MultiHeadAttention(8, heads=2, bias=False))
    assert [name for name, _ in attention.named_parameters() if "bias" in name] == []
    assert not attention(torch.zeros(1, 3, 8))[0].any()


@given(leading=st.lists(size, max_size=2), heads=size, times=size, time=size)
def test_repeated_heads_stand_side_by_side(leading, heads, times, time):
    vectors = torch.randn(*leading, heads, time, 2)
    repeated = repeat_heads(vectors, times)
    assert repeated.shape == (*leading, heads * times, time, 2)
    for head in range(heads * times):
        assert torch.equal(repeated[..., head, :, :], vectors[..., head // times, :, :])


@given(leading=st.lists(size, max_size=2), time=size, heads=size, d_head=size)
def test_merging_undoes_splitting(leading, time, heads, d_head):
    vectors = torch.randn(*leading, time, heads * d_head)
    parts = split_heads(vectors, heads)
    assert parts.shape == (*leading, heads, time, d_head)
    for head, part in enumerate(parts.unbind(dim=-3)):
        assert torch.equal(part, vectors[..., head * d_head : (head + 1) * d_head])
    assert torch.equal(merge_heads(parts), vectors)


def test_what_is_remembered_can_be_read_later_and_piece_by_piece():
    attention, inputs = MultiHeadAttention(8, heads=2), torch.randn(3, 5, 8)
    whole, _ = attention(inputs, mask=causal_mask(5))
    pieces = [attention.project_memory(inputs[:, [time]]) for time in range(5)]
    for time in range(5):
        key, value = (torch.cat(parts[: time + 1], dim=2) for parts in zip(*pieces, strict=True))
        output, _ = attention.attend_to(inputs[:, [time]], key, value)
        torch.testing.assert_close(output, whole[:, [time]])


def test_masks_hold_for_all_heads_and_each_sequence_has_its_own():
    attention, inputs = MultiHeadAttention(8, heads=3, d_head=5), torch.randn(3, 4, 8)  # as many sequences as heads
    lengths = torch.tensor([4, 1, 2])
    _, weights = attention(inputs, mask=causal_mask(4) & padding_mask(lengths, time=4))
    assert row_sum_error(weights) < 1e-6
    for sequence, length in zip(weights, lengths, strict=True):
        assert (sequence[..., length:] == 0).all() and (sequence.triu(1) == 0).all()
        assert (sequence[:, -1, :length] > 0).all()


def test_is_equivariant_without_a_mask_and_causal_with_one():
    attention, inputs = MultiHeadAttention(8, heads=2).double(), torch.randn(3, 6, 8, dtype=torch.float64)
    assert permutation_error(lambda x: attention(x)[0], inputs, torch.randperm(6)) < 1e-12
    assert causal_leak(lambda x: attention(x, mask=causal_mask(6))[0], inputs) == 0
    assert causal_leak(lambda x: attention(x)[0], inputs) > 0.01


def test_narrow_heads_cost_nothing_and_wide_ones_what_the_formula_says():
    def parameters(**arguments):
        return sum(each.numel() for each in MultiHeadAttention(12, **arguments).parameters())

    assert {parameters(heads=heads) for heads in (1, 2, 3, 12)} == {4 * 12 * (12 + 1)}
    assert parameters(heads=3, d_head=12) == 3 * (3 * 12) * (12 + 1) + 12 * (3 * 12 + 1)
    assert parameters(heads=3, d_memory=5) == 12 * 13 + 2 * 12 * (5 + 1) + 12 * 13


def test_every_head_reads_with_the_function_that_was_given():
    seen = []

    def attend(query, key, value, mask):
        seen.append((query.shape, key.shape, value.shape, mask.shape))
        return value.mean(dim=-2, keepdim=True).expand(query.shape), None

    output, weights = MultiHeadAttention(8, heads=2, attend=attend)(
        torch.zeros(3, 5, 8), mask=padding_mask(torch.tensor([1, 2, 3]), time=5)
    )
    assert seen == [((3, 2, 5, 4),) * 3 + ((3, 1, 1, 5),)]
    assert output.shape == (3, 5, 8) and weights is None


def test_gradients_are_right():
    attention = MultiHeadAttention(6, heads=3, d_memory=4).double()
    inputs, memory = (torch.randn(2, *shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 6), (5, 4)))
    assert torch.autograd.gradcheck(lambda x, y: attention(x, y), (inputs, memory))


def test_gradients_are_right_where_heads_share_and_normalise():
    attention, _ = grouped(heads=6, few=2, d_memory=3, normalise_heads=LayerNorm)
    inputs, memory = (torch.randn(2, *shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 12), (4, 3)))
    for need_weights in (False, True):
        function = lambda x, y, wanted=need_weights: attention(x, y, need_weights=wanted)[0]  # noqa: E731
        assert torch.autograd.gradcheck(function, (inputs, memory))


@pytest.mark.parametrize("arguments", [{}, {"key_value_heads": 1, "normalise_heads": LayerNorm}])
def test_it_can_be_compiled_and_mapped(arguments):
    attention, inputs = MultiHeadAttention(8, heads=2, **arguments), torch.randn(3, 5, 8)
    expected = attention(inputs)
    torch.testing.assert_close(torch.compile(attention, backend="eager", fullgraph=True)(inputs), expected)
    stacked = torch.func.vmap(attention)(torch.stack([inputs, inputs]))
    torch.testing.assert_close(stacked[0][1], expected[0])


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: MultiHeadAttention(8, heads=3), "`heads` is 3, expected a number that divides `d_model` = 8"),
        (lambda: MultiHeadAttention(8, heads=0), "`heads` is 0, expected a number that divides `d_model` = 8"),
        (
            lambda: MultiHeadAttention(8, heads=4, key_value_heads=3),
            "`key_value_heads` is 3, expected a number that divides `heads` = 4",
        ),
        (lambda: MultiHeadAttention(8, heads=4, key_value_heads=0), "`key_value_heads` is 0, expected a number"),
        (lambda: repeat_heads(torch.zeros(2, 8), 2), "`vectors` has shape (2, 8), expected (..., heads, time, d_head)"),
        (
            lambda: split_heads(torch.zeros(2, 8), 3),
            "shape (2, 8) and `heads` is 3, expected (..., time, width) and a number that divides the width",
        ),
        (lambda: split_heads(torch.zeros(8), 2), "`vectors` has shape (8,)"),
        (lambda: merge_heads(torch.zeros(2, 8)), "expected (..., heads, time, d_head)"),
        (lambda: MultiHeadAttention(8, 2)(torch.zeros(5, 8)), "expected (batch, key, d_memory=8)"),
        (lambda: MultiHeadAttention(8, 2, d_memory=6)(torch.zeros(1, 5, 8)), "`memory` has shape (1, 5, 8)"),
        (lambda: MultiHeadAttention(8, 2)(torch.zeros(1, 5, 6), torch.zeros(1, 5, 8)), "`inputs` has shape (1, 5, 6)"),
    ],
)
def test_wrong_arguments_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        wrong()
    assert sentence in str(error.value)
