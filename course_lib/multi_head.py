"""Many heads: attention several times at once, each head with a share of the width and reasons of its own."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.cache import KeyValueCache
from course_lib.fused_attention import fused_attention
from course_lib.masks import with_future_hidden
from course_lib.shapes import check_shape


def split_heads(vectors: torch.Tensor, heads: int) -> torch.Tensor:
    """Give each head its share of the width: (..., time, heads * d_head) becomes (..., heads, time, d_head).

    The first head gets the first d_head entries of every vector. Raises ValueError where the width does not divide.

    >>> split_heads(torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]]), heads=2)
    tensor([[[1, 2],
             [5, 6]],
    <BLANKLINE>
            [[3, 4],
             [7, 8]]])
    """
    if vectors.dim() < 2 or heads < 1 or vectors.shape[-1] % heads:
        raise ValueError(
            f"`vectors` has shape {tuple(vectors.shape)} and `heads` is {heads}, "
            "expected (..., time, width) and a number that divides the width"
        )
    side_by_side = vectors.unflatten(-1, (heads, -1))  # (..., time, heads, d_head)
    return side_by_side.transpose(-3, -2)  # (..., heads, time, d_head)


def merge_heads(vectors: torch.Tensor) -> torch.Tensor:
    """Put side by side what the heads found: (..., heads, time, d_head) becomes (..., time, heads * d_head).

    >>> merge_heads(split_heads(torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]]), heads=2))
    tensor([[1, 2, 3, 4],
            [5, 6, 7, 8]])
    """
    check_shape(vectors, "... heads time d_head", "vectors")
    return vectors.transpose(-3, -2).flatten(-2)  # (..., time, heads * d_head)


def repeat_heads(vectors: torch.Tensor, times: int) -> torch.Tensor:
    """Let each head serve a group of so many: (..., heads, time, d_head) becomes (..., heads * times, time, d_head).

    >>> repeat_heads(torch.tensor([[[1, 2]], [[3, 4]]]), times=2)
    tensor([[[1, 2]],
    <BLANKLINE>
            [[1, 2]],
    <BLANKLINE>
            [[3, 4]],
    <BLANKLINE>
            [[3, 4]]])
    """
    check_shape(vectors, "... heads time d_head", "vectors")
    return vectors.repeat_interleave(times, dim=-3)  # (..., heads * times, time, d_head)


class MultiHeadAttention(nn.Module):
    """Attention with several heads: each looks with its own weights, and a last linear map adds up what they found.

    Narrow heads (the default) share the width, d_head = d_model / heads, and their number changes neither parameters
    nor matrix products; wide ones have any other `d_head`. `d_memory` is the width of what is read where that is not
    the inputs and has another one. `attend` is what every head does with queries, keys and values (batch, heads, time,
    d_head). In self-attention, `rotate` may turn queries and keys before that, as `rotate_by_position` does. After
    Vaswani et al. (2017). Raises ValueError where d_model does not divide by the heads.

    With fewer `key_value_heads`, each key and value serves a group of neighbouring heads, and a cache holds only the
    few: grouped-query attention (Ainslie et al., 2023), with a single one multi-query attention (Shazeer, 2019).
    `normalise_heads` makes, for a width of d_head, the module that normalises queries, and the one that normalises
    keys, before they are turned, so that scores cannot grow without bound (Henry et al., 2020; Dehghani et al., 2023).
    Without `bias`, the four linear maps have none. Raises ValueError where the heads do not divide into groups.

    >>> attention = MultiHeadAttention(d_model=8, heads=2)
    >>> output, weights = attention(torch.zeros(3, 5, 8))
    >>> output.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    >>> key, value = MultiHeadAttention(d_model=8, heads=4, key_value_heads=1).project_memory(torch.zeros(3, 5, 8))
    >>> key.shape
    torch.Size([3, 1, 5, 2])
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_head: int | None = None,
        d_memory: int | None = None,
        attend: Callable = scaled_dot_product_attention,
        rotate: Callable | None = None,
        key_value_heads: int | None = None,
        normalise_heads: Callable[[int], nn.Module] | None = None,
        bias: bool = True,
    ):
        super().__init__()
        if heads < 1 or d_head is None and d_model % heads:
            raise ValueError(f"`heads` is {heads}, expected a number that divides `d_model` = {d_model}")
        d_head = d_model // heads if d_head is None else d_head
        d_memory = d_model if d_memory is None else d_memory
        key_value_heads = heads if key_value_heads is None else key_value_heads
        if key_value_heads < 1 or heads % key_value_heads:
            raise ValueError(
                f"`key_value_heads` is {key_value_heads}, expected a number that divides `heads` = {heads}"
            )
        self.heads, self.d_head, self.key_value_heads = heads, d_head, key_value_heads
        self.to_query = nn.Linear(d_model, heads * d_head, bias=bias)
        self.to_key = nn.Linear(d_memory, key_value_heads * d_head, bias=bias)
        self.to_value = nn.Linear(d_memory, key_value_heads * d_head, bias=bias)
        self.to_output = nn.Linear(heads * d_head, d_model, bias=bias)
        self.query_norm = None if normalise_heads is None else normalise_heads(d_head)
        self.key_norm = None if normalise_heads is None else normalise_heads(d_head)
        self.attend, self.rotate = attend, rotate

    def forward(
        self,
        inputs: torch.Tensor,
        memory: torch.Tensor | None = None,
        mask: torch.Tensor | None = None,
        cache: KeyValueCache | None = None,
        causal: bool = False,
        need_weights: bool = True,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Let inputs (batch, query, d_model) read memory (batch, key, d_memory): by default, themselves.

        Returns the output (batch, query, d_model) and the weights (batch, heads, query, key). `mask` broadcasts to
        (batch, query, key) and holds for all heads alike; `causal` hides the future as well. With a `cache`, inputs
        also read those that came before them, and keys and values of a memory are computed the first time only. Without
        `need_weights`, torch's fused kernel may do the work where it computes the same, and the weights may be None.
        """
        if cache is None:
            key, value = self.project_memory(inputs if memory is None else memory)
        elif memory is None:
            key, value = cache.append(*self.project_memory(inputs, start=cache.length))
        else:
            key, value = cache.contents if cache.length else cache.append(*self.project_memory(memory))
        return self.attend_to(inputs, key, value, mask, causal, need_weights)

    def project_memory(self, memory: torch.Tensor, start: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what queries need of memory (batch, key, d_memory): key and value, each (batch, heads, key, d_head).

        Their heads are the `key_value_heads`. They do not depend on who reads, so they may be kept and read again.
        `start` is the position of the first.
        """
        check_shape(memory, "batch key d_memory", "memory", d_memory=self.to_key.in_features)
        key, value = self.split(self.to_key(memory)), self.split(self.to_value(memory))  # (batch, heads, key, d_head)
        if self.key_norm is not None:
            key = self.key_norm(key)  # (batch, heads, key, d_head)
        return key if self.rotate is None else self.rotate(key, start), value

    def attend_to(
        self,
        inputs: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
        causal: bool = False,
        need_weights: bool = True,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Let inputs (batch, query, d_model) read keys and values of `project_memory`; return what `forward` does.

        Where positions count, the inputs are the last of those that the keys are made of.
        """
        check_shape(inputs, "batch query d_model", "inputs", d_model=self.to_query.in_features)
        query = self.split(self.to_query(inputs))  # (batch, heads, query, d_head)
        if self.query_norm is not None:
            query = self.query_norm(query)  # (batch, heads, query, d_head)
        if self.rotate is not None:
            query = self.rotate(query, key.shape[-2] - query.shape[-2])  # (batch, heads, query, d_head)
        if self.key_value_heads != self.heads:
            group = self.heads // self.key_value_heads
            key, value = repeat_heads(key, group), repeat_heads(value, group)  # (batch, heads, key, d_head)
        if mask is not None and mask.dim() > 2:
            mask = mask.unsqueeze(-3)  # (batch, 1, query, key): one mask for all heads
        if self.attend is scaled_dot_product_attention and not need_weights:
            # The fused kernel computes this one function, without its weights; any other `attend` must be called.
            found = fused_attention(query, key, value, mask, causal)  # (batch, heads, query, d_head)
            weights = None
        else:
            if causal:
                mask = with_future_hidden(mask, query.shape[-2], key.shape[-2], query.device)  # (..., query, key)
            found, weights = self.attend(query, key, value, mask)  # (batch, heads, query, d_head)
        return self.read_out(found, inputs), weights

    def read_out(self, found: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Return the output (batch, query, d_model) of what heads found for the inputs: (batch, heads, query, d_head).

        A subclass may look at the inputs (batch, query, d_model) once more.
        """
        return self.to_output(self.merge(found))

    def split(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return vectors (batch, time, heads * d_head) as (batch, heads, time, d_head); a subclass may do it itself."""
        return split_heads(vectors, vectors.shape[-1] // self.d_head)

    def merge(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return vectors (batch, heads, time, d_head) as (batch, time, heads * d_head)."""
        return merge_heads(vectors)
