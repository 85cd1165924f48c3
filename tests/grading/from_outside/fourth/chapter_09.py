# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import math

import torch
from torch import nn

# ---------------------------------------------------------------- CrossAttention


class CrossAttention__wrong_mask_over_queries(nn.Module):
    """Gives the mask its axis at the end, so that rows are hidden and not columns (no error if time equals n)."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_memory, d_key)
        self.to_value = nn.Linear(d_memory, d_model)

    def forward(self, vectors, memory, present):
        query, key, value = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = query @ key.transpose(1, 2) / key.shape[-1] ** 0.5
        weights = scores.masked_fill(~present[:, :, None], float("-inf")).softmax(dim=-1)
        return weights @ value, weights


class CrossAttention__right_without_padding(nn.Module):
    """Right: goes through the sentences and attends to their words alone; the weights of padding stay at 0."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_memory, d_key)
        self.to_value = nn.Linear(d_memory, d_model)

    def forward(self, vectors, memory, present):
        outputs, all_weights = [], []
        for x, source, here in zip(vectors, memory, present):
            words = source[here]
            scores = self.to_query(x) @ self.to_key(words).T / math.sqrt(self.to_key.out_features)
            weights = torch.softmax(scores, dim=1)
            outputs.append(weights @ self.to_value(words))
            full = torch.zeros(len(x), len(source), dtype=weights.dtype)
            full[:, here] = weights
            all_weights.append(full)
        return torch.stack(outputs), torch.stack(all_weights)


# ---------------------------------------------------------------- shift_right


def shift_right__wrong_counts_from_words(targets, start, padding):
    """Asks the words that are read, not the targets, whether a step counts."""
    words = torch.cat([torch.full_like(targets[:, :1], start), targets[:, :-1]], dim=1)
    return words, words != padding


def shift_right__wrong_hides_the_end(targets, start, padding):
    """Reads padding at every step whose target is padding (as in the chapter's data), where here the end is read."""
    words = torch.cat([torch.full_like(targets[:, :1], start), targets[:, :-1]], dim=1)
    counts = targets != padding
    return words.masked_fill(~counts, padding), counts


def shift_right__wrong_shifts_the_caller(targets, start, padding):
    """Shifts the caller's tensor in place (the right answer comes out, but the targets are gone)."""
    counts = targets != padding
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start
    return targets, counts


def shift_right__right_roll(targets, start, padding):
    """Right: rolls the rows by one, which copies, and overwrites the first column."""
    words = torch.roll(targets, shifts=1, dims=1)
    words[:, 0] = start
    return words, ~targets.eq(padding)


# ---------------------------------------------------------------- loss_at_every_step


def loss_at_every_step__wrong_mean_over_everything(logits, targets, counts):
    """Divides by the number of all steps and not of those that count."""
    losses = -logits.log_softmax(dim=-1).gather(-1, targets[..., None]).squeeze(-1)
    losses = losses * counts
    return losses.mean(), losses


def loss_at_every_step__wrong_log_of_softmax(logits, targets, counts):
    """Takes the logarithm of the softmax, which is minus infinity where logits are a thousand apart."""
    probabilities = torch.softmax(logits, dim=-1)
    right = probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    losses = torch.where(counts, -right.log(), 0.0)
    return losses.sum() / counts.sum(), losses


def loss_at_every_step__right_shifted_exponentials(logits, targets, counts):
    """Right: logarithm of the sum of exponentials after subtracting the greatest logit, one-hot choice by comparison."""
    shifted = logits - logits.amax(dim=-1, keepdim=True).detach()
    normaliser = torch.log(torch.exp(shifted).sum(dim=-1))
    chosen = targets[..., None] == torch.arange(logits.shape[-1])
    right = torch.where(chosen, shifted, 0.0).sum(dim=-1)
    losses = (normaliser - right).masked_fill(~counts, 0.0)
    return losses[counts].mean(), losses


# ---------------------------------------------------------------- hides_the_future


def hides_the_future__wrong_last_word_only(model, source, words):
    """Changes the last word alone, so that an influence of any other later word is not found."""
    before = model(source, words)
    changed = words.clone()
    changed[:, -1] = 1 + words[:, -1] % (before.shape[-1] - 1)
    after = model(source, changed)
    gap = (after[:, :-1] - before[:, :-1]).abs()
    return bool((gap <= 1e-4).all())


def hides_the_future__wrong_compares_the_own_step(model, source, words):
    """Compares the step of the changed word too, at which a right model may well change."""
    before = model(source, words)
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, t:] = 1 + words[:, t:] % (before.shape[-1] - 1)
        after = model(source, changed)
        if (after[:, : t + 1] - before[:, : t + 1]).abs().max() > 1e-4:
            return False
    return True


def hides_the_future__right_one_word_at_a_time(model, source, words):
    """Right: replaces each word of each sentence by itself, by every other word, and looks at all steps before it."""
    before = model(source, words)
    batch, time = words.shape
    for sentence in range(batch):
        for t in range(1, time):
            for other in range(1, before.shape[-1]):
                if other == words[sentence, t]:
                    continue
                changed = words.clone()
                changed[sentence, t] = other
                after = model(source, changed)
                if torch.any((after[:, :t] - before[:, :t]).abs() > 1e-4):
                    return False
    return True


# ---------------------------------------------------------------- reads_the_source


def reads_the_source__wrong_any_sentence(model, source, words):
    """Looks for a change anywhere in the batch, so a model that reads the source of another sentence passes."""
    before = model(source, words)
    for sentence, position in source.nonzero().tolist():
        changed = source.clone()
        changed[sentence, position] = 1 + source[sentence, position] % (before.shape[-1] - 1)
        if (model(changed, words) - before).abs().max() <= 1e-4:
            return False
    return True


def reads_the_source__wrong_at_every_step(model, source, words):
    """Demands a change at every step, although one at some step is enough."""
    before = model(source, words)
    for sentence, position in source.nonzero().tolist():
        changed = source.clone()
        changed[sentence, position] = 1 + source[sentence, position] % (before.shape[-1] - 1)
        gap = (model(changed, words) - before)[sentence].abs().amax(dim=-1)
        if not (gap > 1e-4).all():
            return False
    return True


def reads_the_source__wrong_padding_for_a_word(model, source, words):
    """Replaces a word by 0, which is padding and not another word, so a model that reads only the length passes."""
    before = model(source, words)
    for sentence, position in source.nonzero().tolist():
        changed = source.clone()
        changed[sentence, position] = 0
        if (model(changed, words) - before)[sentence].abs().max() <= 1e-4:
            return False
    return True


def reads_the_source__right_nested_all_any(model, source, words):
    """Right: all over sentences and positions with a word, any over the logits of that sentence."""
    before = model(source, words)
    last = before.shape[-1] - 1

    def has_influence(sentence, position):
        changed = source.clone()
        old = int(source[sentence, position])
        changed[sentence, position] = old - 1 if old > 1 else last
        after = model(changed, words)
        return torch.dist(after[sentence], before[sentence], p=float("inf")).item() > 1e-4

    return all(
        has_influence(sentence, position)
        for sentence in range(source.shape[0])
        for position in range(source.shape[1])
        if source[sentence, position] != 0
    )


# ---------------------------------------------------------------- ignores_the_padding


def ignores_the_padding__wrong_in_front(model, source, words):
    """Adds the padding in front of the source, which moves the words of a right model too."""
    more = torch.nn.functional.pad(source, (2, 0))
    gap = (model(more, words) - model(source, words)).abs().max()
    return bool(gap <= 1e-4)


def ignores_the_padding__wrong_exact(model, source, words):
    """Compares exactly, so that a different rounding counts as an influence."""
    more = torch.nn.functional.pad(source, (0, 2))
    return torch.equal(model(more, words), model(source, words))


def ignores_the_padding__wrong_cuts_padding(model, source, words):
    """Cuts off columns that hold nothing but padding, of which there is none since the first source is full."""
    longest = int((source > 0).sum(dim=1).max())
    shorter = source[:, :longest]
    gap = (model(shorter, words) - model(source, words)).abs().max()
    return bool(gap <= 1e-4)


def ignores_the_padding__right_several_amounts(model, source, words):
    """Right: adds one, two and five columns of zeros and compares every logit with an absolute tolerance."""
    before = model(source, words)
    for columns in (1, 2, 5):
        more = torch.hstack([source, source.new_zeros(source.shape[0], columns)])
        if not torch.allclose(model(more, words), before, rtol=0.0, atol=1e-4):
            return False
    return True


# ---------------------------------------------------------------- beam_search


def beam_search__wrong_finished_aside(next_log_probabilities, prompt, end, width, max_length):
    """Puts ended candidates aside where they can never be dropped, and takes the best of all at the end."""
    alive, finished = [([], 0.0)], []
    for _ in range(max_length):
        extensions = []
        for words, total in alive:
            rows = torch.cat([prompt, prompt.new_tensor(words)])[None]
            for word, log_probability in enumerate(next_log_probabilities(rows)[0].tolist()):
                extensions.append((words + [word], total + log_probability))
        extensions.sort(key=lambda pair: pair[1], reverse=True)
        alive = []
        for pair in extensions[:width]:
            (finished if pair[0][-1] == end else alive).append(pair)
        if not alive:
            break
    words, total = max(finished + alive, key=lambda pair: pair[1])
    return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(total)


def beam_search__wrong_width_per_candidate(next_log_probabilities, prompt, end, width, max_length):
    """Keeps the width best extensions of each candidate and not the width best of all."""
    beam = [([], 0.0)]
    for _ in range(max_length):
        new = []
        for words, total in beam:
            if words and words[-1] == end:
                new.append((words, total))
                continue
            rows = torch.cat([prompt, prompt.new_tensor(words)])[None]
            log_probabilities = next_log_probabilities(rows)[0]
            best = log_probabilities.topk(min(width, len(log_probabilities)))
            for value, word in zip(best.values.tolist(), best.indices.tolist()):
                new.append((words + [word], total + value))
        beam = new
    words, total = max(beam, key=lambda pair: pair[1])
    return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(total)


def beam_search__wrong_end_in_prompt(next_log_probabilities, prompt, end, width, max_length):
    """Looks at the last word of the whole row, so that a prompt that closes with the end stops the search at once."""
    beam = [(prompt.tolist(), 0.0)]
    for _ in range(max_length):
        extensions = []
        for row, total in beam:
            if row[-1] == end:
                extensions.append((row, total))
            else:
                log_probabilities = next_log_probabilities(torch.tensor([row]))[0].tolist()
                extensions += [(row + [word], total + value) for word, value in enumerate(log_probabilities)]
        beam = sorted(extensions, key=lambda pair: pair[1], reverse=True)[:width]
    row, total = beam[0]
    words = row[len(prompt) :]
    return torch.tensor(words + [end] * (max_length - len(words)), dtype=torch.int64), torch.tensor(total)


def beam_search__wrong_fills_with_zero(next_log_probabilities, prompt, end, width, max_length):
    """Fills the answer up with 0, although the end is not always 0."""
    beam = [([], 0.0)]
    for _ in range(max_length):
        extensions = []
        for words, total in beam:
            if words and words[-1] == end:
                extensions.append((words, total))
                continue
            rows = torch.cat([prompt, prompt.new_tensor(words)])[None]
            for word, value in enumerate(next_log_probabilities(rows)[0].tolist()):
                extensions.append((words + [word], total + value))
        beam = sorted(extensions, key=lambda pair: pair[1], reverse=True)[:width]
    words, total = beam[0]
    answer = torch.zeros(max_length, dtype=torch.int64)
    answer[: len(words)] = torch.tensor(words)
    return answer, torch.tensor(total)


def beam_search__right_tensors(next_log_probabilities, prompt, end, width, max_length):
    """Right: all candidates in one tensor; ended ones have a single extension, by the end, that costs nothing."""
    words = prompt.new_zeros(1, 0)
    totals = torch.zeros(1)
    ended = torch.zeros(1, dtype=torch.bool)
    for _ in range(max_length):
        rows = torch.cat([prompt.expand(len(words), -1), words], dim=1)
        following = next_log_probabilities(rows)
        free = torch.full_like(following, -math.inf)
        free[:, end] = 0.0
        scores = totals[:, None] + torch.where(ended[:, None], free, following)
        vocab = scores.shape[1]
        keep = min(width, int(scores.isfinite().sum()))
        totals, index = scores.flatten().topk(keep)
        parent, word = index // vocab, index % vocab
        words = torch.cat([words[parent], word[:, None].to(words.dtype)], dim=1)
        ended = ended[parent] | (word == end)
        if ended.all():
            break
    best = totals.argmax()
    answer = prompt.new_full((max_length,), end)
    answer[: words.shape[1]] = words[best]
    return answer, totals[best]


# ---------------------------------------------------------------- smooth_targets


def smooth_targets__wrong_over_the_others(targets, vocab_size, smoothing):
    """Distributes the smoothing over the V - 1 other words, the right one not included."""
    result = torch.full((*targets.shape, vocab_size), smoothing / (vocab_size - 1))
    return result.scatter(-1, targets[..., None], 1 - smoothing)


def smooth_targets__wrong_size_from_targets(targets, vocab_size, smoothing):
    """Lets one_hot guess the size of the vocabulary from the greatest target."""
    ones = torch.nn.functional.one_hot(targets).float()
    return (1 - smoothing) * ones + smoothing / vocab_size


def smooth_targets__right_scatter_add(targets, vocab_size, smoothing):
    """Right: smoothing / V everywhere, and 1 - smoothing added at the right word with scatter_add."""
    result = torch.full((*targets.shape, vocab_size), smoothing / vocab_size, dtype=torch.float32)
    more = torch.full((*targets.shape, 1), 1 - smoothing, dtype=torch.float32)
    return result.scatter_add(-1, targets.unsqueeze(-1), more)


# ---------------------------------------------------------------- smoothed_losses


def smoothed_losses__wrong_kl_divergence(logits, targets, smoothing):
    """Computes the Kullback-Leibler divergence, which lacks the entropy of the target probabilities."""
    vocab_size = logits.shape[-1]
    q = torch.nn.functional.one_hot(targets, vocab_size) * (1 - smoothing) + smoothing / vocab_size
    log_p = logits.log_softmax(dim=-1)
    return torch.nn.functional.kl_div(log_p, q, reduction="none").sum(dim=-1)


def smoothed_losses__wrong_sum_not_mean(logits, targets, smoothing):
    """Weights the log probability of every word with the whole smoothing and not a V-th of it."""
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, targets[..., None]).squeeze(-1)
    return -(1 - smoothing) * right - smoothing * log_p.sum(dim=-1)


def smoothed_losses__right_two_terms(logits, targets, smoothing):
    """Right: a mixture of the loss of the right word and the mean loss of all words."""
    surprise = -torch.log_softmax(logits, dim=-1)
    right = torch.take_along_dim(surprise, targets[..., None], dim=-1)[..., 0]
    return torch.lerp(right, surprise.mean(dim=-1), smoothing)
