# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import cross_entropy

# ---------------------------------------------------------------- cut_passages


def cut_passages__wrong_rolled_targets(tokens, starts, length):
    """The targets are the inputs rolled by one, so the last target of a row is its first input."""
    positions = starts[:, None] + torch.arange(length)
    inputs = tokens[positions]
    targets = torch.roll(inputs, shifts=-1, dims=1)
    return inputs, targets


def cut_passages__wrong_float_buffers(tokens, starts, length):
    """Fills buffers of torch.zeros, which are float32, where integers are asked for."""
    batch = len(starts)
    inputs = torch.zeros(batch, length)
    targets = torch.zeros(batch, length)
    for b in range(batch):
        s = int(starts[b])
        inputs[b] = tokens[s : s + length]
        targets[b] = tokens[s + 1 : s + length + 1]
    return inputs, targets


def cut_passages__right_unfold(tokens, starts, length):
    """Right: all windows of length + 1 by unfold, then the rows at the starts."""
    windows = tokens.unfold(0, length + 1, 1)[starts]
    return windows[:, :-1], windows[:, 1:]


# ---------------------------------------------------------- bits_per_character


def bits_per_character__wrong_nats(logits, targets):
    """The mean is in nats, never divided by ln 2."""
    vocab = logits.shape[-1]
    return cross_entropy(logits.reshape(-1, vocab), targets.reshape(-1))


def bits_per_character__wrong_log2_of_softmax(logits, targets):
    """Takes log2 of the softmax, which underflows to 0 for logits a thousand apart and gives inf."""
    probs = torch.softmax(logits, dim=-1)
    picked = probs.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -torch.log2(picked).mean()


def bits_per_character__wrong_reshaped_for_cross_entropy(logits, targets):
    """Brings the vocabulary to axis 1 by reshape instead of transpose, which mixes positions and characters."""
    batch, time, vocab = logits.shape
    loss = cross_entropy(logits.reshape(batch, vocab, time), targets)
    return loss / math.log(2)


def bits_per_character__right_transposed(logits, targets):
    """Right: cross_entropy with the vocabulary on axis 1, times log2(e)."""
    return cross_entropy(logits.transpose(1, 2), targets) * math.log2(math.e)


# --------------------------------------------------------- expected_first_loss


def expected_first_loss__wrong_entropy(logits):
    """Weights the losses by p itself (the entropy) instead of counting each token once."""
    logp = torch.log_softmax(logits, dim=-1)
    return -(logp.exp() * logp).sum(dim=-1)


def expected_first_loss__wrong_one_number(logits):
    """Averages over the rows too and returns one number instead of one loss for each row."""
    return -F.log_softmax(logits, dim=-1).mean()


def expected_first_loss__right_uniform_targets(logits):
    """Right: cross entropy with the uniform distribution as its target."""
    vocab = logits.shape[-1]
    flat = logits.reshape(-1, vocab)
    uniform = torch.full_like(flat, 1 / vocab)
    return cross_entropy(flat, uniform, reduction="none").reshape(logits.shape[:-1])


# ----------------------------------------------------------------- scale_table


def scale_table__wrong_unbiased(table, vectors, surplus):
    """Uses the unbiased variance (torch's default), which divides by V - 1."""
    logits = vectors @ table.T
    v = logits.var(dim=-1).mean()
    return table * torch.sqrt(2 * surplus / v)


def scale_table__wrong_variance_of_all(table, vectors, surplus):
    """Takes one variance over all logits of all vectors around their common mean."""
    logits = torch.einsum("btd,vd->btv", vectors, table)
    v = ((logits - logits.mean()) ** 2).mean()
    return table * (2 * surplus / v) ** 0.5


def scale_table__right_covariance(table, vectors, surplus):
    """Right: the variance as a quadratic form with the covariance of the table's rows."""
    vocab, d_model = table.shape
    centred = table - table.mean(dim=0)
    covariance = centred.T @ centred / vocab
    flat = vectors.reshape(-1, d_model)
    v = torch.einsum("nk,kl,nl->n", flat, covariance, flat).mean()
    return table * (2 * surplus / v).sqrt()


# --------------------------------------------------------- top_k_probabilities


def top_k_probabilities__wrong_ties_kept(logits, temperature, k):
    """Keeps everything that reaches the k-th greatest logit, so more than k tokens are left where logits tie."""
    scaled = logits / temperature
    k = min(k, logits.shape[-1])
    threshold = scaled.topk(k, dim=-1).values[..., -1:]
    return scaled.masked_fill(scaled < threshold, -torch.inf).softmax(dim=-1)


def top_k_probabilities__wrong_k_too_great(logits, temperature, k):
    """torch.topk stops with an error where k is greater than the vocabulary."""
    values, indices = torch.topk(logits / temperature, k, dim=-1)
    answer = torch.zeros_like(logits)
    answer.scatter_(-1, indices, values.softmax(dim=-1))
    return answer


def top_k_probabilities__right_rows_in_a_loop(logits, temperature, k):
    """Right: row by row, the softmax of the first k of the sorted row goes back to its places."""
    vocab = logits.shape[-1]
    answer = []
    for row in logits.reshape(-1, vocab):
        order = sorted(range(vocab), key=lambda i: -float(row[i]))[:k]
        out = torch.zeros_like(row)
        out[order] = torch.softmax(row[order] / temperature, dim=0)
        answer.append(out)
    return torch.stack(answer).reshape(logits.shape)


# ------------------------------------------------------- nucleus_probabilities


def nucleus_probabilities__wrong_one_more_at_exact_sum(logits, temperature, p):
    """Compares the sum before a token by <=, so one token too many is kept where a sum is exactly p."""
    probs = torch.softmax(logits / temperature, dim=-1)
    falling, order = probs.sort(dim=-1, descending=True)
    before = falling.cumsum(dim=-1) - falling
    kept = torch.where(before <= p, falling, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, kept)


def nucleus_probabilities__wrong_ties_at_the_edge(logits, temperature, p):
    """Keeps all tokens as probable as the least of the nucleus, so with equal ones it is not minimal."""
    probs = torch.softmax(logits / temperature, dim=-1)
    falling = probs.sort(dim=-1, descending=True).values
    running = falling.cumsum(dim=-1)
    last = (running < p).sum(dim=-1, keepdim=True).clamp(max=probs.shape[-1] - 1)
    least = falling.gather(-1, last)
    kept = torch.where(probs >= least, probs, torch.zeros_like(probs))
    return kept / kept.sum(dim=-1, keepdim=True)


def nucleus_probabilities__wrong_nucleus_without_temperature(logits, temperature, p):
    """Chooses the nucleus from the probabilities at temperature 1 and applies the temperature afterwards."""
    probs = torch.softmax(logits, dim=-1)
    falling, order = probs.sort(dim=-1, descending=True)
    keep_sorted = falling.cumsum(dim=-1) - falling < p
    keep = torch.zeros_like(keep_sorted).scatter(-1, order, keep_sorted)
    return (logits / temperature).masked_fill(~keep, -torch.inf).softmax(dim=-1)


def nucleus_probabilities__right_count_of_sums(logits, temperature, p):
    """Right: the nucleus has one token more than there are running sums below p."""
    probs = torch.softmax(logits / temperature, dim=-1)
    order = probs.argsort(dim=-1, descending=True)
    running = probs.gather(-1, order).cumsum(dim=-1)
    size = (running < p).sum(dim=-1, keepdim=True) + 1
    rank = order.argsort(dim=-1)
    kept = probs * (rank < size)
    return kept / kept.sum(dim=-1, keepdim=True)


# ----------------------------------------------------------------- draw_tokens


def draw_tokens__wrong_searchsorted_left(probabilities, uniform):
    """searchsorted without right=True gives the first sum that is equal or greater."""
    running = probabilities.cumsum(dim=-1)
    running = running / running[:, -1:]
    return torch.searchsorted(running, uniform[:, None])[:, 0]


def draw_tokens__wrong_not_divided(probabilities, uniform):
    """Does not divide by the last sum: where the sums end short of 1, a great number finds nothing and draws 0."""
    running = torch.cumsum(probabilities, dim=1)
    return (running > uniform.unsqueeze(1)).long().argmax(dim=1)


def draw_tokens__wrong_sorted_first(probabilities, uniform):
    """Lays the tokens side by side in the order of their probabilities, not in that of the vocabulary."""
    falling, order = probabilities.sort(dim=1, descending=True)
    running = falling.cumsum(dim=1)
    running = running / running[:, -1:]
    place = (running <= uniform[:, None]).sum(dim=1, keepdim=True)
    return order.gather(1, place).squeeze(1)


def draw_tokens__right_searchsorted(probabilities, uniform):
    """Right: searchsorted with right=True finds the first sum that exceeds the number."""
    running = probabilities.cumsum(dim=-1)
    running = (running / running[:, -1:]).contiguous()
    return torch.searchsorted(running, uniform[:, None].contiguous(), right=True).squeeze(1)


# ------------------------------------------------------------------- TiedModel


class TiedModel__wrong_body_not_called(nn.Module):
    """Never calls the body; the example, where it is the identity, still comes out."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model))

    def forward(self, tokens, body):
        vectors = self.table[tokens]
        logits = vectors @ self.table.T
        return logits


class TiedModel__wrong_output_detached(nn.Module):
    """Detaches the table at the output, so the gradient through the output is missing."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(0.1 * torch.randn(vocab_size, d_model))

    def forward(self, tokens, body):
        return body(self.table[tokens]) @ self.table.detach().T


# ------------------------------------------------------------- table_gradients


def table_gradients__wrong_repeats_overwritten(tokens, embedded_gradient, vectors, logit_gradient):
    """table[tokens] += ... adds only one of the gradients of a token that occurs several times."""
    vocab = logit_gradient.shape[-1]
    d_model = vectors.shape[-1]
    by_embedding = torch.zeros(vocab, d_model)
    by_embedding[tokens] += embedded_gradient
    by_output = torch.einsum("btv,btd->vd", logit_gradient, vectors)
    return by_embedding, by_output


def table_gradients__wrong_only_own_row_at_output(tokens, embedded_gradient, vectors, logit_gradient):
    """At the output each position adds only to the row of its own token, not to every row."""
    vocab = logit_gradient.shape[-1]
    d_model = vectors.shape[-1]
    flat = tokens.reshape(-1)
    zeros = torch.zeros(vocab, d_model)
    by_embedding = zeros.index_add(0, flat, embedded_gradient.reshape(-1, d_model))
    own = logit_gradient.gather(-1, tokens[..., None])
    by_output = zeros.index_add(0, flat, (own * vectors).reshape(-1, d_model))
    return by_embedding, by_output


def table_gradients__right_autograd(tokens, embedded_gradient, vectors, logit_gradient):
    """Right: lets autograd pull the given gradients back through an embedding and a product."""
    vocab, d_model = logit_gradient.shape[-1], vectors.shape[-1]
    table = torch.zeros(vocab, d_model, dtype=vectors.dtype, requires_grad=True)
    (by_embedding,) = torch.autograd.grad(F.embedding(tokens, table), table, embedded_gradient)
    (by_output,) = torch.autograd.grad(vectors @ table.T, table, logit_gradient)
    return by_embedding, by_output


# ----------------------------------------------------------- overfit_one_batch


def overfit_one_batch__wrong_losses_after_step(model, tokens, weights, rate, steps):
    """The losses are taken after each step instead of before."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]

    def loss_of(w):
        return cross_entropy(model(inputs, w).flatten(0, 1), targets.flatten())

    w = weights.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        (gradient,) = torch.autograd.grad(loss_of(w), w)
        w = (w - rate * gradient).detach().requires_grad_()
        losses.append(loss_of(w).detach())
    return w.detach(), torch.stack(losses)


def overfit_one_batch__wrong_gradients_pile_up(model, tokens, weights, rate, steps):
    """Uses backward() and never resets .grad, so the gradients of earlier steps are added."""
    inputs = tokens[:, :-1]
    targets = tokens[:, 1:]
    w = weights.clone().requires_grad_()
    losses = []
    for _step in range(steps):
        logits = model(inputs, w)
        loss = cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= rate * w.grad
    return w.detach(), torch.tensor(losses)


def overfit_one_batch__wrong_weights_changed(model, tokens, weights, rate, steps):
    """No clone: the steps are made in the weights that came in."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    weights.requires_grad_()
    losses = []
    for _ in range(steps):
        loss = cross_entropy(model(inputs, weights).transpose(1, 2), targets)
        (gradient,) = torch.autograd.grad(loss, weights)
        losses.append(loss.detach())
        with torch.no_grad():
            weights -= rate * gradient
    return weights.detach(), torch.stack(losses)


def overfit_one_batch__right_func_grad(model, tokens, weights, rate, steps):
    """Right: torch.func.grad_and_value gives gradient and loss at once."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]

    def loss_of(w):
        logp = torch.log_softmax(model(inputs, w), dim=-1)
        return -logp.gather(-1, targets.unsqueeze(-1)).mean()

    both = torch.func.grad_and_value(loss_of)
    w = weights.clone()
    losses = []
    for _ in range(steps):
        gradient, loss = both(w)
        losses.append(loss)
        w = w - rate * gradient
    return w, torch.stack(losses)
