"""Our modules and torch's compute the same under the same parameters, copied either way."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from course_lib.blocks import FeedForward, SwiGLU, TransformerBlock
from course_lib.masks import causal_mask, padding_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm, RMSNorm
from course_lib.positions import rotary_attention, rotate_by_position
from course_lib.torch_conversion import from_torch, to_torch
from tests.course_lib.parameters import start_anywhere

size = st.integers(1, 4)
seeds = st.integers(0, 2**16)


def assert_same_gradients(ours, theirs, our_output, their_output, inputs):
    cotangent = torch.randn_like(our_output)
    mine, due = (
        torch.autograd.grad(output, inputs, cotangent, retain_graph=True) for output in (our_output, their_output)
    )
    torch.testing.assert_close(mine, due)
    sums = [
        sum(gradient.square().sum() for gradient in torch.autograd.grad(output, list(module.parameters()), cotangent))
        for module, output in ((ours, our_output), (theirs, their_output))
    ]
    torch.testing.assert_close(*sums)


@given(batch=size, query=size, key=size, heads=size, d_head=size, d_memory=size, masked=st.booleans(), seed=seeds)
def test_attention_equals_torch_also_across_and_under_masks(batch, query, key, heads, d_head, d_memory, masked, seed):
    torch.manual_seed(seed)
    ours = start_anywhere(MultiHeadAttention(heads * d_head, heads, d_memory=d_memory)).double()
    theirs = to_torch(ours)
    inputs = torch.randn(batch, query, heads * d_head, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(batch, key, d_memory, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(batch, query, key) < 0.7
    mask[..., 0] = True  # torch answers nan where nothing may be read
    mask = mask if masked else None
    # Torch's mask is one for each head, and True where a query may NOT attend.
    turned = ~mask.repeat_interleave(heads, dim=0) if masked else None
    output, weights = ours(inputs, memory, mask)
    expected, their_weights = theirs(inputs, memory, memory, attn_mask=turned, average_attn_weights=False)
    torch.testing.assert_close((output, weights), (expected, their_weights))
    assert_same_gradients(ours, theirs, output, expected, [inputs, memory])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("mode", [True, False], ids=["training", "eval"])
def test_the_block_equals_torch_s_encoder_layer(norm, mode):
    ours = start_anywhere(TransformerBlock(8, 2, 12, norm=norm)).double().train(mode)
    theirs = to_torch(ours)
    assert isinstance(theirs, nn.TransformerEncoderLayer) and theirs.training == mode
    inputs = torch.randn(3, 5, 8, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(ours(inputs), theirs(inputs))
    causal, lengths = causal_mask(5), torch.tensor([5, 2, 3])
    output = ours(inputs, mask=causal & padding_mask(lengths, time=5))
    padding = ~padding_mask(lengths, time=5).squeeze(1)
    expected = theirs(inputs, src_mask=~causal, src_key_padding_mask=padding)
    torch.testing.assert_close(output, expected)
    assert_same_gradients(ours, theirs, output, expected, [inputs])


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_block_that_reads_a_memory_equals_torch_s_decoder_layer(norm):
    ours = start_anywhere(TransformerBlock(8, 2, 12, norm=norm, d_memory=8)).double()
    theirs = to_torch(ours)
    assert isinstance(theirs, nn.TransformerDecoderLayer)
    inputs = torch.randn(3, 4, 8, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(3, 6, 8, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([6, 1, 4])
    readable = padding_mask(lengths, time=6)
    output = ours(inputs, memory, causal_mask(4), readable)
    expected = theirs(inputs, memory, tgt_mask=~causal_mask(4), memory_key_padding_mask=~readable.squeeze(1))
    torch.testing.assert_close(output, expected)
    assert_same_gradients(ours, theirs, output, expected, [inputs, memory])


@pytest.mark.parametrize(
    "theirs",
    [
        nn.MultiheadAttention(8, 2, batch_first=True),
        nn.MultiheadAttention(8, 2, kdim=6, vdim=6),
        nn.TransformerEncoderLayer(8, 2, 12, norm_first=True, layer_norm_eps=0.1).eval(),
        nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, activation=nn.ReLU()),
        nn.TransformerDecoderLayer(8, 2, 12, norm_first=True, layer_norm_eps=0.1, batch_first=True).eval(),
        nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0).double(),
    ],
    ids=lambda module: type(module).__name__,
)
def test_the_way_there_and_back_ends_where_it_began(theirs):
    start_anywhere(theirs)
    ours = from_torch(theirs)
    again = to_torch(ours)
    assert type(again) is type(theirs) and again.training == theirs.training == ours.training
    expected = theirs.state_dict()
    assert again.state_dict().keys() == expected.keys()
    for name, parameter in again.state_dict().items():
        assert torch.equal(parameter, expected[name]) and parameter.dtype == expected[name].dtype, name
    if not isinstance(theirs, nn.MultiheadAttention):
        assert again.norm_first == theirs.norm_first and again.norm2.eps == theirs.norm2.eps


def test_the_copy_shares_no_memory():
    ours = MultiHeadAttention(4, heads=2)
    theirs = to_torch(ours)
    nn.init.zeros_(theirs.out_proj.weight)
    nn.init.zeros_(theirs.in_proj_weight)
    assert ours.to_output.weight.abs().sum() > 0 and ours.to_query.weight.abs().sum() > 0


@pytest.mark.parametrize(
    ("convert", "module", "what"),
    [
        (to_torch, MultiHeadAttention(8, 2, d_head=8), "2 heads of 8 in a d_model of 8"),
        (to_torch, MultiHeadAttention(8, 2, attend=rotary_attention), "`attend` = <function rotary_attention"),
        (to_torch, MultiHeadAttention(8, 2, rotate=rotate_by_position), "`rotate` = <function rotate_by_position"),
        (to_torch, MultiHeadAttention(8, 4, key_value_heads=2), "2 keys and values for 4 heads"),
        (to_torch, MultiHeadAttention(8, 2, normalise_heads=LayerNorm), "queries and keys normalised by LayerNorm()"),
        (to_torch, MultiHeadAttention(8, 2, bias=False), "no biases"),
        (to_torch, TransformerBlock(8, 2, 12, attend=rotary_attention), "`attend` = <function rotary_attention"),
        (to_torch, TransformerBlock(8, 2, 12, norm=None), "no normalisation"),
        (to_torch, TransformerBlock(8, 2, 12, make_norm=RMSNorm), "RMSNorm in the place of LayerNorm"),
        (to_torch, TransformerBlock(8, 2, 12, make_feed_forward=SwiGLU), "SwiGLU in the place of FeedForward"),
        (to_torch, TransformerBlock(8, 2, 12, residual=False), "no residual connection"),
        (to_torch, TransformerBlock(8, 2, 12, d_memory=6), "a memory of width 6 beside a d_model of 8"),
        (from_torch, nn.MultiheadAttention(8, 2, bias=False), "no biases"),
        (from_torch, nn.MultiheadAttention(8, 2, add_bias_kv=True), "`add_bias_kv`"),
        (from_torch, nn.MultiheadAttention(8, 2, add_zero_attn=True), "`add_zero_attn`"),
        (from_torch, nn.MultiheadAttention(8, 2, kdim=5, vdim=6), "keys of width 5 and values of width 6"),
        (from_torch, nn.MultiheadAttention(8, 2, dropout=0.1), "dropout 0.1: call .eval() first"),
        (from_torch, nn.TransformerEncoderLayer(8, 2, 12), "dropout 0.1: call .eval() first"),
        (from_torch, nn.TransformerDecoderLayer(8, 2, 12), "dropout 0.1: call .eval() first"),
        (from_torch, nn.TransformerEncoderLayer(8, 2, 12, bias=False), "no biases"),
    ],
)
def test_what_has_no_counterpart_is_named(convert, module, what):
    with pytest.raises(ValueError, match="the module cannot be converted") as error:
        convert(module)
    assert what in str(error.value)


@pytest.mark.parametrize("activation", ["gelu", nn.GELU(approximate="tanh"), functional.leaky_relu])
def test_the_activation_comes_along(activation):
    theirs = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, activation=activation, batch_first=True).double()
    ours, inputs = from_torch(theirs), torch.randn(2, 5, 8, dtype=torch.float64)
    torch.testing.assert_close(ours(inputs), theirs(inputs))
    torch.testing.assert_close(to_torch(ours)(inputs), theirs(inputs))


def test_a_module_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="no counterpart in torch of FeedForward"):
        to_torch(FeedForward(8, 16))
    with pytest.raises(TypeError, match="no counterpart in course_lib of Linear"):
        from_torch(nn.Linear(8, 16))
