"""Right answers to 06.1 that are written in other ways."""

import torch
from einops import rearrange


def split_heads_by_rearrange(vectors, heads):
    return rearrange(vectors, "batch time (heads d_head) -> batch heads time d_head", heads=heads)


def split_heads_by_chunks(vectors, heads):
    return torch.stack(vectors.chunk(heads, dim=-1), dim=1)


def split_heads_number_by_number(vectors, heads):
    batch, time, width = vectors.size()
    d_head = int(width / heads)
    found = torch.zeros(batch, heads, time, d_head)
    for head in range(heads):
        for number in range(d_head):
            found[:, head, :, number] = vectors[:, :, head * d_head + number]
    return found


def split_heads_width_first(vectors, heads):
    """The width in front of the time while it is cut."""
    batch, time, width = vectors.shape
    return vectors.transpose(1, 2).reshape(batch, heads, width // heads, time).transpose(2, 3)


def split_heads_by_unflatten(vectors, heads):
    return vectors.unflatten(-1, (heads, -1)).permute(0, 2, 1, 3).contiguous()


def merge_heads_by_rearrange(vectors):
    return rearrange(vectors, "batch heads time d_head -> batch time (heads d_head)")


def merge_heads_by_unbind(vectors):
    return torch.cat(vectors.unbind(1), dim=-1)


def merge_heads_by_contiguous(vectors):
    batch, heads, time, d_head = vectors.shape
    return vectors.permute(0, 2, 1, 3).contiguous().view(batch, time, heads * d_head)


def merge_heads_head_by_head(vectors):
    batch, heads, time, d_head = vectors.shape
    joined = vectors.new_empty(batch, time, heads * d_head)
    for head in range(heads):
        joined[..., head * d_head : (head + 1) * d_head] = vectors[:, head]
    return joined
