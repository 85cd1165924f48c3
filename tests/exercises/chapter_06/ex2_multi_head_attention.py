"""Right answers to 06.2 that are written in other ways."""

import math

import torch
from einops import einsum, rearrange
from torch import nn
from torch.nn import functional


class _FourLayers(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads, self.d_head = heads, d_model // heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)


class MultiHeadAttention_head_by_head(_FourLayers):
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


class MultiHeadAttention_by_einsum(_FourLayers):
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


class MultiHeadAttention_with_heads_in_the_batch(_FourLayers):
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


class MultiHeadAttention_as_a_sum(_FourLayers):
    """What 06.3 says: every head adds its part of the output."""

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
