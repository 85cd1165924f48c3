"""Right answers to 09.1 that are written in other ways."""

import torch
from einops import einsum
from torch import nn


class ThreeLayers(nn.Module):
    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_memory, d_key)
        self.to_value = nn.Linear(d_memory, d_model)


class CrossAttention_by_products(ThreeLayers):
    def forward(self, vectors, memory, present):
        query, key, value = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = torch.bmm(query / key.shape[2] ** 0.5, key.transpose(1, 2))
        weights = torch.softmax(torch.where(present.unsqueeze(1), scores, float("-inf")), dim=2)
        return torch.bmm(weights, value), weights


class CrossAttention_by_loops(ThreeLayers):
    def forward(self, vectors, memory, present):
        outputs, rows = [], []
        for asking, read, there in zip(vectors, memory, present, strict=True):
            for vector in asking:
                query = self.to_query(vector)
                scores = torch.stack([query @ self.to_key(each) for each in read]) / len(query) ** 0.5
                weights = torch.zeros(len(read))
                weights[there] = scores[there].softmax(0)
                rows.append(weights)
                outputs.append(weights @ self.to_value(read))
        shape = vectors.shape[:2]
        return torch.stack(outputs).unflatten(0, shape), torch.stack(rows).unflatten(0, shape)


class CrossAttention_by_einsum_and_a_large_negative_number(ThreeLayers):
    def forward(self, vectors, memory, present):
        scores = einsum(self.to_query(vectors), self.to_key(memory), "b t d, b n d -> b t n")
        scores = scores * self.to_key.out_features**-0.5 + (~present)[:, None].float() * -1e9
        grown = (scores - scores.amax(-1, keepdim=True).detach()).exp()
        weights = grown / grown.sum(-1, keepdim=True)
        return einsum(weights, self.to_value(memory), "b t n, b n d -> b t d"), weights
