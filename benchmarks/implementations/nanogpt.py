"""nanoGPT (Karpathy, 2022): learned positions, GELU, a table that is input and output, biases; no cache."""

from torch import nn

from benchmarks.implementations import Sizes, Trainable
from benchmarks.peers import module


def _configuration(sizes: Sizes):
    model = module("nanoGPT", "model")
    return model, model.GPTConfig(
        sizes.context, sizes.vocab, sizes.layers, sizes.heads, sizes.width, dropout=0.0, bias=True
    )


def attention_layer(sizes: Sizes) -> nn.Module:
    """Return its causal self-attention, which uses the fused kernel."""
    model, configuration = _configuration(sizes)
    return model.CausalSelfAttention(configuration)


def language_model(sizes: Sizes) -> Trainable:
    """Return its model, which computes its own loss."""
    model, configuration = _configuration(sizes)
    made = model.GPT(configuration)
    return Trainable(made, lambda tokens, targets: made(tokens, targets)[1])


def writer(sizes: Sizes):
    """Return its `generate`; with `top_k=1` it writes greedily."""
    model, configuration = _configuration(sizes)
    made = model.GPT(configuration).eval()
    return lambda prompt, length: made.generate(prompt, length, top_k=1)
