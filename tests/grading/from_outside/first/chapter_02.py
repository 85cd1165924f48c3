# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import torch
from einops import rearrange
from torch.func import grad, vmap
from torch.nn import functional as F

# ---------------------------------------------------------------- map_to_rows


def map_to_rows__wrong_reshape_only(feature_map):
    """reshape alone doesn't move the features to the end, a row then holds neighbour pixels of one feature."""
    b, d, h, w = feature_map.shape
    return feature_map.reshape(b, h * w, d)


def map_to_rows__wrong_column_order(feature_map):
    """(width height) reads the picture column by column; in reading order the width runs fastest."""
    return rearrange(feature_map, "b d h w -> b (w h) d")


def map_to_rows__wrong_features_stay_in_front(feature_map):
    """You forgot to transpose after flatten: the answer is (batch, d_feature, pixels)."""
    return feature_map.flatten(2)


def map_to_rows__wrong_swaps_feature_and_width(feature_map):
    """transpose(1, 3) gives (batch, width, height, feature), so the rows are not in reading order."""
    return feature_map.transpose(1, 3).flatten(1, 2)


def map_to_rows__right_by_two_loops(feature_map):
    _, _, height, width = feature_map.shape
    rows = [feature_map[:, :, y, x] for y in range(height) for x in range(width)]
    return torch.stack(rows, dim=1)


# ---------------------------------------------------------------- additive_weights


def additive_weights__wrong_softmax_over_batch(query, keys, query_weight, key_weight, score_weight):
    """dim=0 is the batch; the weights of one picture must sum to one along the locations."""
    hidden = torch.tanh((query @ query_weight.T)[:, None] + keys @ key_weight.T)
    return (hidden @ score_weight).softmax(dim=0)


def additive_weights__wrong_no_tanh(query, keys, query_weight, key_weight, score_weight):
    """The tanh is missing, and without it the query adds the same number to all scores and has no effect."""
    hidden = (query @ query_weight.T).unsqueeze(1) + keys @ key_weight.T
    return torch.softmax(hidden @ score_weight, dim=1)


def additive_weights__wrong_two_tanhs(query, keys, query_weight, key_weight, score_weight):
    """The tanh must be taken of the sum, you take it of both parts and then add."""
    q = torch.tanh(query @ query_weight.T)
    k = torch.tanh(keys @ key_weight.T)
    s = (q[:, None, :] + k) @ score_weight
    return s.softmax(-1)


def additive_weights__wrong_returns_scores(query, keys, query_weight, key_weight, score_weight):
    """These are the scores; the softmax over the locations is missing."""
    hidden = torch.tanh((query @ query_weight.T)[:, None] + keys @ key_weight.T)
    return torch.einsum("blh,h->bl", hidden, score_weight)


def additive_weights__wrong_bare_squeeze(query, keys, query_weight, key_weight, score_weight):
    """squeeze() without a number also removes the batch or the location axis if it has the size one."""
    hidden = torch.tanh(F.linear(query, query_weight)[:, None] + F.linear(keys, key_weight))
    scores = (hidden @ score_weight[:, None]).squeeze()
    return torch.softmax(scores, dim=-1)


def additive_weights__right_by_joined_weight(query, keys, query_weight, key_weight, score_weight):
    n = keys.shape[1]
    joined = torch.cat([query[:, None].expand(-1, n, -1), keys], dim=2)
    weight = torch.cat([query_weight, key_weight], dim=1)
    scores = (F.linear(joined, weight).tanh() * score_weight).sum(2)
    return (scores - scores.logsumexp(1, keepdim=True)).exp()


# ---------------------------------------------------------------- attend


def attend__wrong_mean(weights, values):
    """The weights sum to one already; mean divides by the number of locations once more."""
    return (weights[..., None] * values).mean(dim=1)


def attend__wrong_softmax_again(weights, values):
    """The weights are given; a second softmax changes them."""
    w = weights.softmax(dim=1)
    return torch.einsum("bl,bld->bd", w, values)


def attend__wrong_bare_squeeze(weights, values):
    """squeeze() without an axis also removes a batch or a d_value of size one."""
    return (weights.unsqueeze(1) @ values).squeeze()


def attend__wrong_in_place(weights, values):
    """values *= ... changes the values of the caller; make a new tensor."""
    values *= weights[:, :, None]
    return values.sum(1)


def attend__wrong_reshaped_values(weights, values):
    """reshape is no transpose: it mixes the features of different locations, right only where d_value (or the number of locations) is 1."""
    b, n, d = values.shape
    return (values.reshape(b, d, n) @ weights[..., None]).squeeze(-1)


def attend__right_by_accumulating(weights, values):
    context = torch.zeros_like(values[:, 0])
    for location in range(values.shape[1]):
        context = torch.addcmul(context, weights[:, location : location + 1], values[:, location])
    return context


# ---------------------------------------------------------------- coverage_penalty


def coverage_penalty__wrong_mean_over_locations(weights):
    """The squares are summed over the locations, you take their mean."""
    return (1 - weights.sum(dim=1)).pow(2).mean(dim=1)


def coverage_penalty__wrong_sum_over_locations_first(weights):
    """You sum over the locations first, which is always one; the sum inside runs over the time."""
    return ((1 - weights.sum(dim=2)) ** 2).sum(dim=1)


def coverage_penalty__wrong_square_inside(weights):
    """You square each weight's gap and then sum over the time; first sum over the time, then square."""
    return ((1 - weights) ** 2).sum(dim=(1, 2))


def coverage_penalty__wrong_absolute_gap(weights):
    """You take the absolute gap, the formula squares it."""
    return torch.abs(1 - weights.sum(1)).sum(1)


def coverage_penalty__wrong_only_too_little(weights):
    """relu forgets the locations that got more than one; they have a gap too."""
    return torch.relu(1 - weights.sum(dim=1)).square().sum(-1)


def coverage_penalty__right_by_expanded_square(weights):
    totals = torch.einsum("btl->bl", weights.double())
    n = weights.shape[-1]
    penalty = n - 2 * totals.sum(1) + torch.einsum("bl,bl->b", totals, totals)
    return penalty.to(weights.dtype)


# ---------------------------------------------------------------- hard_attention_gradient


def hard_attention_gradient__wrong_sign(scores, index, reward, baseline):
    """The sign is wrong: the sampled location gets 1 - p, the others -p."""
    p = scores.softmax(dim=1)
    return (reward - baseline)[:, None] * (p - F.one_hot(index, scores.shape[1]))


def hard_attention_gradient__wrong_times_p(scores, index, reward, baseline):
    """You multiply by the probability of the sample, but the sampling itself supplies this factor already."""
    p = scores.softmax(dim=1)
    picked = p.gather(1, index[:, None])
    return (reward - baseline)[:, None] * picked * (F.one_hot(index, scores.shape[1]) - p)


def hard_attention_gradient__wrong_no_baseline(scores, index, reward, baseline):
    """The baseline is not subtracted from the reward."""
    p = torch.softmax(scores, 1)
    g = -p
    g[torch.arange(len(index)), index] += 1
    return g * reward[:, None]


def hard_attention_gradient__wrong_only_sampled(scores, index, reward, baseline):
    """The other scores have a derivative too, -p: the row has to sum to zero."""
    p = scores.softmax(dim=-1)
    one = F.one_hot(index, scores.shape[-1])
    return (reward - baseline).unsqueeze(1) * one * (1 - p)


def hard_attention_gradient__wrong_mean_over_batch(scores, index, reward, baseline):
    """mean() before backward divides the gradient by the batch; each row has its own estimate, so use the sum."""
    s = scores.detach().clone().requires_grad_()
    lp = s.log_softmax(1).gather(1, index[:, None])[:, 0]
    ((reward - baseline) * lp).mean().backward()
    return s.grad


def hard_attention_gradient__wrong_baseline_only_on_sampled(scores, index, reward, baseline):
    """The baseline must be subtracted from the reward in all entries; you subtract it from the one-hot part only."""
    p = scores.softmax(1)
    one = F.one_hot(index, scores.shape[1])
    return (reward - baseline)[:, None] * one - reward[:, None] * p


def hard_attention_gradient__right_by_func_grad(scores, index, reward, baseline):
    def estimate(s, r, chosen):
        return (r - baseline) * ((chosen * s).sum() - torch.logsumexp(s, dim=0))

    chosen = (torch.arange(scores.shape[1]) == index[:, None]).to(scores.dtype)
    return vmap(grad(estimate))(scores, reward, chosen)
