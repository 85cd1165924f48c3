# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import math

import torch
from einops import einsum, rearrange
from torch import nn


def split_heads__wrong_reshape_only(vectors, heads):
    """Cuts the numbers of a whole sequence into heads, so that a head gets whole positions and not its part of each."""
    batch, time, width = vectors.shape
    return vectors.reshape(batch, heads, time, width // heads)


def split_heads__wrong_heads_last(vectors, heads):
    """Takes the heads as interleaved, the number of the head as the faster index."""
    return rearrange(vectors, "batch time (d_head heads) -> batch heads time d_head", heads=heads)


def split_heads__wrong_detached(vectors, heads):
    """Fills a new tensor from detached vectors, so that no gradient flows back."""
    batch, time, width = vectors.shape
    d_head = width // heads
    result = torch.zeros(batch, heads, time, d_head)
    for m in range(heads):
        result[:, m] = vectors.detach()[:, :, m * d_head : (m + 1) * d_head]
    return result


def split_heads__right_chunks(vectors, heads):
    """Right: by chunks of the last axis, stacked."""
    return torch.stack(vectors.chunk(heads, dim=-1), dim=1)


def merge_heads__wrong_reshape_only(vectors):
    """Reshapes without moving the heads behind the time first."""
    batch, heads, time, d_head = vectors.shape
    return vectors.reshape(batch, time, heads * d_head)


def merge_heads__wrong_time_and_width(vectors):
    """Exchanges heads and width where it should exchange heads and time, and reshapes to the shape that is asked for."""
    batch, heads, time, d_head = vectors.shape
    return vectors.transpose(1, 3).reshape(batch, time, heads * d_head)


def _four_layers(module, d_model):
    module.to_query = nn.Linear(d_model, d_model)
    module.to_key = nn.Linear(d_model, d_model)
    module.to_value = nn.Linear(d_model, d_model)
    module.to_output = nn.Linear(d_model, d_model)


def _cut(vectors, heads):
    return rearrange(vectors, "b t (h d) -> b h t d", h=heads)


class MultiHeadAttention__wrong_root_model(nn.Module):
    """Divides the scores by the root of d_model, not of d_head."""

    def __init__(self, d_model, heads):
        super().__init__()
        _four_layers(self, d_model)
        self.heads = heads
        self.d_model = d_model

    def forward(self, inputs, mask):
        query = _cut(self.to_query(inputs), self.heads)
        key = _cut(self.to_key(inputs), self.heads)
        value = _cut(self.to_value(inputs), self.heads)
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_model)
        weights = scores.masked_fill(~mask.unsqueeze(-3), float("-inf")).softmax(dim=-1)
        output = rearrange(weights @ value, "b h t d -> b t (h d)")
        return self.to_output(output), weights


class MultiHeadAttention__wrong_mask_no_heads(nn.Module):
    """Gives the mask no axis for the heads, so that with a batch its examples are taken for heads."""

    def __init__(self, d_model, heads):
        super().__init__()
        _four_layers(self, d_model)
        self.heads = heads

    def forward(self, inputs, mask):
        query = _cut(self.to_query(inputs), self.heads)
        key = _cut(self.to_key(inputs), self.heads)
        value = _cut(self.to_value(inputs), self.heads)
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
        return self.to_output((weights @ value).transpose(1, 2).flatten(2)), weights


class MultiHeadAttention__wrong_large_number(nn.Module):
    """Hides with the score -1e9, which is more than scores of -1e10."""

    def __init__(self, d_model, heads):
        super().__init__()
        _four_layers(self, d_model)
        self.heads = heads

    def forward(self, inputs, mask):
        query = _cut(self.to_query(inputs), self.heads)
        key = _cut(self.to_key(inputs), self.heads)
        value = _cut(self.to_value(inputs), self.heads)
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~mask.unsqueeze(-3), -1e9), dim=-1)
        return self.to_output((weights @ value).transpose(1, 2).flatten(2)), weights


class MultiHeadAttention__wrong_mask_afterwards(nn.Module):
    """Puts zeros at hidden keys after the softmax, so that the rows no longer sum to one."""

    def __init__(self, d_model, heads):
        super().__init__()
        _four_layers(self, d_model)
        self.heads = heads

    def forward(self, inputs, mask):
        query = _cut(self.to_query(inputs), self.heads)
        key = _cut(self.to_key(inputs), self.heads)
        value = _cut(self.to_value(inputs), self.heads)
        scores = einsum(query, key, "b h q d, b h k d -> b h q k") / query.shape[-1] ** 0.5
        weights = scores.softmax(dim=-1) * mask.unsqueeze(-3)
        return self.to_output(rearrange(weights @ value, "b h t d -> b t (h d)")), weights


class MultiHeadAttention__wrong_flat_mask(nn.Module):
    """Inserts the axis of the heads at place 1, which is right only where the mask has a batch."""

    def __init__(self, d_model, heads):
        super().__init__()
        _four_layers(self, d_model)
        self.heads = heads

    def forward(self, inputs, mask):
        query = _cut(self.to_query(inputs), self.heads)
        key = _cut(self.to_key(inputs), self.heads)
        value = _cut(self.to_value(inputs), self.heads)
        scores = query @ key.mT / query.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask.unsqueeze(1), -torch.inf).softmax(dim=-1)
        return self.to_output((weights @ value).transpose(1, 2).flatten(2)), weights


class MultiHeadAttention__right_loop(nn.Module):
    """Right: by a loop over the heads, each with its own columns."""

    def __init__(self, d_model, heads):
        super().__init__()
        _four_layers(self, d_model)
        self.heads = heads

    def forward(self, inputs, mask):
        if mask.dim() == 2:
            mask = mask.expand(inputs.shape[0], -1, -1)
        outputs, weights = [], []
        queries = self.to_query(inputs).chunk(self.heads, dim=-1)
        keys = self.to_key(inputs).chunk(self.heads, dim=-1)
        values = self.to_value(inputs).chunk(self.heads, dim=-1)
        for query, key, value in zip(queries, keys, values):
            scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
            scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
            weight = torch.softmax(scores, dim=2)
            weights.append(weight)
            outputs.append(torch.bmm(weight, value))
        return self.to_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)


class MultiHeadAttention__right_exponentials(nn.Module):
    """Right: by einsum, with exponentials after the greatest allowed score is taken away."""

    def __init__(self, d_model, heads):
        super().__init__()
        _four_layers(self, d_model)
        self.heads = heads

    def forward(self, inputs, mask):
        query = _cut(self.to_query(inputs), self.heads)
        key = _cut(self.to_key(inputs), self.heads)
        value = _cut(self.to_value(inputs), self.heads)
        allowed = mask[..., None, :, :]
        scores = einsum(query, key, "b h q d, b h k d -> b h q k") * query.shape[-1] ** -0.5
        scores = scores.masked_fill(~allowed, float("-inf"))
        powers = torch.exp(scores - scores.detach().amax(dim=-1, keepdim=True))
        weights = powers / powers.sum(dim=-1, keepdim=True)
        output = einsum(weights, value, "b h q k, b h k d -> b q h d")
        return self.to_output(output.flatten(2)), weights


def head_contributions__wrong_weight_reshaped(vectors, output_weight):
    """Reshapes the weight to (heads, d_head, d_model) and so mixes its rows and columns."""
    heads, d_head = vectors.shape[1], vectors.shape[3]
    blocks = output_weight.reshape(heads, d_head, -1)
    return vectors @ blocks


def head_contributions__wrong_same_sum(vectors, output_weight):
    """Gives each head an equal share of the whole output, which has the right sum alone."""
    heads = vectors.shape[1]
    merged = vectors.transpose(1, 2).flatten(2)
    total = merged @ output_weight.T
    return (total / heads).unsqueeze(1).repeat(1, heads, 1, 1)


def head_contributions__right_others_zero(vectors, output_weight):
    """Right: by the whole weight, applied to merged vectors in which all other heads are 0."""
    batch, heads, time, d_head = vectors.shape
    result = []
    for m in range(heads):
        alone = torch.zeros_like(vectors)
        alone[:, m] = vectors[:, m]
        result.append(alone.permute(0, 2, 1, 3).reshape(batch, time, heads * d_head) @ output_weight.t())
    return torch.stack(result, dim=1)


def count_parameters__wrong_output_bias(d_model, heads, wide):
    """Gives to_output a bias as wide as all heads together, which shows with wide heads only."""
    d_head = d_model if wide else d_model // heads
    width = heads * d_head
    one = d_model * width + width
    return torch.tensor([one, one, one, one, 4 * one])


def count_parameters__wrong_one_head(d_model, heads, wide):
    """Counts a single head, d_model to d_head, and not all side by side."""
    d_head = d_model if wide else d_model // heads
    one = d_model * d_head + d_head
    last = d_head * d_model + d_model
    return torch.tensor([one, one, one, last, 3 * one + last])


def grouped_query_attention__wrong_repeat(query, key, value):
    """Repeats the groups one after the other, so that neighbouring heads read different groups."""
    times = query.shape[1] // key.shape[1]
    key = key.repeat(1, times, 1, 1)
    value = value.repeat(1, times, 1, 1)
    weights = torch.softmax(query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5, dim=-1)
    return weights @ value


def grouped_query_attention__wrong_causal(query, key, value):
    """Adds a causal mask, since the statement speaks of generating, but every head attends to all positions."""
    times = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(times, dim=1)
    value = value.repeat_interleave(times, dim=1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, float("-inf")).softmax(dim=-1) @ value


def grouped_query_attention__wrong_divided_by_groups(query, key, value):
    """Head m reads group m // groups, where it should be m // (heads // groups): right only where heads is groups squared."""
    groups = key.shape[1]
    outputs = []
    for m in range(query.shape[1]):
        g = min(m // groups, groups - 1)
        scores = query[:, m] @ key[:, g].transpose(1, 2) / query.shape[-1] ** 0.5
        outputs.append(scores.softmax(dim=-1) @ value[:, g])
    return torch.stack(outputs, dim=1)


def grouped_query_attention__right_five_axes(query, key, value):
    """Right: by an einsum with separate axes for the groups and for the heads of a group."""
    grouped = rearrange(query, "b (g m) t d -> b g m t d", g=key.shape[1])
    scores = einsum(grouped, key, "b g m q d, b g k d -> b g m q k") / query.shape[-1] ** 0.5
    output = einsum(scores.softmax(dim=-1), value, "b g m q k, b g k d -> b g m q d")
    return rearrange(output, "b g m q d -> b (g m) q d")
