"""x-transformers (Wang): scaled learned positions, GELU, no biases in attention, untied output; the fused kernel."""

import torch
from torch import nn

from benchmarks.implementations import PADDING, START, Sizes, Trainable, Translator, without_dropout
from benchmarks.implementations.torch_modules import mean_loss
from benchmarks.peers import module


def _project():
    return module("x-transformers", "x_transformers")


def attention_layer(sizes: Sizes) -> nn.Module:
    """Return its attention with the fused kernel."""
    attention = module("x-transformers", "x_transformers.x_transformers").Attention
    return attention(sizes.width, dim_head=sizes.width // sizes.heads, heads=sizes.heads, causal=True, flash=True)


def _model(sizes: Sizes) -> nn.Module:
    project = _project()
    layers = project.Decoder(
        dim=sizes.width,
        depth=sizes.layers,
        heads=sizes.heads,
        attn_dim_head=sizes.width // sizes.heads,
        attn_flash=True,
        verbose=False,
    )
    return project.TransformerWrapper(num_tokens=sizes.vocab, max_seq_len=sizes.context, attn_layers=layers)


def language_model(sizes: Sizes) -> Trainable:
    """Return its decoder with torch's loss."""
    made = _model(sizes)
    return Trainable(made, lambda tokens, targets: mean_loss(made(tokens), targets))


def writer(sizes: Sizes):
    """Return its `generate` with the cache; a temperature of 0 is greedy."""
    wrapper = _project().AutoregressiveWrapper(_model(sizes)).eval()

    def write(prompt, length):
        return torch.cat([prompt, wrapper.generate(prompt, length, temperature=0.0, cache_kv=True)], dim=1)

    return write


def encoder_decoder(sizes: Sizes) -> Translator:
    """Return its encoder and decoder; the source's padding is hidden by its mask."""
    common = {"num_tokens": sizes.vocab, "max_seq_len": sizes.context, "depth": sizes.layers, "heads": sizes.heads}
    common |= {"attn_dim_head": sizes.width // sizes.heads, "attn_flash": True, "verbose": False}
    made = _project().XTransformer(
        dim=sizes.width,
        tie_token_emb=True,
        **{f"{part}_{name}": value for part in ("enc", "dec") for name, value in common.items()},
    )
    without_dropout(made)

    def loss(source, words, targets):
        # Its own loss shifts the target itself; here all get the same words and targets.
        present = source != PADDING  # (batch, n)
        memory = made.encoder(source, mask=present, return_embeddings=True)  # (batch, n, width)
        return mean_loss(made.decoder.net(words, context=memory, context_mask=present), targets)

    def write(source, length):
        start = torch.full((len(source), 1), START)  # (batch, 1)
        return made.generate(source, start, length, mask=source != PADDING, temperature=0.0)

    return Translator(made, loss, write)
