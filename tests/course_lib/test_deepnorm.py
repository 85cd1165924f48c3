import pytest
import torch

from course_lib.blocks import TransformerBlock
from course_lib.deepnorm import DeepNormBlock, begin_as_deepnorm


def test_the_stream_is_multiplied_before_each_sum():
    block = DeepNormBlock(d_model=8, heads=2, d_hidden=16, depth=8)
    x = torch.randn(3, 5, 8)  # (batch, time, d_model)
    expected = block.attention_norm(2 * x + block.attention(x)[0])
    expected = block.feed_forward_norm(2 * expected + block.feed_forward(expected))
    torch.testing.assert_close(block(x), expected)


@pytest.mark.parametrize("depth", [2, 32])
def test_values_and_feed_forward_begin_smaller_the_deeper_the_stack(depth):
    torch.manual_seed(0)
    block = TransformerBlock(d_model=256, heads=2, d_hidden=256)
    begin_as_deepnorm(block, depth)
    with torch.no_grad():
        usual = block.attention.to_query.weight.std()
        for layer in (block.attention.to_value, block.attention.to_output, block.feed_forward.contract):
            assert layer.weight.std() / usual == pytest.approx((8 * depth) ** -0.25, rel=0.02)
            assert not layer.bias.any()
