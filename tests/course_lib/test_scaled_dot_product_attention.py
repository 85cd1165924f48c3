"""Dot-product attention, explicit and fused: held to torch, to loops and to what every attention must keep to."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from course_lib.attention import SelfAttention, attend, entropy, scaled_dot_product_attention, simple_self_attention
from course_lib.diagnostics import causal_leak, permutation_error, row_sum_error
from course_lib.fused_attention import fused_attention
from course_lib.masks import causal_mask, padding_mask

size = st.integers(1, 6)
leading = st.lists(st.integers(1, 3), max_size=2)
seeds = st.integers(0, 2**16)


def draw(seed, leading, query, key, d_key, d_value, dtype=torch.float64, allowed=0.7):
    """Return a query, a key, a value and a mask in which some rows may be empty."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((query, d_key), (key, d_key), (key, d_value))
    tensors = [torch.randn(*leading, *shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]
    return *tensors, torch.rand(query, key, generator=generator) < allowed


def with_loops(query, key, value, mask):
    """One query at a time, one key at a time; no leading axes."""
    rows = []
    for q, allowed in zip(query, mask, strict=True):
        grown = [float(allowed[i]) * torch.exp(q @ key[i] / len(q) ** 0.5) for i in range(len(key))]
        total = sum(grown)
        rows.append(sum(g / total * v for g, v in zip(grown, value, strict=True)) if total else 0 * value[0])
    return torch.stack(rows)


@given(leading=leading, query=size, key=size, d_key=size, d_value=size, seed=seeds)
def test_equals_torch_in_value_and_gradient(leading, query, key, d_key, d_value, seed):
    *tensors, mask = draw(seed, leading, query, key, d_key, d_value)
    ours, theirs = ([each.clone().requires_grad_() for each in tensors] for _ in range(2))
    output, weights = scaled_dot_product_attention(*ours, mask)
    expected = functional.scaled_dot_product_attention(*theirs, attn_mask=mask)
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(output, weights @ ours[2])
    cotangent = torch.randn_like(output)
    for mine, due in zip(
        torch.autograd.grad(output, ours, cotangent), torch.autograd.grad(expected, theirs, cotangent), strict=True
    ):
        torch.testing.assert_close(mine, due)


@given(query=size, key=size, d_key=size, d_value=size, seed=seeds)
def test_equals_loops(query, key, d_key, d_value, seed):
    *tensors, mask = draw(seed, [], query, key, d_key, d_value)
    torch.testing.assert_close(scaled_dot_product_attention(*tensors, mask)[0], with_loops(*tensors, mask))


@given(leading=leading, query=size, more=st.integers(0, 5), d_key=size, d_value=size, seed=seeds, masked=st.booleans())
def test_the_fused_kernel_gives_the_same_output(leading, query, more, d_key, d_value, seed, masked):
    *tensors, mask = draw(seed, leading, query, query + more, d_key, d_value, dtype=torch.float32)
    future = causal_mask(query, query + more)
    for given_mask, causal, whole in (
        (None, False, None),
        (mask, False, mask),
        (None, True, future),
        (mask, True, mask & future),
    ):
        expected, _ = scaled_dot_product_attention(*tensors, whole)
        came = fused_attention(*tensors, given_mask, causal=causal)
        torch.testing.assert_close(came, expected, rtol=0, atol=1e-6)


def test_the_fused_kernel_gives_the_same_gradients_and_no_nan_where_a_row_is_empty():
    *tensors, mask = draw(0, [2], 4, 5, 3, 2)
    mask[1] = False
    ours, theirs = ([each.clone().requires_grad_() for each in tensors] for _ in range(2))
    output, fused = scaled_dot_product_attention(*ours, mask)[0], fused_attention(*theirs, mask)
    assert (output[:, 1] == 0).all() and (fused[:, 1] == 0).all()
    for mine, due in zip(
        torch.autograd.grad(output.sum(), ours), torch.autograd.grad(fused.sum(), theirs), strict=True
    ):
        assert mine.isfinite().all() and due.isfinite().all()
        torch.testing.assert_close(mine, due)


def test_a_square_causal_mask_is_left_to_the_kernel(monkeypatch):
    seen = []

    def kernel(query, key, value, attn_mask, is_causal):
        seen.append((attn_mask is None, is_causal))
        assert query.dim() == key.dim() == value.dim() == 4  # torch's kernels know no other
        return query[..., :1].expand(*query.shape[:-1], value.shape[-1])

    monkeypatch.setattr(functional, "scaled_dot_product_attention", kernel)
    *square, mask = draw(0, [], 4, 4, 3, 2)
    *rectangular, _ = draw(0, [], 3, 4, 3, 2)
    fused_attention(*square, causal=True)
    fused_attention(*square, mask, causal=True)
    fused_attention(*rectangular, causal=True)
    assert seen == [(True, True), (False, False), (False, False)]


@pytest.mark.parametrize("time", [1, 2, 257])
def test_lengths_of_one_and_long_ones(time):
    query, key, value, _ = draw(1, [2], time, time, 8, 3)
    output, weights = scaled_dot_product_attention(query, key, value, causal_mask(time))
    torch.testing.assert_close(output, functional.scaled_dot_product_attention(query, key, value, is_causal=True))
    assert row_sum_error(weights) < 1e-12
    torch.testing.assert_close(output[:, 0], value[:, 0])


@given(leading=leading, query=size, key=size, d_key=size, d_value=size, seed=seeds)
def test_weights_are_shares_and_the_output_lies_among_the_values(leading, query, key, d_key, d_value, seed):
    query, key, value, _ = draw(seed, leading, query, key, d_key, d_value)
    output, weights = attend(query, key, value, scale=3.0)
    assert (weights >= 0).all() and row_sum_error(weights) < 1e-12
    assert (output <= value.amax(-2, keepdim=True) + 1e-12).all()
    assert (output >= value.amin(-2, keepdim=True) - 1e-12).all()


@given(leading=leading, query=size, key=size, d_key=size, seed=seeds)
def test_the_order_of_the_keys_does_not_matter(leading, query, key, d_key, seed):
    query, keys, value, _ = draw(seed, leading, query, key, d_key, 2)
    order = torch.randperm(key, generator=torch.Generator().manual_seed(seed))
    moved, moved_weights = scaled_dot_product_attention(query, keys[..., order, :], value[..., order, :])
    output, weights = scaled_dot_product_attention(query, keys, value)
    torch.testing.assert_close(moved, output)
    torch.testing.assert_close(moved_weights, weights[..., order])


def test_attention_without_masks_is_equivariant_and_with_a_causal_mask_is_not():
    inputs, order = torch.randn(2, 6, 4, dtype=torch.float64), torch.tensor([3, 0, 5, 1, 4, 2])
    layer = SelfAttention(4, 3, 5).double()
    assert permutation_error(lambda each: layer(each)[0], inputs, order) < 1e-12
    assert permutation_error(lambda each: simple_self_attention(each)[0], inputs, order) < 1e-12
    assert permutation_error(lambda each: layer(each, causal_mask(6))[0], inputs, order) > 1e-3


@pytest.mark.parametrize("gap", [1.0, 1e4, 1e9])
@pytest.mark.parametrize("attention", [attend, scaled_dot_product_attention])
def test_the_future_has_no_influence_whatever_the_gaps_between_scores(attention, gap):
    inputs = gap**0.5 * torch.randn(2, 6, 4)
    assert causal_leak(lambda each: attention(each, each, each, causal_mask(6))[0], inputs) == 0.0
    assert causal_leak(lambda each: fused_attention(each, each, each, causal=True), inputs) == 0.0
    assert causal_leak(lambda each: attention(each, each, each)[0], inputs) > 0


def test_padding_has_no_influence():
    lengths = torch.tensor([3, 5])
    query, key, value, _ = draw(2, [2], 5, 5, 4, 3)
    mask = padding_mask(lengths, 5)
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    other = [torch.where(mask.mT, each, 1e6 + each) for each in (key, value)]
    assert torch.equal(scaled_dot_product_attention(query, *other, mask)[0], output)
    torch.testing.assert_close(
        output[0], functional.scaled_dot_product_attention(query[0], key[0, :3], value[0, :3]), rtol=1e-12, atol=1e-12
    )


def test_gradients_are_right():
    *tensors, mask = draw(3, [2], 3, 4, 2, 3)
    mask[0] = False
    arguments = [each.requires_grad_() for each in tensors]
    assert torch.autograd.gradcheck(lambda *each: scaled_dot_product_attention(*each, mask), arguments)
    layer = SelfAttention(4, 3, 2).double()
    inputs = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda each: layer(each, causal_mask(5)), inputs)


# A number of half precision has 10 bits after the point, one of bfloat16 has 7. Scores, weights and output are each
# rounded once or twice, so a handful of units in the last place of numbers near 2 is what can be asked for.
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 6e-3), (torch.bfloat16, 5e-2)])
def test_small_number_formats_stay_close_and_keep_their_kind(dtype, tolerance):
    *exact, mask = draw(4, [2, 3], 7, 9, 16, 5, dtype=dtype)
    mask[2] = False
    expected = functional.scaled_dot_product_attention(*(each.double() for each in exact), attn_mask=mask)
    output, weights = scaled_dot_product_attention(*exact, mask)
    assert output.dtype == weights.dtype == dtype
    torch.testing.assert_close(output.double(), expected, rtol=0, atol=tolerance)
    torch.testing.assert_close(fused_attention(*exact, mask).double(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "attention",
    [attend, scaled_dot_product_attention, fused_attention],
)
def test_the_inputs_are_left_alone(attention):
    given = draw(5, [], 3, 4, 2, 2)
    before = [each.clone() for each in given]
    attention(*given)
    assert all(torch.equal(each, was) for each, was in zip(given, before, strict=True))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])  # inductor would need a compiler on every machine
def test_torch_compile_takes_them_whole(backend):
    *tensors, mask = draw(6, [2], 3, 4, 2, 2)
    torch.compiler.reset()
    for function in (scaled_dot_product_attention, fused_attention):
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        torch.testing.assert_close(compiled(*tensors, mask), function(*tensors, mask))
    layer, inputs = SelfAttention(4, 3, 2), torch.randn(2, 5, 4)
    torch.testing.assert_close(torch.compile(layer, backend=backend, fullgraph=True)(inputs), layer(inputs))


def test_vmap_takes_one_axis_off():
    *tensors, mask = draw(7, [3], 4, 5, 2, 2)
    for function in (scaled_dot_product_attention, fused_attention):
        mapped = torch.func.vmap(function, in_dims=(0, 0, 0, None))(*tensors, mask)
        torch.testing.assert_close(mapped, function(*tensors, mask))


@pytest.mark.parametrize("attention", [attend, scaled_dot_product_attention, fused_attention])
@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (((4,), (5, 4), (5, 2)), "`query` has shape"),
        (((3, 8), (5, 6), (5, 2)), "`key` has d_key = 6 but `query` has 8: dot-product scores need them equal"),
        (((3, 4), (5, 4), (6, 2)), r"`value` has shape \(6, 2\), expected \(..., key=5, d_value\)"),
        (((2, 3, 4), (5, 4), (5, 2)), "`key` has shape .* leading axes of `query`"),
        (((2, 3, 4), (2, 5, 4), (3, 5, 2)), "`value` has shape .* leading axes of `query`"),
    ],
)
def test_shapes_that_do_not_fit_are_named(attention, shapes, said):
    with pytest.raises(ValueError, match=said):
        attention(*(torch.zeros(shape) for shape in shapes))


@pytest.mark.parametrize("attention", [attend, scaled_dot_product_attention, fused_attention])
def test_a_mask_of_numbers_is_refused(attention):
    with pytest.raises(TypeError, match="`mask`"):
        attention(torch.zeros(3, 4), torch.zeros(5, 4), torch.zeros(5, 2), torch.ones(3, 5))


def test_self_attention_names_a_wrong_width():
    with pytest.raises(ValueError, match="`inputs`"):
        SelfAttention(4, 3, 2)(torch.zeros(2, 5, 6))


def test_self_attention_uses_the_attention_that_it_is_given():
    inputs = torch.randn(2, 5, 4)
    layer = SelfAttention(4, 9, 2, attend=scaled_dot_product_attention)
    plain = SelfAttention(4, 9, 2)
    plain.load_state_dict(layer.state_dict())
    expected, _ = attend(layer.to_query(inputs), layer.to_key(inputs), layer.to_value(inputs), scale=1 / 3)
    torch.testing.assert_close(layer(inputs)[0], expected)
    assert not torch.allclose(plain(inputs)[0], expected)


@given(n=st.integers(1, 50), seed=seeds)
def test_entropy_is_that_of_torchs_distribution(n, seed):
    weights = torch.randn(3, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).softmax(-1)
    torch.testing.assert_close(entropy(weights), torch.distributions.Categorical(weights).entropy())
    assert entropy(torch.full((n,), 1 / n)).item() == pytest.approx(torch.tensor(n).log().item(), abs=1e-5)


@given(leading=leading, query=size, key=size, d_key=size, d_value=size, seed=seeds)
def test_a_bias_is_added_to_the_scaled_scores(leading, query, key, d_key, d_value, seed):
    *tensors, mask = draw(seed, leading, query, key, d_key, d_value)
    mask = mask | (torch.arange(key) == 0)  # torch adds the two, and has no row without keys then
    bias = torch.randn(query, key, dtype=torch.float64)
    output, weights = attend(*tensors, mask, scale=d_key**-0.5, bias=bias)
    expected = functional.scaled_dot_product_attention(*tensors, attn_mask=bias.masked_fill(~mask, -torch.inf))
    torch.testing.assert_close(output, expected)
    assert (weights.masked_select(~mask) == 0).all()


def test_a_bias_that_would_widen_the_scores_is_refused():
    with pytest.raises(ValueError, match=r"`bias` has shape \(2, 3, 3\), expected one that broadcasts to \(3, 3\)"):
        attend(*torch.zeros(3, 3, 4), bias=torch.zeros(2, 3, 3))
