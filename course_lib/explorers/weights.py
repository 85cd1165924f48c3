"""The weights of a trained model as a page can hold them, for the live models of book/_static/forward_pass.js."""

from base64 import b64encode
from collections.abc import Callable, Mapping

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import FeedForward, TransformerBlock
from course_lib.embedding import TokenEmbedding
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm


def packed(tensors: Mapping[str, torch.Tensor]) -> dict[str, dict]:
    """Return each tensor as its shape and its numbers in 16 bits each, in base 64.

    Numbers that float16 holds exactly, as those of the models that come with the course, stay what they are ("half").
    Others become whole numbers ("whole") times a unit: at the same size, floating-point numbers would be several times
    less exact.

    >>> packed({"norm.gain": torch.tensor([1.0, -0.5])})
    {'norm.gain': {'shape': [2], 'half': 'ADwAuA=='}}
    >>> packed({"norm.bias": torch.tensor([0.3, -0.1])})["norm.bias"]["whole"]
    '/39W1Q=='
    """
    return {name: _packed(tensor.detach().double().cpu()) for name, tensor in tensors.items()}


def check_parts(model: nn.Module, rotate: Callable | None = None) -> None:
    """Raise ValueError for a model with a part that forward_pass.js does not compute, and name the first of them.

    It computes blocks that normalise first, by LayerNorm, with ReLU, scaled dot products, and keys and values of its
    own for each head. `rotate` is how queries and keys are turned in the page, if they are.

    >>> check_parts(nn.Sequential(LayerNorm(d_model=8), nn.GELU()))
    Traceback (most recent call last):
    ValueError: `model` has a part that forward_pass.js does not compute: 1, a module GELU of these settings
    """
    for name, part in list(model.named_modules())[1:]:  # the first is the model itself
        if not _computed(part, rotate):
            kind = type(part).__name__
            raise ValueError(
                f"`model` has a part that forward_pass.js does not compute: {name}, a module {kind} of these settings"
            )


def _computed(part: nn.Module, rotate: Callable | None) -> bool:
    """Return whether forward_pass.js computes what this module does, apart from the modules within it."""
    kind = type(part)  # a subclass may compute anything
    if kind is TransformerBlock:
        return part.norm == "pre" and part.residual
    if kind is MultiHeadAttention:
        plain = part.query_norm is None and part.key_value_heads == part.heads
        return plain and part.attend is scaled_dot_product_attention and part.rotate is rotate
    if kind is FeedForward:
        return part.activation is torch.relu
    if kind is LayerNorm:
        return part.epsilon == 1e-5
    return kind in (nn.ModuleList, nn.Linear, nn.Embedding, TokenEmbedding, nn.Dropout)


def _packed(tensor: torch.Tensor) -> dict:
    half = tensor.half()
    if torch.equal(half.double(), tensor):
        return {"shape": list(tensor.shape), "half": _in_base_64(half, "<f2")}
    unit = tensor.abs().max().item() / 32_767
    return {"shape": list(tensor.shape), "unit": unit, "whole": _in_base_64((tensor / unit).round().short(), "<i2")}


def _in_base_64(tensor: torch.Tensor, kind: str) -> str:
    return b64encode(tensor.contiguous().numpy().astype(kind).tobytes()).decode()
