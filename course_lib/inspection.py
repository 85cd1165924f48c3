"""Looking inside a model while it runs."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from course_lib.models.attention_only import AttentionOnly
from course_lib.models.language_model import LanguageModel
from course_lib.multi_head import MultiHeadAttention
from course_lib.shapes import check_shape


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, torch.Tensor]]:
    """Record the weights of every multi-head attention that runs inside the `with`, under the name of its module.

    The weights are (batch, heads, query, key), without gradient; of a module that runs twice, the last ones stay. They
    are asked for meanwhile, so that no fused kernel keeps them to itself.

    >>> attention = nn.Sequential(MultiHeadAttention(d_model=8, heads=2))
    >>> with record_attention(attention) as maps:
    ...     _ = attention(torch.zeros(1, 3, 8))
    >>> {name: weights.shape for name, weights in maps.items()}
    {'0': torch.Size([1, 2, 3, 3])}
    """
    maps: dict[str, torch.Tensor] = {}

    def ask_for_weights(module: nn.Module, inputs: tuple, named: dict) -> tuple[tuple, dict]:
        return inputs, named | {"need_weights": True}

    def recorder(name: str):
        def record(module: nn.Module, inputs: tuple, outputs: tuple[torch.Tensor, torch.Tensor]) -> None:
            maps[name] = outputs[1].detach()

        return record

    hooks = []
    for name, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):
            hooks.append(module.register_forward_pre_hook(ask_for_weights, with_kwargs=True))
            hooks.append(module.register_forward_hook(recorder(name)))
    try:
        yield maps
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def ablate_heads(model: nn.Module, heads: Mapping[str, Sequence[int]]) -> Iterator[None]:
    """Silence heads inside the `with`: what they found is replaced by 0 before the output layer of their attention.

    `heads` maps the name of an attention to the numbers of its heads. Raises ValueError for a name that is no
    multi-head attention of the model, or a head that it has not.

    >>> attention = nn.Sequential(MultiHeadAttention(d_model=8, heads=2))
    >>> inputs = torch.randn(1, 3, 8)
    >>> with ablate_heads(attention, {"0": [0, 1]}):
    ...     output, _ = attention(inputs)
    >>> torch.equal(output, attention[0].to_output.bias.expand(1, 3, 8))
    True
    """
    modules = {name: each for name, each in model.named_modules() if isinstance(each, MultiHeadAttention)}
    for name, numbers in heads.items():
        if name not in modules:
            raise ValueError(f"`heads` names {name!r}, expected one of {', '.join(modules) or 'none: no attention'}")
        if not set(numbers) <= set(range(modules[name].heads)):
            raise ValueError(f"`heads` of {name!r} is {list(numbers)}, expected numbers below {modules[name].heads}")

    def silencer(numbers: Sequence[int], d_head: int):
        def silence(module: nn.Module, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            found = inputs[0].unflatten(-1, (-1, d_head)).clone()  # (batch, query, heads, d_head)
            found[:, :, list(numbers)] = 0
            return (found.flatten(-2),)  # (batch, query, heads * d_head)

        return silence

    hooks = [
        modules[name].to_output.register_forward_pre_hook(silencer(numbers, modules[name].d_head))
        for name, numbers in heads.items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def induction_score(weights: torch.Tensor, periods: torch.Tensor) -> torch.Tensor:
    """Return how much of its weight each head gives to the token that followed its own one period ago: (heads,).

    In row i of weights (batch, heads, time, time), a segment of `periods` (batch,) tokens is repeated. Position t saw
    its own token at t - period, and what followed it at t - period + 1: the score is the mean of the weights from every
    position that has a period before it to that one. After Olsson et al. (2022). Raises ValueError for periods that are
    not from 1 to time - 1.

    >>> perfect = torch.eye(6).roll(3, dims=0).view(1, 1, 6, 6)  # position t reads position t - 3
    >>> induction_score(perfect, periods=torch.tensor([4]))
    tensor([1.])
    """
    sizes = check_shape(weights, "batch heads time time", "weights")
    check_shape(periods, "batch", "periods", batch=sizes["batch"])
    if ((periods < 1) | (periods >= sizes["time"])).any():
        raise ValueError(f"`periods` is {periods.tolist()}, expected numbers from 1 to {sizes['time'] - 1}")
    positions = torch.arange(sizes["time"], device=weights.device)  # (time,)
    repeats = positions >= periods[:, None]  # (batch, time)
    sources = (positions - periods[:, None] + 1).clamp(min=0)  # (batch, time)
    index = sources[:, None, :, None].expand(-1, sizes["heads"], -1, 1)  # (batch, heads, time, 1)
    given = weights.gather(-1, index).squeeze(-1)  # (batch, heads, time)
    return (given * repeats[:, None]).sum(dim=(0, 2)) / repeats.sum()  # (heads,)


def previous_token_score(weights: torch.Tensor) -> torch.Tensor:
    """Return how much of its weight each head gives to the position before: (heads,), the mean over all but the first.

    `weights` is (batch, heads, time, time).

    >>> previous_token_score(torch.eye(4).roll(1, dims=0).view(1, 1, 4, 4))
    tensor([1.])
    """
    check_shape(weights, "batch heads time time", "weights")
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=(0, 2))  # (heads,)


@torch.no_grad()
def logit_lens(model: AttentionOnly | LanguageModel, tokens: torch.Tensor) -> torch.Tensor:
    """Return what the output layer would say before the first layer and after each one, had they been the last.

    For tokens (batch, time) the logits are (layers + 1, batch, time, vocab), of which the last are the model's
    own. The name is by nostalgebraist (2020), who looked at GPT-2 in this way.

    >>> model, tokens = AttentionOnly(vocab_size=7, max_length=9), torch.zeros(1, 5, dtype=torch.long)
    >>> logits = logit_lens(model, tokens)
    >>> logits.shape, torch.equal(logits[-1], model(tokens))
    (torch.Size([3, 1, 5, 7]), True)
    """
    return model.to_logits(model.stream(tokens))  # (layers + 1, batch, time, vocab)
