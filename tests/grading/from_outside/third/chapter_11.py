# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

from bisect import bisect_right

import torch
from torch import nn
from torch.nn.functional import cross_entropy


def cut_passages__wrong_starts_moved(tokens, starts, length):
    """starts += 1 moves the caller's starts."""
    inputs = torch.stack([tokens[s : s + length] for s in starts])
    starts += 1
    targets = torch.stack([tokens[s : s + length] for s in starts])
    return inputs, targets


def cut_passages__wrong_floats(tokens, starts, length):
    """The tokens are put into tensors made by torch.zeros, which are float32 and no integers."""
    inputs = torch.zeros(len(starts), length)
    targets = torch.zeros(len(starts), length)
    for b, s in enumerate(starts):
        inputs[b] = tokens[s : s + length]
        targets[b] = tokens[s + 1 : s + length + 1]
    return inputs, targets


def cut_passages__right_unfold(tokens, starts, length):
    """All windows of length + 1 of the text, of which the starts pick theirs."""
    windows = tokens.unfold(0, length + 1, 1)[starts]
    return windows[:, :-1], windows[:, 1:]


def bits_per_character__wrong_log_of_softmax(logits, targets):
    """The softmax is 0 for a logit a thousand below the best, and its logarithm infinite."""
    p = torch.softmax(logits, dim=-1)
    p = torch.gather(p, 2, targets.unsqueeze(2))
    return -torch.log2(p).mean()


def bits_per_character__wrong_impossible_is_free(logits, targets):
    """A target with the probability 0 is counted as 0 bits, as in an entropy, where it should be the dearest of all."""
    p = logits.softmax(-1).gather(-1, targets[..., None])
    bits = torch.where(p > 0, -torch.log2(p.clamp(min=1e-45)), 0.0)
    return bits.mean()


def expected_first_loss__wrong_no_maximum(logits):
    """The denominator is the sum of plain exponentials, which is infinite for a logit of a thousand."""
    return torch.log(torch.exp(logits).sum(dim=-1)) - logits.mean(dim=-1)


def expected_first_loss__wrong_clamped(logits):
    """Probabilities are kept above 1e-10, so that no loss exceeds 23."""
    p = logits.softmax(dim=-1).clamp(min=1e-10)
    return -p.log().mean(dim=-1)


def expected_first_loss__right_all_pairs(logits):
    """The loss of each target is the logsumexp of all logits measured from its own."""
    differences = logits[..., None, :] - logits[..., :, None]
    return differences.logsumexp(-1).mean(-1)


def scale_table__wrong_in_place(table, vectors, surplus):
    """table *= scales the caller's table."""
    logits = vectors @ table.T
    variance = logits.var(dim=-1, unbiased=False).mean()
    table *= (2 * surplus / variance) ** 0.5
    return table


def scale_table__wrong_variance_over_time(table, vectors, surplus):
    """The variance is taken along time and not along the vocabulary; the logits of the example give the same both ways."""
    logits = vectors @ table.T
    variance = logits.var(dim=1, correction=0).mean()
    return table * (2 * surplus / variance).sqrt()


def top_k_probabilities__wrong_ties_kept(logits, temperature, k):
    """All logits that reach the k-th greatest are kept, more than k where some are equal."""
    logits = logits / temperature
    k = min(k, logits.shape[-1])
    least = logits.topk(k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < least, float("-inf")).softmax(dim=-1)


def top_k_probabilities__wrong_one_mask_for_all_rows(logits, temperature, k):
    """There is one mask for the vocabulary, so that each row keeps the best tokens of all rows."""
    logits = logits / temperature
    best = logits.topk(min(k, logits.shape[-1])).indices
    keep = torch.zeros(logits.shape[-1], dtype=torch.bool)
    keep[best] = True
    return torch.where(keep, logits, float("-inf")).softmax(-1)


def top_k_probabilities__right_ranks(logits, temperature, k):
    """The rank of each token, as the argsort of an argsort, decides; the rest is zeroed and the row divided by its sum."""
    rank = logits.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    p = (logits / temperature).softmax(-1) * (rank < k)
    return p / p.sum(-1, keepdim=True)


def nucleus_probabilities__wrong_one_too_many(logits, temperature, p):
    """A token is kept where those before it have p or less; with exactly p they would be enough."""
    probs = (logits / temperature).softmax(dim=-1)
    ordered, index = probs.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    ordered = ordered * (before <= p)
    kept = torch.zeros_like(probs).scatter(-1, index, ordered)
    return kept / kept.sum(dim=-1, keepdim=True)


def nucleus_probabilities__wrong_temperature_last(logits, temperature, p):
    """The nucleus is chosen at temperature 1, and the temperature applied to what is left."""
    ordered, index = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    drop = ordered.cumsum(dim=-1) - ordered >= p
    drop = torch.zeros_like(drop).scatter(-1, index, drop)
    return (logits / temperature).masked_fill(drop, float("-inf")).softmax(dim=-1)


def draw_tokens__wrong_left_side(probabilities, uniform):
    """searchsorted finds the first running sum that reaches the number; a number equal to a sum, 0 too, draws the token before."""
    sums = probabilities.cumsum(dim=-1)
    sums = sums / sums[:, -1:]
    return torch.searchsorted(sums, uniform[:, None]).squeeze(1)


def draw_tokens__wrong_not_divided(probabilities, uniform):
    """The running sums are not divided by the last, and a number above the last draws a token that does not exist."""
    sums = probabilities.cumsum(dim=-1)
    return (sums <= uniform[:, None]).sum(dim=-1)


def draw_tokens__right_bisect(probabilities, uniform):
    """A binary search in Python, row by row."""
    sums = probabilities.cumsum(-1)
    sums = (sums / sums[:, -1:]).tolist()
    return torch.tensor([bisect_right(row, u) for row, u in zip(sums, uniform.tolist())])


class TiedModel__wrong_output_detached(nn.Module):
    """The output uses table.data, which the gradient does not reach."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.02)

    def forward(self, tokens, body):
        return body(self.table[tokens]) @ self.table.data.T


class TiedModel__right_one_hot(nn.Module):
    """The embedding is a product with one-hot rows, and the output the functional linear with the same table."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.empty(vocab_size, d_model).uniform_(-0.1, 0.1))

    def forward(self, tokens, body):
        rows = nn.functional.one_hot(tokens, len(self.table)).to(self.table.dtype)
        return nn.functional.linear(body(rows @ self.table), self.table)


def table_gradients__wrong_mean_over_batch(tokens, embedded_gradient, vectors, logit_gradient):
    """The gradient through the output is averaged over the sequences where it should be summed."""
    vocab, d = logit_gradient.shape[-1], vectors.shape[-1]
    by_embedding = torch.zeros(vocab, d)
    by_embedding.index_add_(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
    by_output = (logit_gradient.mT @ vectors).mean(dim=0)
    return by_embedding, by_output


def table_gradients__wrong_tokens_of_first_sequence(tokens, embedded_gradient, vectors, logit_gradient):
    """The loop reads the tokens of the first sequence and adds the gradients of all sequences to their rows."""
    vocab, d = logit_gradient.shape[-1], vectors.shape[-1]
    by_embedding = torch.zeros(vocab, d)
    for t, token in enumerate(tokens[0]):
        by_embedding[token] += embedded_gradient[:, t].sum(dim=0)
    by_output = torch.einsum("btv,btd->vd", logit_gradient, vectors)
    return by_embedding, by_output


def table_gradients__right_autograd(tokens, embedded_gradient, vectors, logit_gradient):
    """Autograd itself, on a table of zeros, once for each of the two products."""
    table = vectors.new_zeros(logit_gradient.shape[-1], vectors.shape[-1], requires_grad=True)
    (by_embedding,) = torch.autograd.grad(table[tokens], table, embedded_gradient)
    (by_output,) = torch.autograd.grad(vectors.detach() @ table.T, table, logit_gradient)
    return by_embedding, by_output


def overfit_one_batch__wrong_weights_in_place(model, tokens, weights, rate, steps):
    """The steps are made on the caller's own weights."""
    weights.requires_grad_()
    losses = []
    for _ in range(steps):
        logits = model(tokens[:, :-1], weights)
        loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        (g,) = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            weights -= rate * g
        losses.append(loss.detach())
    return weights.detach(), torch.stack(losses)


def overfit_one_batch__wrong_model_not_called(model, tokens, weights, rate, steps):
    """weights[inputs] stands in place of the model, which is right for the model of the example only."""
    weights = weights.clone().requires_grad_()
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    losses = []
    for _ in range(steps):
        logits = weights[inputs]
        loss = cross_entropy(logits.transpose(1, 2), targets)
        losses.append(loss.item())
        (g,) = torch.autograd.grad(loss, weights)
        weights = (weights - rate * g).detach().requires_grad_()
    return weights.detach(), torch.tensor(losses)
