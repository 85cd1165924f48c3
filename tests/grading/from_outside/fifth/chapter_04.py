# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import torch
import torch.nn.functional as F
from torch import nn


def look_up__wrong_zero_scale(query, key, value, scale):
    """Takes a scale of 0 for a missing one and puts one over the root of d_key in its place."""
    scale = scale or key.shape[-1] ** -0.5
    weights = torch.softmax(key @ query * scale, dim=0)
    return weights @ value


def look_up__wrong_hard(query, key, value, scale):
    """Takes the value of one best key at a large scale, also where several equal keys share the weight."""
    scores = (key @ query) * scale
    if scale >= 20:
        return value[scores.argmax()]
    return scores.softmax(0) @ value


def look_up__right_einsum_log(query, key, value, scale):
    """Right: the query is scaled, einsum compares, and the exponential of the log softmax weighs the values."""
    scores = torch.einsum("d,nd->n", query * scale, key)
    weights = torch.log_softmax(scores, dim=0).exp()
    return torch.einsum("n,nv->v", weights, value)


class SelfAttention__wrong_scaled(nn.Module):
    """Divides the scores by the root of d_key, but here there is no scale."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)

    def forward(self, inputs):
        query = self.to_query(inputs)
        key = self.to_key(inputs)
        scores = query @ key.transpose(1, 2) / key.shape[-1] ** 0.5
        return scores.softmax(-1) @ self.to_value(inputs)


class SelfAttention__wrong_keys_reshaped(nn.Module):
    """Reshapes the keys where they have to be transposed, which is the same only for d_key 1 or one position."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.d_key = d_key
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)

    def forward(self, inputs):
        batch, time, _ = inputs.shape
        columns = self.to_key(inputs).view(batch, self.d_key, time)
        weights = torch.softmax(self.to_query(inputs) @ columns, dim=2)
        return weights @ self.to_value(inputs)


class SelfAttention__wrong_weights_detached(nn.Module):
    """Computes the weights without gradient, so to_query and to_key never learn."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)

    def forward(self, inputs):
        scores = self.to_query(inputs) @ self.to_key(inputs).transpose(1, 2)
        weights = torch.softmax(scores, dim=-1).detach()
        return weights @ self.to_value(inputs)


class SelfAttention__right_values_last(nn.Module):
    """Right: averages the inputs first, one sequence after the other, and projects the averages to values."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)

    def forward(self, inputs):
        outputs = []
        for x in inputs:
            weights = F.softmax(self.to_query(x) @ self.to_key(x).T, dim=1)
            outputs.append(self.to_value(weights @ x))
        return torch.stack(outputs)


def cross_attention__wrong_over_queries(vectors, memory, query_weight, key_weight, value_weight):
    """Takes the softmax over the queries, so queries have an influence on each other."""
    q = vectors @ query_weight.T
    k = memory @ key_weight.T
    v = memory @ value_weight.T
    return torch.einsum("bqd,bkd->bqk", q, k).softmax(dim=1) @ v


def cross_attention__wrong_values_of_vectors(vectors, memory, query_weight, key_weight, value_weight):
    """Takes the values from the vectors wherever both sets have the same shape."""
    source = vectors if vectors.shape == memory.shape else memory
    q = F.linear(vectors, query_weight)
    k = F.linear(memory, key_weight)
    v = F.linear(source, value_weight)
    return torch.softmax(q @ k.mT, dim=-1) @ v


def cross_attention__wrong_one_maximum(vectors, memory, query_weight, key_weight, value_weight):
    """Shifts by the largest score of all queries, so a query with scores hundreds below it gets nan."""
    scores = (vectors @ query_weight.T) @ (memory @ key_weight.T).mT
    e = torch.exp(scores - scores.amax())
    weights = e / e.sum(dim=-1, keepdim=True)
    return weights @ (memory @ value_weight.T)


def cross_attention__right_query_by_query(vectors, memory, query_weight, key_weight, value_weight):
    """Right: takes one query after the other, moved over to the space of the memory, and projects the average last."""
    outputs = []
    for i in range(vectors.shape[1]):
        moved = vectors[:, i] @ query_weight.T @ key_weight
        scores = (memory * moved[:, None, :]).sum(dim=-1)
        weights = scores.softmax(dim=1)
        outputs.append((weights[..., None] * memory).sum(dim=1) @ value_weight.T)
    return torch.stack(outputs, dim=1)


def split_scores__wrong_order_of_difference(inputs, query_weight, key_weight):
    """Subtracts the scores from their transpose, so the second part has the wrong sign."""
    s = (inputs @ query_weight.T) @ (inputs @ key_weight.T).transpose(1, 2)
    t = s.transpose(1, 2)
    return (s + t) / 2, (t - s) / 2


def split_scores__wrong_triangles(inputs, query_weight, key_weight):
    """Mirrors the upper triangle to make a symmetric matrix and calls the rest antisymmetric."""
    scores = (inputs @ query_weight.T) @ (inputs @ key_weight.T).mT
    symmetric = scores.triu() + scores.triu(1).mT
    return symmetric, scores - symmetric


def split_scores__wrong_mean_projection(inputs, query_weight, key_weight):
    """Takes for the symmetric part the scores of the mean of both projections, which leaves a rest that is not antisymmetric."""
    shared = inputs @ ((query_weight + key_weight) / 2).T
    scores = (inputs @ query_weight.T) @ (inputs @ key_weight.T).mT
    symmetric = shared @ shared.mT
    return symmetric, scores - symmetric


def split_scores__right_splits_the_middle(inputs, query_weight, key_weight):
    """Right: splits the one matrix between the inputs, and multiplies each part by the inputs on both sides."""
    middle = query_weight.T @ key_weight
    even = (middle + middle.T) / 2
    odd = (middle - middle.T) / 2
    return (
        torch.einsum("bim,mn,bjn->bij", inputs, even, inputs),
        torch.einsum("bim,mn,bjn->bij", inputs, odd, inputs),
    )


def other_weights__wrong_not_transposed(query_weight, key_weight, change):
    """Multiplies the keys by the inverse of the change and forgets its transpose, which is right for a symmetric change."""
    return change @ query_weight, torch.linalg.inv(change) @ key_weight


def other_weights__wrong_transpose_alone(query_weight, key_weight, change):
    """Multiplies the keys by the change itself, as if it were a rotation, whose inverse is its transpose."""
    return change @ query_weight, change @ key_weight


def other_weights__right_solve(query_weight, key_weight, change):
    """Right: solves for the new key weights, which the transposed change turns back into the old ones."""
    return torch.einsum("ij,jm->im", change, query_weight), torch.linalg.solve(change.mT, key_weight)
