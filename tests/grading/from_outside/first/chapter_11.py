# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import bisect
import math

import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from torch import nn
from torch.nn.functional import cross_entropy

# ---------------------------------------------------------------- cut_passages


def cut_passages__right_by_unfold(tokens, starts, length):
    passages = tokens.unfold(0, length + 1, 1)[starts]
    inputs, targets = passages.split([length, 1], dim=1)[0], passages.narrow(1, 1, length)
    return inputs, targets


def cut_passages__wrong_last_target_wraps(tokens, starts, length):
    """The targets are the inputs rolled by one, so the last target is the first token of the passage."""
    inputs = torch.stack([tokens[s : s + length] for s in starts.tolist()])
    return inputs, torch.roll(inputs, -1, dims=1)


def cut_passages__wrong_next_passage(tokens, starts, length):
    """The targets begin behind the whole passage, and not one position later."""
    positions = starts[:, None] + torch.arange(length)
    return tokens[positions], tokens[(positions + length) % len(tokens)]


def cut_passages__wrong_one_too_short(tokens, starts, length):
    """A passage of length tokens is cut into inputs and targets, so both have only length - 1."""
    x = torch.stack([tokens[int(s) : int(s) + length] for s in starts])
    return x[:, :-1], x[:, 1:]


def cut_passages__wrong_counted_from_one(tokens, starts, length):
    """The positions are counted from 1, so each passage begins one token too early."""
    at = starts.unsqueeze(1) - 1 + torch.arange(length).unsqueeze(0)
    return tokens[at], tokens[at + 1]


def cut_passages__wrong_token_before(tokens, starts, length):
    """The target is the token before the input, and not the one after it."""
    positions = starts[:, None] + torch.arange(length)[None, :]
    return tokens[positions], tokens[positions - 1]


def cut_passages__wrong_targets_first(tokens, starts, length):
    """The targets are returned first and the inputs second."""
    rows = [tokens[s : s + length + 1] for s in starts.tolist()]
    x = torch.stack(rows)
    return x[:, 1:], x[:, :-1]


# ---------------------------------------------------------------- bits_per_character


def bits_per_character__right_position_by_position(logits, targets):
    bits = []
    for row, answers in zip(logits.double().unbind(), targets.unbind()):
        for u, y in zip(row.unbind(), answers.tolist()):
            bits.append((torch.logsumexp(u, 0) - u[y]) / math.log(2))
    return (sum(bits) / len(bits)).to(logits.dtype)


def bits_per_character__wrong_in_nats(logits, targets):
    """The mean is in nats: the division by ln 2 is forgotten."""
    return cross_entropy(logits.flatten(0, 1), targets.flatten())


def bits_per_character__wrong_times_ln2(logits, targets):
    """The nats are multiplied by ln 2, and must be divided by it."""
    logp = logits.log_softmax(-1).gather(-1, targets[..., None])
    return -logp.mean() * math.log(2)


def bits_per_character__wrong_log2_of_softmax(logits, targets):
    """The probability is 0 in float32 where logits are a thousand apart, and its logarithm is not finite."""
    p = logits.softmax(dim=-1)
    p = p.gather(-1, targets.unsqueeze(-1))
    return -torch.log2(p).mean()


def bits_per_character__wrong_view_for_transpose(logits, targets):
    """cross_entropy wants the classes in axis 1, but reshape does not move an axis: it mixes time and vocabulary."""
    batch, time, vocab = logits.shape
    return cross_entropy(logits.reshape(batch, vocab, time), targets) / math.log(2)


def bits_per_character__wrong_sum_over_time(logits, targets):
    """The bits of a passage are summed over time and only averaged over the batch."""
    nats = cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return (nats / math.log(2)).sum(dim=1).mean()


def bits_per_character__wrong_log_of_mean_probability(logits, targets):
    """The probabilities are averaged before the logarithm; the mean of the logarithms is asked."""
    logp = torch.log_softmax(logits, dim=-1).gather(2, targets[:, :, None]).flatten()
    return -(torch.logsumexp(logp, 0) - math.log(len(logp))) / math.log(2)


# ---------------------------------------------------------------- expected_first_loss


def expected_first_loss__right_row_by_row(logits):
    vocab = logits.shape[-1]
    rows = logits.reshape(-1, vocab).double()
    targets = torch.arange(vocab)
    losses = [cross_entropy(row.expand(vocab, vocab), targets) for row in rows]
    return torch.stack(losses).reshape(logits.shape[:-1]).to(logits.dtype)


def expected_first_loss__wrong_always_ln_v(logits):
    """This is ln V whatever the logits are, which is right for equal logits only."""
    return torch.full(logits.shape[:-1], math.log(logits.shape[-1]))


def expected_first_loss__wrong_entropy(logits):
    """The losses are weighted by the probabilities, which gives the entropy; each must be counted once."""
    p = logits.softmax(dim=-1)
    return -(p * logits.log_softmax(dim=-1)).sum(dim=-1)


def expected_first_loss__wrong_log_of_softmax(logits):
    """The log of a softmax is minus infinity, where one logit is a thousand above the others."""
    return -torch.log(torch.softmax(logits, -1)).mean(-1)


def expected_first_loss__wrong_sum(logits):
    """The losses are summed, and not divided by V."""
    return -F.log_softmax(logits, dim=-1).sum(dim=-1)


def expected_first_loss__wrong_one_number(logits):
    """All rows are averaged to one number, but each row of logits has its own loss."""
    return -logits.log_softmax(dim=-1).mean()


def expected_first_loss__wrong_overflow(logits):
    """exp overflows for a logit of a thousand; logsumexp would not."""
    return torch.log(torch.exp(logits).sum(-1)) - logits.mean(-1)


# ---------------------------------------------------------------- scale_table


def scale_table__right_by_covariance(table, vectors, surplus):
    w = table.double()
    w = w - w.mean(dim=0)
    covariance = w.T @ w / len(w)
    h = vectors.reshape(-1, vectors.shape[-1]).double()
    variance = einsum(h, covariance, h, "n i, i j, n j -> n").mean()
    return (table * torch.sqrt(2 * surplus / variance)).to(table.dtype)


def scale_table__wrong_root_forgotten(table, vectors, surplus):
    """The factor enters the variance squared, so its root must be taken."""
    variance = (vectors @ table.T).var(dim=-1, correction=0).mean()
    return table * (2 * surplus / variance)


def scale_table__wrong_variance_is_surplus(table, vectors, surplus):
    """The variance becomes the surplus, and should be twice the surplus."""
    variance = (vectors @ table.T).var(dim=-1, correction=0).mean()
    return table * (surplus / variance) ** 0.5


def scale_table__wrong_unbiased(table, vectors, surplus):
    """The variance is divided by V - 1, but the biased one is asked."""
    variance = (vectors @ table.T).var(dim=-1).mean()
    return table * torch.sqrt(2 * surplus / variance)


def scale_table__wrong_all_logits_together(table, vectors, surplus):
    """One variance is taken over all the logits, but each vector's logits have their own mean."""
    logits = einsum(vectors, table, "b t d, v d -> b t v")
    return table * torch.sqrt(2 * surplus / logits.var(correction=0))


def scale_table__wrong_mean_of_deviations(table, vectors, surplus):
    """The standard deviations are averaged, and not the variances."""
    deviation = (vectors @ table.T).std(dim=-1, correction=0).mean()
    return table * (2 * surplus) ** 0.5 / deviation


def scale_table__wrong_table_in_place(table, vectors, surplus):
    """The caller's table is multiplied in place."""
    variance = (vectors @ table.mT).var(dim=-1, correction=0).mean()
    table *= torch.sqrt(2 * surplus / variance)
    return table


# ---------------------------------------------------------------- top_k_probabilities


def top_k_probabilities__right_sorted_in_python(logits, temperature, k):
    vocab = logits.shape[-1]
    rows = []
    for row in (logits.double() / temperature).reshape(-1, vocab).tolist():
        kept = sorted(range(vocab), key=lambda i: -row[i])[:k]
        weights = {i: math.exp(row[i] - row[kept[0]]) for i in kept}
        total = math.fsum(weights.values())
        rows.append([weights.get(i, 0.0) / total for i in range(vocab)])
    return torch.tensor(rows, dtype=logits.dtype).reshape(logits.shape)


def top_k_probabilities__wrong_equal_logits_all_left(logits, temperature, k):
    """The comparison with the k-th logit leaves more than k tokens where several are equal."""
    u = logits / temperature
    least = u.topk(min(k, u.shape[-1]), dim=-1).values[..., -1:]
    return u.masked_fill(u < least, float("-inf")).softmax(dim=-1)


def top_k_probabilities__wrong_not_renormalised(logits, temperature, k):
    """The softmax is taken over all tokens, and what is left does not sum to one."""
    p = (logits / temperature).softmax(dim=-1)
    values, index = p.topk(min(k, p.shape[-1]), dim=-1)
    return torch.zeros_like(p).scatter(-1, index, values)


def top_k_probabilities__wrong_times_temperature(logits, temperature, k):
    """The logits are multiplied by the temperature and not divided by it."""
    u = logits * temperature
    values, index = torch.topk(u, min(k, u.shape[-1]))
    return torch.zeros_like(u).scatter(-1, index, values.softmax(-1))


def top_k_probabilities__wrong_left_out_is_zero(logits, temperature, k):
    """The logits of the others become 0, but the exponential of 0 is 1; they must become minus infinity."""
    u = logits / temperature
    rank = u.argsort(dim=-1, descending=True).argsort(dim=-1)
    return (u * (rank < k)).softmax(dim=-1)


def top_k_probabilities__wrong_order_for_rank(logits, temperature, k):
    """One argsort gives the tokens in order and not the rank of each token, so others are left out."""
    u = logits / temperature
    rank = u.argsort(dim=-1, descending=True)
    return u.masked_fill(rank >= k, -torch.inf).softmax(dim=-1)


def top_k_probabilities__wrong_k_above_vocabulary(logits, temperature, k):
    """topk raises an error where k is greater than the vocabulary; then all tokens must be left."""
    u = logits / temperature
    values, index = u.topk(k, dim=-1)
    return torch.full_like(u, float("-inf")).scatter(-1, index, values).softmax(dim=-1)


# ---------------------------------------------------------------- nucleus_probabilities


def nucleus_probabilities__right_one_token_after_another(logits, temperature, p):
    vocab = logits.shape[-1]
    all_rows = torch.softmax(logits / temperature, dim=-1).reshape(-1, vocab).tolist()

    def nucleus(row):
        left, order = {}, sorted(range(vocab), key=row.__getitem__, reverse=True)
        for token in order:
            left[token] = row[token]
            if math.fsum(left.values()) >= p:
                break
        total = math.fsum(left.values())
        return [left.get(i, 0.0) / total for i in range(vocab)]

    return torch.tensor([nucleus(row) for row in all_rows], dtype=logits.dtype).reshape(logits.shape)


def _sorted_nucleus(logits, temperature, p, decide, renormalise=True):
    probabilities = (logits / temperature).softmax(dim=-1)
    falling, order = probabilities.sort(dim=-1, descending=True)
    keep = torch.zeros_like(probabilities, dtype=torch.bool).scatter(-1, order, decide(falling, falling.cumsum(-1)))
    left = probabilities * keep
    return left / left.sum(dim=-1, keepdim=True) if renormalise else left


def nucleus_probabilities__wrong_sum_with_own(logits, temperature, p):
    """A token is kept where the sum with it is at most p, so the token that reaches p is missing."""
    return _sorted_nucleus(logits, temperature, p, lambda falling, running: running <= p)


def nucleus_probabilities__wrong_one_more_at_exact_sum(logits, temperature, p):
    """Where a sum is exactly p, the next token is kept too, and the nucleus is not minimal."""
    return _sorted_nucleus(logits, temperature, p, lambda falling, running: running - falling <= p)


def nucleus_probabilities__wrong_not_renormalised(logits, temperature, p):
    """The probabilities in the nucleus are not divided by their sum."""
    return _sorted_nucleus(logits, temperature, p, lambda falling, running: running - falling < p, False)


def nucleus_probabilities__wrong_order_not_undone(logits, temperature, p):
    """The decision stays in sorted order and is not brought back to the positions of the tokens."""
    probabilities = (logits / temperature).softmax(dim=-1)
    falling, order = probabilities.sort(dim=-1, descending=True)
    keep = falling.cumsum(-1) - falling < p
    left = torch.where(keep, probabilities, 0.0)
    return left / left.sum(dim=-1, keepdim=True)


def nucleus_probabilities__wrong_temperature_too_late(logits, temperature, p):
    """The nucleus is chosen at temperature 1, and the temperature is only used for the softmax afterwards."""
    falling, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    drop = falling.cumsum(-1) - falling >= p
    drop = torch.zeros_like(drop).scatter(-1, order, drop)
    return (logits.masked_fill(drop, float("-inf")) / temperature).softmax(dim=-1)


def nucleus_probabilities__wrong_threshold_for_each_token(logits, temperature, p):
    """Each token by itself is compared with 1 - p; p is a bound for the sum of the nucleus."""
    probabilities = (logits / temperature).softmax(dim=-1)
    greatest = probabilities.amax(dim=-1, keepdim=True)
    left = probabilities * ((probabilities >= 1 - p) | (probabilities == greatest))
    return left / left.sum(-1, keepdim=True)


# ---------------------------------------------------------------- draw_tokens


def draw_tokens__right_by_bisection(probabilities, uniform):
    running = torch.cumsum(probabilities, dim=1)
    running = running / running[:, -1:]
    found = [bisect.bisect_right(row, u) for row, u in zip(running.tolist(), uniform.tolist())]
    return torch.tensor(found, dtype=torch.long)


def draw_tokens__wrong_reached_not_exceeded(probabilities, uniform):
    """searchsorted finds by default the first sum that reaches the number; the sum must exceed it."""
    running = probabilities.cumsum(dim=-1)
    running = running / running[:, -1:]
    return torch.searchsorted(running, uniform[:, None])[:, 0]


def draw_tokens__wrong_last_sum_not_one(probabilities, uniform):
    """The running sums are not divided by the last one, so a token behind the vocabulary can be drawn."""
    running = probabilities.cumsum(dim=-1)
    return (running <= uniform[:, None]).sum(dim=-1)


def draw_tokens__wrong_in_sorted_order(probabilities, uniform):
    """The intervals stand in the order of the probabilities, and not in the order of the vocabulary."""
    falling, order = probabilities.sort(dim=-1, descending=True)
    running = falling.cumsum(-1) / falling.sum(-1, keepdim=True)
    place = (running <= uniform[:, None]).sum(-1).clamp(max=probabilities.shape[1] - 1)
    return order[torch.arange(len(order)), place]


def draw_tokens__wrong_last_not_exceeding(probabilities, uniform):
    """One is subtracted too much: the token before the right one is returned."""
    running = probabilities.cumsum(dim=-1)
    running = running / running[:, -1:]
    return ((running <= uniform.unsqueeze(1)).sum(dim=1) - 1).clamp(min=0)


def draw_tokens__wrong_axis_of_numbers(probabilities, uniform):
    """Without a new axis the numbers are spread over the vocabulary, and not one over each row."""
    running = probabilities.cumsum(dim=1)
    running = running / running[:, -1:]
    if len(uniform) != running.shape[1]:
        uniform = uniform[:1]
    return (running > uniform).int().argmax(dim=1)


def draw_tokens__wrong_most_probable(probabilities, uniform):
    """The most probable token is taken each time; the numbers play no role."""
    return probabilities.argmax(dim=-1)


def draw_tokens__wrong_probabilities_in_place(probabilities, uniform):
    """cumsum_ writes the running sums into the caller's probabilities."""
    running = probabilities.cumsum_(dim=1)
    running = running / running[:, -1:]
    return torch.argmax((running > uniform[:, None]).int(), dim=1)


# ---------------------------------------------------------------- TiedModel


class TiedModel__right_by_one_hot(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.empty(vocab_size, d_model).normal_(std=d_model**-0.5))

    def forward(self, tokens, body):
        hot = F.one_hot(tokens, self.table.shape[0]).to(self.table.dtype)
        vectors = body(einsum(hot, self.table, "b t v, v d -> b t d"))
        return (vectors.unsqueeze(2) * self.table).sum(dim=-1)


class TiedModel__wrong_output_of_its_own(nn.Module):
    """The output layer has a matrix of its own, so nothing is tied."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.02)
        self.output = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens, body):
        return self.output(body(self.table[tokens]))


class TiedModel__wrong_table_detached_at_output(nn.Module):
    """The table is detached at the output, so its gradient comes through the embedding only."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.02)

    def forward(self, tokens, body):
        return body(self.table[tokens]) @ self.table.detach().T


class TiedModel__wrong_embedding_scaled(nn.Module):
    """The embedding is multiplied by the root of d_model as in the paper, but no scaling is asked here."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model))

    def forward(self, tokens, body):
        x = F.embedding(tokens, self.table) * math.sqrt(self.table.shape[1])
        return F.linear(body(x), self.table)


class TiedModel__wrong_softmax_at_the_end(nn.Module):
    """Probabilities are returned and not logits."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) / math.sqrt(d_model))

    def forward(self, tokens, body):
        vectors = body(self.table[tokens])
        return torch.softmax(einsum(vectors, self.table, "b t d, v d -> b t v"), dim=-1)


class TiedModel__wrong_reshaped_not_transposed(nn.Module):
    """The table is reshaped to (d_model, vocab) where it must be transposed, which mixes its rows."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.1)

    def forward(self, tokens, body):
        vocab_size, d_model = self.table.shape
        return body(self.table[tokens]) @ self.table.view(d_model, vocab_size)


class TiedModel__wrong_parameter_called_table_weight(nn.Module):
    """The table is an nn.Embedding and its parameter is table.weight; asked is an nn.Parameter with the name table."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model)

    def forward(self, tokens, body):
        return body(self.table(tokens)) @ self.table.weight.T


class TiedModel__wrong_residual_around_body(nn.Module):
    """The embedding is added to what the body returns, which nobody asked for."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.02)

    def forward(self, tokens, body):
        x = self.table[tokens]
        return (x + body(x)) @ self.table.T


# ---------------------------------------------------------------- table_gradients


def table_gradients__right_position_by_position(tokens, embedded_gradient, vectors, logit_gradient):
    batch, time, vocab = logit_gradient.shape
    through_embedding = torch.zeros(vocab, vectors.shape[2], dtype=embedded_gradient.dtype)
    through_output = torch.zeros(vocab, vectors.shape[2], dtype=vectors.dtype)
    for b in range(batch):
        for t in range(time):
            through_embedding[tokens[b, t]] += embedded_gradient[b, t]
            through_output += torch.outer(logit_gradient[b, t], vectors[b, t])
    return through_embedding, through_output


def table_gradients__wrong_repeated_tokens_lost(tokens, embedded_gradient, vectors, logit_gradient):
    """An indexed += keeps only one of the gradients where a token occurs several times."""
    embedding = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1])
    embedding[tokens] += embedded_gradient
    return embedding, einsum(logit_gradient, vectors, "b t v, b t d -> v d")


def table_gradients__wrong_mean_over_occurrences(tokens, embedded_gradient, vectors, logit_gradient):
    """The gradients of a token are averaged over its occurrences, but they must be summed."""
    hot = F.one_hot(tokens, logit_gradient.shape[-1]).float()
    total = einsum(hot, embedded_gradient, "b t v, b t d -> v d")
    number = hot.sum(dim=(0, 1)).clamp(min=1)
    return total / number[:, None], einsum(logit_gradient, vectors, "b t v, b t d -> v d")


def table_gradients__wrong_output_averaged_over_batch(tokens, embedded_gradient, vectors, logit_gradient):
    """The gradient through the output is averaged over the batch, and must be summed."""
    vocab, d_model = logit_gradient.shape[-1], vectors.shape[-1]
    embedding = torch.zeros(vocab, d_model).index_add(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
    return embedding, (logit_gradient.transpose(1, 2) @ vectors).mean(dim=0)


def table_gradients__wrong_order(tokens, embedded_gradient, vectors, logit_gradient):
    """The gradient through the output is returned first; the one through the embedding must come first."""
    vocab, d_model = logit_gradient.shape[-1], vectors.shape[-1]
    embedding = torch.zeros(vocab, d_model).index_add(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
    output = rearrange(logit_gradient, "b t v -> v (b t)") @ rearrange(vectors, "b t d -> (b t) d")
    return output, embedding


def table_gradients__wrong_output_only_at_own_token(tokens, embedded_gradient, vectors, logit_gradient):
    """Through the output only the row of the token at the position gets something, but every row has a logit there."""
    vocab, d_model = logit_gradient.shape[-1], vectors.shape[-1]
    embedding = torch.zeros(vocab, d_model)
    output = torch.zeros(vocab, d_model)
    for b in range(tokens.shape[0]):
        for t in range(tokens.shape[1]):
            i = tokens[b, t]
            embedding[i] += embedded_gradient[b, t]
            output[i] += logit_gradient[b, t, i] * vectors[b, t]
    return embedding, output


def table_gradients__wrong_both_are_the_sum(tokens, embedded_gradient, vectors, logit_gradient):
    """Both ways are added into one tensor, which is returned twice; asked are the two parts."""
    grad = einsum(logit_gradient, vectors, "b t v, b t d -> v d")
    grad.index_add_(0, tokens.reshape(-1), embedded_gradient.reshape(-1, vectors.shape[-1]))
    return grad, grad


# ---------------------------------------------------------------- overfit_one_batch


def overfit_one_batch__right_recursive_with_func_grad(model, tokens, weights, rate, steps):
    inputs, targets = tokens.unfold(1, 2, 1).unbind(-1)

    def loss(w):
        logp = model(inputs, w).log_softmax(dim=-1)
        return -torch.take_along_dim(logp, targets[..., None], dim=-1).mean()

    def go(w, left):
        if left == 0:
            return w, []
        slope, value = torch.func.grad_and_value(loss)(w)
        last, values = go(w - rate * slope, left - 1)
        return last, [value] + values

    last, values = go(weights.detach().clone(), steps)
    return last, torch.stack(values)


def _loss(model, inputs, targets, w, reduction="mean"):
    logits = model(inputs, w)
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction=reduction)


def overfit_one_batch__wrong_losses_after_the_step(model, tokens, weights, rate, steps):
    """The losses are noted after each step, and must be taken before it."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    w = weights.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        (grad,) = torch.autograd.grad(_loss(model, inputs, targets, w), w)
        w = (w - rate * grad).detach().requires_grad_()
        losses.append(_loss(model, inputs, targets, w).detach())
    return w.detach(), torch.stack(losses)


def overfit_one_batch__wrong_targets_not_shifted(model, tokens, weights, rate, steps):
    """The targets are the inputs themselves, so the model learns to repeat its input and not the next token."""
    inputs = tokens[:, :-1]
    w = weights.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        loss = _loss(model, inputs, inputs, w)
        grad = torch.autograd.grad(loss, w)[0]
        losses.append(loss.detach())
        w = (w - rate * grad).detach().requires_grad_()
    return w.detach(), torch.stack(losses)


def overfit_one_batch__wrong_gradient_accumulates(model, tokens, weights, rate, steps):
    """The gradient is never set back to zero, so each step uses the sum of all gradients so far."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    w = weights.clone().requires_grad_()
    losses = torch.zeros(steps)
    for s in range(steps):
        loss = _loss(model, inputs, targets, w)
        loss.backward()
        losses[s] = loss.item()
        with torch.no_grad():
            w -= rate * w.grad
    return w.detach(), losses


def overfit_one_batch__wrong_summed_loss(model, tokens, weights, rate, steps):
    """The loss is the sum over the positions, and should be their mean."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    w = weights.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        loss = _loss(model, inputs, targets, w, "sum")
        losses.append(loss.detach())
        w = (w - rate * torch.autograd.grad(loss, w)[0]).detach().requires_grad_()
    return w.detach(), torch.stack(losses)


def overfit_one_batch__wrong_weights_in_place(model, tokens, weights, rate, steps):
    """detach makes no copy, so the steps change the caller's weights."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    w = weights.detach().requires_grad_()
    losses = []
    for _ in range(steps):
        loss = _loss(model, inputs, targets, w)
        (grad,) = torch.autograd.grad(loss, w)
        losses.append(loss.detach())
        with torch.no_grad():
            w -= rate * grad
    return w.detach(), torch.stack(losses)


def overfit_one_batch__wrong_gradient_always_at_the_start(model, tokens, weights, rate, steps):
    """The gradient is computed once before the loop and used for all steps; each step needs a fresh one."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    w = weights.clone().requires_grad_()
    (grad,) = torch.autograd.grad(_loss(model, inputs, targets, w), w)
    w = w.detach()
    losses = []
    for _ in range(steps):
        losses.append(_loss(model, inputs, targets, w))
        w = w - rate * grad
    return w, torch.stack(losses)


def overfit_one_batch__wrong_last_step_missing(model, tokens, weights, rate, steps):
    """The weights that are returned are those before the last step."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    w = weights.clone()
    losses = []
    for _ in range(steps):
        w = w.detach().requires_grad_()
        old = w.detach()
        loss = _loss(model, inputs, targets, w)
        w = w - rate * torch.autograd.grad(loss, w)[0]
        losses.append(loss.detach())
    return old, torch.stack(losses)
