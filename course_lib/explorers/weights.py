"""The weights of a trained model as a page can hold them, for the live models of book/_static/forward_pass.js."""

from base64 import b64encode
from collections.abc import Mapping

import torch


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


def _packed(tensor: torch.Tensor) -> dict:
    half = tensor.half()
    if torch.equal(half.double(), tensor):
        return {"shape": list(tensor.shape), "half": _in_base_64(half, "<f2")}
    unit = tensor.abs().max().item() / 32_767
    return {"shape": list(tensor.shape), "unit": unit, "whole": _in_base_64((tensor / unit).round().short(), "<i2")}


def _in_base_64(tensor: torch.Tensor, kind: str) -> str:
    return b64encode(tensor.contiguous().numpy().astype(kind).tobytes()).decode()
