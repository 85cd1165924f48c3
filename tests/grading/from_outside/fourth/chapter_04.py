# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch
import torch.nn.functional as F
from einops import einsum
from torch import nn

# 04.1 look_up


def look_up__wrong_default_scale(query, key, value, scale):
    """Takes a scale of 0 for a missing one and puts one over the root of d_key in its place."""
    scale = scale or 1 / math.sqrt(key.shape[1])
    return torch.softmax(scale * (key @ query), dim=0) @ value


def look_up__wrong_exp_overflow(query, key, value, scale):
    """Exponentiates without subtracting the maximum, so a large scale gives nan."""
    powers = torch.exp(scale * (key @ query))
    return (powers[:, None] * value).sum(dim=0) / powers.sum()


def look_up__right_running_sum(query, key, value, scale):
    """Right: a loop over the pairs of key and value, with the largest score subtracted."""
    scores = [scale * torch.dot(query, k).item() for k in key]
    largest = max(scores)
    powers = [math.exp(s - largest) for s in scores]
    answer = torch.zeros(value.shape[1])
    for power, v in zip(powers, value):
        answer = answer + power / sum(powers) * v
    return answer


# 04.2 SelfAttention


class SelfAttention__wrong_with_bias(nn.Module):
    """Leaves the bias of the three linear layers switched on."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_model, d_key)
        self.to_value = nn.Linear(d_model, d_value)

    def forward(self, inputs):
        query, key, value = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        return torch.softmax(query @ key.mT, dim=-1) @ value


class SelfAttention__wrong_scaled(nn.Module):
    """Divides the scores by the root of d_key, which is 1 in the example."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)
        self.d_key = d_key

    def forward(self, inputs):
        scores = self.to_query(inputs) @ self.to_key(inputs).transpose(1, 2) / self.d_key**0.5
        return scores.softmax(dim=-1) @ self.to_value(inputs)


class SelfAttention__wrong_value_width(nn.Module):
    """Makes to_value as wide as the keys, so d_value has no influence."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_key, bias=False)

    def forward(self, inputs):
        weights = (self.to_query(inputs) @ self.to_key(inputs).mT).softmax(dim=-1)
        return weights @ self.to_value(inputs)


class SelfAttention__wrong_softmax_over_queries(nn.Module):
    """Takes the softmax over the axis of the queries."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)

    def forward(self, inputs):
        query, key = self.to_query(inputs), self.to_key(inputs)
        scores = einsum(query, key, "batch query d, batch key d -> batch query key")
        return scores.softmax(dim=1) @ self.to_value(inputs)


class SelfAttention__wrong_detached_weights(nn.Module):
    """Computes the weights under no_grad, so queries and keys get no gradient."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)

    def forward(self, inputs):
        with torch.no_grad():
            scores = self.to_query(inputs) @ self.to_key(inputs).transpose(1, 2)
            weights = scores.softmax(dim=-1)
        return weights @ self.to_value(inputs)


class SelfAttention__right_average_first(nn.Module):
    """Right: averages the inputs with the weights and projects the averages to values afterwards."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)

    def forward(self, inputs):
        scores = einsum(self.to_query(inputs), self.to_key(inputs), "b i d, b j d -> b i j")
        averages = einsum(scores.softmax(dim=-1), inputs, "b i j, b j m -> b i m")
        return self.to_value(averages)


# 04.3 cross_attention


def cross_attention__wrong_not_transposed(vectors, memory, query_weight, key_weight, value_weight):
    """Multiplies by the weights without transposing them, which runs for square ones."""
    query = vectors @ query_weight
    key = memory @ key_weight
    value = memory @ value_weight
    return torch.softmax(query @ key.transpose(1, 2), dim=-1) @ value


def cross_attention__wrong_values_from_vectors(vectors, memory, query_weight, key_weight, value_weight):
    """Takes the values from the vectors, which runs only where both sets have the same shape."""
    query, value = F.linear(vectors, query_weight), F.linear(vectors, value_weight)
    key = F.linear(memory, key_weight)
    return torch.softmax(query @ key.mT, dim=-1) @ value


def cross_attention__wrong_maximum_over_queries(vectors, memory, query_weight, key_weight, value_weight):
    """Subtracts the largest score of the whole picture, so a query far below it becomes 0 / 0."""
    query, key, value = vectors @ query_weight.T, memory @ key_weight.T, memory @ value_weight.T
    scores = einsum(query, key, "batch query d, batch key d -> batch query key")
    powers = torch.exp(scores - scores.amax(dim=(1, 2), keepdim=True))
    weights = powers / powers.sum(dim=2, keepdim=True)
    return weights @ value


def cross_attention__right_torch_attention(vectors, memory, query_weight, key_weight, value_weight):
    """Right: torch's own attention with the scale set to one, as everything in torch is allowed."""
    return F.scaled_dot_product_attention(
        F.linear(vectors, query_weight),
        F.linear(memory, key_weight),
        F.linear(memory, value_weight),
        scale=1.0,
    )


# 04.4 split_scores


def split_scores__wrong_sign(inputs, query_weight, key_weight):
    """Subtracts the scores from their transpose, so the second part has the wrong sign."""
    scores = (inputs @ query_weight.T) @ (inputs @ key_weight.T).transpose(1, 2)
    transposed = scores.transpose(1, 2)
    return (scores + transposed) / 2, (transposed - scores) / 2


def split_scores__wrong_triangles(inputs, query_weight, key_weight):
    """Mirrors the lower triangle and calls that the symmetric part."""
    scores = torch.einsum("bid,bjd->bij", inputs @ query_weight.T, inputs @ key_weight.T)
    lower = torch.tril(scores)
    symmetric = lower + torch.tril(scores, diagonal=-1).mT
    return symmetric, scores - symmetric


def split_scores__wrong_mean_of_weights(inputs, query_weight, key_weight):
    """Takes the scores with the mean of both weights for the symmetric part."""
    mean = (query_weight + key_weight) / 2
    scores = (inputs @ query_weight.T) @ (inputs @ key_weight.T).mT
    symmetric = (inputs @ mean.T) @ (inputs @ mean.T).mT
    return symmetric, scores - symmetric


def split_scores__right_roles_exchanged(inputs, query_weight, key_weight):
    """Right: computes the transposed scores by letting queries and keys exchange their roles."""
    query = einsum(inputs, query_weight, "batch time d_model, d_key d_model -> batch time d_key")
    key = einsum(inputs, key_weight, "batch time d_model, d_key d_model -> batch time d_key")
    scores = torch.bmm(query, key.mT)
    exchanged = torch.bmm(key, query.mT)
    return torch.lerp(scores, exchanged, 0.5), 0.5 * scores - 0.5 * exchanged


# 04.5 other_weights


def other_weights__wrong_not_transposed(query_weight, key_weight, change):
    """Multiplies the keys by the inverse without transposing it."""
    return change @ query_weight, torch.linalg.inv(change) @ key_weight


def other_weights__wrong_same_change(query_weight, key_weight, change):
    """Gives the keys the same change, which is right for rotations only."""
    return change @ query_weight, change @ key_weight


def other_weights__wrong_writes_query(query_weight, key_weight, change):
    """Writes the new query weights into the tensor of the caller."""
    query_weight[:] = change @ query_weight
    return query_weight, torch.linalg.solve(change.T, key_weight)


def other_weights__right_solve(query_weight, key_weight, change):
    """Right: solves the linear system with the transposed change, without any inverse."""
    return torch.matmul(change, query_weight), torch.linalg.solve(change.mT, key_weight)


def other_weights__right_inverse_from_the_right(query_weight, key_weight, change):
    """Right: the transposed keys times the inverse from the right, transposed back."""
    new_key = (key_weight.T @ torch.inverse(change)).T
    return einsum(change, query_weight, "i j, j d_model -> i d_model"), new_key
