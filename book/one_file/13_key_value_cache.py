"""Generation with a key-value cache (Chapter 13) reads tokens once."""

import torch
from torch import nn


class Cache:
    """The keys and values that an attention has computed so far."""

    length = 0

    def append(self, key, value):  # each (batch, heads, new, d_head)
        if self.length:
            key = torch.cat([self.key, key], dim=2)
            value = torch.cat([self.value, value], dim=2)
        self.key, self.value, self.length = key, value, key.shape[2]
        return key, value  # each (batch, heads, length, d_head)


def rotate_by_position(vectors, start):
    """Turn pairs of entries by angles of positions from start on."""
    time, width = vectors.shape[-2:]
    rates = 10_000 ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(start, start + time), rates)
    cos, sin = angles.cos().to(vectors), angles.sin().to(vectors)
    a, b = vectors[..., 0::2], vectors[..., 1::2]
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return turned.flatten(-2)  # (..., time, width)


class MultiHeadAttention(nn.Module):
    """Causal self-attention; with a cache, of what is new only."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def split(self, vectors):
        return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, inputs, cache):
        start = cache.length  # the position of the first new token
        # each (batch, heads, new, d_head)
        query = rotate_by_position(
            self.split(self.to_query(inputs)), start
        )
        key = rotate_by_position(self.split(self.to_key(inputs)), start)
        value = self.split(self.to_value(inputs))
        key, value = cache.append(key, value)  # now of all positions
        scores = query @ key.mT / query.shape[-1] ** 0.5  # (.., new, all)
        future = torch.ones_like(scores).triu(diagonal=1 + start).bool()
        weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
        found = weights @ value  # (batch, heads, new, d_head)
        return self.to_output(found.transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    """Attention and a feed-forward network, after a norm each."""

    def __init__(self, d_model, heads, d_hidden):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_hidden),
            nn.ReLU(),
            nn.Linear(d_hidden, d_model),
        )
        self.feed_forward_norm = nn.LayerNorm(d_model)

    def forward(self, x, cache):
        x = x + self.attention(self.attention_norm(x), cache)
        return x + self.feed_forward(self.feed_forward_norm(x))


class LanguageModel(nn.Module):
    """From new tokens (batch, new) to the logits (batch, new, vocab)."""

    def __init__(self, vocab_size, d_model=64, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embed.weight, std=0.02)
        sizes = d_model, heads, 4 * d_model
        blocks = [TransformerBlock(*sizes) for _ in range(layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens, caches):  # a cache for each block
        x = self.embed(tokens)  # (batch, new, d_model)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, cache)  # (batch, new, d_model)
        return self.norm(x) @ self.embed.weight.T


@torch.no_grad()
def write(model, tokens, number, cached):
    """Append so many tokens; say how many positions were read, too."""
    caches, new, read = [Cache() for _ in model.blocks], tokens, 0
    for _ in range(number):
        logits = model(new, caches)[:, -1]  # (batch, vocab)
        read += new.shape[1]
        drawn = torch.multinomial(logits.softmax(dim=-1), 1)  # (batch, 1)
        tokens = torch.cat([tokens, drawn], dim=1)
        new = drawn if cached else tokens
        caches = caches if cached else [Cache() for _ in model.blocks]
    return tokens, read


if __name__ == "__main__":
    torch.manual_seed(0)
    model = LanguageModel(vocab_size=20)  # it has learned nothing
    prompt = torch.randint(20, (1, 8))  # (batch, time)
    for cached in (True, False):
        torch.manual_seed(1)  # the same random numbers for both
        tokens, read = write(model, prompt, 24, cached)
        print(f"cache {cached!s:5}: {read:3} read,", *tokens[0].tolist())
