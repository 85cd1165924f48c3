"""Right answers to 05.4 that are written in other ways: each is attention, and so right for all five."""

import math

import torch
from einops import einsum


def _with_einsum(query, key, value, mask):
    scores = einsum(query, key, "batch query d, batch key d -> batch query key") * key.shape[-1] ** -0.5
    weights = (scores + torch.where(mask, 0.0, float("-inf"))).softmax(dim=2)
    return einsum(weights, value, "batch query key, batch key d -> batch query d")


def _in_double(query, key, value, mask):
    query = query.double().clone()
    query /= math.sqrt(query.shape[-1])
    scores = torch.bmm(query, key.double().permute(0, 2, 1)).masked_fill_(~mask, -torch.inf)
    return torch.softmax(scores, -1).bmm(value.double()).float()


def _one_by_one(query, key, value, mask):
    batch = []
    for q, k, v in zip(query, key, value, strict=True):
        rows = [(k[seen] @ row / len(row) ** 0.5).softmax(0) @ v[seen] for row, seen in zip(q, mask, strict=True)]
        batch.append(torch.stack(rows))
    return torch.stack(batch)


first_suspect_with_einsum, first_suspect_in_double, first_suspect_one_by_one = _with_einsum, _in_double, _one_by_one
second_suspect_with_einsum, second_suspect_in_double, second_suspect_one_by_one = _with_einsum, _in_double, _one_by_one
third_suspect_with_einsum, third_suspect_in_double, third_suspect_one_by_one = _with_einsum, _in_double, _one_by_one
fourth_suspect_with_einsum, fourth_suspect_in_double, fourth_suspect_one_by_one = _with_einsum, _in_double, _one_by_one
fifth_suspect_with_einsum, fifth_suspect_in_double, fifth_suspect_one_by_one = _with_einsum, _in_double, _one_by_one
