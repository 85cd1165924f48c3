# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import numpy as np
import torch
import torch.nn.functional as F
from einops import einsum, rearrange, repeat

# ---------------------------------------------------------------- map_to_rows


def map_to_rows__wrong_reshape(feature_map):
    """reshape does not bring the features of one pixel together, it cuts the first feature's map into rows."""
    b, c, h, w = feature_map.shape
    return feature_map.reshape(b, h * w, c)


def map_to_rows__wrong_down_first(feature_map):
    """Reads down the columns first; reading order is left to right and then down."""
    return rearrange(feature_map, "b c h w -> b (w h) c")


def map_to_rows__wrong_batch_mixed(feature_map):
    """The batch axis stands behind the pixels when the axes are joined, so with more than one picture the rows of several pictures are mixed."""
    b, c, h, w = feature_map.shape
    return feature_map.permute(2, 3, 0, 1).reshape(b, h * w, c)


def map_to_rows__wrong_argument_transposed(feature_map):
    """transpose_ with an underscore turns the axes of the caller's feature map itself."""
    return feature_map.transpose_(1, 2).transpose_(2, 3).flatten(1, 2)


def map_to_rows__wrong_relu(feature_map):
    """Applies a ReLU to the features, as the network before it does, so negative features are lost."""
    return F.relu(feature_map).flatten(2).mT


def map_to_rows__wrong_snake(feature_map):
    """Every second row of the map is read from right to left; reading order begins each row at the left."""
    rows = [line if i % 2 == 0 else line.flip(-1) for i, line in enumerate(feature_map.unbind(2))]
    return torch.cat(rows, dim=-1).mT


def map_to_rows__wrong_squeeze(feature_map):
    """squeeze() removes every axis of one: with one picture, one feature or one line of pixels the answer loses an axis or the pixels land in the wrong one."""
    flat = feature_map.flatten(2).squeeze()
    return flat.transpose(-1, -2) if flat.dim() > 1 else flat


def map_to_rows__right_unfold(feature_map):
    """F.unfold with windows of one pixel gives the columns, which are then transposed."""
    return F.unfold(feature_map, kernel_size=1).transpose(1, 2)


def map_to_rows__right_loops(feature_map):
    """Collects the pixels one by one in two nested loops."""
    _, _, height, width = feature_map.shape
    return torch.stack([feature_map[:, :, y, x] for y in range(height) for x in range(width)], dim=1)


# ---------------------------------------------------------------- additive_weights


def additive_weights__wrong_no_tanh(query, keys, query_weight, key_weight, score_weight):
    """The tanh is missing, and without it the query has no influence on the weights at all."""
    hidden = (query @ query_weight.T).unsqueeze(1) + keys @ key_weight.T
    return torch.softmax(hidden @ score_weight, dim=-1)


def additive_weights__wrong_tanh_of_each(query, keys, query_weight, key_weight, score_weight):
    """Takes the tanh of each projection and adds afterwards; the sum has to come first."""
    hidden = torch.tanh(query @ query_weight.T).unsqueeze(1) + torch.tanh(keys @ key_weight.T)
    return torch.softmax(hidden @ score_weight, dim=-1)


def additive_weights__wrong_softmax_over_batch(query, keys, query_weight, key_weight, score_weight):
    """The softmax runs over axis 0, the pictures, so they influence each other."""
    hidden = torch.tanh((query @ query_weight.T).unsqueeze(1) + keys @ key_weight.T)
    return torch.softmax(hidden @ score_weight, dim=0)


def additive_weights__wrong_queries_mixed(query, keys, query_weight, key_weight, score_weight):
    """The copies of the queries are made along the batch and cut anew, so with more than one picture a location gets the query of another picture."""
    b, n, _ = keys.shape
    q = (query @ query_weight.T).repeat(n, 1).reshape(b, n, -1)
    return torch.softmax(torch.tanh(q + keys @ key_weight.T) @ score_weight, dim=-1)


def additive_weights__wrong_scaled(query, keys, query_weight, key_weight, score_weight):
    """Divides the scores by the root of the width, which belongs to the scaled dot product and not here."""
    hidden = torch.tanh((query @ query_weight.T).unsqueeze(1) + keys @ key_weight.T)
    return torch.softmax(hidden @ score_weight / math.sqrt(score_weight.shape[0]), dim=-1)


def additive_weights__wrong_normalised_score_weight(query, keys, query_weight, key_weight, score_weight):
    """Normalises v_a to length 1, an option of a library's Bahdanau attention that the formula does not have."""
    v = score_weight / score_weight.norm()
    hidden = torch.tanh((query @ query_weight.T).unsqueeze(1) + keys @ key_weight.T)
    return torch.softmax(hidden @ v, dim=-1)


def additive_weights__wrong_overflow(query, keys, query_weight, key_weight, score_weight):
    """A softmax by hand without subtracting the maximum: with a large v_a the exponentials overflow to nan."""
    hidden = torch.tanh(
        einsum(query, query_weight, "b q, h q -> b h")[:, None] + einsum(keys, key_weight, "b n k, h k -> b n h")
    )
    e = torch.exp(hidden @ score_weight)
    return e / e.sum(dim=1, keepdim=True)


def additive_weights__wrong_shared_query(query, keys, query_weight, key_weight, score_weight):
    """The mean of all queries is used for every picture, so one picture has an influence on the others."""
    q = (query @ query_weight.T).mean(dim=0)
    return torch.softmax(torch.tanh(q + keys @ key_weight.T) @ score_weight, dim=-1)


def additive_weights__right_concatenated(query, keys, query_weight, key_weight, score_weight):
    """Joins query and key to one vector and both projections to one matrix."""
    both = torch.cat([repeat(query, "b q -> b n q", n=keys.shape[1]), keys], dim=-1)
    matrix = torch.cat([query_weight, key_weight], dim=1)
    return F.softmax(F.linear(torch.tanh(F.linear(both, matrix)), score_weight[None]).squeeze(-1), dim=1)


def additive_weights__right_vmap_columns(query, keys, query_weight, key_weight, score_weight):
    """The printed formula for one query and one key, mapped over locations and pictures in double precision."""
    w_q, w_k, v = query_weight.double(), key_weight.double(), score_weight.double()

    def score(q, k):
        return torch.dot(v, torch.tanh(w_q @ q + w_k @ k))

    scores = torch.vmap(torch.vmap(score, in_dims=(None, 0)))(query.double(), keys.double())
    e = torch.exp(scores - scores.amax(dim=1, keepdim=True))
    return (e / e.sum(dim=1, keepdim=True)).to(keys.dtype)


# ---------------------------------------------------------------- attend


def attend__wrong_mean(weights, values):
    """Divides by the number of locations although the weights already sum to one."""
    return (weights.unsqueeze(-1) * values).mean(dim=1)


def attend__wrong_softmax_again(weights, values):
    """Applies another softmax to what is already weights."""
    return einsum(torch.softmax(weights, dim=-1), values, "b n, b n d -> b d")


def attend__wrong_first_weights_for_all(weights, values):
    """The product pairs every row of weights with every picture, and the index keeps the weights of picture 0 for all of them."""
    return torch.matmul(weights, values)[:, 0]


def attend__wrong_squeeze(weights, values):
    """squeeze() without an axis also removes a batch of one and values of width one."""
    return (weights[:, None, :] @ values).squeeze()


def attend__wrong_values_in_place(weights, values):
    """*= multiplies the caller's values by the weights."""
    values *= weights.unsqueeze(-1)
    return values.sum(dim=1)


def attend__wrong_top_five(weights, values):
    """Keeps the five largest weights only, which is wrong as soon as a picture has more locations with weight."""
    k = min(5, weights.shape[1])
    top, where = weights.topk(k, dim=1)
    chosen = torch.gather(values, 1, where[..., None].expand(-1, -1, values.shape[-1]))
    top = top / top.sum(dim=1, keepdim=True)
    return (top[..., None] * chosen).sum(dim=1)


def attend__wrong_axis_summed(weights, values):
    """Sums over the features instead of over the locations, so the shape is (batch, location)."""
    return (weights.unsqueeze(-1) * values).sum(dim=-1)


def attend__wrong_hard(weights, values):
    """Reads only the location with the largest weight, which is right for one-hot weights and for no others."""
    return values[torch.arange(len(values)), weights.argmax(dim=-1)]


def attend__right_baddbmm(weights, values):
    """A batched product of the transposed values with the weights as columns."""
    columns = weights.unsqueeze(2)
    start = values.new_zeros(values.shape[0], values.shape[2], 1)
    return torch.baddbmm(start, values.mT, columns)[:, :, 0]


def attend__right_numpy_loop(weights, values):
    """Adds location by location in numpy, in double precision."""
    w, v = weights.detach().numpy().astype(np.float64), values.detach().numpy().astype(np.float64)
    context = np.zeros((v.shape[0], v.shape[2]))
    for location in range(v.shape[1]):
        context += w[:, location, np.newaxis] * v[:, location]
    return torch.from_numpy(context).to(values.dtype)


# ---------------------------------------------------------------- coverage_penalty


def coverage_penalty__wrong_sum_over_locations(weights):
    """Sums the weights of each word over the locations, which is always one, instead of the weights of each location over the words."""
    return ((1 - weights.sum(dim=2)) ** 2).sum(dim=1)


def coverage_penalty__wrong_mean(weights):
    """The mean of the squared gaps over the locations instead of their sum."""
    return ((1 - weights.sum(dim=1)) ** 2).mean(dim=-1)


def coverage_penalty__wrong_whole_batch(weights):
    """Adds the penalties of all pictures together and gives every picture the total."""
    penalty = ((1 - weights.sum(dim=1)) ** 2).sum()
    return penalty.expand(weights.shape[0])


def coverage_penalty__wrong_absolute(weights):
    """The absolute gaps instead of the squared ones."""
    return (1 - weights.sum(dim=1)).abs().sum(dim=-1)


def coverage_penalty__wrong_square_inside(weights):
    """Squares the gap of every single weight before the sum over the words; the sum over the words has to come first."""
    return ((1 - weights) ** 2).sum(dim=(1, 2))


def coverage_penalty__wrong_only_neglected(weights):
    """Counts only locations with too little weight; those with more than one are let off, although their gap is squared too."""
    return F.relu(1 - weights.sum(dim=1)).pow(2).sum(dim=-1)


def coverage_penalty__wrong_fair_share(weights):
    """Compares with the fair share, words over locations, instead of with one."""
    _, time, location = weights.shape
    return ((time / location - weights.sum(dim=1)) ** 2).sum(dim=-1)


def coverage_penalty__wrong_total_is_a_view(weights):
    """total is a view of the first word's weights, so += adds all words into the caller's tensor."""
    total = weights[:, 0]
    for t in range(1, weights.shape[1]):
        total += weights[:, t]
    return (1 - total).square().sum(dim=1)


def coverage_penalty__wrong_root(weights):
    """Takes the root of the sum, the Euclidean length of the gaps, where the sum of squares was asked for."""
    return torch.linalg.vector_norm(1 - weights.sum(dim=1), dim=-1)


def coverage_penalty__right_loops(weights):
    """Plain Python floats: a running total for each location."""
    penalties = []
    for picture in weights.tolist():
        totals = [math.fsum(column) for column in zip(*picture)]
        penalties.append(math.fsum((1.0 - total) ** 2 for total in totals))
    return torch.tensor(penalties, dtype=weights.dtype)


def coverage_penalty__right_dot_product(weights):
    """The dot product of the gaps with themselves, the gaps from an einsum with ones."""
    ones = weights.new_ones(weights.shape[1])
    gap = 1 - torch.einsum("btn,t->bn", weights, ones)
    return torch.einsum("bn,bn->b", gap, gap)


# ---------------------------------------------------------------- hard_attention_gradient


def hard_attention_gradient__wrong_probability_factor(scores, index, reward, baseline):
    """Differentiates p instead of log p: the factor p is computed although the sampling already brings it in."""
    p = torch.softmax(scores, dim=-1)
    one_hot = F.one_hot(index, scores.shape[-1]).to(scores.dtype)
    p_index = p.gather(1, index[:, None])
    return (reward - baseline)[:, None] * p_index * (one_hot - p)


def hard_attention_gradient__wrong_sign(scores, index, reward, baseline):
    """The gradient of the loss, minus the reward, so every entry has the wrong sign."""
    p = torch.softmax(scores, dim=-1)
    one_hot = F.one_hot(index, scores.shape[-1]).to(scores.dtype)
    return (reward - baseline)[:, None] * (p - one_hot)


def hard_attention_gradient__wrong_baseline_from_gradient(scores, index, reward, baseline):
    """Subtracts the baseline from the finished gradient instead of from the reward, so the rows no longer sum to zero."""
    p = torch.softmax(scores, dim=-1)
    one_hot = F.one_hot(index, scores.shape[-1]).to(scores.dtype)
    return reward[:, None] * (one_hot - p) - baseline


def hard_attention_gradient__wrong_batch_mean(scores, index, reward, baseline):
    """Differentiates the mean over the batch, so every estimate is divided by the number of pictures."""
    s = scores.detach().clone().requires_grad_()
    log_p = torch.log_softmax(s, dim=-1)[torch.arange(len(index)), index]
    objective = ((reward - baseline) * log_p).mean()
    return torch.autograd.grad(objective, s)[0]


def hard_attention_gradient__wrong_gradient_accumulates(scores, index, reward, baseline):
    """Turns on the gradient of the caller's scores and lets .grad add up, so a second call with the same scores returns the sum of two estimates."""
    scores.requires_grad_()
    log_p = torch.log_softmax(scores, dim=-1).gather(1, index[:, None]).squeeze(1)
    ((reward - baseline) * log_p).sum().backward()
    return scores.grad.clone()


def hard_attention_gradient__wrong_columns_of_all(scores, index, reward, baseline):
    """p[:, index] marks the sampled locations of all pictures in every row, which is right for one picture only."""
    out = -torch.softmax(scores, dim=-1)
    out[:, index] += 1
    return (reward - baseline)[:, None] * out


def hard_attention_gradient__wrong_best_location(scores, index, reward, baseline):
    """Uses the location with the largest score instead of the one that was sampled."""
    p = torch.softmax(scores, dim=-1)
    one_hot = F.one_hot(p.argmax(dim=-1), scores.shape[-1]).to(scores.dtype)
    return (reward - baseline)[:, None] * (one_hot - p)


def hard_attention_gradient__wrong_sampled_entry_only(scores, index, reward, baseline):
    """Fills in the entry of the sampled location only; the log-probability depends on the other scores as well."""
    p = torch.softmax(scores, dim=-1)
    one_hot = F.one_hot(index, scores.shape[-1]).to(scores.dtype)
    return (reward - baseline)[:, None] * one_hot * (1 - p)


def hard_attention_gradient__wrong_clipped_advantage(scores, index, reward, baseline):
    """Throws away rewards below the baseline, so the mean of the estimates is no longer the gradient."""
    p = torch.softmax(scores, dim=-1)
    one_hot = F.one_hot(index, scores.shape[-1]).to(scores.dtype)
    advantage = (reward - baseline).clamp(min=0)
    return advantage[:, None] * (one_hot - p)


def hard_attention_gradient__right_vmap_grad(scores, index, reward, baseline):
    """torch.func.grad of the log-probability of one picture, mapped over the batch."""

    def log_probability(s, i):
        return (torch.log_softmax(s, dim=0) * (torch.arange(s.shape[0]) == i)).sum()

    gradient = torch.vmap(torch.func.grad(log_probability))(scores, index)
    return gradient * (reward - baseline).unsqueeze(1)


def hard_attention_gradient__right_scatter(scores, index, reward, baseline):
    """Minus the advantage times the weights, and then the advantage added at the sampled entry by scatter_add, in double precision."""
    advantage = (reward.double() - baseline)[:, None]
    estimate = -advantage * torch.softmax(scores.detach().double(), dim=1)
    return estimate.scatter_add(1, index.long()[:, None], advantage).to(scores.dtype)
