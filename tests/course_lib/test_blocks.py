"""The block and its parts: held to torch, to their formulas, and to what each may mix."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_lib.attention import attend, simple_self_attention
from course_lib.blocks import FeedForward, SwiGLU, TransformerBlock, gated_d_hidden
from course_lib.diagnostics import causal_leak, jacobian_blocks, permutation_error
from course_lib.masks import causal_mask
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm, RMSNorm, layer_norm_step_by_step, rms_norm_step_by_step
from tests.course_lib.parameters import start_anywhere

size = st.integers(1, 5)


@given(leading=st.lists(size, max_size=3), d_model=st.integers(2, 8), seed=st.integers(0, 2**16))
def test_layer_norm_equals_torch_in_value_and_gradient(leading, d_model, seed):
    torch.manual_seed(seed)
    ours, theirs = LayerNorm(d_model).double(), nn.LayerNorm(d_model).double()
    with torch.no_grad():
        for mine, due in ((ours.gain, theirs.weight), (ours.bias, theirs.bias)):
            due.copy_(torch.randn(d_model))
            mine.copy_(due)
    inputs = torch.randn(*leading, d_model, dtype=torch.float64, requires_grad=True)
    due = theirs(inputs)
    cotangent = torch.randn_like(inputs)
    gradients = torch.autograd.grad(due, [inputs, theirs.weight, theirs.bias], cotangent)
    for output in (ours(inputs), layer_norm_step_by_step(inputs, ours.gain, ours.bias)):
        torch.testing.assert_close(output, due)
        mine = torch.autograd.grad(output, [inputs, ours.gain, ours.bias], cotangent)
        torch.testing.assert_close(mine, gradients)


def test_layer_norm_has_the_epsilon_of_its_steps():
    inputs = torch.randn(4, 3)
    expected = layer_norm_step_by_step(inputs, torch.ones(3), torch.zeros(3), epsilon=0.5)
    torch.testing.assert_close(LayerNorm(3, epsilon=0.5)(inputs), expected)


def test_layer_norm_of_equal_entries_is_the_bias():
    norm = LayerNorm(3)
    inputs = torch.full((2, 3), 7.0, requires_grad=True)
    output = norm(inputs)
    assert torch.equal(output, torch.zeros(2, 3))
    output.square().sum().backward()
    assert inputs.grad.isfinite().all()


@given(leading=st.lists(size, max_size=3), d_model=st.integers(1, 8), seed=st.integers(0, 2**16))
def test_rms_norm_equals_torch_in_value_and_gradient(leading, d_model, seed):
    torch.manual_seed(seed)
    ours, theirs = RMSNorm(d_model).double(), nn.RMSNorm(d_model, eps=1e-6).double()
    with torch.no_grad():
        theirs.weight.copy_(torch.randn(d_model))
        ours.gain.copy_(theirs.weight)
    inputs = torch.randn(*leading, d_model, dtype=torch.float64, requires_grad=True)
    due = theirs(inputs)
    cotangent = torch.randn_like(inputs)
    gradients = torch.autograd.grad(due, [inputs, theirs.weight], cotangent)
    for output in (ours(inputs), rms_norm_step_by_step(inputs, ours.gain)):
        torch.testing.assert_close(output, due)
        torch.testing.assert_close(torch.autograd.grad(output, [inputs, ours.gain], cotangent), gradients)


def test_rms_norm_has_the_epsilon_of_its_steps():
    inputs = torch.randn(4, 3)
    expected = rms_norm_step_by_step(inputs, torch.ones(3), epsilon=0.5)
    torch.testing.assert_close(RMSNorm(3, epsilon=0.5)(inputs), expected)


def test_rms_norm_is_layer_norm_where_the_mean_is_0_and_keeps_every_sign():
    inputs = torch.randn(5, 8, dtype=torch.float64)
    centred = inputs - inputs.mean(dim=-1, keepdim=True)
    layer_norm, rms_norm = LayerNorm(8, epsilon=0.1).double(), RMSNorm(8, epsilon=0.1).double()
    torch.testing.assert_close(rms_norm(centred), layer_norm(inputs))
    assert torch.equal(rms_norm(inputs + 3).sign(), (inputs + 3).sign())
    assert (rms_norm(inputs + 3) - layer_norm(inputs + 3)).abs().max() > 0.1


def test_rms_norm_of_zeros_is_zeros():
    inputs = torch.zeros(2, 3, requires_grad=True)
    output = RMSNorm(3)(inputs)
    assert torch.equal(output, torch.zeros(2, 3))
    output.sum().backward()
    assert inputs.grad.isfinite().all()


def test_feed_forward_is_two_linear_maps_with_a_kink_between():
    layer, inputs = FeedForward(3, 5), torch.randn(2, 4, 3)
    hidden = (inputs @ layer.expand.weight.mT + layer.expand.bias).clamp(min=0)
    torch.testing.assert_close(layer(inputs), hidden @ layer.contract.weight.mT + layer.contract.bias)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_swiglu_is_its_formula(dtype):
    layer, inputs = SwiGLU(3, 5).to(dtype), torch.randn(2, 4, 3, dtype=dtype)
    expected = torch.zeros_like(inputs)
    for place in ((row, time) for row in range(2) for time in range(4)):
        for unit in range(5):
            gate, expanded = (matrix.weight[unit] @ inputs[place] for matrix in (layer.gate, layer.expand))
            expected[place] += layer.contract.weight[:, unit] * expanded * gate / (1 + (-gate).exp())
    torch.testing.assert_close(layer(inputs), expected)
    assert [name for name, _ in layer.named_parameters()] == ["gate.weight", "expand.weight", "contract.weight"]


def test_swiglu_is_the_network_of_llama():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    theirs = llama.LlamaMLP(llama.LlamaConfig(hidden_size=6, intermediate_size=10, num_attention_heads=2)).double()
    ours, inputs = SwiGLU(6, 10).double(), torch.randn(2, 4, 6, dtype=torch.float64)
    for mine, due in ((ours.gate, theirs.gate_proj), (ours.expand, theirs.up_proj), (ours.contract, theirs.down_proj)):
        mine.load_state_dict(due.state_dict())
    torch.testing.assert_close(ours(inputs), theirs(inputs))


@given(d_model=st.integers(1, 70), times=st.integers(1, 6))
def test_a_gated_network_of_two_thirds_has_as_many_weights(d_model, times):
    def weights(network):
        return sum(each.numel() for each in network.parameters() if each.dim() > 1)

    plain, gated = FeedForward(d_model, times * d_model), SwiGLU(d_model, gated_d_hidden(times * d_model))
    assert abs(weights(gated) - weights(plain)) <= d_model  # a whole number may be off by a third: 3 matrices
    if times * d_model % 3 == 0:
        assert weights(gated) == weights(plain)


def block_by_hand(block, inputs, mask):
    """The two orders as formulas, written out."""
    read = lambda x: block.attention(x, mask=mask)[0]  # noqa: E731
    if block.norm == "pre":
        middle = inputs + read(block.attention_norm(inputs))
        return middle + block.feed_forward(block.feed_forward_norm(middle))
    middle = block.attention_norm(inputs + read(inputs))
    return block.feed_forward_norm(middle + block.feed_forward(middle))


PARTS = {"make_norm": RMSNorm, "make_feed_forward": SwiGLU, "make_attention": partial(MultiHeadAttention, d_head=5)}


@pytest.mark.parametrize("parts", [{}, PARTS], ids=["own parts", "exchanged parts"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_both_orders_are_their_formula(norm, parts):
    block, inputs = start_anywhere(TransformerBlock(6, 2, 10, norm=norm, **parts)), torch.randn(3, 4, 6)
    for mask in (None, causal_mask(4)):
        torch.testing.assert_close(block(inputs, mask=mask), block_by_hand(block, inputs, mask))


def test_each_part_is_the_one_that_its_maker_gives():
    block = TransformerBlock(6, 2, 10, d_memory=7, rotate=torch.abs, **PARTS)
    norms = [block.attention_norm, block.cross_attention_norm, block.feed_forward_norm]
    assert [type(norm) for norm in norms] == [RMSNorm] * 3 and [norm.gain.numel() for norm in norms] == [6] * 3
    assert isinstance(block.feed_forward, SwiGLU) and block.feed_forward.expand.out_features == 10
    assert block.attention.d_head == block.cross_attention.d_head == 5
    assert block.attention.rotate is torch.abs and block.cross_attention.rotate is None
    assert block.cross_attention.to_key.in_features == 7
    assert not [name for name, _ in TransformerBlock(6, 2, 10, norm=None, **PARTS).named_parameters() if "norm" in name]


def test_a_maker_of_attention_is_told_only_what_was_given():
    told = []

    def make(d_model, heads, **named):
        told.append(named)
        return MultiHeadAttention(d_model, heads, **named)

    TransformerBlock(6, 2, 10, make_attention=make)
    TransformerBlock(6, 2, 10, make_attention=make, d_memory=7, rotate=torch.abs)
    TransformerBlock(6, 2, 10, make_attention=make, d_memory=7, attend=attend, attend_memory=simple_self_attention)
    assert told[:1] == [{}] and told[1:3] == [{"rotate": torch.abs}, {"d_memory": 7}]
    assert told[3:] == [{"attend": attend}, {"d_memory": 7, "attend": simple_self_attention}]


def test_the_orders_differ_under_the_same_parameters():
    pre, post = (start_anywhere(TransformerBlock(6, 2, 10, norm=norm)) for norm in ("pre", "post"))
    post.load_state_dict(pre.state_dict())
    inputs = torch.randn(3, 4, 6)
    assert (pre(inputs) - post(inputs)).abs().max() > 0.1


def test_without_normalisation_and_without_residual():
    inputs = torch.randn(3, 4, 6)
    plain = TransformerBlock(6, 2, 10, norm=None)
    middle = inputs + plain.attention(inputs)[0]
    torch.testing.assert_close(plain(inputs), middle + plain.feed_forward(middle))
    assert not [name for name, _ in plain.named_parameters() if "norm" in name]
    for norm in ("pre", "post"):
        bare = start_anywhere(TransformerBlock(6, 2, 10, norm=norm, residual=False))
        for parameter in (bare.attention.to_output, bare.feed_forward.contract):
            nn.init.zeros_(parameter.weight)
            nn.init.zeros_(parameter.bias)
        assert bare(inputs).std(dim=(0, 1)).max() == 0  # nothing of the inputs comes through
        with_road = TransformerBlock(6, 2, 10, norm=norm)
        with_road.load_state_dict(bare.state_dict())
        assert with_road(inputs).std(dim=(0, 1)).min() > 0.1


def test_only_attention_mixes_positions():
    inputs = torch.randn(5, 6)
    block = start_anywhere(TransformerBlock(6, 2, 10))
    elsewhere = ~torch.eye(5, dtype=torch.bool)
    for alone in (block.feed_forward, block.attention_norm, lambda x: x + block.feed_forward(x)):
        blocks = jacobian_blocks(alone, inputs)
        assert (blocks[elsewhere] == 0).all() and (blocks.diagonal() > 0).all()
    for mixes in (lambda x: block.attention(x[None])[0][0], lambda x: block(x[None])[0]):
        assert (jacobian_blocks(mixes, inputs)[elsewhere] > 0).all()


def test_is_equivariant_and_causal_under_a_mask():
    for norm in ("pre", "post"):
        block = start_anywhere(TransformerBlock(6, 2, 10, norm=norm)).double()
        inputs = torch.randn(2, 5, 6, dtype=torch.float64)
        assert permutation_error(block, inputs, torch.randperm(5)) < 1e-11
        assert causal_leak(lambda x, block=block: block(x, mask=causal_mask(5)), inputs) == 0


@given(width=st.integers(1, 4).map(lambda each: 2 * each), d_hidden=st.integers(1, 9), d_memory=st.integers(1, 6))
def test_parameters_are_as_many_as_the_formula_says(width, d_hidden, d_memory):
    def count(**arguments):
        return sum(each.numel() for each in TransformerBlock(width, 2, d_hidden, **arguments).parameters())

    attention = 4 * width * (width + 1)
    network = d_hidden * (width + 1) + width * (d_hidden + 1)
    assert count() == attention + network + 2 * 2 * width
    assert count(norm=None) == attention + network
    reading = 2 * width * (width + 1) + 2 * width * (d_memory + 1) + 2 * width
    assert count(d_memory=d_memory) == count() + reading
    four_times = sum(each.numel() for each in TransformerBlock(width, 2, 4 * width).parameters())
    assert four_times == 12 * width**2 + 13 * width


@pytest.mark.parametrize("parts", [{}, PARTS], ids=["own parts", "exchanged parts"])
def test_gradients_are_right(parts):
    for norm in ("pre", "post"):
        block = start_anywhere(TransformerBlock(4, 2, 6, norm=norm, d_memory=3, **parts)).double()
        inputs, memory = (torch.randn(2, *shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 4), (5, 3)))
        assert torch.autograd.gradcheck(block, (inputs, memory))


def test_a_block_that_reads_a_memory_hides_its_padding():
    block = start_anywhere(TransformerBlock(6, 2, 10, d_memory=5))
    inputs, memory = torch.randn(2, 4, 6), torch.randn(2, 3, 5)
    seen = torch.tensor([True, True, False])
    output = block(inputs, memory, causal_mask(4), memory_mask=seen)
    other = memory.clone()
    other[:, 2] = 9.0
    assert torch.equal(block(inputs, other, causal_mask(4), memory_mask=seen), output)
    assert not torch.equal(block(inputs, other, causal_mask(4)), output)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: TransformerBlock(8, 2, 16, norm="Pre"), '`norm` is \'Pre\', expected "pre", "post" or None'),
        (lambda: TransformerBlock(8, 3, 16), "`heads` is 3, expected a number that divides `d_model` = 8"),
        (lambda: TransformerBlock(8, 2, 16)(torch.zeros(1, 2, 8), torch.zeros(1, 2, 8)), "made without `d_memory`"),
        (
            lambda: TransformerBlock(8, 2, 16)(torch.zeros(1, 2, 8), memory_mask=causal_mask(2)),
            "`memory` or `memory_mask` came, expected neither: this block was made without `d_memory`",
        ),
        (
            lambda: TransformerBlock(8, 2, 16, d_memory=8)(torch.zeros(1, 2, 8)),
            "`memory` is None, expected a tensor: this block was made with `d_memory`",
        ),
        (lambda: FeedForward(8, 16)(torch.zeros(2, 6)), "`inputs` has shape (2, 6), expected (..., d_model=8)"),
        (lambda: SwiGLU(8, 16)(torch.zeros(2, 6)), "`inputs` has shape (2, 6), expected (..., d_model=8)"),
        (lambda: RMSNorm(8)(torch.zeros(2, 6)), "`inputs` has shape (2, 6), expected (..., d_model=8)"),
        (lambda: LayerNorm(8)(torch.zeros(2, 6)), "`inputs` has shape (2, 6), expected (..., d_model=8)"),
    ],
)
def test_wrong_arguments_are_named(wrong, sentence):
    with pytest.raises(ValueError) as error:
        wrong()
    assert sentence in str(error.value)


def test_dropout_may_be_in_training_mode_alone():
    """Monte Carlo dropout: by itself in training mode, it gives samples from a model that is evaluated."""
    block, inputs = TransformerBlock(8, 2, 16, dropout=0.5).eval(), torch.randn(2, 3, 8)
    torch.testing.assert_close(block(inputs), block(inputs), rtol=0, atol=0)
    block.dropout.train()
    assert not torch.allclose(block(inputs), block(inputs))
