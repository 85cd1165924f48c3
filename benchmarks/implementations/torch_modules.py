"""Torch's own modules, with the least around them: a table, positions, an output that is the table again.

Learned positions for the language model, ReLU, normalisation first, biases: torch's defaults but for the order.
`nn.TransformerEncoder` and `nn.Transformer` have no cache; to write, they read everything anew.
"""

import torch
from torch import nn
from torch.nn import functional

from benchmarks.implementations import PADDING, START, Sizes, Trainable, Translator


def attention_layer(sizes: Sizes):
    """Return `nn.MultiheadAttention`, told that its mask is the causal one, and asked for no weights."""
    layer = nn.MultiheadAttention(sizes.width, sizes.heads, batch_first=True)
    causal = nn.Transformer.generate_square_subsequent_mask(sizes.context)  # (context, context)

    def attend(inputs: torch.Tensor) -> torch.Tensor:
        mask = causal[: inputs.shape[1], : inputs.shape[1]]  # (time, time)
        return layer(inputs, inputs, inputs, attn_mask=mask, is_causal=True, need_weights=False)[0]

    return attend


class EncoderModel(nn.Module):
    """A language model of `nn.TransformerEncoder`."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.table = nn.Embedding(sizes.vocab, sizes.width)
        nn.init.normal_(self.table.weight, std=0.02)  # as an output, torch's 1 would begin with a loss of 50
        self.positions = nn.Parameter(0.02 * torch.randn(sizes.context, sizes.width))
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(sizes.context))
        layer = nn.TransformerEncoderLayer(
            sizes.width, sizes.heads, sizes.hidden, dropout=0.0, batch_first=True, norm_first=True
        )
        self.stack = nn.TransformerEncoder(
            layer, sizes.layers, norm=nn.LayerNorm(sizes.width), enable_nested_tensor=False
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits (batch, time, vocab) of tokens (batch, time)."""
        time = tokens.shape[1]
        mask = self.mask[:time, :time]  # (time, time)
        vectors = self.table(tokens) + self.positions[:time]  # (batch, time, width)
        return self.stack(vectors, mask=mask, is_causal=True) @ self.table.weight.T  # (batch, time, vocab)


def language_model(sizes: Sizes) -> Trainable:
    """Return the language model with torch's loss."""
    made = EncoderModel(sizes)
    return Trainable(made, lambda tokens, targets: mean_loss(made(tokens), targets))


def mean_loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of targets (batch, time) that are no padding, under logits (batch, time, vocab)."""
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PADDING)


class FullModel(nn.Module):
    """An encoder and decoder of `nn.Transformer`; source and target share the table."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.table = nn.Embedding(sizes.vocab, sizes.width)
        nn.init.normal_(self.table.weight, std=0.02)
        self.register_buffer("positions", 0.02 * torch.randn(sizes.context, sizes.width))
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(sizes.context))
        self.both = nn.Transformer(
            sizes.width,
            sizes.heads,
            sizes.layers,
            sizes.layers,
            sizes.hidden,
            dropout=0.0,
            batch_first=True,
            norm_first=True,
        )
        self.both.encoder.enable_nested_tensor = False  # which is for normalisation after the sum

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return vectors (batch, time, width) of tokens (batch, time)."""
        return self.table(tokens) + self.positions[: tokens.shape[1]]

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        """Return the memory (batch, n, width) of source (batch, n)."""
        return self.both.encoder(self.embed(source), src_key_padding_mask=source == PADDING)

    def decode(self, words: torch.Tensor, memory: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        """Return vectors (batch, time, width) for words (batch, time)."""
        mask = self.mask[: words.shape[1], : words.shape[1]]  # (time, time)
        hidden = source == PADDING  # (batch, n)
        return self.both.decoder(
            self.embed(words), memory, tgt_mask=mask, memory_key_padding_mask=hidden, tgt_is_causal=True
        )

    def forward(self, source: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Return logits (batch, time, vocab)."""
        return self.decode(words, self.encode(source), source) @ self.table.weight.T


def encoder_decoder(sizes: Sizes) -> Translator:
    """Return the encoder and decoder with torch's loss, and a loop that writes."""
    made = FullModel(sizes)

    @torch.inference_mode()
    def write(source: torch.Tensor, length: int) -> torch.Tensor:
        memory = made.encode(source)  # (batch, n, width)
        words = torch.full((len(source), 1), START)  # (batch, 1)
        for _ in range(length):
            logits = made.decode(words, memory, source)[:, -1] @ made.table.weight.T  # (batch, vocab)
            words = torch.cat([words, logits.argmax(-1, keepdim=True)], dim=1)
        return words[:, 1:]

    return Translator(made, lambda source, words, targets: mean_loss(made(source, words), targets), write)
