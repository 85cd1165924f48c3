"""Right answers to 12.3 that are written in other ways."""

import torch
from einops import reduce, repeat
from torch import nn
from torch.nn import functional


class ClassToken_by_repeat(nn.Module):
    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(d_model))
        self.positions = nn.Parameter(0.02 * torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        token = repeat(self.token, "d -> batch 1 d", batch=vectors.shape[0])
        return torch.concatenate((token, vectors), dim=1) + self.positions[None]


class ClassToken_added_first(nn.Module):
    """The positions added to each part before they are joined."""

    def __init__(self, patches: int, d_model: int):
        super().__init__()
        self.positions = nn.Parameter(torch.empty(1 + patches, d_model).normal_())
        self.token = nn.Parameter(torch.empty(d_model).normal_())

    def forward(self, vectors):
        first = (self.token + self.positions[0]).repeat(len(vectors), 1, 1)
        return torch.cat([first, vectors + self.positions[1:]], dim=-2)


class ClassToken_image_by_image(nn.Module):
    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(patches + 1, d_model))

    def forward(self, vectors):
        return torch.stack([torch.vstack([self.token, *image]) + self.positions for image in vectors])


class ClassToken_with_zeros_in_front(nn.Module):
    """A row of zeros in front, to which the token is added."""

    def __init__(self, patches, d_model):
        super().__init__()
        self.token = nn.Parameter(torch.ones(d_model))
        self.positions = nn.Parameter(torch.ones(patches + 1, d_model))

    def forward(self, vectors):
        first = functional.one_hot(torch.tensor(0), vectors.shape[1] + 1).to(vectors.dtype)
        return functional.pad(vectors, (0, 0, 1, 0)) + torch.outer(first, self.token) + self.positions


def class_or_mean_plain(vectors, weight, bias):
    return vectors[:, 0] @ weight.T + bias, vectors[:, 1:].mean(dim=1) @ weight.T + bias


def class_or_mean_mean_of_logits(vectors, weight, bias):
    """The mean of the logits of all patches: the layer is linear, and the order makes no difference."""
    logits = functional.linear(vectors, weight, bias)
    return logits.select(1, 0), logits.narrow(1, 1, vectors.size(1) - 1).mean(1)


def class_or_mean_by_einsum(vectors, weight, bias):
    """The sum of all less the class token, divided by the number of patches; einsum."""
    first = vectors[:, 0, :]
    others = (vectors.sum(1) - first) / (vectors.shape[1] - 1)
    return tuple(torch.einsum("bd,cd->bc", each, weight) + bias for each in (first, others))


def class_or_mean_by_split(vectors, weight, bias):
    first, rest = vectors.split([1, vectors.shape[1] - 1], dim=1)
    mean = reduce(rest, "batch patches d -> batch d", "mean")
    return torch.addmm(bias, first.squeeze(1), weight.mT), torch.addmm(bias, mean, weight.mT)
