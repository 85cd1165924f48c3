"""LLMs-from-scratch (Raschka, 2024): learned positions, GELU and LayerNorm in elementwise operations, untied output.

The file of its chapter on caches, the optimised one, whose caches are made once; in its package, the cached GPT-2 masks
the wrong columns and stops. The file imports a tokeniser, so only its definitions are executed.
"""

from types import ModuleType

import torch
from torch import nn

from benchmarks.implementations import Sizes, Trainable
from benchmarks.implementations.torch_modules import mean_loss
from benchmarks.peers import definitions

FILE = "ch04/03_kv-cache/gpt_with_kv_cache_optimized.py"
NAMES = "MultiHeadAttention LayerNorm GELU FeedForward TransformerBlock GPTModel generate_text_simple_cached"


def _project(sizes: Sizes) -> tuple[ModuleType, nn.Module]:
    """Return its definitions and its model."""
    project = ModuleType("gpt_with_kv_cache_optimized")
    project.__dict__.update(torch=torch, nn=nn)
    definitions("LLMs-from-scratch", FILE, NAMES.split(), project)
    return project, project.GPTModel(
        {
            "vocab_size": sizes.vocab,
            "context_length": sizes.context,
            "emb_dim": sizes.width,
            "n_heads": sizes.heads,
            "n_layers": sizes.layers,
            "drop_rate": 0.0,
            "qkv_bias": True,
            "kv_window_size": sizes.context,
        }
    )


def language_model(sizes: Sizes) -> Trainable:
    """Return its model with torch's loss."""
    made = _project(sizes)[1]
    return Trainable(made, lambda tokens, targets: mean_loss(made(tokens), targets))


def writer(sizes: Sizes):
    """Return its own loop with the cache."""
    project, made = _project(sizes)
    return lambda prompt, length: project.generate_text_simple_cached(made, prompt, length)
