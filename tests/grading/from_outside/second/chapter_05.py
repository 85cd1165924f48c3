# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import numpy as np
import torch
import torch.nn.functional as F
from einops import einsum, rearrange

# ---------------------------------------------------------------- 05.1 scaled_dot_product_attention


def scaled_dot_product_attention__wrong_root_of_keys(query, key, value, mask):
    """The score is divided by the root of the number of keys; it must be the root of the width of a key."""
    scores = query @ key.mT / key.shape[-2] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_no_root(query, key, value, mask):
    """The score is divided by d_k and not by its root."""
    scores = query @ key.mT / key.shape[-1]
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_minus_1e9(query, key, value, mask):
    """Hidden scores are set to -1e9, which is the largest score of a row when the visible ones are near -1e30."""
    scores = einsum(query, key, "... q d, ... k d -> ... q k") / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_mask_afterwards(query, key, value, mask):
    """The mask is applied after the softmax and the rows are renormalised; if a hidden score is 1e30 the visible weights are already 0 and the row is 0 / 0."""
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1) * mask
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_mask_inverted(query, key, value, mask):
    """The mask is used as in nn.MultiheadAttention, where True means hidden; here True means visible."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_one_leading_axis(query, key, value, mask):
    """transpose(1, 2) fits exactly one leading axis; with none or with two the code stops or mixes the axes."""
    scores = query @ key.transpose(1, 2) / key.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_multiplied_mask(query, key, value, mask):
    """The hidden scores are multiplied by 0, but a score of 0 still gets a weight; they must be minus infinity."""
    scores = (query @ key.mT / key.shape[-1] ** 0.5) * mask
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_mask_changed(query, key, value, mask):
    """The numbers are right, but logical_not_ turns the caller's mask around, so a second call with it is wrong."""
    hidden = mask.logical_not_()
    scores = query @ key.mT / key.shape[-1] ** 0.5
    weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_weights_detached(query, key, value, mask):
    """The output is computed from detached weights, so query and key get no gradient."""
    scores = query @ key.mT / key.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1).detach()
    return weights @ value, weights


def scaled_dot_product_attention__wrong_torch_attention(query, key, value, mask):
    """The numbers are right, but the output comes from torch's own attention, which this page forbids."""
    output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    scores = query @ key.mT / key.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
    return output, weights


def scaled_dot_product_attention__right_visible_keys_only(query, key, value, mask):
    """Loops over the queries, selects the visible keys by their indices, and scatters the weights back into a row of zeros."""
    rows, outputs = [], []
    for q in range(query.shape[-2]):
        seen = mask[q].nonzero().flatten()
        some = key.index_select(-2, seen)
        scores = (some * query[..., q, None, :]).sum(dim=-1) / math.sqrt(key.shape[-1])
        weights = torch.softmax(scores, dim=-1)  # (..., seen)
        rows.append(scores.new_zeros(scores.shape[:-1] + mask.shape[1:]).index_copy(-1, seen, weights))
        outputs.append((weights[..., None] * value.index_select(-2, seen)).sum(dim=-2))
    return torch.stack(outputs, dim=-2), torch.stack(rows, dim=-2)


def scaled_dot_product_attention__right_logsumexp_finite(query, key, value, mask):
    """Subtracts the maximum and then the logsumexp of the visible scores; hidden ones are filled with the lowest number of the type, not with -inf."""
    width = torch.tensor(key.shape[-1], dtype=query.dtype)
    scores = torch.einsum("...qd,...kd->...qk", query * width.rsqrt(), key)
    lowest = torch.finfo(scores.dtype).min
    scores = torch.where(mask, scores, lowest)
    scores = torch.where(mask, scores - scores.amax(dim=-1, keepdim=True), lowest)
    weights = torch.exp(scores - scores.logsumexp(dim=-1, keepdim=True)) * mask
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


# ---------------------------------------------------------------- 05.2 causal_weights


def causal_weights__wrong_hides_itself(scores):
    """The diagonal is hidden too, although a position may attend to itself; the first row is all nan and was papered over with zeros."""
    time = scores.shape[-1]
    future = torch.ones(time, time).triu().bool()
    return torch.nan_to_num(scores.masked_fill(future, float("-inf")).softmax(dim=-1))


def causal_weights__wrong_tril_not_renormalised(scores):
    """The weights of the future are cut off after the softmax, and the rows no longer sum to one."""
    return torch.softmax(scores, dim=-1).tril()


def causal_weights__wrong_renormalised_later(scores):
    """The softmax runs over the future too and is renormalised afterwards; if a future score is 1e30 nothing is left to renormalise."""
    weights = torch.tril(torch.softmax(scores, dim=-1))
    return weights / weights.sum(dim=-1, keepdim=True)


def causal_weights__wrong_in_place(scores):
    """masked_fill_ writes minus infinity into the caller's scores."""
    time = scores.shape[-1]
    future = torch.triu(torch.ones(time, time, dtype=torch.bool), diagonal=1)
    return scores.masked_fill_(future, float("-inf")).softmax(dim=-1)


def causal_weights__wrong_zero_means_hidden(scores):
    """tril marks the future with 0 and then every 0 is hidden, so a visible score that is exactly 0 is hidden as well."""
    lower = torch.tril(scores)
    return torch.softmax(lower.masked_fill(lower == 0, float("-inf")), dim=-1)


def causal_weights__wrong_future_score_zero(scores):
    """tril sets the scores of the future to 0, but exp(0) is 1, so the future still gets weight."""
    return torch.tril(scores).softmax(dim=-1)


def causal_weights__wrong_large_constant(scores):
    """1e9 is subtracted from the future scores, which does nothing to a score of 1e30."""
    time = scores.shape[-1]
    later = torch.triu(torch.ones(time, time, dtype=scores.dtype), diagonal=1)
    return torch.softmax(scores - 1e9 * later, dim=-1)


def causal_weights__wrong_off_by_one(scores):
    """diagonal=2 leaves one future position visible to every row."""
    time = scores.shape[-1]
    future = torch.triu(torch.ones(time, time, dtype=torch.bool), diagonal=2)
    return scores.masked_fill(future, float("-inf")).softmax(dim=-1)


def causal_weights__wrong_one_shift_for_all(scores):
    """One maximum of the whole tensor is subtracted instead of one for each row, so rows far below it become 0 / 0."""
    time = scores.shape[-1]
    past = torch.ones(time, time, dtype=torch.bool).tril()
    visible = scores.masked_fill(~past, float("-inf"))
    weights = torch.exp(visible - visible.max())
    return weights / weights.sum(dim=-1, keepdim=True)


def causal_weights__right_growing_slices(scores):
    """Takes the softmax of the first t + 1 scores of row t and pads the row with zeros."""
    time = scores.shape[-1]
    rows = [F.pad(torch.softmax(scores[..., t, : t + 1], dim=-1), (0, time - t - 1)) for t in range(time)]
    return torch.stack(rows, dim=-2)


def causal_weights__right_recursion(scores):
    """Recursion on the number of positions: the weights of a smaller square, a column of zeros, and one new last row."""
    time = scores.shape[-1]
    last = torch.softmax(scores[..., -1:, :], dim=-1)
    if time == 1:
        return last
    before = causal_weights__right_recursion(scores[..., :-1, :-1])
    column = torch.zeros_like(before[..., :1])
    return torch.cat([torch.cat([before, column], dim=-1), last], dim=-2)


# ---------------------------------------------------------------- 05.3 padded_attention


def _padded_scores(query, key):
    return query @ key.transpose(1, 2) / key.shape[-1] ** 0.5


def padded_attention__wrong_nan_replaced(query, key, value, lengths):
    """nan_to_num makes the output of an empty sentence zero, but the gradients through the empty softmax are still nan."""
    visible = torch.arange(key.shape[1]) < lengths[:, None]
    scores = _padded_scores(query, key).masked_fill(~visible[:, None, :], float("-inf"))
    return torch.nan_to_num(scores.softmax(dim=-1) @ value)


def padded_attention__wrong_empty_is_mean(query, key, value, lengths):
    """With the lowest finite number in all hidden places an empty sentence gets equal weights and the mean of the padding; zeros were asked for."""
    visible = torch.arange(key.shape[1]) < lengths[:, None, None]
    scores = _padded_scores(query, key)
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1) @ value


def padded_attention__wrong_minus_1e9(query, key, value, lengths):
    """Padding gets the score -1e9, which wins where all visible scores are near -1e30."""
    visible = (torch.arange(key.shape[1]) < lengths[:, None])[:, None, :]
    weights = _padded_scores(query, key).masked_fill(~visible, -1e9).softmax(dim=-1)
    return (weights * visible) @ value


def padded_attention__wrong_one_key_too_many(query, key, value, lengths):
    """`<=` lets lengths[b] + 1 keys through, the first padding key among them."""
    visible = (torch.arange(key.shape[1]) <= lengths[:, None])[:, None, :]
    weights = _padded_scores(query, key).masked_fill(~visible, float("-inf")).softmax(dim=-1)
    return weights @ value * (lengths > 0)[:, None, None]


def padded_attention__wrong_mask_without_query_axis(query, key, value, lengths):
    """The mask (batch, key) has no axis for the queries, so it broadcasts as (query, key): an error, or wrong where batch and query have the same length."""
    visible = torch.arange(key.shape[1]) < lengths[:, None]
    scores = _padded_scores(query, key)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~visible, lowest).softmax(dim=-1) * visible
    return weights @ value


def padded_attention__wrong_queries_cut_too(query, key, value, lengths):
    """The outputs of queries beyond lengths[b] are set to zero, but the lengths count keys, and every query has an output."""
    visible = (torch.arange(key.shape[1]) < lengths[:, None])[:, None, :]
    scores = _padded_scores(query, key)
    scores = torch.where(visible, scores, torch.finfo(scores.dtype).min)
    output = (scores.softmax(dim=-1) * visible) @ value
    return output * (torch.arange(query.shape[1]) < lengths[:, None])[:, :, None]


def padded_attention__wrong_lengths_changed(query, key, value, lengths):
    """clamp_ avoids the empty softmax, but it writes the 1 into the caller's lengths."""
    empty = lengths == 0
    lengths.clamp_(min=1)
    visible = (torch.arange(key.shape[1]) < lengths[:, None])[:, None, :]
    weights = _padded_scores(query, key).masked_fill(~visible, float("-inf")).softmax(dim=-1)
    return (weights @ value).masked_fill(empty[:, None, None], 0.0)


def padded_attention__wrong_maximum_with_padding(query, key, value, lengths):
    """The maximum that is subtracted includes the padding, so one padding score of 1e30 makes all visible weights underflow to zero."""
    visible = (torch.arange(key.shape[1]) < lengths[:, None])[:, None, :]
    scores = _padded_scores(query, key)
    weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * visible
    return weights / (weights.sum(dim=-1, keepdim=True) + 1e-9) @ value


def padded_attention__wrong_zero_keys(query, key, value, lengths):
    """Padding keys and values are set to zero, but a zero key has the score 0 and still takes weight away from the others."""
    visible = (torch.arange(key.shape[1]) < lengths[:, None])[:, :, None]
    key, value = key.masked_fill(~visible, 0.0), value.masked_fill(~visible, 0.0)
    return _padded_scores(query, key).softmax(dim=-1) @ value


def padded_attention__right_slices(query, key, value, lengths):
    """Cuts each example to its length in a loop; a slice of length zero gives zeros by itself, and the graph stays connected."""
    outputs = []
    for q, k, v, length in zip(query, key, value, lengths.tolist()):
        scores = q @ k[:length].T / math.sqrt(k.shape[1])
        outputs.append(torch.softmax(scores, dim=1) @ v[:length])
    return torch.stack(outputs)


def padded_attention__right_extra_key(query, key, value, lengths):
    """Appends one more column of scores with a zero value, visible only to empty sentences, so no softmax is ever empty."""
    batch, queries, width = query.shape
    keys = key.shape[1]
    scores = torch.einsum("bqd,bkd->bqk", query, key) / torch.tensor(width, dtype=query.dtype).sqrt()
    scores = torch.cat([scores, scores.new_zeros(batch, queries, 1)], dim=2)
    value = torch.cat([value, value.new_zeros(batch, 1, value.shape[2])], dim=1)
    index = torch.arange(keys + 1)[None, :]
    visible = torch.where(index < keys, index < lengths[:, None], lengths[:, None] == 0)
    scores = scores.masked_fill(~visible[:, None, :], float("-inf"))
    return torch.bmm(torch.softmax(scores, dim=2), value)


# ---------------------------------------------------------------- 05.4 first_suspect


def first_suspect__wrong_unchanged(query, key, value, mask):
    """The bug is still there: the softmax runs over the queries (dim=1), and only the spelling of the transposition was changed."""
    scores = query @ key.mT / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=1)
    output = weights @ value
    return output


def first_suspect__wrong_normalised_twice(query, key, value, mask):
    """The softmax over the queries was kept and its rows were normalised afterwards, which gives other weights than a softmax over the keys."""
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.nan_to_num(scores.softmax(dim=1))
    weights = weights / weights.sum(dim=2, keepdim=True)
    return weights @ value


def first_suspect__wrong_second_line_broken(query, key, value, mask):
    """The softmax was repaired, but the scale was changed to the number of keys, which had been right as it was."""
    scores = query @ key.transpose(1, 2) / key.shape[1] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=2)
    return weights @ value


def first_suspect__wrong_mask_suspected(query, key, value, mask):
    """The mask was right; with `mask` in place of `~mask` the visible keys are hidden."""
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value


def first_suspect__wrong_softmax_over_batch(query, key, value, mask):
    """The axis of the softmax was changed to dim=0, the batch, and not to the keys."""
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.nan_to_num(scores.softmax(dim=0))
    return weights @ value


def first_suspect__wrong_both_axes(query, key, value, mask):
    """The softmax runs over queries and keys together, so that all weights of an example, not each row, sum to one; right for one query."""
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.flatten(1).softmax(dim=1).reshape(scores.shape)
    return weights @ value


def first_suspect__right_columns(query, key, value, mask):
    """Keeps dim=1 in the softmax and instead turns the scores round, one column for each query."""
    scores = key @ query.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask.T, float("-inf"))
    weights = scores.softmax(dim=1)
    return weights.transpose(1, 2) @ value


def first_suspect__right_vmap(query, key, value, mask):
    """Written for one query and mapped over queries and batch with vmap."""

    def one(q, k, v, m):
        scores = (k * q).sum(dim=-1) / k.shape[-1] ** 0.5
        return torch.softmax(torch.where(m, scores, float("-inf")), dim=0) @ v

    return torch.vmap(torch.vmap(one, in_dims=(0, None, None, 0)), in_dims=(0, 0, 0, None))(query, key, value, mask)


# ---------------------------------------------------------------- 05.4 second_suspect


def second_suspect__wrong_power_minus_one(query, key, value, mask):
    """The width is now that of the keys, but the exponent was changed to -1, so the root is missing."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * key.shape[-1] ** -1
    hidden = torch.where(mask, 0.0, float("-inf"))
    return torch.softmax(scores + hidden, dim=-1) @ value


def second_suspect__wrong_times_root(query, key, value, mask):
    """The scores are multiplied by the root of d_key and must be divided by it."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * query.shape[-1] ** 0.5
    hidden = torch.where(mask, 0.0, float("-inf"))
    return torch.einsum("bqk,bkv->bqv", torch.softmax(scores + hidden, dim=-1), value)


def second_suspect__wrong_number_of_keys(query, key, value, mask):
    """value.shape[-1] was replaced by value.shape[1], which is the number of keys and not their width."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * value.shape[1] ** -0.5
    hidden = torch.where(mask, 0.0, float("-inf"))
    return torch.einsum("bqk,bkv->bqv", torch.softmax(scores + hidden, dim=-1), value)


def second_suspect__wrong_integer_root(query, key, value, mask):
    """math.isqrt rounds the root down, so the scale is right only if d_key is a square number, as in the example."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores / math.isqrt(query.shape[-1])
    hidden = torch.where(mask, 0.0, float("-inf"))
    return torch.einsum("bqk,bkv->bqv", torch.softmax(scores + hidden, dim=-1), value)


def second_suspect__wrong_constant(query, key, value, mask):
    """The 2 is the root of the width in the example; the root must be computed from the shape."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores / 2
    hidden = torch.where(mask, 0.0, float("-inf"))
    return torch.einsum("bqk,bkv->bqv", torch.softmax(scores + hidden, dim=-1), value)


def second_suspect__wrong_mask_outside(query, key, value, mask):
    """The scale is repaired, but a mask of zeros and ones is now added to the scores, which hides nothing."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * query.shape[-1] ** -0.5
    hidden = torch.where(mask, 1.0, 0.0)
    return torch.einsum("bqk,bkv->bqv", torch.softmax(scores + hidden, dim=-1), value)


def second_suspect__right_scaled_both_sides(query, key, value, mask):
    """Divides query and key each by the fourth root of the width, and adds the logarithm of the mask."""
    fourth = query.shape[-1] ** 0.25
    scores = torch.einsum("bqd,bkd->bqk", query / fourth, key / fourth)
    weights = torch.softmax(scores + mask.to(scores.dtype).log(), dim=-1)
    return torch.einsum("bqk,bkv->bqv", weights, value)


def second_suspect__right_einops(query, key, value, mask):
    """Named axes of einops, and an exponential divided by its sum instead of the softmax."""
    scores = einsum(query, key, "batch query width, batch key width -> batch query key")
    scores = scores / math.sqrt(key.size(2))
    scores = scores + torch.zeros_like(scores).masked_fill(mask.logical_not(), -math.inf)
    weights = torch.exp(scores - scores.max(dim=2, keepdim=True).values)
    total = einsum(weights, "batch query key -> batch query")
    return einsum(weights, value, "batch query key, batch key out -> batch query out") / rearrange(
        total, "b q -> b q 1"
    )


# ---------------------------------------------------------------- 05.4 third_suspect


def third_suspect__wrong_contiguous_view(query, key, value, mask):
    """contiguous().view has the same effect as reshape: the numbers are read in the old order and no axes are exchanged."""
    batch, keys, width = key.shape
    columns = key.contiguous().view(batch, width, keys) / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    return weights @ value


def third_suspect__wrong_names_exchanged(query, key, value, mask):
    """The axes are exchanged now, but so are the names, and the scale is the root of the number of keys."""
    batch, width, keys = key.shape
    columns = key.transpose(1, 2) / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    return weights @ value


def third_suspect__wrong_flat_transpose(query, key, value, mask):
    """The batch was flattened into the keys before the transposition, which is right for a batch of one only."""
    batch, keys, width = key.shape
    columns = key.reshape(batch * keys, width).T.reshape(batch, width, keys) / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    return weights @ value


def third_suspect__wrong_softmax_axis(query, key, value, mask):
    """The columns are repaired, but the softmax, which had been right, was moved to the axis of the queries."""
    width = key.shape[2]
    columns = key.permute(0, 2, 1) / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    weights = torch.nan_to_num(torch.softmax(scores, dim=1))
    return weights @ value


def third_suspect__wrong_scale_lost(query, key, value, mask):
    """The line was rewritten with mT and the division by the root of the width was lost."""
    columns = key.mT
    scores = torch.where(mask, query @ columns, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    return weights @ value


def third_suspect__wrong_query_reshaped(query, key, value, mask):
    """The reshape was kept and the query was reshaped back and forth to match; the keys are still mixed."""
    batch, keys, width = key.shape
    columns = key.reshape(batch, width, keys) / width**0.5
    scores = (columns.transpose(1, 2) @ query.transpose(1, 2)).transpose(1, 2)
    scores = torch.where(mask, scores, float("-inf"))
    return torch.softmax(scores, dim=2) @ value


def third_suspect__right_stacked_columns(query, key, value, mask):
    """Stacks the keys one by one as columns instead of transposing."""
    width = key.shape[2]
    columns = torch.stack([key[:, k] for k in range(key.shape[1])], dim=2) / width**0.5
    scores = torch.where(mask, torch.bmm(query, columns), float("-inf"))
    return torch.bmm(torch.softmax(scores, dim=2), value)


def third_suspect__right_einsum_reorder(query, key, value, mask):
    """Uses an einsum with one operand to exchange the axes, and keeps the rest."""
    width = key.shape[2]
    columns = torch.einsum("bkd->bdk", key) / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    weights = torch.exp(torch.log_softmax(scores, dim=2))
    return weights @ value


# ---------------------------------------------------------------- 05.4 fourth_suspect


def fourth_suspect__wrong_renormalised(query, key, value, mask):
    """The masked weights are divided by their sum; where a hidden score is larger by 1e30 the sum is 0 and the output nan."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    weights = torch.softmax(scores, dim=-1)
    weights = weights.masked_fill(~mask, 0.0)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value


def fourth_suspect__wrong_minus_1e9(query, key, value, mask):
    """The mask is in the right place, but -1e9 is not low enough where scores are near -1e30."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-1) @ value


def fourth_suspect__wrong_zero_score(query, key, value, mask):
    """The two lines were exchanged and the 0.0 was kept, but a score of 0 is not a weight of 0."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    scores = scores.masked_fill(~mask, 0.0)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value


def fourth_suspect__wrong_below_the_minimum(query, key, value, mask):
    """Hidden scores are set a hundred below the smallest score, and next to scores of 1e30 the hundred is lost in rounding."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    scores = scores.masked_fill(~mask, (scores.min() - 100).item())
    return torch.softmax(scores, dim=-1) @ value


def fourth_suspect__wrong_added_1e30(query, key, value, mask):
    """-1e30 is added to the hidden scores, and a hidden score of 1e30 then becomes an ordinary 0."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    scores = scores + torch.where(mask, 0.0, -1e30)
    return torch.softmax(scores, dim=-1) @ value


def fourth_suspect__wrong_hidden_values(query, key, value, mask):
    """Both the softmax over all keys and the missing normalisation are still there; only the masking was rewritten as a product."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    weights = torch.softmax(scores, dim=-1) * mask.to(scores.dtype)
    return weights @ value


def fourth_suspect__right_visible_subset(query, key, value, mask):
    """For each query keeps only the visible keys and values, so nothing has to be masked."""
    outputs = []
    for q, seen in enumerate(mask):
        scores = (key[:, seen] @ (query[:, q] / query.shape[-1] ** 0.5)[:, :, None]).squeeze(2)
        outputs.append((torch.softmax(scores, dim=-1)[:, None, :] @ value[:, seen]).squeeze(1))
    return torch.stack(outputs, dim=1)


def fourth_suspect__right_shift_of_visible(query, key, value, mask):
    """Computes the maximum over the visible scores alone, and exponentials only there."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    visible = torch.where(mask, scores, -torch.inf)
    shifted = visible - visible.amax(dim=-1, keepdim=True)
    weights = shifted.exp()
    return (weights @ value) / weights.sum(dim=-1, keepdim=True)


# ---------------------------------------------------------------- 05.4 fifth_suspect


def fifth_suspect__wrong_other_spelling(query, key, value, mask):
    """div_ is the same in-place division as /=, and the caller's query still changes."""
    query = query.div_(query.shape[-1] ** 0.5)
    scores = query @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__wrong_view_is_no_copy(query, key, value, mask):
    """query[:] is a view of the same memory and not a copy, so the caller's query still changes."""
    query = query[:]
    query /= query.shape[-1] ** 0.5
    scores = query @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__wrong_key_instead(query, key, value, mask):
    """The in-place division was moved to the key, and now the caller's key changes."""
    key /= key.shape[-1] ** 0.5
    scores = query @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__wrong_division_dropped(query, key, value, mask):
    """The line with the in-place division was removed, and the scale with it."""
    scores = query @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__wrong_restored_afterwards(query, key, value, mask):
    """The query is multiplied back at the end, but rounding leaves other numbers in the caller's query when the root is not a power of two."""
    root = query.shape[-1] ** 0.5
    query /= root
    scores = query @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    output = scores.softmax(-1) @ value
    query *= root
    return output


def fifth_suspect__wrong_mask_flipped(query, key, value, mask):
    """The query is safe now, but logical_not_ was used to save memory for the mask as well, and the caller's mask changes."""
    query = query / query.shape[-1] ** 0.5
    scores = query @ key.mT
    scores.masked_fill_(mask.logical_not_(), float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__right_in_place_on_own_tensors(query, key, value, mask):
    """Still works in place, but only on the scores that the function has made itself."""
    scores = torch.matmul(query, key.mT)
    scores.div_(math.sqrt(query.shape[-1]))
    scores.masked_fill_(~mask, float("-inf"))
    scores.sub_(scores.amax(-1, keepdim=True)).exp_()
    scores.div_(scores.sum(-1, keepdim=True))
    return scores @ value


def fifth_suspect__right_baddbmm(query, key, value, mask):
    """Mask, product and scale in one call of torch.baddbmm."""
    hidden = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(~mask, float("-inf"))
    scores = torch.baddbmm(hidden.expand(query.shape[0], -1, -1), query, key.mT, alpha=query.shape[-1] ** -0.5)
    return scores.softmax(-1) @ value


# ---------------------------------------------------------------- 05.5 score_variances


def score_variances__wrong_all_pairs(query, key):
    """Every query is multiplied with every key, but row i of the queries belongs to row i of the keys alone."""
    products = query @ key.T
    return torch.stack([products.var(), (products / query.shape[1] ** 0.5).var()])


def score_variances__wrong_biased(query, key):
    """The squared deviations are divided by m and not by m - 1."""
    products = (query * key).sum(dim=1)
    scaled = products / query.shape[1] ** 0.5
    return torch.stack([products.var(unbiased=False), scaled.var(unbiased=False)])


def score_variances__wrong_variance_over_root(query, key):
    """The variance itself is divided by the root of d_k, but scaling by 1 / root divides the variance by d_k."""
    variance = (query * key).sum(dim=1).var()
    return torch.stack([variance, variance / query.shape[1] ** 0.5])


def score_variances__wrong_mean_taken_as_zero(query, key):
    """The sample mean is not subtracted because the expected mean is 0; on a large normal sample it makes little difference."""
    products = (query * key).sum(dim=1)
    variance = (products**2).sum() / (len(products) - 1)
    return torch.stack([variance, variance / query.shape[1]])


def score_variances__wrong_theory(query, key):
    """This is what the theory predicts, d_k times the variance of one product, and not the variance of the dot products of this sample."""
    width = query.shape[1]
    variance = width * (query * key).var()
    return torch.stack([variance, variance / width])


def score_variances__wrong_query_overwritten(query, key):
    """mul_ stores the products in the caller's query."""
    products = query.mul_(key).sum(dim=1)
    return torch.stack([products.var(), (products / math.sqrt(query.shape[1])).var()])


def score_variances__wrong_standard_deviation(query, key):
    """torch.std is the root of the variance that was asked for."""
    products = torch.einsum("sd,sd->s", query, key)
    return torch.stack([products.std(), (products / query.shape[1] ** 0.5).std()])


def score_variances__right_differences(query, key):
    """The unbiased variance as half the mean squared difference of all pairs of different samples."""
    products = torch.linalg.vecdot(query, key).double()
    samples = products.shape[0]
    total = sum(((products[shift:] - products[:-shift]) ** 2).sum() for shift in range(1, samples))
    variance = total / (samples * (samples - 1))
    return torch.stack([variance, variance / query.shape[1]]).to(query.dtype)


def score_variances__right_numpy(query, key):
    """A round trip through numpy, with ddof=1."""
    q, k = query.detach().numpy().astype(np.float64), key.detach().numpy().astype(np.float64)
    products = np.array([np.dot(a, b) for a, b in zip(q, k)])
    both = np.stack([products, products / np.sqrt(q.shape[1])])
    return torch.from_numpy(both.var(axis=1, ddof=1)).to(query.dtype)
