# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch
from einops import rearrange


def scaled_dot_product_attention__wrong_large_number(query, key, value, mask):
    """Puts -1e9 where a key is hidden, which is above visible scores of -1e30."""
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_renormalised(query, key, value, mask):
    """Hides the keys behind the softmax and renormalises, which is 0 / 0 where a hidden score is far above the others."""
    scores = torch.einsum("...qd,...kd->...qk", query, key) * key.shape[-1] ** -0.5
    weights = scores.softmax(-1) * mask
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights


def scaled_dot_product_attention__wrong_score_zero(query, key, value, mask):
    """Multiplies the scores by the mask, so a hidden key has the score 0 and a weight."""
    scores = (query @ key.mT) / key.shape[-1] ** 0.5 * mask
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def scaled_dot_product_attention__right_smallest_float(query, key, value, mask):
    """Right: scales query and key by the fourth root of the width each and hides by the smallest float32."""
    root = key.shape[-1] ** 0.25
    scores = torch.einsum("...qd,...kd->...qk", query / root, key / root)
    scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def causal_weights__wrong_large_number(scores):
    """Puts -1e9 above the diagonal, which is more than visible scores of -1e30."""
    time = scores.shape[-1]
    past = torch.tril(torch.ones(time, time)).bool()
    return torch.softmax(scores.masked_fill(~past, -1e9), dim=-1)


def causal_weights__wrong_zeros(scores):
    """Sets the scores of the future to 0, which the softmax gives a weight."""
    return scores.tril().softmax(dim=-1)


def causal_weights__wrong_one_too_far(scores):
    """Lets every position see the one that follows."""
    n = scores.shape[-1]
    future = torch.ones(n, n, dtype=torch.bool).triu(2)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)


def causal_weights__wrong_in_place(scores):
    """Puts minus infinity into the caller's scores."""
    n = scores.shape[-1]
    future = torch.ones(n, n).triu(diagonal=1) == 1
    scores.masked_fill_(future, float("-inf"))
    return scores.softmax(dim=-1)


def causal_weights__right_row_by_row(scores):
    """Right: takes the softmax of the first t + 1 scores of row t and leaves zeros behind them."""
    weights = torch.zeros_like(scores)
    for t in range(scores.shape[-1]):
        weights[..., t, : t + 1] = torch.softmax(scores[..., t, : t + 1], dim=-1)
    return weights


def padded_attention__wrong_one_too_many(query, key, value, lengths):
    """Counts one key too many, because it compares with <= and not with <."""
    scores = query @ key.mT / key.shape[-1] ** 0.5
    mask = (torch.arange(key.shape[1]) <= lengths[:, None])[:, None, :]
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return (weights @ value) * (lengths > 0)[:, None, None]


def padded_attention__wrong_nan_gradient(query, key, value, lengths):
    """Replaces the nan of an empty sentence behind the softmax, which leaves nan in the gradients."""
    mask = torch.arange(key.shape[1])[None, None, :] < lengths[:, None, None]
    scores = torch.einsum("bqd,bkd->bqk", query, key) / key.shape[-1] ** 0.5
    scores = scores + torch.where(mask, 0.0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    weights = weights.masked_fill(~mask, 0.0)
    return torch.nan_to_num(weights @ value)


def padded_attention__wrong_padding_zeroed(query, key, value, lengths):
    """Sets keys and values of the padding to 0, which leaves them a score of 0 and so a weight."""
    mask = (torch.arange(key.shape[1]) < lengths[:, None])[:, :, None]
    key = key.masked_fill(~mask, 0.0)
    value = value.masked_fill(~mask, 0.0)
    weights = torch.softmax(query @ key.mT / key.shape[2] ** 0.5, dim=2)
    return weights @ value


def padded_attention__wrong_longest(query, key, value, lengths):
    """Cuts all sentences at the length of the longest one, so shorter ones attend to padding."""
    n = int(lengths.max())
    key, value = key[:, :n], value[:, :n]
    weights = (query @ key.mT / key.shape[-1] ** 0.5).softmax(-1)
    return (weights @ value) * (lengths > 0).float()[:, None, None]


def padded_attention__right_cut_off(query, key, value, lengths):
    """Right: cuts each example off at its own length, where a product over no keys is zeros."""
    outputs = []
    for b, n in enumerate(lengths.tolist()):
        scores = query[b] @ key[b, :n].T / key.shape[-1] ** 0.5
        outputs.append(torch.softmax(scores, dim=-1) @ value[b, :n])
    return torch.stack(outputs)


def first_suspect__wrong_two_axes(query, key, value, mask):
    """Takes the softmax over queries and keys together, which is right for one query only."""
    scores = query @ key.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.flatten(1).softmax(dim=1).view_as(scores)
    output = weights @ value
    return output


def first_suspect__right_transposed(query, key, value, mask):
    """Right: keeps the softmax over axis 1, after it has put the keys there."""
    scores = key @ query.transpose(1, 2) / key.shape[2] ** 0.5
    scores = scores.masked_fill(~mask.T, float("-inf"))
    weights = scores.softmax(dim=1)
    return weights.transpose(1, 2) @ value


def second_suspect__wrong_number_of_keys(query, key, value, mask):
    """Scales by the root of the number of keys and not of their width."""
    scores = torch.einsum("bqd,bkd->bqk", query, key)
    scores = scores * key.shape[-2] ** -0.5
    hidden = torch.where(mask, 0.0, float("-inf"))
    weights = torch.softmax(scores + hidden, dim=-1)
    output = torch.einsum("bqk,bkv->bqv", weights, value)
    return output


def second_suspect__right_batch_loop(query, key, value, mask):
    """Right: repairs the width in the scale, and goes through the batch one example at a time."""
    hidden = torch.where(mask, 0.0, float("-inf"))
    outputs = []
    for q, k, v in zip(query, key, value):
        scores = torch.einsum("qd,kd->qk", q, k) * k.shape[-1] ** -0.5
        outputs.append(torch.softmax(scores + hidden, dim=-1) @ v)
    return torch.stack(outputs)


def third_suspect__wrong_width_renamed(query, key, value, mask):
    """Transposes the keys, but then takes the width from the wrong axis of the columns."""
    columns = key.mT
    _, _, width = columns.shape
    scores = torch.where(mask, query @ columns / width**0.5, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    return weights @ value


def third_suspect__right_rearrange(query, key, value, mask):
    """Right: exchanges the axes of the keys by rearrange."""
    width = key.shape[2]
    columns = rearrange(key, "b k d -> b d k") / width**0.5
    scores = torch.where(mask, query @ columns, float("-inf"))
    return torch.softmax(scores, dim=2) @ value


def fourth_suspect__wrong_renormalised(query, key, value, mask):
    """Divides the remaining weights by their sum, which is 0 / 0 where a hidden score is 1e30 above the others."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    weights = torch.softmax(scores, dim=-1)
    weights = weights.masked_fill(~mask, 0.0)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    output = weights @ value
    return output


def fourth_suspect__wrong_below_smallest(query, key, value, mask):
    """Fills with a number just below the smallest score, which still gets a weight where the scores are close together or huge."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    scores = scores.masked_fill(~mask, scores.min().item() - 10)
    weights = torch.softmax(scores, dim=-1)
    output = weights @ value
    return output


def fourth_suspect__right_shown_maximum(query, key, value, mask):
    """Right: subtracts the largest visible score, and only then exponentiates what is visible."""
    scores = (query / query.shape[-1] ** 0.5) @ key.mT
    scores = torch.where(mask, scores, -torch.inf)
    highest = scores.max(dim=-1, keepdim=True).values
    e = torch.exp(scores - highest)
    return (e @ value) / e.sum(dim=-1, keepdim=True)


def fifth_suspect__wrong_multiplied_back(query, key, value, mask):
    """Scales the caller's query and multiplies it back, which rounds its last digits."""
    root = query.shape[-1] ** 0.5
    query /= root
    scores = query @ key.mT
    query *= root
    scores.masked_fill_(~mask, float("-inf"))
    output = scores.softmax(-1) @ value
    return output


def fifth_suspect__wrong_keys_instead(query, key, value, mask):
    """Scales the keys in place, so now it is the keys of the caller that change."""
    key /= query.shape[-1] ** 0.5
    scores = query @ key.mT
    scores.masked_fill_(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def fifth_suspect__right_scores_in_place(query, key, value, mask):
    """Right: works in place, but on its own scores alone."""
    scores = query @ key.mT
    scores.div_(query.shape[-1] ** 0.5)
    scores.masked_fill_(~mask, float("-inf"))
    return scores.softmax(-1) @ value


def score_variances__wrong_sum_of_variances(query, key):
    """Adds the variances of the products of single entries, which leaves out how they vary together."""
    plain = (query * key).var(dim=0).sum()
    return torch.stack([plain, plain / query.shape[1]])


def score_variances__wrong_divides_by_m(query, key):
    """Divides by the number of samples and not by one less."""
    products = torch.einsum("sd,sd->s", query, key)
    plain = ((products - products.mean()) ** 2).mean()
    return torch.stack([plain, plain / query.shape[-1]])


def score_variances__wrong_mean_is_zero(query, key):
    """Takes the mean of the dot products for 0, because the theory says so."""
    products = (query * key).sum(1)
    plain = products.square().sum() / (len(products) - 1)
    return torch.stack([plain, plain / key.shape[1]])


def score_variances__right_differences(query, key):
    """Right: half the sum of squared differences of all pairs of samples, over the number of pairs in order."""
    products = (query * key).sum(dim=1)
    m = products.shape[0]
    scaled = products / query.shape[1] ** 0.5
    return torch.stack([(x[:, None] - x).square().sum() / (2 * m * (m - 1)) for x in (products, scaled)])
