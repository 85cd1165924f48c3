"""The Annotated Transformer (Rush, 2018): attention and LayerNorm written out, untied tables, no cache.

Its file is a notebook with imports for data and pictures, so only its definitions are executed.
"""

import copy
import math
from types import ModuleType

import torch
from torch import nn
from torch.nn import functional

from benchmarks.implementations import PADDING, START, Sizes, Translator, without_dropout
from benchmarks.peers import definitions

NAMES = """EncoderDecoder Generator clones Encoder LayerNorm SublayerConnection EncoderLayer Decoder DecoderLayer
subsequent_mask attention MultiHeadedAttention PositionwiseFeedForward Embeddings PositionalEncoding make_model"""


def encoder_decoder(sizes: Sizes) -> Translator:
    """Return its model; its own `greedy_decode` is for one sentence, so the loop here is ours."""
    project = ModuleType("the_annotated_transformer")
    project.__dict__.update(torch=torch, nn=nn, math=math, copy=copy, log_softmax=functional.log_softmax)
    definitions("annotated-transformer", "the_annotated_transformer.py", NAMES.split(), project)
    made = project.make_model(
        sizes.vocab, sizes.vocab, sizes.layers, sizes.width, sizes.hidden, sizes.heads, dropout=0.0
    )
    without_dropout(made)

    def hidden(source):
        return (source != PADDING).unsqueeze(-2)  # (batch, 1, n)

    def loss(source, words, targets):
        vectors = made(source, words, hidden(source), project.subsequent_mask(words.shape[1]))
        log_probabilities = made.generator(vectors)  # (batch, m, vocab)
        return functional.nll_loss(log_probabilities.transpose(1, 2), targets, ignore_index=PADDING)

    @torch.inference_mode()
    def write(source, length):
        memory = made.encode(source, hidden(source))  # (batch, n, width)
        words = torch.full((len(source), 1), START)  # (batch, 1)
        for _ in range(length):
            mask = project.subsequent_mask(words.shape[1])  # (1, time, time)
            vectors = made.decode(memory, hidden(source), words, mask)  # (batch, time, width)
            words = torch.cat([words, made.generator(vectors[:, -1:]).argmax(-1)], dim=1)
        return words[:, 1:]

    return Translator(made, loss, write)
