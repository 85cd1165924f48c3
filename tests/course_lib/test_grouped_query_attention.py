import pytest
import torch

from course_lib.grouped_query_attention import GroupedQueryAttention
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import RMSNorm
from course_lib.positions import rotate_by_position


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_is_multi_head_attention_with_three_of_its_arguments(groups):
    torch.manual_seed(groups)
    ours = GroupedQueryAttention(16, heads=4, groups=groups).double()
    for each in ours.parameters():
        torch.nn.init.normal_(each)  # the gains, too: at 1, each norm could stand for the other
    theirs = MultiHeadAttention(
        16, 4, key_value_heads=groups, normalise_heads=RMSNorm, rotate=rotate_by_position, bias=False
    ).double()
    theirs.load_state_dict(ours.state_dict())
    inputs = torch.randn(2, 7, 16, dtype=torch.float64)
    torch.testing.assert_close(ours(inputs), theirs(inputs, causal=True)[0])


@pytest.mark.parametrize("sizes", [(16, 3, 1), (16, 4, 3), (16, 4, 0), (16, 0, 1)])
def test_refuses_sizes_that_do_not_divide(sizes):
    with pytest.raises(ValueError, match="expected each to be a multiple of the next"):
        GroupedQueryAttention(*sizes)


def test_refuses_inputs_of_another_width():
    with pytest.raises(ValueError, match="`inputs` has shape"):
        GroupedQueryAttention(16, 4, 2)(torch.zeros(1, 5, 8))
