# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import torch
import torch.nn.functional as F
from einops import einsum
from torch import nn

# ---------------------------------------------------------------- 04.1 look_up


def look_up__wrong_exp_overflow(query, key, value, scale):
    """The softmax is written out without subtracting the largest score, so at a large scale exp overflows and the answer is nan."""
    scores = key @ query * scale
    weights = torch.exp(scores)
    weights = weights / weights.sum()
    return weights @ value


def look_up__wrong_divided_by_scale(query, key, value, scale):
    """The dot products are divided by the scale, as if it were a temperature, instead of multiplied by it."""
    scores = key @ query / scale
    return torch.softmax(scores, dim=0) @ value


def look_up__wrong_scale_in_place(query, key, value, scale):
    """The answer is right, but `query *= scale` changes the caller's query."""
    query *= scale
    return torch.softmax(key @ query, dim=0) @ value


def look_up__wrong_scale_zero_is_missing(query, key, value, scale):
    """A scale of 0 is permitted and gives the mean, but `scale or ...` takes it for a missing scale and puts 1 / sqrt(d_key) there."""
    scale = scale or 1 / math.sqrt(key.shape[1])
    scores = torch.einsum("d,nd->n", query, key) * scale
    return torch.einsum("n,nv->v", scores.softmax(0), value)


def look_up__wrong_extra_root(query, key, value, scale):
    """The scores are multiplied by the scale and in addition divided by the root of d_key, which nobody asked for."""
    scores = scale * (key @ query) / math.sqrt(query.shape[0])
    return torch.softmax(scores, dim=-1) @ value


def look_up__wrong_distance_kernel(query, key, value, scale):
    """The keys are compared by their distance to the query and not by a dot product; this agrees only when all keys have the same norm."""
    scores = -0.5 * scale * ((key - query) ** 2).sum(dim=1)
    return torch.softmax(scores, dim=0) @ value


def look_up__wrong_hard_choice(query, key, value, scale):
    """For large scales one best key is picked with argmax, so several equal best keys do not give the mean of their values."""
    scores = key @ query * scale
    if scale > 20:
        return value[scores.argmax()].clone()
    return torch.softmax(scores, dim=0) @ value


def look_up__right_streaming_loop(query, key, value, scale):
    """One pass over the keys with a running maximum, a running sum and a running average; no softmax at all."""
    best = torch.tensor(float("-inf"), dtype=query.dtype)
    total = torch.zeros((), dtype=query.dtype)
    answer = torch.zeros_like(value[0])
    for one_key, one_value in zip(key, value):
        score = torch.dot(query, one_key) * scale
        new_best = torch.maximum(best, score)
        old = torch.exp(best - new_best)
        new = torch.exp(score - new_best)
        total = total * old + new
        answer = answer * old + new * one_value
        best = new_best
    return answer / total


def look_up__right_gradient_of_logsumexp(query, key, value, scale):
    """The weights are the gradient of logsumexp, taken with torch.func.grad; the maximum is subtracted first, so that large scores keep their digits."""
    scores = einsum(key, query, "n d, d -> n") * scale
    scores = scores - scores.max()
    weights = torch.func.grad(lambda s: torch.logsumexp(s, dim=0))(scores)
    return (weights[:, None] * value).sum(dim=0)


# ---------------------------------------------------------------- 04.2 SelfAttention


class SelfAttention__wrong_default_bias(nn.Module):
    """The linear layers have a bias, because bias=False was forgotten."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_model, d_key)
        self.to_value = nn.Linear(d_model, d_value)

    def forward(self, inputs):
        query, key, value = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        return torch.softmax(query @ key.transpose(1, 2), dim=-1) @ value


class _Layers(nn.Module):
    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key, bias=False)
        self.to_key = nn.Linear(d_model, d_key, bias=False)
        self.to_value = nn.Linear(d_model, d_value, bias=False)


class SelfAttention__wrong_scaled(_Layers):
    """The scores are divided by the root of d_key, but this layer has no scale; it only agrees for d_key = 1."""

    def forward(self, inputs):
        query, key, value = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
        return torch.softmax(scores, dim=-1) @ value


class SelfAttention__wrong_softmax_over_queries(_Layers):
    """The softmax runs over the queries (dim=1), so the weights of one query do not add up to one."""

    def forward(self, inputs):
        query, key, value = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        weights = torch.softmax(query @ key.transpose(1, 2), dim=1)
        return weights @ value


class SelfAttention__wrong_reshaped_keys(_Layers):
    """The keys are turned into columns with reshape, which mixes positions and features; it agrees only for one position or d_key = 1."""

    def forward(self, inputs):
        batch, time, _ = inputs.shape
        query, key, value = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        scores = query @ key.reshape(batch, -1, time)
        return torch.softmax(scores, dim=2) @ value


class SelfAttention__wrong_batch_flattened(_Layers):
    """The batch is flattened into one long sequence, so the sequences attend to each other; it is right for a batch of one."""

    def forward(self, inputs):
        batch, time, _ = inputs.shape
        flat = inputs.reshape(batch * time, -1)
        query, key, value = self.to_query(flat), self.to_key(flat), self.to_value(flat)
        output = torch.softmax(query @ key.T, dim=-1) @ value
        return output.reshape(batch, time, -1)


class SelfAttention__wrong_weights_without_gradient(_Layers):
    """The weights are computed under no_grad, so to_query and to_key get no gradient and that of the inputs is incomplete."""

    def forward(self, inputs):
        with torch.no_grad():
            scores = self.to_query(inputs) @ self.to_key(inputs).transpose(1, 2)
            weights = torch.softmax(scores, dim=-1)
        return weights @ self.to_value(inputs)


class SelfAttention__wrong_not_itself(_Layers):
    """The diagonal is masked, but a vector attends to itself too; a vector alone even gets nan."""

    def forward(self, inputs):
        query, key, value = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        scores = query @ key.transpose(1, 2)
        itself = torch.eye(inputs.shape[1], dtype=torch.bool)
        scores = scores.masked_fill(itself, float("-inf"))
        return torch.softmax(scores, dim=-1) @ value


class SelfAttention__wrong_squeezed(_Layers):
    """A squeeze at the end removes every axis of length one, so a batch of one, one position or d_value = 1 gets the wrong shape."""

    def forward(self, inputs):
        outputs = []
        for sequence in inputs.split(1):
            query, key, value = self.to_query(sequence), self.to_key(sequence), self.to_value(sequence)
            outputs.append(torch.softmax(query @ key.mT, dim=-1) @ value)
        return torch.stack(outputs).squeeze()


class SelfAttention__right_bilinear(_Layers):
    """The two matrices are merged into one bilinear form, and to_value is applied after the average instead of before."""

    def forward(self, inputs):
        form = self.to_query.weight.T @ self.to_key.weight
        scores = torch.einsum("bqm,mn,bkn->bqk", inputs, form, inputs)
        shifted = scores - scores.detach().amax(dim=2, keepdim=True)
        weights = shifted.exp() / shifted.exp().sum(dim=2, keepdim=True)
        return self.to_value(torch.einsum("bqk,bkm->bqm", weights, inputs))


class SelfAttention__right_vmap_per_vector(nn.Module):
    """A function of one vector and its sequence, mapped over time and batch with two nested vmaps."""

    def __init__(self, d_model, d_key, d_value):
        super().__init__()
        for name, width in (("to_query", d_key), ("to_key", d_key), ("to_value", d_value)):
            self.add_module(name, nn.Linear(in_features=d_model, out_features=width, bias=False))

    def forward(self, inputs):
        def one(vector, sequence):
            query = self.to_query.weight @ vector
            key = sequence @ self.to_key.weight.T
            value = sequence @ self.to_value.weight.T
            return F.softmax(key @ query, dim=0) @ value

        per_sequence = torch.vmap(one, in_dims=(0, None))
        return torch.vmap(per_sequence)(inputs, inputs)


class SelfAttention__right_torch_attention(_Layers):
    """Uses torch's own scaled_dot_product_attention with scale=1.0; the statement of this chapter does not forbid it."""

    def forward(self, inputs):
        return F.scaled_dot_product_attention(
            self.to_query(inputs), self.to_key(inputs), self.to_value(inputs), scale=1.0
        )


# ---------------------------------------------------------------- 04.3 cross_attention


def cross_attention__wrong_implicit_dim(vectors, memory, query_weight, key_weight, value_weight):
    """F.softmax is called without dim; on three axes it then runs over the batch and not over the keys."""
    scores = (vectors @ query_weight.T) @ (memory @ key_weight.T).transpose(1, 2)
    return F.softmax(scores) @ (memory @ value_weight.T)


def cross_attention__wrong_scaled(vectors, memory, query_weight, key_weight, value_weight):
    """The scores are divided by the root of the width of a key, but there is no scale here."""
    query = F.linear(vectors, query_weight)
    key = F.linear(memory, key_weight)
    scores = query @ key.mT / key.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ F.linear(memory, value_weight)


def _project_guess(inputs, weight):
    if inputs.shape[-1] == weight.shape[0]:
        return inputs @ weight
    return inputs @ weight.T


def cross_attention__wrong_square_not_transposed(vectors, memory, query_weight, key_weight, value_weight):
    """The code transposes a weight only where the shapes force it to, so a square weight is used untransposed."""
    query = _project_guess(vectors, query_weight)
    key = _project_guess(memory, key_weight)
    value = _project_guess(memory, value_weight)
    return torch.softmax(query @ key.transpose(1, 2), dim=-1) @ value


def cross_attention__wrong_transposed_in_place(vectors, memory, query_weight, key_weight, value_weight):
    """t_() transposes the caller's weights in place; the arguments must stay as they were."""
    query = vectors @ query_weight.t_()
    key = memory @ key_weight.t_()
    value = memory @ value_weight.t_()
    return torch.softmax(query @ key.transpose(1, 2), dim=-1) @ value


def cross_attention__wrong_causal(vectors, memory, query_weight, key_weight, value_weight):
    """A causal mask was copied from decoder self-attention, but every query attends to the whole memory and its order does not matter."""
    scores = einsum(vectors @ query_weight.T, memory @ key_weight.T, "b q d, b k d -> b q k")
    visible = torch.ones(scores.shape[1:]).tril().bool()
    weights = scores.masked_fill(~visible, float("-inf")).softmax(dim=-1)
    return weights @ (memory @ value_weight.T)


def cross_attention__wrong_global_maximum(vectors, memory, query_weight, key_weight, value_weight):
    """The largest score of the whole batch is subtracted instead of that of the row, so a row with much lower scores becomes 0 / 0."""
    scores = (vectors @ query_weight.T) @ (memory @ key_weight.T).transpose(1, 2)
    weights = torch.exp(scores - scores.max())
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ (memory @ value_weight.T)


def cross_attention__wrong_told_apart_by_shape(vectors, memory, query_weight, key_weight, value_weight):
    """The two sets are told apart by their width, so where the widths are equal the larger set is taken for the memory, whatever its name."""
    first, second = vectors, memory
    if first.shape[2] != query_weight.shape[1] or (
        first.shape[2] == second.shape[2] and first.shape[1] >= second.shape[1]
    ):
        first, second = second, first
    query = first @ query_weight.T
    key = second @ key_weight.T
    value = second @ value_weight.T
    return torch.softmax(query @ key.transpose(1, 2), dim=-1) @ value


def cross_attention__right_two_loops(vectors, memory, query_weight, key_weight, value_weight):
    """Loops over the examples and over the queries and handles one query at a time."""
    outputs = []
    for own, other in zip(vectors, memory):
        key = (key_weight @ other.T).T
        value = (value_weight @ other.T).T
        rows = [torch.softmax(key @ (query_weight @ vector), dim=0) @ value for vector in own]
        outputs.append(torch.stack(rows))
    return torch.stack(outputs)


def cross_attention__right_keys_first(vectors, memory, query_weight, key_weight, value_weight):
    """The scores are laid out with the keys as rows, (batch, key, query), so the softmax rightly runs over dim 1."""
    query = torch.tensordot(vectors, query_weight, dims=([2], [1]))
    key = torch.tensordot(memory, key_weight, dims=([2], [1]))
    value = torch.tensordot(memory, value_weight, dims=([2], [1]))
    scores = torch.bmm(key, query.transpose(1, 2))  # (batch, key, query)
    scores = scores - scores.amax(dim=1, keepdim=True)
    weights = torch.exp(scores - torch.logsumexp(scores, dim=1, keepdim=True))
    return torch.einsum("bkq,bkv->bqv", weights, value)


# ---------------------------------------------------------------- 04.4 split_scores


def _scores(inputs, query_weight, key_weight):
    return (inputs @ query_weight.T) @ (inputs @ key_weight.T).transpose(1, 2)


def split_scores__wrong_not_halved(inputs, query_weight, key_weight):
    """The parts are the sum and the difference of S and its transpose; half of each was forgotten."""
    scores = _scores(inputs, query_weight, key_weight)
    return scores + scores.mT, scores - scores.mT


def split_scores__wrong_order(inputs, query_weight, key_weight):
    """The antisymmetric part is returned first; the symmetric one was asked for first."""
    scores = _scores(inputs, query_weight, key_weight)
    return (scores - scores.mT) / 2, (scores + scores.mT) / 2


def split_scores__wrong_key_times_query(inputs, query_weight, key_weight):
    """The scores are computed as K Q^T, which is the transpose of S, so the second part has the wrong sign."""
    scores = torch.einsum("bik,bjk->bij", inputs @ key_weight.T, inputs @ query_weight.T)
    return 0.5 * (scores + scores.mT), 0.5 * (scores - scores.mT)


def split_scores__wrong_alias(inputs, query_weight, key_weight):
    """`symmetric` is another name for `scores`, so after the in-place step the second part is always zero."""
    scores = _scores(inputs, query_weight, key_weight)
    symmetric = scores
    symmetric += scores.mT.clone()
    symmetric /= 2
    return symmetric, scores - symmetric


def split_scores__wrong_scaled(inputs, query_weight, key_weight):
    """The scores are divided by the root of d_key although they are asked for without a scale; it agrees for d_key = 1 as in the example."""
    scores = _scores(inputs, query_weight, key_weight) / math.sqrt(query_weight.shape[0])
    return (scores + scores.mT) / 2, (scores - scores.mT) / 2


def split_scores__wrong_mean_weight(inputs, query_weight, key_weight):
    """The symmetric part is not the score of the averaged weights; it agrees only when both weights are the same or nearly so."""
    mean = (query_weight + key_weight) / 2
    symmetric = _scores(inputs, mean, mean)
    return symmetric, _scores(inputs, query_weight, key_weight) - symmetric


def split_scores__wrong_triangles(inputs, query_weight, key_weight):
    """The lower triangle was mirrored to get a symmetric matrix, but the symmetric part is the mean of s_ij and s_ji."""
    scores = _scores(inputs, query_weight, key_weight)
    lower = scores.tril()
    symmetric = lower + scores.tril(-1).mT
    return symmetric, scores - symmetric


def split_scores__right_split_the_form(inputs, query_weight, key_weight):
    """Splits the bilinear form Wq^T Wk into its two parts, and applies each part to the inputs."""
    form = torch.einsum("km,kn->mn", query_weight.double(), key_weight.double())
    wide = inputs.double()
    parts = [torch.einsum("bim,mn,bjn->bij", wide, part, wide) for part in ((form + form.T) / 2, (form - form.T) / 2)]
    return parts[0].to(inputs.dtype), parts[1].to(inputs.dtype)


def split_scores__right_entry_by_entry(inputs, query_weight, key_weight):
    """Fills two matrices entry by entry from the definition, the mean and half the difference of s_ij and s_ji."""
    batch, time, _ = inputs.shape
    query, key = F.linear(inputs, query_weight), F.linear(inputs, key_weight)
    symmetric, antisymmetric = inputs.new_zeros(batch, time, time), inputs.new_zeros(batch, time, time)
    for i in range(time):
        for j in range(time):
            forth = (query[:, i] * key[:, j]).sum(dim=-1)
            back = (query[:, j] * key[:, i]).sum(dim=-1)
            symmetric[:, i, j] = (forth + back) / 2
            antisymmetric[:, i, j] = (forth - back) / 2
    return symmetric, antisymmetric


# ---------------------------------------------------------------- 04.5 other_weights


def other_weights__wrong_inverse_not_transposed(query_weight, key_weight, change):
    """The key weight is multiplied by the inverse of R; it must be the inverse of its transpose, and the two agree only for a symmetric R."""
    return change @ query_weight, torch.linalg.inv(change) @ key_weight


def other_weights__wrong_same_change(query_weight, key_weight, change):
    """Both weights are multiplied by R, which keeps the scores only for orthogonal matrices."""
    return change @ query_weight, change @ key_weight


def other_weights__wrong_transposed_query(query_weight, key_weight, change):
    """The scores stay as they were, but the new query weight is R^T Wq and was asked to be R Wq."""
    return change.T @ query_weight, torch.linalg.solve(change, key_weight)


def other_weights__wrong_in_place(query_weight, key_weight, change):
    """The new query weight is written into the caller's tensor; the arguments must stay as they were."""
    query_weight.copy_(change @ query_weight)
    return query_weight, torch.linalg.inv(change).T @ key_weight


def other_weights__wrong_determinant_forgotten(query_weight, key_weight, change):
    """The cofactors are not divided by the determinant, so the answer is right only where it is 1, as for the shear of the example."""
    size = change.shape[0]
    cofactor = torch.ones_like(change)
    for i in range(size):
        for j in range(size):
            rows = [r for r in range(size) if r != i]
            columns = [c for c in range(size) if c != j]
            minor = change[rows][:, columns]
            cofactor[i, j] = (-1) ** (i + j) * (torch.linalg.det(minor) if size > 1 else 1.0)
    return change @ query_weight, cofactor @ key_weight


def other_weights__wrong_regularised(query_weight, key_weight, change):
    """A small multiple of the identity is added before the inversion; R is invertible, and the scores now change by about a per cent."""
    stable = change + 1e-2 * torch.eye(change.shape[0], dtype=change.dtype)
    return change @ query_weight, torch.linalg.solve(stable.T, key_weight)


def other_weights__wrong_transpose_only(query_weight, key_weight, change):
    """The transpose of R is not its inverse: the key weight needs R^-T, not R^T."""
    return change @ query_weight, change.T @ key_weight


def other_weights__right_solve_from_the_right(query_weight, key_weight, change):
    """Solves X R = Wk^T for X with left=False and transposes the solution."""
    new_query = torch.einsum("rk,km->rm", change, query_weight)
    new_key = torch.linalg.solve(change, key_weight.T, left=False).T
    return new_query, new_key


def other_weights__right_singular_values(query_weight, key_weight, change):
    """Builds the inverse transpose from the singular value decomposition, in double precision."""
    u, s, vh = torch.linalg.svd(change.double())
    new_key = u @ ((vh @ key_weight.double()) / s[:, None])
    return torch.mm(change, query_weight), new_key.to(key_weight.dtype)
