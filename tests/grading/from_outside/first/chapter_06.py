# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import torch
from einops import einsum, rearrange
from torch import nn
from torch.func import vmap

# ---------------------------------------------------------------- split_heads


def split_heads__wrong_only_reshape(vectors, heads):
    """One reshape to (batch, heads, time, d_head) mixes time and heads: first cut the last axis, then transpose."""
    b, t, d = vectors.shape
    return vectors.reshape(b, heads, t, d // heads)


def split_heads__wrong_heads_inside(vectors, heads):
    """(d_head heads) gives every head each second number; the first d_head numbers belong to the first head."""
    return rearrange(vectors, "b t (d h) -> b h t d", h=heads)


def split_heads__wrong_no_transpose(vectors, heads):
    """The axis of the heads must stand before the time; you only cut the last axis."""
    b, t, d = vectors.shape
    return vectors.view(b, t, heads, d // heads)


def split_heads__wrong_detached(vectors, heads):
    """The copy into a tensor made of detached numbers lets no gradient flow back."""
    d = vectors.shape[-1] // heads
    return torch.stack([vectors.detach()[..., m * d : (m + 1) * d] for m in range(heads)], dim=1)


def split_heads__right_by_unfold(vectors, heads):
    width = vectors.shape[-1] // heads
    return vectors.unfold(2, width, width).movedim(2, 1)


# ---------------------------------------------------------------- merge_heads


def merge_heads__wrong_only_reshape(vectors):
    """Without moving the heads behind the time the reshape mixes positions."""
    b, h, t, d = vectors.shape
    return vectors.reshape(b, t, h * d)


def merge_heads__wrong_d_head_outside(vectors):
    """(d h) puts the first number of every head first; the heads have to be side by side, (h d)."""
    return rearrange(vectors, "b h t d -> b t (d h)")


def merge_heads__wrong_sum(vectors):
    """You add the heads up instead of putting them side by side."""
    return vectors.sum(dim=1)


def merge_heads__wrong_squeezed(vectors):
    """squeeze() before the flatten removes axes of size one that you still need."""
    return vectors.transpose(1, 2).flatten(2).squeeze()


def merge_heads__right_by_cat(vectors):
    return torch.cat(vectors.unbind(dim=1), dim=-1)


# ---------------------------------------------------------------- MultiHeadAttention


class _FourLayers(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def cut(self, x):
        return rearrange(x, "b t (h d) -> b h t d", h=self.heads)

    def cut_all(self, x):
        return self.cut(self.to_query(x)), self.cut(self.to_key(x)), self.cut(self.to_value(x))

    def finish(self, w, v):
        return self.to_output(rearrange(w @ v, "b h t d -> b t (h d)"))


class MultiHeadAttention__wrong_root_of_d_model(_FourLayers):
    def forward(self, inputs, mask):
        """The root is of d_head, the width of one head; you take that of d_model."""
        q, k, v = self.cut_all(inputs)
        s = q @ k.mT / inputs.shape[-1] ** 0.5
        w = s.masked_fill(~mask.unsqueeze(-3), -torch.inf).softmax(-1)
        return self.finish(w, v), w


class MultiHeadAttention__wrong_mask_without_heads_axis(_FourLayers):
    def forward(self, inputs, mask):
        """A mask with a batch needs an axis for the heads; without it each head gets the mask of an example (or it crashes)."""
        q, k, v = self.cut_all(inputs)
        s = q @ k.mT / q.shape[-1] ** 0.5
        w = s.masked_fill(~mask, -torch.inf).softmax(-1)
        return self.finish(w, v), w


class MultiHeadAttention__wrong_view_into_heads(_FourLayers):
    def forward(self, inputs, mask):
        """view(batch, heads, time, d_head) mixes positions and heads; cut the last axis, then transpose."""
        b, t, d = inputs.shape
        q, k, v = (f(inputs).view(b, self.heads, t, -1) for f in (self.to_query, self.to_key, self.to_value))
        s = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        w = s.masked_fill(~mask.unsqueeze(-3), -torch.inf).softmax(-1)
        return self.to_output((w @ v).reshape(b, t, d)), w


class MultiHeadAttention__wrong_merge_by_reshape(_FourLayers):
    def forward(self, inputs, mask):
        """Before the merge the heads have to be moved back behind the time; your reshape mixes them."""
        q, k, v = self.cut_all(inputs)
        s = q @ k.mT / q.shape[-1] ** 0.5
        w = s.masked_fill(~mask.unsqueeze(-3), -torch.inf).softmax(-1)
        return self.to_output((w @ v).reshape(inputs.shape)), w


class MultiHeadAttention__wrong_minus_1e9(_FourLayers):
    def forward(self, inputs, mask):
        """-1e9 does not hide a key where all the other scores are -1e10; use minus infinity."""
        q, k, v = self.cut_all(inputs)
        s = q @ k.mT / q.shape[-1] ** 0.5
        w = s.masked_fill(~mask.unsqueeze(-3), -1e9).softmax(-1)
        return self.finish(w, v), w


class MultiHeadAttention__wrong_mean_of_weights(_FourLayers):
    def forward(self, inputs, mask):
        """The weights of each head are asked, you return their mean over the heads."""
        q, k, v = self.cut_all(inputs)
        s = q @ k.mT / q.shape[-1] ** 0.5
        w = s.masked_fill(~mask.unsqueeze(-3), -torch.inf).softmax(-1)
        return self.finish(w, v), w.mean(dim=1)


class MultiHeadAttention__wrong_softmax_over_queries(_FourLayers):
    def forward(self, inputs, mask):
        """dim=2 of (batch, heads, query, key) are the queries; the softmax runs over the keys, dim=3."""
        q, k, v = self.cut_all(inputs)
        s = q @ k.mT / q.shape[-1] ** 0.5
        w = s.masked_fill(~mask.unsqueeze(-3), -torch.inf).softmax(2).nan_to_num()
        return self.finish(w, v), w


class MultiHeadAttention__right_by_loop_over_heads(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads, self.width = heads, d_model // heads
        for name in ("to_query", "to_key", "to_value", "to_output"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, inputs, mask):
        mask = mask.expand(inputs.shape[0], -1, -1)
        output, weights = self.to_output.bias, []
        for m in range(self.heads):
            part = slice(m * self.width, (m + 1) * self.width)
            q, k, v = (
                inputs @ layer.weight[part].T + layer.bias[part]
                for layer in (self.to_query, self.to_key, self.to_value)
            )
            scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.width)
            weights.append(torch.where(mask, scores, float("-inf")).softmax(dim=-1))
            output = output + weights[-1] @ v @ self.to_output.weight[:, part].T
        return output, torch.stack(weights, dim=1)


# ---------------------------------------------------------------- head_contributions


def head_contributions__wrong_columns_interleaved(vectors, output_weight):
    """(d_head heads) takes every h-th column; the columns of one head stand together, (heads d_head)."""
    w = rearrange(output_weight, "m (d h) -> h m d", h=vectors.shape[1])
    return torch.einsum("bhtd,hmd->bhtm", vectors, w)


def head_contributions__wrong_summed(vectors, output_weight):
    """You return the sum over the heads, but its terms are asked."""
    w = output_weight.view(output_weight.shape[0], vectors.shape[1], -1)
    return einsum(vectors, w, "b h t d, m h d -> b t m")


def head_contributions__wrong_plain_reshape(vectors, output_weight):
    """reshape(heads, d_head, d_model) cuts the rows of the weight; the columns belong to the heads, so transpose first."""
    b, h, t, d = vectors.shape
    return vectors @ output_weight.reshape(h, d, -1)


def head_contributions__wrong_first_block_for_all(vectors, output_weight):
    """Every head is multiplied by the columns of the first head."""
    d = vectors.shape[-1]
    return vectors @ output_weight[:, :d].T


def head_contributions__right_by_silenced_heads(vectors, output_weight):
    heads = vectors.shape[1]
    parts = []
    for m in range(heads):
        alone = torch.cat([vectors[:, j] if j == m else torch.zeros_like(vectors[:, j]) for j in range(heads)], dim=-1)
        parts.append(nn.functional.linear(alone, output_weight))
    return torch.stack(parts, dim=1)


# ---------------------------------------------------------------- count_parameters


def count_parameters__wrong_no_bias(d_model, heads, wide):
    """The biases are missing."""
    w = d_model * heads if wide else d_model
    n = d_model * w
    return torch.tensor([n, n, n, n, 4 * n])


def count_parameters__wrong_output_bias(d_model, heads, wide):
    """to_output leads back to d_model, so its bias has d_model entries and not heads * d_head."""
    w = d_model * heads if wide else d_model
    n = d_model * w + w
    return torch.tensor([n, n, n, n, 4 * n])


def count_parameters__wrong_one_head_only(d_model, heads, wide):
    """You count one head; the layers map to all heads side by side."""
    d = d_model if wide else d_model // heads
    a, o = d_model * d + d, d * d_model + d_model
    return torch.tensor([a, a, a, o, 3 * a + o])


def count_parameters__wrong_wide_ignored(d_model, heads, wide):
    """wide is never used, so this is right for narrow heads only."""
    n = d_model * d_model + d_model
    return torch.tensor([n] * 4 + [4 * n])


def count_parameters__right_by_meta_layers(d_model, heads, wide):
    width = sum(d_model if wide else d_model // heads for _ in range(heads))
    layers = [nn.Linear(d_model, width, device="meta") for _ in range(3)]
    layers.append(nn.Linear(width, d_model, device="meta"))
    counts = [sum(p.numel() for p in layer.parameters()) for layer in layers]
    return torch.tensor([*counts, sum(counts)])


# ---------------------------------------------------------------- grouped_query_attention


def grouped_query_attention__wrong_tiled(query, key, value):
    """repeat puts the groups in turn, 0 1 0 1; neighbouring heads share a group, 0 0 1 1: repeat_interleave."""
    n = query.shape[1] // key.shape[1]
    k, v = key.repeat(1, n, 1, 1), value.repeat(1, n, 1, 1)
    return torch.softmax(query @ k.mT / query.shape[-1] ** 0.5, dim=-1) @ v


def grouped_query_attention__wrong_first_group_only(query, key, value):
    """Every head reads group 0."""
    k, v = key[:, :1], value[:, :1]
    return torch.softmax(query @ k.mT / query.shape[-1] ** 0.5, dim=-1) @ v


def grouped_query_attention__wrong_no_scale(query, key, value):
    """The division by the root of d_head is missing."""
    n = query.shape[1] // key.shape[1]
    k, v = key.repeat_interleave(n, 1), value.repeat_interleave(n, 1)
    return (query @ k.mT).softmax(-1) @ v


def grouped_query_attention__wrong_groups_mixed_by_modulo(query, key, value):
    """Head m reads the group m // (heads // groups), not m % groups, in the values."""
    h, g = query.shape[1], key.shape[1]
    out = []
    for m in range(h):
        w = torch.softmax(query[:, m] @ key[:, m // (h // g)].mT / query.shape[-1] ** 0.5, dim=-1)
        out.append(w @ value[:, m % g])
    return torch.stack(out, 1)


def grouped_query_attention__right_by_stacking_queries(query, key, value):
    time = query.shape[2]
    long = rearrange(query, "b (g n) t d -> b g (n t) d", g=key.shape[1])

    def attend(q, k, v):
        return torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=-1) @ v

    return rearrange(vmap(vmap(attend))(long, key, value), "b g (n t) d -> b (g n) t d", t=time)
