# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch
import torch.nn.functional as F
from einops import einsum

# 05.1 scaled_dot_product_attention


def scaled_dot_product_attention__wrong_minus_billion(query, key, value, mask):
    """Hides with -1e9, which is larger than visible scores of -1e30."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.shape[-1])
    weights = scores.masked_fill(~mask, -1e9).softmax(dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_renormalized(query, key, value, mask):
    """Masks after the softmax and divides by the rest, which is 0 / 0 where a hidden score is huge."""
    scores = query @ key.mT / key.shape[-1] ** 0.5
    weights = scores.softmax(dim=-1) * mask
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_three_axes_only(query, key, value, mask):
    """Exchanges axes 1 and 2, which are the last two only with exactly one leading axis."""
    scores = query @ key.transpose(1, 2) / key.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_mask_means_hidden(query, key, value, mask):
    """Takes True for hidden, as some functions of torch do."""
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    weights = scores.masked_fill(mask, float("-inf")).softmax(dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_torch_attention(query, key, value, mask):
    """Calls torch's own attention for the output, which is forbidden here."""
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    scores = query @ key.mT / key.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return output, weights


def scaled_dot_product_attention__right_smallest_float(query, key, value, mask):
    """Right: both sides take the fourth root, and the smallest float32 hides, of which exp makes exactly 0."""
    root = key.shape[-1] ** 0.25
    scores = einsum(query / root, key / root, "... query d, ... key d -> ... query key")
    scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = F.softmax(scores, dim=-1)
    return einsum(weights, value, "... query key, ... key d -> ... query d"), weights


# 05.2 causal_weights


def causal_weights__wrong_renormalized(scores):
    """Cuts the future off after the softmax and divides by the rest, 0 / 0 for a future of 1e30."""
    weights = scores.softmax(dim=-1).tril()
    return weights / weights.sum(dim=-1, keepdim=True)


def causal_weights__wrong_in_place(scores):
    """Writes minus infinity into the scores of the caller."""
    time = scores.shape[-1]
    future = torch.ones(time, time, dtype=torch.bool).triu(diagonal=1)
    scores[..., future] = float("-inf")
    return scores.softmax(dim=-1)


def causal_weights__wrong_first_size(scores):
    """Takes the first size for the number of positions, which is the batch where there is one."""
    time = scores.shape[0]
    future = torch.triu(torch.ones(time, time), diagonal=1).bool()
    return scores.masked_fill(future, -torch.inf).softmax(dim=-1)


def causal_weights__right_row_by_row(scores):
    """Right: the softmax of the visible piece of every row, written into zeros."""
    weights = torch.zeros_like(scores)
    for t in range(scores.shape[-1]):
        weights[..., t, : t + 1] = torch.softmax(scores[..., t, : t + 1], dim=-1)
    return weights


# 05.3 padded_attention


def padded_attention__wrong_nan_for_empty(query, key, value, lengths):
    """Fills the empty rows with minus infinity, and their softmax is nan."""
    mask = (torch.arange(key.shape[1]) < lengths[:, None])[:, None, :]
    scores = query @ key.mT / key.shape[-1] ** 0.5
    return scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) @ value


def padded_attention__wrong_nan_gradient(query, key, value, lengths):
    """Adds minus infinity and replaces the nan afterwards, so the output is right and the gradients are nan."""
    mask = (torch.arange(key.shape[1]) < lengths[:, None])[:, None, :]
    bias = torch.where(mask, 0.0, float("-inf"))
    scores = query @ key.transpose(1, 2) / math.sqrt(key.shape[-1])
    weights = torch.softmax(scores + bias, dim=-1).nan_to_num(0.0)
    return weights @ value


def padded_attention__wrong_not_scaled(query, key, value, lengths):
    """Forgets the scale, which is 1 in the example."""
    mask = (torch.arange(key.shape[1]) < lengths[:, None]).unsqueeze(1)
    scores = (query @ key.mT).masked_fill(~mask, torch.finfo(torch.float32).min)
    return (scores.softmax(dim=-1) * mask) @ value


def padded_attention__wrong_mean_for_empty(query, key, value, lengths):
    """Hides with the smallest float and forgets the zeros, so an empty sentence gives the mean of its padding."""
    mask = (torch.arange(key.shape[1]) < lengths[:, None]).unsqueeze(1)
    scores = query @ key.mT / key.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, torch.finfo(torch.float32).min)
    return scores.softmax(dim=-1) @ value


def padded_attention__right_empty_slices(query, key, value, lengths):
    """Right: slices the keys of each example; a product over no keys is zeros by itself."""
    outputs = []
    for q, k, v, n in zip(query, key, value, lengths.tolist()):
        weights = torch.softmax(q @ k[:n].T / k.shape[1] ** 0.5, dim=-1)
        outputs.append(weights @ v[:n])
    return torch.stack(outputs)


def padded_attention__right_at_least_one(query, key, value, lengths):
    """Right: lets an empty sentence read its first key and multiplies its output by 0."""
    at_least_one = lengths.clamp(min=1)
    mask = (torch.arange(key.shape[1]) < at_least_one[:, None])[:, None, :]
    scores = einsum(query, key, "b q d, b k d -> b q k") / math.sqrt(key.shape[-1])
    weights = torch.where(mask, scores, -torch.inf).softmax(dim=-1)
    return torch.bmm(weights, value) * (lengths > 0)[:, None, None]


# 05.4 the five suspects


def first_suspect__wrong_softmax_over_batch(query, key, value, mask):
    """Moves the softmax to the batch instead of to the keys."""
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=0)
    output = weights @ value
    return output


def first_suspect__right_transposed(query, key, value, mask):
    """Right: scores as (batch, key, query), so that the softmax over axis 1 is one over the keys."""
    scores = key @ query.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask.T, float("-inf"))
    weights = scores.softmax(dim=1)
    return weights.transpose(1, 2) @ value


def second_suspect__wrong_scale_from_queries(query, key, value, mask):
    """Replaces the width of the values by the number of queries instead of the width of the keys."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * query.shape[1] ** -0.5
    hidden = torch.where(mask, 0.0, float("-inf"))
    weights = torch.softmax(scores + hidden, dim=-1)
    output = torch.einsum("bqk,bkv->bqv", weights, value)
    return output


def third_suspect__wrong_view(query, key, value, mask):
    """Replaces reshape by view, which does not transpose either."""
    batch, keys, width = key.shape
    columns = key.contiguous().view(batch, width, keys) / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    output = weights @ value
    return output


def fourth_suspect__wrong_renormalized(query, key, value, mask):
    """Repairs the sum of the rows afterwards, which is 0 / 0 where the hidden score is larger by 1e30."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    weights = torch.softmax(scores, dim=-1)
    weights = weights.masked_fill(~mask, 0.0)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    output = weights @ value
    return output


def fifth_suspect__wrong_second_name(query, key, value, mask):
    """Gives the tensor of the caller a second name and still divides in place."""
    scaled = query
    scaled /= scaled.shape[-1] ** 0.5
    scores = scaled @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    output = scores.softmax(-1) @ value
    return output


def fifth_suspect__wrong_multiplied_back(query, key, value, mask):
    """Multiplies the queries back at the end, which leaves rounding in the caller's tensor."""
    query /= query.shape[-1] ** 0.5
    scores = query @ key.mT
    query *= query.shape[-1] ** 0.5
    scores.masked_fill_(~mask, float("-inf"))
    output = scores.softmax(-1) @ value
    return output


# 05.5 score_variances


def score_variances__wrong_all_pairs(query, key):
    """Takes the dot products of every query with every key instead of row with row."""
    products = query @ key.T
    return torch.stack([products.var(), (products / query.shape[1] ** 0.5).var()])


def score_variances__wrong_mean_zero(query, key):
    """Takes the mean for zero instead of subtracting the sample mean."""
    products = (query * key).sum(dim=-1)
    scaled = products / key.shape[-1] ** 0.5
    return torch.stack([(products**2).sum(), (scaled**2).sum()]) / (len(products) - 1)


def score_variances__wrong_biased(query, key):
    """Divides by m instead of m - 1, like numpy."""
    products = einsum(query, key, "samples d, samples d -> samples")
    scaled = products / math.sqrt(query.shape[-1])
    return torch.stack([products.var(unbiased=False), scaled.var(unbiased=False)])


def score_variances__wrong_tuple(query, key):
    """Returns a tuple of two tensors instead of one tensor of shape (2,)."""
    products = (query * key).sum(dim=-1)
    return products.var(), (products / key.shape[-1] ** 0.5).var()


def score_variances__right_diagonal(query, key):
    """Right: the diagonal of all products, and the second variance is the first divided by d_key."""
    products = torch.diagonal(query @ key.T)
    deviations = products - products.mean()
    variance = deviations.square().sum() / (products.numel() - 1)
    return variance / torch.tensor([1.0, float(key.shape[1])])
