# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import itertools
import math

import torch

# ---------------------------------------------------------------- mean_pooling


def mean_pooling__wrong_multiplies_by_mask(vectors, present):
    """Multiplies by the mask, and infinity times 0 is nan."""
    mask = present[..., None].float()
    return (vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def mean_pooling__wrong_nan_gradient(vectors, present):
    """Divides by a count of 0 before the where hides it, so the gradient of an empty sequence is nan."""
    counts = present.sum(dim=1)[:, None, None]
    return torch.where(present[..., None], vectors / counts, 0.0).sum(dim=1)


def mean_pooling__wrong_padding_behind(vectors, present):
    """Takes the first vectors, as many as there are tokens, as if padding stood only behind."""
    lengths = present.sum(dim=1).tolist()
    means = [row[:length].sum(dim=0) / max(length, 1) for row, length in zip(vectors, lengths)]
    return torch.stack(means)


def mean_pooling__wrong_overwrites(vectors, present):
    """Overwrites the padding in the caller's tensor with zeros."""
    vectors.data[~present] = 0.0
    return vectors.sum(dim=1) / present.sum(dim=1, keepdim=True).clamp(min=1)


def mean_pooling__right_row_by_row(vectors, present):
    """Right: picks the vectors that are present from each sequence; the sum of none is zero."""
    means = []
    for row, here in zip(vectors, present):
        means.append(row[here].sum(dim=0) / max(1, int(here.sum())))
    return torch.stack(means, dim=0)


# ---------------------------------------------------------------- max_pooling


def max_pooling__wrong_zero_for_padding(vectors, present):
    """Replaces padding by 0, which wins where all features are below zero."""
    return vectors.masked_fill(~present[..., None], 0.0).amax(dim=1)


def max_pooling__wrong_minus_1e9(vectors, present):
    """Replaces padding by -1e9, which wins where features lie lower still."""
    hidden = torch.where(present[..., None], vectors, -1e9)
    pooled = hidden.max(dim=1).values
    return torch.where(present.any(dim=1, keepdim=True), pooled, 0.0)


def max_pooling__wrong_adds_minus_infinity(vectors, present):
    """Adds minus infinity at padding, which gives nan where infinity stands there."""
    penalty = torch.zeros(present.shape, dtype=vectors.dtype).masked_fill(~present, -math.inf)
    pooled = (vectors + penalty[..., None]).amax(dim=1)
    return pooled.masked_fill(~present.any(dim=1, keepdim=True), 0.0)


def max_pooling__right_gather_argmax(vectors, present):
    """Right: finds where the greatest number of each feature stands, gathers it, and sets empty sequences to zero."""
    hidden = torch.where(present[..., None], vectors.detach(), -math.inf)
    where = hidden.argmax(dim=1, keepdim=True)
    pooled = vectors.gather(1, where)[:, 0]
    return torch.where(present.any(dim=1)[:, None], pooled, torch.zeros_like(pooled))


# ---------------------------------------------------------------- logits_of_each


def logits_of_each__wrong_one_padding_left(classify, words):
    """Keeps one position of padding behind each sentence."""
    logits = []
    for row in words:
        length = int((row > 0).sum())
        logits.append(classify(row[None, : length + 1]))
    return torch.cat(logits)


def logits_of_each__wrong_trims_the_batch(classify, words):
    """Cuts the batch to its longest sentence and reads it at once, so shorter sentences keep their padding."""
    longest = int((words > 0).sum(dim=1).max())
    return classify(words[:, :longest])


def logits_of_each__right_first_padding(classify, words):
    """Right: cuts each row before its first 0 by a Python search."""
    logits = []
    for number, row in enumerate(words.tolist()):
        length = row.index(0) if 0 in row else len(row)
        logits.append(classify(words[number : number + 1, :length].clone())[0])
    return torch.stack(logits)


# ---------------------------------------------------------------- ignores_padding


def ignores_padding__wrong_pads_further(classify, words):
    """Pads the padded batch further, which does not show a maximum over padding or short sentences left with one 0."""
    more = torch.nn.functional.pad(words, (0, 3))
    return bool((classify(more) - classify(words)).abs().max() <= 1e-4)


def ignores_padding__wrong_exact(classify, words):
    """Compares exactly and so takes rounding for an influence."""
    alone = torch.cat([classify(row[row > 0][None]) for row in words])
    return torch.equal(alone, classify(words))


def ignores_padding__wrong_no_abs(classify, words):
    """Forgets the absolute value, so padding that only raises logits of the batch is not found."""
    alone = torch.cat([classify(row[row > 0][None]) for row in words])
    return bool((alone - classify(words)).max() <= 1e-4)


def ignores_padding__right_early_exit(classify, words):
    """Right: compares sentence by sentence in Python numbers and stops at the first that differs."""
    together = classify(words).tolist()
    for row, logits in zip(words, together):
        alone = classify(row[row.ne(0)].reshape(1, -1))[0].tolist()
        if any(abs(a - b) > 1e-4 for a, b in zip(alone, logits)):
            return False
    return True


# ---------------------------------------------------------------- occlusion


def occlusion__wrong_new_class_each_time(classify, words):
    """Takes the greatest probability after hiding, whatever its class, and not that of the chosen class."""
    whole = classify(words[None]).softmax(dim=1).max()
    drops = []
    for t in range(len(words)):
        hidden = words.clone()
        hidden[t] = 0
        drops.append(whole - classify(hidden[None]).softmax(dim=1).max())
    return torch.stack(drops)


def occlusion__wrong_removes_the_word(classify, words):
    """Removes the word instead of replacing it by 0, so that the words behind it move."""
    whole = classify(words[None]).softmax(dim=1)[0]
    chosen = whole.argmax()
    drops = []
    for t in range(len(words)):
        rest = torch.cat([words[:t], words[t + 1 :]])
        drops.append(whole[chosen] - classify(rest[None]).softmax(dim=1)[0, chosen])
    return torch.stack(drops)


def occlusion__wrong_hides_more_and_more(classify, words):
    """Makes one copy before the loop, so that the words hidden earlier stay hidden."""
    whole = classify(words[None]).softmax(dim=1)[0]
    chosen = whole.argmax()
    hidden = words.clone()
    drops = torch.zeros(len(words))
    for t in range(len(words)):
        hidden[t] = 0
        drops[t] = whole[chosen] - classify(hidden[None]).softmax(dim=1)[0, chosen]
    return drops


def occlusion__right_one_batch(classify, words):
    """Right: the whole sentence and all sentences with one word hidden in a single batch."""
    n = len(words)
    hidden = words.expand(n, n).masked_fill(torch.eye(n, dtype=torch.bool), 0)
    probabilities = torch.softmax(classify(torch.cat([words[None], hidden])), dim=-1)
    left = probabilities[:, probabilities[0].argmax()]
    return left[0] - left[1:]


# ---------------------------------------------------------------- rank_agreement


def rank_agreement__wrong_without_ties(drops, weights):
    """Divides by the pairs that are not equal in either list (Goodman and Kruskal) and not by all pairs."""
    total, pairs = 0, 0
    for i in range(len(drops)):
        for j in range(i + 1, len(drops)):
            sign = torch.sign(drops[i] - drops[j]) * torch.sign(weights[i] - weights[j])
            total += sign
            pairs += int(sign != 0)
    return total / max(pairs, 1)


def rank_agreement__wrong_spearman(drops, weights):
    """Correlates the ranks (Spearman), which is another number than Kendall's."""
    a = drops.argsort().argsort().float()
    b = weights.argsort().argsort().float()
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / (a.square().sum() * b.square().sum()).sqrt()


def rank_agreement__right_counted_pairs(drops, weights):
    """Right: counts pairs with itertools, comparing the numbers and never subtracting them."""
    agree = 0
    pairs = list(itertools.combinations(zip(drops.tolist(), weights.tolist()), 2))
    for (a, b), (other_a, other_b) in pairs:
        if (a > other_a and b > other_b) or (a < other_a and b < other_b):
            agree += 1
        elif a != other_a and b != other_b:
            agree -= 1
    return torch.tensor(agree / len(pairs))


# ---------------------------------------------------------------- reliability_curve


def reliability_curve__wrong_lower_edge(probabilities, labels, bins):
    """Rounds down, so that a confidence on an edge falls into the bin above it."""
    confidence, chosen = probabilities.max(dim=1)
    right = (chosen == labels).float()
    fallen = (confidence * bins).long().clamp(max=bins - 1)
    curve = torch.zeros(3, bins)
    for b in range(bins):
        here = fallen == b
        if here.any():
            curve[0, b] = confidence[here].mean()
            curve[1, b] = right[here].mean()
            curve[2, b] = here.float().mean()
    return curve[0], curve[1], curve[2]


def reliability_curve__wrong_probability_of_label(probabilities, labels, bins):
    """Takes the probability of the label for the confidence and not the greatest one."""
    confidence = probabilities[torch.arange(len(labels)), labels]
    right = (probabilities.argmax(dim=1) == labels).float()
    fallen = torch.ceil(confidence * bins).long() - 1
    mean, accuracy, fraction = torch.zeros(bins), torch.zeros(bins), torch.zeros(bins)
    for b in range(bins):
        here = fallen == b
        if here.any():
            mean[b] = confidence[here].mean()
            accuracy[b] = right[here].mean()
            fraction[b] = here.sum() / len(labels)
    return mean, accuracy, fraction


def reliability_curve__right_bucketize(probabilities, labels, bins):
    """Right: sorts into the upper edges with bucketize and sums with a one-hot matrix of the bins."""
    confidence, chosen = probabilities.max(dim=1)
    upper = torch.arange(1, bins + 1, dtype=probabilities.dtype) / bins
    fallen = torch.bucketize(confidence, upper).clamp(max=bins - 1)
    member = torch.nn.functional.one_hot(fallen, bins).to(probabilities.dtype)
    counts = member.sum(dim=0)
    divisor = counts.clamp(min=1)
    right = (chosen == labels).to(probabilities.dtype)
    return confidence @ member / divisor, right @ member / divisor, counts / len(labels)


# ---------------------------------------------------------------- calibration_error


def calibration_error__wrong_signed(probabilities, labels, bins):
    """Forgets the absolute value, so that too much confidence in one bin makes up for too little in another."""
    confidence, chosen = probabilities.max(dim=1)
    right = (chosen == labels).float()
    fallen = torch.ceil(confidence * bins).long() - 1
    error = torch.tensor(0.0)
    for b in range(bins):
        here = fallen == b
        if here.any():
            error = error + here.float().mean() * (confidence[here].mean() - right[here].mean())
    return error.abs()


def calibration_error__wrong_unweighted(probabilities, labels, bins):
    """Averages the gaps of the bins that are not empty without the fractions as weights."""
    confidence, chosen = probabilities.max(dim=1)
    right = (chosen == labels).float()
    fallen = torch.ceil(confidence * bins).long() - 1
    gaps = []
    for b in fallen.unique():
        here = fallen == b
        gaps.append((right[here].mean() - confidence[here].mean()).abs())
    return torch.stack(gaps).mean()


def calibration_error__right_sums_of_gaps(probabilities, labels, bins):
    """Right: the counts cancel, so the absolute sums of (right - confidence) in each bin, divided by N, are enough."""
    confidence, chosen = probabilities.max(dim=1)
    gap = (chosen == labels).to(confidence.dtype) - confidence
    fallen = (torch.ceil(confidence * bins).long() - 1).clamp(0, bins - 1)
    sums = torch.zeros(bins, dtype=confidence.dtype).index_add(0, fallen, gap)
    return sums.abs().sum() / len(labels)


# ---------------------------------------------------------------- best_temperature


def best_temperature__wrong_log_of_softmax(logits, labels, temperatures):
    """Takes the logarithm of probabilities plus 1e-9, which caps the loss of a label whose probability is 0."""
    rows = torch.arange(len(labels))
    losses = []
    for temperature in temperatures:
        probabilities = (logits / temperature).softmax(dim=1)
        losses.append(-(probabilities[rows, labels] + 1e-9).log().mean())
    return temperatures[torch.stack(losses).argmin()]


def best_temperature__wrong_multiplies(logits, labels, temperatures):
    """Multiplies the logits by the temperature."""
    log_p = (logits[None] * temperatures[:, None, None]).log_softmax(dim=-1)
    losses = -log_p[:, torch.arange(len(labels)), labels].mean(dim=1)
    return temperatures[losses.argmin()]


def best_temperature__right_min_by_cross_entropy(logits, labels, temperatures):
    """Right: Python's min over the candidates, with torch's cross entropy, which is not forbidden here."""
    return min(temperatures, key=lambda t: torch.nn.functional.cross_entropy(logits / t, labels).item())
