"""The transformer of 2017 (Chapter 9): an encoder and a decoder.

It learns to write rows of three to five digits backwards.
"""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, pad
from torch.nn.utils.rnn import pad_sequence

PADDING, START, END = 0, 1, 2  # the digit d is token 3 + d


class TokenEmbedding(nn.Module):
    """A row of a table for each token, and sinusoids for its position."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        table = torch.randn(vocab_size, d_model) * d_model**-0.5
        self.table = nn.Parameter(table)

    def forward(self, tokens):
        time, d_model = tokens.shape[1], self.table.shape[1]
        pairs = torch.arange(0, d_model, 2)  # (d_model / 2,)
        angles = torch.arange(time)[:, None] / 10_000 ** (pairs / d_model)
        codes = torch.stack([angles.sin(), angles.cos()], dim=-1)
        codes = codes.flatten(1).to(self.table)  # (time, d_model)
        return self.table[tokens] * d_model**0.5 + codes


class MultiHeadAttention(nn.Module):
    """Inputs (batch, m, d_model) read a memory (batch, n, d_model)."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def split(self, vectors):
        return vectors.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, inputs, memory, mask):
        # each (batch, heads, m or n, d_head)
        query = self.split(self.to_query(inputs))
        key = self.split(self.to_key(memory))
        value = self.split(self.to_value(memory))
        scores = query @ key.mT / query.shape[-1] ** 0.5
        hidden = ~mask.unsqueeze(-3)  # (..., 1, m, n), for all heads
        weights = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)
        found = weights @ value  # (batch, heads, m, d_head)
        return self.to_output(found.transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    """The block of the encoder; with a memory to read, of the decoder."""

    def __init__(self, d_model, heads, d_hidden, reads_memory=False):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, heads)
        self.attention_norm = nn.LayerNorm(d_model)
        if reads_memory:
            self.cross_attention = MultiHeadAttention(d_model, heads)
            self.cross_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_hidden),
            nn.ReLU(),
            nn.Linear(d_hidden, d_model),
        )
        self.feed_forward_norm = nn.LayerNorm(d_model)

    def forward(self, x, mask, memory=None, memory_mask=None):
        normed = self.attention_norm(x)  # (batch, time, d_model)
        x = x + self.attention(normed, normed, mask)
        if memory is not None:
            normed = self.cross_attention_norm(x)
            x = x + self.cross_attention(normed, memory, memory_mask)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Transformer(nn.Module):
    """Read a source (batch, n), write a target (batch, m)."""

    def __init__(self, vocab_size, d_model=64, heads=4, d_hidden=128):
        super().__init__()
        sizes = d_model, heads, d_hidden
        self.embed = TokenEmbedding(vocab_size, d_model)
        encoder = [TransformerBlock(*sizes) for _ in range(2)]
        decoder = [TransformerBlock(*sizes, True) for _ in range(2)]
        self.encoder = nn.ModuleList(encoder)
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder = nn.ModuleList(decoder)
        self.decoder_norm = nn.LayerNorm(d_model)

    def encode(self, source):
        mask = (source != PADDING).unsqueeze(1)  # (batch, 1, n)
        x = self.embed(source)  # (batch, n, d_model)
        for block in self.encoder:
            x = block(x, mask)  # (batch, n, d_model)
        return self.encoder_norm(x), mask

    def decode(self, given, memory, memory_mask):
        x = self.embed(given)  # (batch, m, d_model)
        m = given.shape[1]
        ones = torch.ones(m, m, dtype=torch.bool, device=given.device)
        causal = ones.tril()  # (m, m), True where a query may attend
        for block in self.decoder:
            x = block(x, causal, memory, memory_mask)
        return self.decoder_norm(x) @ self.embed.table.T  # the logits

    def forward(self, source, given):
        return self.decode(given, *self.encode(source))


@torch.no_grad()
def greedy_decode(model, source, longest):
    """Append the likeliest token, again and again, to the start token."""
    memory, mask = model.encode(source)  # once
    given = torch.full_like(source[:, :1], START)  # (batch, 1)
    for _ in range(longest):
        logits = model.decode(given, memory, mask)[:, -1]
        token = logits.argmax(dim=-1, keepdim=True)  # (batch, 1)
        ended = (given == END).any(dim=1, keepdim=True)  # (batch, 1)
        token = token.masked_fill(ended, PADDING)
        given = torch.cat([given, token], dim=1)  # (batch, time + 1)
    return given[:, 1:]


def draw_pairs(number):
    """Draw rows of digits and the same digits backwards, both padded."""
    lengths = torch.randint(3, 6, (number,)).tolist()
    rows = [torch.randint(3, 13, (length,)) for length in lengths]
    ends = [pad(row.flip(0), (0, 1), value=END) for row in rows]
    return pad_sequence(rows, True), pad_sequence(ends, True)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Transformer(vocab_size=13, d_model=32, d_hidden=64)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(300):
        source, target = draw_pairs(64)
        given = pad(target, (1, 0), value=START)[:, :-1]
        logits = model(source, given)  # (batch, m, vocab)
        loss = cross_entropy(logits.mT, target, ignore_index=PADDING)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    source, target = draw_pairs(500)
    written = greedy_decode(model, source, longest=6)
    for pair in zip(source[:3], written[:3], strict=True):
        print(
            " → ".join(str((row[row > 2] - 3).tolist()) for row in pair)
        )
    right = (written == target).all(dim=1).sum()
    print(f"{right} of 500 new rows are right")
