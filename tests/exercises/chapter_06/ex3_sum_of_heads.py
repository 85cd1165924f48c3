"""Right answers to 06.3 that are written in other ways."""

import torch
from einops import einsum, rearrange
from torch.nn import functional


def head_contributions_by_rearrange(vectors, output_weight):
    weight = rearrange(output_weight, "d_model (heads d_head) -> heads d_model d_head", heads=vectors.shape[1])
    return einsum(vectors, weight, "batch heads time d_head, heads d_model d_head -> batch heads time d_model")


def head_contributions_head_by_head(vectors, output_weight):
    found = []
    for head, columns in enumerate(output_weight.split(vectors.shape[-1], dim=1)):
        found.append(functional.linear(vectors[:, head], columns))
    return torch.stack(found, dim=1)


def head_contributions_with_all_others_zero(vectors, output_weight):
    """All heads but one set to zero, and the whole weight."""
    batch, heads, time, d_head = vectors.shape
    alone = torch.eye(heads)[:, None, :, None, None] * vectors  # (head that is left, batch, heads, time, d_head)
    merged = alone.transpose(2, 3).reshape(heads, batch, time, heads * d_head)
    return (merged @ output_weight.T).transpose(0, 1)


def head_contributions_number_by_number(vectors, output_weight):
    batch, heads, time, d_head = vectors.shape
    found = torch.zeros(batch, heads, time, len(output_weight), dtype=torch.float64)
    for head in range(heads):
        for number in range(d_head):
            column = output_weight[:, head * d_head + number].double()
            found[:, head] += vectors[:, head, :, number, None].double() * column
    return found.float()
