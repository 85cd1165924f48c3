import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib.cache import KeyValueCache
from course_lib.costs import attention_cost
from course_lib.masks import causal_mask
from course_lib.multi_head import MultiHeadAttention


def counted(call):
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops() / 2  # torch counts a multiplication and an addition as two


@pytest.mark.parametrize(("time", "d_model", "heads"), [(7, 8, 2), (16, 12, 3), (1, 4, 1)])
def test_the_count_is_that_of_torch(time, d_model, heads):
    attention = MultiHeadAttention(d_model, heads)
    cost = attention_cost(time, time, d_model, heads)
    assert counted(lambda: attention(torch.zeros(1, time, d_model))) == cost.multiply_adds
    assert cost.score_numbers == attention(torch.zeros(1, time, d_model))[1].numel()


def test_the_count_with_a_cache_is_that_of_torch():
    attention, cache = MultiHeadAttention(8, 2), KeyValueCache()
    attention(torch.zeros(1, 9, 8), cache=cache)
    cost = attention_cost(query=3, key=12, d_model=8, heads=2)
    assert counted(lambda: attention(torch.zeros(1, 3, 8), None, causal_mask(3, 12), cache)) == cost.multiply_adds
    assert cost.projections < attention_cost(12, 12, 8, 2).projections


@pytest.mark.parametrize("wrong", [(0, 5, 8, 2), (6, 5, 8, 2), (5, 5, 0, 1), (5, 5, 8, 3), (5, 5, 8, 0)])
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(ValueError, match="`query` is"):
        attention_cost(*wrong)
