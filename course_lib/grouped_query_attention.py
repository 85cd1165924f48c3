"""Attention as in most of today's models: heads in groups that share keys and values, QK-norm, and rotary positions."""

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask
from course_lib.multi_head import merge_heads, repeat_heads, split_heads
from course_lib.normalisation import RMSNorm
from course_lib.positions import rotate_by_position
from course_lib.shapes import check_shape


class GroupedQueryAttention(nn.Module):
    """Causal self-attention with QK-norm and RoPE; the heads of a group share one key and one value.

    It computes what `MultiHeadAttention` computes with `key_value_heads`, `normalise_heads` and `rotate`, without what
    that class does besides: no memory, no cache, no fused kernel. The shape of the inputs (batch, time, d_model) stays.
    After Ainslie et al. (2023), with the layout of Qwen3. Raises ValueError where the groups do not divide the heads,
    or the heads not the width. C, D and E in its comments are the letters of Chapter 16.

    >>> attention = GroupedQueryAttention(d_model=16, heads=4, groups=2)
    >>> attention(torch.zeros(3, 5, 16)).shape
    torch.Size([3, 5, 16])
    """

    def __init__(self, d_model: int, heads: int, groups: int):
        super().__init__()
        if min(heads, groups) < 1 or d_model % heads or heads % groups:
            raise ValueError(
                f"`d_model`, `heads` and `groups` are {d_model}, {heads} and {groups}, "
                "expected each to be a multiple of the next"
            )
        self.heads, self.groups, d_head = heads, groups, d_model // heads
        self.to_query = nn.Linear(d_model, heads * d_head, bias=False)
        self.to_key = nn.Linear(d_model, groups * d_head, bias=False)  # D
        self.to_value = nn.Linear(d_model, groups * d_head, bias=False)
        self.to_output = nn.Linear(heads * d_head, d_model, bias=False)
        self.query_norm, self.key_norm = RMSNorm(d_head), RMSNorm(d_head)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return outputs (batch, time, d_model) of inputs (batch, time, d_model)."""
        check_shape(inputs, "batch time d_model", "inputs", d_model=self.to_query.in_features)
        # each (batch, heads or groups, time, d_head)
        query = split_heads(self.to_query(inputs), self.heads)
        key = split_heads(self.to_key(inputs), self.groups)
        value = split_heads(self.to_value(inputs), self.groups)
        query = rotate_by_position(self.query_norm(query))  # E, then C
        key = rotate_by_position(self.key_norm(key))
        times = self.heads // self.groups  # D: each serves so many heads
        key, value = repeat_heads(key, times), repeat_heads(value, times)
        mask = causal_mask(inputs.shape[1]).to(inputs.device)
        found, _ = scaled_dot_product_attention(query, key, value, mask)
        return self.to_output(merge_heads(found))
