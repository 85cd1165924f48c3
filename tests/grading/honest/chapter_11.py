import math

import torch
from einops import einsum
from torch import nn
from torch.nn import functional

from tests.grading.honest.registry import honest

# ---------------------------------------------------------------- 11.1


@honest("cut_passages")
def _(tokens, starts, length):
    """Slices, one start at a time."""
    passages = torch.stack([tokens[start : start + length + 1] for start in starts.tolist()])
    return passages[:, :-1], passages[:, 1:]


@honest("cut_passages")
def _(tokens, starts, length):
    """All windows of the text, of which the starts are picked."""
    windows = tokens.unfold(0, length + 1, 1)[starts]
    return windows[:, :length], windows[:, 1:]


@honest("cut_passages")
def _(tokens, starts, length):
    """Two texts, the second one place on, and a loop over the places."""
    after = tokens[1:]
    places = [starts + step for step in range(length)]
    return (
        torch.stack([tokens[place] for place in places], dim=1),
        torch.stack([torch.take(after, place) for place in places], dim=1),
    )


@honest("bits_per_character")
def _(scores, targets):
    return -scores.log_softmax(-1).gather(2, targets.unsqueeze(-1)).mean() / math.log(2)


@honest("bits_per_character")
def _(scores, targets):
    """Place by place, in double."""
    bits = [
        (row.double().logsumexp(0) - row[target].double()) / torch.log(torch.tensor(2.0, dtype=torch.float64))
        for row, target in zip(scores.flatten(0, 1), targets.flatten().tolist(), strict=True)
    ]
    return (sum(bits) / len(bits)).float()


@honest("bits_per_character")
def _(scores, targets):
    return functional.cross_entropy(scores.transpose(1, 2), targets) * math.log2(math.e)


@honest("bits_per_character")
def _(scores, targets):
    grown = scores - scores.amax(2, keepdim=True)
    logs = (grown - grown.exp().sum(2, keepdim=True).log()) / math.log(2)
    return -(logs * functional.one_hot(targets, scores.shape[2])).sum() / targets.numel()


# ---------------------------------------------------------------- 11.2


@honest("expected_first_loss")
def _(scores):
    return torch.logsumexp(scores, dim=-1) - scores.mean(dim=-1)


@honest("expected_first_loss")
def _(scores):
    """Every target in turn."""
    rows = scores.reshape(-1, scores.shape[-1])
    losses = [
        functional.cross_entropy(rows, torch.full((len(rows),), token), reduction="none")
        for token in range(scores.shape[-1])
    ]
    return (sum(losses) / len(losses)).reshape(scores.shape[:-1])


@honest("expected_first_loss")
def _(scores):
    """By smoothing of the target that leaves nothing of it."""
    rows = scores.reshape(-1, scores.shape[-1])
    anything = torch.full_like(rows, 1 / rows.shape[-1])
    return functional.cross_entropy(rows, anything, reduction="none").view(scores.shape[:-1])


@honest("expected_first_loss")
def _(scores):
    greatest = scores.amax(-1, keepdim=True)
    sums = torch.exp(scores - greatest).sum(-1, keepdim=True)
    return (sums.log() + greatest - scores).mean(-1)


@honest("quiet_table")
def _(table, vectors, surplus):
    scores = einsum(vectors, table, "batch time d, vocabulary d -> batch time vocabulary")
    centred = scores - scores.mean(-1, keepdim=True)
    return table * math.sqrt(2 * surplus / centred.square().mean().item())


@honest("quiet_table")
def _(table, vectors, surplus):
    """Vector by vector, in double."""
    variances = [torch.var(table.double() @ vector, unbiased=False) for vector in vectors.double().flatten(0, 1)]
    return (table.double() * (2 * surplus / torch.stack(variances).mean()) ** 0.5).float()


@honest("quiet_table")
def _(table, vectors, surplus):
    """The mean row taken off first, which no variance sees; scaled twice."""
    scores = vectors @ (table - table.mean(0)).T
    quiet = table / scores.pow(2).mean().sqrt()
    return quiet * (2 * surplus) ** 0.5


# ---------------------------------------------------------------- 11.3


@honest("top_k_probabilities")
def _(scores, temperature, k):
    values, tokens = torch.topk(scores, min(k, scores.size(-1)), dim=-1)
    return torch.zeros_like(scores).scatter(-1, tokens, torch.softmax(values / temperature, dim=-1))


@honest("top_k_probabilities")
def _(scores, temperature, k):
    """Row by row, in Python."""
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]).tolist():
        best = sorted(range(len(row)), key=lambda token, row=row: -row[token])[:k]
        grown = {token: math.exp((row[token] - row[best[0]]) / temperature) for token in best}
        rows.append([grown.get(token, 0.0) / sum(grown.values()) for token in range(len(row))])
    return torch.tensor(rows).reshape(scores.shape)


@honest("top_k_probabilities")
def _(scores, temperature, k):
    """The others set to zero after the softmax, and the rest divided by its sum."""
    probabilities = torch.softmax(scores / temperature, dim=-1)
    out = scores.argsort(dim=-1, descending=True)[..., k:]
    kept = probabilities.scatter(-1, out, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


@honest("top_k_probabilities")
def _(scores, temperature, k):
    """The greatest taken k times."""
    allowed, rest = torch.full_like(scores, -torch.inf), scores.clone()
    for _ in range(min(k, scores.shape[-1])):
        best = rest.argmax(-1, keepdim=True)
        allowed.scatter_(-1, best, scores.gather(-1, best))
        rest.scatter_(-1, best, -torch.inf)
    return (allowed / temperature).softmax(-1)


@honest("nucleus_probabilities")
def _(scores, temperature, p):
    """Scores removed in sorted order, the first always kept, before the softmax."""
    falling, order = torch.sort(scores / temperature, descending=True, dim=-1)
    removed = falling.softmax(-1).cumsum(-1) >= p
    removed = torch.cat([torch.zeros_like(removed[..., :1]), removed[..., :-1]], dim=-1)
    removed = torch.zeros_like(removed).scatter(-1, order, removed)
    return (scores / temperature).masked_fill(removed, float("-inf")).softmax(-1)


@honest("nucleus_probabilities")
def _(scores, temperature, p):
    """Row by row, token by token."""
    rows = []
    for row in (scores / temperature).softmax(-1).reshape(-1, scores.shape[-1]):
        kept, together = torch.zeros_like(row), 0.0
        for token in row.argsort(descending=True).tolist():
            kept[token] = row[token]
            together += row[token].item()
            if together >= p:
                break
        rows.append(kept / kept.sum())
    return torch.stack(rows).reshape(scores.shape)


@honest("nucleus_probabilities")
def _(scores, temperature, p):
    """By how many are needed, and the inverse of the order."""
    probabilities = torch.softmax(scores / temperature, dim=-1)
    order = probabilities.argsort(dim=-1, descending=True)
    running = probabilities.gather(-1, order).cumsum(-1)
    needed = (running < p).sum(-1, keepdim=True) + 1
    kept = probabilities * (order.argsort(dim=-1) < needed)
    return functional.normalize(kept, p=1, dim=-1)


@honest("nucleus_probabilities")
def _(scores, temperature, p):
    """Without sorting: what is more probable, or equal and earlier, has less than p together."""
    probabilities = (scores / temperature).softmax(-1)
    mine, other = probabilities[..., :, None], probabilities[..., None, :]
    earlier = torch.ones(scores.shape[-1], scores.shape[-1], dtype=torch.bool).tril(-1)
    before = ((other > mine) | ((other == mine) & earlier)) * other
    kept = torch.where(before.sum(-1) < p, probabilities, torch.zeros(()))
    return kept / kept.sum(-1, keepdim=True)


@honest("draw_tokens")
def _(probabilities, uniform):
    running = torch.cumsum(probabilities, dim=1)
    return torch.searchsorted(running / running[:, -1:], uniform.unsqueeze(1), right=True).squeeze(1)


@honest("draw_tokens")
def _(probabilities, uniform):
    """The first running sum that exceeds, by argmax; the number stretched in place of the sums shrunk."""
    running = probabilities.double().cumsum(1)
    return (running > uniform[:, None].double() * running[:, -1:]).int().argmax(1)


@honest("draw_tokens")
def _(probabilities, uniform):
    """Row by row."""
    tokens = []
    for row, number in zip(probabilities, uniform, strict=True):
        running = row.cumsum(0)
        running = running / running[-1]
        tokens.append(next(token for token, total in enumerate(running) if total > number))
    return torch.tensor(tokens)


@honest("draw_tokens")
def _(probabilities, uniform):
    """The last token with any probability, where the sums end short of the number."""
    found = (probabilities.cumsum(-1) <= uniform[:, None]).sum(-1)
    places = torch.arange(probabilities.shape[-1])
    last = torch.where(probabilities > 0, places, torch.zeros_like(places)).amax(-1)
    return torch.minimum(found, last)


# ---------------------------------------------------------------- 11.4


class OneTable(nn.Module):
    def __init__(self, vocabulary, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(vocabulary, d_model))


@honest("TiedModel")
class ByFunctional(OneTable):
    def forward(self, tokens, body):
        return functional.linear(body(functional.embedding(tokens, self.table)), self.table)


@honest("TiedModel")
class ByOneHot(OneTable):
    def forward(self, tokens, body):
        embedded = functional.one_hot(tokens, self.table.shape[0]).to(self.table.dtype) @ self.table
        return einsum(body(embedded), self.table, "batch time d, vocabulary d -> batch time vocabulary")


@honest("TiedModel")
class TokenByToken(nn.Module):
    """The scores one token of the vocabulary at a time."""

    def __init__(self, vocabulary: int, d_model: int):
        super().__init__()
        self.register_parameter("table", nn.Parameter(torch.empty(vocabulary, d_model).normal_()))

    def forward(self, tokens, body):
        rows = self.table.index_select(0, tokens.reshape(-1))
        vectors = body(rows.reshape(*tokens.shape, -1))
        return torch.stack([(vectors * row).sum(-1) for row in self.table], dim=-1)


@honest("two_roads")
def _(tokens, embedded_gradient, vectors, score_gradient):
    """Place by place."""
    by_embedding = torch.zeros(score_gradient.shape[-1], vectors.shape[-1])
    by_output = torch.zeros_like(by_embedding)
    for sequence in range(tokens.shape[0]):
        for place in range(tokens.shape[1]):
            by_embedding[tokens[sequence, place]] += embedded_gradient[sequence, place]
            by_output += torch.outer(score_gradient[sequence, place], vectors[sequence, place])
    return by_embedding, by_output


@honest("two_roads")
def _(tokens, embedded_gradient, vectors, score_gradient):
    stands = functional.one_hot(tokens, num_classes=score_gradient.size(2)).float()
    return tuple(
        einsum(rows, values, "batch time vocabulary, batch time d -> vocabulary d")
        for rows, values in ((stands, embedded_gradient), (score_gradient, vectors))
    )


@honest("two_roads")
def _(tokens, embedded_gradient, vectors, score_gradient):
    """By autograd, with a table for each end."""
    table_in, table_out = (
        torch.zeros(score_gradient.shape[-1], vectors.shape[-1], requires_grad=True) for _ in range(2)
    )
    total = (table_in[tokens] * embedded_gradient).sum() + (vectors @ table_out.T * score_gradient).sum()
    return torch.autograd.grad(total, (table_in, table_out))


@honest("two_roads")
def _(tokens, embedded_gradient, vectors, score_gradient):
    """Written by index, in the way that adds."""
    by_embedding = vectors.new_zeros(score_gradient.shape[-1], vectors.shape[-1])
    by_embedding.index_put_((tokens,), embedded_gradient, accumulate=True)
    return by_embedding, (score_gradient.mT @ vectors).sum(0)


# ---------------------------------------------------------------- 11.5


@honest("overfit_one_batch")
def _(model, tokens, weights, rate, steps):
    """By .backward(), the gradient set back, the weights moved in place."""
    theta = weights.detach().clone().requires_grad_(True)
    losses = torch.zeros(steps)
    for step in range(steps):
        scores = model(tokens[:, :-1], theta)
        loss = functional.cross_entropy(scores.transpose(1, 2), tokens[:, 1:])
        loss.backward()
        losses[step] = loss.item()
        with torch.no_grad():
            theta -= rate * theta.grad
        theta.grad = None
    return theta, losses


@honest("overfit_one_batch")
def _(model, tokens, weights, rate, steps):
    """The loss by hand, with a graph of its own for each step."""
    inputs, targets, losses = tokens[:, :-1], tokens[:, 1:, None], []
    for _ in range(steps):
        weights = weights.detach().clone().requires_grad_()
        loss = -model(inputs, weights).log_softmax(dim=-1).gather(2, targets).mean()
        losses += [loss.detach()]
        weights = weights - rate * torch.autograd.grad(loss, weights)[0]
    return weights, torch.stack(losses)


@honest("overfit_one_batch")
def _(model, tokens, weights, rate, steps):
    """By an nn.Parameter and one long graph of losses."""
    theta, losses = nn.Parameter(weights.clone()), []
    for _ in range(steps):
        scores = model(tokens[:, :-1], theta)
        losses.append(functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), tokens[:, 1:].reshape(-1)))
        theta.grad = None
        losses[-1].backward()
        theta.data.sub_(theta.grad, alpha=rate)
    return theta.data, torch.tensor([each.item() for each in losses])
