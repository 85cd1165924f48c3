"""Self-attention and cross-attention with projections (Chapter 4)."""

import torch
from torch import nn


class Attention(nn.Module):
    """Self-attention, and cross-attention where a memory is read."""

    def __init__(self, d_model, d_key, d_value, scale=1.0):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)
        self.scale = scale

    def forward(self, inputs, memory=None):
        memory = inputs if memory is None else memory  # what is read
        query = self.to_query(inputs)  # (..., n_q, d_key)
        key = self.to_key(memory)  # (..., n, d_key)
        value = self.to_value(memory)  # (..., n, d_value)
        scores = self.scale * query @ key.mT  # (..., n_q, n)
        weights = scores.softmax(dim=-1)  # (..., n_q, n), rows sum to 1
        return weights @ value, weights  # (..., n_q, d_value)


if __name__ == "__main__":
    layer = Attention(d_model=3, d_key=3, d_value=3, scale=20)
    for matrix in layer.parameters():
        nn.init.eye_(matrix)  # so query, key and value are the vector
    inputs = torch.tensor([[0.0, 1, 0], [1, 1, 0]])  # (2, 3)
    for name, read in (("self ", None), ("cross", torch.eye(3))):
        output, weights = layer(inputs, read)
        print(name, "weights", weights.round(decimals=2).tolist())
