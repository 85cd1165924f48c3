"""Multi-head attention (Chapter 6), and a comparison with torch's."""

import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    """Return the output (..., m, d_head) and the weights (..., m, n)."""
    scores = query @ key.mT / query.shape[-1] ** 0.5  # (..., m, n)
    if mask is not None:  # True where a query may attend to a key
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = scores.softmax(dim=-1)  # (..., m, n)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """Each head attends with its own share of the width."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def split_heads(self, vectors):
        vectors = vectors.unflatten(-1, (self.heads, -1))
        return vectors.transpose(1, 2)  # (batch, heads, time, d_head)

    def forward(self, inputs, memory=None, mask=None):
        memory = inputs if memory is None else memory
        query = self.split_heads(self.to_query(inputs))
        key = self.split_heads(self.to_key(memory))
        value = self.split_heads(self.to_value(memory))
        if mask is not None:  # (batch, m, n): the same for all heads
            mask = mask.unsqueeze(-3)  # (batch, 1, m, n)
        # y (batch, heads, m, d_head), weights (batch, heads, m, n)
        y, weights = scaled_dot_product_attention(query, key, value, mask)
        merged = y.transpose(1, 2).flatten(2)  # (batch, m, d_model)
        return self.to_output(merged), weights


if __name__ == "__main__":
    torch.manual_seed(0)
    ours = MultiHeadAttention(d_model=16, heads=4)
    torchs = nn.MultiheadAttention(16, 4, batch_first=True)
    three = ours.to_query, ours.to_key, ours.to_value
    torchs.in_proj_weight.data = torch.cat([one.weight for one in three])
    torchs.in_proj_bias.data = torch.cat([one.bias for one in three])
    torchs.out_proj = ours.to_output
    x = torch.randn(2, 5, 16)  # (batch, time, d_model)
    output, weights = ours(x)
    print("output", tuple(output.shape), "weights", tuple(weights.shape))
    same = torch.allclose(output, torchs(x, x, x)[0], atol=1e-6)
    print("as torch's:", same)
