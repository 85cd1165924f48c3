"""The block that transformers are stacked from: attention mixes positions, a small network works on each alone."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.cache import BlockCache
from course_lib.multi_head import MultiHeadAttention
from course_lib.normalisation import LayerNorm
from course_lib.shapes import check_shape


class FeedForward(nn.Module):
    """Work on each position alone: widen it, bend it, bring it back to its width.

    `activation` bends: by default it sets what is negative to 0, as in Vaswani et al. (2017); the models of Chapter 12
    take another one.

    >>> FeedForward(d_model=8, d_hidden=32)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(self, d_model: int, d_hidden: int, activation: Callable = torch.relu):
        super().__init__()
        self.activation = activation
        self.widen = nn.Linear(d_model, d_hidden)
        self.narrow = nn.Linear(d_hidden, d_model)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return outputs (..., d_model) of inputs (..., d_model)."""
        check_shape(inputs, "... d_model", "inputs", d_model=self.widen.in_features)
        hidden = self.activation(self.widen(inputs))  # (..., d_hidden)
        return self.narrow(hidden)  # (..., d_model)


class TransformerBlock(nn.Module):
    """Self-attention and a feed-forward network, each with a residual connection and a layer normalisation.

    `norm` says where the normalisation stands: "pre", before each sublayer, on the branch; "post", after the sum, on
    the road itself; None, nowhere. With `d_memory`, a sublayer between the two reads a memory of that width: the block
    of a decoder. `residual=False` takes the road away, the control of Chapter 8. In training, what each sublayer says
    loses the share `dropout` of its numbers. `activation` is that of the feed-forward network. After Vaswani et al.
    (2017), who normalise after the sum. Raises ValueError for another `norm`.

    >>> TransformerBlock(d_model=8, heads=2, d_hidden=32)(torch.zeros(3, 5, 8)).shape
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
        dropout: float = 0.0,
        activation: Callable = torch.relu,
    ):
        super().__init__()
        if norm not in ("pre", "post", None):
            raise ValueError(f'`norm` is {norm!r}, expected "pre", "post" or None')
        self.norm, self.residual = norm, residual
        self.attention = MultiHeadAttention(d_model, heads, attend=attend)
        self.attention_norm = self._normalisation(d_model)
        if d_memory is not None:
            self.cross_attention = MultiHeadAttention(d_model, heads, d_memory=d_memory)
            self.cross_attention_norm = self._normalisation(d_model)
        self.reads_memory = d_memory is not None
        self.feed_forward = FeedForward(d_model, d_hidden, activation)
        self.feed_forward_norm = self._normalisation(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        inputs: torch.Tensor,
        memory: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
        cache: BlockCache | None = None,
    ) -> torch.Tensor:
        """Return outputs (batch, time, d_model) of inputs (batch, time, d_model).

        `mask` broadcasts to (batch, time, time). A block of a decoder reads memory (batch, key, d_memory) through
        `memory_mask`, which broadcasts to (batch, time, key). With a `cache`, the inputs continue those that it has
        seen, which adds as many columns to the mask. Raises ValueError for a memory that nobody reads, or none where
        one is read.
        """
        if self.reads_memory and memory is None:
            raise ValueError("`memory` is None, expected a tensor: this block was made with `d_memory`")
        if not self.reads_memory and not (memory is None and memory_mask is None):
            raise ValueError("`memory` or `memory_mask` came, expected neither: this block was made without `d_memory`")
        own, of_memory = (None, None) if cache is None else (cache.own, cache.memory)
        vectors = self._step(inputs, lambda x: self.attention(x, mask=mask, cache=own)[0], self.attention_norm)
        if self.reads_memory:
            vectors = self._step(
                vectors, lambda x: self.cross_attention(x, memory, memory_mask, of_memory)[0], self.cross_attention_norm
            )
        return self._step(vectors, self.feed_forward, self.feed_forward_norm)

    def _step(self, vectors: torch.Tensor, sublayer: Callable, normalise: nn.Module) -> torch.Tensor:
        """Pass vectors (batch, time, d_model) through one sublayer, with its road and its normalisation."""
        change = self.dropout(sublayer(normalise(vectors) if self.norm == "pre" else vectors))  # (batch, time, d_model)
        result = vectors + change if self.residual else change  # (batch, time, d_model)
        return normalise(result) if self.norm == "post" else result

    def _normalisation(self, d_model: int) -> nn.Module:
        return nn.Identity() if self.norm is None else LayerNorm(d_model)
