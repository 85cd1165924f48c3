# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import torch
from einops import einsum
from torch import nn
from torch.func import vmap
from torch.nn import functional as F

# ---------------------------------------------------------------- look_up


def look_up__wrong_scale_after_softmax(query, key, value, scale):
    """The scale belongs inside the softmax; you multiply the weights by it."""
    w = torch.softmax(key @ query, dim=0) * scale
    return w @ value


def look_up__wrong_divides_by_scale(query, key, value, scale):
    """The products are multiplied by the scale and not divided by it."""
    w = torch.softmax(key @ query / scale, dim=0)
    return w @ value


def look_up__wrong_averages_keys(query, key, value, scale):
    """You average the keys; the keys only give the weights, the values are averaged."""
    w = torch.softmax(scale * (key @ query), dim=0)
    return w @ key


def look_up__wrong_unstable_exp(query, key, value, scale):
    """At a large scale exp overflows and you get nan instead of the value of the best key."""
    e = torch.exp(scale * (key * query).sum(dim=1))
    return (e[:, None] * value).sum(0) / e.sum()


def look_up__wrong_bare_squeeze(query, key, value, scale):
    """squeeze() makes a scalar where d_value is 1; the answer has the shape (d_value,)."""
    s = scale * query[None, :] @ key.T
    return (torch.softmax(s, dim=1) @ value).squeeze()


def look_up__right_by_pairwise_odds(query, key, value, scale):
    answer = torch.zeros_like(value[0])
    scores = [scale * torch.dot(query, k) for k in key]
    for s, v in zip(scores, value):
        answer = answer + v / sum(torch.exp(other - s) for other in scores)
    return answer


# ---------------------------------------------------------------- SelfAttention


class _ThreeLayers(nn.Module):
    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)


class SelfAttention__wrong_scaled(_ThreeLayers):
    def forward(self, inputs):
        """There is no scale here, but you divide by the root of d_key."""
        q, k, v = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        return torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1) @ v


class SelfAttention__wrong_softmax_over_queries(_ThreeLayers):
    def forward(self, inputs):
        """dim=1 are the queries; the weights of one query sum to one over the keys, dim=2."""
        q, k, v = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        scores = torch.einsum("bqd,bkd->bqk", q, k)
        return torch.einsum("bqk,bkv->bqv", scores.softmax(dim=1), v)


class SelfAttention__wrong_key_meets_query(_ThreeLayers):
    def forward(self, inputs):
        """You computed K Q^T: the rows of your scores belong to the keys, so query and key have changed their roles."""
        q, k, v = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        return torch.softmax(k @ q.transpose(1, 2), dim=-1) @ v


class SelfAttention__wrong_weight_not_transposed_by_view(_ThreeLayers):
    def forward(self, inputs):
        """key.view(batch, d_key, time) doesn't exchange the axes, it cuts the numbers anew; use transpose(1, 2)."""
        q, k, v = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        b, t, d = k.shape
        return torch.softmax(q @ k.reshape(b, d, t), dim=-1) @ v


class SelfAttention__wrong_first_sequence_keys(_ThreeLayers):
    def forward(self, inputs):
        """With [0] all sequences read the keys and values of the first one: right only for a batch of one."""
        q, k, v = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        return torch.softmax(q @ k[0].T, dim=-1) @ v[0]


class SelfAttention__wrong_detached_weights(_ThreeLayers):
    def forward(self, inputs):
        """no_grad around the weights cuts the graph: to_query and to_key get no gradient."""
        with torch.no_grad():
            w = torch.softmax(self.to_query(inputs) @ self.to_key(inputs).mT, dim=-1)
        return w @ self.to_value(inputs)


class SelfAttention__right_by_merged_weights(nn.Module):
    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)

    def forward(self, inputs):
        outputs = []
        for x in inputs:
            form = self.to_query.weight.T @ self.to_key.weight
            scores = x @ form @ x.T
            weights = (scores - scores.logsumexp(1, keepdim=True)).exp()
            outputs.append((weights @ x) @ self.to_value.weight.T)
        return torch.stack(outputs)


# ---------------------------------------------------------------- cross_attention


def cross_attention__wrong_values_from_vectors(vectors, memory, query_weight, key_weight, value_weight):
    """The values are made of the memory too, not of the vectors (it runs only where the shapes agree)."""
    q = vectors @ query_weight.T
    k = memory @ key_weight.T
    v = vectors @ value_weight.T
    return torch.softmax(q @ k.mT, dim=-1) @ v


def cross_attention__wrong_softmax_over_queries(vectors, memory, query_weight, key_weight, value_weight):
    """The softmax runs over the queries (dim 1), so the queries influence each other; it must run over the keys."""
    q, k, v = F.linear(vectors, query_weight), F.linear(memory, key_weight), F.linear(memory, value_weight)
    return torch.softmax(torch.bmm(q, k.transpose(1, 2)), dim=1) @ v


def cross_attention__wrong_scaled(vectors, memory, query_weight, key_weight, value_weight):
    """No scale is asked, but you divide by the root of d_key."""
    q = vectors @ query_weight.T
    k = memory @ key_weight.T
    return torch.softmax(q @ k.mT * k.shape[-1] ** -0.5, -1) @ (memory @ value_weight.T)


def cross_attention__wrong_causal(vectors, memory, query_weight, key_weight, value_weight):
    """There is no mask here: each query reads the whole memory, whose order does not matter."""
    s = (vectors @ query_weight.T) @ (memory @ key_weight.T).mT
    hide = torch.ones(s.shape[1:], dtype=torch.bool).triu(1)
    return s.masked_fill(hide, float("-inf")).softmax(-1) @ (memory @ value_weight.T)


def cross_attention__right_by_vmap(vectors, memory, query_weight, key_weight, value_weight):
    def one(vector, rows):
        asked = key_weight.T @ (query_weight @ vector)
        mixed = torch.softmax(rows @ asked, dim=0) @ rows
        return value_weight @ mixed

    return vmap(vmap(one, in_dims=(0, None)))(vectors, memory)


# ---------------------------------------------------------------- split_scores


def split_scores__wrong_no_half(inputs, query_weight, key_weight):
    """The half is missing: the two parts add up to twice the scores."""
    s = (inputs @ query_weight.T) @ (inputs @ key_weight.T).mT
    return s + s.mT, s - s.mT


def split_scores__wrong_triangles(inputs, query_weight, key_weight):
    """Upper and lower triangle are not the symmetric and the antisymmetric part."""
    s = (inputs @ query_weight.T) @ (inputs @ key_weight.T).mT
    return s.tril(), s.triu(1)


def split_scores__wrong_sign(inputs, query_weight, key_weight):
    """The antisymmetric part has the wrong sign, the parts then add up to the transposed scores."""
    s = (inputs @ query_weight.T) @ (inputs @ key_weight.T).mT
    t = s.transpose(1, 2)
    return (s + t) / 2, (t - s) / 2


def split_scores__wrong_order(inputs, query_weight, key_weight):
    """The symmetric part has to come first."""
    s = torch.einsum("bid,hd,bje,he->bij", inputs, query_weight, inputs, key_weight)
    return (s - s.mT) / 2, (s + s.mT) / 2


def split_scores__wrong_softmax(inputs, query_weight, key_weight):
    """No softmax here: the scores themselves are split."""
    s = torch.softmax((inputs @ query_weight.T) @ (inputs @ key_weight.T).mT, -1)
    return (s + s.mT) / 2, (s - s.mT) / 2


def split_scores__right_by_splitting_the_form(inputs, query_weight, key_weight):
    form = query_weight.T @ key_weight

    def scores(matrix):
        return torch.stack([x @ matrix @ x.T for x in inputs])

    symmetric, antisymmetric = scores((form + form.T) / 2), scores((form - form.T) / 2)
    upper = symmetric.triu()
    symmetric = upper + symmetric.triu(1).mT
    above = antisymmetric.triu(1)
    return symmetric, above - above.mT


# ---------------------------------------------------------------- other_weights


def other_weights__wrong_not_transposed(query_weight, key_weight, change):
    """The key needs the inverse of the transposed change; the transpose is missing."""
    return change @ query_weight, torch.linalg.inv(change) @ key_weight


def other_weights__wrong_transpose_only(query_weight, key_weight, change):
    """The transpose undoes the change only if it is a rotation; you need the inverse of the transpose."""
    return change @ query_weight, change.T @ key_weight


def other_weights__wrong_same_change(query_weight, key_weight, change):
    """You change both in the same way, which keeps the scores only for an orthogonal change."""
    return change @ query_weight, change @ key_weight


def other_weights__wrong_from_the_right(query_weight, key_weight, change):
    """The new query weights are R W_q; you multiply by the transpose of R."""
    return change.T @ query_weight, torch.linalg.inv(change) @ key_weight


def other_weights__wrong_order(query_weight, key_weight, change):
    """The query weights come first in the answer."""
    return torch.linalg.solve(change.T, key_weight), change @ query_weight


def other_weights__right_by_solve_in_float64(query_weight, key_weight, change):
    columns = [torch.linalg.solve(change.double().T, column) for column in key_weight.double().T]
    new_key = torch.stack(columns, dim=1).to(key_weight.dtype)
    return einsum(change, query_weight, "new old, old d -> new d"), new_key
