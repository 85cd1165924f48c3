# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch
import torch.nn.functional as F
from torch import nn


class CrossAttention__wrong_root_of_d_model(nn.Module):
    """The scores are divided by the root of d_model and not of d_key; in the example both are 1."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_memory, d_key)
        self.to_value = nn.Linear(d_memory, d_model)

    def forward(self, vectors, memory, present):
        query, key, value = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = query @ key.mT / vectors.shape[-1] ** 0.5
        scores = scores.masked_fill(~present[:, None, :], float("-inf"))
        weights = scores.softmax(dim=-1)
        return weights @ value, weights


class CrossAttention__wrong_mask_after_softmax(nn.Module):
    """The padding is removed after the softmax, and the rows are divided by their sums, 0 / 0 where the padding's vectors are large."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        self.d_key = d_key
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_memory, d_key)
        self.to_value = nn.Linear(d_memory, d_model)

    def forward(self, vectors, memory, present):
        query, key, value = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        weights = (query @ key.mT / self.d_key**0.5).softmax(dim=-1)
        weights = weights * present.unsqueeze(1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights @ value, weights


class CrossAttention__right_key_first(nn.Module):
    """The transposed scores, (batch, n, time), and a softmax along their first axis; both results are turned at the end."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        for name, wide, narrow in (("query", d_model, d_key), ("key", d_memory, d_key), ("value", d_memory, d_model)):
            self.add_module("to_" + name, nn.Linear(wide, narrow))
        self.scale = d_key**-0.5

    def forward(self, vectors, memory, present):
        scores = self.to_key(memory) @ (self.to_query(vectors) * self.scale).transpose(1, 2)
        columns = torch.where(present[..., None], scores, -torch.inf).softmax(1)
        return torch.einsum("bnt,bnd->btd", columns, self.to_value(memory)), columns.transpose(1, 2)


def shift_right__wrong_in_place(targets, start, padding):
    """The words are written into the caller's targets."""
    counts = targets != padding
    words = targets
    words[:, 1:] = targets[:, :-1].clone()
    words[:, 0] = start
    return words, counts


def shift_right__wrong_counts_as_integers(targets, start, padding):
    """The steps that count are ones and zeros and not booleans, so that ~counts and an index by counts do something else."""
    words = torch.cat([torch.full_like(targets[:, :1], start), targets[:, :-1]], dim=1)
    return words, (targets != padding).long()


def loss_at_every_step__wrong_log_of_softmax(logits, targets, counts):
    """The logarithm of the softmax is minus infinity where logits are a thousand apart, and times 0 at padding it is nan."""
    p = logits.softmax(dim=-1).gather(-1, targets[..., None])[..., 0]
    losses = -torch.log(p) * counts
    return losses.sum() / counts.sum(), losses


def loss_at_every_step__wrong_zeros_do_not_count(logits, targets, counts):
    """The mean is taken over the losses that are not 0, and a step that counts may have the loss 0."""
    log_p = logits.log_softmax(dim=-1).gather(-1, targets[..., None]).squeeze(-1)
    losses = torch.where(counts, -log_p, 0.0)
    return losses[losses != 0].mean(), losses


def loss_at_every_step__right_only_steps_that_count(logits, targets, counts):
    """The steps that count are picked out into one list, and their losses are put back into zeros."""
    u, y = logits[counts], targets[counts]
    found = torch.logsumexp(u - u[torch.arange(len(y)), y, None], dim=-1)
    losses = torch.zeros(counts.shape, dtype=logits.dtype).masked_scatter(counts, found)
    return found.mean(), losses


def hides_the_future__wrong_last_word_only(model, source, words):
    """Only the last word is changed, so that a look at any other later word is not found."""
    logits = model(source, words)
    changed = words.clone()
    changed[:, -1] = changed[:, -1] % (logits.shape[-1] - 1) + 1
    return bool((model(source, changed) - logits)[:, :-1].abs().le(1e-4).all())


def hides_the_future__wrong_first_sentence_only(model, source, words):
    """Every word is tried, but only the logits of the first sentence are compared."""
    logits = model(source, words)
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, t] = changed[:, t] % (logits.shape[-1] - 1) + 1
        new = model(source, changed)
        if (new[0, :t] - logits[0, :t]).abs().max() > 1e-4:
            return False
    return True


def reads_the_source__wrong_all_words_at_once(model, source, words):
    """All words of a sentence are changed together, so that a model that reads the first alone is accepted."""
    logits = model(source, words)
    vocab = logits.shape[-1]
    for b in range(len(source)):
        changed = source.clone()
        changed[b] = torch.where(source[b] > 0, source[b] % (vocab - 1) + 1, 0)
        if (model(changed, words)[b] - logits[b]).abs().max() <= 1e-4:
            return False
    return True


def reads_the_source__wrong_all_sentences_at_once(model, source, words):
    """A column is changed in all sentences at once, so that a model that gives each sentence the source of another is accepted."""
    logits = model(source, words)
    vocab = logits.shape[-1]
    for j in range(source.shape[1]):
        present = source[:, j] != 0
        changed = source.clone()
        changed[present, j] = source[present, j] % (vocab - 1) + 1
        difference = (model(changed, words) - logits).abs().amax(dim=(1, 2))
        if not (difference[present] > 1e-4).all():
            return False
    return True


def reads_the_source__right_list_of_words(model, source, words):
    """A list of the places of all words, one change for each, and all() over it; the replacement counts down and not up."""
    logits = model(source, words)
    top = logits.shape[-1] - 1

    def seen(b, j):
        other = source.clone()
        other[b, j] = other[b, j] - 1 if other[b, j] > 1 else top
        return (model(other, words)[b] - logits[b]).abs().max().item() > 1e-4

    return all(seen(b, j) for b, j in source.nonzero().tolist())


def ignores_the_padding__wrong_no_rounding_allowed(model, source, words):
    """The logits have to be equal to the last bit, so that a model that only rounds differently is refused."""
    more = torch.cat([source, torch.zeros_like(source)], dim=1)
    return torch.equal(model(source, words), model(more, words))


def ignores_the_padding__wrong_best_word_only(model, source, words):
    """Only the most probable words are compared, and a logit may change without changing the best word."""
    more = F.pad(source, (0, 3))
    return bool((model(source, words).argmax(-1) == model(more, words).argmax(-1)).all())


def beam_search__wrong_filled_with_zeros(next_log_probabilities, prompt, end, width, max_length):
    """The words are filled up with 0 and not with the end, which is not always 0."""
    candidates = [([], 0.0, False)]
    for _ in range(max_length):
        new = []
        for words, lp, ended in candidates:
            if ended:
                new.append((words, lp, True))
                continue
            row = torch.cat([prompt, torch.tensor(words, dtype=prompt.dtype)])[None]
            for w, p in enumerate(next_log_probabilities(row)[0].tolist()):
                new.append((words + [w], lp + p, w == end))
        candidates = sorted(new, key=lambda c: -c[1])[:width]
        if all(c[2] for c in candidates):
            break
    words, lp, _ = candidates[0]
    answer = torch.zeros(max_length, dtype=torch.long)
    answer[: len(words)] = torch.tensor(words)
    return answer, torch.tensor(lp)


def beam_search__wrong_ended_set_aside(next_log_probabilities, prompt, end, width, max_length):
    """Candidates that have ended go to a list of their own and no longer compete for the places of the beam."""
    live, finished = [([], 0.0)], []
    for _ in range(max_length):
        new = []
        for words, lp in live:
            row = torch.cat([prompt, torch.tensor(words, dtype=prompt.dtype)])[None]
            for w, p in enumerate(next_log_probabilities(row)[0].tolist()):
                if w == end:
                    finished.append((words + [w], lp + p))
                else:
                    new.append((words + [w], lp + p))
        live = sorted(new, key=lambda c: -c[1])[:width]
        if not live:
            break
    words, lp = max(finished + live, key=lambda c: c[1])
    return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(lp)


def beam_search__right_padded_tensors(next_log_probabilities, prompt, end, width, max_length):
    """A beam of tensors: an ended row may go on with its end alone, at the log probability 0, and everything else is minus infinity."""
    beam = torch.empty(1, 0, dtype=torch.long)
    total = torch.zeros(1)
    done = torch.zeros(1, dtype=torch.bool)
    for _ in range(max_length):
        rows = torch.cat([prompt.long().expand(len(beam), -1), beam], dim=1)
        step = next_log_probabilities(rows).clone()
        vocab = step.shape[1]
        step[done] = -torch.inf
        step[done, end] = 0.0
        every = (total[:, None] + step).flatten()
        possible = int((every > -torch.inf).sum())
        total, index = every.topk(min(width, possible))
        word = index % vocab
        beam = torch.cat([beam[index // vocab], word[:, None]], dim=1)
        done = word == end
    return beam[0], total[0]


def smooth_targets__wrong_whole_batch(targets, vocab_size, smoothing):
    """The index says [:, step, target], which marks the target of one sentence in all sentences."""
    batch, time = targets.shape
    q = torch.full((batch, time, vocab_size), smoothing / vocab_size)
    q[:, torch.arange(time), targets] = 1 - smoothing + smoothing / vocab_size
    return q


def smooth_targets__wrong_three_others(targets, vocab_size, smoothing):
    """The right word gets what three other words leave, and there are three others only in a vocabulary of four."""
    other = smoothing / vocab_size
    one_hot = F.one_hot(targets, vocab_size).bool()
    return torch.where(one_hot, 1 - 3 * other, other)


def smoothed_losses__wrong_clamped(logits, targets, smoothing):
    """Probabilities are kept above 1e-12 before the logarithm: finite, and wrong where logits are a thousand apart."""
    vocab = logits.shape[-1]
    q = (1 - smoothing) * F.one_hot(targets, vocab) + smoothing / vocab
    log_p = logits.softmax(dim=-1).clamp(min=1e-12).log()
    return -(q * log_p).sum(dim=-1)


def smoothed_losses__wrong_time_for_vocab(logits, targets, smoothing):
    """The smoothing is divided by the number of steps, shape[1], and not by the size of the vocabulary; in the example both are 2."""
    size = logits.shape[1]
    q = (1 - smoothing) * F.one_hot(targets, logits.shape[-1]) + smoothing / size
    return -(q * logits.log_softmax(dim=-1)).sum(dim=-1)


def smoothed_losses__right_margins(logits, targets, smoothing):
    """With all logits measured from the target's, the loss is their logsumexp minus the smoothing times their mean."""
    margins = logits - logits.gather(2, targets.unsqueeze(2))
    return margins.logsumexp(2) - smoothing * margins.mean(2)
