"""Scaled dot-product attention with causal and padding mask (Chapter 5).

A mask is boolean: True where a query may attend to a key.
"""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    """Return the output (..., n_q, d_value) and the weights."""
    scores = query @ key.mT / query.shape[-1] ** 0.5  # (..., n_q, n)
    if mask is None:
        weights = scores.softmax(dim=-1)  # (..., n_q, n)
    else:
        # A row without any key would be 0/0: it becomes a row of zeros.
        empty = ~mask.any(dim=-1, keepdim=True)  # (..., n_q, 1)
        scores = scores.where(mask | empty, -torch.inf)  # (..., n_q, n)
        weights = scores.softmax(dim=-1).where(mask, 0.0)
    return weights @ value, weights


def causal_mask(n_query, n_key=None):
    """Hide the future; the queries are the last of the positions."""
    n_key = n_query if n_key is None else n_key
    allowed = torch.ones(n_query, n_key, dtype=torch.bool)
    return allowed.tril(diagonal=n_key - n_query)  # (n_query, n_key)


def padding_mask(lengths, time):
    """Hide what stands behind the ends of texts of these lengths."""
    present = torch.arange(time) < lengths[:, None]  # (batch, time)
    return present.unsqueeze(1)  # (batch, 1, time), for every query


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8)  # (batch, time, d): two texts of vectors
    mask = causal_mask(3) & padding_mask(torch.tensor([3, 2]), 3)
    output, weights = scaled_dot_product_attention(x, x, x, mask)
    print("weights in the second text, whose last token is padding:")
    print(weights[1].round(decimals=2))
    x[0, 2] += 1  # the last token of the first text changes
    changed, _ = scaled_dot_product_attention(x, x, x, mask)
    same = (changed[0] == output[0]).all(dim=-1)  # (time,)
    print("outputs that stay when the last token changes:", same.tolist())
