"""The fast way to the same output: torch's fused kernel, for when nobody asks for the weights."""

import torch
from torch.nn import functional

from course_lib.attention import check_attend
from course_lib.masks import check_mask, with_future_hidden


def fused_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
    causal: bool = False,
) -> torch.Tensor:
    """Return the output (..., query, d_value) of `scaled_dot_product_attention` without its weights.

    Shapes, mask and errors are those of `attend`. With `causal`, the mask that hides the future joins any other mask,
    and fewer keys than queries raise ValueError. A query that may attend to nothing gets zeros. Where torch has a fused
    kernel for the machine, it works through the keys tile by tile and never holds the weights; after Dao et al. (2022).

    >>> inputs = torch.arange(12.0).view(1, 3, 4)
    >>> fused_attention(inputs, inputs, inputs, causal=True)[0, 0]
    tensor([0., 1., 2., 3.])
    """
    check_attend(query, key, value)
    n_query, n_key = query.shape[-2], key.shape[-2]
    if mask is not None:
        check_mask(mask, torch.Size([*query.shape[:-1], n_key]))
        mask = torch.atleast_2d(mask)  # (..., query, key): the kernel wants both
    by_kernel = False
    if causal and n_query != 1:  # a single query is the last position, before which every key stands
        # The kernel knows the square causal mask by itself; with more keys than queries, it would align the first ones.
        if mask is None and n_query == n_key:
            by_kernel = True
        else:
            mask = with_future_hidden(mask, n_query, n_key, query.device)  # (..., query, key)
    missing = max(0, 4 - query.dim())
    if missing:
        # Torch's kernels are for four axes, (batch, heads, time, width); with fewer it falls back to the plain product.
        query, key, value = (each[(None,) * missing] for each in (query, key, value))
    output = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=by_kernel)
    return output[(0,) * missing] if missing else output  # (..., query, d_value)
