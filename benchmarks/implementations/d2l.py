"""Dive into Deep Learning (Zhang et al., 2020): normalisation after the sum, no biases in attention, untied tables.

Its package imports pictures and reinforcement learning, and its decoder stands in a chapter only, so definitions alone
are executed, from both. Its decoder keeps the inputs of each block and projects them anew for every word.
"""

import math
from types import ModuleType

import torch
from torch import nn

from benchmarks.implementations import PADDING, START, Sizes, Translator
from benchmarks.implementations.torch_modules import mean_loss
from benchmarks.peers import definitions

PACKAGE = """Encoder Decoder AttentionDecoder masked_softmax DotProductAttention MultiHeadAttention PositionalEncoding
PositionWiseFFN AddNorm TransformerEncoderBlock TransformerEncoder"""
CHAPTER = "chapter_attention-mechanisms-and-transformers/transformer.md"


def encoder_decoder(sizes: Sizes) -> Translator:
    """Return its encoder and decoder."""
    d2l = ModuleType("d2l")
    # Its `Module` adds plotting and saving to torch's; its other names for torch's functions are torch's.
    d2l.__dict__.update(torch=torch, nn=nn, math=math, d2l=d2l, Module=nn.Module)
    d2l.__dict__.update(zeros=torch.zeros, arange=torch.arange)
    definitions("d2l-en", "d2l/torch.py", PACKAGE.split(), d2l)
    definitions("d2l-en", CHAPTER, ["TransformerDecoderBlock", "TransformerDecoder"], d2l, fence="%%tab pytorch")
    shape = sizes.vocab, sizes.width, sizes.hidden, sizes.heads, sizes.layers, 0.0
    made = nn.ModuleList([d2l.TransformerEncoder(*shape), d2l.TransformerDecoder(*shape)])
    encoder, decoder = made

    def run(source, words):
        lengths = (source != PADDING).sum(1)  # (batch,)
        return decoder(words, decoder.init_state(encoder(source, lengths), lengths))[0]

    run(torch.ones(1, 2, dtype=torch.long), torch.ones(1, 2, dtype=torch.long))  # its layers learn their widths here

    @torch.inference_mode()
    def write(source, length):
        lengths = (source != PADDING).sum(1)  # (batch,)
        state = decoder.init_state(encoder(source, lengths), lengths)
        words = [torch.full((len(source), 1), START)]  # each (batch, 1)
        for _ in range(length):
            logits, state = decoder(words[-1], state)
            words.append(logits.argmax(-1))
        return torch.cat(words[1:], dim=1)

    return Translator(made, lambda source, words, targets: mean_loss(run(source, words), targets), write)
