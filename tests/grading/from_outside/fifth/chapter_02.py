# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch
import torch.nn.functional as F


def map_to_rows__wrong_down_first(feature_map):
    """Goes down the columns first, so the rows come in the wrong order."""
    return feature_map.permute(0, 3, 2, 1).flatten(1, 2)


def map_to_rows__wrong_reshape(feature_map):
    """Only reshapes, so that a row holds one feature of several pixels."""
    b, c, h, w = feature_map.shape
    return feature_map.reshape(b, h * w, c)


def map_to_rows__right_pixel_loop(feature_map):
    """Right: collects the vector of every pixel in two loops in reading order."""
    _, _, height, width = feature_map.shape
    rows = []
    for y in range(height):
        for x in range(width):
            rows.append(feature_map[:, :, y, x])
    return torch.stack(rows, dim=1)


def additive_weights__wrong_two_tanhs(query, keys, query_weight, key_weight, score_weight):
    """Takes the tanh of query and key before they are added."""
    q = torch.tanh(query @ query_weight.T).unsqueeze(1)
    k = torch.tanh(keys @ key_weight.T)
    return torch.softmax((q + k) @ score_weight, dim=1)


def additive_weights__wrong_overflow(query, keys, query_weight, key_weight, score_weight):
    """Exponentiates the scores as they are, which gives nan where scores are in the hundreds."""
    hidden = torch.tanh((query @ query_weight.T)[:, None, :] + keys @ key_weight.T)
    e = torch.exp(torch.einsum("blh,h->bl", hidden, score_weight))
    return e / e.sum(dim=1, keepdim=True)


def additive_weights__wrong_first_query(query, keys, query_weight, key_weight, score_weight):
    """Uses the query of the first picture for all pictures."""
    hidden = torch.tanh(query_weight @ query[0] + keys @ key_weight.T)
    return (hidden @ score_weight).softmax(dim=-1)


def additive_weights__right_one_projection(query, keys, query_weight, key_weight, score_weight):
    """Right: puts each query beside its keys, so that one matrix projects both."""
    q = query[:, None, :].expand(-1, keys.shape[1], -1)
    both = torch.cat([q, keys], dim=2)
    weight = torch.cat([query_weight, key_weight], dim=1)
    s = torch.einsum("h,blh->bl", score_weight, torch.einsum("hd,bld->blh", weight, both).tanh())
    return torch.exp(torch.log_softmax(s, dim=1))


def attend__wrong_softmax_again(weights, values):
    """Takes a softmax of weights that sum to one already."""
    return (weights.softmax(dim=1)[..., None] * values).sum(dim=1)


def attend__wrong_first_weights(weights, values):
    """Keeps only what the weights of the first picture make of every picture."""
    return (weights @ values)[:, 0]


def attend__right_location_loop(weights, values):
    """Right: adds up one location after the other."""
    context = torch.zeros(values.shape[0], values.shape[2])
    for l in range(values.shape[1]):
        context = context + weights[:, l : l + 1] * values[:, l]
    return context


def coverage_penalty__wrong_square_of_sum(weights):
    """Squares the sum of the gaps, in which gaps of different sign cancel."""
    gap = 1 - weights.sum(dim=1)
    return gap.sum(dim=1) ** 2


def coverage_penalty__wrong_missing_only(weights):
    """Counts only locations with too little weight, not those with too much."""
    return torch.relu(1 - weights.sum(dim=1)).square().sum(dim=1)


def coverage_penalty__right_batched_dot(weights):
    """Right: adds the words in a loop and takes the dot product of the gaps with themselves."""
    gaps = torch.ones(weights.shape[0], weights.shape[2])
    for t in range(weights.shape[1]):
        gaps = gaps - weights[:, t]
    return torch.linalg.vecdot(gaps, gaps)


def hard_attention_gradient__wrong_times_probability(scores, index, reward, baseline):
    """Multiplies the estimate by the probability of the sample, which the sampling counts already."""
    p = scores.softmax(dim=1)
    one_hot = F.one_hot(index, scores.shape[1])
    chosen = p.gather(1, index[:, None])
    return (reward - baseline)[:, None] * chosen * (one_hot - p)


def hard_attention_gradient__wrong_baseline_outside(scores, index, reward, baseline):
    """Subtracts the baseline from the finished estimate and not from the reward."""
    one_hot = F.one_hot(index, scores.shape[1])
    return reward[:, None] * (one_hot - scores.softmax(dim=1)) - baseline


def hard_attention_gradient__wrong_one_hot_width(scores, index, reward, baseline):
    """Lets one_hot guess the number of locations from the largest index that was sampled."""
    one_hot = F.one_hot(index).float()
    if one_hot.shape[1] != scores.shape[1]:
        one_hot = F.pad(one_hot, (scores.shape[1] - one_hot.shape[1], 0))
    p = torch.softmax(scores, dim=1)
    return (reward - baseline).unsqueeze(1) * (one_hot - p)


def hard_attention_gradient__wrong_accumulates(scores, index, reward, baseline):
    """Calls backward on the caller's scores, whose gradient grows with every call."""
    scores.requires_grad_()
    logp = scores.log_softmax(dim=1)[torch.arange(len(index)), index]
    ((reward - baseline) * logp).sum().backward()
    return scores.grad.clone()


def hard_attention_gradient__right_scatter(scores, index, reward, baseline):
    """Right: minus advantage times softmax everywhere, and the advantage added at the sampled location."""
    advantage = (reward - baseline)[:, None]
    estimate = -advantage * scores.softmax(dim=1)
    return estimate.scatter_add(1, index[:, None], advantage)
