"""A sink and a gate: held to their formulas, to another library, and to attention without them."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.cache import KeyValueCache
from course_lib.diagnostics import causal_leak
from course_lib.inspection import ablate_heads, record_attention
from course_lib.masks import causal_mask, padding_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.positions import rotate_by_position
from course_lib.sinks import GatedAttention, SinkAttention
from course_lib.torch_conversion import to_torch
from tests.course_lib.parameters import start_anywhere

size = st.integers(1, 4)


@given(batch=size, heads=size, query=size, key=size, width=size, masked=st.booleans(), seed=st.integers(0, 2**16))
def test_the_sink_is_one_more_term_below_the_line(batch, heads, query, key, width, masked, seed):
    torch.manual_seed(seed)
    attention = start_anywhere(SinkAttention(heads)).double()
    asks, keys = (torch.randn(batch, heads, n, width, dtype=torch.float64) for n in (query, key))
    values = torch.randn(batch, heads, key, 2, dtype=torch.float64)
    mask = torch.rand(batch, 1, query, key) < 0.6 if masked else None
    output, weights = attention(asks, keys, values, mask)
    for b in range(batch):
        for head in range(heads):
            for i in range(query):
                terms = [
                    (asks[b, head, i] @ keys[b, head, j] / width**0.5).exp().item()
                    if mask is None or mask[b, 0, i, j]
                    else 0.0
                    for j in range(key)
                ]
                below = sum(terms) + attention.score[head].exp().item()
                expected = torch.tensor([term / below for term in terms], dtype=torch.float64)
                torch.testing.assert_close(weights[b, head, i], expected, atol=1e-12, rtol=0)
                torch.testing.assert_close(output[b, head, i], expected @ values[b, head], atol=1e-12, rtol=0)


def test_the_sink_is_that_of_transformers():
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    torch.manual_seed(0)
    ours = start_anywhere(SinkAttention(heads=4)).double()
    query, key, value = torch.randn(3, 2, 4, 6, 5, dtype=torch.float64).unbind()
    theirs = SimpleNamespace(sinks=ours.score, num_key_value_groups=1, training=False)
    hidden = torch.zeros(6, 6, dtype=torch.float64).masked_fill(~causal_mask(6), -torch.inf)
    expected, looked = eager_attention_forward(theirs, query, key, value, hidden, scaling=5**-0.5)
    output, weights = ours(query, key, value, causal_mask(6))
    torch.testing.assert_close((output.transpose(1, 2), weights), (expected, looked), atol=1e-12, rtol=0)


def test_a_sink_that_nobody_scores_is_attention_without_one_and_a_strong_one_takes_all():
    attention, vectors = SinkAttention(heads=3), torch.randn(3, 2, 3, 5, 4).unbind()
    nn.init.constant_(attention.score, -1e4)
    torch.testing.assert_close(attention(*vectors), scaled_dot_product_attention(*vectors))
    nn.init.constant_(attention.score, 1e4)
    assert not any(each.any() for each in attention(*vectors))


def test_where_nothing_may_be_read_the_sink_takes_all_and_gradients_stay_finite():
    attention, vectors = SinkAttention(heads=3), torch.randn(3, 2, 3, 5, 4, requires_grad=True)
    output, weights = attention(*vectors.unbind(), torch.zeros(5, 1, dtype=torch.bool))
    assert not output.any() and not weights.any() and weights.shape == (2, 3, 5, 5)
    output.sum().backward()
    assert vectors.grad.isfinite().all()


@pytest.mark.parametrize(
    "mask", [padding_mask(torch.tensor([2, 4]), time=4)[:, None], torch.tensor([True] * 3 + [False])]
)
def test_masks_of_every_width_hide_from_the_keys_and_never_the_sink(mask):
    attention, vectors = SinkAttention(heads=3), torch.randn(3, 2, 3, 4, 5).unbind()
    _, weights = attention(*vectors, mask)
    _, wide = attention(*vectors, mask.expand(2, 3, 4, 4))
    assert torch.equal(weights, wide) and (weights.sum(dim=-1) < 1).all()
    assert not weights.masked_fill(mask, 0).any() and (weights > 0).equal(mask.expand_as(weights))


def heads_with_a_sink(**arguments):
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, heads=3, attend=SinkAttention(3), rotate=rotate_by_position, **arguments)
    return start_anywhere(attention).double()


def heads_with_a_gate(**arguments):
    torch.manual_seed(0)
    return start_anywhere(GatedAttention(12, heads=3, rotate=rotate_by_position, **arguments)).double()


@pytest.mark.parametrize("make", [heads_with_a_sink, heads_with_a_gate])
@pytest.mark.parametrize("few", [3, 1])
def test_both_serve_heads_with_a_cache_and_hide_the_future(make, few):
    attention = make(key_value_heads=few)
    inputs, cache = torch.randn(2, 6, 12, dtype=torch.float64), KeyValueCache()
    whole, weights = attention(inputs, causal=True)
    parts = [attention(inputs[:, a:b], cache=cache, causal=True)[0] for a, b in ((0, 3), (3, 4), (4, 6))]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-12, rtol=0)
    torch.testing.assert_close(attention(inputs, causal=True, need_weights=False)[0], whole, atol=1e-12, rtol=0)
    assert weights.shape == (2, 3, 6, 6) and causal_leak(lambda x: attention(x, causal=True)[0], inputs) == 0


@pytest.mark.parametrize("make", [heads_with_a_sink, heads_with_a_gate])
def test_gradients_are_right(make):
    attention = make()
    inputs = torch.randn(1, 3, 12, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: attention(x, causal=True)[0], inputs)
    attention(inputs)[0].square().sum().backward()
    new = attention.attend.score if make is heads_with_a_sink else attention.to_gate.weight
    assert new.grad.all()


def test_the_gate_multiplies_each_entry_that_a_head_found():
    attention = start_anywhere(GatedAttention(12, heads=3, d_head=5, d_memory=7)).double()
    inputs, memory = torch.randn(2, 4, 12, dtype=torch.float64), torch.randn(2, 6, 7, dtype=torch.float64)
    output, weights = attention(inputs, memory)
    values = attention.to_value(memory)
    for b in range(2):
        for i in range(4):
            entries = [
                sum(weights[b, column // 5, i, j] * values[b, j, column] for j in range(6))
                * torch.sigmoid(attention.to_gate.weight[column] @ inputs[b, i])
                for column in range(15)
            ]
            torch.testing.assert_close(output[b, i], attention.to_output(torch.stack(entries)), atol=1e-12, rtol=1e-12)


def test_a_gate_without_an_opinion_lets_half_through():
    gated, plain = GatedAttention(12, heads=3, bias=False), MultiHeadAttention(12, heads=3, bias=False)
    nn.init.zeros_(gated.to_gate.weight)
    plain.load_state_dict({name: each for name, each in gated.state_dict().items() if name != "to_gate.weight"})
    inputs = torch.randn(2, 5, 12)
    torch.testing.assert_close(gated(inputs)[0], plain(inputs)[0] / 2)


def test_heads_with_a_gate_can_be_looked_at_and_silenced():
    attention, inputs = nn.Sequential(GatedAttention(12, heads=3)), torch.randn(2, 5, 12)
    with record_attention(attention) as maps, ablate_heads(attention, {"0": [0, 1, 2]}):
        output, _ = attention(inputs)
    assert maps["0"].shape == (2, 3, 5, 5)
    torch.testing.assert_close(output, attention[0].to_output.bias.expand_as(output))


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        (
            lambda: SinkAttention(2)(*torch.zeros(3, 1, 3, 4, 5)),
            ValueError,
            "(1, 3, 4, 5), expected (..., heads=2, query",
        ),
        (
            lambda: SinkAttention(2)(*torch.zeros(2, 2, 4, 5), torch.zeros(2, 3, 5)),
            ValueError,
            "`value` has shape (2, 3, 5), expected (..., key=4, d_value)",
        ),
        (
            lambda: SinkAttention(2)(*torch.zeros(3, 1, 2, 4, 5), torch.ones(3, dtype=torch.bool)),
            ValueError,
            "`mask` has shape (3,), expected one that broadcasts to (1, 2, 4, 4)",
        ),
        (lambda: SinkAttention(2)(*torch.zeros(3, 1, 2, 4, 5), torch.ones(4)), TypeError, "`mask` is of torch.float32"),
        (lambda: SinkAttention(2)(torch.zeros(2, 4, 5), *torch.zeros(2, 2, 3, 6)), ValueError, "`key` has d_key = 6"),
        (lambda: GatedAttention(8, heads=3), ValueError, "`heads` is 3, expected a number that divides"),
        (lambda: to_torch(GatedAttention(8, heads=2)), ValueError, "what GatedAttention does more"),
    ],
)
def test_wrong_arguments_are_named(wrong, error, sentence):
    with pytest.raises(error) as raised:
        wrong()
    assert sentence in str(raised.value)
