# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import math

import numpy as np
import torch
import torch.nn.functional as F
from einops import einsum, rearrange, repeat
from torch import nn

# ---------------------------------------------------------------- 06.1 split_heads


def split_heads__wrong_view_only(vectors, heads):
    """A view to (batch, heads, time, d_head) reads the numbers in the old order and mixes positions; time and heads must be exchanged after the split."""
    batch, time, width = vectors.shape
    return vectors.reshape(batch, heads, time, width // heads)


def split_heads__wrong_interleaved(vectors, heads):
    """The heads are taken as every heads-th number; the first d_head numbers in one piece are those of the first head."""
    return rearrange(vectors, "b t (d h) -> b h t d", h=heads)


def split_heads__wrong_not_transposed(vectors, heads):
    """The vectors are split, but the axis of the heads is left after the time; the answer needs (batch, heads, time, d_head)."""
    return vectors.unflatten(-1, (heads, vectors.shape[-1] // heads))


def split_heads__wrong_piece_size(vectors, heads):
    """torch.split takes the size of a piece and not the number of pieces, so it is right only if d_head happens to equal heads."""
    return torch.stack(torch.split(vectors, heads, dim=-1), dim=1)


def split_heads__wrong_cat_in_batch(vectors, heads):
    """The pieces are concatenated along the batch, heads outermost, but read back as batch outermost; right for a batch of one or one head."""
    batch, time, width = vectors.shape
    pieces = torch.cat(vectors.chunk(heads, dim=2), dim=0)
    return pieces.reshape(batch, heads, time, width // heads)


def split_heads__wrong_through_numpy(vectors, heads):
    """The numbers are right, but the way through numpy cuts the graph and no gradient flows back."""
    batch, time, width = vectors.shape
    array = vectors.detach().numpy().reshape(batch, time, heads, width // heads)
    return torch.from_numpy(np.ascontiguousarray(array.transpose(0, 2, 1, 3)))


def split_heads__wrong_squeezed(vectors, heads):
    """squeeze removes every axis of length one, also the batch, a single head or a single position."""
    batch, time, width = vectors.shape
    return vectors.view(batch, time, heads, width // heads).transpose(1, 2).squeeze()


def split_heads__right_chunks(vectors, heads):
    """Cuts the last axis in pieces with chunk and stacks them along a new axis 1."""
    return torch.stack(torch.chunk(vectors, heads, dim=-1), dim=1)


def split_heads__right_selection_matrices(vectors, heads):
    """Multiplies by a selection tensor of zeros and ones, one matrix for each head."""
    width = vectors.shape[2]
    select = torch.eye(width, dtype=vectors.dtype).reshape(heads, width // heads, width)
    return torch.einsum("hdw,btw->bhtd", select, vectors)


# ---------------------------------------------------------------- 06.1 merge_heads


def merge_heads__wrong_reshape_only(vectors):
    """The heads are reshaped without moving the time in front of them, which puts different positions into one vector."""
    batch, heads, time, width = vectors.shape
    return vectors.reshape(batch, time, heads * width)


def merge_heads__wrong_interleaved(vectors):
    """The numbers of the heads alternate in the merged vector; they must stand side by side, the first head first."""
    return rearrange(vectors, "b h t d -> b t (d h)")


def merge_heads__wrong_detached(vectors):
    """The result is built from detached copies of the heads, and no gradient flows back."""
    batch, heads, time, width = vectors.shape
    merged = torch.zeros(batch, time, heads * width, dtype=vectors.dtype)
    for head in range(heads):
        merged[:, :, head * width : (head + 1) * width] = vectors[:, head].detach()
    return merged


def merge_heads__wrong_squeezed(vectors):
    """squeeze() removes the axis of the head, and also batch, time or d_head where they are 1."""
    return torch.cat([head.squeeze() for head in vectors.split(1, dim=1)], dim=-1)


def merge_heads__wrong_time_first(vectors):
    """The axes are brought to time, batch, heads as in a time-first convention and then reshaped as if the batch were first."""
    batch, heads, time, width = vectors.shape
    return vectors.permute(2, 0, 1, 3).reshape(batch, time, heads * width)


def merge_heads__wrong_sum(vectors):
    """The heads are added up, which gives vectors of d_head numbers; they must stand side by side."""
    return vectors.sum(dim=1)


def merge_heads__right_cat(vectors):
    """Concatenates the heads along the last axis."""
    return torch.cat(vectors.unbind(dim=1), dim=-1)


def merge_heads__right_index(vectors):
    """Gathers every number of the merged vector by the index of its head and its place in the head."""
    _, heads, _, width = vectors.shape
    column = torch.arange(heads * width)
    flat = vectors.movedim(2, 1)  # (batch, time, heads, d_head)
    return flat[:, :, column // width, column % width]


# ---------------------------------------------------------------- 06.2 MultiHeadAttention


class _FourLayers(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def split(self, vectors):
        return rearrange(vectors, "b t (h d) -> b h t d", h=self.heads)

    def merge(self, vectors):
        return rearrange(vectors, "b h t d -> b t (h d)")


def _for_heads(mask):
    return mask.unsqueeze(1) if mask.dim() == 3 else mask


class MultiHeadAttention__wrong_mask_broadcast(_FourLayers):
    """A mask (batch, time, time) gets no axis for the heads, so it stops with an error, or, with as many examples as heads, each head gets the mask of an example."""

    def forward(self, inputs, mask):
        query, key, value = (self.split(layer(inputs)) for layer in (self.to_query, self.to_key, self.to_value))
        scores = query @ key.mT / key.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        return self.to_output(self.merge(weights @ value)), weights


class MultiHeadAttention__wrong_root_of_d_model(_FourLayers):
    """The scores are divided by the root of d_model; with several heads d_k is d_head."""

    def forward(self, inputs, mask):
        query, key, value = (self.split(layer(inputs)) for layer in (self.to_query, self.to_key, self.to_value))
        scores = query @ key.mT / math.sqrt(inputs.shape[-1])
        weights = scores.masked_fill(~_for_heads(mask), float("-inf")).softmax(dim=-1)
        return self.to_output(self.merge(weights @ value)), weights


class MultiHeadAttention__wrong_view_split(_FourLayers):
    """The projections are viewed as (batch, heads, time, d_head) without an exchange of axes, so a head sees pieces of several positions."""

    def forward(self, inputs, mask):
        batch, time, width = inputs.shape
        shape = (batch, self.heads, time, width // self.heads)
        query, key, value = (layer(inputs).view(shape) for layer in (self.to_query, self.to_key, self.to_value))
        scores = query @ key.mT / shape[-1] ** 0.5
        weights = scores.masked_fill(~_for_heads(mask), float("-inf")).softmax(dim=-1)
        output = (weights @ value).reshape(batch, time, width)
        return self.to_output(output), weights


class MultiHeadAttention__wrong_mean_weights(_FourLayers):
    """The weights are averaged over the heads as nn.MultiheadAttention does; the weights of each head were asked for."""

    def forward(self, inputs, mask):
        query, key, value = (self.split(layer(inputs)) for layer in (self.to_query, self.to_key, self.to_value))
        scores = query @ key.mT / key.shape[-1] ** 0.5
        weights = scores.masked_fill(~_for_heads(mask), float("-inf")).softmax(dim=-1)
        return self.to_output(self.merge(weights @ value)), weights.mean(dim=1)


class MultiHeadAttention__wrong_minus_1e9(_FourLayers):
    """-1e9 is not low enough for a hidden key where all other scores are -1e10."""

    def forward(self, inputs, mask):
        query, key, value = (self.split(layer(inputs)) for layer in (self.to_query, self.to_key, self.to_value))
        scores = query @ key.mT / key.shape[-1] ** 0.5
        weights = scores.masked_fill(_for_heads(mask) == 0, -1e9).softmax(dim=-1)
        return self.to_output(self.merge(weights @ value)), weights


class MultiHeadAttention__wrong_merged_without_transpose(_FourLayers):
    """The outputs of the heads are reshaped to (batch, time, d_model) without moving the time in front of the heads; the weights are right."""

    def forward(self, inputs, mask):
        query, key, value = (self.split(layer(inputs)) for layer in (self.to_query, self.to_key, self.to_value))
        scores = query @ key.mT / key.shape[-1] ** 0.5
        weights = scores.masked_fill(~_for_heads(mask), float("-inf")).softmax(dim=-1)
        return self.to_output((weights @ value).reshape(inputs.shape)), weights


class MultiHeadAttention__wrong_no_output_layer(_FourLayers):
    """to_output is created and never applied."""

    def forward(self, inputs, mask):
        query, key, value = (self.split(layer(inputs)) for layer in (self.to_query, self.to_key, self.to_value))
        scores = query @ key.mT / key.shape[-1] ** 0.5
        weights = scores.masked_fill(~_for_heads(mask), float("-inf")).softmax(dim=-1)
        return self.merge(weights @ value), weights


class MultiHeadAttention__wrong_first_mask_for_all(_FourLayers):
    """Of a mask with a batch axis only the first example's is used, which is right for a batch of one or equal masks."""

    def forward(self, inputs, mask):
        if mask.dim() == 3:
            mask = mask[0]
        query, key, value = (self.split(layer(inputs)) for layer in (self.to_query, self.to_key, self.to_value))
        scores = query @ key.mT / key.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        return self.to_output(self.merge(weights @ value)), weights


class MultiHeadAttention__right_loop_over_heads(_FourLayers):
    """Handles one head at a time with slices of the weight matrices and adds up the contributions to the output."""

    def forward(self, inputs, mask):
        width = inputs.shape[-1] // self.heads
        output, all_weights = self.to_output.bias, []
        for head in range(self.heads):
            rows = slice(head * width, (head + 1) * width)
            query, key, value = (
                F.linear(inputs, layer.weight[rows], layer.bias[rows])
                for layer in (self.to_query, self.to_key, self.to_value)
            )
            scores = torch.bmm(query, key.transpose(1, 2)) / width**0.5
            weights = torch.softmax(torch.where(mask, scores, float("-inf")), dim=2)
            output = output + torch.bmm(weights, value) @ self.to_output.weight[:, rows].T
            all_weights.append(weights)
        return output, torch.stack(all_weights, dim=1)


class MultiHeadAttention__right_einsum_everywhere(nn.Module):
    """No split and no merge: the weight matrices get an axis for the heads, and einsum does the rest; exp and logsumexp for the softmax."""

    def __init__(self, d_model, heads):
        nn.Module.__init__(self)
        self.heads = heads
        for name in ("to_query", "to_key", "to_value", "to_output"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def forward(self, inputs, mask):
        h = self.heads
        query, key, value = (
            torch.einsum("btm,hdm->bhtd", inputs, layer.weight.unflatten(0, (h, -1)))
            + layer.bias.unflatten(0, (h, -1))[:, None, :]
            for layer in (self.to_query, self.to_key, self.to_value)
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", query / query.shape[-1] ** 0.5, key)
        full = mask.expand(inputs.shape[0], *mask.shape[-2:])[:, None]
        scores = scores.masked_fill(full.logical_not(), -torch.inf)
        scores = scores - scores.amax(dim=-1, keepdim=True)
        weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
        output = torch.einsum("bhqk,bhkd,mhd->bqm", weights, value, self.to_output.weight.unflatten(1, (h, -1)))
        return output + self.to_output.bias, weights


# ---------------------------------------------------------------- 06.3 head_contributions


def head_contributions__wrong_rows_first(vectors, output_weight):
    """The weight (d_model, heads * d_head) is reshaped to (heads, d_head, d_model) without a transposition, so the wrong numbers meet."""
    _, heads, _, width = vectors.shape
    weight = output_weight.reshape(heads, width, -1)
    return torch.einsum("bhtd,hdm->bhtm", vectors, weight)


def head_contributions__wrong_interleaved(vectors, output_weight):
    """Head m gets every heads-th column; its columns lie next to each other, d_head of them."""
    weight = rearrange(output_weight, "m (d h) -> h m d", h=vectors.shape[1])
    return einsum(vectors, weight, "b h t d, h m d -> b h t m")


def head_contributions__wrong_already_summed(vectors, output_weight):
    """The contributions are added up over the heads and copied to each of them; the terms of the sum were asked for."""
    weight = rearrange(output_weight, "m (h d) -> h m d", h=vectors.shape[1])
    total = einsum(vectors, weight, "b h t d, h m d -> b t m")
    return repeat(total, "b t m -> b h t m", h=vectors.shape[1])


def head_contributions__wrong_square_transposed(vectors, output_weight):
    """The weight is stored as nn.Linear stores it, so a square one must be split by its columns as well and not by its rows."""
    heads, width = vectors.shape[1], vectors.shape[3]
    if output_weight.shape[0] == heads * width:
        weight = output_weight.reshape(heads, width, -1).transpose(1, 2)
    else:
        weight = output_weight.T.reshape(heads, width, -1).transpose(1, 2)
    return torch.einsum("bhtd,hmd->bhtm", vectors, weight)


def head_contributions__wrong_narrow_heads_only(vectors, output_weight):
    """The width of a head is computed as d_model // heads, but heads may be wide; the width is the last axis of the vectors."""
    heads = vectors.shape[1]
    width = output_weight.shape[0] // heads
    terms = [vectors[:, m] @ output_weight[:, m * width : (m + 1) * width].T for m in range(heads)]
    return torch.stack(terms, dim=1)


def head_contributions__wrong_divided_by_heads(vectors, output_weight):
    """Each contribution is divided by the number of heads, so that they add up to the mean; the output is their sum."""
    weight = output_weight.unflatten(1, (vectors.shape[1], -1))
    return torch.einsum("bhtd,mhd->bhtm", vectors, weight) / vectors.shape[1]


def head_contributions__wrong_zeroed_in_place(vectors, output_weight):
    """The other heads are set to zero in one and the same tensor, so after the first head nothing is left of the later ones."""
    heads = vectors.shape[1]
    kept = vectors.clone()
    terms = []
    for m in range(heads):
        others = [n for n in range(heads) if n != m]
        kept[:, others] = 0
        merged = rearrange(kept, "b h t d -> b t (h d)")
        terms.append(merged @ output_weight.T)
    return torch.stack(terms, dim=1)


def head_contributions__right_padded_with_zeros(vectors, output_weight):
    """Pads each head with zeros to the full merged width and applies the whole weight with F.linear."""
    _, heads, _, width = vectors.shape
    terms = []
    for m, head in enumerate(vectors.unbind(1)):
        full = F.pad(head, (m * width, (heads - 1 - m) * width))
        terms.append(F.linear(full, output_weight))
    return torch.stack(terms, 1)


def head_contributions__right_vmap_columns(vectors, output_weight):
    """vmap over the heads, with the blocks of columns as a second mapped argument."""
    blocks = torch.stack(output_weight.split(vectors.shape[3], dim=1))
    return torch.vmap(lambda head, block: head @ block.mT, in_dims=(1, 0), out_dims=1)(vectors, blocks)


# ---------------------------------------------------------------- 06.4 count_parameters


def count_parameters__wrong_no_biases(d_model, heads, wide):
    """Only the weights are counted; each layer has a bias too."""
    width = heads * (d_model if wide else d_model // heads)
    one = d_model * width
    return torch.tensor([one, one, one, one, 4 * one])


def count_parameters__wrong_output_bias(d_model, heads, wide):
    """The bias of to_output is counted as heads * d_head; it has d_model numbers, and both agree only for narrow heads or one head."""
    width = heads * (d_model if wide else d_model // heads)
    one = d_model * width + width
    return torch.tensor([one] * 4 + [4 * one])


def count_parameters__wrong_bias_d_model(d_model, heads, wide):
    """The biases of the three projections are counted as d_model, but a bias is as long as the output of its layer, heads * d_head."""
    width = heads * (d_model if wide else d_model // heads)
    one = d_model * width + d_model
    return torch.tensor([one, one, one, one, 4 * one])


def count_parameters__wrong_wide_ignored(d_model, heads, wide):
    """The argument wide is not used: all heads are counted as narrow."""
    d_head = d_model // heads
    into = heads * d_head * (d_model + 1)
    back = d_model * (heads * d_head + 1)
    return torch.tensor([into, into, into, back, 3 * into + back])


def count_parameters__wrong_float(d_model, heads, wide):
    """d_model / heads is a float, so the answer holds float32 numbers and not integers, and large counts are rounded."""
    d_head = d_model if wide else d_model / heads
    width = heads * d_head
    into = d_model * width + width
    back = width * d_model + d_model
    return torch.tensor([into, into, into, back, 3.0 * into + back])


def count_parameters__wrong_per_head(d_model, heads, wide):
    """The parameters of one head are counted; each layer serves all heads side by side."""
    d_head = d_model if wide else d_model // heads
    into = d_model * d_head + d_head
    back = d_head * d_model + d_model
    return torch.tensor([into, into, into, back, 3 * into + back])


def count_parameters__wrong_float32_sum(d_model, heads, wide):
    """The counts are added in float32, which rounds whole numbers above 16,777,216, and turned into integers afterwards."""
    width = heads * d_model if wide else d_model
    counts = torch.tensor([d_model * width + width] * 3 + [d_model * width + d_model], dtype=torch.float32)
    return torch.cat([counts, counts.sum()[None]]).long()


def count_parameters__right_meta_layers(d_model, heads, wide):
    """Builds the four layers on the meta device, without memory, and counts their numbers."""
    inner = heads * d_model if wide else heads * (d_model // heads)
    layers = [nn.Linear(d_model, inner, device="meta") for _ in range(3)]
    layers.append(nn.Linear(inner, d_model, device="meta"))
    counts = [sum(math.prod(each.shape) for each in layer.parameters()) for layer in layers]
    return torch.tensor(counts + [sum(counts)])


def count_parameters__right_matrix_of_counts(d_model, heads, wide):
    """An integer matrix whose rows say how weights, wide biases and narrow biases make up each answer, times those three numbers."""
    inner = d_model * (heads if wide else 1)
    ways = torch.tensor([[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 0, 1], [4, 3, 1]])
    return (ways * torch.tensor([d_model * inner, inner, d_model])).sum(dim=1)


# ---------------------------------------------------------------- 06.5 grouped_query_attention


def _attend(query, key, value):
    scores = query @ key.mT / key.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ value


def grouped_query_attention__wrong_tiled_groups(query, key, value):
    """repeat writes the groups one after the other, 0 1 0 1, but neighbouring heads share a group, 0 0 1 1; right for one group and for as many as heads."""
    copies = query.shape[1] // key.shape[1]
    return _attend(query, key.repeat(1, copies, 1, 1), value.repeat(1, copies, 1, 1))


def grouped_query_attention__wrong_values_tiled(query, key, value):
    """The keys are repeated in the right order, but the values are tiled, so a head reads the values of another group."""
    copies = query.shape[1] // key.shape[1]
    return _attend(query, key.repeat_interleave(copies, dim=1), torch.cat([value] * copies, dim=1))


def grouped_query_attention__wrong_multi_query(query, key, value):
    """This is multi-query attention: all heads read group 0, whatever the number of groups."""
    return _attend(query, key[:, :1], value[:, :1])


def grouped_query_attention__wrong_mean_of_groups(query, key, value):
    """Keys and values are averaged over the groups; that is how a trained model is converted to fewer groups, not what attention does."""
    return _attend(query, key.mean(dim=1, keepdim=True), value.mean(dim=1, keepdim=True))


def grouped_query_attention__wrong_causal(query, key, value):
    """A causal mask was added because the text speaks of generation, but every head attends to all positions, without a mask."""
    copies = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(copies, dim=1) for each in (key, value))
    scores = query @ key.mT / key.shape[-1] ** 0.5
    past = torch.ones(scores.shape[-2:]).tril().bool()
    return scores.masked_fill(~past, float("-inf")).softmax(dim=-1) @ value


def grouped_query_attention__wrong_no_scale(query, key, value):
    """The division by the root of d_head is missing, which does not show when a head is one number wide."""
    batch, heads, time, width = query.shape
    grouped = query.unflatten(1, (key.shape[1], -1))
    weights = torch.einsum("bgrqd,bgkd->bgrqk", grouped, key).softmax(dim=-1)
    return torch.einsum("bgrqk,bgkd->bgrqd", weights, value).flatten(1, 2)


def grouped_query_attention__wrong_softmax_over_shared(query, key, value):
    """The heads of a group are put into one long row of scores and normalised together, so their weights do not sum to one for each head; right with as many groups as heads."""
    grouped = rearrange(query, "b (g r) q d -> b g q r d", g=key.shape[1])
    scores = torch.einsum("bgqrd,bgkd->bgqrk", grouped, key) / key.shape[-1] ** 0.5
    weights = scores.flatten(3).softmax(dim=-1).reshape(scores.shape)
    return rearrange(torch.einsum("bgqrk,bgkd->bgqrd", weights, value), "b g q r d -> b (g r) q d")


def grouped_query_attention__wrong_torch_attention(query, key, value):
    """The numbers are right, but torch's own attention may not be used on this page."""
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


def grouped_query_attention__right_loop_over_heads(query, key, value):
    """A loop over the heads that picks the group by integer division."""
    share = query.shape[1] // key.shape[1]
    outputs = []
    for head in range(query.shape[1]):
        group = head // share
        scores = torch.bmm(query[:, head], key[:, group].transpose(1, 2)) / math.sqrt(query.shape[3])
        scores = scores - scores.amax(dim=2, keepdim=True)
        weights = torch.exp(scores - scores.logsumexp(dim=2, keepdim=True))
        outputs.append(torch.bmm(weights, value[:, group]))
    return torch.stack(outputs, dim=1)


def grouped_query_attention__right_long_sequences(query, key, value):
    """Puts the heads of a group one after the other along the time, as one long list of queries of that group; keys are never copied."""
    batch, heads, time, width = query.shape
    long = query.reshape(batch, key.shape[1], -1, width)  # (batch, groups, share * time, d_head)
    weights = torch.softmax(torch.einsum("bgqd,bgkd->bgqk", long, key) * width**-0.5, dim=3)
    return (weights @ value).reshape(batch, heads, time, width)


def grouped_query_attention__right_assignment_matrix(query, key, value):
    """A matrix of zeros and ones says which head reads which group, and einsum distributes keys and values with it."""
    heads, groups = query.shape[1], key.shape[1]
    reads = (torch.arange(heads)[:, None] * groups // heads == torch.arange(groups)).to(query.dtype)
    own_key = torch.einsum("hg,bgkd->bhkd", reads, key)
    own_value = torch.einsum("hg,bgkd->bhkd", reads, value)
    return torch.softmax(query @ own_key.mT / query.shape[-1] ** 0.5, dim=-1) @ own_value
