# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import heapq
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.functional import cross_entropy

# ---------------------------------------------------------------- 11.1 cut_passages


def cut_passages__wrong_next_passage(tokens, starts, length):
    """The targets are the passage that follows, `length` positions later, and not one position later."""
    index = starts[:, None] + torch.arange(length)
    return tokens[index], tokens[(index + length).clamp(max=len(tokens) - 1)]


def cut_passages__wrong_rolled(tokens, starts, length):
    """The passage is rolled by one, so its last target is its own first token."""
    inputs = torch.stack([tokens[s : s + length] for s in starts.tolist()])
    return inputs, inputs.roll(-1, dims=1)


def cut_passages__wrong_end_clamped(tokens, starts, length):
    """Positions are clamped one too low, so a passage at the very end of the text gets its last target wrong."""
    index = starts[:, None] + torch.arange(length)
    last = len(tokens) - 2
    return tokens[index.clamp(max=last)], tokens[(index + 1).clamp(max=last)]


def cut_passages__wrong_starts_moved(tokens, starts, length):
    """starts is counted up in place, and the caller's positions are changed."""
    inputs, targets = [], []
    for _ in range(length):
        inputs.append(tokens[starts])
        starts += 1
        targets.append(tokens[starts])
    return torch.stack(inputs, dim=1), torch.stack(targets, dim=1)


def cut_passages__wrong_from_one(tokens, starts, length):
    """The starts are taken as counted from 1, they are counted from 0."""
    index = starts[:, None] - 1 + torch.arange(length)
    return tokens[index], tokens[index + 1]


def cut_passages__wrong_last_target_missing(tokens, starts, length):
    """The targets are cut out of the inputs, and the last one is filled with 0 though the text goes on."""
    inputs = tokens[starts[:, None] + torch.arange(length)]
    return inputs, F.pad(inputs[:, 1:], (0, 1))


def cut_passages__right_unfold(tokens, starts, length):
    """All windows of the text with unfold, of which starts picks some."""
    windows = tokens.unfold(0, length + 1, 1)[starts]
    return windows[:, :-1].clone(), windows[:, 1:].clone()


def cut_passages__right_slices(tokens, starts, length):
    """Slices of a Python list, and a tensor at the end."""
    text = tokens.tolist()
    inputs = [text[s : s + length] for s in starts.tolist()]
    targets = [text[s + 1 : s + length + 1] for s in starts.tolist()]
    return torch.tensor(inputs, dtype=tokens.dtype), torch.tensor(targets, dtype=tokens.dtype)


# ---------------------------------------------------------------- 11.1 bits_per_character


def bits_per_character__wrong_nats(logits, targets):
    """The loss stays in nats, it has to be divided by ln 2."""
    return cross_entropy(logits.flatten(0, 1), targets.flatten())


def bits_per_character__wrong_log_of_softmax(logits, targets):
    """The binary logarithm of a probability that has come out as 0 is infinite."""
    p = logits.softmax(dim=-1).gather(-1, targets[..., None])
    return -p.log2().mean()


def bits_per_character__wrong_small_number(logits, targets):
    """With 1e-9 inside the logarithm no character can cost more than 30 bits."""
    p = logits.softmax(dim=-1).gather(-1, targets[..., None])
    return -torch.log2(p + 1e-9).mean()


def bits_per_character__wrong_reshaped(logits, targets):
    """cross_entropy wants the vocabulary as the second axis, but reshape mixes the numbers where transpose was needed."""
    batch, time, vocab = logits.shape
    return cross_entropy(logits.reshape(batch, vocab, time), targets) / math.log(2)


def bits_per_character__wrong_rows_and_columns(logits, targets):
    """The targets are flattened the other way round than the logits, which goes well for one passage only."""
    return cross_entropy(logits.flatten(0, 1), targets.T.reshape(-1)) / math.log(2)


def bits_per_character__wrong_bits_per_passage(logits, targets):
    """The bits of a passage are summed and averaged over the passages only, not over the positions."""
    losses = cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return losses.sum(dim=1).mean() / math.log(2)


def bits_per_character__right_base_two(logits, targets):
    """The softmax written with powers of two: logits divided by ln 2, and logaddexp2 folded over the vocabulary."""
    u = logits.double() / math.log(2)
    total = u[..., 0]
    for k in range(1, u.shape[-1]):
        total = torch.logaddexp2(total, u[..., k])
    right = u.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (total - right).mean().to(logits.dtype)


def bits_per_character__right_nll(logits, targets):
    """nll_loss of the log-softmax, position by position, and the mean of a list."""
    bits = []
    for t in range(targets.shape[1]):
        bits.append(F.nll_loss(F.log_softmax(logits[:, t], dim=1), targets[:, t], reduction="none") / math.log(2))
    return torch.stack(bits).mean()


# ---------------------------------------------------------------- 11.2 expected_first_loss


def expected_first_loss__wrong_entropy(logits):
    """This is the entropy, where each token is weighted with its own probability; here each counts once."""
    logp = logits.log_softmax(dim=-1)
    return -(logp.exp() * logp).sum(dim=-1)


def expected_first_loss__wrong_approximation(logits):
    """ln V plus half the variance is only an approximation for logits that differ little."""
    return math.log(logits.shape[-1]) + logits.var(dim=-1, unbiased=False) / 2


def expected_first_loss__wrong_overflow(logits):
    """exp of a logit above 88 is infinite in float32; the greatest logit has to be subtracted first."""
    return logits.exp().sum(dim=-1).log() - logits.mean(dim=-1)


def expected_first_loss__wrong_all_rows(logits):
    """The mean over all rows is returned, one loss for each row was asked for."""
    return -logits.log_softmax(dim=-1).mean()


def expected_first_loss__wrong_random_targets(logits):
    """One random target is drawn for each row, the mean over all targets can be computed."""
    targets = torch.randint(logits.shape[-1], logits.shape[:-1])
    return -logits.log_softmax(dim=-1).gather(-1, targets[..., None])[..., 0]


def expected_first_loss__wrong_log_of_softmax(logits):
    """Probabilities that come out as 0 have infinite logarithms."""
    return -logits.softmax(dim=-1).log().mean(dim=-1)


def expected_first_loss__right_logsumexp(logits):
    """logsumexp minus the mean, in float64."""
    wide = logits.to(torch.float64)
    return torch.sub(torch.logsumexp(wide, dim=-1), wide.mean(dim=-1)).to(logits.dtype)


def expected_first_loss__right_smoothing_of_one(logits):
    """cross_entropy with full label smoothing, whose target probabilities are all 1/V."""
    rows = logits.reshape(-1, logits.shape[-1])
    anything = torch.zeros(len(rows), dtype=torch.long)
    return cross_entropy(rows, anything, label_smoothing=1.0, reduction="none").reshape(logits.shape[:-1])


# ---------------------------------------------------------------- 11.2 scale_table


def scale_table__wrong_no_root(table, vectors, surplus):
    """The factor on the table enters the variance squared, so its root was needed."""
    variance = (vectors @ table.T).var(dim=-1, unbiased=False).mean()
    return table * (2 * surplus / variance)


def scale_table__wrong_unbiased(table, vectors, surplus):
    """var divides by V - 1 by default, the biased variance was asked for."""
    variance = torch.var(vectors @ table.T, dim=-1).mean()
    return table * (2 * surplus / variance).sqrt()


def scale_table__wrong_all_logits_together(table, vectors, surplus):
    """The variance is taken around the mean of all logits, it should be each vector's by itself, around its own mean."""
    variance = torch.var(vectors @ table.T, correction=0)
    return table * (2 * surplus / variance).sqrt()


def scale_table__wrong_mean_of_deviations(table, vectors, surplus):
    """The standard deviations are averaged instead of the variances."""
    deviation = (vectors @ table.T).std(dim=-1, unbiased=False).mean()
    return table * ((2 * surplus) ** 0.5 / deviation)


def scale_table__wrong_in_place(table, vectors, surplus):
    """The caller's table is multiplied in place."""
    variance = (vectors @ table.T).var(dim=-1, unbiased=False).mean()
    table *= (2 * surplus / variance).sqrt()
    return table


def scale_table__wrong_equal_logits_left_out(table, vectors, surplus):
    """Vectors whose logits are all equal are left out of the mean, they count with a variance of 0."""
    variances = (vectors @ table.T).var(dim=-1, unbiased=False)
    variance = variances[variances > 0].mean()
    return table * (2 * surplus / variance) ** 0.5


def scale_table__right_centred_table(table, vectors, surplus):
    """Subtracting the mean row of the table centres all logits at once; then the variance is a mean of squares, in float64."""
    wide = table.double()
    logits = torch.einsum("vd,btd->btv", wide - wide.mean(dim=0), vectors.double())
    return (wide * math.sqrt(2 * surplus / logits.square().mean().item())).to(table.dtype)


def scale_table__right_vector_by_vector(table, vectors, surplus):
    """A loop over the vectors that adds up their variances, each as the mean of the squares around the mean."""
    variances = []
    for vector in vectors.flatten(0, 1):
        logits = torch.mv(table, vector)
        variances.append(torch.mean((logits - logits.mean()) ** 2).item())
    factor = (2 * surplus * len(variances) / math.fsum(variances)) ** 0.5
    return torch.mul(table, factor)


# ---------------------------------------------------------------- 11.3 top_k_probabilities


def top_k_probabilities__wrong_ties(logits, temperature, k):
    """All logits not below the k-th are left, which are more than k where several equal the k-th."""
    u = logits / temperature
    least = u.topk(min(k, u.shape[-1]), dim=-1).values[..., -1:]
    return u.masked_fill(u < least, -torch.inf).softmax(dim=-1)


def top_k_probabilities__wrong_not_normalised(logits, temperature, k):
    """The softmax is taken over all tokens and the rest cut off afterwards, so the answer does not sum to one."""
    p = (logits / temperature).softmax(dim=-1)
    top = p.topk(min(k, p.shape[-1]), dim=-1)
    return torch.zeros_like(p).scatter(-1, top.indices, top.values)


def top_k_probabilities__wrong_never_all(logits, temperature, k):
    """k is cut to one less than the vocabulary, so at least one token is always left out."""
    u = logits / temperature
    top = u.topk(max(1, min(k, u.shape[-1] - 1)), dim=-1)
    return torch.zeros_like(u).scatter(-1, top.indices, top.values.softmax(dim=-1))


def top_k_probabilities__wrong_overflow(logits, temperature, k):
    """The exponentials are taken without subtracting the greatest logit and are infinite for large ones."""
    u = logits / temperature
    top = u.topk(min(k, u.shape[-1]), dim=-1)
    e = torch.zeros_like(u).scatter(-1, top.indices, top.values.exp())
    return e / e.sum(dim=-1, keepdim=True)


def top_k_probabilities__wrong_filled_too_high(logits, temperature, k):
    """The others get a logit of -1000, which is not below all logits that are left."""
    u = logits / temperature
    top = u.topk(min(k, u.shape[-1]), dim=-1)
    return torch.full_like(u, -1000.0).scatter(-1, top.indices, top.values).softmax(dim=-1)


def top_k_probabilities__wrong_in_place(logits, temperature, k):
    """The logits that are not among the top k are overwritten in the caller's tensor."""
    order = logits.argsort(dim=-1, descending=True)
    logits.scatter_(-1, order[..., k:], -torch.inf)
    return torch.softmax(logits / temperature, dim=-1)


def top_k_probabilities__right_ranks(logits, temperature, k):
    """Every token gets its rank by a double argsort, and those of rank k or more are hidden."""
    ranks = logits.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    hidden = torch.where(ranks < k, logits.double() / temperature, -torch.inf)
    return F.softmax(hidden, dim=-1).to(logits.dtype)


def top_k_probabilities__right_heap(logits, temperature, k):
    """Row by row in Python: heapq.nlargest finds the tokens, math.exp does the rest."""
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]).tolist():
        kept = heapq.nlargest(k, range(len(row)), key=row.__getitem__)
        greatest = row[kept[0]]
        weights = {i: math.exp((row[i] - greatest) / temperature) for i in kept}
        rows.append([weights.get(i, 0.0) / sum(weights.values()) for i in range(len(row))])
    return torch.tensor(rows, dtype=logits.dtype).reshape(logits.shape)


# ---------------------------------------------------------------- 11.3 nucleus_probabilities


def nucleus_probabilities__wrong_last_one_missing(logits, temperature, p):
    """The token with which the sum reaches p is left out, so the nucleus has less than p."""
    q, order = (logits / temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    keep = q.cumsum(dim=-1) <= p
    keep[..., 0] = True
    kept = torch.where(keep, q, 0.0)
    return torch.zeros_like(q).scatter(-1, order, kept / kept.sum(dim=-1, keepdim=True))


def nucleus_probabilities__wrong_exactly_p(logits, temperature, p):
    """Where the sum is exactly p already one token more is taken."""
    q, order = (logits / temperature).softmax(dim=-1).sort(dim=-1, descending=True)
    before = F.pad(q.cumsum(dim=-1)[..., :-1], (1, 0))
    kept = q.masked_fill(before > p, 0.0)
    return torch.zeros_like(q).scatter(-1, order, kept / kept.sum(dim=-1, keepdim=True))


def nucleus_probabilities__wrong_inverse_order(logits, temperature, p):
    """gather with the order of sorting does not bring the mask back to the vocabulary, it needs the inverse order."""
    probabilities = (logits / temperature).softmax(dim=-1)
    q, order = probabilities.sort(dim=-1, descending=True)
    keep = (F.pad(q.cumsum(dim=-1)[..., :-1], (1, 0)) < p).gather(-1, order)
    kept = torch.where(keep, probabilities, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


def nucleus_probabilities__wrong_temperature_later(logits, temperature, p):
    """The nucleus is found at temperature 1, and the temperature is applied only to what is left."""
    q, order = logits.softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    before = F.pad(q.cumsum(dim=-1)[..., :-1], (1, 0))
    keep = torch.zeros_like(q, dtype=torch.bool).scatter(-1, order, before < p)
    return (logits / temperature).masked_fill(~keep, -torch.inf).softmax(dim=-1)


def nucleus_probabilities__wrong_ties(logits, temperature, p):
    """All tokens as probable as the least of the nucleus are kept, so with equal probabilities it is not the smallest set."""
    probabilities = (logits / temperature).softmax(dim=-1)
    q = probabilities.sort(dim=-1, descending=True).values
    size = (F.pad(q.cumsum(dim=-1)[..., :-1], (1, 0)) < p).sum(dim=-1, keepdim=True)
    least = q.gather(-1, size - 1)
    kept = probabilities * (probabilities >= least)
    return kept / kept.sum(dim=-1, keepdim=True)


def nucleus_probabilities__wrong_relative_to_greatest(logits, temperature, p):
    """This keeps what has at least p times the greatest probability (min-p), another method."""
    probabilities = (logits / temperature).softmax(dim=-1)
    kept = probabilities * (probabilities >= p * probabilities.amax(dim=-1, keepdim=True))
    return kept / kept.sum(dim=-1, keepdim=True)


def nucleus_probabilities__right_growing(logits, temperature, p):
    """Row by row the most probable token that is left is added, until the sum is p or more."""
    flat = (logits / temperature).softmax(dim=-1).reshape(-1, logits.shape[-1])
    answer = torch.zeros_like(flat)
    for row, out in zip(flat, answer):
        left = row.clone()
        while out.sum() < p and (left > 0).any():
            best = left.argmax()
            out[best] = row[best]
            left[best] = -1.0
        out /= out.sum()
    return answer.reshape(logits.shape)


def nucleus_probabilities__right_searchsorted(logits, temperature, p):
    """The size of the nucleus by searchsorted in the running sums, in float64; ranks say who belongs to it."""
    u = logits.double() / temperature
    order = u.argsort(dim=-1, descending=True)
    sums = u.softmax(dim=-1).take_along_dim(order, dim=-1).cumsum(dim=-1)
    threshold = torch.full((*sums.shape[:-1], 1), float(p), dtype=torch.float64)
    size = torch.searchsorted(sums.contiguous(), threshold) + 1
    rank = order.argsort(dim=-1)
    return torch.where(rank < size, u, -torch.inf).softmax(dim=-1).to(logits.dtype)


# ---------------------------------------------------------------- 11.3 draw_tokens


def draw_tokens__wrong_not_less(probabilities, uniform):
    """The first running sum that is not below the number is taken, it has to exceed it: 0 could draw a token of probability 0."""
    sums = probabilities.cumsum(dim=-1)
    sums = sums / sums[:, -1:]
    return (sums < uniform[:, None]).sum(dim=-1)


def draw_tokens__wrong_not_divided(probabilities, uniform):
    """The sums are not divided by the last one; a number above it draws the last token, even if that has probability 0."""
    sums = probabilities.cumsum(dim=-1)
    return (sums <= uniform[:, None]).sum(dim=-1).clamp(max=probabilities.shape[-1] - 1)


def draw_tokens__wrong_greatest_of_the_batch(probabilities, uniform):
    """All rows are divided by the greatest sum of the batch, each should be divided by its own."""
    sums = probabilities.cumsum(dim=-1)
    sums = sums / sums.max()
    exceeds = sums > uniform[:, None]
    return torch.where(exceeds.any(dim=-1), exceeds.int().argmax(dim=-1), probabilities.shape[-1] - 1)


def draw_tokens__wrong_one_number_for_all(probabilities, uniform):
    """The first number is used for all rows."""
    sums = probabilities.cumsum(dim=-1)
    sums = sums / sums[:, -1:]
    return (sums <= uniform[0]).sum(dim=-1)


def draw_tokens__wrong_sorted(probabilities, uniform):
    """The intervals lie in the order of the probabilities and not of the vocabulary."""
    q, order = probabilities.sort(dim=-1, descending=True)
    sums = q.cumsum(dim=-1)
    index = (sums / sums[:, -1:] <= uniform[:, None]).sum(dim=-1, keepdim=True)
    return order.gather(-1, index)[:, 0]


def draw_tokens__wrong_in_place(probabilities, uniform):
    """The running sums overwrite the caller's probabilities."""
    sums = probabilities.cumsum_(dim=-1)
    sums /= sums[:, -1:].clone()
    return torch.searchsorted(sums, uniform[:, None], right=True)[:, 0]


def draw_tokens__right_argmax(probabilities, uniform):
    """argmax of the comparison: the first True."""
    sums = torch.cumsum(probabilities, dim=1)
    exceeds = torch.div(sums, sums[:, [-1]]) > uniform.unsqueeze(1)
    return exceeds.to(torch.uint8).argmax(dim=1)


def draw_tokens__right_walk(probabilities, uniform):
    """Each row is walked along in Python, in float64, until the running sum exceeds the number."""
    tokens = []
    for row, number in zip(probabilities.double().tolist(), uniform.double().tolist()):
        sums, total = [], 0.0
        for q in row:
            total += q
            sums.append(total)
        tokens.append(next(i for i, s in enumerate(sums) if s / sums[-1] > number))
    return torch.tensor(tokens, dtype=torch.long)


# ---------------------------------------------------------------- 11.4 TiedModel


class TiedModel__wrong_scaled_embedding(nn.Module):
    """The embedded tokens are multiplied by the root of d_model, as in the original transformer; nothing is scaled here."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * d_model**-0.5)

    def forward(self, tokens, body):
        return body(self.table[tokens] * self.table.shape[1] ** 0.5) @ self.table.T


class TiedModel__wrong_output_detached(nn.Module):
    """The table is detached at the output, so it only gets the gradient through the embedding."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.02)

    def forward(self, tokens, body):
        return body(F.embedding(tokens, self.table)) @ self.table.detach().T


class TiedModel__wrong_copied(nn.Module):
    """The output layer starts as a copy of the table, but is a second parameter and goes its own way."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.02)
        self.output = nn.Parameter(self.table.detach().clone())

    def forward(self, tokens, body):
        return body(self.table[tokens]) @ self.output.T


class TiedModel__wrong_bias(nn.Module):
    """The output has a bias; it starts at zero, but it is a parameter of its own, and the table should be the only one."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.02)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, tokens, body):
        return F.linear(body(self.table[tokens]), self.table, self.bias)


class TiedModel__wrong_padding_token(nn.Module):
    """With padding_idx=0 the token 0 gets no gradient through the embedding, but it is a token like any other."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.02)

    def forward(self, tokens, body):
        vectors = F.embedding(tokens, self.table, padding_idx=0)
        return F.linear(body(vectors), self.table)


class TiedModel__wrong_second_name(nn.Module):
    """The tied weight also has the name output.weight, which the statement refuses."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        self.table = self.output.weight

    def forward(self, tokens, body):
        return self.output(body(self.table[tokens]))


class TiedModel__right_one_hot(nn.Module):
    """The embedding is the product of one-hot vectors and the table, the output an einsum."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Parameter(torch.empty(vocab_size, d_model).uniform_(-0.1, 0.1))

    def forward(self, tokens, body):
        vectors = F.one_hot(tokens, len(self.table)).to(self.table.dtype) @ self.table
        return torch.einsum("btd,vd->btv", body(vectors), self.table)


class TiedModel__right_row_by_row(nn.Module):
    """index_select for the embedding, and the logits are stacked token by token, one row of the table after the other."""

    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.register_parameter("table", nn.Parameter(nn.init.xavier_normal_(torch.empty(vocab_size, d_model))))

    def forward(self, tokens, body):
        vectors = self.table.index_select(0, tokens.flatten()).unflatten(0, tokens.shape)
        after = body(vectors)
        return torch.stack([(after * row).sum(dim=-1) for row in self.table], dim=-1)


# ---------------------------------------------------------------- 11.4 table_gradients


def table_gradients__wrong_plus_equals(tokens, embedded_gradient, vectors, logit_gradient):
    """With an index, += writes only one of the gradients of a token that occurs several times; they have to be summed."""
    embedding = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1])
    embedding[tokens] += embedded_gradient
    return embedding, torch.einsum("btv,btd->vd", logit_gradient, vectors)


def table_gradients__wrong_mean_of_occurrences(tokens, embedded_gradient, vectors, logit_gradient):
    """The gradients of a token are averaged over its occurrences instead of summed."""
    one_hot = F.one_hot(tokens, logit_gradient.shape[-1]).to(vectors.dtype)
    embedding = torch.einsum("btv,btd->vd", one_hot, embedded_gradient)
    embedding = embedding / one_hot.sum(dim=(0, 1)).clamp(min=1)[:, None]
    return embedding, torch.einsum("btv,btd->vd", logit_gradient, vectors)


def table_gradients__wrong_exchanged(tokens, embedded_gradient, vectors, logit_gradient):
    """The two gradients come back in the wrong order."""
    embedding = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1])
    embedding.index_add_(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
    return logit_gradient.flatten(0, 1).T @ vectors.flatten(0, 1), embedding


def table_gradients__wrong_vocabulary_guessed(tokens, embedded_gradient, vectors, logit_gradient):
    """The size of the first answer is taken from the greatest token that occurs, but the vocabulary may be larger."""
    one_hot = F.one_hot(tokens.flatten()).to(vectors.dtype)
    return one_hot.T @ embedded_gradient.flatten(0, 1), logit_gradient.flatten(0, 1).T @ vectors.flatten(0, 1)


def table_gradients__wrong_mean_of_batch(tokens, embedded_gradient, vectors, logit_gradient):
    """Both gradients are averaged over the sequences of the batch, they should be summed."""
    one_hot = F.one_hot(tokens, logit_gradient.shape[-1]).to(vectors.dtype)
    embedding = (one_hot.mT @ embedded_gradient).mean(dim=0)
    return embedding, (logit_gradient.mT @ vectors).mean(dim=0)


def table_gradients__wrong_inputs_of_body(tokens, embedded_gradient, vectors, logit_gradient):
    """Through the output only the row of the token that was read receives its vector, every row should."""
    embedding = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1])
    output = embedding.clone()
    embedding.index_add_(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
    own = logit_gradient.gather(-1, tokens[..., None])
    output.index_add_(0, tokens.flatten(), (own * vectors).flatten(0, 1))
    return embedding, output


def table_gradients__wrong_padding_row(tokens, embedded_gradient, vectors, logit_gradient):
    """Row 0 gets no gradient through the embedding, as with padding_idx=0, but token 0 is a token like any other."""
    embedding = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1])
    embedding.index_add_(0, tokens.flatten(), embedded_gradient.flatten(0, 1))
    embedding[0] = 0.0
    return embedding, torch.einsum("btv,btd->vd", logit_gradient, vectors)


def table_gradients__right_autograd(tokens, embedded_gradient, vectors, logit_gradient):
    """Autograd itself, with a table of zeros: neither gradient depends on what stands in the table."""
    table = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1], dtype=vectors.dtype, requires_grad=True)
    (embedding,) = torch.autograd.grad(table[tokens], table, grad_outputs=embedded_gradient)
    (output,) = torch.autograd.grad(vectors.detach() @ table.T, table, grad_outputs=logit_gradient)
    return embedding, output


def table_gradients__right_position_by_position(tokens, embedded_gradient, vectors, logit_gradient):
    """Two loops over the positions; each adds a row and an outer product."""
    embedding = torch.zeros(logit_gradient.shape[-1], vectors.shape[-1], dtype=vectors.dtype)
    output = torch.zeros_like(embedding)
    for b, row in enumerate(tokens.tolist()):
        for t, token in enumerate(row):
            embedding[token] += embedded_gradient[b, t]
            output += torch.outer(logit_gradient[b, t], vectors[b, t])
    return embedding, output


# ---------------------------------------------------------------- 11.5 overfit_one_batch


def mean_loss(model, tokens, weights):
    """Helper: the loss of the statement."""
    logits = model(tokens[:, :-1], weights)
    return cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def overfit_one_batch__wrong_losses_after(model, tokens, weights, rate, steps):
    """Each loss is taken after its step, the statement asks for the one before."""
    w = weights.clone()
    losses = []
    for _ in range(steps):
        w = w.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(mean_loss(model, tokens, w), w)
        w = (w - rate * gradient).detach()
        losses.append(mean_loss(model, tokens, w).detach())
    return w, torch.stack(losses)


def overfit_one_batch__wrong_gradients_pile_up(model, tokens, weights, rate, steps):
    """The gradient is never set to zero, so every step also goes along all gradients before; only the first is right."""
    w = weights.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        loss = mean_loss(model, tokens, w)
        loss.backward()
        losses.append(loss.detach())
        with torch.no_grad():
            w -= rate * w.grad
    return w.detach(), torch.stack(losses)


def overfit_one_batch__wrong_sum(model, tokens, weights, rate, steps):
    """The loss is averaged over the positions but summed over the rows of the batch, which is right for one row only."""
    w = weights.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        logits = model(tokens[:, :-1], w).transpose(1, 2)
        loss = cross_entropy(logits, tokens[:, 1:], reduction="none").mean(dim=1).sum()
        (gradient,) = torch.autograd.grad(loss, w)
        losses.append(loss.detach())
        w = (w - rate * gradient).detach().requires_grad_()
    return w.detach(), torch.stack(losses)


def overfit_one_batch__wrong_callers_weights(model, tokens, weights, rate, steps):
    """The steps are made in the caller's own weights."""
    weights.requires_grad_()
    losses = []
    for _ in range(steps):
        loss = mean_loss(model, tokens, weights)
        (gradient,) = torch.autograd.grad(loss, weights)
        losses.append(loss.item())
        with torch.no_grad():
            weights -= rate * gradient
    weights.requires_grad_(False)
    return weights, torch.tensor(losses)


def overfit_one_batch__wrong_clipped(model, tokens, weights, rate, steps):
    """The gradient is clipped to the norm 0.5, a habit of training loops that nobody asked for here."""
    w = weights.clone().requires_grad_()
    losses = []
    for _ in range(steps):
        loss = mean_loss(model, tokens, w)
        (gradient,) = torch.autograd.grad(loss, w)
        gradient = gradient * min(1.0, 0.5 / (gradient.norm().item() + 1e-6))
        losses.append(loss.detach())
        w = (w - rate * gradient).detach().requires_grad_()
    return w.detach(), torch.stack(losses)


def overfit_one_batch__wrong_last_step_missing(model, tokens, weights, rate, steps):
    """The weights are those before the last step: the loop measures the last loss and stops."""
    w = weights.clone().requires_grad_()
    losses = []
    for step in range(steps):
        loss = mean_loss(model, tokens, w)
        losses.append(loss.detach())
        if step == steps - 1:
            break
        (gradient,) = torch.autograd.grad(loss, w)
        w = (w - rate * gradient).detach().requires_grad_()
    return w.detach(), torch.stack(losses)


def overfit_one_batch__wrong_stops_early(model, tokens, weights, rate, steps):
    """The loop stops when the loss is below 0.01; the rest of the steps is not made and the rest of the losses is 0."""
    w = weights.clone().requires_grad_()
    losses = torch.zeros(steps)
    for step in range(steps):
        loss = mean_loss(model, tokens, w)
        losses[step] = loss.detach()
        if loss.item() < 0.01:
            break
        (gradient,) = torch.autograd.grad(loss, w)
        w = (w - rate * gradient).detach().requires_grad_()
    return w.detach(), losses


def overfit_one_batch__right_grad_and_value(model, tokens, weights, rate, steps):
    """torch.func.grad_and_value of a loss written with logsumexp, and no leaf tensors at all."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:, None]

    def loss(w):
        logits = model(inputs, w)
        return (logits.logsumexp(dim=-1) - logits.gather(-1, targets)[..., 0]).mean()

    step, w, losses = torch.func.grad_and_value(loss), weights.detach().clone(), []
    while len(losses) < steps:
        gradient, value = step(w)
        w = torch.add(w, gradient, alpha=-rate)
        losses.append(value)
    return w, torch.stack(losses)


def overfit_one_batch__right_recursion(model, tokens, weights, rate, steps):
    """Recursion, first one half of the steps and then the other; the gradient of the logits is written by hand."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]

    def train(w, number):
        if number > 1:
            w, first = train(w, number // 2)
            w, second = train(w, number - number // 2)
            return w, first + second
        leaf = w.clone().requires_grad_()
        logits = model(inputs, leaf)
        logp = logits.detach().log_softmax(dim=-1)
        one_hot = F.one_hot(targets, logits.shape[-1])
        loss = -(logp * one_hot).sum() / targets.numel()
        (gradient,) = torch.autograd.grad(logits, leaf, (logp.exp() - one_hot) / targets.numel())
        return w - rate * gradient, [loss]

    after, losses = train(weights.detach(), steps)
    return after, torch.stack(losses)
