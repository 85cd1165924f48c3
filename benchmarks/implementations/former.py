"""former (Bloem, 2019): learned positions, ReLU, normalisation after the sum, attention written out, untied output."""

from torch.nn import functional

from benchmarks.implementations import Sizes, Trainable
from benchmarks.peers import module


def attention_layer(sizes: Sizes):
    """Return its self-attention, which masks in place."""
    return module("former", "former").SelfAttention(sizes.width, heads=sizes.heads, mask=True)


def language_model(sizes: Sizes) -> Trainable:
    """Return its model, which gives log probabilities."""
    made = module("former", "former").GTransformer(sizes.width, sizes.heads, sizes.layers, sizes.context, sizes.vocab)
    return Trainable(made, lambda tokens, targets: functional.nll_loss(made(tokens).transpose(1, 2), targets))
