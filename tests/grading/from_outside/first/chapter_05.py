# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import torch
from einops import einsum
from torch.func import vmap

# ---------------------------------------------------------------- scaled_dot_product_attention


def scaled_dot_product_attention__wrong_no_root(query, key, value, mask):
    """You divide by d_key instead of its root."""
    s = query @ key.transpose(-2, -1) / key.shape[-1]
    w = s.masked_fill(~mask, float("-inf")).softmax(-1)
    return w @ value, w


def scaled_dot_product_attention__wrong_scale_of_value(query, key, value, mask):
    """The root must be of the width of a key, not of a value."""
    s = query @ key.mT / math.sqrt(value.size(-1))
    w = s.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return w @ value, w


def scaled_dot_product_attention__wrong_transpose_1_2(query, key, value, mask):
    """transpose(1, 2) is right only with one leading axis; use the last two axes, -2 and -1."""
    s = query @ key.transpose(1, 2) / key.shape[-1] ** 0.5
    w = torch.softmax(s.masked_fill(~mask, -torch.inf), dim=-1)
    return w @ value, w


def scaled_dot_product_attention__wrong_minus_1e9(query, key, value, mask):
    """-1e9 is no minus infinity: where all visible scores are -1e30 the hidden key wins."""
    s = query @ key.mT / key.shape[-1] ** 0.5
    w = torch.softmax(s.masked_fill(~mask, -1e9), dim=-1)
    return w @ value, w


def scaled_dot_product_attention__wrong_adds_minus_1e9(query, key, value, mask):
    """Adding -1e9 to a hidden score of 1e30 changes nothing; the score has to be replaced."""
    s = query @ key.mT / key.shape[-1] ** 0.5
    s = s + (~mask).float() * -1e9
    w = s.softmax(-1)
    return w @ value, w


def scaled_dot_product_attention__wrong_zero_before_softmax(query, key, value, mask):
    """A score of 0 is not hidden: exp(0) is 1, so the masked keys still get weight."""
    s = query @ key.mT / key.shape[-1] ** 0.5
    w = torch.softmax(s * mask, dim=-1)
    return w @ value, w


def scaled_dot_product_attention__wrong_detached_weights(query, key, value, mask):
    """detach() stops the gradient: query and key get none."""
    s = query @ key.mT / key.shape[-1] ** 0.5
    w = s.masked_fill(~mask, -torch.inf).softmax(-1).detach()
    return w @ value, w


def scaled_dot_product_attention__right_by_selecting_keys(query, key, value, mask):
    outputs, weights = [], []
    for i in range(mask.shape[0]):
        chosen = mask[i].nonzero()[:, 0]
        scores = (key[..., chosen, :] * query[..., i : i + 1, :]).sum(-1) / math.sqrt(key.shape[-1])
        part = torch.softmax(scores, dim=-1)
        outputs.append((part[..., None] * value[..., chosen, :]).sum(-2))
        full = torch.zeros(*part.shape[:-1], mask.shape[1], dtype=part.dtype)
        weights.append(full.index_copy(-1, chosen, part))
    return torch.stack(outputs, dim=-2), torch.stack(weights, dim=-2)


# ---------------------------------------------------------------- causal_weights


def causal_weights__wrong_hides_itself(scores):
    """triu without diagonal=1 hides the position itself, and the first row becomes nan."""
    t = scores.shape[-1]
    hide = torch.ones(t, t, dtype=torch.bool).triu()
    return scores.masked_fill(hide, float("-inf")).softmax(-1)


def causal_weights__wrong_hides_past(scores):
    """tril is the past; you let every position read the future."""
    t = scores.shape[-1]
    hide = torch.ones(t, t, dtype=torch.bool).tril(-1)
    return scores.masked_fill(hide, float("-inf")).softmax(-1)


def causal_weights__wrong_mask_after_softmax(scores):
    """The zeros come after the softmax, so the rows do not sum to one any more."""
    return torch.softmax(scores, dim=-1).tril()


def causal_weights__wrong_renormalized(scores):
    """The softmax has seen the future: with a future score of 1e30 all the rest is 0 and you divide 0 by 0."""
    w = torch.softmax(scores, dim=-1).tril()
    return w / w.sum(dim=-1, keepdim=True)


def causal_weights__wrong_minus_1e9(scores):
    """-1e9 is larger than visible scores of -1e30, so then the future gets the weight."""
    t = scores.shape[-1]
    keep = torch.tril(torch.ones(t, t))
    return torch.softmax(scores.masked_fill(keep == 0, -1e9), dim=-1)


def causal_weights__wrong_in_place(scores):
    """masked_fill_ with the underscore writes into the caller's scores."""
    t = scores.shape[-1]
    hide = torch.ones(t, t, dtype=torch.bool).triu(1)
    return scores.masked_fill_(hide, float("-inf")).softmax(dim=-1)


def causal_weights__right_by_growing_rows(scores):
    time = scores.shape[-1]
    rows = []
    for t in range(time):
        seen = torch.softmax(scores[..., t, : t + 1], dim=-1)
        rows.append(torch.nn.functional.pad(seen, (0, time - t - 1)))
    return torch.stack(rows, dim=-2)


# ---------------------------------------------------------------- padded_attention


def padded_attention__wrong_nan_for_empty(query, key, value, lengths):
    """For an empty sentence all scores are minus infinity and the softmax gives nan, not zeros."""
    s = query @ key.mT / key.shape[-1] ** 0.5
    m = torch.arange(key.shape[1]) < lengths[:, None]
    w = s.masked_fill(~m[:, None, :], -torch.inf).softmax(-1)
    return w @ value


def padded_attention__right_by_nan_to_num(query, key, value, lengths):
    # masked_fill lets no gradient through where it fills, so no nan comes back
    s = query @ key.mT / key.shape[-1] ** 0.5
    m = (torch.arange(key.shape[1]) < lengths[:, None])[:, None]
    w = s.masked_fill(~m, float("-inf")).softmax(-1)
    return torch.nan_to_num(w) @ value


def padded_attention__wrong_nan_to_num_of_sum(query, key, value, lengths):
    """The output is right, but nan_to_num comes too late: the sum with minus infinity lets the nan of an empty sentence into the gradients."""
    s = query @ key.mT / key.shape[-1] ** 0.5
    m = (torch.arange(key.shape[1]) < lengths[:, None])[:, None]
    w = torch.softmax(s + torch.where(m, 0.0, float("-inf")), dim=-1)
    return torch.nan_to_num(w) @ value


def padded_attention__wrong_off_by_one(query, key, value, lengths):
    """<= lets one key of the padding in: the first lengths[b] keys are the numbers 0 to lengths[b] - 1."""
    m = (torch.arange(key.shape[1]) <= lengths[:, None])[:, None]
    s = torch.einsum("bqd,bkd->bqk", query, key) / key.shape[-1] ** 0.5
    w = s.masked_fill(~m, -torch.inf).softmax(-1) * (lengths > 0)[:, None, None]
    return w @ value


def padded_attention__wrong_mask_on_queries(query, key, value, lengths):
    """The mask lies along the wrong axis: you hide the rows of queries and not the keys."""
    m = (torch.arange(query.shape[1]) < lengths[:, None])[:, :, None]
    w = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
    return (w * m) @ value


def padded_attention__wrong_minus_1e9(query, key, value, lengths):
    """With -1e9 the padding still wins where all visible scores are -1e30; use minus infinity."""
    m = (torch.arange(key.shape[1]) < lengths[:, None])[:, None]
    s = (query @ key.mT / key.shape[-1] ** 0.5).masked_fill(~m, -1e9)
    return (s.softmax(-1) * m) @ value


def padded_attention__wrong_mean_for_empty(query, key, value, lengths):
    """For an empty sentence you return the mean of the padding; it is defined to be zeros."""
    m = (torch.arange(key.shape[1]) < lengths[:, None])[:, None]
    m = m | (lengths == 0)[:, None, None]
    s = query @ key.mT / key.shape[-1] ** 0.5
    return s.masked_fill(~m, -torch.inf).softmax(-1) @ value


def padded_attention__wrong_longest_for_all(query, key, value, lengths):
    """You cut the keys at the longest length for all examples, but each one has its own length."""
    n = int(lengths.max())
    k, v = key[:, :n], value[:, :n]
    out = (query @ k.mT / key.shape[-1] ** 0.5).softmax(-1) @ v
    return out * (lengths > 0)[:, None, None]


def padded_attention__right_by_cutting(query, key, value, lengths):
    outputs = []
    for q, k, v, n in zip(query, key, value, lengths.tolist()):
        scores = q @ k[:n].T / math.sqrt(k.shape[-1])
        outputs.append(scores.softmax(dim=-1) @ v[:n])
    return torch.stack(outputs)


# ---------------------------------------------------------------- the five suspects


def first_suspect__wrong_unchanged(query, key, value, mask):
    """Nothing is repaired: dim=1 is the axis of the queries."""
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=1)
    return weights @ value


def first_suspect__wrong_scale_repaired(query, key, value, mask):
    """You changed the scale, which was right; the axis of the softmax is still the wrong one."""
    scores = query @ key.transpose(1, 2) / key.shape[1] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=2)
    return weights @ value


def first_suspect__right_by_logsumexp(query, key, value, mask):
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = (scores - scores.logsumexp(dim=2, keepdim=True)).exp()
    return weights @ value


def second_suspect__wrong_no_minus_in_exponent(query, key, value, mask):
    """The exponent has lost its minus: you multiply by the root of d_key instead of dividing."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * key.shape[-1] ** 0.5
    hidden = torch.where(mask, 0.0, float("-inf"))
    return torch.einsum("bqk,bkv->bqv", torch.softmax(scores + hidden, dim=-1), value)


def second_suspect__wrong_number_of_keys(query, key, value, mask):
    """shape[-2] is the number of keys; the scale takes the width of a key, shape[-1]."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * key.shape[-2] ** -0.5
    hidden = torch.where(mask, 0.0, float("-inf"))
    return torch.einsum("bqk,bkv->bqv", torch.softmax(scores + hidden, dim=-1), value)


def second_suspect__wrong_hard_coded_half(query, key, value, mask):
    """0.5 is right for the example with d_key 4 only."""
    scores = torch.einsum("bqd,bkd->bqk", query, key) * 0.5
    hidden = torch.where(mask, 0.0, float("-inf"))
    return torch.einsum("bqk,bkv->bqv", torch.softmax(scores + hidden, dim=-1), value)


def second_suspect__right_by_one_einsum(query, key, value, mask):
    root = query.shape[-1] ** 0.25
    scores = torch.einsum("bqd,bkd->bqk", query / root, key / root)
    hidden = torch.log(mask.to(scores.dtype))
    return einsum(torch.softmax(scores + hidden, dim=-1), value, "b q k, b k v -> b q v")


def third_suspect__wrong_view(query, key, value, mask):
    """view does the same as reshape: it cuts the numbers anew and doesn't exchange the axes."""
    batch, keys, width = key.shape
    columns = key.contiguous().view(batch, width, keys) / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    return torch.softmax(scores, dim=2) @ value


def third_suspect__wrong_flip_then_reshape(query, key, value, mask):
    """permute(0, 2, 1) is right, but the scale is then taken of the number of keys."""
    batch, width, keys = key.permute(0, 2, 1).shape
    columns = key.permute(0, 2, 1) / keys**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    return torch.softmax(scores, dim=2) @ value


def third_suspect__wrong_scale_lost(query, key, value, mask):
    """In the repair the scale got lost."""
    columns = key.transpose(1, 2)
    scores = torch.where(mask, query @ columns, float("-inf"))
    return torch.softmax(scores, dim=2) @ value


def third_suspect__right_by_stacked_columns(query, key, value, mask):
    width = key.shape[2]
    columns = torch.stack(list(key.unbind(1)), dim=2) / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    return torch.softmax(scores, dim=2) @ value


def fourth_suspect__wrong_divided_by_sum(query, key, value, mask):
    """Dividing by the sum afterwards is not enough: where a hidden score is 1e30 larger, all other weights are 0 and you get 0 / 0."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value


def fourth_suspect__wrong_zero_scores(query, key, value, mask):
    """A hidden score of 0 still has exp(0) = 1; it must be minus infinity."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    weights = torch.softmax(scores.masked_fill(~mask, 0.0), dim=-1)
    return weights @ value


def fourth_suspect__wrong_minus_1e9(query, key, value, mask):
    """-1e9 is not small enough where the visible scores are -1e30."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)
    return weights @ value


def fourth_suspect__wrong_softmax_twice(query, key, value, mask):
    """You take a second softmax of the masked weights, but weights are not scores."""
    weights = torch.softmax((query / query.shape[-1] ** 0.5) @ key.mT, dim=-1)
    weights = weights.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights @ value


def fourth_suspect__right_by_rows(query, key, value, mask):
    scaled = query / query.shape[-1] ** 0.5
    rows = []
    for i, allowed in enumerate(mask):
        scores = torch.einsum("bd,bkd->bk", scaled[:, i], key[:, allowed])
        rows.append(torch.einsum("bk,bkv->bv", torch.softmax(scores, dim=-1), value[:, allowed]))
    return torch.stack(rows, dim=1)


def fifth_suspect__wrong_mul_in_place(query, key, value, mask):
    """mul_ is in place as well: the query of the caller still changes."""
    query.mul_(query.shape[-1] ** -0.5)
    scores = query @ key.mT
    scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__wrong_only_masked_fill_repaired(query, key, value, mask):
    """The masked_fill_ was harmless, the scores are yours; query /= is the line that changes the caller's tensor."""
    query /= query.shape[-1] ** 0.5
    scores = query @ key.mT
    scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__wrong_undone_afterwards(query, key, value, mask):
    """Multiplying back at the end leaves rounding errors in the caller's query; do not write to it at all."""
    query /= query.shape[-1] ** 0.5
    scores = query @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    output = scores.softmax(-1) @ value
    query *= query.shape[-1] ** 0.5
    return output


def fifth_suspect__wrong_scale_dropped(query, key, value, mask):
    """You removed the line and with it the scale."""
    scores = query @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__right_by_vmap(query, key, value, mask):
    def one(q, k, v):
        s = torch.where(mask, q @ k.T * q.shape[-1] ** -0.5, float("-inf"))
        return torch.softmax(s, dim=1) @ v

    return vmap(one)(query, key, value)


# ---------------------------------------------------------------- score_variances


def score_variances__wrong_biased(query, key):
    """You divide by m; the unbiased variance divides by m - 1."""
    p = (query * key).sum(-1)
    return torch.stack([p.var(unbiased=False), (p / query.shape[-1] ** 0.5).var(unbiased=False)])


def score_variances__wrong_all_pairs(query, key):
    """query @ key.T compares each row with all rows; row i belongs to row i only."""
    p = query @ key.T
    return torch.stack([p.var(), (p / query.shape[1] ** 0.5).var()])


def score_variances__wrong_divides_variance_by_root(query, key):
    """If the scores are divided by the root, the variance is divided by d_key; you divide the variance by the root."""
    v = torch.einsum("sd,sd->s", query, key).var()
    return torch.stack([v, v / query.shape[1] ** 0.5])


def score_variances__wrong_entries(query, key):
    """You take the variance of the single products, but one dot product is the sum over d_key."""
    p = query * key
    return torch.stack([p.var(), (p / query.shape[1] ** 0.5).var()])


def score_variances__wrong_mean_not_subtracted(query, key):
    """You assume that the mean is 0; the deviations are from the sample mean."""
    p = (query * key).sum(1)
    v = (p**2).sum() / (len(p) - 1)
    return torch.stack([v, v / query.shape[1]])


def score_variances__right_by_welford(query, key):
    count, mean, spread = 0, 0.0, 0.0
    for q, k in zip(query.double(), key.double()):
        product = torch.dot(q, k)
        count += 1
        step = product - mean
        mean = mean + step / count
        spread = spread + step * (product - mean)
    variance = spread / (count - 1)
    return torch.stack([variance, variance / query.shape[1]]).to(query.dtype)
