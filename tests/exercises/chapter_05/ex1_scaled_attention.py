"""Right answers to 05.1 that are written in other ways."""

import math

import torch
from einops import einsum


def scaled_dot_product_attention_by_einsum(query, key, value, mask):
    scores = einsum(query.double(), key.double(), "... query d, ... key d -> ... query key") / math.sqrt(key.shape[-1])
    weights = torch.where(mask, scores, -torch.inf).softmax(-1).to(query.dtype)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def scaled_dot_product_attention_by_exponentials(query, key, value, mask):
    columns = key.transpose(-2, -1) * key.shape[-1] ** -0.5
    scores = query @ columns + torch.zeros(mask.shape).masked_fill(mask.logical_not(), float("-inf"))
    grown = (scores - scores.max(dim=-1, keepdim=True).values).exp()
    weights = grown / grown.sum(dim=-1, keepdim=True)
    return weights.matmul(value), weights


def scaled_dot_product_attention_query_by_query(query, key, value, mask):
    """One query at a time, and only the keys that it may see."""
    outputs, weights = [], []
    for number, allowed in enumerate(mask):
        scores = (query[..., number : number + 1, :] * key[..., allowed, :]).sum(-1) / math.sqrt(query.shape[-1])
        attended = scores.softmax(-1)
        row = torch.zeros(*key.shape[:-1])
        row[..., allowed] = attended
        outputs.append((attended[..., None] * value[..., allowed, :]).sum(-2))
        weights.append(row)
    return torch.stack(outputs, -2), torch.stack(weights, -2)


def scaled_dot_product_attention_with_the_lowest_number(query, key, value, mask):
    """The lowest number there is, which no score is below."""
    scores = torch.matmul(query / math.sqrt(query.size(-1)), key.swapaxes(-1, -2))
    weights = torch.softmax(scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min), dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention_by_bmm(query, key, value, mask):
    """As a batch of matrices, with log-softmax."""
    leading = query.shape[:-2]
    flat = [each.reshape(-1, *each.shape[-2:]) for each in (query, key, value)]
    scores = torch.bmm(flat[0], flat[1].mT).div(flat[1].shape[-1] ** 0.5).where(mask, torch.tensor(float("-inf")))
    weights = scores.log_softmax(-1).exp()
    output = torch.bmm(weights, flat[2])
    return output.reshape(*leading, *output.shape[1:]), weights.reshape(*leading, *weights.shape[1:])
