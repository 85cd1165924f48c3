# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501

import functools
import itertools
import math

import numpy as np
import torch
from torch.nn import functional as F

# ---------------------------------------------------------------- 10.1 mean_pooling


def mean_pooling__wrong_multiplied(vectors, present):
    """The padding is multiplied by 0, and 0 times infinity is nan."""
    mask = present.unsqueeze(-1).to(vectors.dtype)
    return (vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def mean_pooling__wrong_divided_by_time(vectors, present):
    """The sum is divided by the number of positions, it should be the number of tokens that are present."""
    return vectors.masked_fill(~present[..., None], 0.0).mean(dim=1)


def mean_pooling__wrong_nan_gradient(vectors, present):
    """0/0 is replaced only after the division: the value for an empty sequence is right, its gradient is nan."""
    mask = present[..., None].to(vectors.dtype)
    counts = mask.sum(dim=1)
    mean = (torch.nan_to_num(vectors) * mask).sum(dim=1) / counts
    return torch.where(counts > 0, mean, 0.0)


def mean_pooling__wrong_zero_vectors(vectors, present):
    """Vectors of zeros are taken for padding too, but one that is present counts like any other."""
    there = present & (vectors != 0).any(dim=-1)
    total = vectors.masked_fill(~there[..., None], 0.0).sum(dim=1)
    return total / there.sum(dim=1, keepdim=True).clamp(min=1)


def mean_pooling__wrong_padding_at_the_end(vectors, present):
    """The first positions are taken, as many as there are tokens; padding may stand in front and between them."""
    lengths = present.sum(dim=1).tolist()
    return torch.stack([v[:n].sum(dim=0) / max(n, 1) for v, n in zip(vectors, lengths)])


def mean_pooling__wrong_in_place(vectors, present):
    """The padded vectors are overwritten with zeros in the caller's own tensor."""
    with torch.no_grad():
        vectors[~present] = 0.0
    counts = present.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.einsum("btd,bt->bd", vectors, present.to(vectors.dtype)) / counts


def mean_pooling__right_index_add(vectors, present):
    """The present vectors are taken out as one long list, and index_add brings each to the sum of its sequence."""
    sequence = present.nonzero()[:, 0]
    sums = vectors.new_zeros(vectors.shape[0], vectors.shape[2]).index_add(0, sequence, vectors[present])
    return sums / torch.bincount(sequence, minlength=len(vectors)).clamp(min=1)[:, None]


def mean_pooling__right_weights(vectors, present):
    """A row of weights for each sequence, 1/n where a token stands, times vectors in which padding was replaced by zeros."""
    weights = present.to(torch.float64)
    weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1.0)
    clean = torch.where(present[:, :, None], vectors, 0.0).to(torch.float64)
    return torch.bmm(weights[:, None], clean).squeeze(1).to(vectors.dtype)


# ---------------------------------------------------------------- 10.1 max_pooling


def max_pooling__wrong_zero_for_padding(vectors, present):
    """Padding is replaced by 0, which wins where all features lie below zero."""
    return vectors.masked_fill(~present[..., None], 0.0).amax(dim=1)


def max_pooling__wrong_billion(vectors, present):
    """Padding is replaced by minus a billion, and features may lie below that."""
    masked = vectors.masked_fill(~present[..., None], -1e9)
    return torch.where(present.any(dim=1)[:, None], masked.amax(dim=1), 0.0)


def max_pooling__wrong_empty_is_infinite(vectors, present):
    """A sequence without a token gives minus infinity, it should give zeros."""
    return vectors.masked_fill(~present[..., None], -torch.inf).max(dim=1).values


def max_pooling__wrong_only_empty_batch(vectors, present):
    """Zeros are given only where the whole batch is empty, not for a single empty sequence in it."""
    if not present.any():
        return 0 * vectors.masked_fill(~present[..., None], 0.0).sum(dim=1)
    return vectors.masked_fill(~present[..., None], -torch.inf).amax(dim=1)


def max_pooling__wrong_whole_vector(vectors, present):
    """The vector with the greatest sum is kept as a whole, each feature should look for its own greatest number."""
    clean = torch.where(present[..., None], vectors, 0.0)
    sums = clean.sum(dim=-1).masked_fill(~present, -torch.inf)
    return clean[torch.arange(len(vectors)), sums.argmax(dim=1)]


def max_pooling__wrong_rectified(vectors, present):
    """The minus infinity of empty sequences is removed by a ReLU, which also turns all negative maxima into 0."""
    return vectors.masked_fill(~present[..., None], -torch.inf).amax(dim=1).clamp(min=0.0)


def max_pooling__wrong_scatter_reduce(vectors, present):
    """Where the greatest is 0, scatter_reduce counts the zeros that do not take part as its equals, and half of the gradient is lost."""
    chosen = vectors[present]
    rows = present.nonzero()[:, :1].expand_as(chosen)
    empty = vectors.new_zeros(vectors.shape[0], vectors.shape[2])
    return empty.scatter_reduce(0, rows, chosen, reduce="amax", include_self=False)


def max_pooling__right_folded(vectors, present):
    """A loop over the sequences that folds torch.maximum over the vectors that are present."""
    pooled = []
    for sequence, here in zip(vectors, present):
        kept = list(sequence[here])
        pooled.append(functools.reduce(torch.maximum, kept) if kept else sequence[here].sum(dim=0))
    return torch.stack(pooled)


def max_pooling__right_argmax_gather(vectors, present):
    """The position of the greatest number is looked up without gradients, and gather takes it from the vectors."""
    low = torch.where(present[..., None], vectors.detach(), -torch.inf)
    # a number that is present and minus infinite cannot occur, so argmax finds a token wherever there is one
    where = low.argmax(dim=1, keepdim=True)
    best = torch.where(present[..., None], vectors, 0.0).gather(1, where)[:, 0]
    return torch.where(present.any(dim=1, keepdim=True), best, 0.0)


# ---------------------------------------------------------------- 10.2 logits_of_each


def logits_of_each__wrong_longest(classify, words):
    """The batch is cut to its longest sentence, so the shorter ones still have padding."""
    longest = int((words != 0).sum(dim=1).max())
    return classify(words[:, :longest])


def logits_of_each__wrong_one_zero_left(classify, words):
    """One position of padding is left behind each sentence."""
    rows = []
    for sentence in words:
        length = int((sentence != 0).sum())
        rows.append(classify(sentence[None, : length + 1])[0])
    return torch.stack(rows)


def logits_of_each__wrong_row_by_row(classify, words):
    """Each sentence is classified in a batch of its own, but with all its padding."""
    return torch.cat([classify(sentence.unsqueeze(0)) for sentence in words])


def logits_of_each__wrong_order_lost(classify, words):
    """The sentences are sorted by length, and the logits come back in that order instead of the order of the batch."""
    lengths = (words != 0).sum(dim=1)
    order = lengths.argsort(stable=True)
    return torch.cat([classify(words[i : i + 1, : lengths[i]]) for i in order.tolist()])


def logits_of_each__wrong_length_of_the_first(classify, words):
    """The length of the first sentence is used for all of them."""
    length = int((words[0] != 0).sum())
    return torch.cat([classify(sentence[None, :length]) for sentence in words])


def logits_of_each__wrong_axis_too_many(classify, words):
    """Every answer keeps its batch axis of one, so the shape is (batch, 1, classes)."""
    return torch.stack([classify(s[s != 0][None]) for s in words])


def logits_of_each__right_split(classify, words):
    """All words in one long row, split by the lengths, and each piece is classified."""
    lengths = torch.count_nonzero(words, dim=1).tolist()
    pieces = words[words.ne(0)].split(lengths)
    return torch.cat([classify(piece.reshape(1, -1)) for piece in pieces], dim=0)


def logits_of_each__right_recursion(classify, words):
    """Recursion: a batch is halved until one sentence is left, whose zeros are cut off one by one."""
    if len(words) > 1:
        half = len(words) // 2
        upper, lower = logits_of_each__right_recursion(classify, words[:half]), words[half:]
        return torch.cat([upper, logits_of_each__right_recursion(classify, lower)])
    while words[0, -1] == 0:
        words = words[:, :-1]
    return classify(words.clone())


# ---------------------------------------------------------------- 10.2 ignores_padding


def each_alone(classify, words):
    """Helper: the logits of each sentence without its padding."""
    return torch.cat([classify(s[s != 0][None]) for s in words])


def ignores_padding__wrong_exact(classify, words):
    """The logits are compared exactly, so a right classifier that only rounds differently fails."""
    return torch.equal(classify(words), each_alone(classify, words))


def ignores_padding__wrong_more_padding(classify, words):
    """More padding is compared with less: a classifier that always reads one position of padding too many passes."""
    longer = F.pad(words, (0, 3))
    return bool((classify(longer) - classify(words)).abs().max() <= 1e-4)


def ignores_padding__wrong_longest(classify, words):
    """The batch is only cut to its longest sentence, so padding that counts in short sentences alone is not found."""
    longest = int((words != 0).sum(dim=1).max())
    return bool((classify(words[:, :longest]) - classify(words)).abs().max() <= 1e-4)


def ignores_padding__wrong_predictions(classify, words):
    """Only the chosen classes are compared; a logit can change without changing these."""
    return bool((classify(words).argmax(dim=1) == each_alone(classify, words).argmax(dim=1)).all())


def ignores_padding__wrong_sign(classify, words):
    """The difference keeps its sign, so logits that only become greater without padding pass."""
    return bool((classify(words) - each_alone(classify, words)).max() <= 1e-4)


def ignores_padding__wrong_first_sentence(classify, words):
    """Only the first sentence is tried."""
    alone = classify(words[:1][:, words[0] != 0])
    return bool((classify(words)[:1] - alone).abs().max() <= 1e-4)


def ignores_padding__right_sentence_by_sentence(classify, words):
    """A generator inside all(): each sentence's row of the batch against the same sentence alone, with numpy's allclose."""
    batch = classify(words.clone()).detach().numpy()
    alone = (classify(s[: torch.count_nonzero(s)].reshape(1, -1)).detach().numpy()[0] for s in words)
    return all(np.allclose(a, b, rtol=0.0, atol=1e-4) for a, b in zip(alone, batch, strict=True))


def ignores_padding__right_worst(classify, words):
    """The worst difference is kept while going through the sentences, measured as the infinity norm."""
    batch = classify(words)
    worst = 0.0
    for i, length in enumerate(words.ne(0).sum(dim=1).tolist()):
        difference = batch[i] - classify(words[i, :length].unsqueeze(0)).squeeze(0)
        worst = max(worst, torch.linalg.vector_norm(difference, ord=math.inf).item())
    return worst <= 1e-4


# ---------------------------------------------------------------- 10.3 occlusion


def occlusion__wrong_removed(classify, words):
    """The word is taken out, so all later words move; it should be replaced by 0."""
    full = classify(words[None]).softmax(dim=-1)[0]
    c = full.argmax()
    drops = []
    for t in range(len(words)):
        rest = torch.cat([words[:t], words[t + 1 :]])
        if len(rest) == 0:
            rest = torch.zeros_like(words)
        drops.append(full[c] - classify(rest[None]).softmax(dim=-1)[0, c])
    return torch.stack(drops)


def occlusion__wrong_class_anew(classify, words):
    """The class is chosen anew for each hidden word, it should be that of the whole sentence."""
    full = classify(words[None]).softmax(dim=-1).amax()
    hidden = words.repeat(len(words), 1).fill_diagonal_(0)
    return full - classify(hidden).softmax(dim=-1).amax(dim=-1)


def occlusion__wrong_logits(classify, words):
    """The differences are those of the logits, not of the probabilities."""
    full = classify(words[None])[0]
    hidden = words.repeat(len(words), 1).fill_diagonal_(0)
    c = full.argmax()
    return full[c] - classify(hidden)[:, c]


def occlusion__wrong_hidden_for_good(classify, words):
    """A word that was hidden stays hidden, so later drops are those of several words together."""
    full = classify(words[None]).softmax(dim=-1)[0]
    c = full.argmax()
    hidden = words.clone()
    drops = []
    for t in range(len(words)):
        hidden[t] = 0
        drops.append(full[c] - classify(hidden[None]).softmax(dim=-1)[0, c])
    return torch.stack(drops)


def occlusion__wrong_squeezed(classify, words):
    """For a sentence of one word squeeze takes the only axis away."""
    full = classify(words[None]).softmax(dim=-1)
    c = full.argmax()
    hidden = words.expand(len(words), -1).clone().fill_diagonal_(0)
    return (full - classify(hidden).softmax(dim=-1))[:, c].squeeze()


def occlusion__right_one_batch(classify, words):
    """The whole sentence and all hidden ones in one batch, made by multiplying with one minus the identity."""
    time = words.shape[0]
    keep = 1 - torch.eye(time + 1, time, dtype=words.dtype)
    keep = keep.roll(1, dims=0)  # the first row hides nothing
    p = torch.exp(torch.log_softmax(classify(words * keep), dim=1))
    return (p[:1] - p[1:])[:, p[0].argmax()]


def occlusion__right_one_at_a_time(classify, words):
    """A loop with lists of numbers, the softmax as a sigmoid of the logit against the logsumexp of the other classes."""

    def probability(sentence, c):
        u = classify(torch.tensor([sentence], dtype=words.dtype))[0].double()
        return (u[c] - u.logsumexp(dim=0)).exp().item()

    sentence = words.tolist()
    c = int(classify(words.clone().unsqueeze(0)).squeeze(0).argmax())
    whole = probability(sentence, c)
    drops = [whole - probability(sentence[:t] + [0] + sentence[t + 1 :], c) for t in range(len(sentence))]
    return torch.tensor(drops)


# ---------------------------------------------------------------- 10.3 rank_agreement


def rank_agreement__wrong_tau_b(drops, weights):
    """This is scipy's tau-b, which divides by less where numbers are equal; here all pairs count."""
    a = (drops[:, None] - drops).sign()
    b = (weights[:, None] - weights).sign()
    return (a * b).sum() / (a.abs().sum() * b.abs().sum()).sqrt().clamp(min=1e-12)


def rank_agreement__wrong_equal_disagrees(drops, weights):
    """Pairs with equal numbers are counted as in disagreement, they are neither."""
    n = len(drops)
    total = 0
    for i, j in itertools.combinations(range(n), 2):
        total += 1 if (drops[i] - drops[j]) * (weights[i] - weights[j]) > 0 else -1
    return torch.tensor(2.0 * total / (n * (n - 1)))


def rank_agreement__wrong_ranks_by_argsort(drops, weights):
    """Double argsort gives equal numbers different ranks, so they are in agreement or disagreement by chance."""
    a = drops.argsort(stable=True).argsort()
    b = weights.argsort(stable=True).argsort()
    n = len(drops)
    product = (a[:, None] - a).sign() * (b[:, None] - b).sign()
    return product.sum() / (n * (n - 1))


def rank_agreement__wrong_close_is_equal(drops, weights):
    """Numbers closer than a millionth are taken for equal, but the order alone should count, whatever the scale."""
    n = len(drops)
    a, b = drops[:, None] - drops, weights[:, None] - weights
    a = a.sign() * (a.abs() > 1e-6)
    b = b.sign() * (b.abs() > 1e-6)
    return (a * b).sum() / (n * (n - 1))


def rank_agreement__wrong_spearman(drops, weights):
    """This is Spearman's correlation of the ranks, another measure."""
    a = (drops[:, None] > drops).sum(dim=1).float()
    b = (weights[:, None] > weights).sum(dim=1).float()
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / (a.norm() * b.norm()).clamp(min=1e-12)


def rank_agreement__right_comparisons(drops, weights):
    """Signs from greater minus smaller, as matrices, and half of the sum of their product."""

    def order(x):
        return (x[:, None] > x[None]).to(torch.float64) - (x[:, None] < x[None]).to(torch.float64)

    n = drops.numel()
    return (torch.einsum("ij,ij->", order(drops), order(weights)) / (n * n - n)).float()


def rank_agreement__right_counting(drops, weights):
    """Counting by hand over combinations, with Python numbers."""
    pairs = list(itertools.combinations(zip(drops.tolist(), weights.tolist()), 2))
    agree = sum((a < c and b < d) or (a > c and b > d) for (a, b), (c, d) in pairs)
    disagree = sum((a < c and b > d) or (a > c and b < d) for (a, b), (c, d) in pairs)
    return torch.tensor((agree - disagree) / len(pairs))


# ---------------------------------------------------------------- 10.4 reliability_curve


def curve_from_bins(confidence, right, index, bins):
    """Helper: the three tensors, when the bin of each example is known."""
    counts = torch.zeros(bins).index_add(0, index, torch.ones_like(confidence))
    mean = torch.zeros(bins).index_add(0, index, confidence) / counts.clamp(min=1)
    accuracy = torch.zeros(bins).index_add(0, index, right.to(confidence.dtype)) / counts.clamp(min=1)
    return mean, accuracy, counts / len(confidence)


def reliability_curve__wrong_lower_edge(probabilities, labels, bins):
    """A confidence on an edge goes to the bin above it, the upper edge should belong to the bin below."""
    confidence, chosen = probabilities.max(dim=-1)
    index = (confidence * bins).floor().long().clamp(max=bins - 1)
    return curve_from_bins(confidence, chosen == labels, index, bins)


def reliability_curve__wrong_both_edges(probabilities, labels, bins):
    """Both edges belong to each bin, so a confidence on an edge between two bins is counted twice."""
    confidence, chosen = probabilities.max(dim=-1)
    right = (chosen == labels).float()
    c, a, f = torch.zeros(bins), torch.zeros(bins), torch.zeros(bins)
    for b in range(bins):
        inside = (confidence >= b / bins) & (confidence <= (b + 1) / bins)
        if inside.any():
            c[b], a[b], f[b] = confidence[inside].mean(), right[inside].mean(), inside.float().mean()
    return c, a, f


def reliability_curve__wrong_empty_is_nan(probabilities, labels, bins):
    """The mean of an empty bin is nan, it should be 0."""
    confidence, chosen = probabilities.max(dim=-1)
    right = (chosen == labels).float()
    index = (confidence * bins).ceil().long() - 1
    inside = [index == b for b in range(bins)]
    return (
        torch.stack([confidence[i].mean() for i in inside]),
        torch.stack([right[i].mean() for i in inside]),
        torch.stack([i.float().mean() for i in inside]),
    )


def reliability_curve__wrong_probability_of_label(probabilities, labels, bins):
    """The confidence is taken from the label's class, it is that of the chosen class."""
    confidence = probabilities[torch.arange(len(labels)), labels]
    right = probabilities.argmax(dim=-1) == labels
    index = ((confidence * bins).ceil().long() - 1).clamp(min=0)
    return curve_from_bins(confidence, right, index, bins)


def reliability_curve__wrong_from_one_half(probabilities, labels, bins):
    """The bins go from 0.5 to 1 as in the chapter, they should go from 0 to 1."""
    confidence, chosen = probabilities.max(dim=-1)
    index = (((confidence - 0.5) * 2 * bins).ceil().long() - 1).clamp(min=0)
    return curve_from_bins(confidence, chosen == labels, index, bins)


def reliability_curve__wrong_fraction_right_of_all(probabilities, labels, bins):
    """The accuracy divides the right answers of a bin by the number of all examples."""
    confidence, chosen = probabilities.max(dim=-1)
    index = (confidence * bins).ceil().long() - 1
    mean, accuracy, fraction = curve_from_bins(confidence, chosen == labels, index, bins)
    return mean, accuracy * fraction, fraction


def reliability_curve__right_bucketize(probabilities, labels, bins):
    """bucketize with the inner edges in float64, and a one-hot matrix for the sums."""
    confidence, chosen = torch.topk(probabilities.double(), 1, dim=-1)
    edges = torch.arange(1, bins, dtype=torch.float64) / bins
    member = F.one_hot(torch.bucketize(confidence[:, 0].contiguous(), edges), bins).double()
    columns = torch.stack([confidence[:, 0], (chosen[:, 0] == labels).double()])
    counts = member.sum(dim=0)
    mean, accuracy = columns @ member / counts.clamp(min=1.0)
    return mean.float(), accuracy.float(), (counts / len(labels)).float()


def reliability_curve__right_plain_lists(probabilities, labels, bins):
    """Plain Python: lists of lists, with exact comparison of each confidence with the edges."""
    inside = [[] for _ in range(bins)]
    for row, label in zip(probabilities.tolist(), labels.tolist()):
        top = max(row)
        b = next((i for i in range(bins) if i / bins < top <= (i + 1) / bins), bins - 1)
        inside[b].append((top, row.index(top) == label))

    def mean(numbers):
        return sum(numbers) / len(numbers) if numbers else 0.0

    return (
        torch.tensor([mean([top for top, _ in part]) for part in inside]),
        torch.tensor([mean([float(right) for _, right in part]) for part in inside]),
        torch.tensor([len(part) / len(labels) for part in inside]),
    )


# ---------------------------------------------------------------- 10.4 calibration_error


def curve(probabilities, labels, bins):
    """Helper: a right curve."""
    confidence, chosen = probabilities.max(dim=-1)
    index = ((confidence.double() * bins).ceil().long() - 1).clamp(0, bins - 1)
    return curve_from_bins(confidence, chosen == labels, index, bins)


def calibration_error__wrong_sign_kept(probabilities, labels, bins):
    """The gaps keep their signs and cancel; only the sum loses its sign."""
    confidence, accuracy, fraction = curve(probabilities, labels, bins)
    return (fraction * (accuracy - confidence)).sum().abs()


def calibration_error__wrong_plain_mean(probabilities, labels, bins):
    """All bins have the same weight, they should be weighted with the fraction of examples in them."""
    confidence, accuracy, fraction = curve(probabilities, labels, bins)
    return (accuracy - confidence).abs()[fraction > 0].mean()


def calibration_error__wrong_maximum(probabilities, labels, bins):
    """This is the maximum calibration error, not the expected one."""
    confidence, accuracy, _ = curve(probabilities, labels, bins)
    return (accuracy - confidence).abs().max()


def calibration_error__wrong_lower_edge(probabilities, labels, bins):
    """A confidence on an edge goes to the bin above it."""
    confidence, chosen = probabilities.max(dim=-1)
    index = (confidence * bins).long().clamp(max=bins - 1)
    confidence, accuracy, fraction = curve_from_bins(confidence, chosen == labels, index, bins)
    return (fraction * (accuracy - confidence).abs()).sum()


def calibration_error__wrong_ten_bins(probabilities, labels, bins):
    """There are always ten bins, whatever the argument says."""
    confidence, accuracy, fraction = curve(probabilities, labels, 10)
    return (fraction * (accuracy - confidence).abs()).sum()


def calibration_error__wrong_example_by_example(probabilities, labels, bins):
    """The gap is taken for each example by itself, which is never small, and not for the means of a bin."""
    confidence, chosen = probabilities.max(dim=-1)
    return ((chosen == labels).float() - confidence).abs().mean()


def calibration_error__right_sums(probabilities, labels, bins):
    """n_b times the gap is the sum of (right - confidence) over the bin, so no mean is needed: scatter_add and one division."""
    confidence, chosen = probabilities.double().max(dim=1)
    index = torch.ceil(confidence * bins).long().sub(1).clamp(0, bins - 1)
    excess = chosen.eq(labels).double() - confidence
    return (torch.zeros(bins, dtype=torch.float64).scatter_add(0, index, excess).abs().sum() / len(labels)).float()


def calibration_error__right_sorted_pieces(probabilities, labels, bins):
    """The examples are sorted by confidence and split at the edges with searchsorted."""
    confidence, order = probabilities.amax(dim=1).sort()
    right = (probabilities.argmax(dim=1) == labels)[order].to(torch.float64)
    edges = torch.tensor([b / bins for b in range(1, bins)], dtype=torch.float64)
    cuts = torch.searchsorted(confidence.double(), edges, right=True).tolist()
    total = 0.0
    for low, high in itertools.pairwise([0, *cuts, len(labels)]):
        if high > low:
            gap = right[low:high].mean() - confidence[low:high].double().mean()
            total += (high - low) / len(labels) * abs(gap.item())
    return torch.tensor(total)


# ---------------------------------------------------------------- 10.4 best_temperature


def best_temperature__wrong_log_of_softmax(logits, labels, temperatures):
    """The logarithm of a probability that has come out as 0 is infinite, and then all temperatures look equally bad."""
    rows = torch.arange(len(labels))
    losses = [-(logits / t).softmax(dim=-1)[rows, labels].log().mean() for t in temperatures]
    return temperatures[torch.stack(losses).argmin()]


def best_temperature__wrong_infinite_left_out(logits, labels, temperatures):
    """Infinite losses are left out of the mean, so a temperature profits from examples that it gets completely wrong."""
    rows = torch.arange(len(labels))
    losses = []
    for t in temperatures:
        loss = -(logits / t).softmax(dim=-1)[rows, labels].log()
        losses.append(loss[loss.isfinite()].mean() if loss.isfinite().any() else torch.tensor(torch.inf))
    return temperatures[torch.stack(losses).argmin()]


def best_temperature__wrong_multiplied(logits, labels, temperatures):
    """The logits are multiplied by the temperature, they should be divided by it."""
    losses = [F.cross_entropy(logits * t, labels) for t in temperatures]
    return temperatures[torch.stack(losses).argmin()]


def best_temperature__wrong_first_rise(logits, labels, temperatures):
    """The search stops where the loss rises for the first time, but the temperatures need not be sorted."""
    best, least = temperatures[0], F.cross_entropy(logits / temperatures[0], labels)
    for t in temperatures[1:]:
        loss = F.cross_entropy(logits / t, labels)
        if loss > least:
            break
        best, least = t, loss
    return best


def best_temperature__wrong_mean_probability(logits, labels, temperatures):
    """The greatest mean probability of the labels is looked for, not the least mean of minus the logarithms."""
    scaled = logits / temperatures[:, None, None]
    picked = scaled.softmax(dim=-1)[:, torch.arange(len(labels)), labels]
    return temperatures[picked.mean(dim=1).argmax()]


def best_temperature__wrong_in_place(logits, labels, temperatures):
    """The caller's logits are divided in place, and each temperature works on what the one before has left."""
    losses = []
    for t in temperatures:
        logits /= t
        losses.append(F.cross_entropy(logits, labels))
    return temperatures[torch.stack(losses).argmin()]


def best_temperature__right_min_by_key(logits, labels, temperatures):
    """Python's min with the loss as its key, computed in float64 from logsumexp."""

    def loss(i):
        u = logits.double() / temperatures[i].double()
        right = u.gather(1, labels[:, None])[:, 0]
        return (torch.logsumexp(u, dim=1) - right).mean().item()

    return temperatures[min(range(len(temperatures)), key=loss)].clone()


def best_temperature__right_vmap(logits, labels, temperatures):
    """vmap over the temperatures: one mean loss for each, and the first of the sorted ones."""
    wide = logits.double()

    def loss(t):
        return -torch.log_softmax(wide / t, dim=-1).mul(F.one_hot(labels, logits.shape[-1])).sum(dim=-1).mean()

    return temperatures[torch.vmap(loss)(temperatures.double()).argsort()[0]]
