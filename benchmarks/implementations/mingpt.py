"""minGPT (Karpathy, 2020): learned positions, GELU in elementwise operations, attention written out, untied output."""

from torch import nn

from benchmarks.implementations import Sizes, Trainable
from benchmarks.peers import module


def _configuration(sizes: Sizes):
    model = module("minGPT", "mingpt.model")
    configuration = model.GPT.get_default_config()
    configuration.model_type = None
    configuration.n_layer, configuration.n_head, configuration.n_embd = sizes.layers, sizes.heads, sizes.width
    configuration.vocab_size, configuration.block_size = sizes.vocab, sizes.context
    configuration.embd_pdrop = configuration.resid_pdrop = configuration.attn_pdrop = 0.0
    return model, configuration


def attention_layer(sizes: Sizes) -> nn.Module:
    """Return its causal self-attention, which makes its weights."""
    model, configuration = _configuration(sizes)
    return model.CausalSelfAttention(configuration)


def language_model(sizes: Sizes) -> Trainable:
    """Return its model, which computes its own loss."""
    model, configuration = _configuration(sizes)
    made = model.GPT(configuration)
    return Trainable(made, lambda tokens, targets: made(tokens, targets)[1])


def writer(sizes: Sizes):
    """Return its `generate`, which reads everything anew."""
    model, configuration = _configuration(sizes)
    made = model.GPT(configuration).eval()
    return lambda prompt, length: made.generate(prompt, length)
