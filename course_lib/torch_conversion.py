"""The same layers in torch's own classes: our parameters copied into theirs, and theirs into ours.

Both compute the same, so that a pretrained module can be read with this course's code, and ours can be checked.
"""

from collections.abc import Iterable, Iterator
from functools import partial, singledispatch

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import FeedForward, TransformerBlock
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm


@singledispatch
def to_torch(ours: nn.Module) -> nn.Module:
    """Return a module of torch with copies of our parameters, which takes (batch, time, d_model) as ours does.

    `MultiHeadAttention` becomes `nn.MultiheadAttention`; `TransformerBlock` becomes `nn.TransformerEncoderLayer`, or
    `nn.TransformerDecoderLayer` if it reads a memory. Raises TypeError for any other module, and ValueError for what
    torch's classes cannot be: heads wider or narrower than d_model / heads, heads that share keys and values or
    normalise them, maps without biases, an `attend` of another kind, a block without residual or normalisation, one
    whose memory has another width, or one with parts of another kind.

    >>> ours = TransformerBlock(d_model=8, heads=2, d_hidden=16, norm="post")
    >>> inputs = torch.randn(3, 5, 8)
    >>> torch.allclose(to_torch(ours)(inputs), ours(inputs), atol=1e-6)
    True
    """
    raise TypeError(f"there is no counterpart in torch of {type(ours).__name__}")


@singledispatch
def from_torch(theirs: nn.Module) -> nn.Module:
    """Return our module with copies of the parameters of torch's: the way back of `to_torch`.

    Raises TypeError for a class that `to_torch` does not return, and ValueError for a module with something that ours
    has not: no biases, `add_bias_kv`, `add_zero_attn`, keys and values of different widths, or dropout while it is in
    training mode (`.eval()` switches that off).

    >>> theirs = nn.MultiheadAttention(8, num_heads=2, batch_first=True)
    >>> inputs = torch.randn(3, 5, 8)
    >>> output, _ = from_torch(theirs)(inputs)
    >>> torch.allclose(theirs(inputs, inputs, inputs)[0], output, atol=1e-6)
    True
    """
    raise TypeError(f"there is no counterpart in course_lib of {type(theirs).__name__}")


@to_torch.register
def _(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    d_model, d_memory = ours.to_query.in_features, ours.to_key.in_features
    _refuse(type(ours) is not MultiHeadAttention, f"what {type(ours).__name__} does more than MultiHeadAttention")
    _refuse(ours.heads * ours.d_head != d_model, f"{ours.heads} heads of {ours.d_head} in a d_model of {d_model}")
    _refuse(ours.attend is not scaled_dot_product_attention, f"`attend` = {ours.attend}")
    _refuse(ours.rotate is not None, f"`rotate` = {ours.rotate}")
    _refuse(ours.key_value_heads != ours.heads, f"{ours.key_value_heads} keys and values for {ours.heads} heads")
    _refuse(ours.query_norm is not None, f"queries and keys normalised by {ours.query_norm}")
    _refuse(ours.to_output.bias is None, "no biases")
    theirs = _like(ours, nn.MultiheadAttention(d_model, ours.heads, kdim=d_memory, vdim=d_memory, batch_first=True))
    _copy((counterpart, mine) for mine, counterpart in _attention_pairs(ours, theirs))
    return theirs


@from_torch.register
def _(theirs: nn.MultiheadAttention) -> MultiHeadAttention:
    _refuse(theirs.in_proj_bias is None, "no biases")
    _refuse(theirs.bias_k is not None, "`add_bias_kv`")
    _refuse(theirs.add_zero_attn, "`add_zero_attn`")
    _refuse(theirs.kdim != theirs.vdim, f"keys of width {theirs.kdim} and values of width {theirs.vdim}")
    _refuse(theirs.training and theirs.dropout > 0, f"dropout {theirs.dropout}: call .eval() first")
    ours = _like(theirs, MultiHeadAttention(theirs.embed_dim, theirs.num_heads, d_memory=theirs.kdim))
    _copy(_attention_pairs(ours, theirs))
    return ours


@to_torch.register
def _(ours: TransformerBlock) -> nn.TransformerEncoderLayer | nn.TransformerDecoderLayer:
    _refuse(not ours.residual, "no residual connection")
    _refuse(ours.norm is None, "no normalisation")
    for part, kind in ((ours.attention_norm, LayerNorm), (ours.feed_forward, FeedForward)):
        _refuse(not isinstance(part, kind), f"{type(part).__name__} in the place of {kind.__name__}")
    d_model = ours.feed_forward.expand.in_features
    if ours.reads_memory:
        d_memory = ours.cross_attention.to_key.in_features
        _refuse(d_memory != d_model, f"a memory of width {d_memory} beside a d_model of {d_model}")
    to_torch(ours.attention)  # refuses what torch's attention cannot be
    kind = nn.TransformerDecoderLayer if ours.reads_memory else nn.TransformerEncoderLayer
    theirs = kind(
        d_model,
        ours.attention.heads,
        dim_feedforward=ours.feed_forward.expand.out_features,
        dropout=0.0,
        activation=ours.feed_forward.activation,
        layer_norm_eps=ours.attention_norm.epsilon,
        batch_first=True,
        norm_first=ours.norm == "pre",
    )
    theirs = _like(ours, theirs)
    _copy((counterpart, mine) for mine, counterpart in _block_pairs(ours, theirs))
    return theirs


@from_torch.register(nn.TransformerEncoderLayer)
@from_torch.register(nn.TransformerDecoderLayer)
def _(theirs: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> TransformerBlock:
    _refuse(theirs.linear1.bias is None, "no biases")
    _refuse(theirs.training and theirs.dropout.p > 0, f"dropout {theirs.dropout.p}: call .eval() first")
    d_model = theirs.linear1.in_features
    ours = TransformerBlock(
        d_model,
        theirs.self_attn.num_heads,
        d_hidden=theirs.linear1.out_features,
        norm="pre" if theirs.norm_first else "post",
        d_memory=d_model if isinstance(theirs, nn.TransformerDecoderLayer) else None,
        make_feed_forward=partial(FeedForward, activation=theirs.activation),
    )
    for each in ours.children():
        if isinstance(each, LayerNorm):
            each.epsilon = theirs.norm1.eps
    ours = _like(theirs, ours)
    _copy(_block_pairs(ours, theirs))
    return ours


def _attention_pairs(
    ours: MultiHeadAttention, theirs: nn.MultiheadAttention
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield every parameter of ours with its counterpart: a parameter of torch's, or the part of one that it fills."""
    if theirs.in_proj_weight is None:  # the memory has a width of its own: three matrices instead of one
        weights = theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight
    else:
        weights = theirs.in_proj_weight.chunk(3)  # queries, keys and values on top of each other
    projections = ours.to_query, ours.to_key, ours.to_value
    for projection, weight, bias in zip(projections, weights, theirs.in_proj_bias.chunk(3), strict=True):
        yield from ((projection.weight, weight), (projection.bias, bias))
    yield from _linear_pairs(ours.to_output, theirs.out_proj)


def _block_pairs(ours: TransformerBlock, theirs: nn.Module) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield every parameter of a block with its counterpart in torch's layer of an encoder or a decoder."""
    yield from _attention_pairs(ours.attention, theirs.self_attn)
    norms = [ours.attention_norm, ours.feed_forward_norm]
    if ours.reads_memory:
        yield from _attention_pairs(ours.cross_attention, theirs.multihead_attn)
        norms.insert(1, ours.cross_attention_norm)
    yield from _linear_pairs(ours.feed_forward.expand, theirs.linear1)
    yield from _linear_pairs(ours.feed_forward.contract, theirs.linear2)
    for number, norm in enumerate(norms, start=1):  # torch numbers them in the order of their sublayers
        counterpart = getattr(theirs, f"norm{number}")
        yield from ((norm.gain, counterpart.weight), (norm.bias, counterpart.bias))


def _linear_pairs(ours: nn.Linear, theirs: nn.Linear) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    yield from ((ours.weight, theirs.weight), (ours.bias, theirs.bias))


@torch.no_grad()
def _copy(pairs: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Write into the first tensor of each pair what the second holds."""
    for target, source in pairs:
        target.copy_(source)


def _like(source: nn.Module, module: nn.Module) -> nn.Module:
    """Bring `module` to the type of numbers, the device and the mode (training or not) of `source`."""
    parameter = next(source.parameters())
    return module.to(parameter).train(source.training)


def _refuse(condition: bool, what: str) -> None:
    if condition:
        raise ValueError(f"the module cannot be converted, its counterpart has no place for this: {what}")
