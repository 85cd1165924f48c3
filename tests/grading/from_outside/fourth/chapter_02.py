# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110


import torch
import torch.nn.functional as F
from einops import einsum

# 02.1 map_to_rows


def map_to_rows__wrong_reshape(feature_map):
    """Reshapes without moving the features to the end."""
    batch, d_feature, height, width = feature_map.shape
    return feature_map.reshape(batch, height * width, d_feature)


def map_to_rows__wrong_columns_first(feature_map):
    """Reads the map column by column, downwards and then to the right."""
    return feature_map.permute(0, 3, 2, 1).flatten(1, 2)


def map_to_rows__right_pixel_by_pixel(feature_map):
    """Right: two loops over the pixels, stacked in reading order."""
    _, _, height, width = feature_map.shape
    rows = []
    for y in range(height):
        for x in range(width):
            rows.append(feature_map[:, :, y, x])
    return torch.stack(rows, dim=1)


# 02.2 additive_weights


def additive_weights__wrong_two_tanh(query, keys, query_weight, key_weight, score_weight):
    """Takes the tanh of both projections before they are added."""
    hidden = torch.tanh(query @ query_weight.T)[:, None, :] + torch.tanh(keys @ key_weight.T)
    return torch.softmax(hidden @ score_weight, dim=-1)


def additive_weights__wrong_scaled(query, keys, query_weight, key_weight, score_weight):
    """Divides the scores by the root of the width, which is 1 in the examples."""
    hidden = torch.tanh((query @ query_weight.T)[:, None, :] + keys @ key_weight.T)
    scores = hidden @ score_weight / hidden.shape[-1] ** 0.5
    return scores.softmax(dim=-1)


def additive_weights__wrong_query_axis(query, keys, query_weight, key_weight, score_weight):
    """Puts the new axis of the query in front, so with batch = location the pictures are mixed."""
    hidden = torch.tanh((query @ query_weight.T)[None, :, :] + keys @ key_weight.T)
    return torch.softmax(hidden @ score_weight, dim=1)


def additive_weights__wrong_not_transposed(query, keys, query_weight, key_weight, score_weight):
    """Multiplies by the matrices without transposing them, which works for width 1 only."""
    hidden = torch.tanh((query @ query_weight)[:, None, :] + keys @ key_weight)
    return torch.softmax(hidden @ score_weight, dim=1)


def additive_weights__right_one_projection(query, keys, query_weight, key_weight, score_weight):
    """Right: puts query and key in one vector and both matrices side by side."""
    locations = keys.shape[1]
    both = torch.cat([query[:, None, :].expand(-1, locations, -1), keys], dim=-1)
    weight = torch.cat([query_weight, key_weight], dim=1)
    scores = torch.tanh(F.linear(both, weight)) @ score_weight
    return F.softmax(scores, dim=-1)


def additive_weights__right_loops(query, keys, query_weight, key_weight, score_weight):
    """Right: the formula for one picture and one location at a time."""
    rows = []
    for q, ks in zip(query, keys):
        scores = [torch.dot(score_weight, torch.tanh(query_weight @ q + key_weight @ k)) for k in ks]
        rows.append(torch.stack(scores).softmax(dim=0))
    return torch.stack(rows)


# 02.3 attend


def attend__wrong_weights_on_features(weights, values):
    """Multiplies the features by the weights, which runs where location and d_value agree."""
    return (weights[:, None, :] * values).sum(dim=1)


def attend__wrong_matmul_broadcast(weights, values):
    """Takes the weights for one matrix, so that every picture is read with the weights of all."""
    return weights @ values


def attend__wrong_values_in_place(weights, values):
    """Multiplies the values of the caller in place."""
    values *= weights.unsqueeze(-1)
    return values.sum(dim=1)


def attend__right_transposed_product(weights, values):
    """Right: the transposed values times a column of weights."""
    return torch.matmul(values.transpose(1, 2), weights.unsqueeze(2)).squeeze(2)


# 02.4 coverage_penalty


def coverage_penalty__wrong_sum_over_locations(weights):
    """Sums over the locations first, where the total is always one, and gets zero."""
    return ((1 - weights.sum(dim=2)) ** 2).sum(dim=1)


def coverage_penalty__wrong_absolute(weights):
    """Takes absolute gaps instead of squares."""
    return (1 - weights.sum(dim=1)).abs().sum(dim=1)


def coverage_penalty__wrong_one_sided(weights):
    """Penalizes only the locations that received too little."""
    gaps = torch.relu(1 - weights.sum(dim=1))
    return gaps.square().sum(dim=-1)


def coverage_penalty__wrong_square_of_sum(weights):
    """Squares the sum of the gaps instead of summing their squares."""
    return (1 - weights.sum(dim=1)).sum(dim=1) ** 2


def coverage_penalty__right_mse(weights):
    """Right: squared errors against a tensor of ones, one sum for each picture."""
    total = einsum(weights, "batch time location -> batch location")
    return F.mse_loss(total, torch.ones_like(total), reduction="none").sum(dim=-1)


# 02.5 hard_attention_gradient


def hard_attention_gradient__wrong_probability_left_in(scores, index, reward, baseline):
    """Keeps the factor p of the sampled location, which the sampling contains already."""
    p = scores.softmax(dim=1)
    chosen = p.gather(1, index[:, None])
    return (reward - baseline)[:, None] * chosen * (F.one_hot(index, scores.shape[1]) - p)


def hard_attention_gradient__wrong_advantage_axis(scores, index, reward, baseline):
    """Forgets the new axis of the reward, which runs where batch and location agree."""
    direction = F.one_hot(index, scores.shape[1]) - scores.softmax(dim=1)
    return (reward - baseline) * direction


def hard_attention_gradient__wrong_batch_mean(scores, index, reward, baseline):
    """Averages over the batch before the gradient, so every estimate is divided by the batch."""
    copy = scores.detach().clone().requires_grad_()
    chosen = copy.log_softmax(dim=1).gather(1, index[:, None])[:, 0]
    objective = ((reward - baseline) * chosen).mean()
    return torch.autograd.grad(objective, copy)[0]


def hard_attention_gradient__wrong_accumulates(scores, index, reward, baseline):
    """Calls backward on the caller's scores, so the second call returns twice as much."""
    scores.requires_grad_(True)
    log_p = torch.log_softmax(scores, dim=1)[torch.arange(len(index)), index]
    ((reward - baseline) * log_p).sum().backward()
    return scores.grad


def hard_attention_gradient__right_autograd(scores, index, reward, baseline):
    """Right: autograd of the sum over the batch, on a copy."""
    with torch.enable_grad():
        copy = scores.detach().clone().requires_grad_()
        losses = F.cross_entropy(copy, index, reduction="none")
        (gradient,) = torch.autograd.grad(losses, copy, grad_outputs=baseline - reward)
    return gradient


def hard_attention_gradient__right_index_add(scores, index, reward, baseline):
    """Right: minus advantage times softmax, and the advantage added at the sampled location."""
    advantage = reward - baseline
    estimate = -einsum(advantage, scores.softmax(dim=-1), "batch, batch location -> batch location")
    estimate[torch.arange(len(index)), index] += advantage
    return estimate
