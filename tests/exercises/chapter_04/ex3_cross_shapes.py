"""Right answers to 04.3 that are written in other ways."""

import math

import torch
from torch.nn import functional


def cross_attention_by_linear(vectors, memory, query_weight, key_weight, value_weight):
    query = functional.linear(vectors, query_weight)
    key, value = functional.linear(memory, key_weight), functional.linear(memory, value_weight)
    return torch.softmax(query @ key.mT, dim=2).bmm(value)


def cross_attention_by_loops(vectors, memory, query_weight, key_weight, value_weight):
    output = torch.zeros(vectors.shape[0], vectors.shape[1], value_weight.shape[0])
    for b in range(vectors.shape[0]):
        for i in range(vectors.shape[1]):
            query = query_weight @ vectors[b, i]
            scores = torch.stack([query @ (key_weight @ each) for each in memory[b]])
            for weight, each in zip(scores.softmax(0), memory[b], strict=True):
                output[b, i] += weight * (value_weight @ each)
    return output


def cross_attention_in_double(vectors, memory, query_weight, key_weight, value_weight):
    wide = [each.double() for each in (vectors, memory, query_weight, key_weight, value_weight)]
    scores = torch.einsum("bqr,er,ek,bnk->bqn", wide[0], wide[2], wide[3], wide[1])
    return torch.einsum("bqn,bnk,vk->bqv", scores.softmax(-1), wide[1], wide[4]).float()


def cross_attention_fused_by_torch(vectors, memory, query_weight, key_weight, value_weight):
    query, key, value = vectors @ query_weight.T, memory @ key_weight.T, memory @ value_weight.T
    return functional.scaled_dot_product_attention(query * math.sqrt(query.shape[-1]), key, value)
