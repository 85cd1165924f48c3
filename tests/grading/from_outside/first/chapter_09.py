# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import heapq
import math

import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from torch import nn

# ---------------------------------------------------------------- CrossAttention


class _Layers(nn.Module):
    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_memory, d_key)
        self.to_value = nn.Linear(d_memory, d_model)


class CrossAttention__right_sentence_by_sentence(_Layers):
    def forward(self, vectors, memory, present):
        outputs, weights = [], []
        for x, m, p in zip(vectors, memory, present):
            where = p.nonzero()[:, 0]
            words = m[where]  # only the real words exist from here on
            q, k, v = self.to_query(x), self.to_key(words), self.to_value(words)
            scores = einsum(q, k, "t c, n c -> t n") / math.sqrt(q.shape[1])
            a = torch.exp(scores - torch.logsumexp(scores, dim=1, keepdim=True))
            outputs.append(a @ v)
            weights.append(x.new_zeros(len(x), len(m)).index_add(1, where, a))
        return torch.stack(outputs), torch.stack(weights)


class CrossAttention__wrong_no_scale(_Layers):
    """The scores are not divided by the root of d_key."""

    def forward(self, vectors, memory, present):
        q, k, v = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = q @ k.transpose(1, 2)
        scores = scores.masked_fill(~present[:, None, :], float("-inf"))
        w = scores.softmax(dim=-1)
        return w @ v, w


class CrossAttention__wrong_scaled_by_d_model(_Layers):
    """The scores are divided by the root of d_model, but the queries and keys have d_key numbers."""

    def forward(self, vectors, memory, present):
        q, k, v = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = einsum(q, k, "b t k, b n k -> b t n") / math.sqrt(vectors.shape[-1])
        scores = scores.masked_fill(~rearrange(present, "b n -> b 1 n"), -torch.inf)
        w = torch.softmax(scores, dim=-1)
        return einsum(w, v, "b t n, b n d -> b t d"), w


class CrossAttention__wrong_masked_after_softmax(_Layers):
    """The mask comes after the softmax, so the weights that are left do not sum to one."""

    def forward(self, vectors, memory, present):
        q, k, v = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        w = F.softmax(scores, dim=-1)
        w = w * present[:, None, :]
        return w @ v, w


class CrossAttention__wrong_mask_adds_a_small_number(_Layers):
    """Only -100 is added to the scores of padding, and large vectors there still get a weight."""

    def forward(self, vectors, memory, present):
        q, k, v = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = q @ k.mT / k.shape[-1] ** 0.5
        scores = scores + (~present).float()[:, None, :] * -100
        w = F.softmax(scores, dim=-1)
        return w @ v, w


class CrossAttention__wrong_scores_times_mask(_Layers):
    """The scores at padding become 0, which still has the exponential 1; they must become minus infinity."""

    def forward(self, vectors, memory, present):
        q, k, v = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = torch.bmm(q, k.transpose(1, 2)) / k.shape[-1] ** 0.5
        scores = scores * present.unsqueeze(1)
        w = F.softmax(scores, dim=-1)
        return torch.bmm(w, v), w


class CrossAttention__wrong_weights_first(_Layers):
    """The weights are returned first, but the statement wants the output first."""

    def forward(self, vectors, memory, present):
        q, k, v = self.to_query(vectors), self.to_key(memory), self.to_value(memory)
        scores = (q @ k.transpose(-2, -1)) / k.size(-1) ** 0.5
        scores[~present[:, None, :].expand_as(scores)] = float("-inf")
        w = scores.softmax(-1)
        return w, w @ v


# ---------------------------------------------------------------- shift_right


def shift_right__right_by_python_lists(targets, start, padding):
    rows = targets.tolist()
    words = [([start] + row)[: len(row)] for row in rows]
    counts = [[word != padding for word in row] for row in rows]
    return (
        torch.tensor(words, dtype=targets.dtype).reshape(targets.shape),
        torch.tensor(counts, dtype=torch.bool).reshape(targets.shape),
    )


def shift_right__wrong_counts_from_read_words(targets, start, padding):
    """What counts is asked of the words that are read, but the target decides whether a step has something to learn."""
    column = torch.full_like(targets[:, :1], start)
    words = torch.cat([column, targets[:, :-1]], dim=1)
    return words, words != padding


def shift_right__wrong_shifted_left(targets, start, padding):
    """The targets are shifted to the left, so each step reads the target after its own."""
    words = torch.roll(targets, -1, dims=1)
    words[:, 0] = start
    return words, targets != padding


def shift_right__wrong_rolled_along_the_batch(targets, start, padding):
    """Roll without dims works on the flattened tensor, and start is written in the first row only."""
    words = torch.roll(targets, 1)
    words[0, 0] = start
    return words, targets.ne(padding)


def shift_right__wrong_padding_is_zero(targets, start, padding):
    """The padding is taken for 0 and the argument is not used."""
    words = torch.cat((torch.ones_like(targets[:, :1]) * start, targets[:, :-1]), 1)
    return words, targets > 0


def shift_right__wrong_targets_overwritten(targets, start, padding):
    """The shift is written into the caller's targets."""
    counts = targets != padding
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start
    return targets, counts


def shift_right__wrong_start_in_front_only(targets, start, padding):
    """Start replaces the first word, and the other words are not moved, so each step reads its own target."""
    words = targets.clone()
    words[:, 0] = start
    return words, targets != padding


# ---------------------------------------------------------------- loss_at_every_step


def loss_at_every_step__right_step_by_step(logits, targets, counts):
    batch, time = targets.shape
    zero = logits.new_zeros(())
    rows = []
    for b in range(batch):
        row = []
        for t in range(time):
            u = logits[b, t]
            row.append(u.logsumexp(0) - u[targets[b, t]] if bool(counts[b, t]) else zero)
        rows.append(torch.stack(row))
    losses = torch.stack(rows)
    return losses.sum() / int(counts.sum()), losses


def loss_at_every_step__wrong_mean_over_all_steps(logits, targets, counts):
    """The mean divides by all steps, also those of padding."""
    logp = logits.log_softmax(dim=-1)
    losses = -logp.gather(-1, targets[..., None])[..., 0]
    losses = losses.masked_fill(~counts, 0)
    return losses.mean(), losses


def loss_at_every_step__wrong_mean_of_sentence_means(logits, targets, counts):
    """First each sentence is averaged and then the sentences, so words of short sentences count more."""
    logp = logits.log_softmax(dim=-1)
    losses = -logp.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    losses = torch.where(counts, losses, torch.zeros_like(losses))
    per_sentence = losses.sum(dim=1) / counts.sum(dim=1)
    return per_sentence.mean(), losses


def loss_at_every_step__wrong_log_of_softmax(logits, targets, counts):
    """The log of a softmax that has become 0 is minus infinity, where logits are a thousand apart."""
    p = logits.softmax(dim=-1)
    p = torch.gather(p, 2, targets[:, :, None])[:, :, 0]
    losses = -torch.log(p)
    losses = losses.masked_fill(~counts, 0.0)
    return losses.sum() / counts.sum(), losses


def loss_at_every_step__wrong_softmax_over_time(logits, targets, counts):
    """The softmax runs over the steps, and not over the vocabulary."""
    logp = logits.log_softmax(dim=1)
    losses = -logp.gather(-1, targets[..., None]).squeeze(-1) * counts
    return losses.sum() / counts.sum(), losses


def loss_at_every_step__wrong_losses_not_masked(logits, targets, counts):
    """The mean is right, but the returned losses are not 0 where a step does not count."""
    one_hot = F.one_hot(targets, logits.shape[-1])
    losses = -(logits.log_softmax(-1) * one_hot).sum(-1)
    return losses[counts].mean(), losses


def loss_at_every_step__wrong_bare_squeeze(logits, targets, counts):
    """A bare squeeze removes also a batch or a time of size one."""
    losses = -logits.log_softmax(dim=-1).gather(-1, targets[..., None]).squeeze()
    losses = losses * counts
    return losses.sum() / counts.sum(), losses


# ---------------------------------------------------------------- hides_the_future


def hides_the_future__right_every_word_at_every_position(model, source, words):
    before = model(source, words)
    vocab_size = before.shape[-1]
    for t in range(1, words.shape[1]):
        for shift in range(1, vocab_size - 1):
            column = (words[:, t] - 1 + shift) % (vocab_size - 1) + 1
            changed = torch.cat([words[:, :t], column[:, None], words[:, t + 1 :]], dim=1)
            after = model(source, changed)
            if any(gap > 0.0001 for gap in (after - before)[:, :t].abs().flatten().tolist()):
                return False
    return True


def hides_the_future__wrong_last_word_only(model, source, words):
    """Only the last word is replaced, so a step that sees an earlier word of the future is not found."""
    before = model(source, words)
    changed = words.clone()
    changed[:, -1] = 1 + changed[:, -1] % (before.shape[-1] - 1)
    after = model(source, changed)
    return bool((after - before)[:, :-1].abs().max() <= 0.0001)


def hides_the_future__wrong_own_step_compared(model, source, words):
    """The step of the replaced word itself is compared too, and it may depend on that word."""
    before = model(source, words)
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, t] = 1 + changed[:, t] % (before.shape[-1] - 1)
        gap = (model(source, changed) - before)[:, : t + 1].abs().max()
        if gap > 0.0001:
            return False
    return True


def hides_the_future__wrong_only_step_before(model, source, words):
    """Only the step directly before the replaced word is compared, not all the earlier steps."""
    before = model(source, words)
    V = before.shape[-1]
    ok = True
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, t] = 1 + words[:, t] % (V - 1)
        after = model(source, changed)
        ok = ok and (after[:, t - 1] - before[:, t - 1]).abs().max().item() <= 1e-4
    return ok


def hides_the_future__wrong_words_changed_in_place(model, source, words):
    """The caller's words are replaced in place and never restored."""
    before = model(source, words)
    for t in range(words.shape[1] - 1, 0, -1):
        words[:, t] = 1 + words[:, t] % (before.shape[-1] - 1)
        after = model(source, words)
        if (after[:, :t] - before[:, :t]).abs().max() > 1e-4:
            return False
    return True


def hides_the_future__wrong_sum_of_differences(model, source, words):
    """The differences are summed with their signs, so a logit that rises and one that falls cancel."""
    before = model(source, words)
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, t:] = 1 + changed[:, t:] % (before.shape[-1] - 1)
        if (model(source, changed) - before)[:, :t].sum().abs() > 1e-4:
            return False
    return True


def hides_the_future__wrong_tolerance_too_wide(model, source, words):
    """A difference of up to a tenth is called rounding; a real influence may be a hundredth."""
    before = model(source, words)
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, t:] = 1 + changed[:, t:] % (before.shape[-1] - 1)
        if not torch.allclose(model(source, changed)[:, :t], before[:, :t], rtol=0, atol=0.1):
            return False
    return True


# ---------------------------------------------------------------- reads_the_source


def reads_the_source__right_generator_over_words(model, source, words):
    before = model(source, words)
    last = before.shape[-1] - 1

    def influence(b, i):
        word = int(source[b, i])
        other = word - 1 if word > 1 else last
        index = (torch.tensor([b]), torch.tensor([i]))
        changed = source.index_put(index, torch.tensor([other], dtype=source.dtype))
        return float((model(changed, words)[b] - before[b]).abs().amax())

    return all(
        influence(b, i) > 0.0001
        for b in range(source.shape[0])
        for i in range(source.shape[1])
        if int(source[b, i]) != 0
    )


def reads_the_source__wrong_all_words_at_once(model, source, words):
    """All words are replaced at once, so a model that reads the first word alone passes."""
    before = model(source, words)
    changed = torch.where(source > 0, 1 + source % (before.shape[-1] - 1), source)
    after = model(changed, words)
    return bool(((after - before).abs().amax(dim=(1, 2)) > 1e-4).all())


def reads_the_source__wrong_any_word_is_enough(model, source, words):
    """It returns True as soon as one word has an influence; every word must have one."""
    before = model(source, words)
    for b, i in source.nonzero().tolist():
        changed = source.clone()
        changed[b, i] = 1 + changed[b, i] % (before.shape[-1] - 1)
        if (model(changed, words) - before)[b].abs().max() > 1e-4:
            return True
    return False


def reads_the_source__wrong_any_sentence_may_change(model, source, words):
    """A change in any sentence of the batch is accepted, so a model that reads the source of another passes."""
    before = model(source, words)
    for b, i in source.nonzero().tolist():
        changed = source.clone()
        changed[b, i] = 1 + changed[b, i] % (before.shape[-1] - 1)
        if (model(changed, words) - before).abs().max() <= 1e-4:
            return False
    return True


def reads_the_source__wrong_word_becomes_padding(model, source, words):
    """The word is replaced by padding and not by another word, so a model that reads only the length passes."""
    before = model(source, words)
    for b in range(source.shape[0]):
        for i in range(int((source[b] != 0).sum())):
            changed = source.clone()
            changed[b, i] = 0
            gap = (model(changed, words)[b] - before[b]).abs().max()
            if gap.item() <= 1e-4:
                return False
    return True


def reads_the_source__wrong_last_step_only(model, source, words):
    """Only the logits of the last step are compared, but an influence at any step is enough."""
    before = model(source, words)
    for b, i in source.nonzero().tolist():
        changed = source.clone()
        changed[b, i] = 1 + changed[b, i] % (before.shape[-1] - 1)
        after = model(changed, words)
        if (after[b, -1] - before[b, -1]).abs().max() <= 1e-4:
            return False
    return True


def reads_the_source__wrong_column_of_batch_together(model, source, words):
    """One position is replaced in all sentences together, and any change of any sentence is enough."""
    before = model(source, words)
    for i in range(source.shape[1]):
        changed = source.clone()
        changed[:, i] = torch.where(source[:, i] > 0, 1 + source[:, i] % (before.shape[-1] - 1), 0)
        if torch.allclose(model(changed, words), before, atol=1e-4, rtol=0):
            return False
    return True


# ---------------------------------------------------------------- ignores_the_padding


def ignores_the_padding__right_one_column_after_another(model, source, words):
    before = model(source, words)
    zeros = torch.zeros(source.shape[0], 1, dtype=source.dtype)

    def same(padded, columns):
        if columns == 0:
            return True
        padded = torch.hstack([padded, zeros])
        largest = max(map(abs, (model(padded, words) - before).flatten().tolist()))
        return largest <= 0.0001 and same(padded, columns - 1)

    return same(source, 4)


def ignores_the_padding__wrong_exact_equality(model, source, words):
    """The logits must be equal to the last bit, so a right model that rounds differently fails."""
    padded = F.pad(source, (0, 2))
    return torch.equal(model(padded, words), model(source, words))


def ignores_the_padding__wrong_padded_in_front(model, source, words):
    """The zeros are put in front of the source, so the words move to other positions."""
    padded = F.pad(source, (2, 0))
    return bool((model(padded, words) - model(source, words)).abs().max() <= 1e-4)


def ignores_the_padding__wrong_first_sentence_only(model, source, words):
    """Only the first sentence is compared, but the padding may count in another one."""
    padded = torch.cat([source, torch.zeros_like(source[:, :2])], dim=1)
    a = model(source, words)[0]
    b = model(padded, words)[0]
    return (a - b).abs().max().item() <= 1e-4


def ignores_the_padding__wrong_sum_of_differences(model, source, words):
    """Differences above and below zero cancel in the sum, where the largest absolute difference is needed."""
    padded = F.pad(source, (0, 3), value=0)
    difference = model(padded, words) - model(source, words)
    return abs(difference.mean().item()) <= 1e-4


def ignores_the_padding__wrong_last_column_cut_off(model, source, words):
    """The last column is removed to see whether it matters, but in the first sentence it holds a word."""
    shorter = source[:, :-1]
    return bool((model(shorter, words) - model(source, words)).abs().max() <= 1e-4)


def ignores_the_padding__wrong_pads_with_a_word(model, source, words):
    """The new columns hold the word 1 and not the padding 0."""
    more = torch.ones_like(source[:, :1]).repeat(1, 2)
    padded = torch.cat([source, more], dim=1)
    return bool(((model(padded, words) - model(source, words)).abs() < 1e-4).all())


# ---------------------------------------------------------------- beam_search


def beam_search__right_by_recursion_and_heap(next_log_probabilities, prompt, end, width, max_length):
    def ended(words):
        return len(words) > 0 and words[-1] == end

    def search(beam, left):
        if left == 0 or all(ended(words) for words, _ in beam):
            return max(beam, key=lambda pair: float(pair[1]))
        candidates = []
        for words, total in beam:
            if ended(words):
                candidates.append((words, total))
                continue
            row = torch.cat([prompt, torch.tensor(words, dtype=prompt.dtype)])
            logp = next_log_probabilities(row[None])[0]
            candidates.extend((words + (w,), total + logp[w].double()) for w in range(len(logp)))
        return search(heapq.nlargest(width, candidates, key=lambda pair: float(pair[1])), left - 1)

    words, total = search([((), torch.zeros((), dtype=torch.float64))], max_length)
    words = words + (end,) * (max_length - len(words))
    return torch.tensor(words, dtype=prompt.dtype), total.float()


def _search(next_log_probabilities, prompt, end, width, max_length, score=None):
    beams = [([], torch.tensor(0.0))]
    score = score or (lambda pair: pair[1])
    for _ in range(max_length):
        new = []
        for words, total in beams:
            if words and words[-1] == end:
                new.append((words, total))
                continue
            logp = next_log_probabilities(torch.tensor([prompt.tolist() + words]))[0]
            for w in range(len(logp)):
                new.append((words + [w], total + logp[w]))
        beams = sorted(new, key=score, reverse=True)[:width]
    words, total = beams[0]
    return torch.tensor(words + [end] * (max_length - len(words))), total


def beam_search__wrong_greedy(next_log_probabilities, prompt, end, width, max_length):
    """This is greedy decoding; the width is not used."""
    return _search(next_log_probabilities, prompt, end, 1, max_length)


def beam_search__wrong_length_normalised(next_log_probabilities, prompt, end, width, max_length):
    """Candidates are compared by their log probability divided by their length, which the statement does not ask."""
    return _search(next_log_probabilities, prompt, end, width, max_length, lambda pair: pair[1] / max(len(pair[0]), 1))


def beam_search__wrong_end_is_zero(next_log_probabilities, prompt, end, width, max_length):
    """The end is taken for the word 0, whatever the argument says."""
    return _search(next_log_probabilities, prompt, 0, width, max_length)


def beam_search__wrong_ended_are_put_aside(next_log_probabilities, prompt, end, width, max_length):
    """Ended candidates are put aside and do not compete for the places of the beam, so the beam is wider than asked."""
    beams = [([], torch.tensor(0.0))]
    finished = []
    for _ in range(max_length):
        new = []
        for words, total in beams:
            logp = next_log_probabilities(torch.cat([prompt, torch.tensor(words, dtype=torch.long)])[None])[0]
            for w, lp in enumerate(logp):
                if w == end:
                    finished.append((words + [w], total + lp))
                else:
                    new.append((words + [w], total + lp))
        beams = sorted(new, key=lambda b: b[1], reverse=True)[:width]
    words, total = max(finished + beams, key=lambda b: b[1])
    return torch.tensor(words + [end] * (max_length - len(words))), total


def beam_search__wrong_ended_are_extended(next_log_probabilities, prompt, end, width, max_length):
    """Ended candidates are extended by further words, which changes their words and their log probability."""
    words = torch.zeros(1, 0, dtype=torch.long)
    totals = torch.zeros(1)
    for _ in range(max_length):
        rows = torch.cat([prompt.expand(len(words), -1), words], dim=1)
        logp = next_log_probabilities(rows)
        scores = (totals[:, None] + logp).flatten()
        totals, index = scores.topk(min(width, len(scores)))
        parent, word = index // logp.shape[1], index % logp.shape[1]
        words = torch.cat([words[parent], word[:, None]], dim=1)
    return words[0], totals[0]


def beam_search__wrong_best_per_candidate(next_log_probabilities, prompt, end, width, max_length):
    """After the first step each candidate keeps only its own best word, so two extensions of one never survive."""
    beams = [([], torch.tensor(0.0))]
    for step in range(max_length):
        new = []
        for words, total in beams:
            if words and words[-1] == end:
                new.append((words, total))
                continue
            logp = next_log_probabilities(torch.tensor([prompt.tolist() + words]))[0]
            best, index = logp.topk(min(width, len(logp)) if step == 0 else 1)
            new += [(words + [int(i)], total + b) for b, i in zip(best, index)]
        beams = sorted(new, key=lambda b: b[1], reverse=True)[:width]
    words, total = beams[0]
    return torch.tensor(words + [end] * (max_length - len(words))), total


# ---------------------------------------------------------------- smooth_targets


def smooth_targets__right_by_comparison(targets, vocab_size, smoothing):
    spread = smoothing / vocab_size
    hit = targets[..., None] == torch.arange(vocab_size)
    return torch.where(hit, torch.tensor(1 - smoothing + spread), torch.tensor(float(spread)))


def smooth_targets__wrong_over_the_other_words(targets, vocab_size, smoothing):
    """The smoothing is distributed over the V - 1 other words, but the right word has its part of it too."""
    q = torch.full((*targets.shape, vocab_size), smoothing / (vocab_size - 1))
    return q.scatter(-1, targets.unsqueeze(-1), 1 - smoothing)


def smooth_targets__wrong_does_not_sum_to_one(targets, vocab_size, smoothing):
    """The right word has only 1 - smoothing and not its share of the smoothing, so the sum is below one."""
    q = torch.ones(targets.shape[0], targets.shape[1], vocab_size) * smoothing / vocab_size
    for b in range(targets.shape[0]):
        for t in range(targets.shape[1]):
            q[b, t, targets[b, t]] = 1 - smoothing
    return q


def smooth_targets__wrong_smoothing_exchanged(targets, vocab_size, smoothing):
    """smoothing and 1 - smoothing are exchanged."""
    return smoothing * F.one_hot(targets, vocab_size).float() + (1 - smoothing) / vocab_size


def smooth_targets__wrong_added_without_taking(targets, vocab_size, smoothing):
    """The share is added to every word but nothing is taken from the right one, so the sum is 1 + smoothing."""
    one_hot = torch.eye(vocab_size)[targets]
    return one_hot + smoothing / vocab_size


def smooth_targets__wrong_vocabulary_from_targets(targets, vocab_size, smoothing):
    """The vocabulary is as large as the largest target says, and not vocab_size."""
    one_hot = F.one_hot(targets).float()
    return (1 - smoothing) * one_hot + smoothing / vocab_size


# ---------------------------------------------------------------- smoothed_losses


def smoothed_losses__right_from_logits_in_float64(logits, targets, smoothing):
    u = logits.double()
    picked = torch.take_along_dim(u, targets.unsqueeze(-1), dim=-1).squeeze(-1)
    # sum q_k (lse - u_k) = (1 - e) (lse - u_y) + e (lse - mean u)
    lse = u.logsumexp(dim=-1)
    return ((1 - smoothing) * (lse - picked) + smoothing * (lse - u.mean(dim=-1))).to(logits.dtype)


def _smooth(targets, vocab_size, smoothing):
    return F.one_hot(targets, vocab_size).float() * (1 - smoothing) + smoothing / vocab_size


def smoothed_losses__wrong_mean_over_vocabulary(logits, targets, smoothing):
    """The mean over the vocabulary is taken where the sum is asked."""
    q = _smooth(targets, logits.shape[-1], smoothing)
    return -(q * logits.log_softmax(dim=-1)).mean(dim=-1)


def smoothed_losses__wrong_log_of_softmax(logits, targets, smoothing):
    """log(softmax) is minus infinity where logits are a thousand apart; log_softmax is needed."""
    q = _smooth(targets, logits.shape[-1], smoothing)
    p = torch.softmax(logits, dim=-1)
    return -einsum(q, torch.log(p), "b t v, b t v -> b t")


def smoothed_losses__wrong_one_number(logits, targets, smoothing):
    """The losses are averaged to one number; asked is one loss for each step."""
    q = _smooth(targets, logits.size(-1), smoothing)
    losses = -(q * F.log_softmax(logits, dim=-1)).sum(dim=-1)
    return losses.mean()


def smoothed_losses__wrong_kl_divergence(logits, targets, smoothing):
    """This is the KL divergence, which is smaller than the loss by the entropy of the targets."""
    q = _smooth(targets, logits.size(-1), smoothing)
    return F.kl_div(F.log_softmax(logits, dim=-1), q, reduction="none").sum(-1)


def smoothed_losses__wrong_logarithm_outside(logits, targets, smoothing):
    """This is the logarithm of the weighted mean of the probabilities, and not the mean of the logarithms."""
    q = _smooth(targets, logits.size(-1), smoothing)
    return torch.logsumexp(logits, -1) - torch.logsumexp(logits + q.log(), -1)


def smoothed_losses__wrong_smoothing_on_other_words_only(logits, targets, smoothing):
    """The right word has 1 - smoothing, and the others smoothing / V each: the weights do not sum to one."""
    logp = F.log_softmax(logits, dim=-1)
    right = logp.gather(-1, targets[..., None])[..., 0]
    others = logp.sum(-1) - right
    return -((1 - smoothing) * right + smoothing / logits.shape[-1] * others)
