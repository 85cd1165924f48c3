"""Right answers to 04.1 that are written in other ways."""

import torch
from torch.nn import functional


def look_up_by_loops(query, key, value, scale):
    scores = [scale * sum(q * k for q, k in zip(query, row, strict=True)) for row in key]
    largest = max(scores)
    grown = [torch.exp(score - largest) for score in scores]
    found = torch.zeros(value.shape[1])
    for weight, row in zip(grown, value, strict=True):
        found = found + weight / sum(grown) * row
    return found


def look_up_in_double(query, key, value, scale):
    scores = torch.einsum("kd,d->k", key.double(), query.double()) * scale
    return (torch.softmax(scores, -1)[None] @ value.double())[0].float()


def look_up_fused_by_torch(query, key, value, scale):
    return functional.scaled_dot_product_attention(query[None], key, value, scale=scale).squeeze(0)


def look_up_by_log_sum_exp(query, key, value, scale):
    scores = (scale * query) @ key.T
    return ((scores - scores.logsumexp(0)).exp().unsqueeze(1) * value).sum(0)
