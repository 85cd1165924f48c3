"""A transformer tells praise from blame by word order (Chapter 10)."""

import random

import torch
from torch import nn
from torch.nn.functional import (
    cross_entropy,
    scaled_dot_product_attention,
)

PRAISE = ["good", "great", "clever", "moving", "funny", "sharp", "warm"]
BLAME = ["bad", "awful", "dull", "flat", "boring", "weak", "cold"]
VOCABULARY = ["<pad>", "but", "not", *PRAISE, *BLAME]


class MultiHeadAttention(nn.Module):
    """Each head attends with its own share of the width."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, x, mask):
        query, key, value = (
            project(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for project in (self.to_query, self.to_key, self.to_value)
        )  # each (batch, heads, time, d_head)
        found = scaled_dot_product_attention(query, key, value, mask)
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

    def forward(self, x, mask):
        x = x + self.attention(self.attention_norm(x), mask)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Classifier(nn.Module):
    """From words (batch, time) to the logits (batch, classes)."""

    def __init__(
        self, vocab_size, classes, d_model=48, heads=4, layers=2
    ):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        sizes = d_model, heads, 2 * d_model
        blocks = [TransformerBlock(*sizes) for _ in range(layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(d_model)
        self.to_logits = nn.Linear(d_model, classes)

    def forward(self, words):
        present = words != 0  # (batch, time), False at padding
        x = self.embed(words)  # (batch, time, d_model)
        rates = 10_000 ** (-torch.arange(0, x.shape[2], 2) / x.shape[2])
        angles = torch.outer(torch.arange(x.shape[1]), rates)
        positions = torch.stack([angles.sin(), angles.cos()], dim=-1)
        x = x + positions.flatten(1).to(x)  # (time, d_model), added
        for block in self.blocks:
            x = block(x, present[:, None, None])  # no key is padding
        x = self.norm(x) * present.unsqueeze(-1)  # nor is it averaged
        mean = x.sum(dim=1) / present.sum(dim=1, keepdim=True)
        return self.to_logits(mean)  # (batch, classes)


def draw_reviews(pairs, number):
    """Draw "A not B" and "not B but A": they praise if A does."""
    chosen = random.choices(pairs, k=number)
    drawn = [random.sample(pair, 2) for pair in chosen]
    labels = torch.tensor([int(a in PRAISE) for a, _ in drawn])
    forms = "{0} not {1} <pad>", "not {1} but {0}"
    texts = [random.choice(forms).format(*pair) for pair in drawn]
    words = [list(map(VOCABULARY.index, text.split())) for text in texts]
    return texts, torch.tensor(words), labels  # words: (number, 4)


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    pairs = random.sample([(a, b) for a in PRAISE for b in BLAME], 49)
    model = Classifier(len(VOCABULARY), classes=2)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        _, words, labels = draw_reviews(pairs[15:], 64)
        loss = cross_entropy(model(words), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    texts, words, labels = draw_reviews(pairs[:15], 500)
    answers = model(words).argmax(dim=-1)  # (500,)
    print(f"{texts[0]}: {'praise' if answers[0] else 'blame'}")
    print(f"{(answers == labels).sum()} of 500 with new pairs are right")
