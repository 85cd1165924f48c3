# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch
import torch.nn.functional as F
from einops import einsum, rearrange


def map_to_rows__wrong_reshape(feature_map):
    """Reshapes without moving the features to the end, so one row holds several pixels of one feature."""
    b, d, h, w = feature_map.shape
    return feature_map.reshape(b, h * w, d)


def map_to_rows__wrong_columns_first(feature_map):
    """Reads the map downwards first, (w h), and not left to right."""
    return rearrange(feature_map, "b d h w -> b (w h) d")


def map_to_rows__right_pixel_by_pixel(feature_map):
    """Stacks the vectors of the pixels, one by one in reading order."""
    h, w = feature_map.shape[2:]
    return torch.stack([feature_map[:, :, y, x] for y in range(h) for x in range(w)], 1)


def additive_weights__wrong_overflow(query, keys, query_weight, key_weight, score_weight):
    """Writes the softmax out without subtracting the greatest score, so scores in the hundreds give nan."""
    hidden = torch.tanh((query @ query_weight.T)[:, None] + keys @ key_weight.T)
    powers = torch.exp(hidden @ score_weight)
    return powers / powers.sum(1, keepdim=True)


def additive_weights__wrong_two_tanh(query, keys, query_weight, key_weight, score_weight):
    """Takes the tanh of the two projections first and adds afterwards."""
    hidden = torch.tanh(query @ query_weight.T)[:, None] + torch.tanh(keys @ key_weight.T)
    return torch.softmax(hidden @ score_weight, dim=1)


def attend__wrong_softmax_again(weights, values):
    """Applies a softmax to weights that are the result of one already."""
    return einsum(torch.softmax(weights, -1), values, "b l, b l d -> b d")


def attend__wrong_in_place(weights, values):
    """Multiplies with *=, so the caller's values are changed."""
    values *= weights[:, :, None]
    return values.sum(1)


def attend__right_diagonal(weights, values):
    """All weights against the values of all pictures, and then the diagonal of the two batch axes."""
    return (weights @ values).diagonal(dim1=0, dim2=1).T


def coverage_penalty__wrong_one_number(weights):
    """Sums over the pictures too and returns a single number."""
    return ((1 - weights.sum(1)) ** 2).sum()


def coverage_penalty__wrong_mean(weights):
    """Takes the mean over the locations where the formula has a sum."""
    return (1 - weights.sum(1)).pow(2).mean(-1)


def hard_attention_gradient__wrong_mean_loss(scores, index, reward, baseline):
    """Lets autograd differentiate the mean over the batch, so every estimate is divided by the batch size."""
    s = scores.detach().clone().requires_grad_()
    log_p = torch.log_softmax(s, -1).gather(1, index[:, None])[:, 0]
    ((reward - baseline) * log_p).mean().backward()
    return s.grad


def hard_attention_gradient__wrong_times_p(scores, index, reward, baseline):
    """Takes the gradient of p and not of log p, although the sampling already brings the factor p."""
    p = torch.softmax(scores, -1)
    chosen = F.one_hot(index, scores.shape[1]).to(p.dtype)
    p_l = (p * chosen).sum(1, keepdim=True)
    return (reward - baseline)[:, None] * p_l * (chosen - p)


def hard_attention_gradient__right_cross_entropy(scores, index, reward, baseline):
    """Autograd on the sum of cross entropies, each times minus the advantage."""
    s = scores.detach().clone().requires_grad_()
    loss = F.cross_entropy(s, index, reduction="none")
    (gradient,) = torch.autograd.grad(loss, s, grad_outputs=-(reward - baseline))
    return gradient
