"""Right answers to 11.3 that are written in other ways."""

import math

import torch
from torch.nn import functional


def top_k_probabilities_by_topk(logits, temperature, k):
    values, tokens = torch.topk(logits, min(k, logits.size(-1)), dim=-1)
    return torch.zeros_like(logits).scatter(-1, tokens, torch.softmax(values / temperature, dim=-1))


def top_k_probabilities_in_python(logits, temperature, k):
    """Row by row, in Python."""
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]).tolist():
        best = sorted(range(len(row)), key=lambda token, row=row: -row[token])[:k]
        grown = {token: math.exp((row[token] - row[best[0]]) / temperature) for token in best}
        rows.append([grown.get(token, 0.0) / sum(grown.values()) for token in range(len(row))])
    return torch.tensor(rows).reshape(logits.shape)


def top_k_probabilities_after_the_softmax(logits, temperature, k):
    """The others set to zero after the softmax, and the rest divided by its sum."""
    probabilities = torch.softmax(logits / temperature, dim=-1)
    out = logits.argsort(dim=-1, descending=True)[..., k:]
    kept = probabilities.scatter(-1, out, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


def top_k_probabilities_greatest_by_greatest(logits, temperature, k):
    """The greatest taken k times."""
    allowed, rest = torch.full_like(logits, -torch.inf), logits.clone()
    for _ in range(min(k, logits.shape[-1])):
        best = rest.argmax(-1, keepdim=True)
        allowed.scatter_(-1, best, logits.gather(-1, best))
        rest.scatter_(-1, best, -torch.inf)
    return (allowed / temperature).softmax(-1)


def nucleus_probabilities_by_masked_logits(logits, temperature, p):
    """Logits removed in sorted order, the first always kept, before the softmax."""
    falling, order = torch.sort(logits / temperature, descending=True, dim=-1)
    removed = falling.softmax(-1).cumsum(-1) >= p
    removed = torch.cat([torch.zeros_like(removed[..., :1]), removed[..., :-1]], dim=-1)
    removed = torch.zeros_like(removed).scatter(-1, order, removed)
    return (logits / temperature).masked_fill(removed, float("-inf")).softmax(-1)


def nucleus_probabilities_token_by_token(logits, temperature, p):
    """Row by row, token by token."""
    rows = []
    for row in (logits / temperature).softmax(-1).reshape(-1, logits.shape[-1]):
        kept, together = torch.zeros_like(row), 0.0
        for token in row.argsort(descending=True).tolist():
            kept[token] = row[token]
            together += row[token].item()
            if together >= p:
                break
        rows.append(kept / kept.sum())
    return torch.stack(rows).reshape(logits.shape)


def nucleus_probabilities_by_count(logits, temperature, p):
    """By how many are needed, and the inverse of the order."""
    probabilities = torch.softmax(logits / temperature, dim=-1)
    order = probabilities.argsort(dim=-1, descending=True)
    running = probabilities.gather(-1, order).cumsum(-1)
    needed = (running < p).sum(-1, keepdim=True) + 1
    kept = probabilities * (order.argsort(dim=-1) < needed)
    return functional.normalize(kept, p=1, dim=-1)


def nucleus_probabilities_without_sorting(logits, temperature, p):
    """Without sorting: what is more probable, or equal and earlier, has less than p together."""
    probabilities = (logits / temperature).softmax(-1)
    mine, other = probabilities[..., :, None], probabilities[..., None, :]
    earlier = torch.ones(logits.shape[-1], logits.shape[-1], dtype=torch.bool).tril(-1)
    before = ((other > mine) | ((other == mine) & earlier)) * other
    kept = torch.where(before.sum(-1) < p, probabilities, torch.zeros(()))
    return kept / kept.sum(-1, keepdim=True)


def draw_tokens_by_searchsorted(probabilities, uniform):
    running = torch.cumsum(probabilities, dim=1)
    return torch.searchsorted(running / running[:, -1:], uniform.unsqueeze(1), right=True).squeeze(1)


def draw_tokens_by_argmax(probabilities, uniform):
    """The first running sum that exceeds, by argmax; the number stretched in place of the sums shrunk."""
    running = probabilities.double().cumsum(1)
    return (running > uniform[:, None].double() * running[:, -1:]).int().argmax(1)


def draw_tokens_row_by_row(probabilities, uniform):
    """Row by row."""
    tokens = []
    for row, number in zip(probabilities, uniform, strict=True):
        running = row.cumsum(0)
        running = running / running[-1]
        tokens.append(next(token for token, total in enumerate(running) if total > number))
    return torch.tensor(tokens)


def draw_tokens_by_minimum(probabilities, uniform):
    """The last token with any probability, where the sums end short of the number."""
    found = (probabilities.cumsum(-1) <= uniform[:, None]).sum(-1)
    positions = torch.arange(probabilities.shape[-1])
    last = torch.where(probabilities > 0, positions, torch.zeros_like(positions)).amax(-1)
    return torch.minimum(found, last)
