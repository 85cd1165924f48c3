# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from torch import nn


def split_heads__wrong_view(vectors, heads):
    """Reshapes straight to (batch, heads, time, d_head), which mixes positions and heads."""
    b, t, d = vectors.shape
    return vectors.reshape(b, heads, t, d // heads)


def split_heads__wrong_heads_inside(vectors, heads):
    """Writes (d h), so a head gets every heads-th number and not a block side by side."""
    return rearrange(vectors, "b t (d h) -> b h t d", h=heads)


def split_heads__right_split_and_stack(vectors, heads):
    """Cuts the last axis into pieces and stacks these along a new axis."""
    return torch.stack(vectors.split(vectors.shape[-1] // heads, dim=-1), dim=1)


def merge_heads__wrong_no_transpose(vectors):
    """Merges without bringing the time before the heads."""
    b, h, t, d = vectors.shape
    return vectors.reshape(b, t, h * d)


def merge_heads__wrong_no_gradient(vectors):
    """Copies the numbers into a new tensor by .data, so no gradient flows back."""
    b, h, t, d = vectors.shape
    merged = torch.zeros(b, t, h * d, dtype=vectors.dtype)
    for m in range(h):
        merged[:, :, m * d : (m + 1) * d] = vectors.data[:, m]
    return merged


class MultiHeadAttention__wrong_minus_1e9(nn.Module):
    """Fills hidden scores with -1e9, which is not low enough where the visible scores are lower still."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, inputs, mask):
        q, k, v = (
            rearrange(f(inputs), "b t (h d) -> b h t d", h=self.heads)
            for f in (self.to_query, self.to_key, self.to_value)
        )
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if mask.dim() == 3:
            mask = mask[:, None]
        weights = torch.softmax(scores.masked_fill(~mask, -1e9), -1)
        return self.to_output(rearrange(weights @ v, "b h t d -> b t (h d)")), weights


class MultiHeadAttention__wrong_root_of_d_model(nn.Module):
    """Divides by the root of d_model and not of d_head."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.scale = d_model**-0.5
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, inputs, mask):
        b, t, d = inputs.shape

        def split(x):
            return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)

        q, k, v = split(self.to_query(inputs)), split(self.to_key(inputs)), split(self.to_value(inputs))
        scores = q @ k.transpose(-2, -1) * self.scale
        mask = mask.reshape(-1, 1, t, t)
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        return self.to_output((weights @ v).transpose(1, 2).reshape(b, t, d)), weights


class MultiHeadAttention__right_head_by_head(nn.Module):
    """A loop over the heads with slices of the weight matrices; the output is a sum over the heads."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        for name in ("to_query", "to_key", "to_value", "to_output"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, inputs, mask):
        d = inputs.shape[-1] // self.heads
        output, weights = self.to_output.bias, []
        for m in range(self.heads):
            part = slice(m * d, (m + 1) * d)
            q, k, v = (
                F.linear(inputs, layer.weight[part], layer.bias[part])
                for layer in (self.to_query, self.to_key, self.to_value)
            )
            scores = torch.einsum("bid,bjd->bij", q, k) / math.sqrt(d)
            scores = torch.where(mask, scores, torch.full_like(scores, -math.inf))
            weights.append(torch.softmax(scores, -1))
            output = output + F.linear(weights[-1] @ v, self.to_output.weight[:, part])
        return output, torch.stack(weights, 1)


def head_contributions__wrong_heads_inside(vectors, output_weight):
    """Splits the columns as (d h), so for d_head > 1 a head meets the columns of other heads."""
    w = rearrange(output_weight, "m (d h) -> h m d", h=vectors.shape[1])
    return einsum(vectors, w, "b h t d, h m d -> b h t m")


def head_contributions__wrong_reshaped_weight(vectors, output_weight):
    """Reshapes the weight to (heads, d_model, d_head) directly, which cuts it by rows and not by columns."""
    b, h, t, d = vectors.shape
    w = output_weight.reshape(h, -1, d)
    return vectors @ w.transpose(1, 2)


def count_parameters__wrong_output_bias(d_model, heads, wide):
    """Gives to_output as many biases as the heads have numbers, instead of d_model."""
    d = d_model if wide else d_model // heads
    each = d_model * heads * d + heads * d
    return torch.tensor([each] * 4 + [4 * each])


def count_parameters__wrong_no_bias(d_model, heads, wide):
    """Counts the weights and forgets the biases."""
    inner = heads * (d_model if wide else d_model // heads)
    return torch.tensor([d_model * inner] * 4 + [4 * d_model * inner])


def count_parameters__right_meta_layers(d_model, heads, wide):
    """Makes the four layers on the device meta, where they take no memory, and counts."""
    inner = heads * d_model if wide else d_model
    sizes = [(d_model, inner)] * 3 + [(inner, d_model)]
    numbers = [sum(p.numel() for p in nn.Linear(*s, device="meta").parameters()) for s in sizes]
    return torch.tensor(numbers + [sum(numbers)])


def grouped_query_attention__wrong_no_scale(query, key, value):
    """Forgets to divide the scores by the root of d_head, which does not show for width 1."""
    r = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(r, 1), value.repeat_interleave(r, 1)
    return torch.softmax(query @ key.transpose(-1, -2), -1) @ value


def grouped_query_attention__wrong_tiled(query, key, value):
    """Repeats the groups as 0 1 0 1, so neighbouring heads do not share a group."""
    b, h, t, d = query.shape
    r = h // key.shape[1]
    key, value = key.repeat(1, r, 1, 1), value.repeat(1, r, 1, 1)
    return torch.softmax(query @ key.transpose(-1, -2) / d**0.5, -1) @ value
