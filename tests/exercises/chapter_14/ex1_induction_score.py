"""Right answers to 14.1 that are written in other ways."""

import torch


def previous_token_score_by_loops(weights):
    batch, heads, time, _ = weights.shape
    score = torch.zeros(heads)
    for head in range(heads):
        for example in range(batch):
            for position in range(1, time):
                score[head] += weights[example, head, position, position - 1]
    return score / (batch * (time - 1))


def previous_token_score_by_indices(weights):
    later = torch.arange(1, weights.shape[-1])
    return weights[:, :, later, later - 1].mean(-1).mean(0)


def previous_token_score_by_a_shifted_identity(weights):
    batch, heads, time, _ = weights.shape
    shifted = torch.diag(torch.ones(time - 1), -1)
    return torch.einsum("bhij,ij->h", weights, shifted) / batch / (time - 1)


def previous_token_score_head_by_head(weights):
    lower = weights[:, :, 1:, :-1]
    return torch.stack([lower[:, head].diagonal(dim1=1, dim2=2).mean() for head in range(lower.shape[1])])


def induction_score_by_indices_at_once(weights, periods):
    """Indices of all positions that count, at once."""
    positions = torch.arange(weights.shape[2])
    example, position = (positions >= periods[:, None]).nonzero(as_tuple=True)
    return weights[example, :, position, position - periods[example] + 1].mean(0)


def induction_score_by_a_mask_over_pairs(weights, periods):
    """A mask over pairs of positions."""
    positions = torch.arange(weights.shape[-1])
    offset = positions[:, None] - positions  # (query, key)
    asked = (offset == periods[:, None, None] - 1) & (positions[:, None] >= periods[:, None, None])
    return (weights * asked[:, None]).sum((0, 2, 3)) / asked.sum()


def induction_score_by_diagonals(weights, periods):
    """A diagonal of each example, without its first entry, whose position has seen nothing twice."""
    found = [
        example.diagonal(1 - int(period), dim1=1, dim2=2)[:, 1:]
        for example, period in zip(weights, periods, strict=True)
    ]
    return torch.cat(found, dim=1).mean(1)


def induction_score_by_gathering(weights, periods):
    """Gathered, and weighed by what counts."""
    batch, heads, time, _ = weights.shape
    positions = torch.arange(time).expand(batch, time)
    targets = (positions - periods.unsqueeze(1) + 1).clamp(min=0)
    picked = torch.gather(weights, 3, targets[:, None, :, None].repeat(1, heads, 1, 1)).squeeze(3)
    counts = (positions >= periods.unsqueeze(1)).float()
    return torch.einsum("bht,bt->h", picked, counts) / counts.sum()
