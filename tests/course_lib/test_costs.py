import pytest
import torch

from course_lib.cache import KeyValueCache
from course_lib.costs import attention_cost, count_multiply_adds
from course_lib.inspection import record_attention
from course_lib.masks import causal_mask
from course_lib.models.language_model import LanguageModel
from course_lib.multi_head import MultiHeadAttention


@pytest.mark.parametrize(("time", "d_model", "heads"), [(7, 8, 2), (16, 12, 3), (1, 4, 1)])
def test_the_count_is_that_of_torch(time, d_model, heads):
    attention = MultiHeadAttention(d_model, heads)
    cost = attention_cost(time, time, d_model, heads)
    assert count_multiply_adds(lambda: attention(torch.zeros(1, time, d_model))) == cost.multiply_adds
    assert cost.score_numbers == attention(torch.zeros(1, time, d_model))[1].numel()


def test_the_count_with_a_cache_is_that_of_torch():
    attention, cache = MultiHeadAttention(8, 2), KeyValueCache()
    attention(torch.zeros(1, 9, 8), cache=cache)
    cost = attention_cost(query=3, key=12, d_model=8, heads=2)
    assert (
        count_multiply_adds(lambda: attention(torch.zeros(1, 3, 8), None, causal_mask(3, 12), cache))
        == cost.multiply_adds
    )
    assert cost.projections < attention_cost(12, 12, 8, 2).projections


def test_what_the_fused_kernel_does_is_counted_as_the_plain_products():
    model, tokens = LanguageModel(7, max_length=9, d_model=8, heads=2), torch.zeros(2, 9, dtype=torch.long)
    with record_attention(model):
        plain = count_multiply_adds(model, tokens)
    assert count_multiply_adds(model, tokens) == plain > 2 * 2 * attention_cost(9, 9, 8, 2).multiply_adds


@pytest.mark.parametrize("wrong", [(0, 5, 8, 2), (6, 5, 8, 2), (5, 5, 0, 1), (5, 5, 8, 3), (5, 5, 8, 0)])
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(ValueError, match="`query` is"):
        attention_cost(*wrong)
