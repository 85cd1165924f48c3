"""Right answers to 11.2 that are written in other ways."""

import math

import torch
from einops import einsum
from torch.nn import functional


def expected_first_loss_by_log_sum_exp(logits):
    return torch.logsumexp(logits, dim=-1) - logits.mean(dim=-1)


def expected_first_loss_target_by_target(logits):
    """Every target in turn."""
    rows = logits.reshape(-1, logits.shape[-1])
    losses = [
        functional.cross_entropy(rows, torch.full((len(rows),), token), reduction="none")
        for token in range(logits.shape[-1])
    ]
    return (sum(losses) / len(losses)).reshape(logits.shape[:-1])


def expected_first_loss_by_smoothing(logits):
    """By smoothing of the target that leaves nothing of it."""
    rows = logits.reshape(-1, logits.shape[-1])
    anything = torch.full_like(rows, 1 / rows.shape[-1])
    return functional.cross_entropy(rows, anything, reduction="none").view(logits.shape[:-1])


def expected_first_loss_by_exponentials(logits):
    greatest = logits.amax(-1, keepdim=True)
    sums = torch.exp(logits - greatest).sum(-1, keepdim=True)
    return (sums.log() + greatest - logits).mean(-1)


def scale_table_by_einsum(table, vectors, surplus):
    logits = einsum(vectors, table, "batch time d, vocabulary d -> batch time vocabulary")
    centred = logits - logits.mean(-1, keepdim=True)
    return table * math.sqrt(2 * surplus / centred.square().mean().item())


def scale_table_vector_by_vector(table, vectors, surplus):
    """Vector by vector, in double."""
    variances = [torch.var(table.double() @ vector, unbiased=False) for vector in vectors.double().flatten(0, 1)]
    return (table.double() * (2 * surplus / torch.stack(variances).mean()) ** 0.5).float()


def scale_table_by_centring(table, vectors, surplus):
    """The mean row taken off first, which no variance sees; scaled twice."""
    logits = vectors @ (table - table.mean(0)).T
    quiet = table / logits.pow(2).mean().sqrt()
    return quiet * (2 * surplus) ** 0.5
