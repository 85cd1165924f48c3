# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110

import torch


def mean_pooling__wrong_times_mask(vectors, present):
    """Multiplies by the mask, and infinity times 0 is nan."""
    mask = present[:, :, None].to(vectors.dtype)
    return (vectors * mask).sum(1) / mask.sum(1).clamp(min=1)


def mean_pooling__right_index_add(vectors, present):
    """Takes only the vectors that are present and adds each to the row of its sequence."""
    row = present.nonzero()[:, 0]
    zeros = torch.zeros(vectors.shape[0], vectors.shape[2], dtype=vectors.dtype, device=vectors.device)
    total = zeros.index_add(0, row, vectors[present])
    return total / torch.bincount(row, minlength=len(zeros)).clamp(min=1)[:, None]


def max_pooling__wrong_minus_1e9(vectors, present):
    """Fills with -1e9, which wins over features that are lower still."""
    pooled = vectors.masked_fill(~present[:, :, None], -1e9).amax(1)
    return pooled.masked_fill(~present.any(1, keepdim=True), 0.0)


def max_pooling__wrong_tie_with_padding(vectors, present):
    """Fills with the least number there is, less 1; with low features this rounds to it and ties share the gradient."""
    low = vectors.detach().min() - 1
    pooled = torch.where(present[:, :, None], vectors, low).amax(1)
    return torch.where(present.any(1)[:, None], pooled, torch.zeros_like(pooled))


def logits_of_each__wrong_longest_sentence(classify, words):
    """Removes only the padding that all sentences share, so the shorter ones keep some."""
    longest = int((words != 0).sum(1).max())
    return classify(words[:, :longest])


def logits_of_each__wrong_one_too_many(classify, words):
    """Cuts behind the first 0 and not before it, so one padding stays."""
    lengths = (words != 0).sum(1).tolist()
    return torch.cat([classify(row[None, : n + 1]) for row, n in zip(words, lengths)])


def logits_of_each__right_choose_columns(classify, words):
    """Chooses the columns of each row by its mask; no lengths are computed."""
    return torch.cat([classify(words[[i]][:, words[i].bool()]) for i in range(len(words))], dim=0)


def ignores_padding__wrong_one_more(classify, words):
    """Only adds a further padding; what the first padding does to a maximum, for one, is not seen."""
    more = torch.cat([words, torch.zeros_like(words[:, :1])], 1)
    return bool((classify(words) - classify(more)).abs().max() <= 1e-4)


def ignores_padding__wrong_trims_to_longest(classify, words):
    """Compares with the batch cut to its longest sentence, so padding that counts in short sentences alone is missed."""
    longest = int((words > 0).sum(1).max())
    return bool(torch.allclose(classify(words), classify(words[:, :longest]), rtol=0, atol=1e-4))


def occlusion__wrong_chosen_again(classify, words):
    """Takes the greatest probability also of the sentence with a hidden word, which may be that of another class."""
    p = torch.softmax(classify(words[None]), -1)[0].max()
    drops = []
    for t in range(len(words)):
        hidden = words.clone()
        hidden[t] = 0
        drops.append(p - torch.softmax(classify(hidden[None]), -1)[0].max())
    return torch.stack(drops)


def occlusion__wrong_deletes(classify, words):
    """Deletes the word, so the words behind it change their positions."""
    p = torch.softmax(classify(words[None]), -1)[0]
    c = p.argmax()
    drops = []
    for t in range(len(words)):
        rest = torch.cat([words[:t], words[t + 1 :]])
        if len(rest) == 0:
            rest = torch.zeros_like(words)
        drops.append(p[c] - torch.softmax(classify(rest[None]), -1)[0, c])
    return torch.stack(drops)


def occlusion__right_one_batch(classify, words):
    """All sentences in one batch, the whole one first, hidden by multiplying with 1 - identity."""
    n = len(words)
    keep = torch.cat([torch.ones(1, n, dtype=words.dtype), 1 - torch.eye(n, dtype=words.dtype)])
    p = classify(keep * words).softmax(-1)
    p = p[:, p[0].argmax()]
    return p[0] - p[1:]


def rank_agreement__wrong_ties_broken(drops, weights):
    """Compares ranks from argsort, which gives equal numbers different ranks."""
    n = len(drops)
    a = drops.argsort().argsort().float()
    b = weights.argsort().argsort().float()
    return (torch.sign(a[:, None] - a) * torch.sign(b[:, None] - b)).sum() / (n * (n - 1))


def rank_agreement__right_counts(drops, weights):
    """Counts ordered pairs by comparisons alone, with no subtraction."""
    n = len(drops)
    a, b = drops[:, None] > drops, weights[:, None] > weights
    agree, disagree = (a & b).sum(), (a & b.T).sum()
    return (agree - disagree).to(torch.float32) * 2 / (n * (n - 1))


def reliability_curve__wrong_lower_edge(probabilities, labels, bins):
    """Takes the floor, so a confidence on an edge falls into the bin above it."""
    confidence, chosen = probabilities.max(1)
    right = (chosen == labels).float()
    number = (confidence * bins).floor().long().clamp(max=bins - 1)
    out = torch.zeros(3, bins)
    for b in range(bins):
        here = number == b
        if here.any():
            out[0, b], out[1, b] = confidence[here].mean(), right[here].mean()
            out[2, b] = here.float().mean()
    return tuple(out)


def reliability_curve__wrong_middle_of_bin(probabilities, labels, bins):
    """Returns the middle of each bin in place of the mean confidence in it."""
    confidence, chosen = probabilities.max(1)
    right = (chosen == labels).float()
    c, a, f = torch.zeros(bins), torch.zeros(bins), torch.zeros(bins)
    for b in range(bins):
        here = (confidence > b / bins) & (confidence <= (b + 1) / bins)
        if here.any():
            c[b], a[b], f[b] = (b + 0.5) / bins, right[here].mean(), here.float().mean()
    return c, a, f


def reliability_curve__right_membership(probabilities, labels, bins):
    """A table of examples by bins from differences of two steps, and three products with it."""
    n = len(labels)
    confidence = probabilities.amax(1)
    right = probabilities.gather(1, labels[:, None])[:, 0] == confidence
    edges = torch.arange(bins + 1, dtype=torch.float64) / bins
    above = (confidence.double()[:, None] > edges).double()
    above[:, -1] = 0
    member = above[:, :-1] - above[:, 1:]
    count = member.sum(0)
    c = confidence.double() @ member / count.clamp(min=1)
    a = right.double() @ member / count.clamp(min=1)
    return c.float(), a.float(), (count / n).float()


def calibration_error__wrong_unweighted(probabilities, labels, bins):
    """Averages the gaps of the bins that are not empty and forgets the fractions as weights."""
    confidence, chosen = probabilities.max(1)
    right = (chosen == labels).float()
    gaps = []
    for b in range(bins):
        here = (confidence > b / bins) & (confidence <= (b + 1) / bins)
        if here.any():
            gaps.append((right[here].mean() - confidence[here].mean()).abs())
    return torch.stack(gaps).mean()


def calibration_error__wrong_abs_of_sum(probabilities, labels, bins):
    """Takes the sign away after the sum, so too much confidence here makes up for too little there."""
    confidence, chosen = probabilities.max(1)
    right = (chosen == labels).float()
    total = torch.zeros(())
    for b in range(bins):
        here = (confidence > b / bins) & (confidence <= (b + 1) / bins)
        if here.any():
            total = total + here.float().mean() * (right[here].mean() - confidence[here].mean())
    return total.abs()


def best_temperature__wrong_log_of_softmax(logits, labels, temperatures):
    """Takes the logarithm of the softmax, which is minus infinity where the probability is 0 in float32."""
    rows = torch.arange(len(labels))
    losses = [-torch.softmax(logits / t, 1)[rows, labels].log().mean() for t in temperatures]
    return temperatures[torch.stack(losses).argmin()]


def best_temperature__wrong_all_labels_for_all(logits, labels, temperatures):
    """Indexes [:, labels], which gives every example the labels of all examples."""
    losses = [-torch.log_softmax(logits / t, 1)[:, labels].mean() for t in temperatures]
    return temperatures[torch.stack(losses).argmin()]


def best_temperature__right_gaps(logits, labels, temperatures):
    """The loss as logsumexp of the gaps to the label's logit, for all temperatures at once in float64."""
    gaps = (logits - logits.gather(1, labels[:, None])).double()
    losses = (gaps / temperatures.double()[:, None, None]).logsumexp(-1).mean(-1)
    return temperatures[losses.min(0).indices]
