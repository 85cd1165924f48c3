"""A language model of today's parts (Chapter 16) learns to repeat."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, silu


class RMSNorm(nn.Module):
    """Divide each vector by the root of the mean of its squares."""

    def __init__(self, d_model):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        mean_square = x.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return self.gain * x / (mean_square + 1e-6).sqrt()


def rotate_by_position(vectors, start=0):
    """Turn pairs of entries by angles of their positions (RoPE)."""
    time, width = vectors.shape[-2:]
    rates = 10_000 ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(start, start + time), rates)
    cos, sin = angles.cos().to(vectors), angles.sin().to(vectors)
    a, b = vectors[..., 0::2], vectors[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return turned.flatten(-2)  # (..., time, width)


class Cache:
    """The keys and values that an attention has computed so far."""

    length = 0

    def append(self, key, value):  # each (batch, groups, new, d_head)
        if self.length:
            key = torch.cat([self.key, key], dim=2)
            value = torch.cat([self.value, value], dim=2)
        self.key, self.value, self.length = key, value, key.shape[2]
        return key, value  # each (batch, groups, length, d_head)


class GroupedQueryAttention(nn.Module):
    """Causal attention; the heads of a group share a key and a value."""

    def __init__(self, d_model, heads, groups):
        super().__init__()
        d_head = d_model // heads
        self.heads, self.d_head = heads, d_head
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, groups * d_head, bias=False)
        self.to_value = nn.Linear(d_model, groups * d_head, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)
        self.query_norm, self.key_norm = RMSNorm(d_head), RMSNorm(d_head)

    def split(self, vectors):  # to (batch, heads or groups, new, d_head)
        return vectors.unflatten(-1, (-1, self.d_head)).transpose(1, 2)

    def forward(self, inputs, cache):
        start = cache.length  # the position of the first new token
        query = self.query_norm(self.split(self.to_query(inputs)))
        key = self.key_norm(self.split(self.to_key(inputs)))
        value = self.split(self.to_value(inputs))
        query = rotate_by_position(query, start)
        key = rotate_by_position(key, start)
        key, value = cache.append(key, value)  # now of all positions
        times = self.heads // key.shape[1]  # each serves so many heads
        key, value = (x.repeat_interleave(times, 1) for x in (key, value))
        scores = query @ key.mT / query.shape[-1] ** 0.5
        future = torch.ones_like(scores).triu(diagonal=1 + start).bool()
        weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
        found = weights @ value  # (batch, heads, new, d_head)
        return self.to_output(found.transpose(1, 2).flatten(2))


class SwiGLU(nn.Module):
    """A feed-forward network whose gate scales each hidden unit."""

    def __init__(self, d_model, d_hidden):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.expand = nn.Linear(d_model, d_hidden, bias=False)
        self.contract = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x):
        return self.contract(silu(self.gate(x)) * self.expand(x))


class TransformerBlock(nn.Module):
    """The frame of 2017 with today's parts, and the norms in front."""

    def __init__(self, d_model, heads, groups, d_hidden):
        super().__init__()
        self.attention = GroupedQueryAttention(d_model, heads, groups)
        self.attention_norm = RMSNorm(d_model)
        self.feed_forward = SwiGLU(d_model, d_hidden)
        self.feed_forward_norm = RMSNorm(d_model)

    def forward(self, x, cache):
        x = x + self.attention(self.attention_norm(x), cache)
        return x + self.feed_forward(self.feed_forward_norm(x))


class LanguageModel(nn.Module):
    """From tokens (batch, time) to logits (batch, time, vocab)."""

    def __init__(self, vocab_size, d_model, heads=4, groups=2, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embed.weight, std=0.02)
        sizes = d_model, heads, groups, round(8 * d_model / 3)
        blocks = [TransformerBlock(*sizes) for _ in range(layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = RMSNorm(d_model)

    def forward(self, tokens, caches=None):  # a cache for each block
        caches = caches or [Cache() for _ in self.blocks]
        x = self.embed(tokens)  # (batch, time, d_model)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, cache)  # (batch, time, d_model)
        return self.norm(x) @ self.embed.weight.T


@torch.no_grad()
def generate(model, tokens, number):
    """Append the likeliest token so many times; read each token once."""
    caches, new = [Cache() for _ in model.blocks], tokens
    for _ in range(number):
        new = model(new, caches)[:, -1:].argmax(dim=-1)  # (batch, 1)
        tokens = torch.cat([tokens, new], dim=1)  # (batch, time + 1)
    return tokens


if __name__ == "__main__":
    torch.manual_seed(0)
    model = LanguageModel(vocab_size=10, d_model=32)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(200):
        tokens = torch.randint(10, (64, 8)).repeat(1, 2)  # (64, 16)
        logits = model(tokens[:, :-1])  # (64, 15, vocab)
        loss = cross_entropy(logits[:, 7:].mT, tokens[:, 8:])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    rows = torch.randint(10, (500, 8))
    written = generate(model, rows, 8)  # (500, 16)
    print("read", rows[0].tolist(), "wrote", written[0, 8:].tolist())
    right = (written[:, 8:] == rows).all(dim=1).sum()
    print(f"{right} of 500 new rows are repeated")
