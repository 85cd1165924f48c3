# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import heapq
import math

import torch
from torch import nn


def _three_layers(module, d_model, d_memory, d_key):
    module.to_query = nn.Linear(d_model, d_key)
    module.to_key = nn.Linear(d_memory, d_key)
    module.to_value = nn.Linear(d_memory, d_model)


class CrossAttention__wrong_root(nn.Module):
    """Divides the scores by the root of d_model."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        _three_layers(self, d_model, d_memory, d_key)

    def forward(self, vectors, memory, present):
        query, key, value = (
            self.to_query(vectors),
            self.to_key(memory),
            self.to_value(memory),
        )
        scores = query @ key.transpose(1, 2) / vectors.shape[-1] ** 0.5
        weights = scores.masked_fill(~present[:, None], float("-inf")).softmax(dim=-1)
        return weights @ value, weights


class CrossAttention__wrong_minus_ten_thousand(nn.Module):
    """Lowers the scores at padding by 10,000, which large vectors there can make up for."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        _three_layers(self, d_model, d_memory, d_key)
        self.scale = math.sqrt(d_key)

    def forward(self, vectors, memory, present):
        query, key, value = (
            self.to_query(vectors),
            self.to_key(memory),
            self.to_value(memory),
        )
        scores = query @ key.mT / self.scale
        scores = scores - 1e4 * (~present).unsqueeze(1).float()
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights


class CrossAttention__wrong_memory_erased(nn.Module):
    """Sets the memory at padding to 0 and hides nothing, so that padding keeps a weight."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        _three_layers(self, d_model, d_memory, d_key)

    def forward(self, vectors, memory, present):
        memory = memory.masked_fill(~present[:, :, None], 0.0)
        query, key, value = (
            self.to_query(vectors),
            self.to_key(memory),
            self.to_value(memory),
        )
        weights = torch.softmax(query @ key.transpose(1, 2) / key.shape[-1] ** 0.5, dim=-1)
        return weights @ value, weights


class CrossAttention__right_words_alone(nn.Module):
    """Right: by each sentence for itself, with the words of its source cut out."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        _three_layers(self, d_model, d_memory, d_key)

    def forward(self, vectors, memory, present):
        outputs, weights = [], []
        for vector, row, here in zip(vectors, memory, present):
            places = here.nonzero().flatten()
            words = row[places]
            query, key = self.to_query(vector), self.to_key(words)
            weight = torch.softmax(query @ key.T / math.sqrt(query.shape[-1]), dim=1)
            outputs.append(weight @ self.to_value(words))
            weights.append(torch.zeros(len(vector), len(row), dtype=weight.dtype).index_copy(1, places, weight))
        return torch.stack(outputs), torch.stack(weights)


def shift_right__wrong_counts_words(targets, start, padding):
    """Asks of the words that are read, not of the targets, which steps count."""
    words = torch.cat([torch.full_like(targets[:, :1], start), targets[:, :-1]], dim=1)
    return words, words != padding


def shift_right__wrong_padding_kept(targets, start, padding):
    """Reads padding wherever the target is padding, where the end should be read at the first of these steps."""
    words = torch.cat([torch.full_like(targets[:, :1], start), targets[:, :-1]], dim=1)
    counts = targets != padding
    return words.masked_fill(~counts, padding), counts


def loss_at_every_step__wrong_sentence_means(logits, targets, counts):
    """Averages each sentence first and then the sentences, so that words of short sentences weigh more."""
    losses = -logits.log_softmax(dim=-1).gather(-1, targets[..., None]).squeeze(-1)
    losses = losses.masked_fill(~counts, 0.0)
    means = losses.sum(dim=1) / counts.sum(dim=1).clamp(min=1)
    return means.mean(), losses


def loss_at_every_step__wrong_positive_losses(logits, targets, counts):
    """Takes the mean over the losses above zero, and so leaves out steps that count and have a loss of 0."""
    losses = -logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    losses = losses * counts
    return losses[losses > 0].mean(), losses


def loss_at_every_step__right_logsumexp(logits, targets, counts):
    """Right: by the log-sum-exp less the target's logit, at the steps alone that count."""
    losses = torch.zeros(targets.shape, dtype=logits.dtype)
    kept, right = logits[counts], targets[counts]
    each = torch.logsumexp(kept, dim=-1) - kept[torch.arange(len(right)), right]
    losses = losses.masked_scatter(counts, each)
    return each.mean(), losses


def _other(words, vocab_size):
    return 1 + words % (vocab_size - 1)


def hides_the_future__wrong_last_word(model, source, words):
    """Replaces the last word alone, so that a step that sees another later word is not found."""
    before = model(source, words)
    changed = words.clone()
    changed[:, -1] = _other(words[:, -1], before.shape[-1])
    after = model(source, changed)
    return bool((after - before)[:, :-1].abs().max() <= 1e-4) if words.shape[1] > 1 else True


def hides_the_future__wrong_next_word(model, source, words):
    """Does not look at the step directly before the replaced words, and so allows a look at the next word."""
    before = model(source, words)
    for t in range(2, words.shape[1]):
        changed = words.clone()
        changed[:, t:] = _other(words[:, t:], before.shape[-1])
        if ((model(source, changed) - before)[:, : t - 1].abs() > 1e-4).any():
            return False
    return True


def hides_the_future__right_single_words(model, source, words):
    """Right: by every word of every sentence replaced alone, by each other word in turn."""
    before = model(source, words)
    vocab_size = before.shape[-1]
    for b, t in torch.ones_like(words).nonzero().tolist():
        for other in range(1, vocab_size):
            changed = words.clone()
            changed[b, t] = other
            if ((model(source, changed) - before)[:, :t].abs() > 1e-4).any():
                return False
    return True


def reads_the_source__wrong_any_word(model, source, words):
    """Is content where a single word of a sentence has an influence."""
    before = model(source, words)
    found = [False] * len(source)
    for b, j in source.nonzero().tolist():
        changed = source.clone()
        changed[b, j] = _other(source[b, j], before.shape[-1])
        found[b] = found[b] or bool((model(changed, words) - before)[b].abs().max() > 1e-4)
    return all(found)


def reads_the_source__wrong_by_padding(model, source, words):
    """Replaces a word by padding, so that a model that reads only the length passes."""
    before = model(source, words)
    for b, j in source.nonzero().tolist():
        changed = source.clone()
        changed[b, j] = 0
        if not ((model(changed, words) - before)[b].abs() > 1e-4).any():
            return False
    return True


def reads_the_source__wrong_whole_column(model, source, words):
    """Replaces the words of a position in all sentences at once, and so cannot tell whose source was read."""
    before = model(source, words)
    for j in range(source.shape[1]):
        here = source[:, j] > 0
        changed = source.clone()
        changed[here, j] = _other(source[here, j], before.shape[-1])
        moved = (model(changed, words) - before).abs().flatten(1).amax(dim=1) > 1e-4
        if not moved[here].all():
            return False
    return True


def reads_the_source__right_every_other(model, source, words):
    """Right: by every other word in place of every word, until one has no influence."""
    before = model(source, words)
    for b in range(source.shape[0]):
        for j in range(source.shape[1]):
            word = int(source[b, j])
            if word == 0:
                continue
            for other in range(1, before.shape[-1]):
                changed = source.clone()
                changed[b, j] = other
                if other != word and torch.allclose(model(changed, words)[b], before[b], rtol=0, atol=1e-4):
                    return False
    return True


def ignores_the_padding__wrong_equal(model, source, words):
    """Demands that the logits be exactly equal, without room for rounding."""
    longer = torch.nn.functional.pad(source, (0, 2))
    return torch.equal(model(source, words), model(longer, words))


def ignores_the_padding__wrong_mean_square(model, source, words):
    """Averages the squares of the changes, in which that of a single logit is lost."""
    zeros = torch.zeros(source.shape[0], 1, dtype=source.dtype)
    after = model(torch.cat([source, zeros], dim=1), words)
    return bool(((after - model(source, words)) ** 2).mean() <= 1e-4)


def ignores_the_padding__right_several_lengths(model, source, words):
    """Right: by one to three columns of padding in a longer tensor, logit by logit."""
    batch, n = source.shape
    before = model(source, words)
    for more in (1, 2, 3):
        longer = source.new_zeros(batch, n + more)
        longer[:, :n] = source
        if not torch.isclose(model(longer, words), before, rtol=0, atol=1e-4).all():
            return False
    return True


def _search(next_log_probabilities, prompt, end, width, max_length, score=None):
    beam = [([], 0.0)]
    for _ in range(max_length):
        grown = []
        for words, total in beam:
            if words and words[-1] == end:
                grown.append((words, total))
                continue
            row = torch.cat([prompt, torch.tensor(words, dtype=prompt.dtype)])
            for word, value in enumerate(next_log_probabilities(row[None])[0].tolist()):
                grown.append((words + [word], total + value))
        beam = sorted(grown, key=score or (lambda pair: pair[1]), reverse=True)[:width]
    return beam


def beam_search__wrong_filled_with_zero(next_log_probabilities, prompt, end, width, max_length):
    """Fills up with 0, which is not always the end."""
    words, total = _search(next_log_probabilities, prompt, end, width, max_length)[0]
    return torch.tensor(words + [0] * (max_length - len(words))), torch.tensor(total)


def beam_search__wrong_ended_kept(next_log_probabilities, prompt, end, width, max_length):
    """Sets every candidate that ends aside, also those that are not among the most probable, and drops none of them."""
    beam, done = [([], 0.0)], []
    for _ in range(max_length):
        grown = []
        for words, total in beam:
            row = torch.cat([prompt, torch.tensor(words, dtype=prompt.dtype)])
            for word, value in enumerate(next_log_probabilities(row[None])[0].tolist()):
                grown.append((words + [word], total + value))
        grown.sort(key=lambda pair: -pair[1])
        done += [pair for pair in grown if pair[0][-1] == end]
        beam = [pair for pair in grown if pair[0][-1] != end][:width]
    words, total = max(done + beam, key=lambda pair: pair[1])
    return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(total)


def beam_search__wrong_end_extended(next_log_probabilities, prompt, end, width, max_length):
    """Extends ended candidates further and cuts the best one at its first end afterwards."""
    rows, totals = prompt[None], torch.zeros(1)
    for _ in range(max_length):
        sums = totals[:, None] + next_log_probabilities(rows)
        vocab = sums.shape[1]
        totals, best = sums.flatten().topk(min(width, sums.numel()))
        rows = torch.cat([rows[best // vocab], (best % vocab)[:, None]], dim=1)
    words = rows[0, len(prompt) :].clone()
    ends = (words == end).nonzero().flatten()
    if len(ends):
        words[ends[0] :] = end
    return words, totals[0]


def beam_search__wrong_end_in_prompt(next_log_probabilities, prompt, end, width, max_length):
    """Takes a prompt whose last word is the end for a candidate that has ended."""
    beam = [(prompt.tolist(), 0.0)]
    for _ in range(max_length):
        grown = []
        for words, total in beam:
            if words[-1] == end:
                grown.append((words, total))
            else:
                values = next_log_probabilities(torch.tensor([words]))[0].tolist()
                grown += [(words + [word], total + value) for word, value in enumerate(values)]
        beam = sorted(grown, key=lambda pair: pair[1], reverse=True)[:width]
    words, total = beam[0]
    words = words[len(prompt) :]
    return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(total)


def beam_search__right_tensors(next_log_probabilities, prompt, end, width, max_length):
    """Right: by tensors, in which an ended candidate has a single extension, by the end at no cost."""
    rows = prompt[None].clone()
    totals = torch.zeros(1)
    ended = torch.zeros(1, dtype=torch.bool)
    for _ in range(max_length):
        values = next_log_probabilities(rows).clone()
        vocab = values.shape[1]
        nothing = torch.full_like(values, float("-inf"))
        nothing[:, end] = 0.0
        sums = (totals[:, None] + torch.where(ended[:, None], nothing, values)).flatten()
        possible = int((sums > float("-inf")).sum())
        totals, best = sums.topk(min(width, possible))
        word = best % vocab
        ended = ended[best // vocab] | (word == end)
        rows = torch.cat([rows[best // vocab], word[:, None].to(rows.dtype)], dim=1)
    return rows[0, len(prompt) :], totals[0]


def beam_search__right_heap(next_log_probabilities, prompt, end, width, max_length):
    """Right: by the greatest of all extensions from a heap, ended candidates among them."""
    beam = [(0.0, ())]
    for _ in range(max_length):
        going = [pair for pair in beam if end not in pair[1]]
        grown = [pair for pair in beam if end in pair[1]]
        if not going:
            break
        rows = torch.stack([torch.tensor(prompt.tolist() + list(words)) for _, words in going])
        for (total, words), values in zip(going, next_log_probabilities(rows).tolist()):
            grown.extend((total + value, (*words, word)) for word, value in enumerate(values))
        beam = heapq.nlargest(width, grown)
    total, words = max(beam)
    result = torch.full((max_length,), end)
    result[: len(words)] = torch.tensor(words)
    return result, torch.tensor(total)


def smooth_targets__wrong_other_words(targets, vocab_size, smoothing):
    """Distributes over the other words alone, the right one left out."""
    result = torch.full((*targets.shape, vocab_size), smoothing / (vocab_size - 1))
    return result.scatter(-1, targets[..., None], 1 - smoothing)


def smooth_targets__wrong_seen_words(targets, vocab_size, smoothing):
    """Lets one_hot guess the size of the vocabulary from the greatest target."""
    ones = torch.nn.functional.one_hot(targets).float()
    return (1 - smoothing) * ones + smoothing / vocab_size


def smoothed_losses__wrong_clamped(logits, targets, smoothing):
    """Clamps probabilities at 1e-9, so that logits far apart cost no more than about 21."""
    logs = logits.softmax(dim=-1).clamp(min=1e-9).log()
    right = logs.gather(-1, targets[..., None])[..., 0]
    return -(1 - smoothing) * right - smoothing * logs.mean(dim=-1)


def smoothed_losses__wrong_divergence(logits, targets, smoothing):
    """Gives the divergence from the target probabilities, which is the loss less their entropy."""
    vocab = logits.shape[-1]
    wanted = torch.full_like(logits, smoothing / vocab)
    wanted = wanted.scatter_add(-1, targets[..., None], torch.full_like(logits[..., :1], 1 - smoothing))
    return torch.nn.functional.kl_div(logits.log_softmax(-1), wanted, reduction="none").sum(-1)


def smoothed_losses__right_two_parts(logits, targets, smoothing):
    """Right: by the log-sum-exp less the target's logit and less the mean logit, in their shares."""
    total = torch.logsumexp(logits, dim=-1)
    right = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (1 - smoothing) * (total - right) + smoothing * (total - logits.mean(dim=-1))
