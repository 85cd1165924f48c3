"""Latent attention: keys and values of all heads are made from one narrow vector a position, and only that is kept."""

from collections.abc import Callable

import torch
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.cache import KeyValueCache
from course_lib.fused_attention import fused_attention
from course_lib.masks import with_future_hidden
from course_lib.multi_head import merge_heads, split_heads
from course_lib.positions import rotate_by_position
from course_lib.shapes import check_shape


class LatentAttention(nn.Module):
    """Causal or full self-attention of several heads that read one latent vector (d_latent,) at each position.

    Head h would make its key U_h c and its value V_h c of the latent vector c. It need not make them, because a query q
    scores the key by q · U_h c = (U_hᵀ q) · c: the query is brought to the latent vectors, and V_h is applied to their
    average. So the latent vectors are the keys and the values of all heads. What tells positions apart could not pass
    through U_h. It stands beside c: a key of `d_rotated` entries, turned by its position and shared by all heads, for
    which each query has as many entries more. A cache holds d_latent + d_rotated numbers a position. In exchange, each
    score takes d_latent + d_rotated multiplications, and with keys that are made it would take d_head + d_rotated.

    `d_head` is d_model / heads unless it is given; `rotate` is as in `MultiHeadAttention`. After DeepSeek-AI (2024),
    without their narrow vector for queries and their normalisations. Raises ValueError where d_model does not divide by
    the heads, and for an odd `d_rotated`.

    >>> inputs = torch.zeros(1, 5, 64)  # (batch, time, d_model)
    >>> kept = KeyValueCache(capacity=8)
    >>> output, weights = LatentAttention(d_model=64, heads=4, d_latent=16, d_rotated=8)(inputs, cache=kept)
    >>> output.shape, weights.shape, kept.numel // kept.capacity
    (torch.Size([1, 5, 64]), torch.Size([1, 4, 5, 5]), 24)

    Attention with a key and a value for each head keeps more for each position:

    >>> from course_lib.multi_head import MultiHeadAttention
    >>> kept = KeyValueCache(capacity=8)
    >>> _ = MultiHeadAttention(d_model=64, heads=4)(inputs, cache=kept)
    >>> kept.numel // kept.capacity
    128
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        d_latent: int,
        d_rotated: int,
        d_head: int | None = None,
        rotate: Callable = rotate_by_position,
    ):
        super().__init__()
        if heads < 1 or d_head is None and d_model % heads:
            raise ValueError(f"`heads` is {heads}, expected a number that divides `d_model` = {d_model}")
        if d_rotated < 2 or d_rotated % 2:
            raise ValueError(f"`d_rotated` is {d_rotated}, expected an even number: entries are turned in pairs")
        d_head = d_model // heads if d_head is None else d_head
        self.heads, self.d_head, self.rotate = heads, d_head, rotate
        self.to_query = nn.Linear(d_model, heads * d_head, bias=False)
        self.to_rotated_query = nn.Linear(d_model, heads * d_rotated, bias=False)
        self.to_latent = nn.Linear(d_model, d_latent, bias=False)
        self.to_rotated_key = nn.Linear(d_model, d_rotated, bias=False)
        self.to_key = nn.Linear(d_latent, heads * d_head, bias=False)
        self.to_value = nn.Linear(d_latent, heads * d_head, bias=False)
        self.to_output = nn.Linear(heads * d_head, d_model, bias=False)

    def forward(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor | None = None,
        cache: KeyValueCache | None = None,
        causal: bool = False,
        need_weights: bool = True,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Let inputs (batch, query, d_model) read themselves, and with a `cache` also those that came before them.

        Returns the output (batch, query, d_model) and the weights (batch, heads, query, key). `mask`, `causal` and
        `need_weights` are as in `MultiHeadAttention`.
        """
        check_shape(inputs, "batch query d_model", "inputs", d_model=self.to_query.in_features)
        start = 0 if cache is None else cache.length
        latent = self.to_latent(inputs).unsqueeze(1)  # (batch, 1, query, d_latent): one for all heads
        rotated = self.rotate(self.to_rotated_key(inputs).unsqueeze(1), start)  # (batch, 1, query, d_rotated)
        if cache is not None:
            rotated, latent = cache.append(rotated, latent)  # (batch, 1, key, ...)
        # Every head has the same keys, of the width d_both = d_latent + d_rotated, and the same values.
        key = torch.cat([latent, rotated], dim=-1).expand(-1, self.heads, -1, -1)  # (batch, heads, key, d_both)
        value = latent.expand(-1, self.heads, -1, -1)  # (batch, heads, key, d_latent)
        query = self._query(inputs, start)  # (batch, heads, query, d_both)
        if mask is not None and mask.dim() > 2:
            mask = mask.unsqueeze(-3)  # (batch, 1, query, key): one mask for all heads
        if need_weights:
            if causal:
                mask = with_future_hidden(mask, query.shape[-2], key.shape[-2], query.device)  # (..., query, key)
            averages, weights = scaled_dot_product_attention(query, key, value, mask)  # (batch, heads, query, d_latent)
        else:
            averages, weights = fused_attention(query, key, value, mask, causal), None
        found = averages @ self._of_each_head(self.to_value).mT  # (batch, heads, query, d_head)
        return self.to_output(merge_heads(found)), weights

    def _query(self, inputs: torch.Tensor, start: int) -> torch.Tensor:
        """Return queries for latent vectors and rotated keys: (batch, heads, query, d_latent + d_rotated)."""
        query = split_heads(self.to_query(inputs), self.heads)  # (batch, heads, query, d_head)
        for_latent = query @ self._of_each_head(self.to_key)  # (batch, heads, query, d_latent)
        rotated = self.rotate(split_heads(self.to_rotated_query(inputs), self.heads), start)  # (..., query, d_rotated)
        both = torch.cat([for_latent, rotated], dim=-1)  # (batch, heads, query, d_both)
        # Scores are divided by the root of the width of the vectors that meet. A key that is made has another width.
        made = self.d_head + rotated.shape[-1]
        return both * (both.shape[-1] / made) ** 0.5

    def _of_each_head(self, layer: nn.Linear) -> torch.Tensor:
        """Return the matrix by which each head would make its keys, or values: (heads, d_head, d_latent)."""
        return layer.weight.unflatten(0, (self.heads, self.d_head))
