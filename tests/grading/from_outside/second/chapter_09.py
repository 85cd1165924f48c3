# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B007, B905, E501

import math

import torch
from einops import einsum, rearrange
from torch import nn
from torch.nn import functional as F

# ---------------------------------------------------------------- 09.1 CrossAttention


class Layers(nn.Module):
    """The three layers, for most of the answers below."""

    def __init__(self, d_model, d_memory, d_key):
        super().__init__()
        self.d_model, self.d_key = d_model, d_key
        self.to_query = nn.Linear(d_model, d_key)
        self.to_key = nn.Linear(d_memory, d_key)
        self.to_value = nn.Linear(d_memory, d_model)


class CrossAttention__wrong_root_of_d_model(Layers):
    """The scores are divided by the root of d_model, the dot products are over d_key numbers."""

    def forward(self, vectors, memory, present):
        scores = self.to_query(vectors) @ self.to_key(memory).mT / self.d_model**0.5
        weights = scores.masked_fill(~present[:, None], -torch.inf).softmax(dim=-1)
        return weights @ self.to_value(memory), weights


class CrossAttention__wrong_masked_too_late(Layers):
    """The padding's weights are set to 0 after the softmax, so the others no longer sum to one."""

    def forward(self, vectors, memory, present):
        scores = self.to_query(vectors) @ self.to_key(memory).mT / self.d_key**0.5
        weights = scores.softmax(dim=-1).masked_fill(~present.unsqueeze(1), 0.0)
        return weights @ self.to_value(memory), weights


class CrossAttention__wrong_zero_score(Layers):
    """The padding gets the score 0, which the softmax turns into a weight above 0."""

    def forward(self, vectors, memory, present):
        scores = self.to_query(vectors) @ self.to_key(memory).mT / self.d_key**0.5
        weights = torch.softmax(scores * present[:, None, :], dim=-1)
        return weights @ self.to_value(memory), weights


class CrossAttention__wrong_added_ten_thousand(Layers):
    """Ten thousand is subtracted from the padding's scores (BERT's mask), and large vectors there bring more than that."""

    def forward(self, vectors, memory, present):
        scores = self.to_query(vectors) @ self.to_key(memory).mT / self.d_key**0.5
        scores = scores + (1.0 - present[:, None].to(scores.dtype)) * -10000.0
        weights = scores.softmax(dim=-1)
        return weights @ self.to_value(memory), weights


class CrossAttention__wrong_mask_of_the_first(Layers):
    """The padding of the first sentence is used for all sentences of the batch."""

    def forward(self, vectors, memory, present):
        scores = self.to_query(vectors) @ self.to_key(memory).mT / self.d_key**0.5
        weights = scores.masked_fill(~present[0], -torch.inf).softmax(dim=-1)
        return weights @ self.to_value(memory), weights


class CrossAttention__wrong_mask_on_the_queries(Layers):
    """The mask is laid over the rows, the target's positions, instead of the columns; with equal sizes nothing complains."""

    def forward(self, vectors, memory, present):
        scores = self.to_query(vectors) @ self.to_key(memory).mT / self.d_key**0.5
        weights = scores.masked_fill(~present[:, :, None], -1e30).softmax(dim=-1)
        return weights @ self.to_value(memory), weights


class CrossAttention__wrong_memory_frozen(Layers):
    """The memory is detached, so the encoder gets no gradient and never learns."""

    def forward(self, vectors, memory, present):
        memory = memory.detach() + 0 * memory
        scores = self.to_query(vectors) @ self.to_key(memory.detach()).mT / self.d_key**0.5
        weights = scores.masked_fill(~present[:, None], -torch.inf).softmax(dim=-1)
        return weights @ self.to_value(memory.detach()), weights


class CrossAttention__right_sentence_by_sentence(Layers):
    """Each sentence by itself: padding is cut out by boolean indexing, and the weights are written back with zeros."""

    def forward(self, vectors, memory, present):
        outputs, all_weights = [], []
        for x, m, here in zip(vectors, memory, present):
            words = m[here]
            scores = self.to_query(x) @ self.to_key(words).T * self.d_key**-0.5
            weights = (scores - scores.logsumexp(dim=1, keepdim=True)).exp()
            outputs.append(weights @ self.to_value(words))
            full = weights.new_zeros(len(x), len(m))
            columns = here.nonzero().flatten()
            all_weights.append(full.index_add(1, columns, weights))
        return torch.stack(outputs), torch.stack(all_weights)


# ---------------------------------------------------------------- 09.2 shift_right


def shift_right__wrong_counts_of_what_is_read(targets, start, padding):
    """Which steps count is decided by the word that is read and not by the target, one step too late."""
    read = torch.cat([torch.full_like(targets[:, :1], start), targets[:, :-1]], dim=1)
    counts = read != padding
    return read, counts


def shift_right__wrong_in_place(targets, start, padding):
    """The shift is done in the caller's own tensor."""
    counts = targets != padding
    targets[:, 1:] = targets[:, :-1].clone()
    targets[:, 0] = start
    return targets, counts


def shift_right__wrong_axis(targets, start, padding):
    """The shift goes along the batch: each sentence reads the targets of the sentence before."""
    first = torch.full_like(targets[:1], start)
    return torch.cat([first, targets[:-1]], dim=0), targets.ne(padding)


def shift_right__wrong_zero_is_padding(targets, start, padding):
    """Padding is taken for 0, whatever the argument says."""
    read = F.pad(targets[:, :-1], (1, 0), value=start)
    return read, targets > 0


def shift_right__wrong_length_by_argmax(targets, start, padding):
    """argmax of the padding is 0 in a row without any, so no step of the longest sentences counts."""
    read = F.pad(targets[:, :-1], (1, 0), value=start)
    lengths = (targets == padding).int().argmax(dim=1)
    return read, torch.arange(targets.shape[1]) < lengths[:, None]


def shift_right__wrong_end_not_counted(targets, start, padding):
    """The last step of each sentence, the one that predicts the end, is left out."""
    read = F.pad(targets[:, :-1], (1, 0), value=start)
    lengths = (targets != padding).sum(dim=1, keepdim=True)
    return read, torch.arange(targets.shape[1]) < lengths - 1


def shift_right__wrong_start_masked(targets, start, padding):
    """Steps that read start are compared as well, and where start and padding are the same integer the first step is lost."""
    read = F.pad(targets[:, :-1], (1, 0), value=start)
    return read, (targets != padding) & (read != padding)


def shift_right__right_lists(targets, start, padding):
    """Python lists: each row without its last word, behind the start."""
    rows = targets.tolist()
    read = [([start] + row)[: len(row)] for row in rows]
    counts = [[word != padding for word in row] for row in rows]
    return torch.tensor(read, dtype=targets.dtype), torch.tensor(counts, dtype=torch.bool)


def shift_right__right_gather(targets, start, padding):
    """gather with the index of the step before, and where for the first step."""
    steps = torch.arange(targets.shape[1]).expand_as(targets)
    before = targets.gather(1, (steps - 1).clamp(min=0))
    return torch.where(steps == 0, start, before), ~targets.eq(padding)


# ---------------------------------------------------------------- 09.2 loss_at_every_step


def loss_at_every_step__wrong_log_of_softmax(logits, targets, counts):
    """The logarithm of a softmax that has come out as 0 is minus infinity where logits are far apart."""
    p = logits.softmax(dim=-1).gather(-1, targets[..., None])[..., 0]
    losses = torch.where(counts, -p.log(), 0.0)
    return losses.sum() / counts.sum(), losses


def loss_at_every_step__wrong_small_number_in_log(logits, targets, counts):
    """The 1e-9 inside the logarithm bounds every loss by 20.7, and its gradient vanishes."""
    p = logits.softmax(dim=-1).gather(-1, targets[..., None])[..., 0]
    losses = -torch.log(p + 1e-9) * counts
    return losses.sum() / counts.sum(), losses


def loss_at_every_step__wrong_mean_of_sentences(logits, targets, counts):
    """First the mean of each sentence, then the mean of these: short sentences weigh too much."""
    logp = logits.log_softmax(dim=-1).gather(-1, targets[..., None])[..., 0]
    losses = torch.where(counts, -logp, 0.0)
    each = losses.sum(dim=1) / counts.sum(dim=1).clamp(min=1)
    return each[counts.any(dim=1)].mean(), losses


def loss_at_every_step__wrong_zero_losses_left_out(logits, targets, counts):
    """Steps are counted by whether their loss is not zero, and a step whose target is certain has the loss 0 too."""
    logp = logits.log_softmax(dim=-1).gather(-1, targets[..., None])[..., 0]
    losses = torch.where(counts, -logp, 0.0)
    return losses.sum() / (losses != 0).sum().clamp(min=1), losses


def loss_at_every_step__wrong_losses_at_padding(logits, targets, counts):
    """The mean is right, but the losses that are returned are not 0 where the step does not count."""
    losses = -logits.log_softmax(dim=-1).gather(-1, targets[..., None])[..., 0]
    return losses[counts].mean(), losses


def loss_at_every_step__wrong_forbidden_cross_entropy(logits, targets, counts):
    """The numbers are right, but cross_entropy of torch may not be used."""
    words = targets.masked_fill(~counts, -100)
    losses = F.cross_entropy(logits.transpose(1, 2), words, ignore_index=-100, reduction="none")
    return losses.sum() / counts.sum(), losses


def loss_at_every_step__right_only_what_counts(logits, targets, counts):
    """Boolean indexing takes out the steps that count, and the losses are put back into zeros."""
    rows, words = logits[counts], targets[counts]
    some = torch.logsumexp(rows, dim=1) - rows[torch.arange(len(words)), words]
    losses = logits.new_zeros(targets.shape).masked_scatter(counts, some)
    return some.mean(), losses


def loss_at_every_step__right_step_by_step(logits, targets, counts):
    """Two loops, a list of losses, and a sum of those that count."""
    table, total, number = [], 0.0, 0
    for b in range(targets.shape[0]):
        row = []
        for t in range(targets.shape[1]):
            if counts[b, t]:
                u = logits[b, t] - logits[b, t].max().detach()
                loss = u.exp().sum().log() - u[targets[b, t]]
                total, number = total + loss, number + 1
            else:
                loss = torch.zeros((), dtype=logits.dtype)
            row.append(loss)
        table.append(torch.stack(row))
    return total / number, torch.stack(table)


# ---------------------------------------------------------------- 09.3 hides_the_future


def hides_the_future__wrong_own_word(model, source, words):
    """The step of the changed word itself is compared too, but it may depend on the word it reads."""
    before = model(source, words)
    vocab = before.shape[-1]
    for t in range(words.shape[1]):
        changed = words.clone()
        changed[:, t] = changed[:, t] % (vocab - 1) + 1
        if (model(source, changed)[:, : t + 1] - before[:, : t + 1]).abs().max() > 1e-4:
            return False
    return True


def hides_the_future__wrong_last_word_only(model, source, words):
    """Only the last word is changed; a step may see a later word that is not the last."""
    before = model(source, words)
    changed = words.clone()
    changed[:, -1] = changed[:, -1] % (before.shape[-1] - 1) + 1
    difference = (model(source, changed) - before)[:, :-1].abs()
    return bool((difference <= 1e-4).all())


def hides_the_future__wrong_exact(model, source, words):
    """The logits are compared exactly, so mere rounding counts as seeing the future."""
    before = model(source, words)
    vocab = before.shape[-1]
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, t] = changed[:, t] % (vocab - 1) + 1
        if not torch.equal(model(source, changed)[:, :t], before[:, :t]):
            return False
    return True


def hides_the_future__wrong_tolerance(model, source, words):
    """A tolerance of 0.1 lets the small influences pass, which are a hundredth."""
    before = model(source, words)
    vocab = before.shape[-1]
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, t] = changed[:, t] % (vocab - 1) + 1
        if not torch.allclose(model(source, changed)[:, :t], before[:, :t], atol=0.1):
            return False
    return True


def hides_the_future__wrong_always_one(model, source, words):
    """The word is replaced by 1, which is no change where it was 1 already."""
    before = model(source, words)
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[:, t] = 1
        if (model(source, changed)[:, :t] - before[:, :t]).abs().max() > 1e-4:
            return False
    return True


def hides_the_future__wrong_first_sentence(model, source, words):
    """Only the first sentence of the batch is looked at, another may have the fault."""
    before = model(source, words)
    vocab = before.shape[-1]
    for t in range(1, words.shape[1]):
        changed = words.clone()
        changed[0, t] = changed[0, t] % (vocab - 1) + 1
        if (model(source, changed)[0, :t] - before[0, :t]).abs().max() > 1e-4:
            return False
    return True


def hides_the_future__wrong_exchanged(model, source, words):
    """The later words are only put in another order, which a model that counts them does not notice."""
    before = model(source, words)
    for t in range(words.shape[1] - 1):
        changed = torch.cat([words[:, : t + 1], words[:, t + 1 :].flip(1)], dim=1)
        if (model(source, changed)[:, : t + 1] - before[:, : t + 1]).abs().max() > 1e-4:
            return False
    return True


def hides_the_future__right_every_other_word(model, source, words):
    """Every later word of every sentence alone is replaced by every other word of the vocabulary."""
    before = model(source, words)
    batch, time, vocab = before.shape
    for b in range(batch):
        for t in range(1, time):
            for word in range(1, vocab):
                changed = words.clone()
                changed[b, t] = word
                if not (model(source, changed) - before)[:, :t].abs().le(1e-4).all():
                    return False
    return True


def hides_the_future__right_table_of_influence(model, source, words):
    """A square table, step by changed word, of the greatest change; its part above the diagonal must be rounding."""
    before = model(source, words)
    time, vocab = words.shape[1], before.shape[-1]
    columns = []
    for t in range(time):
        here = torch.arange(time) == t
        greatest = torch.zeros(time, dtype=before.dtype)
        for shift in range(1, vocab - 1):
            changed = torch.where(here, (words - 1 + shift) % (vocab - 1) + 1, words)
            greatest = torch.maximum(greatest, (model(source, changed) - before).detach().abs().amax(dim=(0, 2)))
        columns.append(greatest)
    influence = torch.stack(columns, dim=1)
    return influence.triu(diagonal=1).max().item() <= 1e-4


# ---------------------------------------------------------------- 09.3 reads_the_source


def reads_the_source__wrong_whole_source(model, source, words):
    """All words are changed together, so a model that reads only the first passes."""
    before = model(source, words)
    changed = torch.where(source > 0, source % (before.shape[-1] - 1) + 1, source)
    difference = (model(changed, words) - before).abs().amax(dim=(1, 2))
    return bool((difference > 1e-4).all())


def reads_the_source__wrong_last_step(model, source, words):
    """Only the last step is compared, but it is enough that some step reads the word."""
    before = model(source, words)
    vocab = before.shape[-1]
    for b in range(len(source)):
        for i in range(source.shape[1]):
            if source[b, i] == 0:
                continue
            changed = source.clone()
            changed[b, i] = changed[b, i] % (vocab - 1) + 1
            if (model(changed, words)[b, -1] - before[b, -1]).abs().max() <= 1e-4:
                return False
    return True


def reads_the_source__wrong_all_sentences_together(model, source, words):
    """A position is changed in all sentences at once, so a model that reads another sentence's source passes."""
    before = model(source, words)
    vocab = before.shape[-1]
    for i in range(source.shape[1]):
        changed = source.clone()
        changed[:, i] = torch.where(source[:, i] > 0, source[:, i] % (vocab - 1) + 1, 0)
        difference = (model(changed, words) - before).abs().amax(dim=(1, 2))
        if (difference[source[:, i] > 0] <= 1e-4).any():
            return False
    return True


def reads_the_source__wrong_replaced_by_padding(model, source, words):
    """The word is replaced by padding instead of another word, so a model that reads only the length passes."""
    before = model(source, words)
    for b, i in (source != 0).nonzero().tolist():
        changed = source.clone()
        changed[b, i] = 0
        if (model(changed, words)[b] - before[b]).abs().max() <= 1e-4:
            return False
    return True


def reads_the_source__wrong_padding_tried_too(model, source, words):
    """Padding is replaced by a word as well, though it is no word of the source and models need not read what stands behind it."""
    before = model(source, words)
    for b in range(len(source)):
        for i in range(source.shape[1]):
            changed = source.clone()
            changed[b, i] = changed[b, i] % (before.shape[-1] - 1) + 1
            if (model(changed, words)[b] - before[b]).abs().max() <= 1e-4:
                return False
    return True


def reads_the_source__wrong_coarse(model, source, words):
    """Influences below 0.05 are taken for rounding, a real one may be a hundredth."""
    before = model(source, words)
    for b, i in (source != 0).nonzero().tolist():
        changed = source.clone()
        changed[b, i] = changed[b, i] % (before.shape[-1] - 1) + 1
        if (model(changed, words)[b] - before[b]).abs().max() < 0.05:
            return False
    return True


def reads_the_source__wrong_any_difference(model, source, words):
    """Every difference counts as an influence, so rounding of a model that does not read the source is enough."""
    before = model(source, words)
    for b, i in (source != 0).nonzero().tolist():
        changed = source.clone()
        changed[b, i] = changed[b, i] % (before.shape[-1] - 1) + 1
        if torch.equal(model(changed, words)[b], before[b]):
            return False
    return True


def reads_the_source__right_all_in_a_comprehension(model, source, words):
    """all() over a generator: one changed source for each word, made by scatter-free where."""
    before = model(source, words).detach()
    grid = torch.arange(source.numel()).reshape(source.shape)
    vocab = before.shape[-1]

    def influence(b, i):
        other = next((w for w in range(1, vocab) if w != source[b, i]), None)
        if other is None:  # a language of one word: nothing to replace it by
            return math.inf
        changed = torch.where(grid == grid[b, i], other, source)
        return torch.dist(model(changed, words)[b].detach(), before[b], p=torch.inf).item()

    return all(influence(b, i) > 1e-4 for b, i in source.nonzero().tolist())


def reads_the_source__right_every_other_word(model, source, words):
    """Every word is replaced by all the others in turn, and the changes of the logits are collected in a list first."""
    before = model(source, words)
    changes = []
    for b in range(source.shape[0]):
        length = int(torch.count_nonzero(source[b]))
        for i in range(length):
            for shift in range(1, before.shape[-1] - 1):
                changed = source.clone()
                changed[b, i] = (source[b, i] - 1 + shift) % (before.shape[-1] - 1) + 1
                after = model(changed, words)
                changes.append(float((after - before)[b].abs().max()))
    return min(changes, default=math.inf) > 1e-4


# ---------------------------------------------------------------- 09.3 ignores_the_padding


def ignores_the_padding__wrong_exact(model, source, words):
    """The comparison is exact, so a model that only rounds differently fails."""
    longer = F.pad(source, (0, 2))
    return torch.equal(model(longer, words), model(source, words))


def ignores_the_padding__wrong_mean(model, source, words):
    """The mean of the differences hides a change in a single sentence or step among many."""
    longer = F.pad(source, (0, 2))
    return bool((model(longer, words) - model(source, words)).abs().mean() < 0.01)


def ignores_the_padding__wrong_first_sentence(model, source, words):
    """Only the logits of the first sentence are compared, padding may enter in the others."""
    longer = F.pad(source, (0, 2))
    return bool((model(longer, words)[0] - model(source, words)[0]).abs().max() <= 1e-4)


def ignores_the_padding__wrong_argmax(model, source, words):
    """Only the most probable words are compared, a logit can change without changing these."""
    longer = F.pad(source, (0, 2))
    return bool((model(longer, words).argmax(dim=-1) == model(source, words).argmax(dim=-1)).all())


def ignores_the_padding__wrong_sign(model, source, words):
    """The difference keeps its sign, so logits that become smaller pass."""
    longer = F.pad(source, (0, 2))
    return bool((model(longer, words) - model(source, words)).max() <= 1e-4)


def ignores_the_padding__wrong_alone(model, source, words):
    """Only padding that is there already is taken away, and where the sources have none nothing is tested."""
    before = model(source, words)
    for b in range(len(source)):
        length = int((source[b] != 0).sum())
        after = model(source[b : b + 1, :length], words[b : b + 1])
        if (after[0] - before[b]).abs().max() > 1e-4:
            return False
    return True


def ignores_the_padding__wrong_tenth(model, source, words):
    """The tolerance of 0.1 takes a real influence of a hundredth for rounding."""
    longer = torch.cat([source, torch.zeros_like(source[:, :1])], dim=1)
    return torch.allclose(model(longer, words), model(source, words), rtol=0, atol=0.1)


def ignores_the_padding__right_several_lengths(model, source, words):
    """One, two, three and seven more positions of padding are tried, made with new_zeros and cat."""
    before = model(source, words).detach()
    for more in (1, 2, 3, 7):
        longer = torch.cat((source, source.new_zeros(source.shape[0], more)), dim=1)
        if torch.dist(model(longer, words).detach(), before, p=torch.inf) > 1e-4:
            return False
    return True


def ignores_the_padding__right_isclose(model, source, words):
    """The longer source is an array of zeros into which the source is copied; isclose without a relative part."""
    batch, n = source.shape
    longer = torch.zeros(batch, 2 * n + 1, dtype=source.dtype)
    longer[:, :n].copy_(source)
    return torch.isclose(model(longer, words), model(source, words), rtol=0.0, atol=1e-4).all().item()


# ---------------------------------------------------------------- 09.4 beam_search


def extend(next_log_probabilities, prompt, candidates, max_length, done):
    """Helper: all extensions of the candidates (words, log probability), those that are done unchanged."""
    pool = []
    for words, total in candidates:
        if done(words):
            pool.append((words, total))
            continue
        row = torch.cat([prompt, torch.tensor(words, dtype=prompt.dtype)])
        for word, log_probability in enumerate(next_log_probabilities(row[None])[0].tolist()):
            pool.append((words + [word], total + log_probability))
    return pool


def filled(words, total, end, max_length):
    """Helper: the answer's two tensors."""
    return torch.tensor(words + [end] * (max_length - len(words))), torch.tensor(total)


def beam_search__wrong_length_normalised(next_log_probabilities, prompt, end, width, max_length):
    """At the end the log probabilities are divided by the lengths, as in machine translation systems; the statement compares the sums."""
    candidates = [([], 0.0)]
    for _ in range(max_length):
        pool = extend(next_log_probabilities, prompt, candidates, max_length, lambda w: w[-1:] == [end])
        candidates = sorted(pool, key=lambda c: -c[1])[:width]
    words, total = max(candidates, key=lambda c: c[1] / len(c[0]))
    return filled(words, total, end, max_length)


def beam_search__wrong_ended_leave_the_beam(next_log_probabilities, prompt, end, width, max_length):
    """Ended candidates leave the beam for a list of their own, so they are never dropped, and more than `width` are kept."""
    candidates, ended = [([], 0.0)], []
    for _ in range(max_length):
        pool = extend(next_log_probabilities, prompt, candidates, max_length, lambda w: False)
        pool = sorted(pool, key=lambda c: -c[1])
        ended += [c for c in pool[:width] if c[0][-1] == end]
        candidates = [c for c in pool if c[0][-1] != end][:width]
        if not candidates:
            break
    words, total = max(candidates + ended, key=lambda c: c[1])
    return filled(words, total, end, max_length)


def beam_search__wrong_ended_preferred(next_log_probabilities, prompt, end, width, max_length):
    """At the end the best of the ended candidates is returned even where one that has not ended is more probable."""
    candidates = [([], 0.0)]
    for _ in range(max_length):
        pool = extend(next_log_probabilities, prompt, candidates, max_length, lambda w: w[-1:] == [end])
        candidates = sorted(pool, key=lambda c: -c[1])[:width]
    ended = [c for c in candidates if c[0][-1] == end]
    return filled(*(ended or candidates)[0], end, max_length)


def beam_search__wrong_end_in_prompt(next_log_probabilities, prompt, end, width, max_length):
    """Whether a candidate has ended is looked up in the whole row, so an end in the prompt ends all at once."""
    prefix = prompt.tolist()
    candidates = [([], 0.0)]
    for _ in range(max_length):
        pool = extend(next_log_probabilities, prompt, candidates, max_length, lambda w: end in prefix + w)
        candidates = sorted(pool, key=lambda c: -c[1])[:width]
    return filled(*candidates[0], end, max_length)


def beam_search__wrong_filled_with_zeros(next_log_probabilities, prompt, end, width, max_length):
    """The answer is filled up with 0, it should be filled up with the end."""
    candidates = [([], 0.0)]
    for _ in range(max_length):
        pool = extend(next_log_probabilities, prompt, candidates, max_length, lambda w: w[-1:] == [end])
        candidates = sorted(pool, key=lambda c: -c[1])[:width]
    return filled(*candidates[0], 0, max_length)


def beam_search__wrong_one_child_each(next_log_probabilities, prompt, end, width, max_length):
    """After the first step each candidate is extended by its best word alone: several greedy decodings side by side."""
    candidates = [([], 0.0)]
    for step in range(max_length):
        if step == 0:
            pool = extend(next_log_probabilities, prompt, candidates, max_length, lambda w: False)
        else:
            pool = []
            for candidate in candidates:
                own = extend(next_log_probabilities, prompt, [candidate], max_length, lambda w: w[-1] == end)
                pool.append(max(own, key=lambda c: c[1]))
        candidates = sorted(pool, key=lambda c: -c[1])[:width]
    return filled(*candidates[0], end, max_length)


def beam_search__wrong_never_wider_than_vocabulary(next_log_probabilities, prompt, end, width, max_length):
    """The width is cut down to the size of the vocabulary, which is a limit at the first step only."""
    vocab = next_log_probabilities(prompt[None]).shape[-1]
    width = min(width, vocab)
    candidates = [([], 0.0)]
    for _ in range(max_length):
        pool = extend(next_log_probabilities, prompt, candidates, max_length, lambda w: w[-1:] == [end])
        candidates = sorted(pool, key=lambda c: -c[1])[:width]
    return filled(*candidates[0], end, max_length)


def beam_search__wrong_end_paid_again(next_log_probabilities, prompt, end, width, max_length):
    """Ended candidates are forced to go on with the end, but its log probability is added each time."""
    candidates = [([], 0.0)]
    for _ in range(max_length):
        pool = []
        for words, total in candidates:
            row = torch.cat([prompt, torch.tensor(words, dtype=prompt.dtype)])
            nexts = next_log_probabilities(row[None])[0].tolist()
            if end in words:
                pool.append((words + [end], total + nexts[end]))
            else:
                pool += [(words + [w], total + lp) for w, lp in enumerate(nexts)]
        candidates = sorted(pool, key=lambda c: -c[1])[:width]
    return filled(*candidates[0], end, max_length)


def beam_search__right_copies_of_the_ended(next_log_probabilities, prompt, end, width, max_length):
    """An ended candidate has a copy for each word at no cost; what the copies push out is less probable than they are and could never win."""
    rows = prompt[None].clone()
    totals = torch.zeros(1)
    for _ in range(max_length):
        logp = next_log_probabilities(rows).clone()
        ended = (rows[:, len(prompt) :] == end).any(dim=1)
        logp[ended] = 0.0
        vocab = logp.shape[-1]
        scores = (totals[:, None] + logp).flatten()
        totals, index = scores.topk(min(width, len(scores)))
        words = torch.where(ended[index // vocab], end, index % vocab)
        rows = torch.cat([rows[index // vocab], words[:, None].to(rows.dtype)], dim=1)
    return rows[0, len(prompt) :], totals[0]


def beam_search__right_tensors(next_log_probabilities, prompt, end, width, max_length):
    """All candidates in one tensor; an ended one may only be followed by end, at no cost, all else is minus infinity."""
    rows = rearrange(prompt, "t -> 1 t")
    totals = None
    for step in range(max_length):
        logp = next_log_probabilities(rows)
        totals = logp.new_zeros(1) if totals is None else totals
        vocab = logp.shape[-1]
        own = rows[:, len(prompt) :]
        ended = own.eq(end).any(dim=1)
        free = torch.full((vocab,), -torch.inf, dtype=logp.dtype)
        free[end] = 0.0
        scores = (totals[:, None] + torch.where(ended[:, None], free, logp)).flatten()
        order = scores.argsort(descending=True)[:width]
        order = order[scores[order].isfinite()]
        totals = scores[order]
        rows = torch.cat([rows[order // vocab], (order % vocab)[:, None].to(rows.dtype)], dim=1)
    return rows[totals.argmax(), len(prompt) :], totals.max()


def beam_search__right_recursion(next_log_probabilities, prompt, end, width, max_length):
    """Recursion over the steps, the candidates as tuples of words in a dictionary with their sums."""

    def search(beam, steps):
        if steps == 0 or all(words and words[-1] == end for words in beam):
            return max(beam.items(), key=lambda item: item[1])
        pool = {}
        for words, total in beam.items():
            if words and words[-1] == end:
                pool[words] = total
            else:
                row = torch.tensor([prompt.tolist() + list(words)], dtype=prompt.dtype)
                logp = next_log_probabilities(row).squeeze(0)
                pool.update({words + (w,): total + logp[w].item() for w in range(len(logp))})
        best = sorted(pool, key=pool.get, reverse=True)[:width]
        return search({words: pool[words] for words in best}, steps - 1)

    words, total = search({(): 0.0}, max_length)
    answer = torch.full((max_length,), end, dtype=torch.long)
    answer[: len(words)] = torch.tensor(words, dtype=torch.long)
    return answer, torch.tensor(total)


# ---------------------------------------------------------------- 09.5 smooth_targets


def smooth_targets__wrong_others_only(targets, vocab_size, smoothing):
    """The smoothing is distributed over the V - 1 other words, the right one gets no share."""
    q = torch.full((*targets.shape, vocab_size), smoothing / (vocab_size - 1) if vocab_size > 1 else 0.0)
    return q.scatter(-1, targets.unsqueeze(-1), 1.0 - smoothing)


def smooth_targets__wrong_not_one(targets, vocab_size, smoothing):
    """The right word gets 1 - smoothing without its share, so the probabilities do not sum to one."""
    q = torch.full((*targets.shape, vocab_size), smoothing / vocab_size)
    return q.scatter(-1, targets.unsqueeze(-1), 1.0 - smoothing)


def smooth_targets__wrong_constant(targets, vocab_size, smoothing):
    """The smoothing is always 0.1, the value of the original paper, and the argument is ignored."""
    epsilon = 0.1
    return (1 - epsilon) * F.one_hot(targets, vocab_size) + epsilon / vocab_size


def smooth_targets__wrong_vocabulary_guessed(targets, vocab_size, smoothing):
    """one_hot without the number of classes takes the greatest target plus one for the size of the vocabulary."""
    one_hot = F.one_hot(targets).float()
    return (1 - smoothing) * one_hot + smoothing / vocab_size


def smooth_targets__wrong_padding_emptied(targets, vocab_size, smoothing):
    """Word 0 is taken for padding and its rows are all zeros, as in a well-known implementation; no padding is mentioned here."""
    q = (1 - smoothing) * F.one_hot(targets, vocab_size).float() + smoothing / vocab_size
    return q.masked_fill((targets == 0)[..., None], 0.0)


def smooth_targets__wrong_scaled_twice(targets, vocab_size, smoothing):
    """The uniform part is added and then all is divided by its sum, without taking smoothing from the right word first."""
    q = F.one_hot(targets, vocab_size) + smoothing / vocab_size
    return q / q.sum(dim=-1, keepdim=True)


def smooth_targets__right_mixture(targets, vocab_size, smoothing):
    """lerp between the rows of an identity matrix and the uniform distribution."""
    sure = torch.eye(vocab_size)[targets]
    return torch.lerp(sure, torch.full_like(sure, 1.0 / vocab_size), smoothing)


def smooth_targets__right_comparison(targets, vocab_size, smoothing):
    """where on the comparison of every target with every word."""
    same = targets[..., None] == torch.arange(vocab_size)
    return torch.where(same, 1.0 - smoothing + smoothing / vocab_size, smoothing / vocab_size)


def smooth_targets__right_nested_lists(targets, vocab_size, smoothing):
    """The formula word by word in nested list comprehensions."""
    rows = [
        [[(1 - smoothing) * (k == y) + smoothing / vocab_size for k in range(vocab_size)] for y in row]
        for row in targets.tolist()
    ]
    return torch.tensor(rows, dtype=torch.float32).reshape(*targets.shape, vocab_size)


# ---------------------------------------------------------------- 09.5 smoothed_losses


def smoothed_losses__wrong_sum_for_mean(logits, targets, smoothing):
    """Every word gets the weight smoothing instead of smoothing / V."""
    logp = logits.log_softmax(dim=-1)
    right = logp.gather(-1, targets[..., None]).squeeze(-1)
    return -(1 - smoothing) * right - smoothing * logp.sum(dim=-1)


def smoothed_losses__wrong_log_of_softmax(logits, targets, smoothing):
    """Softmax and then log: probabilities that come out as 0 give infinite losses, or nan at smoothing 0."""
    q = (1 - smoothing) * F.one_hot(targets, logits.shape[-1]) + smoothing / logits.shape[-1]
    return -(q * logits.softmax(dim=-1).log()).sum(dim=-1)


def smoothed_losses__wrong_divergence(logits, targets, smoothing):
    """This is the Kullback-Leibler divergence, which is less by the entropy of the targets."""
    q = (1 - smoothing) * F.one_hot(targets, logits.shape[-1]) + smoothing / logits.shape[-1]
    return F.kl_div(logits.log_softmax(dim=-1), q, reduction="none").sum(dim=-1)


def smoothed_losses__wrong_others_only(logits, targets, smoothing):
    """The smoothing goes to the other words alone, each smoothing / (V - 1)."""
    logp = logits.log_softmax(dim=-1)
    right = logp.gather(-1, targets[..., None]).squeeze(-1)
    others = (logp.sum(dim=-1) - right) / max(logits.shape[-1] - 1, 1)
    return -(1 - smoothing) * right - smoothing * others


def smoothed_losses__wrong_clamped(logits, targets, smoothing):
    """The log probabilities are clamped at -100, as binary_cross_entropy does, so far apart logits lose their loss and gradient."""
    logp = logits.log_softmax(dim=-1).clamp(min=-100.0)
    right = logp.gather(-1, targets[..., None]).squeeze(-1)
    return -(1 - smoothing) * right - smoothing * logp.mean(dim=-1)


def smoothed_losses__wrong_uniform_detached(logits, targets, smoothing):
    """The uniform part is treated as a constant penalty without gradient."""
    logp = logits.log_softmax(dim=-1)
    right = logp.gather(-1, targets[..., None]).squeeze(-1)
    return -(1 - smoothing) * right - smoothing * logp.detach().mean(dim=-1)


def smoothed_losses__right_logsumexp(logits, targets, smoothing):
    """The weights sum to one, so the loss is logsumexp minus the weighted mean of the logits."""
    right = torch.take_along_dim(logits, targets.unsqueeze(-1), dim=-1).squeeze(-1)
    return torch.logsumexp(logits, dim=-1) - torch.lerp(right, logits.mean(dim=-1), float(smoothing))


def smoothed_losses__right_float64_einsum(logits, targets, smoothing):
    """In float64 with an einsum of the target probabilities and the log probabilities, and back again."""
    wide = logits.double()
    centred = wide - wide.amax(dim=-1, keepdim=True).detach()
    logp = centred - centred.exp().sum(dim=-1, keepdim=True).log()
    q = (1 - smoothing) * torch.eye(logits.shape[-1], dtype=torch.float64)[targets] + smoothing / logits.shape[-1]
    return einsum(q, -logp, "b t v, b t v -> b t").to(logits.dtype)
