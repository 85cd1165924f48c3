"""The block that transformers are stacked from: attention mixes positions, a small network works on each alone."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from course_lib.attention import scaled_dot_product_attention
from course_lib.cache import BlockCache
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm
from course_lib.shapes import check_shape


class FeedForward(nn.Module):
    """Work on each position alone: expand it, apply a nonlinearity, contract it to its old width.

    `activation` is the nonlinearity: by default ReLU, as in Vaswani et al. (2017); the models of Chapter 12 take
    another one.

    >>> FeedForward(d_model=8, d_hidden=32)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, d_model: int, d_hidden: int, activation: Callable = torch.relu):
        super().__init__()
        self.activation = activation
        self.expand = nn.Linear(d_model, d_hidden)
        self.contract = nn.Linear(d_hidden, d_model)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return outputs (..., d_model) of inputs (..., d_model)."""
        check_shape(inputs, "... d_model", "inputs", d_model=self.expand.in_features)
        hidden = self.activation(self.expand(inputs))  # (..., d_hidden)
        return self.contract(hidden)  # (..., d_model)


class SwiGLU(nn.Module):
    """Work on each position alone, as `FeedForward` does, with a gate: a factor for each entry of what is expanded.

    The gate is a linear map and SiLU(x) = x · sigmoid(x): nearly 0 for x far below 0, nearly x for x far above. There
    are no biases. These are three matrices where `FeedForward` has two: `gated_d_hidden` says which width gives as many
    weights. After Shazeer (2020).

    >>> SwiGLU(d_model=8, d_hidden=21)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, d_model: int, d_hidden: int):
        super().__init__()
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.expand = nn.Linear(d_model, d_hidden, bias=False)
        self.contract = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return outputs (..., d_model) of inputs (..., d_model)."""
        check_shape(inputs, "... d_model", "inputs", d_model=self.expand.in_features)
        hidden = functional.silu(self.gate(inputs)) * self.expand(inputs)  # (..., d_hidden)
        return self.contract(hidden)  # (..., d_model)


def gated_d_hidden(d_hidden: int) -> int:
    """Return the `d_hidden` at which a SwiGLU has as many weights as a FeedForward with this one: two thirds of it.

    Biases are not counted, and the result is rounded to the nearest whole number. For a FeedForward of four times
    d_model it is 8/3 of d_model.

    >>> gated_d_hidden(4 * 96)
    256
    """
    return round(2 * d_hidden / 3)


class Block(nn.Module):
    """What every transformer block does with its sublayers, each with a skip connection and a normalisation.

    A subclass makes the sublayers: `attention`, `cross_attention` (None where no memory is read) and `feed_forward`,
    for each of them a normalisation, `attention_norm` and so on, and `dropout`, for what each sublayer adds. `norm` and
    `residual` are as in `TransformerBlock`.
    """

    norm: str | None = "pre"
    residual = True

    def steps(
        self,
        inputs: torch.Tensor,
        memory: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
        cache: BlockCache | None = None,
        causal: bool = False,
        need_weights: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return outputs (batch, time, d_model) and, where they are needed, the weights with which a memory was read.

        The arguments are those of `TransformerBlock.forward`.
        """
        own, of_memory = (None, None) if cache is None else (cache.own, cache.memory)
        branch = self._before(inputs, self.attention_norm)  # (batch, time, d_model), as everything here but weights
        change, _ = self.attention(branch, mask=mask, cache=own, causal=causal, need_weights=False)
        vectors, weights = self._after(inputs, change, self.attention_norm), None
        if self.cross_attention is not None:
            branch = self._before(vectors, self.cross_attention_norm)
            change, weights = self.cross_attention(
                branch, memory, mask=memory_mask, cache=of_memory, need_weights=need_weights
            )
            vectors = self._after(vectors, change, self.cross_attention_norm)
        change = self.feed_forward(inputs=self._before(vectors, self.feed_forward_norm))
        return self._after(vectors, change, self.feed_forward_norm), weights

    def _before(self, vectors: torch.Tensor, normalise: nn.Module) -> torch.Tensor:
        """Return what a sublayer gets of vectors (batch, time, d_model)."""
        return normalise(vectors) if self.norm == "pre" else vectors

    def _after(self, vectors: torch.Tensor, change: torch.Tensor, normalise: nn.Module) -> torch.Tensor:
        """Return vectors (batch, time, d_model) with the change (batch, time, d_model) that a sublayer makes."""
        if self.dropout.training:  # in evaluation it changes nothing, and its call takes time
            change = self.dropout(change)
        result = vectors + change if self.residual else change
        return normalise(result) if self.norm == "post" else result


class TransformerBlock(Block):
    """Self-attention and a feed-forward network, each with a skip connection and a normalisation.

    `norm` says where the normalisation stands: "pre", before each sublayer, on the branch; "post", after the sum, on
    the residual stream itself; None, nowhere. With `d_memory`, a sublayer between the two reads a memory of that width:
    the block of a decoder. `residual=False` takes the skip connections away, the control of Chapter 8. In training,
    each number that a sublayer adds is set to 0 with the probability `dropout`. `attend` and `rotate` are
    for self-attention, `attend_memory` for the memory. After Vaswani et al. (2017), who normalise after the sum. Raises
    ValueError for another `norm`.

    The last arguments make the parts, so that each may be exchanged: `make_norm(d_model)`, `make_feed_forward(d_model,
    d_hidden)`, and `make_attention(d_model, heads, ...)`, which is told `attend`, `rotate` and `d_memory` by name, each
    only where it is given here. What else a part is told, `functools.partial` tells it.

    >>> TransformerBlock(d_model=8, heads=2, d_hidden=32)(torch.zeros(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    >>> TransformerBlock(d_model=8, heads=2, d_hidden=21, make_feed_forward=SwiGLU)(torch.zeros(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_hidden: int,
        norm: str | None = "pre",
        residual: bool = True,
        d_memory: int | None = None,
        attend: Callable = scaled_dot_product_attention,
        attend_memory: Callable = scaled_dot_product_attention,
        dropout: float = 0.0,
        rotate: Callable | None = None,
        make_norm: Callable[[int], nn.Module] = LayerNorm,
        make_attention: Callable[..., nn.Module] = MultiHeadAttention,
        make_feed_forward: Callable[[int, int], nn.Module] = FeedForward,
    ):
        super().__init__()
        if norm not in ("pre", "post", None):
            raise ValueError(f'`norm` is {norm!r}, expected "pre", "post" or None')
        self.norm, self.residual = norm, residual
        make_norm = nn.Identity if norm is None else make_norm
        turning = {} if rotate is None else {"rotate": rotate}
        self.attention = make_attention(d_model, heads, **_attending(attend), **turning)
        self.attention_norm = make_norm(d_model)
        self.cross_attention = None
        if d_memory is not None:
            self.cross_attention = make_attention(d_model, heads, d_memory=d_memory, **_attending(attend_memory))
            self.cross_attention_norm = make_norm(d_model)
        self.feed_forward = make_feed_forward(d_model, d_hidden)
        self.feed_forward_norm = make_norm(d_model)
        self.dropout = nn.Dropout(dropout)

    @property
    def reads_memory(self) -> bool:
        """Whether this is the block of a decoder."""
        return self.cross_attention is not None

    def forward(
        self,
        inputs: torch.Tensor,
        memory: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
        cache: BlockCache | None = None,
        causal: bool = False,
    ) -> torch.Tensor:
        """Return outputs (batch, time, d_model) of inputs (batch, time, d_model).

        `mask` broadcasts to (batch, time, time); `causal` hides the future as well. A block of a decoder reads memory
        (batch, key, d_memory) through `memory_mask`, which broadcasts to (batch, time, key). With a `cache`, the inputs
        continue those that it has seen, which adds as many columns to the mask. Raises ValueError for a memory that
        nobody reads, or none where one is read.
        """
        if self.reads_memory and memory is None:
            raise ValueError("`memory` is None, expected a tensor: this block was made with `d_memory`")
        if not self.reads_memory and not (memory is None and memory_mask is None):
            raise ValueError("`memory` or `memory_mask` came, expected neither: this block was made without `d_memory`")
        return self.steps(inputs, memory, mask, memory_mask, cache, causal)[0]


def _attending(attend: Callable) -> dict[str, Callable]:
    """Return `attend` by name if it is not the usual one, since not every attention can be told which it is to be."""
    return {} if attend is scaled_dot_product_attention else {"attend": attend}
