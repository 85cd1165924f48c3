import pytest
import torch

from course_lib.blocks import TransformerBlock
from course_lib.inspection import record_attention


def test_it_records_what_the_attention_returned():
    block = TransformerBlock(d_model=8, heads=2, d_hidden=16, d_memory=6).eval()
    inputs, memory = torch.randn(3, 5, 8), torch.randn(3, 7, 6)
    with record_attention(block) as maps:
        block(inputs, memory)
    assert {name: tuple(each.shape) for name, each in maps.items()} == {
        "attention": (3, 2, 5, 5),
        "cross_attention": (3, 2, 5, 7),
    }
    weights = block.attention(block.attention_norm(inputs))[1]
    assert torch.equal(maps["attention"], weights) and not maps["attention"].requires_grad


def test_nothing_is_left_behind_even_after_an_error():
    block = TransformerBlock(d_model=8, heads=2, d_hidden=16)
    with pytest.raises(ValueError), record_attention(block) as maps:
        block(torch.randn(3, 5, 7))
    block(torch.randn(3, 5, 8))
    assert not maps and not block.attention._forward_hooks
