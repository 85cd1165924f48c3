"""Latent attention: held to keys and values that are made, to another library, and to its cache."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_lib.attention import attend
from course_lib.cache import KeyValueCache
from course_lib.diagnostics import causal_leak
from course_lib.latent_attention import LatentAttention
from course_lib.masks import causal_mask, padding_mask
from course_lib.positions import Rotation, interpolated_frequencies, rotate_by_position
from tests.course_lib.parameters import start_anywhere

size = st.integers(1, 4)


def with_keys_that_are_made(attention, inputs, mask):
    """Each head by itself: its key and its value at every position, as matrices of the formula."""
    latent = inputs @ attention.to_latent.weight.mT
    shared = attention.rotate(inputs @ attention.to_rotated_key.weight.mT)
    d_head, d_rotated, output, weights = attention.d_head, shared.shape[-1], 0.0, []
    for head in range(attention.heads):
        rows, rotated = slice(head * d_head, (head + 1) * d_head), slice(head * d_rotated, (head + 1) * d_rotated)
        key = torch.cat([latent @ attention.to_key.weight[rows].mT, shared], dim=-1)
        turned = attention.rotate(inputs @ attention.to_rotated_query.weight[rotated].mT)
        query = torch.cat([inputs @ attention.to_query.weight[rows].mT, turned], dim=-1)
        value = latent @ attention.to_value.weight[rows].mT
        found, looked = attend(query, key, value, mask, scale=(d_head + d_rotated) ** -0.5)
        output = output + found @ attention.to_output.weight[:, rows].mT
        weights.append(looked)
    return output, torch.stack(weights, dim=1)


@given(
    batch=size,
    time=size,
    heads=size,
    d_head=size,
    d_latent=size,
    pairs=size,
    narrow=st.booleans(),
    causal=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_is_attention_with_keys_and_values_that_are_made(
    batch, time, heads, d_head, d_latent, pairs, narrow, causal, seed
):
    torch.manual_seed(seed)
    d_model = heads * d_head
    attention = LatentAttention(d_model, heads, d_latent, 2 * pairs, d_head=None if narrow else 3)
    start_anywhere(attention).double()
    inputs, mask = torch.randn(batch, time, d_model, dtype=torch.float64), torch.rand(batch, time, time) < 0.7
    together = mask & causal_mask(time) if causal else mask
    expected = with_keys_that_are_made(attention, inputs, together)
    output, weights = attention(inputs, mask, causal=causal)
    torch.testing.assert_close((output, weights), expected, atol=1e-12, rtol=1e-12)
    fused, nothing = attention(inputs, mask, causal=causal, need_weights=False)
    torch.testing.assert_close(fused, output, atol=1e-12, rtol=1e-12)
    assert weights.shape == (batch, heads, time, time) and nothing is None


def test_is_that_of_transformers_without_its_normalisation():
    from transformers import DeepseekV2Config
    from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Attention, DeepseekV2RotaryEmbedding

    torch.manual_seed(0)
    configuration = DeepseekV2Config(
        hidden_size=24,
        num_attention_heads=3,
        num_key_value_heads=3,
        q_lora_rank=None,
        kv_lora_rank=8,
        qk_nope_head_dim=6,
        qk_rope_head_dim=4,
        v_head_dim=6,
        max_position_embeddings=32,
        attn_implementation="eager",
    )
    theirs = DeepseekV2Attention(configuration, layer_idx=0)
    theirs.kv_a_layernorm = nn.Identity()
    ours = start_anywhere(LatentAttention(24, heads=3, d_latent=8, d_rotated=4, d_head=6))

    def side_by_side(*layers):  # their matrices have for each head first the rows of one layer, then those of the other
        return torch.cat([layer.weight.unflatten(0, (3, -1)) for layer in layers], dim=1).flatten(0, 1)

    theirs.load_state_dict(
        {
            "q_proj.weight": side_by_side(ours.to_query, ours.to_rotated_query),
            "kv_a_proj_with_mqa.weight": torch.cat([ours.to_latent.weight, ours.to_rotated_key.weight]),
            "kv_b_proj.weight": side_by_side(ours.to_key, ours.to_value),
            "o_proj.weight": ours.to_output.weight,
        }
    )
    inputs = torch.randn(2, 7, 24)
    turns = DeepseekV2RotaryEmbedding(configuration)(inputs, torch.arange(7)[None])
    hidden = torch.zeros(7, 7).masked_fill(~causal_mask(7), -torch.inf)
    expected, looked = theirs(inputs, hidden[None, None], position_embeddings=turns)
    output, weights = ours(inputs, causal=True)
    torch.testing.assert_close((output, weights), (expected, looked), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize("need_weights", [False, True])
def test_the_cache_changes_no_answer_and_holds_latent_vectors(dtype, tolerance, need_weights):
    torch.manual_seed(0)
    attention = LatentAttention(12, heads=3, d_latent=5, d_rotated=4).to(dtype)
    inputs, cache = torch.randn(2, 7, 12, dtype=dtype), KeyValueCache(capacity=8)
    mask = padding_mask(torch.tensor([7, 5]), time=7)
    whole, _ = attention(inputs, mask, causal=True, need_weights=need_weights)
    parts = [
        attention(inputs[:, a:b], mask[..., :b], cache, causal=True, need_weights=need_weights)[0]
        for a, b in ((0, 3), (3, 4), (4, 7))
    ]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=tolerance, rtol=0)
    rotated, latent = cache.contents
    assert cache.numel == 2 * 8 * (5 + 4)
    torch.testing.assert_close(latent[:, 0], attention.to_latent(inputs), atol=tolerance, rtol=0)
    expected = rotate_by_position(attention.to_rotated_key(inputs))
    torch.testing.assert_close(rotated[:, 0], expected, atol=tolerance, rtol=0)


def test_order_enters_through_the_rotated_key_alone_and_by_distance():
    attention = LatentAttention(12, heads=3, d_latent=5, d_rotated=4).double()
    inputs = torch.randn(2, 6, 12, dtype=torch.float64)
    longer = torch.cat([torch.randn(2, 3, 12, dtype=torch.float64), inputs], dim=1)
    shifted, _ = attention(longer, mask=(torch.arange(9) >= 3).expand(9, 9))
    torch.testing.assert_close(shifted[:, 3:], attention(inputs)[0], atol=1e-12, rtol=0)
    turned = attention(inputs.flip(1))[0].flip(1)
    assert (turned - attention(inputs)[0]).abs().max() > 1e-4
    nn.init.zeros_(attention.to_rotated_key.weight)
    torch.testing.assert_close(attention(inputs.flip(1))[0].flip(1), attention(inputs)[0], atol=1e-12, rtol=0)
    assert causal_leak(lambda x: attention(x, causal=True)[0], inputs) == 0


def test_another_rotation_may_be_given():
    rotate = Rotation(interpolated_frequencies(4, factor=8), scale=1.2)
    attention = start_anywhere(LatentAttention(12, heads=3, d_latent=5, d_rotated=4, rotate=rotate)).double()
    inputs = torch.randn(2, 6, 12, dtype=torch.float64)
    expected, _ = with_keys_that_are_made(attention, inputs, None)
    torch.testing.assert_close(attention(inputs)[0], expected, atol=1e-12, rtol=1e-12)


def test_gradients_are_right():
    attention = LatentAttention(6, heads=2, d_latent=3, d_rotated=2).double()
    inputs = torch.randn(2, 4, 6, dtype=torch.float64, requires_grad=True)
    for need_weights in (False, True):
        function = lambda x, wanted=need_weights: attention(x, causal=True, need_weights=wanted)[0]  # noqa: E731
        assert torch.autograd.gradcheck(function, inputs)
    attention(inputs)[0].square().sum().backward()
    assert all(parameter.grad.any() for parameter in attention.parameters())


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: LatentAttention(8, 3, 4, 2), "`heads` is 3, expected a number that divides `d_model` = 8"),
        (lambda: LatentAttention(8, 0, 4, 2, d_head=4), "`heads` is 0, expected a number that divides"),
        (lambda: LatentAttention(8, 2, 4, 3), "`d_rotated` is 3, expected an even number"),
        (lambda: LatentAttention(8, 2, 4, 0), "`d_rotated` is 0, expected an even number"),
        (lambda: LatentAttention(8, 2, 4, 2)(torch.zeros(1, 5, 6)), "`inputs` has shape (1, 5, 6)"),
    ],
)
def test_wrong_arguments_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        wrong()
    assert sentence in str(error.value)
