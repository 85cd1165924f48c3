# Answers of strangers who had seen the statements alone, kept as they wrote them: what each gets wrong is its docstring.
# ruff: noqa: B905, E501, E731, E741, SIM108, SIM110
import itertools
import math

import torch


def mean_pooling__wrong_times_mask(vectors, present):
    """Multiplies by the mask, which makes nan of infinity times 0."""
    mask = present.unsqueeze(-1).float()
    return (vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def mean_pooling__wrong_zeros_absent(vectors, present):
    """Counts the vectors that are not zeros, so that a vector of zeros that is present does not count."""
    kept = torch.where(present[..., None], vectors, 0.0)
    count = (kept != 0).any(dim=-1).sum(dim=1, keepdim=True)
    return kept.sum(dim=1) / count.clamp(min=1)


def mean_pooling__right_scattered(vectors, present):
    """Right: by adding the vectors that are present to the row of their sequence."""
    batch, time, d_model = vectors.shape
    sequence = torch.arange(batch)[:, None].expand(batch, time)[present]
    sums = vectors.new_zeros(batch, d_model).index_add(0, sequence, vectors[present])
    return sums / torch.bincount(sequence, minlength=batch).clamp(min=1)[:, None]


def max_pooling__wrong_low_number(vectors, present):
    """Replaces padding by -1e4, which wins where all features are lower."""
    best = vectors.masked_fill(~present[..., None], -1e4).max(dim=1).values
    return torch.where(present.any(dim=1)[:, None], best, torch.zeros_like(best))


def max_pooling__wrong_added_infinity(vectors, present):
    """Adds minus infinity at padding, which gives nan where infinity stands there."""
    hidden = torch.zeros(present.shape).masked_fill(~present, float("-inf"))
    best = (vectors + hidden[..., None]).amax(dim=1)
    return best.masked_fill(~present.any(dim=1, keepdim=True), 0.0)


def max_pooling__wrong_one_vector(vectors, present):
    """Keeps the one vector with the greatest sum, not the greatest number of each feature."""
    sums = vectors.sum(dim=-1).masked_fill(~present, float("-inf"))
    best = vectors[torch.arange(len(vectors)), sums.argmax(dim=1)]
    return best.masked_fill(~present.any(dim=1, keepdim=True), 0.0)


def logits_of_each__wrong_longest(classify, words):
    """Cuts off only the columns that are padding in every sentence."""
    longest = int((words > 0).sum(dim=1).max())
    return classify(words[:, :longest])


def logits_of_each__wrong_too_few(classify, words):
    """Leaves one padding behind each sentence."""
    logits = []
    for row in words:
        length = int((row == 0).nonzero()[0])
        logits.append(classify(row[: length + 1].unsqueeze(0)))
    return torch.cat(logits)


def _alone(classify, words):
    return torch.cat([classify(row[row > 0][None]) for row in words])


def ignores_padding__wrong_longer(classify, words):
    """Pads the batch further and compares, and so does not find the padding that a classifier reads up to a limit."""
    longer = torch.cat([words, torch.zeros_like(words[:, :3])], dim=1)
    return bool((classify(longer) - classify(words)).abs().max() <= 1e-4)


def ignores_padding__wrong_no_absolute(classify, words):
    """Takes the greatest difference without its absolute value, so that logits may fall."""
    return bool((classify(words) - _alone(classify, words)).max() <= 1e-4)


def ignores_padding__right_until_found(classify, words):
    """Right: by plain numbers, until one logit differs."""
    batch = classify(words).tolist()
    for row, together in zip(words.tolist(), batch):
        alone = classify(torch.tensor([[word for word in row if word != 0]]))[0].tolist()
        if not all(abs(a - b) <= 1e-4 for a, b in zip(alone, together)):
            return False
    return True


def occlusion__wrong_removed(classify, words):
    """Takes the word out of the sentence, so that the others move."""
    before = classify(words[None]).softmax(dim=1)[0]
    chosen = before.argmax()
    drops = []
    for t in range(len(words)):
        rest = torch.cat([words[:t], words[t + 1 :]])
        if len(rest) == 0:
            rest = torch.zeros_like(words)
        drops.append(before[chosen] - classify(rest[None]).softmax(dim=1)[0, chosen])
    return torch.stack(drops)


def occlusion__wrong_chosen_anew(classify, words):
    """Chooses the class anew for every sentence with a hidden word."""
    hidden = words.repeat(len(words), 1)
    hidden.fill_diagonal_(0)
    before = classify(words[None]).softmax(dim=1).max()
    return before - classify(hidden).softmax(dim=1).amax(dim=1)


def occlusion__wrong_all_so_far(classify, words):
    """Does not bring the hidden words back, so that more and more are hidden."""
    before = classify(words[None]).softmax(dim=1)[0]
    chosen = int(before.argmax())
    hidden = words.clone()
    drops = []
    for t in range(words.shape[0]):
        hidden[t] = 0
        drops.append(before[chosen] - classify(hidden[None]).softmax(dim=1)[0, chosen])
    return torch.stack(drops)


def occlusion__right_one_batch(classify, words):
    """Right: by one batch of the whole sentence and all sentences with a hidden word."""
    n = words.shape[0]
    rows = torch.cat([words[None], words * (1 - torch.eye(n, dtype=words.dtype))])
    logits = classify(rows)
    probabilities = logits.exp() / logits.exp().sum(dim=1, keepdim=True)
    if not torch.isfinite(probabilities).all():
        probabilities = torch.exp(logits - logits.logsumexp(dim=1, keepdim=True))
    column = probabilities[:, logits[0].argmax()]
    return column[0] - column[1:]


def rank_agreement__wrong_untied_pairs(drops, weights):
    """Divides by the number of pairs without equal numbers, not of all pairs."""
    a = torch.sign(drops[:, None] - drops[None])
    b = torch.sign(weights[:, None] - weights[None])
    product = a * b
    return product.sum() / product.abs().sum().clamp(min=1)


def rank_agreement__wrong_product(drops, weights):
    """Takes the sign of the product of both differences, which is rounded to 0 where these are tiny."""
    n = len(drops)
    i, j = torch.triu_indices(n, n, offset=1)
    product = (drops[i] - drops[j]) * (weights[i] - weights[j])
    return torch.sign(product).mean()


def rank_agreement__right_comparisons(drops, weights):
    """Right: by comparisons of the numbers of all pairs, counted as whole numbers."""
    agree = disagree = pairs = 0
    for (a, b), (c, d) in itertools.combinations(list(zip(drops.tolist(), weights.tolist())), 2):
        pairs += 1
        agree += (a < c and b < d) or (a > c and b > d)
        disagree += (a < c and b > d) or (a > c and b < d)
    return torch.tensor((agree - disagree) / pairs)


def _curve(confidence, right, bin_of, bins):
    means, accuracies, fractions = (
        torch.zeros(bins),
        torch.zeros(bins),
        torch.zeros(bins),
    )
    for b in range(bins):
        inside = bin_of == b
        if inside.any():
            means[b] = confidence[inside].mean()
            accuracies[b] = right[inside].float().mean()
            fractions[b] = inside.float().mean()
    return means, accuracies, fractions


def reliability_curve__wrong_lower_edge(probabilities, labels, bins):
    """A confidence on an edge falls into the upper bin."""
    confidence, chosen = probabilities.max(dim=1)
    bin_of = (confidence * bins).floor().long().clamp(max=bins - 1)
    return _curve(confidence, chosen == labels, bin_of, bins)


def reliability_curve__wrong_of_label(probabilities, labels, bins):
    """Takes the probability of the label for the confidence."""
    confidence = probabilities[torch.arange(len(labels)), labels]
    right = probabilities.argmax(dim=1) == labels
    bin_of = (confidence * bins).ceil().long().sub(1).clamp(min=0)
    return _curve(confidence, right, bin_of, bins)


def reliability_curve__wrong_middles(probabilities, labels, bins):
    """Gives the middle of each bin for the mean confidence."""
    confidence, chosen = probabilities.max(dim=1)
    bin_of = (confidence * bins).ceil().long() - 1
    _, accuracies, fractions = _curve(confidence, chosen == labels, bin_of, bins)
    middles = (torch.arange(bins) + 0.5) / bins
    return middles * (fractions > 0), accuracies, fractions


def reliability_curve__right_bucketize(probabilities, labels, bins):
    """Right: by bucketize with the inner edges, and sums scattered into the bins."""
    confidence = probabilities.amax(dim=1)
    right = (probabilities.argmax(dim=1) == labels).to(confidence.dtype)
    bin_of = torch.bucketize(confidence, torch.arange(1, bins) / bins)
    count = torch.bincount(bin_of, minlength=bins)
    sums = [torch.zeros(bins).scatter_add(0, bin_of, each) for each in (confidence, right)]
    return (
        sums[0] / count.clamp(min=1),
        sums[1] / count.clamp(min=1),
        count / len(labels),
    )


def _right_curve(probabilities, labels, bins):
    confidence, chosen = probabilities.max(dim=1)
    return _curve(confidence, chosen == labels, (confidence * bins).ceil().long() - 1, bins)


def calibration_error__wrong_signed(probabilities, labels, bins):
    """Takes the absolute value of the sum, so that too much confidence makes up for too little."""
    means, accuracies, fractions = _right_curve(probabilities, labels, bins)
    return (fractions * (accuracies - means)).sum().abs()


def calibration_error__wrong_bins_alike(probabilities, labels, bins):
    """Averages over the bins that are not empty, without the fractions as weights."""
    means, accuracies, fractions = _right_curve(probabilities, labels, bins)
    return (accuracies - means).abs()[fractions > 0].mean()


def best_temperature__wrong_log_of_softmax(logits, labels, temperatures):
    """Takes the logarithm of probabilities that are 0, so that several losses are infinite."""
    losses = []
    for temperature in temperatures:
        probabilities = (logits / temperature).softmax(dim=1)
        losses.append(-probabilities[torch.arange(len(labels)), labels].log().mean())
    return temperatures[torch.stack(losses).argmin()]


def best_temperature__wrong_mean_probability(logits, labels, temperatures):
    """Looks for the greatest mean probability of the labels, not for the least mean loss."""
    best = [(logits / temperature).softmax(dim=1).gather(1, labels[:, None]).mean() for temperature in temperatures]
    return temperatures[torch.stack(best).argmax()]


def best_temperature__right_by_differences(logits, labels, temperatures):
    """Right: by the log-sum-exp of all logits less the label's, in plain numbers."""
    best, least = 0, math.inf
    differences = (logits - logits.gather(1, labels[:, None])).double()
    for number, temperature in enumerate(temperatures.tolist()):
        loss = float(torch.logsumexp(differences / temperature, dim=1).mean())
        if loss < least:
            best, least = number, loss
    return temperatures[best].clone()
