"""A language model (Chapter 11): causal blocks, training, sampling.

It reads text of a small grammar, whose own entropy is 0.32 bits a letter.
"""

from math import log
from random import choice, seed

import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

NOUNS, VERBS = ["cat", "dog", "hen", "owl"], ["fed", "hid", "met", "saw"]


def rotate_by_position(vectors):
    """Turn each pair of entries by an angle that grows with position."""
    time, width = vectors.shape[-2:]
    rates = 10_000 ** (-torch.arange(0, width, 2) / width)
    angles = torch.outer(torch.arange(time), rates).to(vectors)
    a, b = vectors[..., 0::2], vectors[..., 1::2]
    cos, sin = angles.cos(), angles.sin()  # (time, width / 2)
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return turned.flatten(-2)  # (..., time, width)


class MultiHeadAttention(nn.Module):
    """Causal self-attention with rotary positions."""

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
        query = rotate_by_position(self.split(self.to_query(inputs)))
        key = rotate_by_position(self.split(self.to_key(inputs)))
        value = self.split(self.to_value(inputs))
        scores = query @ key.mT / query.shape[-1] ** 0.5
        future = torch.ones_like(scores).triu(diagonal=1).bool()
        scores = scores.masked_fill(future, -torch.inf)
        weights = scores.softmax(dim=-1)  # (batch, heads, time, time)
        found = weights @ value  # (batch, heads, time, d_head)
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

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class LanguageModel(nn.Module):
    """From tokens (batch, time) to logits (batch, time, vocab)."""

    def __init__(self, vocab_size, d_model=64, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.embed.weight, std=0.02)
        sizes = d_model, heads, 4 * d_model
        blocks = [TransformerBlock(*sizes) for _ in range(layers)]
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens):
        x = self.blocks(self.embed(tokens))  # (batch, time, d_model)
        return self.norm(x) @ self.embed.weight.T  # tied weights


def sampling_probabilities(logits, temperature=1, top_k=None, top_p=None):
    """Turn logits (..., vocab) into what the next token is drawn from."""
    if temperature == 0:  # greedy decoding
        return one_hot(logits.argmax(dim=-1), logits.shape[-1]).float()
    probabilities = (logits / temperature).softmax(dim=-1)
    largest, order = probabilities.sort(dim=-1, descending=True)
    if top_k is not None:
        largest[..., top_k:] = 0
        largest = largest / largest.sum(dim=-1, keepdim=True)
    if top_p is not None:
        before = largest.cumsum(dim=-1) - largest  # what the larger have
        largest = largest.masked_fill(before >= top_p, 0)
        largest = largest / largest.sum(dim=-1, keepdim=True)
    return torch.zeros_like(largest).scatter(-1, order, largest)


@torch.no_grad()
def generate(model, tokens, number, longest=48, **settings):
    """Append so many tokens to tokens (batch, time), one by one."""
    for _ in range(number):
        logits = model(tokens[:, -longest:])[:, -1]  # (batch, vocab)
        probabilities = sampling_probabilities(logits, **settings)
        drawn = torch.multinomial(probabilities, 1)  # (batch, 1)
        tokens = torch.cat([tokens, drawn], dim=1)  # (batch, time + 1)
    return tokens


def sentence():
    """Draw one such as "the cat met the dog that saw the owl. "."""
    words, link = f"the {choice(NOUNS)}", " "
    while link:
        words += f"{link}{choice(VERBS)} the {choice(NOUNS)}"
        link = choice([" that ", ""])
    return words + ". "


if __name__ == "__main__":
    seed(0)
    torch.manual_seed(0)
    text = "".join(sentence() for _ in range(2000))
    characters = sorted(set(text))
    tokens = torch.tensor([characters.index(each) for each in text])
    passages = tokens.unfold(0, 49, 1)  # (start, 48 + 1), overlapping
    model = LanguageModel(len(characters))
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(1, 151):
        batch = passages[torch.randint(len(passages), (16,))]
        logits = model(batch[:, :-1])  # (16, 48, vocab)
        loss = cross_entropy(logits.mT, batch[:, 1:])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step in (1, 150):
            print(f"step {step}: {loss.item() / log(2):.2f} bits")
    hot = {"temperature": 2}
    for settings in ({}, hot, hot | {"top_k": 4, "top_p": 0.7}):
        written = generate(model, tokens[None, :4], 44, **settings)[0]
        print("".join(characters[token] for token in written), settings)
