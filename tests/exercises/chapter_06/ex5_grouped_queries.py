"""Right answers to 06.5 that are written in other ways."""

import math

import torch
from einops import einsum, rearrange, repeat


def grouped_query_attention_with_an_axis_for_heads(query, key, value):
    """Heads of a group as an axis of their own; keys and values are not copied."""
    query = rearrange(query, "batch (groups each) time d -> batch groups each time d", groups=key.shape[1])
    scores = einsum(query, key, "b g e i d, b g j d -> b g e i j") / query.shape[-1] ** 0.5
    found = einsum(scores.softmax(-1), value, "b g e i j, b g j d -> b g e i d")
    return found.flatten(1, 2)


def grouped_query_attention_head_by_head(query, key, value):
    each = query.shape[1] // key.shape[1]
    found = []
    for head in range(query.shape[1]):
        scores = query[:, head] @ key[:, head // each].transpose(1, 2) / math.sqrt(query.shape[-1])
        found.append(torch.softmax(scores, dim=-1) @ value[:, head // each])
    return torch.stack(found, dim=1)


def grouped_query_attention_as_longer_sequences(query, key, value):
    """The queries of a group one behind the other, as if they were more times."""
    batch, heads, time, d_head = query.shape
    longer = query.reshape(batch, key.shape[1], -1, d_head).double() / d_head**0.5
    scores = longer @ key.double().mT
    grown = (scores - scores.amax(-1, keepdim=True)).exp()
    return (grown / grown.sum(-1, keepdim=True) @ value.double()).reshape(query.shape).float()


def grouped_query_attention_by_repeat(query, key, value):
    each = query.size(1) // key.size(1)
    key, value = (repeat(one, "batch groups time d -> batch (groups each) time d", each=each) for one in (key, value))
    flat = [one.flatten(0, 1) for one in (query, key, value)]
    weights = torch.bmm(flat[0], flat[1].mT).mul(query.size(-1) ** -0.5).softmax(2)
    return torch.bmm(weights, flat[2]).view_as(query)
