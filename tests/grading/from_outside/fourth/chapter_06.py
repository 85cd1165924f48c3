# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch
from einops import einsum, rearrange
from torch import nn

# ---------------------------------------------------------------- split_heads


def split_heads__wrong_interleaved(vectors, heads):
    """Deals the features out in turn (head 0, head 1, head 0, ...) although each head owns neighbouring features."""
    return rearrange(vectors, "batch time (d_head heads) -> batch heads time d_head", heads=heads)


def split_heads__wrong_split_size(vectors, heads):
    """Takes the number of heads for the width of a head (torch.split wants the size), right only if both are equal."""
    return torch.stack(torch.split(vectors, heads, dim=-1), dim=1)


def split_heads__wrong_data_copy(vectors, heads):
    """Copies from vectors.data into a new tensor, so no gradient flows back."""
    batch, time, width = vectors.shape
    d_head = width // heads
    result = torch.zeros(batch, heads, time, d_head, dtype=vectors.dtype)
    for head in range(heads):
        result[:, head] = vectors.data[:, :, head * d_head : (head + 1) * d_head]
    return result


def split_heads__right_unfold(vectors, heads):
    """Right: windows of d_head with the same stride are the heads, then heads and time are exchanged."""
    d_head = vectors.shape[-1] // heads
    return vectors.unfold(-1, d_head, d_head).swapaxes(1, 2)


# ---------------------------------------------------------------- merge_heads


def merge_heads__wrong_no_transpose(vectors):
    """Reshapes without moving the heads behind the time first."""
    batch, heads, time, d_head = vectors.shape
    return vectors.reshape(batch, time, heads * d_head)


def merge_heads__wrong_view_after_transpose(vectors):
    """Uses view on a transposed tensor, which raises an error as soon as there is more than one position."""
    batch, heads, time, d_head = vectors.shape
    return vectors.transpose(1, 2).view(batch, time, heads * d_head)


def merge_heads__right_cat_unbind(vectors):
    """Right: takes the heads apart along axis 1 and concatenates them along the features."""
    return torch.cat(vectors.unbind(1), dim=-1)


# ---------------------------------------------------------------- MultiHeadAttention


class MultiHeadAttention__wrong_root_of_d_model(nn.Module):
    """Divides the scores by the root of d_model and not of d_head."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.d_model = d_model
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, inputs, mask):
        cut = lambda x: rearrange(x, "b t (h d) -> b h t d", h=self.heads)
        query, key, value = cut(self.to_query(inputs)), cut(self.to_key(inputs)), cut(self.to_value(inputs))
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_model)
        scores = scores.masked_fill(~mask.unsqueeze(-3), float("-inf"))
        weights = scores.softmax(dim=-1)
        merged = rearrange(weights @ value, "b h t d -> b t (h d)")
        return self.to_output(merged), weights


class MultiHeadAttention__wrong_mask_without_heads(nn.Module):
    """Gives the mask no axis for the heads, so that a batch of masks is read as one mask per head."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.d_head = d_model // heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def split(self, x):
        batch, time, _ = x.shape
        return x.reshape(batch, time, self.heads, self.d_head).transpose(1, 2)

    def forward(self, inputs, mask):
        query = self.split(self.to_query(inputs))
        key = self.split(self.to_key(inputs))
        value = self.split(self.to_value(inputs))
        scores = query @ key.transpose(-1, -2) / self.d_head**0.5
        scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = (weights @ value).transpose(1, 2).flatten(2)
        return self.to_output(output), weights


class MultiHeadAttention__wrong_unsqueeze_one(nn.Module):
    """Inserts the axis of the heads with unsqueeze(1), which is in the wrong place for a mask without a batch."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.d_head = d_model // heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, inputs, mask):
        batch, time, d_model = inputs.shape
        query = self.to_query(inputs).view(batch, time, self.heads, self.d_head).transpose(1, 2)
        key = self.to_key(inputs).view(batch, time, self.heads, self.d_head).transpose(1, 2)
        value = self.to_value(inputs).view(batch, time, self.heads, self.d_head).transpose(1, 2)
        scores = query @ key.transpose(2, 3) / self.d_head**0.5
        scores = scores.masked_fill(mask.unsqueeze(1) == False, float("-inf"))  # noqa: E712
        weights = torch.softmax(scores, dim=-1)
        merged = (weights @ value).transpose(1, 2).reshape(batch, time, d_model)
        return self.to_output(merged), weights


class MultiHeadAttention__wrong_minus_1e9(nn.Module):
    """Hides with -1e9 instead of minus infinity, so a hidden key wins where all others have the score -1e10."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, inputs, mask):
        cut = "b t (h d) -> b h t d"
        query = rearrange(self.to_query(inputs), cut, h=self.heads)
        key = rearrange(self.to_key(inputs), cut, h=self.heads)
        value = rearrange(self.to_value(inputs), cut, h=self.heads)
        scores = einsum(query, key, "b h q d, b h k d -> b h q k") / query.shape[-1] ** 0.5
        scores = torch.where(mask.unsqueeze(-3), scores, -1e9)
        weights = scores.softmax(-1)
        output = einsum(weights, value, "b h q k, b h k d -> b h q d")
        return self.to_output(rearrange(output, "b h t d -> b t (h d)")), weights


class MultiHeadAttention__wrong_mask_after_softmax(nn.Module):
    """Masks after the softmax and divides by the sum, which is 0 / 0 where a hidden key has all the weight."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, inputs, mask):
        cut = lambda x: x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        query, key, value = cut(self.to_query(inputs)), cut(self.to_key(inputs)), cut(self.to_value(inputs))
        weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(dim=-1)
        weights = weights * mask.unsqueeze(-3)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        output = (weights @ value).transpose(1, 2).flatten(2)
        return self.to_output(output), weights


class MultiHeadAttention__wrong_interleaved_heads(nn.Module):
    """Splits and merges consistently, but with the features of the heads interleaved and not side by side."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, inputs, mask):
        pattern = "b t (d h) -> b h t d"
        query = rearrange(self.to_query(inputs), pattern, h=self.heads)
        key = rearrange(self.to_key(inputs), pattern, h=self.heads)
        value = rearrange(self.to_value(inputs), pattern, h=self.heads)
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        scores = scores.masked_fill(~mask.unsqueeze(-3), -torch.inf)
        weights = scores.softmax(-1)
        merged = rearrange(weights @ value, "b h t d -> b t (d h)")
        return self.to_output(merged), weights


class MultiHeadAttention__wrong_flips_the_mask(nn.Module):
    """Negates the caller's mask in place (logical_not_), so the argument is changed after the call."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, inputs, mask):
        cut = lambda x: rearrange(x, "b t (h d) -> b h t d", h=self.heads)
        query, key, value = cut(self.to_query(inputs)), cut(self.to_key(inputs)), cut(self.to_value(inputs))
        hidden = mask.logical_not_().unsqueeze(-3)
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        merged = rearrange(weights @ value, "b h t d -> b t (h d)")
        return self.to_output(merged), weights


class MultiHeadAttention__right_loop_over_heads(nn.Module):
    """Right: each head by itself with its slice of features, stacked and concatenated at the end."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.d_head = d_model // heads
        for name in ("to_query", "to_key", "to_value", "to_output"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, inputs, mask):
        query, key, value = self.to_query(inputs), self.to_key(inputs), self.to_value(inputs)
        outputs, weights = [], []
        for head in range(self.heads):
            part = slice(head * self.d_head, (head + 1) * self.d_head)
            scores = torch.einsum("bqd,bkd->bqk", query[..., part], key[..., part]) * self.d_head**-0.5
            scores = torch.where(mask, scores, torch.full_like(scores, -math.inf))
            weights.append(torch.softmax(scores, dim=2))
            outputs.append(torch.einsum("bqk,bkd->bqd", weights[-1], value[..., part]))
        return self.to_output(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)


class MultiHeadAttention__right_own_softmax(nn.Module):
    """Right: einsum with a written-out softmax that subtracts the greatest allowed score."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def forward(self, inputs, mask):
        query, key, value = (
            layer(inputs).unflatten(-1, (self.heads, -1)) for layer in (self.to_query, self.to_key, self.to_value)
        )
        if mask.dim() == 2:
            mask = mask[None]
        scores = torch.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(torch.logical_not(mask)[:, None], -torch.inf)
        powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True).detach())
        weights = powers / powers.sum(dim=-1, keepdim=True)
        output = torch.einsum("bhqk,bkhd->bqhd", weights, value)
        return self.to_output(output.flatten(2)), weights


# ---------------------------------------------------------------- head_contributions


def head_contributions__wrong_rows(vectors, output_weight):
    """Cuts the rows of the weight into blocks and not the columns, as if nn.Linear stored (in, out)."""
    heads, d_head = vectors.shape[1], vectors.shape[3]
    parts = []
    for i in range(heads):
        parts.append(vectors[:, i] @ output_weight[i * d_head : (i + 1) * d_head])
    return torch.stack(parts, dim=1)


def head_contributions__wrong_narrow_only(vectors, output_weight):
    """Takes d_model // heads for the width of a head, which is not so for wide heads."""
    heads = vectors.shape[1]
    d_head = output_weight.shape[0] // heads
    parts = [vectors[:, i] @ output_weight[:, i * d_head : (i + 1) * d_head].T for i in range(heads)]
    return torch.stack(parts, dim=1)


def head_contributions__wrong_missing_clone(vectors, output_weight):
    """Sets the other heads to zero in the one merged tensor without a copy, so only the first head contributes."""
    heads, d_head = vectors.shape[1], vectors.shape[3]
    merged = rearrange(vectors, "b h t d -> b t (h d)").clone()
    parts = []
    for i in range(heads):
        alone = merged
        alone[..., : i * d_head] = 0
        alone[..., (i + 1) * d_head :] = 0
        parts.append(alone @ output_weight.T)
    return torch.stack(parts, dim=1)


def head_contributions__right_zeros_elsewhere(vectors, output_weight):
    """Right: puts each head into a vector of zeros at its own place and multiplies by the whole weight."""
    batch, heads, time, d_head = vectors.shape
    parts = []
    for i in range(heads):
        padded = nn.functional.pad(vectors[:, i], (i * d_head, (heads - 1 - i) * d_head))
        parts.append(nn.functional.linear(padded, output_weight))
    return torch.stack(parts, dim=1)


# ---------------------------------------------------------------- count_parameters


def count_parameters__wrong_no_bias(d_model, heads, wide):
    """Leaves out the biases."""
    width = heads * d_model if wide else d_model
    one = d_model * width
    return torch.tensor([one, one, one, one, 4 * one])


def count_parameters__wrong_output_bias(d_model, heads, wide):
    """Gives to_output a bias as wide as all heads, although it has one number for each of d_model outputs."""
    d_head = d_model if wide else d_model // heads
    width = heads * d_head
    first = d_model * width + width
    last = width * d_model + width
    return torch.tensor([first, first, first, last, 3 * first + last])


def count_parameters__wrong_float(d_model, heads, wide):
    """Divides with / and so returns float32 and not int64."""
    d_head = d_model if wide else d_model / heads
    width = heads * d_head
    first = d_model * width + width
    last = width * d_model + d_model
    return torch.tensor([first, first, first, last, 3 * first + last], dtype=torch.float32)


def count_parameters__right_meta_layers(d_model, heads, wide):
    """Right: lets nn.Linear count, on the meta device so that no memory is needed."""
    width = heads * (d_model if wide else d_model // heads)
    layers = [nn.Linear(d_model, width, device="meta") for _ in range(3)]
    layers.append(nn.Linear(width, d_model, device="meta"))
    counts = [sum(each.numel() for each in layer.parameters()) for layer in layers]
    return torch.tensor(counts + [sum(counts)], dtype=torch.int64)


# ---------------------------------------------------------------- grouped_query_attention


def grouped_query_attention__wrong_repeat(query, key, value):
    """Tiles the groups (0 1 0 1) with repeat instead of letting neighbouring heads share one (0 0 1 1)."""
    times = query.shape[1] // key.shape[1]
    key = key.repeat(1, times, 1, 1)
    value = value.repeat(1, times, 1, 1)
    weights = (query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5).softmax(dim=-1)
    return weights @ value


def grouped_query_attention__wrong_repeats_groups_times(query, key, value):
    """Repeats every group as often as there are groups, which fits only if heads is the square of groups."""
    groups = key.shape[1]
    key = key.repeat_interleave(groups, dim=1)
    value = value.repeat_interleave(groups, dim=1)
    scores = einsum(query, key, "b h q d, b h k d -> b h q k") / math.sqrt(query.shape[-1])
    return einsum(scores.softmax(-1), value, "b h q k, b h k d -> b h q d")


def grouped_query_attention__wrong_no_root(query, key, value):
    """Does not divide the scores by the root of d_head, which the example with d_head 1 does not show."""
    times = query.shape[1] // key.shape[1]
    key = key.repeat_interleave(times, dim=1)
    value = value.repeat_interleave(times, dim=1)
    return torch.softmax(query @ key.mT, dim=-1) @ value


def grouped_query_attention__right_broadcast(query, key, value):
    """Right: cuts the heads of the query into two axes and lets an axis of size one broadcast."""
    groups = key.shape[1]
    cut = query.unflatten(1, (groups, query.shape[1] // groups))
    scores = torch.matmul(cut, key.unsqueeze(2).transpose(-1, -2)) * query.shape[-1] ** -0.5
    return torch.matmul(torch.softmax(scores, -1), value.unsqueeze(2)).flatten(1, 2)
