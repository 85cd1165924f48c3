"""Pre-norm transformer blocks (Chapter 8) learn what stands opposite."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy


class LayerNorm(nn.Module):
    """Standardise each vector over its entries; stretch and shift it."""

    def __init__(self, d_model):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, inputs):
        x = inputs - inputs.mean(dim=-1, keepdim=True)  # (..., d_model)
        variance = x.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return self.gain * x / (variance + 1e-5).sqrt() + self.bias


class FeedForward(nn.Module):
    """Expand each vector, apply a ReLU, contract it again."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs):
        hidden = self.expand(inputs).relu()  # (..., d_hidden)
        return self.contract(hidden)  # (..., d_model)


class MultiHeadAttention(nn.Module):
    """Each head attends with its own share of the width."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def split(self, vectors):
        return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, inputs):
        # each (batch, heads, time, d_head)
        query = self.split(self.to_query(inputs))
        key = self.split(self.to_key(inputs))
        value = self.split(self.to_value(inputs))
        scores = query @ key.mT / query.shape[-1] ** 0.5
        weights = scores.softmax(dim=-1)  # (batch, heads, time, time)
        found = (weights @ value).transpose(1, 2).flatten(2)
        return self.to_output(found)  # (batch, time, d_model)


class TransformerBlock(nn.Module):
    """Attention mixes positions, then a network works on each alone."""

    def __init__(self, d_model, heads, d_hidden):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads)
        self.attention_norm = LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_hidden)
        self.feed_forward_norm = LayerNorm(d_model)

    def forward(self, x):  # x: (batch, time, d_model), as all here
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


if __name__ == "__main__":
    torch.manual_seed(0)
    blocks = [TransformerBlock(32, 2, 64) for _ in range(4)]
    begin, end = nn.Embedding(12 * 6, 32), nn.Linear(32, 12)
    model = nn.Sequential(begin, *blocks, LayerNorm(32), end)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(101):
        rings = torch.randint(12, (64, 6))  # (ring, position)
        # each symbol has a vector for each position
        logits = model(rings + 12 * torch.arange(6))  # (.., symbol)
        loss = cross_entropy(logits.mT, rings.roll(3, dims=1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 50 == 0:
            print(f"step {step:3}: loss {loss.item():.3f}")
