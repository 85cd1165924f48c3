"""Right answers to 05.3 that are written in other ways."""

import math

import torch
from einops import rearrange


def padded_attention_example_by_example(query, key, value, lengths):
    outputs = []
    for q, k, v, length in zip(query, key, value, lengths.tolist(), strict=True):
        if length == 0:
            outputs.append(torch.zeros(len(q), v.shape[1]))
        else:
            outputs.append((q @ k[:length].T / math.sqrt(k.shape[1])).softmax(-1) @ v[:length])
    return torch.stack(outputs)


def padded_attention_by_exponentials(query, key, value, lengths):
    """The exponentials by hand; an empty row is divided by one."""
    mask = (torch.arange(key.shape[1])[None] < lengths[:, None]).unsqueeze(1)
    scores = torch.einsum("bqd,bkd->bqk", query.double(), key.double()) / key.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -math.inf)
    highest = scores.amax(-1, keepdim=True)
    grown = (scores - highest.masked_fill(highest.isinf(), 0.0)).exp()
    weights = grown / grown.sum(-1, keepdim=True).clamp(min=1)
    return (weights @ value.double()).to(value.dtype)


def padded_attention_with_the_first_key(query, key, value, lengths):
    """The empty ones read their first key, and what they read is thrown away."""
    empty = lengths == 0
    allowed = torch.arange(key.shape[1]) < lengths.clamp(min=1)[:, None]
    scores = torch.bmm(query, key.transpose(1, 2)) / key.shape[2] ** 0.5
    output = scores.masked_fill(~allowed[:, None, :], float("-inf")).softmax(2).bmm(value)
    return torch.where(empty[:, None, None], torch.zeros_like(output), output)


def padded_attention_with_a_key_for_nothing(query, key, value, lengths):
    """A key of its own for nothing, which is seen by those who have nothing else, and whose value is zero."""
    batch, keys, width = key.shape
    key = torch.cat([key, key.new_zeros(batch, 1, width)], 1)
    value = torch.cat([value, value.new_zeros(batch, 1, value.shape[2])], 1)
    allowed = torch.arange(keys + 1) < lengths[:, None]
    allowed[:, keys] = lengths == 0
    scores = (query @ key.mT / width**0.5).masked_fill(~rearrange(allowed, "batch key -> batch 1 key"), -torch.inf)
    return scores.softmax(-1) @ value


def padded_attention_nan_covered_up(query, key, value, lengths):
    """Nan covered up behind the softmax: right, because what is filled in stops it on the way back."""
    allowed = (torch.arange(key.shape[1]) < lengths[:, None]).unsqueeze(1)
    scores = query @ key.mT / key.shape[-1] ** 0.5
    return scores.masked_fill(~allowed, float("-inf")).softmax(-1).nan_to_num() @ value
