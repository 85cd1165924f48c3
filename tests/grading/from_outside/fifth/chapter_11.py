# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import math

import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot


def cut_passages__wrong_rolled(tokens, starts, length):
    """The last target of a passage is its first token, not the one that follows in the text."""
    inputs = torch.stack([tokens[start : start + length] for start in starts.tolist()])
    return inputs, inputs.roll(-1, dims=1)


def cut_passages__wrong_neighbours(tokens, starts, length):
    """Takes the starts for the numbers of passages that lie one behind the other."""
    places = starts[:, None] * length + torch.arange(length)
    places = places % (len(tokens) - 1)
    return tokens[places], tokens[places + 1]


def bits_per_character__wrong_reshaped(logits, targets):
    """Reshapes (batch, time, vocab) to (batch, vocab, time) where it should exchange the axes."""
    batch, time, vocab = logits.shape
    return cross_entropy(logits.reshape(batch, vocab, time), targets) / math.log(2)


def bits_per_character__wrong_clamped(logits, targets):
    """Adds 1e-10 to the probabilities, so that no character costs more than about 33 bits."""
    picked = torch.softmax(logits, dim=-1).gather(-1, targets[..., None])
    return -torch.log2(picked + 1e-10).mean()


def bits_per_character__right_binary_powers(logits, targets):
    """Right: by logits in the unit of bits, and the binary logarithm of a sum of powers of two."""
    bits = logits.double() / math.log(2)
    greatest = bits.amax(dim=-1, keepdim=True)
    total = greatest[..., 0] + torch.log2(torch.exp2(bits - greatest).sum(dim=-1))
    return (total - bits.gather(-1, targets[..., None])[..., 0]).mean().to(logits.dtype)


def expected_first_loss__wrong_entropy(logits):
    """Weights the losses by the probabilities of the model, which gives the entropy."""
    logs = logits.log_softmax(dim=-1)
    return -(logs.exp() * logs).sum(dim=-1)


def expected_first_loss__wrong_log_of_softmax(logits):
    """Takes the logarithm of probabilities that are rounded to 0."""
    return -logits.softmax(dim=-1).log().mean(dim=-1)


def scale_table__wrong_one_variance(table, vectors, surplus):
    """Takes the variance of all logits around one mean, not of each vector's logits by themselves."""
    variance = (vectors @ table.T).var(correction=0)
    return table * (2 * surplus / variance) ** 0.5


def scale_table__wrong_mean_deviation(table, vectors, surplus):
    """Averages the standard deviations, not the variances."""
    deviation = (vectors @ table.T).std(dim=-1, correction=0).mean()
    return table * math.sqrt(2 * surplus) / deviation


def scale_table__right_centred_table(table, vectors, surplus):
    """Right: by the table less its mean row, whose logits have the mean 0, and their mean square."""
    centred = table.double() - table.double().mean(dim=0)
    logits = torch.einsum("btd,vd->btv", vectors.double(), centred)
    return table * float((2 * surplus / (logits**2).mean()) ** 0.5)


def top_k_probabilities__wrong_threshold(logits, temperature, k):
    """Leaves all logits that are not below the k-th, which are more than k where some are equal."""
    scaled = logits / temperature
    threshold = scaled.topk(min(k, scaled.shape[-1]), dim=-1).values[..., -1:]
    return scaled.masked_fill(scaled < threshold, float("-inf")).softmax(dim=-1)


def top_k_probabilities__wrong_large_k(logits, temperature, k):
    """Fails where k is greater than the vocabulary."""
    best = torch.topk(logits / temperature, k, dim=-1)
    return torch.zeros_like(logits).scatter(-1, best.indices, best.values.softmax(dim=-1))


def top_k_probabilities__wrong_order_once(logits, temperature, k):
    """Takes the order of the tokens for their ranks, with a single argsort."""
    rank = logits.argsort(dim=-1, descending=True)
    return (logits / temperature).masked_fill(rank >= k, float("-inf")).softmax(dim=-1)


def top_k_probabilities__right_one_by_one(logits, temperature, k):
    """Right: by taking the greatest token that is left k times, row by row."""
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        left = row.clone()
        chosen = torch.zeros_like(row, dtype=torch.bool)
        for _ in range(min(k, len(row))):
            token = left.argmax()
            chosen[token] = True
            left[token] = float("-inf")
        powers = torch.where(chosen, ((row - row.max()) / temperature).exp(), 0.0)
        rows.append(powers / powers.sum())
    return torch.stack(rows).reshape(logits.shape)


def nucleus_probabilities__wrong_below_p(logits, temperature, p):
    """Leaves the tokens up to which the sum is at most p, without the one that reaches it."""
    falling, order = (logits / temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    keep = falling.cumsum(dim=-1) <= p
    keep[..., 0] = True
    kept = torch.where(keep, falling, 0.0)
    result = torch.zeros_like(falling).scatter(-1, order, kept)
    return result / result.sum(dim=-1, keepdim=True)


def nucleus_probabilities__wrong_one_more(logits, temperature, p):
    """Keeps one token too many where a sum is exactly p."""
    falling, order = (logits / temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    before = falling.cumsum(dim=-1) - falling
    kept = falling.masked_fill(before > p, 0.0)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, order, kept)


def nucleus_probabilities__wrong_equal_kept(logits, temperature, p):
    """Keeps all tokens that are as probable as the last one of the nucleus."""
    probabilities = (logits / temperature).softmax(dim=-1)
    falling = probabilities.sort(dim=-1, descending=True).values
    before = falling.cumsum(dim=-1) - falling
    least = falling.masked_fill(before >= p, 1.0).amin(dim=-1, keepdim=True)
    kept = probabilities * (probabilities >= least)
    return kept / kept.sum(dim=-1, keepdim=True)


def nucleus_probabilities__right_rows(logits, temperature, p):
    """Right: by a loop that adds the most probable tokens until their sum has reached p."""
    probabilities = torch.softmax(logits / temperature, dim=-1)
    result = torch.zeros_like(probabilities).view(-1, logits.shape[-1])
    for number, row in enumerate(probabilities.reshape(-1, logits.shape[-1]).tolist()):
        total, chosen = 0.0, []
        for token in sorted(range(len(row)), key=lambda i: row[i], reverse=True):
            chosen.append(token)
            total += row[token]
            if total >= p:
                break
        for token in chosen:
            result[number, token] = row[token] / total
    return result.view(logits.shape)


def draw_tokens__wrong_reached(probabilities, uniform):
    """Takes the first token whose running sum reaches the number, also where it only equals it."""
    running = probabilities.cumsum(dim=-1)
    running = running / running[:, -1:]
    return torch.searchsorted(running, uniform[:, None]).squeeze(1)


def draw_tokens__wrong_not_divided(probabilities, uniform):
    """Does not divide by the last running sum, but takes the last token where no sum exceeds the number."""
    running = probabilities.cumsum(dim=-1)
    return (running <= uniform[:, None]).sum(dim=-1).clamp(max=probabilities.shape[1] - 1)


def draw_tokens__right_first_true(probabilities, uniform):
    """Right: by the first token for which it is true that its running sum is greater."""
    running = probabilities.cumsum(dim=1)
    greater = running / running[:, -1].unsqueeze(1) > uniform.unsqueeze(1)
    return greater.to(torch.uint8).argmax(dim=1)


class TiedModel__wrong_output_detached(nn.Module):
    """Detaches the table at the output, so that it has the gradient through the embedding alone."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(vocab_size, d_model))

    def forward(self, tokens, body):
        return body(self.table[tokens]) @ self.table.detach().T


class TiedModel__wrong_scaled(nn.Module):
    """Multiplies the embedded tokens by the root of d_model, as in the paper."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) / d_model**0.5)

    def forward(self, tokens, body):
        vectors = self.table[tokens] * self.table.shape[1] ** 0.5
        return body(vectors) @ self.table.T


class TiedModel__wrong_zeros(nn.Module):
    """Begins with a table of zeros, which could never learn."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(vocab_size, d_model))

    def forward(self, tokens, body):
        return body(self.table[tokens]) @ self.table.T


def table_gradients__wrong_last_only(tokens, embedded_gradient, vectors, logit_gradient):
    """A token that occurs several times keeps one of its gradients, for they are written and not added."""
    by_embedding = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1])
    by_embedding[tokens] += embedded_gradient
    by_output = torch.einsum("btv,btd->vd", logit_gradient, vectors)
    return by_embedding, by_output


def table_gradients__wrong_size_guessed(tokens, embedded_gradient, vectors, logit_gradient):
    """Takes the greatest token that occurs for the last of the vocabulary."""
    ones = one_hot(tokens).to(vectors.dtype)
    by_embedding = torch.einsum("btv,btd->vd", ones, embedded_gradient)
    by_output = torch.einsum("btv,btd->vd", logit_gradient, vectors)
    return by_embedding, by_output


def table_gradients__right_autograd(tokens, embedded_gradient, vectors, logit_gradient):
    """Right: by autograd, which is given the gradients at both ends of a table of zeros."""
    table = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1], requires_grad=True)
    (by_embedding,) = torch.autograd.grad(table[tokens], table, embedded_gradient)
    (by_output,) = torch.autograd.grad(vectors.detach() @ table.T, table, logit_gradient)
    return by_embedding, by_output


def overfit_one_batch__wrong_gradients_kept(model, tokens, weights, rate, steps):
    """Never sets the gradient to zero, so that the gradients of all steps before are added."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    weights = weights.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        loss = cross_entropy(model(inputs, weights).flatten(0, 1), targets.flatten())
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            weights -= rate * weights.grad
    return weights.detach(), torch.tensor(losses)


def overfit_one_batch__wrong_sum(model, tokens, weights, rate, steps):
    """Takes the sum of the losses over the time and the mean over the rows."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    weights = weights.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        picked = model(inputs, weights).log_softmax(-1).gather(-1, targets[..., None])
        loss = -picked.sum(dim=1).mean()
        losses.append(loss.detach())
        weights = (weights - rate * torch.autograd.grad(loss, weights)[0]).detach().requires_grad_()
    return weights.detach(), torch.stack(losses)


def overfit_one_batch__wrong_callers_weights(model, tokens, weights, rate, steps):
    """Changes the caller's weights in place."""
    losses = []
    weights.requires_grad_()
    for _ in range(steps):
        logits = model(tokens[:, :-1], weights)
        loss = cross_entropy(logits.transpose(1, 2), tokens[:, 1:])
        (gradient,) = torch.autograd.grad(loss, weights)
        losses.append(loss.detach())
        weights.data -= rate * gradient
    return weights.detach(), torch.stack(losses)


def overfit_one_batch__right_optimiser(model, tokens, weights, rate, steps):
    """Right: by torch's optimiser for gradient descent, and the log-sum-exp for the loss."""
    parameter = nn.Parameter(weights.detach().clone())
    optimiser = torch.optim.SGD([parameter], lr=rate)
    losses = torch.zeros(steps)
    for number in range(steps):
        logits = model(tokens[:, :-1].clone(), parameter)
        right = logits.gather(2, tokens[:, 1:].unsqueeze(2)).squeeze(2)
        loss = (logits.logsumexp(dim=2) - right).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses[number] = loss.detach()
    return parameter.detach(), losses
