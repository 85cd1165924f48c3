# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import itertools

import torch
import torch.nn.functional as F
from einops import einsum, rearrange, reduce

# ---------------------------------------------------------------- mean_pooling


def mean_pooling__right_only_chosen_rows(vectors, present):
    chosen = [sequence[mask] for sequence, mask in zip(vectors, present)]
    return torch.stack([rows.sum(0) / max(len(rows), 1) for rows in chosen])


def mean_pooling__wrong_times_the_mask(vectors, present):
    """Infinity times 0 is not a number, so infinite padding spoils the sum."""
    mask = present.float()
    total = einsum(vectors, mask, "b t d, b t -> b d")
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


def mean_pooling__wrong_divided_by_time(vectors, present):
    """The sum is divided by all positions, padding included, and not by the number of tokens."""
    kept = torch.where(present[..., None], vectors, torch.zeros_like(vectors))
    return kept.mean(dim=1)


def mean_pooling__wrong_empty_gives_nan(vectors, present):
    """For a sequence without a token this divides 0 by 0."""
    kept = vectors.masked_fill(~present[:, :, None], 0)
    return kept.sum(dim=1) / present.sum(dim=1, keepdim=True)


def mean_pooling__wrong_counts_nonzero_vectors(vectors, present):
    """The divisor counts the vectors that are not zero, but a vector of zeros that is present counts too."""
    kept = vectors.masked_fill(~present.unsqueeze(-1), 0.0)
    number = (kept != 0).any(dim=-1).sum(dim=1, keepdim=True)
    return kept.sum(1) / torch.clamp(number, min=1)


def mean_pooling__wrong_padding_only_behind(vectors, present):
    """It takes the first n positions, but padding may stand in front of the tokens and between them."""
    out = []
    for b in range(vectors.shape[0]):
        n = int(present[b].sum())
        out.append(vectors[b, :n].sum(dim=0) / max(n, 1))
    return torch.stack(out)


def mean_pooling__wrong_caller_is_changed(vectors, present):
    """The zeros are written into the caller's vectors."""
    with torch.no_grad():
        vectors[~present] = 0
    return vectors.sum(dim=1) / present.sum(dim=1)[:, None].clamp(min=1)


# ---------------------------------------------------------------- max_pooling


def max_pooling__right_last_of_sorted(vectors, present):
    def pool(rows):
        if len(rows) == 0:
            return rows.sum(dim=0)
        return rows.sort(dim=0).values[-1]

    return torch.stack([pool(vectors[b, present[b]]) for b in range(len(vectors))])


def max_pooling__wrong_filled_with_zero(vectors, present):
    """Padding becomes 0, which wins where all features are below zero."""
    kept = vectors.masked_fill(~present[..., None], 0)
    return kept.max(dim=1).values


def max_pooling__wrong_filled_with_minus_1000(vectors, present):
    """Minus a thousand is not low enough: features may be lower, and then padding wins."""
    kept = vectors.masked_fill(~present[..., None], -1000.0)
    best = kept.amax(dim=1)
    return torch.where(present.any(dim=1)[:, None], best, 0.0)


def max_pooling__wrong_empty_is_minus_infinity(vectors, present):
    """A sequence without a token gives minus infinity and not zeros."""
    kept = torch.where(rearrange(present, "b t -> b t 1"), vectors, -torch.inf)
    return reduce(kept, "b t d -> b d", "max")


def max_pooling__wrong_whole_vector_wins(vectors, present):
    """It keeps one whole vector, that with the greatest sum, where each feature must have its own maximum."""
    kept = vectors.masked_fill(~present[..., None], 0)
    score = kept.sum(dim=-1).masked_fill(~present, -torch.inf)
    return kept[torch.arange(len(kept)), score.argmax(dim=1)]


def max_pooling__wrong_minus_inf_is_added(vectors, present):
    """A large number is subtracted at padding, and where infinity stands there it stays infinite."""
    kept = vectors - 1e30 * (~present).float().unsqueeze(-1)
    best = kept.max(dim=1)[0]
    return best * present.any(dim=1, keepdim=True)


def max_pooling__wrong_negative_means_empty(vectors, present):
    """Everything below -1e4 is taken for an empty sequence, but features may lie so low."""
    best = vectors.masked_fill(~present[..., None], float("-inf")).amax(dim=1)
    return best.masked_fill(best < -1e4, 0.0)


# ---------------------------------------------------------------- logits_of_each


def logits_of_each__right_from_python_lists(classify, words):
    sentences = [list(itertools.takewhile(lambda w: w != 0, row)) for row in words.tolist()]
    answers = map(classify, (torch.tensor([s], dtype=words.dtype) for s in sentences))
    return torch.stack([answer[0] for answer in answers])


def logits_of_each__wrong_padding_kept(classify, words):
    """Each sentence is read in a batch of one, but with its padding."""
    return torch.cat([classify(row[None]) for row in words])


def logits_of_each__wrong_only_shared_padding_cut(classify, words):
    """Only the columns that are padding in all sentences are cut, so shorter sentences keep theirs."""
    longest = int((words > 0).sum(dim=1).max())
    return torch.cat([classify(words[i : i + 1, :longest]) for i in range(len(words))])


def logits_of_each__wrong_first_word_lost(classify, words):
    """The slice begins at 1, so the first word of each sentence is lost."""
    out = []
    for row in words:
        n = int((row != 0).sum())
        out.append(classify(row[1 : n + 1][None]))
    return torch.cat(out)


def logits_of_each__wrong_word_by_word(classify, words):
    """Each word is classified by itself and the logits are averaged; the sentence must be read as a whole."""
    out = []
    for row in words:
        single = classify(row[row > 0][:, None])
        out.append(single.mean(dim=0))
    return torch.stack(out)


def logits_of_each__wrong_words_sorted(classify, words):
    """unique sorts the words and drops repeated ones, which changes the sentence."""
    out = []
    for row in words:
        s = torch.unique(row)
        out.append(classify(s[s > 0].unsqueeze(0)))
    return torch.cat(out, dim=0)


# ---------------------------------------------------------------- ignores_padding


def ignores_padding__right_number_by_number(classify, words):
    padded = classify(words).tolist()
    for row, expected in zip(words.tolist(), padded):
        length = len(row) - row.count(0)
        alone = classify(torch.tensor([row[:length]], dtype=words.dtype)).tolist()[0]
        for a, e in zip(alone, expected):
            if not abs(a - e) <= 0.0001:
                return False
    return True


def _alone(classify, words):
    return torch.cat([classify(row[row > 0][None]) for row in words])


def ignores_padding__wrong_padded_further(classify, words):
    """The batch is padded already; comparing it with more padding misses what depends on one position of it only."""
    more = torch.cat([words, torch.zeros_like(words[:, :1])], dim=1)
    return bool((classify(more) - classify(words)).abs().max() <= 1e-4)


def ignores_padding__wrong_compares_classes(classify, words):
    """Only the chosen classes are compared, but logits can change without another class being chosen."""
    return torch.equal(_alone(classify, words).argmax(1), classify(words).argmax(1))


def ignores_padding__wrong_exact_equality(classify, words):
    """Exact equality leaves no room for rounding, so right classifiers fail."""
    return bool((_alone(classify, words) == classify(words)).all())


def ignores_padding__wrong_signed_sum(classify, words):
    """Without absolute values a logit that rises and one that falls cancel in the sum."""
    difference = _alone(classify, words) - classify(words)
    return abs(difference.sum().item()) <= 1e-4


def ignores_padding__wrong_first_sentence_only(classify, words):
    """Only the first sentence is tried, and padding may count in the others only."""
    first = words[:1]
    return bool(torch.allclose(_alone(classify, first), classify(words)[:1], atol=1e-4, rtol=0))


def ignores_padding__wrong_tolerance_too_wide(classify, words):
    """The tolerance is a twentieth, but a real influence may be as small as a hundredth."""
    return torch.allclose(_alone(classify, words), classify(words), rtol=0, atol=0.05)


# ---------------------------------------------------------------- occlusion


def occlusion__right_all_in_one_batch(classify, words):
    time = len(words)
    hidden = words.expand(time, time) * (1 - torch.eye(time, dtype=words.dtype))
    logits = classify(torch.cat([words[None], hidden]))
    p = torch.exp(logits - torch.logsumexp(logits, dim=1, keepdim=True))
    p = p[:, int(logits[0].argmax())]
    return p[0] - p[1:]


def occlusion__wrong_class_chosen_again(classify, words):
    """The greatest probability is taken again for each hidden word, but the class must be chosen once."""
    whole = classify(words[None]).softmax(dim=1).max()
    drops = []
    for t in range(len(words)):
        hidden = words.clone()
        hidden[t] = 0
        drops.append(whole - classify(hidden[None]).softmax(dim=1).max())
    return torch.stack(drops)


def occlusion__wrong_word_removed(classify, words):
    """The word is removed, so the words behind it move to other positions; it must be replaced by 0."""
    p = classify(words[None]).softmax(dim=1)[0]
    c = p.argmax()
    drops = [
        p[c] - classify(torch.cat([words[:t], words[t + 1 :]])[None]).softmax(dim=1)[0, c] for t in range(len(words))
    ]
    return torch.stack(drops)


def occlusion__wrong_drop_of_logit(classify, words):
    """This is the drop of the logit, and not of the probability."""
    logits = classify(words.unsqueeze(0))[0]
    c = logits.argmax()
    out = torch.zeros(len(words))
    for t in range(len(words)):
        h = words.clone()
        h[t] = 0
        out[t] = logits[c] - classify(h.unsqueeze(0))[0, c]
    return out


def occlusion__wrong_words_stay_hidden(classify, words):
    """The copy is made once before the loop, so words hidden before stay hidden."""
    p = classify(words[None]).softmax(dim=1)[0]
    c = int(p.argmax())
    hidden = words.clone()
    drops = []
    for t in range(len(words)):
        hidden[t] = 0
        drops.append(p[c] - classify(hidden[None]).softmax(dim=1)[0, c])
    return torch.stack(drops)


def occlusion__wrong_sign(classify, words):
    """The difference is taken the wrong way round, so an important word gets a negative number."""
    p = classify(words[None]).softmax(dim=1)[0]
    c = p.argmax()
    result = []
    for t in range(words.shape[0]):
        hidden = words.clone()
        hidden[t] = 0
        result.append(classify(hidden[None]).softmax(dim=1)[0, c] - p[c])
    return torch.stack(result)


def occlusion__wrong_softmax_over_batch(classify, words):
    """All hidden sentences are one batch, and the softmax runs over the sentences and not over the classes."""
    whole = classify(words[None]).softmax(dim=1)[0]
    c = whole.argmax()
    hidden = words.repeat(len(words), 1)
    hidden.fill_diagonal_(0)
    return whole[c] - classify(hidden).softmax(dim=0)[:, c]


# ---------------------------------------------------------------- rank_agreement


def rank_agreement__right_matrix_of_comparisons(drops, weights):
    def signs(x):
        return (x[:, None] > x[None, :]).double() - (x[:, None] < x[None, :]).double()

    n = len(drops)
    return (einsum(signs(drops), signs(weights), "i j, i j ->") / (n * (n - 1))).float()


def rank_agreement__wrong_equal_is_disagreement(drops, weights):
    """Each pair that is not in agreement counts as disagreement, also pairs with equal numbers."""
    n = len(drops)
    total = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            if (drops[i] - drops[j]) * (weights[i] - weights[j]) > 0:
                total += 1
            else:
                total -= 1
    return torch.tensor(total / (n * (n - 1) / 2))


def rank_agreement__wrong_divided_by_untied_pairs(drops, weights):
    """The divisor leaves out the pairs with equal numbers, but all pairs must be counted."""
    i, j = torch.triu_indices(len(drops), len(drops), offset=1)
    s = torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j])
    return s.sum() / (s != 0).sum()


def rank_agreement__wrong_half(drops, weights):
    """The sum goes over i < j only and is divided by n (n - 1), so the answer is half of what it should be."""
    n = len(drops)
    total = torch.tensor(0.0)
    for i in range(n):
        for j in range(i):
            total = total + torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j])
    return total / (n * (n - 1))


def rank_agreement__wrong_signs_forgotten(drops, weights):
    """The products of the differences are summed without their signs being taken, so the sizes count."""
    n = len(drops)
    a = drops[:, None] - drops[None, :]
    b = weights[:, None] - weights[None, :]
    return (a * b).sum() / (n * (n - 1))


def rank_agreement__wrong_spearman(drops, weights):
    """This is the correlation of the ranks (Spearman), and not Kendall's tau."""
    a = drops.argsort().argsort().float()
    b = weights.argsort().argsort().float()
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / (a.norm() * b.norm())


def rank_agreement__wrong_neighbours_only(drops, weights):
    """Only words that stand side by side are compared, and not all pairs."""
    return (torch.sign(drops.diff()) * torch.sign(weights.diff())).mean()


# ---------------------------------------------------------------- reliability_curve


def reliability_curve__right_membership_matrix(probabilities, labels, bins):
    confidence, chosen = torch.sort(probabilities, dim=1, descending=True)
    confidence, correct = confidence[:, 0], (chosen[:, 0] == labels).to(probabilities.dtype)
    edges = torch.arange(bins + 1, dtype=torch.float64) / bins
    inside = (confidence[None] > edges[:-1, None]) & (confidence[None] <= edges[1:, None])
    inside = inside.to(probabilities.dtype)
    number = inside.sum(1)
    divisor = number + (number == 0)
    return inside @ confidence / divisor, inside @ correct / divisor, number / len(labels)


def _curve(probabilities, labels, bins, fallen):
    confidence, chosen = probabilities.max(dim=1)
    right = (chosen == labels).float()
    c, a, f = torch.zeros(bins), torch.zeros(bins), torch.zeros(bins)
    for b in range(bins):
        inside = fallen(confidence) == b
        if inside.any():
            c[b] = confidence[inside].mean()
            a[b] = right[inside].mean()
            f[b] = inside.float().mean()
    return c, a, f


def reliability_curve__wrong_edges_fall_up(probabilities, labels, bins):
    """Rounding down puts a confidence on an edge into the bin above it; the upper edge belongs to the lower bin."""
    return _curve(probabilities, labels, bins, lambda c: (c * bins).floor().long().clamp(max=bins - 1))


def reliability_curve__wrong_bins_from_one_half(probabilities, labels, bins):
    """The bins go from 0.5 to 1 as in the chapter, but here they go from 0 to 1."""
    return _curve(probabilities, labels, bins, lambda c: ((c - 0.5) * 2 * bins).ceil().long() - 1)


def reliability_curve__wrong_empty_bins_nan(probabilities, labels, bins):
    """The mean of an empty bin is not a number; it must be 0."""
    confidence, chosen = probabilities.max(dim=1)
    right = (chosen == labels).float()
    fallen = torch.ceil(confidence * bins).long() - 1
    c = torch.stack([confidence[fallen == b].mean() for b in range(bins)])
    a = torch.stack([right[fallen == b].mean() for b in range(bins)])
    f = torch.stack([(fallen == b).float().mean() for b in range(bins)])
    return c, a, f


def reliability_curve__wrong_probability_of_label(probabilities, labels, bins):
    """The confidence is that of the label here, but it must be that of the chosen class."""
    right = (probabilities.argmax(dim=1) == labels).float()
    confidence = probabilities.gather(1, labels[:, None])[:, 0]
    fallen = torch.ceil(confidence * bins).long() - 1
    out = torch.zeros(3, bins)
    for b in range(bins):
        inside = fallen == b
        if inside.sum() > 0:
            out[0, b] = confidence[inside].mean()
            out[1, b] = right[inside].mean()
            out[2, b] = inside.sum() / len(labels)
    return out[0], out[1], out[2]


def reliability_curve__wrong_counts_not_fractions(probabilities, labels, bins):
    """The third tensor holds the numbers of examples, not divided by all examples."""
    confidence, chosen = probabilities.max(dim=1)
    fallen = torch.ceil(confidence * bins).long() - 1
    count = torch.bincount(fallen, minlength=bins).float()
    c = torch.zeros(bins).index_add(0, fallen, confidence) / count.clamp(min=1)
    a = torch.zeros(bins).index_add(0, fallen, (chosen == labels).float()) / count.clamp(min=1)
    return c, a, count


def reliability_curve__wrong_accuracy_of_all(probabilities, labels, bins):
    """Confidence and accuracy are divided by the number of all examples, and not by those of the bin."""
    confidence, chosen = probabilities.max(dim=1)
    one_hot = F.one_hot(torch.ceil(confidence * bins).long() - 1, bins).float()
    return ((one_hot * confidence[:, None]).mean(0), (one_hot * (chosen == labels)[:, None]).mean(0), one_hot.mean(0))


# ---------------------------------------------------------------- calibration_error


def calibration_error__right_sums_in_a_dictionary(probabilities, labels, bins):
    sums = {}
    for row, label in zip(probabilities.tolist(), labels.tolist()):
        confidence = max(row)
        b = next(b for b in range(bins) if b == bins - 1 or confidence <= (b + 1) / bins)
        sums[b] = sums.get(b, 0.0) + confidence - (row.index(confidence) == label)
    return torch.tensor(sum(abs(s) for s in sums.values()) / len(labels), dtype=probabilities.dtype)


def _right_curve(probabilities, labels, bins):
    return _curve(probabilities, labels, bins, lambda c: torch.ceil(c * bins).long() - 1)


def calibration_error__wrong_gaps_cancel(probabilities, labels, bins):
    """The absolute value is taken of the sum, so too much confidence makes up for too little."""
    c, a, f = _right_curve(probabilities, labels, bins)
    return (f * (a - c)).sum().abs()


def calibration_error__wrong_bins_weigh_the_same(probabilities, labels, bins):
    """All bins have the same weight here, empty ones too; the weights are the fractions of the examples."""
    c, a, f = _right_curve(probabilities, labels, bins)
    return (a - c).abs().mean()


def calibration_error__wrong_greatest_gap(probabilities, labels, bins):
    """This is the greatest gap (the maximum calibration error), and not the expected one."""
    c, a, _ = _right_curve(probabilities, labels, bins)
    return (a - c).abs().max()


def calibration_error__wrong_gaps_squared(probabilities, labels, bins):
    """The gaps are squared where their absolute value is asked."""
    c, a, f = _right_curve(probabilities, labels, bins)
    return torch.sqrt((f * (a - c) ** 2).sum())


def calibration_error__wrong_each_example_alone(probabilities, labels, bins):
    """The gap is taken for each example and not for the means of a bin, so bins play no role."""
    confidence, chosen = probabilities.max(dim=1)
    return ((chosen == labels).float() - confidence).abs().mean()


# ---------------------------------------------------------------- best_temperature


def best_temperature__right_by_vmap(logits, labels, temperatures):
    u = logits.double()

    def loss(temperature):
        v = u / temperature
        return (v.logsumexp(1) - v.gather(1, labels[:, None])[:, 0]).mean()

    losses = torch.func.vmap(loss)(temperatures.double()).tolist()
    return temperatures[losses.index(min(losses))].clone()


def best_temperature__wrong_times_temperature(logits, labels, temperatures):
    """The logits are multiplied by the temperature and not divided by it."""
    losses = torch.stack([F.cross_entropy(logits * T, labels) for T in temperatures])
    return temperatures[losses.argmin()]


def best_temperature__wrong_position_returned(logits, labels, temperatures):
    """The position of the best temperature is returned, and not the temperature."""
    losses = torch.stack([F.cross_entropy(logits / T, labels) for T in temperatures])
    return losses.argmin()


def best_temperature__wrong_probabilities_clamped(logits, labels, temperatures):
    """Probabilities below 1e-8 are raised to it before the logarithm, so very low logits lose their true loss."""
    p = (logits[None] / temperatures[:, None, None]).softmax(dim=-1)
    p = p[:, torch.arange(len(labels)), labels].clamp(min=1e-8)
    return temperatures[(-p.log()).mean(dim=1).argmin()]


def best_temperature__wrong_log_of_softmax(logits, labels, temperatures):
    """The log of a probability that is 0 in float32 is minus infinity, and then several losses are infinite."""
    best, best_loss = temperatures[0], None
    for T in temperatures:
        p = torch.softmax(logits / T, dim=1)[torch.arange(len(labels)), labels]
        loss = -torch.log(p).mean()
        if best_loss is None or loss < best_loss:
            best, best_loss = T, loss
    return best


def best_temperature__wrong_mean_probability(logits, labels, temperatures):
    """The greatest mean probability of the label is sought, and not the least mean of minus its logarithm."""
    scores = [(logits / T).softmax(1).gather(1, labels[:, None]).mean() for T in temperatures]
    return temperatures[torch.stack(scores).argmax()]


def best_temperature__wrong_candidate_axis_kept(logits, labels, temperatures):
    """The answer has one axis of size one; a tensor without axes is asked."""
    u = rearrange(logits, "e c -> 1 e c") / rearrange(temperatures, "t -> t 1 1")
    losses = -u.log_softmax(-1)[:, torch.arange(len(labels)), labels].mean(1, keepdim=True)
    return temperatures[losses.argmin(dim=0)]
