"""Looking inside a model while it runs."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from course_lib.multi_head import MultiHeadAttention


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, torch.Tensor]]:
    """Record the weights of every multi-head attention that runs inside the `with`, under the name of its module.

    The weights are (batch, heads, query, key), without gradient; of a module that runs twice, the last ones stay.

    >>> attention = nn.Sequential(MultiHeadAttention(d_model=8, heads=2))
    >>> with record_attention(attention) as maps:
    ...     _ = attention(torch.zeros(1, 3, 8))
    >>> {name: weights.shape for name, weights in maps.items()}
    {'0': torch.Size([1, 2, 3, 3])}
    """
    maps: dict[str, torch.Tensor] = {}

    def recorder(name: str):
        def record(module: nn.Module, inputs: tuple, outputs: tuple[torch.Tensor, torch.Tensor]) -> None:
            maps[name] = outputs[1].detach()

        return record

    hooks = [
        module.register_forward_hook(recorder(name))
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    ]
    try:
        yield maps
    finally:
        for hook in hooks:
            hook.remove()
