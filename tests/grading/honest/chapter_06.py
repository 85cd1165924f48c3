import math

import torch
from einops import einsum, rearrange, repeat
from torch import nn
from torch.nn import functional

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 06.1


@honest("split_heads")
def _(vectors, heads):
    return rearrange(vectors, "batch time (heads d_head) -> batch heads time d_head", heads=heads)


@honest("split_heads")
def _(vectors, heads):
    return torch.stack(vectors.chunk(heads, dim=-1), dim=1)


@honest("split_heads")
def _(vectors, heads):
    batch, time, width = vectors.size()
    d_head = int(width / heads)
    found = torch.zeros(batch, heads, time, d_head)
    for head in range(heads):
        for number in range(d_head):
            found[:, head, :, number] = vectors[:, :, head * d_head + number]
    return found


@honest("split_heads")
def _(vectors, heads):
    """The width in front of the time while it is cut."""
    batch, time, width = vectors.shape
    return vectors.transpose(1, 2).reshape(batch, heads, width // heads, time).transpose(2, 3)


@honest("split_heads")
def _(vectors, heads):
    return vectors.unflatten(-1, (heads, -1)).permute(0, 2, 1, 3).contiguous()


@honest("merge_heads")
def _(vectors):
    return rearrange(vectors, "batch heads time d_head -> batch time (heads d_head)")


@honest("merge_heads")
def _(vectors):
    return torch.cat(vectors.unbind(1), dim=-1)


@honest("merge_heads")
def _(vectors):
    batch, heads, time, d_head = vectors.shape
    return vectors.permute(0, 2, 1, 3).contiguous().view(batch, time, heads * d_head)


@honest("merge_heads")
def _(vectors):
    batch, heads, time, d_head = vectors.shape
    joined = vectors.new_empty(batch, time, heads * d_head)
    for head in range(heads):
        joined[..., head * d_head : (head + 1) * d_head] = vectors[:, head]
    return joined


# ---------------------------------------------------------------- 06.2


class FourLayers(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads, self.d_head = heads, d_model // heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)


@honest("MultiHeadAttention")
class HeadByHead(FourLayers):
    def forward(self, inputs, mask):
        found, weights = [], []
        for head in range(self.heads):
            own = slice(head * self.d_head, (head + 1) * self.d_head)
            query, key, value = (
                layer(inputs)[:, :, own] for layer in (self.to_query, self.to_key, self.to_value)
            )  # (batch, time, d_head): a mask of either shape fits
            scores = query @ key.transpose(1, 2) / math.sqrt(self.d_head)
            weights.append(scores.masked_fill(~mask, float("-inf")).softmax(dim=-1))
            found.append(weights[-1] @ value)
        return self.to_output(torch.cat(found, dim=-1)), torch.stack(weights, dim=1)


@honest("MultiHeadAttention")
class ByEinsum(FourLayers):
    def forward(self, inputs, mask):
        query, key, value = (
            rearrange(layer(inputs).double(), "b t (h d) -> b t h d", h=self.heads)
            for layer in (self.to_query, self.to_key, self.to_value)
        )
        scores = einsum(query, key, "b i h d, b j h d -> b h i j") * self.d_head**-0.5
        if mask.dim() == 3:
            mask = mask[:, None]
        weights = torch.where(mask, scores, -torch.inf).softmax(-1)
        found = einsum(weights, value, "b h i j, b j h d -> b i h d").flatten(2).float()
        return self.to_output(found), weights.float()


@honest("MultiHeadAttention")
class HeadsInTheBatch(FourLayers):
    """Heads as further examples of a batch, and the weights of the layers by hand."""

    def forward(self, inputs, mask):
        batch, time, _ = inputs.shape

        def cut(layer):
            projected = inputs @ layer.weight.T + layer.bias
            each = projected.view(batch, time, self.heads, -1).transpose(1, 2)
            return each.reshape(batch * self.heads, time, -1)

        query, key, value = cut(self.to_query), cut(self.to_key), cut(self.to_value)
        mask = mask.expand(batch, time, time).repeat_interleave(self.heads, dim=0)
        scores = torch.bmm(query / query.shape[-1] ** 0.5, key.mT)
        scores = scores + torch.zeros(mask.shape).masked_fill(mask == 0, -torch.inf)
        grown = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = grown / grown.sum(-1, keepdim=True)
        found = torch.bmm(weights, value).view(batch, self.heads, time, -1)
        joined = torch.cat(list(found.unbind(1)), 2)
        output = functional.linear(joined, self.to_output.weight, self.to_output.bias)
        return output, weights.view(batch, self.heads, time, time)


@honest("MultiHeadAttention")
class AsASum(FourLayers):
    """What 06.3 says: every head adds its share of the output."""

    def forward(self, inputs, mask):
        query, key, value = (
            torch.stack(layer(inputs).chunk(self.heads, -1), 1) for layer in (self.to_query, self.to_key, self.to_value)
        )
        scores = query.matmul(key.swapaxes(2, 3)).div(math.sqrt(self.d_head))
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(mask.logical_not().unsqueeze(-3), lowest).log_softmax(-1).exp()
        output = self.to_output.bias
        for head, columns in enumerate(self.to_output.weight.chunk(self.heads, 1)):
            output = output + weights[:, head] @ value[:, head] @ columns.T
        return output, weights


# ---------------------------------------------------------------- 06.3


@honest("head_contributions")
def _(vectors, output_weight):
    weight = rearrange(output_weight, "d_model (heads d_head) -> heads d_model d_head", heads=vectors.shape[1])
    return einsum(vectors, weight, "batch heads time d_head, heads d_model d_head -> batch heads time d_model")


@honest("head_contributions")
def _(vectors, output_weight):
    found = []
    for head, columns in enumerate(output_weight.split(vectors.shape[-1], dim=1)):
        found.append(functional.linear(vectors[:, head], columns))
    return torch.stack(found, dim=1)


@honest("head_contributions")
def _(vectors, output_weight):
    """All heads but one set to zero, and the whole weight."""
    batch, heads, time, d_head = vectors.shape
    alone = torch.eye(heads)[:, None, :, None, None] * vectors  # (head that is left, batch, heads, time, d_head)
    merged = alone.transpose(2, 3).reshape(heads, batch, time, heads * d_head)
    return (merged @ output_weight.T).transpose(0, 1)


@honest("head_contributions")
def _(vectors, output_weight):
    batch, heads, time, d_head = vectors.shape
    found = torch.zeros(batch, heads, time, len(output_weight), dtype=torch.float64)
    for head in range(heads):
        for number in range(d_head):
            column = output_weight[:, head * d_head + number].double()
            found[:, head] += vectors[:, head, :, number, None].double() * column
    return found.float()


# ---------------------------------------------------------------- 06.4


@honest("count_parameters")
def _(d_model, heads, wide):
    """The layers themselves, without memory, and their parameters counted."""
    d_head = d_model if wide else d_model // heads
    sizes = [(d_model, heads * d_head)] * 3 + [(heads * d_head, d_model)]
    layers = [nn.Linear(into, out, device="meta") for into, out in sizes]
    counts = [sum(each.numel() for each in layer.parameters()) for layer in layers]
    return torch.tensor([*counts, sum(each.numel() for each in nn.ModuleList(layers).parameters())])


@honest("count_parameters")
def _(d_model, heads, wide):
    if not wide:
        return d_model * (d_model + 1) * torch.tensor([1, 1, 1, 1, 4])
    inside, outside = heads * d_model * (d_model + 1), d_model * (heads * d_model + 1)
    return torch.tensor([inside, inside, inside, outside, 3 * inside + outside])


@honest("count_parameters")
def _(d_model, heads, wide):
    width = d_model * (heads if wide else 1)
    counts = torch.zeros(5, dtype=torch.long)
    counts[:3] += (d_model + 1) * width
    counts[3] += (width + 1) * d_model
    counts[4] = 4 * d_model * width + 3 * width + d_model
    return counts


# ---------------------------------------------------------------- 06.5


@honest("grouped_query_attention")
def _(query, key, value):
    """Heads of a group as an axis of their own; keys and values are not copied."""
    query = rearrange(query, "batch (groups each) time d -> batch groups each time d", groups=key.shape[1])
    scores = einsum(query, key, "b g e i d, b g j d -> b g e i j") / query.shape[-1] ** 0.5
    found = einsum(scores.softmax(-1), value, "b g e i j, b g j d -> b g e i d")
    return found.flatten(1, 2)


@honest("grouped_query_attention")
def _(query, key, value):
    each = query.shape[1] // key.shape[1]
    found = []
    for head in range(query.shape[1]):
        scores = query[:, head] @ key[:, head // each].transpose(1, 2) / math.sqrt(query.shape[-1])
        found.append(torch.softmax(scores, dim=-1) @ value[:, head // each])
    return torch.stack(found, dim=1)


@honest("grouped_query_attention")
def _(query, key, value):
    """The queries of a group one behind the other, as if they were more times."""
    batch, heads, time, d_head = query.shape
    longer = query.reshape(batch, key.shape[1], -1, d_head).double() / d_head**0.5
    scores = longer @ key.double().mT
    grown = (scores - scores.amax(-1, keepdim=True)).exp()
    return (grown / grown.sum(-1, keepdim=True) @ value.double()).reshape(query.shape).float()


@honest("grouped_query_attention")
def _(query, key, value):
    each = query.size(1) // key.size(1)
    key, value = (repeat(one, "batch groups time d -> batch (groups each) time d", each=each) for one in (key, value))
    flat = [one.flatten(0, 1) for one in (query, key, value)]
    weights = torch.bmm(flat[0], flat[1].mT).mul(query.size(-1) ** -0.5).softmax(2)
    return torch.bmm(weights, flat[2]).view_as(query)
