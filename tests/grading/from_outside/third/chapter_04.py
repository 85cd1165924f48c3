# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch
from einops import einsum
from torch import nn


def look_up__wrong_cosine(query, key, value, scale):
    """Normalises query and keys to length 1, so it compares by the cosine and not by the dot product."""
    q = query / query.norm().clamp(min=1e-12)
    k = key / key.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    return torch.softmax(scale * (k @ q), 0) @ value


def look_up__wrong_scales_in_place(query, key, value, scale):
    """Multiplies the caller's query by the scale with *=."""
    query *= scale
    return torch.softmax(key @ query, 0) @ value


def look_up__right_logsumexp(query, key, value, scale):
    """Weights as exp of the scores less their logsumexp, and a sum over the values by broadcasting."""
    scores = (key * query).sum(-1) * scale
    return ((scores - scores.logsumexp(0)).exp()[:, None] * value).sum(0)


class SelfAttention__wrong_scaled(nn.Module):
    """Divides the scores by the root of d_key, though here there is no scale."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)
        self.d_key = d_key

    def forward(self, inputs):
        q, k, v = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        return torch.softmax(q @ k.transpose(1, 2) / self.d_key**0.5, -1) @ v


class SelfAttention__wrong_view_for_transpose(nn.Module):
    """Reshapes the keys to (d_key, time) instead of transposing them, which is the same only for d_key 1."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)

    def forward(self, inputs):
        q, k, v = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        b, t, d = k.shape
        return torch.softmax(q @ k.reshape(b, d, t), dim=-1) @ v


def cross_attention__wrong_global_max(vectors, memory, query_weight, key_weight, value_weight):
    """Subtracts one maximum for all queries before exp, so a query whose scores are far lower gets 0 / 0."""
    q, k, v = vectors @ query_weight.T, memory @ key_weight.T, memory @ value_weight.T
    scores = q @ k.transpose(1, 2)
    powers = torch.exp(scores - scores.max())
    return powers / powers.sum(-1, keepdim=True) @ v


def cross_attention__wrong_softmax_over_queries(vectors, memory, query_weight, key_weight, value_weight):
    """Runs the softmax over the queries, so the weights of one query do not sum to one."""
    q, k, v = vectors @ query_weight.T, memory @ key_weight.T, memory @ value_weight.T
    return torch.softmax(q @ k.transpose(1, 2), dim=1) @ v


def cross_attention__right_one_matrix(vectors, memory, query_weight, key_weight, value_weight):
    """One bilinear form W_q^T W_k in float64, and the value projection after the averaging."""
    form = query_weight.double().T @ key_weight.double()
    m = memory.double()
    scores = einsum(vectors.double(), form, m, "b q i, i j, b k j -> b q k")
    return (torch.softmax(scores, -1) @ m @ value_weight.double().T).to(vectors.dtype)


def split_scores__wrong_sign(inputs, query_weight, key_weight):
    """Has the antisymmetric part with the wrong sign, so the parts do not add up to the scores."""
    s = (inputs @ query_weight.T) @ (inputs @ key_weight.T).transpose(1, 2)
    st = s.transpose(1, 2)
    return (s + st) / 2, (st - s) / 2


def split_scores__wrong_mean_weight(inputs, query_weight, key_weight):
    """Takes the scores of the mean of both weights for the symmetric part, and calls the rest antisymmetric."""
    s = (inputs @ query_weight.T) @ (inputs @ key_weight.T).transpose(1, 2)
    both = inputs @ ((query_weight + key_weight) / 2).T
    symmetric = both @ both.transpose(1, 2)
    return symmetric, s - symmetric


def other_weights__wrong_inverse_only(query_weight, key_weight, change):
    """Multiplies the key weight by the inverse and forgets that it has to be transposed."""
    return change @ query_weight, torch.linalg.inv(change) @ key_weight


def other_weights__wrong_same_change(query_weight, key_weight, change):
    """Applies the same change to the keys, which undoes it only where the change is orthogonal."""
    return change @ query_weight, change @ key_weight


def other_weights__right_qr(query_weight, key_weight, change):
    """The inverse transpose by a QR decomposition: R = QU, so R^-T = Q U^-T, one triangular system."""
    q, u = torch.linalg.qr(change)
    new_key = q @ torch.linalg.solve_triangular(u.T, key_weight, upper=False)
    return change @ query_weight, new_key
